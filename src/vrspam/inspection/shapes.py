"""What a column adds to a score: its curve with a band from the folds, and its importance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from vrspam.features import FeatureMap
from vrspam.features.base import Places
from vrspam.features.encoders import Curves, Encoder, Indicators
from vrspam.features.parts import CategoryPart, CurvePart, Effect
from vrspam.features.scoring import column_scores
from vrspam.inspection.interactions import Axis, PairEffect
from vrspam.moments import PairSums
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
    grid: np.ndarray
    contribution: np.ndarray
    low: np.ndarray
    high: np.ndarray
    missing: tuple[float, float, float] | None
    importance: float
    difference: float = 0.0
    mean_score: np.ndarray | None = None
    missing_mean_score: float | None = None
    together: tuple[str, ...] = ()
    unknown: float = 0.0
    extend: bool = False
    direction: int = 0
    part: str = ""

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
    name: str, members: Sequence[Encoder], effect: Any, means: np.ndarray, share: float, size: float, difference: float
) -> Shape:
    """The curve of one column, in one or several maps; `effect` has a function of the fit on all rows and of each fold.

    `means` are the means of these functions. Each of K folds leaves out a `share` v of the rows, so that the
    delete-a-group jackknife gives the standard error at every point, se² = (1 - v)/v · mean of the squared differences
    from their mean; the band is ± t(K - 1) · se, NaN for a single fold.
    """
    first, extend = members[0], all(isinstance(one, Curves) and one.extend for one in members)
    if isinstance(first, Indicators):
        grid: np.ndarray = np.array(first.categories, dtype=object)
        values = np.array([effect.values.get(one, effect.other) for one in first.categories]).reshape(-1, means.size)
    else:
        ends = [one.nodes[[0, -1]] for one in members if isinstance(one, Curves)]
        inside = (effect.nodes >= np.min(ends)) & (effect.nodes <= np.max(ends))  # where training had rows
        grid, values = effect.nodes[inside], effect.values[inside]
        if extend and grid.size == 2:  # drawn as a line, and not as two points
            grid, values = (np.linspace(two[0], two[1], 11) for two in (grid, values))
    values = (np.vstack([values, effect.missing]) if first.missing else values) - means
    value, each = values[:, 0], values[:, 1:]
    quantile = stdtrit(each.shape[1] - 1.0, 0.975)  # of Student's t; NaN for a single fold
    half = np.sqrt((1.0 - share) / share) * quantile * each.std(axis=1)
    absent = None
    if first.missing:
        absent = (float(value[-1]), float(value[-1] - half[-1]), float(value[-1] + half[-1]))
        value, half = value[:-1], half[:-1]
    unknown = float(value[-1]) if isinstance(first, Indicators) and first.grouped else -float(means[0])
    shape = Shape(name, grid, value, value - half, value + half, absent, size, difference)
    return shape._replace(unknown=unknown, extend=extend)


# Parts of a score by groups of features: by column if the map keeps columns apart, by feature otherwise.

INTERACTIONS = "interactions"


def distinct(names: Iterable[Any]) -> list[str]:
    """Names of parts, made unique: a name that occurred before gets a number.

    >>> distinct(["age", "age", 3])
    ['age', 'age (2)', '3']
    """
    found: dict[str, None] = {}
    for name in map(str, names):
        number, free = 2, name
        while free in found:
            number, free = number + 1, f"{name} ({number})"
        found[free] = None
    return list(found)


def column_groups(features: Any, names: Sequence[str], n_features: int) -> dict[str, Places]:
    """Where the features of each part of the score are: by column where the map keeps columns apart."""
    if features is None:
        return {name: slice(j, j + 1) for j, name in enumerate(distinct(names))}
    if isinstance(features, FeatureMap):
        places, together = features.feature_places()
        groups: dict[str, Places] = dict(zip(distinct(names) if places else (), places, strict=True))
        return groups if together is None else {**groups, distinct([*groups, INTERACTIONS])[-1]: together}
    try:
        parts = distinct(features.get_feature_names_out())
    except Exception:  # a transformer, or a step of a pipeline, that names nothing
        parts = [f"feature{j}" for j in range(n_features)]
    return {name: slice(j, j + 1) for j, name in enumerate(parts)}


def importances(groups: Mapping[str, Places], coef: np.ndarray, moments: PairSums) -> dict[str, float]:
    """Standard deviation of each part of the score over the rows, both classes weighing the same."""
    within, delta = moments.within, moments.delta
    spread = {}
    for name, where in groups.items():
        w = coef[where]
        variance = w @ within[where][:, where] @ w / 2.0 + float(w @ delta[where]) ** 2 / 4.0
        spread[name] = float(np.sqrt(max(variance, 0.0)))
    return spread


# All curves of a score, and how model files hold them.

_LISTS = ("contribution", "low", "high")


@dataclass(frozen=True)
class Shapes:
    """The curves of a score, column by column, and what their sum leaves of it."""

    columns: tuple[Shape, ...]  # what each column adds to the score, with a 95 % band from the folds
    # spread of the part of the score that is not a sum of curves; None if the score is the sum of its curves
    interactions: float | None = None
    share: float = 0.0  # share of that part in the variance of the score
    pairs: tuple[PairEffect, ...] = ()  # the strongest pairs of columns that interact
    # (columns,): standard deviation of what each column does to the score, by its curve and in interactions;
    # not in files
    effects: np.ndarray | None = None

    @property
    def rest_name(self) -> str:
        """The name of the part of the score that is not a sum of curves."""
        rest = INTERACTIONS if len(self.columns) > 1 else "finer than the curve"
        return distinct([*(shape.name for shape in self.columns), rest])[-1]

    def told(
        self, directions: Sequence[float], levels: Sequence[Sequence[str]], X: Any, positive: np.ndarray, weights: Any
    ) -> Shapes:
        """Return the curves with the requested `directions` of the columns; ordered categories have these `levels`.

        Each such curve is replaced by the nearest monotone curve, because the projection of a monotone score need not
        be monotone.
        The rows give the importance of a curve that was changed.
        """
        from sklearn.isotonic import isotonic_regression  # here, because commands that only score do not need it

        columns, known = list(self.columns), np.ones(positive.size) if weights is None else np.asarray(weights)
        shares = known / np.where(positive, 2.0 * known[positive].sum(), 2.0 * known[~positive].sum())
        for index in np.flatnonzero(directions).tolist():
            shape, sign, order = columns[index], int(directions[index]), levels[index]
            if not shape.numeric:  # in the order of the levels
                ranks = np.argsort([order.index(one) if one in order else len(order) for one in shape.grid])
                same = {name: getattr(shape, name)[ranks] for name in ("grid", *_LISTS)}
                means = None if shape.mean_score is None else shape.mean_score[ranks]
                shape = shape._replace(**same, mean_score=means)
            grid, moved = shape.grid.tolist(), np.zeros(shape.grid.size)
            places = np.arange(moved.size) if shape.numeric else [grid.index(one) for one in order if one in grid]
            own = shape.contribution[places]
            moved[places] = isotonic_regression(own, increasing=sign > 0) - own
            columns[index] = shape._replace(direction=sign, **{name: getattr(shape, name) + moved for name in _LISTS})
            if np.abs(moved).max() > 1e-9 * shape.importance:
                parts = columns[index].parts(X, index)
                spread = float(np.sqrt(shares @ (parts - shares @ parts) ** 2))
                difference = 2.0 * float(np.where(positive, shares, -shares) @ parts)
                columns[index] = columns[index]._replace(importance=spread, difference=difference)
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
        columns = (shape._replace(part=parts.get(shape.name, "")) for shape in self.columns)
        return replace(self, columns=tuple(columns), pairs=tuple(pairs))

    def importances(self) -> dict[str, float]:
        """Spread of what each column, and interactions, add to the score."""
        spread = {shape.name: shape.importance for shape in self.columns}
        return spread if self.interactions is None else {**spread, self.rest_name: self.interactions}

    def parts(self, X: Any, scores: np.ndarray) -> dict[str, np.ndarray]:
        """What each column, and interactions, add to the scores of the rows of X."""
        parts = {shape.name: shape.parts(X, index) for index, shape in enumerate(self.columns)}
        return parts if self.interactions is None else {**parts, self.rest_name: scores - sum(parts.values())}

    def to_dict(self) -> dict[str, Any]:
        """Plain values and lists; not the parts of dates, which the schema knows."""
        columns, pairs = [], []
        for shape in self.columns:
            plain = {**shape._asdict(), **{key: getattr(shape, key).tolist() for key in ("grid", *_LISTS)}}
            means = None if shape.mean_score is None else _with_gaps(shape.mean_score)
            columns.append({**plain, "mean_score": means, "together": list(shape.together)})
            del columns[-1]["part"]
            if not shape.direction:
                del columns[-1]["direction"]
        for pair in self.pairs:
            axes = [
                {"name": a.name, "labels": list(a.labels), "edges": None if a.edges is None else a.edges.tolist()}
                for a in pair.columns
            ]
            pairs.append({"columns": axes, "share": pair.share, "values": [_with_gaps(row) for row in pair.values]})
        return {"columns": columns, "pairs": pairs, "interactions": self.interactions, "share": self.share}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Shapes:
        """Return what `to_dict` wrote; raise an error if it is invalid."""
        interactions = plain["interactions"]
        columns = []
        for one in plain["columns"]:
            texts = all(isinstance(value, str) for value in one["grid"])
            grid = np.array(one["grid"], dtype=object if texts else np.float64)
            value, low, high = (np.array(one[key], dtype=np.float64) for key in _LISTS)
            missing = None
            if one["missing"] is not None:
                at, below, above = map(float, one["missing"])
                missing = (at, below, above)
            means, absent, extend = one.get("mean_score"), one.get("missing_mean_score"), one.get("extend", False)
            if not isinstance(extend, bool):
                raise TypeError("extend must be true or false")
            mean_score = np.full(grid.shape, np.nan)
            if means is not None:
                mean_score = np.array(means, dtype=np.float64)  # None is NaN
            sizes = {value.shape, low.shape, high.shape, mean_score.shape}
            if grid.ndim != 1 or grid.size == 0 or sizes != {grid.shape}:
                raise ValueError("a curve has parts of different sizes")
            name, size, difference = str(one["name"]), float(one["importance"]), float(one.get("difference", 0.0))
            shape = Shape(name, grid, value, low, high, missing, size, difference)._replace(
                mean_score=None if means is None else mean_score,
                missing_mean_score=None if absent is None else float(absent),
                together=_texts(one.get("together", [])),
                unknown=float(one.get("unknown", 0.0)),
                extend=extend,
                direction=int(one.get("direction", 0)),
            )
            single = (shape.difference, shape.unknown, shape.missing_mean_score or 0.0)
            parts = (value, low, high, missing or (), () if texts else grid, single, mean_score[~np.isnan(mean_score)])
            if not all(np.isfinite(part).all() for part in parts):
                raise ValueError("a curve holds numbers that are not finite")
            columns.append(shape)
        shapes = cls(
            tuple(columns),
            None if interactions is None else float(interactions),
            float(plain.get("share", 0.0)),
            tuple(map(_pair, plain.get("pairs", ()))),
        )
        if not np.isfinite([shape.importance for shape in shapes.columns] + [shapes.interactions or 0.0]).all():
            raise ValueError("the spread of a curve is not finite")
        if not 0.0 <= shapes.share <= 1.0:
            raise ValueError("the share of the interactions is not between 0 and 1")
        return shapes


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("names of columns and labels must be lists of texts")
    return tuple(values)


def _with_gaps(values: np.ndarray) -> list[Any]:
    """Numbers as lists, None instead of NaN."""
    return [None if np.isnan(value) else value for value in values.tolist()]


def _pair(plain: Mapping[str, Any]) -> PairEffect:
    axes = []
    for axis in plain["columns"]:
        (name,), labels, edges = _texts([axis["name"]]), _texts(axis["labels"]), axis["edges"]
        if edges is not None:
            edges, of_numbers = np.array(edges, dtype=np.float64), len(labels) - (labels[-1:] == ("missing",))
            if edges.shape != (of_numbers + 1,) or not np.isfinite(edges).all() or (np.diff(edges) < 0.0).any():
                raise ValueError("the bins of a pair do not fit")
        axes.append(Axis(name, labels, edges))
    first, second = axes
    values, share = np.array(plain["values"], dtype=np.float64), float(plain["share"])  # None is NaN
    if values.shape != (len(first.labels), len(second.labels)) or np.isinf(values).any():
        raise ValueError("the heat map of a pair does not fit its bins")
    if not 0.0 <= share <= 1.0:
        raise ValueError("the share of a pair is not between 0 and 1")
    return PairEffect((first, second), share, values)
