"""The curves of a model and the pairs of columns that interact, as model files hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vrspam.inspection import Axis, PairEffect, Shape, rest_name

_LISTS = ("contribution", "low", "high")


@dataclass(frozen=True)
class Shapes:
    """The curves of a model, and what they leave.

    Attributes
    ----------
    columns : tuple of Shape
        What each column adds to the score, with a 95 % band from the folds.
    interactions : float or None
        Spread of the part of the score that is not a sum of curves; None where the curves are all there is, and
        their sum is the score.
    share : float
        That part of the variance of the score.
    pairs : tuple of PairEffect
        The strongest pairs of columns that interact.
    whole : bool
        Whether the curves are the best additive reading of the whole score. Earlier versions stored the curves of a
        part of the score, and the rest may undo them.
    """

    columns: tuple[Shape, ...]
    interactions: float | None = None
    share: float = 0.0
    pairs: tuple[PairEffect, ...] = ()
    whole: bool = True

    @property
    def rest_name(self) -> str:
        """What the part is called that is no sum of curves."""
        return rest_name([shape.name for shape in self.columns])

    def to_dict(self) -> dict[str, Any]:
        """Plain values and lists."""
        return {
            "columns": [_plain_shape(shape) for shape in self.columns],
            "interactions": self.interactions,
            "share": self.share,
            "pairs": [_plain_pair(pair) for pair in self.pairs],
            "whole": self.whole,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Shapes:
        """Return what `to_dict` wrote, now or in an earlier version, or say what is wrong with it."""
        interactions = plain["interactions"]
        shapes = cls(
            tuple(map(_shape, plain["columns"])),
            None if interactions is None else float(interactions),
            float(plain.get("share", 0.0)),
            tuple(map(_pair, plain.get("pairs", ()))),
            _flag(plain, "whole", interactions is None),
        )
        if not np.isfinite([shape.importance for shape in shapes.columns] + [shapes.interactions or 0.0]).all():
            raise ValueError("the spread of a curve is not finite")
        if not 0.0 <= shapes.share <= 1.0:
            raise ValueError("the share of the interactions is not between 0 and 1")
        return shapes


def _flag(plain: Mapping[str, Any], name: str, default: bool) -> bool:
    value = plain.get(name, default)
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be true or false")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("names of columns and labels must be lists of texts")
    return tuple(values)


def _plain_shape(shape: Shape) -> dict[str, Any]:
    plain = {**shape._asdict(), **{key: getattr(shape, key).tolist() for key in ("grid", *_LISTS)}}
    means = None if shape.mean_score is None else _with_gaps(shape.mean_score)
    return {**plain, "mean_score": means, "together": list(shape.together)}


def _with_gaps(values: np.ndarray) -> list[Any]:
    """Numbers as lists, None instead of NaN."""
    return [None if np.isnan(value) else value for value in values.tolist()]


def _shape(plain: Mapping[str, Any]) -> Shape:
    texts = all(isinstance(value, str) for value in plain["grid"])
    grid = np.array(plain["grid"], dtype=object if texts else np.float64)
    value, low, high = (np.array(plain[key], dtype=np.float64) for key in _LISTS)
    missing = None
    if plain["missing"] is not None:
        at, below, above = map(float, plain["missing"])
        missing = (at, below, above)
    means, absent = plain.get("mean_score"), plain.get("missing_mean_score")
    mean_score = np.full(grid.shape, np.nan) if means is None else np.array(means, dtype=np.float64)  # None is NaN
    if grid.ndim != 1 or grid.size == 0 or {grid.shape} != {value.shape, low.shape, high.shape, mean_score.shape}:
        raise ValueError("a curve has parts of different sizes")
    shape = Shape(
        str(plain["name"]),
        grid,
        value,
        low,
        high,
        missing,
        float(plain["importance"]),
        difference=float(plain.get("difference", 0.0)),
        mean_score=None if means is None else mean_score,
        missing_mean_score=None if absent is None else float(absent),
        together=_texts(plain.get("together", [])),
        unknown=float(plain.get("unknown", 0.0)),
        extend=_flag(plain, "extend", False),
    )
    single = (shape.difference, shape.unknown, shape.missing_mean_score or 0.0)
    parts = (value, low, high, missing or (), () if texts else grid, single, mean_score[~np.isnan(mean_score)])
    if not all(np.isfinite(part).all() for part in parts):
        raise ValueError("a curve holds numbers that are not finite")
    return shape


def _plain_pair(pair: PairEffect) -> dict[str, Any]:
    axes = [
        {"name": a.name, "labels": list(a.labels), "edges": None if a.edges is None else a.edges.tolist()}
        for a in pair.columns
    ]
    return {"columns": axes, "share": pair.share, "values": [_with_gaps(row) for row in pair.values]}


def _pair(plain: Mapping[str, Any]) -> PairEffect:
    first, second = map(_axis, plain["columns"])
    values, share = np.array(plain["values"], dtype=np.float64), float(plain["share"])  # None is NaN
    if values.shape != (len(first.labels), len(second.labels)) or np.isinf(values).any():
        raise ValueError("the heat map of a pair does not fit its bins")
    if not 0.0 <= share <= 1.0:
        raise ValueError("the share of a pair is not between 0 and 1")
    return PairEffect((first, second), share, values)


def _axis(plain: Mapping[str, Any]) -> Axis:
    (name,), labels = _texts([plain["name"]]), _texts(plain["labels"])
    if plain["edges"] is None:
        return Axis(name, labels, None)
    edges = np.array(plain["edges"], dtype=np.float64)
    of_numbers = len(labels) - (labels[-1:] == ("missing",))
    if edges.shape != (of_numbers + 1,) or not np.isfinite(edges).all() or (np.diff(edges) < 0.0).any():
        raise ValueError("the bins of a pair do not fit")
    return Axis(name, labels, edges)


def shapes_of(fitted: Any, columns: Sequence[str]) -> Shapes | None:
    """Return the curves of a fitted `AUCClassifierCV` on a feature map.

    Parameters
    ----------
    fitted : AUCClassifierCV
    columns : names of the columns that it was fitted on

    Returns
    -------
    Shapes or None
        None where the columns have no curves (`AUCClassifierCV.shape_functions_` says why).
    """
    if not hasattr(fitted, "shape_functions_"):
        return None
    found = fitted.shape_functions_
    names = dict(zip(found, columns, strict=True))
    shapes = tuple(
        shape._replace(name=names[name], together=tuple(names[other] for other in shape.together))
        for name, shape in found.items()
    )
    pairs = tuple(
        pair._replace(columns=tuple(axis._replace(name=names[axis.name]) for axis in pair.columns))
        for pair in fitted.pair_effects_
    )
    spread = list(fitted.importances_.values())  # of the columns, then of the interactions
    if len(spread) == len(shapes):
        return Shapes(shapes)
    return Shapes(shapes, spread[-1], fitted.interactions_share_, pairs)
