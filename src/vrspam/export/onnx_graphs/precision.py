"""Where single precision will do: bounds on what rounding does to the scores, found when a model is exported."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vrspam.export.scorer import NUMBER, Curve, KernelPart, Scorer, curve_of
from vrspam.features.encoders import Curves

# Parts of the spread of the scores that rounding of inputs, and of sums, may change them by: below what is promised.
INPUT_LIMIT, SUM_LIMIT = 4e-6, 2e-6
TRIED_ROWS = 256
EXACT = 2.0**24  # float32 holds all whole numbers up to here
SPACING = 2.0**-23  # of float32, beside the number itself: half of it for a value, half for a node
SAFE = 2.0  # slopes of kernels are taken at some points, and may be larger at others


class Precision(NamedTuple):
    """For each input of numbers, and for each kernel, whether single precision will do."""

    inputs: tuple[bool, ...]
    kernels: tuple[bool, ...]


def try_single(scorer: Scorer) -> Precision:
    """Find inputs whose rounding to float32, and kernels whose sums in float32, would change scores too much.

    Numbers that are large beside their spread (years, account numbers) lose their last digits in float32, and so do
    sums of large coefficients that nearly cancel. Thresholds of trees are not looked at: a row within rounding of one
    may fall to either side.
    """
    spread = _spread(scorer)
    errors = np.zeros(len(scorer.inputs))
    slopes = [_largest_slopes(part) for part in scorer.kernels]
    for j, column in enumerate(scorer.columns):
        if scorer.inputs[column.source].kind != NUMBER:
            continue
        effect, typical = scorer.effects[j], None if scorer.typical is None else scorer.typical[:, j]
        error = _rounding(effect, typical) if isinstance(effect, Curve) else 0.0
        for part, slope in zip(scorer.kernels, slopes, strict=True):
            encoder = part.encoders[j]
            if isinstance(encoder, Curves):
                place = sum(before.width for before in part.encoders[:j])
                error += slope[place] * _rounding(curve_of(encoder, np.ones(1)))
        errors[column.source] += error
    kernels = tuple(_rounding_of_sums(part) <= SUM_LIMIT * spread for part in scorer.kernels)
    single = _smallest(errors, INPUT_LIMIT * spread) & [one.kind == NUMBER for one in scorer.inputs]
    return Precision(tuple(single.tolist()), kernels)


def _smallest(errors: np.ndarray, allowed: float) -> np.ndarray:
    """Which errors, the smallest first, are together no more than is allowed (as squares: they do not go one way)."""
    order = np.argsort(errors, kind="stable")
    within = np.zeros(errors.size, dtype=bool)
    with np.errstate(over="ignore"):
        within[order] = np.sqrt(np.cumsum(errors[order] ** 2)) <= allowed
    return within | (errors == 0.0)


def _rounding(curve: Curve, typical: np.ndarray | None = None) -> float:
    """A bound on the change of a curve if its argument, and its nodes, are rounded to float32.

    >>> _rounding(Curve(np.arange(1_000.0, 1_020.0), np.arange(20.0)))  # whole numbers stay what they are
    0.0
    >>> _rounding(Curve(np.array([2000.25, 2000.75]), np.array([0.0, 1.0]))) > 1e-4
    True
    """
    nodes, slopes = curve.nodes, curve.segments[2]
    if nodes.size == 1:
        far = 0.0 if typical is None else abs(float(typical[0])) + 3.0 * float(typical[1])
        return max(abs(curve.left), abs(curve.right)) * far * SPACING / 2.0
    whole = np.count_nonzero(nodes == np.round(nodes)) >= nodes.size - 2 * (nodes.size > 4)  # where a curve is cut off
    if whole and not curve.is_line and np.abs(nodes).max() <= EXACT:
        return 0.0
    size = np.maximum(np.abs(nodes[:-1]), np.abs(nodes[1:]))
    size = np.where((size > 1e-30) & (size < 1e30), size, np.inf)  # float32 ends near there
    with np.errstate(invalid="ignore", over="ignore"):
        moved = np.nan_to_num(np.abs(slopes[1:-1]) * size * SPACING, nan=np.inf)
    return float(np.minimum(moved, np.abs(np.diff(curve.values))).max())


def _spread(scorer: Scorer) -> float:
    """About the spread of the scores, trees left out: that of rows whose columns are drawn on their own."""
    rng = np.random.default_rng(0)
    found = np.zeros(TRIED_ROWS)
    for j, effect in enumerate(scorer.effects):
        if isinstance(effect, Curve) and effect.nodes.size > 1:
            some = rng.choice(effect.nodes, TRIED_ROWS)
            if effect.nodes.size == 2:  # the ends of the range
                some = rng.uniform(effect.nodes[0] / 2.0, effect.nodes[1] / 2.0, TRIED_ROWS) * 2.0
            found += effect(some)
        elif isinstance(effect, Curve) and scorer.typical is not None:
            mean, deviation = scorer.typical[:, j].tolist()
            found += effect(rng.normal(mean, deviation, TRIED_ROWS))
    for part in scorer.kernels:
        found += _kernel(part, rng.permutation(part.landmarks)[np.arange(TRIED_ROWS) % len(part.landmarks)], np.float64)
    return float(np.std(found))


def _exponents(part: KernelPart, u: np.ndarray, dtype: Any) -> np.ndarray:
    """-γ‖u - z‖² as the graph computes it."""
    z = part.landmarks
    left = np.hstack([u, np.sum(u * u, axis=1, keepdims=True), np.ones((len(u), 1))]).astype(dtype)
    right = part.gamma * np.hstack([2.0 * z, -np.ones((len(z), 1)), -np.sum(z * z, axis=1, keepdims=True)])
    return left @ right.T.astype(dtype)


def _kernel(part: KernelPart, u: np.ndarray, dtype: Any) -> np.ndarray:
    """What a kernel adds to the score."""
    return np.exp(_exponents(part, u, dtype)) @ part.coef.astype(dtype)


def _largest_slopes(part: KernelPart) -> np.ndarray:
    """How fast the score changes with each encoded column, at most, on the landmarks."""
    u = part.landmarks[:TRIED_ROWS]
    weights = np.exp(_exponents(part, u, np.float64)) * part.coef
    slopes = 2.0 * part.gamma * (weights @ part.landmarks - weights.sum(axis=1, keepdims=True) * u)
    return SAFE * np.abs(slopes).max(axis=0)


def _rounding_of_sums(part: KernelPart) -> float:
    """The largest error of sums in float32, on the landmarks."""
    u = part.landmarks[:TRIED_ROWS]
    return float(np.abs(_kernel(part, u, np.float32) - _kernel(part, u, np.float64)).max())
