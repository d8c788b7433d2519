"""The prox of a penalty in compiled loops: `prox1` is overloaded for each kind of penalty, a named tuple of numbers.

A penalty that is defined elsewhere is added with `register_prox`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.extending import overload

from vrspam.kernels.compiling import FASTMATH, kind_of, note_origin
from vrspam.penalties.bounded import Bounded
from vrspam.penalties.concave import MCP, SCAD
from vrspam.penalties.elastic_net import ElasticNet

F = TypeVar("F", bound=Callable)
_PROX: dict[type, Any] = {}  # kind of penalty -> its compiled prox


def prox1(penalty, v, step, j):
    """Return the w that minimises (w - v)²/2 + step·Ω_j(w), where Ω_j is the penalty of coordinate j."""
    raise TypeError("only compiled code calls this")


@overload(prox1)
def _overload_prox1(penalty, v, step, j):
    prox = _PROX.get(kind_of(penalty))
    if prox is None:
        return None
    return lambda penalty, v, step, j: prox(penalty, v, step, j)


def register_prox(kind: type) -> Callable[[F], F]:
    """Decorate the function (penalty, v, step, j) that `prox1` calls for one kind of penalty, a named tuple."""

    def register(function: F) -> F:
        # Without Python's check for a division by zero, so that loops over coordinates vectorise.
        _PROX[kind] = njit(nogil=True, fastmath=FASTMATH, error_model="numpy")(function)
        note_origin(kind, function)
        return function

    return register


def has_prox(penalty: Any) -> bool:
    """Whether `prox1` takes this penalty."""
    return type(penalty) in _PROX and all(has_prox(part) for part in penalty if isinstance(part, tuple))


@register_prox(ElasticNet)
def _elastic_net_prox(penalty, v, step, j):
    # Soft-thresholding without a branch, so that loops over coordinates vectorise.
    threshold = step * penalty.l1
    return (max(v - threshold, 0.0) + min(v + threshold, 0.0)) / (1.0 + step * penalty.l2)


@njit(nogil=True, fastmath=FASTMATH, error_model="numpy")
def _concave_prox(penalty, v, step, j, onset):
    # As `vrspam.penalties.concave.Concave.prox`, which explains the pieces.
    l1, gamma, h = penalty.l1, penalty.gamma, penalty.h[j]
    size = abs(v)
    threshold = step * l1
    ridge = 1.0 + step * penalty.l2
    bend = gamma - onset
    over = max(size - threshold, 0.0)
    if ridge * bend > step * h:
        if h * over <= onset * l1 * ridge:
            size = over / ridge
        elif h * size >= gamma * l1 * ridge:
            size /= ridge
        else:
            size = (size - threshold * (gamma / bend)) / (ridge - step * h / bend)
    elif (size - over) * h * (size + over) <= ridge * threshold * l1 * (2.0 * onset + bend):
        size = over / ridge
    else:
        size /= ridge
    return size if v > 0.0 else -size


@register_prox(MCP)
def _mcp_prox(penalty, v, step, j):
    return _concave_prox(penalty, v, step, j, 0.0)


@register_prox(SCAD)
def _scad_prox(penalty, v, step, j):
    return _concave_prox(penalty, v, step, j, 1.0)


@register_prox(Bounded)
def _bounded_prox(penalty, v, step, j):
    return min(max(prox1(penalty.penalty, v, step, j), penalty.lower[j]), penalty.upper[j])
