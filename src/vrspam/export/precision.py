"""Where single precision will do: tried on rows made up of the values that training had, when a model is exported."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vrspam.export.scorer import NUMBER, Curve, KernelPart, Scorer, curve_of, round_nodes
from vrspam.features.encoders import Curves

LIMIT = 2e-6  # of the spread of the scores, that rounding may change them by; ten times less than what is promised
TRIED_ROWS = 256
MANY_VALUES = 200  # of a column, from which they may be quantiles


class Precision(NamedTuple):
    """For each input, and for each kernel, whether single precision will do."""

    inputs: tuple[bool, ...]
    kernels: tuple[bool, ...]


def try_single(scorer: Scorer) -> Precision:
    """Find inputs whose rounding to float32, and kernels whose sums in float32, would change scores too much.

    Numbers that are large beside their spread (years, account numbers) lose their last digits in float32, and so do
    sums of large coefficients that nearly cancel. Thresholds of trees are not tried: a row within rounding of one may
    fall to either side.
    """
    rows = _made_rows(scorer, np.random.default_rng(0))
    whole = _sum_of_parts(scorer, rows)
    allowed = LIMIT * float(np.std(whole))
    with np.errstate(over="ignore"):
        rounded = {j: values.astype(np.float32).astype(np.float64) for j, values in rows.items()}
    numbers = np.array([one.kind == NUMBER for one in scorer.inputs])
    columns = [j for j, column in enumerate(scorer.columns) if numbers[column.source]]
    errors = np.zeros(numbers.size)
    every = round_nodes(scorer, numbers.tolist())
    if not np.abs(_sum_of_parts(every, {**rows, **{j: rounded[j] for j in columns}}) - whole).max() <= allowed:
        for j in columns:
            one = np.arange(numbers.size) == scorer.columns[j].source
            found = _sum_of_parts(round_nodes(scorer, one.tolist()), {**rows, j: rounded[j]})
            errors[one] = np.nan_to_num(np.abs(found - whole), nan=np.inf).max()
    kernels = tuple(_rounding_of(part) <= allowed for part in scorer.kernels)
    return Precision(tuple(_smallest(errors, allowed).tolist()), kernels)


def _smallest(errors: np.ndarray, allowed: float) -> np.ndarray:
    """Which errors, the smallest first, add up to no more than is allowed; those of 0 always."""
    order = np.argsort(errors, kind="stable")
    within = np.zeros(errors.size, dtype=bool)
    within[order] = np.cumsum(errors[order]) <= allowed
    return within | (errors == 0.0)


def _made_rows(scorer: Scorer, rng: np.random.Generator) -> dict[int, np.ndarray]:
    """Values of each column of numbers, drawn from those at which its curves are known."""
    rows = {}
    for j, numeric in enumerate(scorer.is_numeric):
        if not numeric:
            continue
        effect = scorer.effects[j]
        nodes = [effect.nodes] if isinstance(effect, Curve) else []
        for kernel in scorer.kernels:
            encoder = kernel.encoders[j]
            nodes += [encoder.nodes] if isinstance(encoder, Curves) else []
        known = np.unique(np.concatenate(nodes)) if nodes else np.zeros(1)
        if known.size > 1:
            rows[j] = _drawn_values(known, rng)
        elif scorer.typical is not None:
            rows[j] = rng.normal(scorer.typical[0, j], scorer.typical[1, j], TRIED_ROWS)
        else:
            rows[j] = np.full(TRIED_ROWS, known[0])
    return rows


def _drawn_values(known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values that training may have had: these or, if they are quantiles, numbers between them as well."""
    found = rng.choice(known, TRIED_ROWS)
    if 2 < known.size < MANY_VALUES:
        return found
    place = rng.integers(known.size - 1, size=TRIED_ROWS)
    share = rng.random(TRIED_ROWS)
    between = (1.0 - share) * known[place] + share * known[place + 1]
    if (known == np.round(known)).all():
        between = np.round(between)
    return np.where(rng.random(TRIED_ROWS) < 0.5, found, between)


def _sum_of_parts(scorer: Scorer, rows: dict[int, np.ndarray]) -> np.ndarray:
    """Curves and kernels of rows, added up."""
    found = np.zeros(TRIED_ROWS)
    with np.errstate(over="ignore", invalid="ignore"):
        for j, effect in enumerate(scorer.effects):
            if isinstance(effect, Curve):
                found += effect(rows[j])
        for part in scorer.kernels:
            found += _kernel(part, _encode(part, rows), np.float64)
    return found


def _encode(part: KernelPart, rows: dict[int, np.ndarray]) -> np.ndarray:
    """Columns as a kernel takes them; of categories there is none."""
    blocks = []
    for j, encoder in enumerate(part.encoders):
        block = np.zeros((TRIED_ROWS, encoder.width))
        if isinstance(encoder, Curves):
            block[:, 0] = curve_of(encoder, np.ones(1))(rows[j])
        blocks.append(block)
    return np.hstack(blocks)


def _kernel(part: KernelPart, u: np.ndarray, dtype: type) -> np.ndarray:
    """What a kernel adds to the score, computed as the graph does."""
    z = part.landmarks
    left = np.hstack([u, np.sum(u * u, axis=1, keepdims=True), np.ones((len(u), 1))]).astype(dtype)
    right = part.gamma * np.hstack([2.0 * z, -np.ones((len(z), 1)), -np.sum(z * z, axis=1, keepdims=True)])
    return np.exp(left @ right.T.astype(dtype)) @ part.coef.astype(dtype)


def _rounding_of(part: KernelPart) -> float:
    """The largest error of sums in float32, on the landmarks."""
    u = part.landmarks[:TRIED_ROWS]
    return float(np.abs(_kernel(part, u, np.float32) - _kernel(part, u, np.float64)).max())
