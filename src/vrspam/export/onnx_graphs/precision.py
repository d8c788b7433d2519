"""Where single precision will do: tried on values like those of training when a model is exported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vrspam.features.encoders import Curves, Encoder
from vrspam.features.parts import Curve, KernelPart, TreePart
from vrspam.model.scorer import NUMBER, Scorer

# Parts of the spread of the scores that rounding of inputs, and of sums, may change them by: below what is promised.
INPUT_LIMIT, SUM_LIMIT = 4e-6, 2e-6
TRIED_ROWS, LEAST_ROWS, TRIED_ENTRIES = 1_000, 20, 2_000_000  # fewer rows of very wide tables


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
    n = min(TRIED_ROWS, max(LEAST_ROWS, TRIED_ENTRIES // len(scorer.columns)))
    values = _made_values(scorer, n, np.random.default_rng(0))
    kernels = [_KernelAtLandmarks.of(part, n) for part in scorer.kernels]
    scores = sum((one.scores for one in kernels), np.zeros(n))
    for j, effect in enumerate(scorer.effects):
        if isinstance(effect, Curve):
            scores = scores + effect(values[j])
    spread = float(np.std(scores))
    errors = _rounding_errors(scorer, values, kernels)
    single = _few_errors(errors, INPUT_LIMIT * spread) & [one.kind == NUMBER for one in scorer.inputs]
    return Precision(tuple(single.tolist()), tuple(one.rounding <= SUM_LIMIT * spread for one in kernels))


def round_nodes(scorer: Scorer, inputs: Sequence[bool]) -> Scorer:
    """The scorer for numbers of some inputs that are rounded to float32: where it bends or splits is rounded as well.

    So the values of training at which it does are where they were, and only rows that are within rounding of a
    threshold, without being on it, can fall to the other side.
    """
    chosen = [inputs[column.source] for column in scorer.columns]

    def rounded(nodes: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return nodes.astype(np.float32).astype(np.float64)

    def encoders(part: KernelPart | TreePart) -> list[Encoder]:
        return [
            replace(one, nodes=rounded(one.nodes)) if single and isinstance(one, Curves) else one
            for one, single in zip(part.encoders, chosen, strict=True)
        ]

    effects = tuple(
        replace(effect, nodes=rounded(effect.nodes))
        if single and isinstance(effect, Curve) and not effect.is_line
        else effect
        for effect, single in zip(scorer.effects, chosen, strict=True)
    )
    kernels = tuple(replace(part, encoders=encoders(part)) for part in scorer.kernels)
    trees = tuple(replace(part, encoders=encoders(part)) for part in scorer.trees)
    return replace(scorer, effects=effects, kernels=kernels, trees=trees)


def _rounding_errors(scorer: Scorer, values: dict[int, np.ndarray], kernels: list[_KernelAtLandmarks]) -> np.ndarray:
    """What rounding of each input of numbers, and of the nodes of its curves, adds to the scores: inputs × rows."""
    found = np.zeros((len(scorer.inputs), next(iter(values.values())).size if values else 1))
    rounded = round_nodes(scorer, [one.kind == NUMBER for one in scorer.inputs])
    places = [np.cumsum([0, *(encoder.width for encoder in part.encoders)]) for part in scorer.kernels]
    for j, column in enumerate(scorer.columns):
        if scorer.inputs[column.source].kind != NUMBER:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            x, near = values[j], values[j].astype(np.float32).astype(np.float64)
            effect, other = scorer.effects[j], rounded.effects[j]
            if isinstance(effect, Curve) and isinstance(other, Curve):
                found[column.source] += other(near) - effect(x)
            for part, whole, one, starts in zip(rounded.kernels, scorer.kernels, kernels, places, strict=True):
                encoder, exact = part.encoders[j], whole.encoders[j]
                if isinstance(encoder, Curves) and isinstance(exact, Curves):
                    moved = Curve.of(encoder, np.ones(1))(near) - Curve.of(exact, np.ones(1))(x)
                    found[column.source] += one.slopes[:, starts[j]] * moved
    return np.nan_to_num(found, nan=np.inf, posinf=np.inf, neginf=np.inf)


def _few_errors(errors: np.ndarray, allowed: float) -> np.ndarray:
    """Which inputs may be rounded, so that their errors add up to no more than is allowed in any row."""
    kept = np.ones(len(errors), dtype=bool)
    order = np.argsort(-np.abs(errors).max(axis=1))
    for number in order:
        if np.abs(errors[kept].sum(axis=0)).max() <= allowed:
            break
        kept[number] = False
    return kept


def _made_values(scorer: Scorer, n: int, rng: np.random.Generator) -> dict[int, np.ndarray]:
    """Values of each column of numbers as training may have had them: spread evenly over its quantiles."""
    found = {}
    for j, numeric in enumerate(scorer.is_numeric):
        if not numeric:
            continue
        effect = scorer.effects[j]
        nodes = [effect.nodes] if isinstance(effect, Curve) else []
        nodes += [encoder.nodes for part in scorer.kernels if isinstance(encoder := part.encoders[j], Curves)]
        known = nodes[0] if nodes else np.zeros(1)
        known = np.unique(np.concatenate(nodes)) if len(nodes) > 1 else known
        if known.size > 1:
            found[j] = values_between(known, n, rng)
        elif scorer.typical is not None:
            mean, deviation = scorer.typical[:, j].tolist()
            found[j] = rng.normal(mean, deviation, n)
        else:
            found[j] = np.full(n, known[0])
    return found


def values_between(nodes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n numbers between nodes, with as many digits behind the point as the nodes have.

    >>> values = values_between(np.array([0.5, 2.0, 7.5]), 100, np.random.default_rng(0))
    >>> bool((values * 2.0 == np.round(values * 2.0)).all()), bool((values * 10.0 == np.round(values * 10.0)).all())
    (False, True)
    """
    place, share = rng.integers(nodes.size - 1, size=n), rng.random(n)
    found = (1.0 - share) * nodes[place] + share * nodes[place + 1]
    cut_off = 2 if nodes.size > 4 else 0  # a curve may bend at two numbers that are no values
    most_digits = 9  # behind the point
    for digits in range(most_digits + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            if np.count_nonzero(nodes == np.round(nodes, digits)) >= nodes.size - cut_off:
                return np.round(found, digits)
    return found


class _KernelAtLandmarks(NamedTuple):
    """A kernel on rows that are its landmarks: scores, their slopes in each encoded column, rounding of its sums."""

    scores: np.ndarray
    slopes: np.ndarray
    rounding: float

    @classmethod
    def of(cls, part: KernelPart, n: int) -> _KernelAtLandmarks:
        u = part.landmarks[np.arange(n) % len(part.landmarks)]
        weights = np.exp(_exponents(part, u, np.float64)) * part.coef
        scores = weights.sum(axis=1)
        slopes = 2.0 * part.gamma * (weights @ part.landmarks - scores[:, np.newaxis] * u)
        single = np.exp(_exponents(part, u, np.float32)) @ part.coef.astype(np.float32)
        return cls(scores, slopes, float(np.abs(single - scores).max()))


def _exponents(part: KernelPart, u: np.ndarray, dtype: Any) -> np.ndarray:
    """-γ‖u - z‖² as the graph computes it."""
    z = part.landmarks
    left = np.hstack([u, np.sum(u * u, axis=1, keepdims=True), np.ones((len(u), 1))]).astype(dtype)
    right = part.gamma * np.hstack([2.0 * z, -np.ones((len(z), 1)), -np.sum(z * z, axis=1, keepdims=True)])
    return left @ right.T.astype(dtype)
