"""Model files of versions 1 to 4, which held feature maps: the parts of the score that follow from them.

Files of versions 2 to 4 hold maps of the columns themselves. In version 1 maps took rows that were encoded one-hot and
standardised: a category is then the sum of the curves of all its indicators, one of them at 1 and the others at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from vrspam.data import Schema
from vrspam.features import map_from_dict
from vrspam.features.encoders import Curves, Encoder, Indicators
from vrspam.features.parts import Curve, Effect, KernelPart, Parts, Table
from vrspam.tool.model import parts_of_map


def parts_of_old_file(plain: Any, schema: Schema, coef: np.ndarray, means: np.ndarray, version: int) -> dict[str, Any]:
    """Fields of a `Model` from a stored map, the coefficients of its features and their class means."""
    features = map_from_dict(plain["map"] if version == 1 else plain)
    if coef.shape != (features.n_features_out_,) or means.shape != (2, features.n_features_out_):
        raise ValueError(f"coef has shape {coef.shape} where the columns need {(features.n_features_out_,)}")
    found = parts_of_map(features, coef, means)
    return found if version > 1 else _of_encoded_rows(found, plain, schema)


def _of_encoded_rows(found: dict[str, Any], plain: Any, schema: Schema) -> dict[str, Any]:
    """The score of columns, from that of standardised numbers and of an indicator for each category."""
    parts: Parts = found["features"]
    centre, deviations = (np.array(plain[name], dtype=np.float64) for name in ("centre", "deviations"))
    n_encoded, gaps = schema.n_features, bool(plain.get("gaps", False))
    if not centre.shape == deviations.shape == (n_encoded,) or len(parts.effects) != n_encoded or parts.trees:
        raise ValueError("the feature map is broken")
    if not (np.isfinite(centre).all() and np.isfinite(deviations).all() and (deviations > 0.0).all()):
        raise ValueError("the feature map is broken")
    n_numbers = len(schema.columns) - len(schema.categorical)
    fill = [None] * n_numbers if gaps or schema.width is not None else list(schema.fill or (None,) * n_numbers)
    stops = np.cumsum([n_numbers, *map(len, schema.categorical.values())]).tolist()
    groups = [[j] for j in range(n_numbers)]
    groups += [list(range(*ends)) for ends in pairwise(stops)]
    effects: list[Effect | None] = [None] * len(groups)
    if parts.has_effects:
        curves = [_on_scale(curve, *ends) for curve, *ends in zip(parts.effects, centre, deviations, strict=True)]
        numbers = [
            curve if value is None else replace(curve, missing=float(curve(np.array([value]))[0]))
            for curve, value in zip(curves, fill, strict=False)
        ]
        of_categories = zip(schema.categorical.values(), groups[n_numbers:], strict=True)
        effects = [*numbers, *(_table(names, [curves[j] for j in group]) for names, group in of_categories)]
        columns, rest = found["means"][:, :n_encoded], found["means"][:, n_encoded:]
        found["means"] = np.hstack([*(columns[:, group].sum(axis=1, keepdims=True) for group in groups), rest])
    kernels = tuple(_kernel(part, centre, deviations, fill, schema, groups) for part in parts.kernels)
    features = Parts(tuple(effects), kernels)
    ones = np.ones(features.n_parts)
    return {**found, "features": features, "coef": ones, "deviations": ones}


def _on_scale(curve: Any, centre: float, deviation: float) -> Curve:
    """A curve of a standardised column as one of the column itself."""
    nodes, first = np.unique(curve.nodes * deviation + centre, return_index=True)
    return Curve(nodes, curve.values[first], curve.left / deviation, curve.right / deviation, curve.missing)


def _table(names: Sequence[str], curves: Sequence[Curve]) -> Table:
    off, on = (np.array([float(curve(np.array([x]))[0]) for curve in curves]) for x in (0.0, 1.0))
    return Table(dict(zip(names, (off.sum() + on - off).tolist(), strict=True)), off.sum(), off.sum())


def _kernel(
    part: KernelPart, centre: np.ndarray, deviations: np.ndarray, fill: Sequence[Any], schema: Schema, groups: Any
) -> KernelPart:
    """The kernel of columns: what a row has at 0, or at the value that stands for a missing one, is moved to 0."""
    own_ranks = [Curve.of(encoder, np.ones(1)) for encoder in part.encoders if isinstance(encoder, Curves)]
    ranks = [_on_scale(curve, *ends) for curve, *ends in zip(own_ranks, centre, deviations, strict=True)]
    starts = np.cumsum([0, *(encoder.width for encoder in part.encoders)])
    names, encoders, landmarks = list(schema.categorical.values()), list[Encoder](), []
    for number, group in enumerate(groups):
        if number < len(fill):
            own, rank, value = part.encoders[number], ranks[number], fill[number]
            moved = 0.0 if value is None else float(rank(np.array([value]))[0])
            table = (rank.values - moved)[:, np.newaxis]
            encoders.append(Curves(rank.nodes, table, ("",), own.missing, False))
            landmarks.append(part.landmarks[:, starts[number] : starts[number + 1]] - [moved, 0.0][: own.width])
            continue
        off, on = (np.array([float(ranks[j](np.array([x]))[0]) for j in group]) for x in (0.0, 1.0))
        encoders.append(Indicators(tuple(names[number - len(fill)]), False, tuple((on - off).tolist())))
        landmarks.append(part.landmarks[:, starts[group]] - off)
    return KernelPart(encoders, np.hstack(landmarks), part.gamma, part.coef)
