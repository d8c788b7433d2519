"""The parts of a score as plain values and arrays, and back: what a model file holds, checked when it is read.

Compiled code looks numbers up in trees without checking them, so that no part is made of numbers out of range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vrspam import kernels
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.indicators import Indicators
from vrspam.features.encoders.reading import Encoder, same_encoders
from vrspam.features.parts import (
    MOST_DEPTH,
    CategoryPart,
    CurvePart,
    Effect,
    KernelPart,
    LinePart,
    Parts,
    TreePart,
    Trees,
)

KEYS = {"effects", "encoders", "kernels", "trees"}


# Writing.


def parts_to_plain(parts: Parts) -> dict[str, Any]:
    """Return the parts as plain values and arrays; encoders that several parts share are stored once."""
    encoders = StoredEncoders()
    plain: dict[str, Any] = {
        "effects": [_effect_to_plain(effect) for effect in parts.effects],
        "kernels": [_kernel_to_plain(part, encoders.number_of(part.encoders)) for part in parts.kernels],
        "trees": [_trees_to_plain(part, encoders.number_of(part.encoders)) for part in parts.trees],
    }
    plain["encoders"] = [[encoder_to_plain(encoder) for encoder in columns] for columns in encoders.different]
    if parts.lines is not None:
        plain["lines"] = {"coef": parts.lines.coef, "missing": _with_none(parts.lines.missing)}
    return plain


class StoredEncoders:
    """The encoders of kernels and trees, equal ones once."""

    def __init__(self) -> None:
        self.different: list[Sequence[Encoder]] = []

    def number_of(self, encoders: Sequence[Encoder]) -> int:
        """The number under which these encoders are stored."""
        for number, known in enumerate(self.different):
            if same_encoders(encoders, known):
                return number
        self.different.append(encoders)
        return len(self.different) - 1


def _effect_to_plain(effect: Effect | None) -> dict[str, Any] | None:
    if effect is None:
        return None
    if isinstance(effect, CurvePart):
        return {
            "nodes": effect.nodes,
            "values": effect.values,
            "left": float(effect.left),
            "right": float(effect.right),
            "missing": float(effect.missing),
        }
    return {
        "categories": list(effect.values),
        "values": np.array(list(effect.values.values()), dtype=np.float64),
        "missing": float(effect.missing),
        "other": float(effect.other),
    }


def _kernel_to_plain(part: KernelPart, encoders: int) -> dict[str, Any]:
    return {"encoders": encoders, "landmarks": part.landmarks, "gamma": part.gamma, "coef": part.coef}


def _trees_to_plain(part: TreePart, encoders: int) -> dict[str, Any]:
    plain = {"encoders": encoders, "trees": part.trees._asdict(), "coef": part.coef}
    if part.landmarks is not None:
        plain["codes"] = part.landmarks
    return plain


def encoder_to_plain(encoder: Encoder) -> dict[str, Any]:
    """Return an encoder as plain values and arrays."""
    if isinstance(encoder, Indicators):
        return {
            "kind": "indicators",
            "categories": list(encoder.categories),
            "missing": encoder.missing,
            "scale": list(encoder.scale),
            "grouped": encoder.grouped,
        }
    plain = {
        "kind": "curves",
        "nodes": encoder.nodes,
        "table": encoder.table,
        "labels": list(encoder.labels),
        "missing": encoder.missing,
        "extend": encoder.extend,
        "limited": encoder.limited,
    }
    if encoder.names_as is not None:
        plain["names_as"] = encoder.names_as
    return plain


def _with_none(numbers: np.ndarray) -> list[float | None]:
    """Numbers as a list, None instead of NaN."""
    return [None if np.isnan(number) else number for number in numbers.tolist()]


# Reading.


def parts_from_plain(plain: Any) -> Parts:
    """Read the parts that `parts_to_plain` wrote; raise an error that says what is wrong with them."""
    if not isinstance(plain, dict) or set(plain) - {"lines"} != KEYS:
        raise ValueError("this is not a stored score: save the model again")
    effects = tuple(_effect_from_plain(effect) for effect in plain["effects"])
    encoders = [[encoder_from_plain(encoder) for encoder in columns] for columns in plain["encoders"]]
    if any(len(columns) != len(effects) for columns in encoders):
        raise ValueError(f"the score has {len(effects)} columns, but one of its parts has another number")
    for part in (*plain["kernels"], *plain["trees"]):
        if type(part["encoders"]) is not int or not 0 <= part["encoders"] < len(encoders):
            raise ValueError("a part of the score has no encoders")
    lines = None if plain.get("lines") is None else _lines_from_plain(plain["lines"], len(effects))
    kernel_parts = tuple(kernel_from_plain(part, encoders[part["encoders"]]) for part in plain["kernels"])
    tree_parts = tuple(trees_from_plain(part, encoders[part["encoders"]]) for part in plain["trees"])
    parts = Parts(effects, kernel_parts, tree_parts, lines)
    _check_kinds_of_columns(parts, encoders)
    return parts


def _check_kinds_of_columns(parts: Parts, encoders: Sequence[Sequence[Encoder]]) -> None:
    """Refuse parts of which some take a column for numbers, and others for categories."""
    for j, effect in enumerate(parts.of_columns()):
        holds_numbers = {isinstance(columns[j], Curves) for columns in encoders}
        if effect is not None:
            holds_numbers.add(isinstance(effect, CurvePart))
        if len(holds_numbers) > 1:
            raise ValueError(f"column {j} holds numbers in one part of the score, and categories in another")


def _lines_from_plain(plain: Mapping[str, Any], n_columns: int) -> LinePart:
    coef = finite_array(plain["coef"])
    missing = np.array(plain["missing"], dtype=np.float64)  # None is NaN
    if coef.shape != (n_columns,) or missing.shape != (n_columns,) or np.isinf(missing).any():
        raise ValueError(f"straight lines of shape {coef.shape} do not fit {n_columns} columns")
    return LinePart(coef, missing)


def _effect_from_plain(plain: Mapping[str, Any] | None) -> Effect | None:
    if plain is None:
        return None
    values = finite_array(plain["values"])
    missing = finite_number(plain["missing"])
    if "categories" in plain:
        names = plain["categories"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TypeError("categories must be different texts")
        if values.shape != (len(names),) or len(set(names)) < len(names):
            raise ValueError("categories must be different texts, with a number each")
        return CategoryPart(dict(zip(names, values.tolist(), strict=True)), missing, finite_number(plain["other"]))
    nodes = finite_array(plain["nodes"])
    if nodes.ndim != 1 or nodes.size == 0 or values.shape != nodes.shape or not (np.diff(nodes) > 0.0).all():
        raise ValueError("a curve needs a number at each of its increasing nodes")
    return CurvePart(nodes, values, finite_number(plain["left"]), finite_number(plain["right"]), missing)


def encoder_from_plain(plain: Mapping[str, Any]) -> Encoder:
    """Return the encoder that `encoder_to_plain` wrote; raise an error if it is invalid."""
    for name in ("missing", "extend", "limited"):
        if not isinstance(plain.get(name, False), bool | np.bool_):
            raise ValueError(f"{name} must be true or false")
    names = plain["categories" if plain["kind"] == "indicators" else "labels"]
    if isinstance(names, str) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError("categories and labels must be different texts")
    return _indicators_from_plain(plain) if plain["kind"] == "indicators" else _curves_from_plain(plain)


def _indicators_from_plain(plain: Mapping[str, Any]) -> Indicators:
    grouped = plain.get("grouped", 0)
    if not isinstance(grouped, int | np.integer) or not grouped >= 0 or (grouped and not plain["categories"]):
        raise ValueError("the number of rare categories does not fit")
    scale = tuple(float(value) for value in plain.get("scale", ()))
    indicators = Indicators(tuple(plain["categories"]), bool(plain["missing"]), scale, int(grouped))
    if len(scale) not in (0, indicators.width):
        raise ValueError(f"{len(scale)} scales do not fit {indicators.width} categories")
    if not np.isfinite(scale).all():
        raise ValueError("the scale of a category is not finite")
    return indicators


def _curves_from_plain(plain: Mapping[str, Any]) -> Curves:
    nodes = np.asarray(plain["nodes"], dtype=np.float64)
    table = np.asarray(plain["table"], dtype=np.float64)
    if nodes.ndim != 1 or nodes.size == 0 or table.shape != (nodes.size, len(plain["labels"])):
        raise ValueError(f"curves of shape {table.shape} do not fit nodes of shape {nodes.shape}")
    if not (np.isfinite(nodes).all() and np.isfinite(table).all() and (np.diff(nodes) > 0.0).all()):
        raise ValueError("curves need finite numbers at increasing nodes")
    names_as = None
    if plain.get("names_as") is not None:
        names_as = np.asarray(plain["names_as"])
        if names_as.shape != nodes.shape or names_as.dtype.kind not in "iu" or names_as.min() < 0:
            raise ValueError("numbers that are names need a code each")
        names_as = names_as.astype(np.int32)
    return Curves(
        nodes,
        table,
        tuple(plain["labels"]),
        missing=bool(plain["missing"]),
        extend=bool(plain["extend"]),
        limited=bool(plain.get("limited", False)),
        names_as=names_as,
    )


def kernel_from_plain(plain: Mapping[str, Any], encoders: Sequence[Encoder]) -> KernelPart:
    """The kernel whose fields a file holds."""
    landmarks = finite_array(plain["landmarks"])
    coef = finite_array(plain["coef"])
    gamma = finite_number(plain["gamma"])
    width = sum(encoder.width for encoder in encoders)
    if landmarks.ndim != 2 or landmarks.shape[1] != width or not coef.size:
        raise ValueError(f"landmarks of shape {landmarks.shape} do not fit {width} columns")
    if coef.shape != (len(landmarks),):
        raise ValueError(f"coefficients of shape {coef.shape} do not fit {len(landmarks)} landmarks")
    if any(isinstance(encoder, Curves) and encoder.table.shape[1] != 1 for encoder in encoders):
        raise ValueError("a kernel needs one function of each column")
    if not gamma > 0.0:
        raise ValueError("gamma must be positive")
    return KernelPart(encoders, landmarks, gamma, coef)


def trees_from_plain(plain: Mapping[str, Any], encoders: Sequence[Encoder]) -> TreePart:
    """The trees whose fields a file holds, as compiled code takes them."""
    trees = _whole_trees(plain["trees"])
    _check_range("column", trees.columns, len(encoders))
    _check_range("multiplier", trees.multipliers, kernels.CATEGORY_PRIME)
    coef = finite_array(plain["coef"])
    n_trees, n_nodes = trees.columns.shape
    if "codes" not in plain:
        if coef.shape != (n_trees, n_nodes + 1):
            raise ValueError(f"values of shape {coef.shape} do not fit the leaves of the trees")
        return TreePart(encoders, trees, coef)
    landmarks = _whole_numbers("codes", plain["codes"])
    if landmarks.shape[1] != len(encoders):
        raise ValueError(f"landmarks of shape {landmarks.shape} do not fit the trees")
    if coef.shape != (len(landmarks),):
        raise ValueError(f"coefficients of shape {coef.shape} do not fit {len(landmarks)} landmarks")
    most = [encoder.nodes.size if isinstance(encoder, Curves) else encoder.width - 1 for encoder in encoders]
    if landmarks.min() < -1 or (landmarks > most).any():
        raise ValueError("a landmark of trees is not among the values of its column")
    return TreePart(encoders, trees, coef, landmarks)


def _whole_trees(plain: Mapping[str, Any]) -> Trees:
    """Trees all of whose levels are full, with a number for each node."""
    arrays = {name: _whole_numbers(name, plain[name]) for name in Trees._fields}
    n_trees, n_nodes = arrays["columns"].shape
    depth = (n_nodes + 1).bit_length() - 1
    if n_nodes + 1 != 2**depth or not 1 <= depth <= MOST_DEPTH:
        raise ValueError(f"trees of {n_nodes} nodes are not whole")
    if {array.shape for array in arrays.values()} != {(n_trees, n_nodes)}:
        raise ValueError("the parts of the trees have different sizes")
    return Trees(**arrays)._replace(absent_left=arrays["absent_left"].astype(bool))


def _whole_numbers(name: str, values: Any) -> np.ndarray:
    numbers = np.asarray(values)
    if numbers.ndim != 2 or numbers.size == 0 or numbers.dtype.kind not in "iub":
        raise ValueError(f"{name} of trees must be a matrix of whole numbers")
    if numbers.dtype.kind != "b" and np.abs(numbers).max() > 2**31 - 1:
        raise ValueError(f"{name} of trees are too large")
    return numbers.astype(np.int32)


def _check_range(name: str, numbers: np.ndarray, stop: int) -> None:
    """With numbers out of range, compiled code would read outside of its arrays."""
    if numbers.min() < 0 or numbers.max() >= stop:
        raise ValueError(f"a {name} of the trees is not among the {stop} there are")


def finite_array(values: Any) -> np.ndarray:
    """An array of finite numbers, from values in a file."""
    return _finite(np.array(values), "an array")


def finite_number(value: Any) -> float:
    """A finite number, from a value in a file."""
    array = np.array(value)
    if array.ndim:
        raise TypeError("a part of the score holds something else than numbers")
    return float(_finite(array, "a part of the score"))


def _finite(array: np.ndarray, where: str) -> np.ndarray:
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{where} holds something else than numbers")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{where} holds numbers that are not finite")
    return array
