"""What columns add to a score: their curves with bands from the folds, and their importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from vrspam._utils.stored import NEVER, NumbersOrTexts, NumbersWithGaps
from vrspam.features.encoders import Curves, Encoder, Indicators
from vrspam.features.parts import CategoryPart, CurvePart, Effect
from vrspam.features.scoring import column_scores
from vrspam.inspection.groups import INTERACTIONS, distinct
from vrspam.inspection.interactions import PairEffect
from vrspam.tables.kinds.dates import PARTS


class Shape(NamedTuple):
    """What one column adds to the score.

    Attributes
    ----------
    name : str
        The column.
    grid : ndarray
        Values of the column: numbers in increasing order, between which the curve is straight, or categories.
    contribution : ndarray
        What each of them adds to the score; its mean over the training rows is 0, both classes weighing the same.
    low, high : ndarray
        Pointwise 95 % band of the shape of the curve, from the folds, on the scale of this score; NaN where there was
        only one fold. Another penalty would scale the whole score, which changes no ranking and is not in the band.
    missing : tuple of float or None
        (contribution, low, high) of a missing value, None when none was seen.
    importance : float
        Standard deviation of the contribution over the rows, both classes weighing the same.
    difference : float
        What the column adds to the difference between the mean scores of the two classes.
    mean_score : ndarray or None
        Mean score of the training rows at each value of `grid` (if a number has many values, of the rows near it).
        Where it differs from the curve, the rows at that value differ in other columns too.
    missing_mean_score : float or None
        Mean score of the rows whose value is missing.
    together : tuple of str
        Columns that move together with this one: a function of each of them explains most of this curve, or the other
        way round. How an effect is split between such columns is a convention; read their curves as one sum.
    unknown : float
        What a category that training did not have adds, which counts as a rare one where rare ones are grouped (or a
        missing value, where none was missing).
    extend : bool
        Whether the curve goes on as a straight line outside the grid; otherwise it stays at its last value.
    direction : {-1, 0, 1}
        Whether the score was required to fall (-1) or to rise (1) with the column; 0 for neither.
    part : {"year", "month", "weekday", "hour", ""}
        The part of a date that the column is; "" for other columns.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import AUCClassifierCV
    >>> X = np.random.default_rng(0).standard_normal((300, 2))
    >>> model = AUCClassifierCV([0.1], features="additive").fit(X, X[:, 0] ** 2 > 1)
    >>> shape = model.shape_functions_["x0"]
    >>> bool(shape.contribution[0] > 0 > shape.contribution[shape.grid.size // 2])  # high at both ends
    True
    """

    name: str
    grid: NumbersOrTexts
    contribution: np.ndarray
    low: np.ndarray
    high: np.ndarray
    missing: tuple[float, float, float] | None
    importance: float
    difference: float = 0.0
    mean_score: NumbersWithGaps | None = None
    missing_mean_score: float | None = None
    together: tuple[str, ...] = ()
    unknown: float = 0.0
    extend: bool = False
    direction: int = 0
    part: str = ""

    def check(self) -> None:
        """Refuse parts of different sizes, as a file may hold them."""
        sizes = {self.contribution.shape, self.low.shape, self.high.shape}
        if self.mean_score is not None:
            sizes.add(self.mean_score.shape)
        if self.grid.ndim != 1 or self.grid.size == 0 or sizes != {self.grid.shape}:
            raise ValueError("a curve has parts of different sizes")
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"the direction of a curve is {self.direction}")
        if self.part and self.part not in PARTS:
            raise ValueError(f"{self.part!r} is no part of a date")

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers."""
        return self.grid.dtype.kind == "f"

    def parts(self, X: Any, index: int) -> np.ndarray:
        """What column `index` of X, which is this one, adds to the score of each row."""
        absent = self.unknown if self.missing is None else self.missing[0]
        if self.numeric:
            encoder = Curves(self.grid, self.contribution[:, np.newaxis], ("",), False, self.extend)
            effect: Effect = CurvePart.of(encoder, np.ones(1))._replace(missing=absent)
        else:
            effect = CategoryPart(dict(zip(self.grid, self.contribution.tolist(), strict=True)), absent, self.unknown)
        return column_scores(effect, X, index)


def make_shape(
    name: str, encoders: Sequence[Encoder], effect: Any, means: np.ndarray, share: float, size: float, difference: float
) -> Shape:
    """The curve of one column, in one or several maps; `effect` has a function of the fit on all rows and of each fold.

    `means` are the means of these functions. Each of K folds leaves out a `share` v of the rows, so that the
    delete-a-group jackknife gives the standard error at every point, se² = (1 - v)/v · mean of the squared differences
    from their mean; the band is ± t(K - 1) · se, NaN for a single fold.
    """
    first = encoders[0]
    extend = all(isinstance(encoder, Curves) and encoder.extend for encoder in encoders)
    if isinstance(first, Indicators):
        grid: np.ndarray = np.array(first.categories, dtype=object)
        heights = [effect.values.get(category, effect.other) for category in first.categories]
        values = np.array(heights).reshape(-1, means.size)
    else:
        grid, values = _drawn_curve(encoders, effect, extend)
    if first.missing:
        values = np.vstack([values, effect.missing])
    values = values - means

    contribution = values[:, 0]
    of_folds = values[:, 1:]
    quantile = stdtrit(of_folds.shape[1] - 1.0, 0.975)  # of Student's t; NaN for a single fold
    half = np.sqrt((1.0 - share) / share) * quantile * of_folds.std(axis=1)
    low = contribution - half
    high = contribution + half

    missing = None
    if first.missing:
        missing = (float(contribution[-1]), float(low[-1]), float(high[-1]))
        contribution = contribution[:-1]
        low = low[:-1]
        high = high[:-1]
    unknown = -float(means[0])
    if isinstance(first, Indicators) and first.grouped:
        unknown = float(contribution[-1])
    return Shape(
        name=name,
        grid=grid,
        contribution=contribution,
        low=low,
        high=high,
        missing=missing,
        importance=size,
        difference=difference,
        unknown=unknown,
        extend=extend,
    )


def _drawn_curve(encoders: Sequence[Encoder], effect: Any, extend: bool) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of a curve where training had rows, and its values there."""
    ends = [encoder.nodes[[0, -1]] for encoder in encoders if isinstance(encoder, Curves)]
    inside = (effect.nodes >= np.min(ends)) & (effect.nodes <= np.max(ends))
    grid = effect.nodes[inside]
    values = effect.values[inside]
    if extend and grid.size == 2:  # drawn as a line, and not as two points
        grid = np.linspace(grid[0], grid[1], 11)
        values = np.linspace(values[0], values[1], 11)
    return grid, values


@dataclass(frozen=True)
class Shapes:
    """The curves of a score, column by column, and what their sum leaves of it."""

    columns: tuple[Shape, ...]  # what each column adds to the score, with a 95 % band from the folds
    # spread of the part of the score that is not a sum of curves; None if the score is the sum of its curves
    interactions: float | None = None
    share: float = 0.0  # share of that part in the variance of the score
    pairs: tuple[PairEffect, ...] = ()  # the strongest pairs of columns that interact
    # (columns,): standard deviation of what each column does to the score, by its curve and in interactions
    effects: Annotated[np.ndarray | None, NEVER] = None

    def check(self) -> None:
        """Refuse a share that is none."""
        if not 0.0 <= self.share <= 1.0:
            raise ValueError("the share of the interactions is not between 0 and 1")

    @property
    def rest_name(self) -> str:
        """The name of the part of the score that is not a sum of curves."""
        name = INTERACTIONS if len(self.columns) > 1 else "finer than the curve"
        return distinct([*(shape.name for shape in self.columns), name])[-1]

    def with_directions(
        self, directions: Sequence[float], levels: Sequence[Sequence[str]], X: Any, positive: np.ndarray, weights: Any
    ) -> Shapes:
        """Return the curves with the requested `directions` of the columns; ordered categories have these `levels`.

        Each such curve is replaced by the nearest monotone curve, because the projection of a monotone score need not
        be monotone. The rows give the importance of a curve that was changed.
        """
        mass = np.ones(positive.size) if weights is None else np.asarray(weights)
        shares = mass / np.where(positive, 2.0 * mass[positive].sum(), 2.0 * mass[~positive].sum())
        columns = list(self.columns)
        for index in np.flatnonzero(directions).tolist():
            shape = columns[index]
            change = _monotone_change(shape, int(directions[index]), levels[index])
            columns[index] = change.shape
            if change.largest > 1e-9 * shape.importance:
                parts = change.shape.parts(X, index)
                columns[index] = change.shape._replace(
                    importance=float(np.sqrt(shares @ (parts - shares @ parts) ** 2)),
                    difference=2.0 * float(np.where(positive, shares, -shares) @ parts),
                )
        return replace(self, columns=tuple(columns))

    def dated(self, made: Mapping[str, tuple[Any, str]]) -> Shapes:
        """Return the curves that know which part of a date their columns are; `made` is that of a `Schema`."""
        parts = {name: part for name, (_, part) in made.items() if part in PARTS}
        if not parts:
            return self
        pairs = []
        for pair in self.pairs:
            first, second = (axis._replace(part=parts.get(axis.name, "")) for axis in pair.columns)
            pairs.append(pair._replace(columns=(first, second)))
        columns = [shape._replace(part=parts.get(shape.name, "")) for shape in self.columns]
        return replace(self, columns=tuple(columns), pairs=tuple(pairs))

    def importances(self) -> dict[str, float]:
        """Spread of what each column, and interactions, add to the score."""
        spread = {shape.name: shape.importance for shape in self.columns}
        if self.interactions is not None:
            spread[self.rest_name] = self.interactions
        return spread

    def parts(self, X: Any, scores: np.ndarray) -> dict[str, np.ndarray]:
        """What each column, and interactions, add to the scores of the rows of X."""
        parts = {shape.name: shape.parts(X, index) for index, shape in enumerate(self.columns)}
        if self.interactions is not None:
            parts[self.rest_name] = scores - sum(parts.values())
        return parts

    def to_dict(self) -> dict[str, Any]:
        """Plain values and lists; not the parts of dates, which the schema knows."""
        return {
            "columns": [_plain_shape(shape) for shape in self.columns],
            "pairs": [_plain_pair(pair) for pair in self.pairs],
            "interactions": self.interactions,
            "share": self.share,
        }


class _MonotoneChange(NamedTuple):
    shape: Shape
    largest: float  # how far the curve was moved at most


def _monotone_change(shape: Shape, direction: int, levels: Sequence[str]) -> _MonotoneChange:
    """The nearest monotone curve, with its band; categories in the order of the levels."""
    from sklearn.isotonic import isotonic_regression  # here, because commands that only score do not need it

    if shape.numeric:
        places = np.arange(shape.grid.size)
    else:
        shape = _in_order(shape, levels)
        grid = shape.grid.tolist()
        places = np.array([grid.index(level) for level in levels if level in grid], dtype=np.intp)
    contribution = shape.contribution[places]
    moved = np.zeros(shape.grid.size)
    moved[places] = isotonic_regression(contribution, increasing=direction > 0) - contribution
    monotone = shape._replace(
        direction=direction,
        contribution=shape.contribution + moved,
        low=shape.low + moved,
        high=shape.high + moved,
    )
    return _MonotoneChange(monotone, float(np.abs(moved).max()))


def _in_order(shape: Shape, levels: Sequence[str]) -> Shape:
    """The same categories in the order of the levels; those that are no level come last."""
    ranks = []
    for category in shape.grid:
        ranks.append(levels.index(category) if category in levels else len(levels))
    order = np.argsort(ranks)
    means = shape.mean_score
    if means is not None:
        means = means[order]
    return shape._replace(
        grid=shape.grid[order],
        contribution=shape.contribution[order],
        low=shape.low[order],
        high=shape.high[order],
        mean_score=means,
    )


# Curves as plain values, for JSON.

_LISTS = ("contribution", "low", "high")


def _plain_shape(shape: Shape) -> dict[str, Any]:
    plain = shape._asdict()
    for name in ("grid", *_LISTS):
        plain[name] = plain[name].tolist()
    if shape.mean_score is not None:
        plain["mean_score"] = _with_gaps(shape.mean_score)
    plain["together"] = list(shape.together)
    del plain["part"]
    if not shape.direction:
        del plain["direction"]
    return plain


def _plain_pair(pair: PairEffect) -> dict[str, Any]:
    columns = []
    for axis in pair.columns:
        edges = None if axis.edges is None else axis.edges.tolist()
        columns.append({"name": axis.name, "labels": list(axis.labels), "edges": edges})
    return {"columns": columns, "share": pair.share, "values": [_with_gaps(row) for row in pair.values]}


def _with_gaps(values: np.ndarray) -> list[Any]:
    """Numbers as lists, None instead of NaN."""
    return [None if np.isnan(value) else value for value in values.tolist()]
