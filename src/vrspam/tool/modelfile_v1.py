"""Models of files of version 1: their feature maps take rows that are encoded one-hot and standardised.

Files of version 2 hold maps of the columns themselves. Models without a map are the same in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vrspam.data import Schema
from vrspam.features import map_from_dict
from vrspam.inspection import column_groups
from vrspam.tool.model import Model, Scaling


@dataclass(frozen=True)
class EncodedMap:
    """A fitted feature map of standardised rows; with `gaps` it takes missing numbers as NaN, otherwise their means."""

    scaling: Scaling
    features: Any
    gaps: bool = False

    @property
    def n_features_in_(self) -> int:
        return self.scaling.centre.size

    @property
    def n_features_out_(self) -> int:
        return self.features.n_features_out_

    def products(self, X: Any, coef: np.ndarray) -> np.ndarray:
        """Return the features of encoded rows times `coef`."""
        return self.features.products(self.scaling(X), coef)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, lists and arrays."""
        parts = {"centre": self.scaling.centre, "deviations": self.scaling.deviations}
        return {**parts, "gaps": self.gaps, "map": self.features.to_dict()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> EncodedMap:
        """Return the map that `to_dict` wrote; one row goes through it to see that its parts fit."""
        centre, deviations = (np.array(plain[name], dtype=np.float64) for name in ("centre", "deviations"))
        new = cls(Scaling(centre, deviations), map_from_dict(plain["map"]), bool(plain.get("gaps", False)))
        try:
            row = new.scaling(centre[np.newaxis])
            whole = centre.ndim == 1 and new.features.features_of(row).shape == (1, new.n_features_out_)
        except Exception as error:
            raise ValueError(f"the feature map is broken: {error}") from error
        if not whole:
            raise ValueError("the feature map is broken")
        return new


@dataclass(frozen=True, eq=False)
class EncodedModel(Model):
    """A model whose map takes encoded rows; it is saved as it was."""

    version = 1

    @property
    def _map_columns(self) -> tuple[str, ...]:
        return self.schema.feature_names

    @property
    def _reading_schema(self) -> Schema:
        return self.schema.keeping_missing() if self.features.gaps else self.schema

    @property
    def _takes_frames(self) -> bool:
        return False

    def column_contributions(self) -> dict[str, float]:
        """What each column, its categories added up, and interactions add to the difference of the mean scores."""
        names, schema = self.schema.feature_names, self.schema
        columns = dict(zip(names, names, strict=True))
        columns |= {f"{name}={value}": name for name, values in schema.categorical.items() for value in values}
        parts: dict[str, float] = {}
        for name, where in column_groups(self.features.features, names, self.coef.size).items():
            column = columns.get(name, name)
            parts[column] = parts.get(column, 0.0) + float(self.contributions[where].sum())
        return parts
