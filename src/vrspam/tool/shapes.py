"""What each column adds to the score of a model, as curves on the original scale that a model file can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vrspam.inspection import Shape, drawn_part

_LISTS = ("contribution", "low", "high")


@dataclass(frozen=True)
class Shapes:
    """The curves of a model.

    Attributes
    ----------
    columns : tuple of Shape
        What each column adds to the score, with a 95 % band from the folds.
    interactions : float or None
        Spread of the part of the score that is not a sum of curves; None where the curves are all there is, and
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


def shapes_of(fitted: Any, columns: Sequence[str]) -> Shapes | None:
    """Return the curves of a fitted `AUCClassifierCV` on a feature map.

    Parameters
    ----------
    fitted : AUCClassifierCV
    columns : names of the columns that it was fitted on

    Returns
    -------
    Shapes or None
        None for a kernel without additive features, whose score has no curves.
    """
    if drawn_part(fitted.features_) is None:
        return None
    found = [shape._replace(name=name) for name, shape in zip(columns, fitted.shape_functions_.values(), strict=True)]
    spread = list(fitted.importances_.values())  # of the columns, then of the interactions of a kernel
    return Shapes(tuple(found), spread[-1] if len(spread) > len(found) else None)
