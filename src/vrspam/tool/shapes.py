"""What each column adds to the score of a model, as curves on the original scale that a model file can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vrspam.data import Schema
from vrspam.features.encoders import Curves
from vrspam.inspection import INTERACTIONS, Shape, drawn_part, importances, make_shape, points
from vrspam.moments import ClassMoments
from vrspam.tool.scaling import Scaling, spread

_LISTS = ("contribution", "low", "high")


@dataclass(frozen=True)
class Shapes:
    """The curves of a model.

    Attributes
    ----------
    columns : tuple of Shape
        What each column adds to the score, with a 95 % band from the folds. The indicators of a category are one
        shape, whose `missing` is a row without any of them.
    interactions : float or None
        Spread of the part of the score that is no sum of curves; None where the curves are all there is, and
        their sum is the score.
    """

    columns: tuple[Shape, ...]
    interactions: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values and lists."""
        return {
            "columns": [
                {**shape._asdict(), **{key: getattr(shape, key).tolist() for key in ("grid", *_LISTS)}}
                for shape in self.columns
            ],
            "interactions": self.interactions,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Shapes:
        """Return what `to_dict` wrote, or say what is wrong with it."""
        interactions = plain["interactions"]
        shapes = cls(tuple(map(_shape, plain["columns"])), None if interactions is None else float(interactions))
        if not np.isfinite([shape.importance for shape in shapes.columns] + [shapes.interactions or 0.0]).all():
            raise ValueError("the spread of a curve is not finite")
        return shapes


def _shape(plain: Mapping[str, Any]) -> Shape:
    texts = all(isinstance(value, str) for value in plain["grid"])
    grid = np.array(plain["grid"], dtype=object if texts else np.float64)
    value, low, high = (np.array(plain[key], dtype=np.float64) for key in _LISTS)
    missing = None
    if plain["missing"] is not None:
        at, below, above = map(float, plain["missing"])
        missing = (at, below, above)
    if grid.ndim != 1 or grid.size == 0 or {grid.shape} != {value.shape, low.shape, high.shape}:
        raise ValueError("a curve has parts of different sizes")
    if not all(np.isfinite(part).all() for part in (value, low, high, missing or (), () if texts else grid)):
        raise ValueError("a curve holds numbers that are not finite")
    return Shape(str(plain["name"]), grid, value, low, high, missing, float(plain["importance"]))


def shapes_of(fitted: Any, schema: Schema, scaling: Scaling, moments: ClassMoments) -> Shapes | None:
    """Read the curves of a fitted `AUCClassifierCV` on a feature map of standardised columns.

    Parameters
    ----------
    fitted : AUCClassifierCV
    schema : Schema
        Names the columns, and says which features are the categories of one.
    scaling : Scaling
        Brings the curves back to the original scale.
    moments : ClassMoments
        Of the encoded rows: whether some have no category.

    Returns
    -------
    Shapes or None
        None for a kernel without additive features, whose score has no curves.
    """
    drawn, reading, interactions = drawn_part(fitted.features_), fitted._reading(), None
    if drawn is None:
        return None
    additive, scale = drawn
    if additive is not fitted.features_:  # a kernel: the curves stand beside it
        rest = slice(additive.n_features_out_, reading.coef.size)
        interactions = importances({INTERACTIONS: rest}, reading.coef, reading.moments)[INTERACTIONS]
    found = []
    for name, where, grid, design, missing in _columns(additive, schema, scaling, spread(moments)[0]):
        importance = importances({name: where}, reading.coef, reading.moments)[name]
        found.append(make_shape(name, grid, reading.curve(scale * design, where), missing, importance))
    return Shapes(tuple(found), interactions)


def _columns(features: Any, schema: Schema, scaling: Scaling, mean: np.ndarray):
    """(name, where its features are, grid, features at the grid, whether one more row is a missing value)."""
    slices, names = features.column_slices_, schema.feature_names
    numeric = len(names) - sum(map(len, schema.categorical.values()))
    for j in range(numeric):
        encoder = features.encoders_[j]
        grid, design = points(encoder)
        yield names[j], slices[j], grid * scaling.deviations[j] + scaling.centre[j], design, encoder.missing
    start = numeric
    for name, categories in schema.categorical.items():
        which = range(start, start + len(categories))
        start = which.stop
        none = bool(mean[which].sum() < 1.0 - 1e-9)
        rows = np.eye(len(categories) + none, len(categories))
        scaled = (rows - scaling.centre[which]) / scaling.deviations[which]
        parts = [_features(features.encoders_[j], scaled[:, k]) for k, j in enumerate(which)]
        where = slice(slices[which[0]].start, slices[which[-1]].stop)
        yield name, where, np.array(categories, dtype=object), np.hstack(parts), none


def _features(encoder: Curves, values: np.ndarray) -> np.ndarray:
    out = np.empty((values.size, encoder.width))
    encoder.write(values, out)
    return out
