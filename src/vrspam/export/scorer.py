"""What is exported, whoever fitted it: a score as a sum of curves, tables, kernels and trees of named columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from vrspam._utils.messages import WordedError
from vrspam.features import (
    AdditiveFeatures,
    FeatureMap,
    KernelFeatures,
    LinearFeatures,
    StackedFeatures,
    TreeFeatures,
)
from vrspam.features.encoders import Curves, Encoder, Indicators
from vrspam.model_selection.calibration import Calibration

NUMBER, TEXT, DATE = "number", "text", "date"


class NotExportable(WordedError):
    """A model, or a part of one, that the format cannot hold; the message says why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vrspam import OneVsRestAUC
    >>> from vrspam.export import to_sql
    >>> to_sql(OneVsRestAUC().fit(*load_iris(return_X_y=True)))
    Traceback (most recent call last):
    vrspam.export.scorer.NotExportable: OneVsRestAUC has 3 scores for each row: export an estimator of two classes ...
    """


@dataclass(frozen=True)
class Input:
    """A column as it comes from outside.

    Attributes
    ----------
    name : str
    kind : {"number", "text", "date"}
    note : str
        What the reader should know of its values, as a sentence; "" for nothing.
    """

    name: str
    kind: str = NUMBER
    note: str = ""


@dataclass(frozen=True)
class Column:
    """A column as the model takes it: the input of this number or, of a date, one part of it (`Dates.parts`)."""

    name: str
    source: int
    part: str | None = None


@dataclass(frozen=True, eq=False)
class Curve:
    """A piecewise linear function of a number.

    Attributes
    ----------
    nodes, values : ndarray of k
        The function at increasing nodes.
    left, right : float
        Its slope before the first and after the last node.
    missing : float
        Its value where the number is missing; NaN where such a row has no score.
    """

    nodes: np.ndarray
    values: np.ndarray
    left: float = 0.0
    right: float = 0.0
    missing: float = 0.0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The function at all x, NaN for missing ones."""
        if self.nodes.size == 1 and self.left == self.right:
            found = self.values[0] + self.left * (x - self.nodes[0])
        else:
            segment = np.searchsorted(self.nodes, x, side="right")
            base, value, slope = self.segments
            found = value[segment] + slope[segment] * (x - base[segment])
        return np.where(np.isnan(x), self.missing, found)

    @property
    def segments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One straight line for each number of nodes that are not above x: value + slope · (x - base)."""
        first = np.maximum(np.arange(self.nodes.size + 1) - 1, 0)
        steps, rises = np.diff(self.nodes), np.diff(self.values)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            slopes = np.where(steps > 0.0, rises / steps, 0.0)
        # between two nodes that are nearly the same number a slope may be beyond all floats
        slopes = np.clip(slopes, np.finfo(np.float64).min, np.finfo(np.float64).max)
        return self.nodes[first], self.values[first], np.concatenate([[self.left], slopes, [self.right]])

    @property
    def is_line(self) -> bool:
        """Whether it is one straight line: value + slope · (x - node) for the first node."""
        return self.left == self.right and (
            self.nodes.size == 1 or (self.nodes.size == 2 and self.segments[2][1] == self.left)
        )

    def __add__(self, other: Curve) -> Curve:
        nodes = np.union1d(self.nodes, other.nodes)
        return Curve(
            nodes,
            self(nodes) + other(nodes),
            self.left + other.left,
            self.right + other.right,
            self.missing + other.missing,
        )


@dataclass(frozen=True, eq=False)
class Table:
    """A number for each category, for a missing value, and for any other category."""

    values: Mapping[str, float]
    missing: float = 0.0
    other: float = 0.0

    def __add__(self, other: Table) -> Table:
        names = dict.fromkeys([*self.values, *other.values])
        both = {name: self.values.get(name, self.other) + other.values.get(name, other.other) for name in names}
        return Table(both, self.missing + other.missing, self.other + other.other)


Effect = Curve | Table


@dataclass(frozen=True, eq=False)
class KernelPart:
    """coef · exp(-gamma ‖u - landmarks‖²), where u are the columns as `encoders` encode them."""

    encoders: Sequence[Encoder]
    landmarks: np.ndarray
    gamma: float
    coef: np.ndarray


@dataclass(frozen=True, eq=False)
class TreePart:
    """The sum over trees of what `sums` (trees × leaves) has for the leaf of a row; `trees` as in `TreeFeatures`."""

    encoders: Sequence[Encoder]
    trees: Mapping[str, np.ndarray]
    sums: np.ndarray


@dataclass(frozen=True, eq=False)
class Scorer:
    """A score that other programs can compute.

    Attributes
    ----------
    inputs : tuple of Input
    columns : tuple of Column
        What the inputs become, in the order of `effects` and of the encoders of kernels and trees.
    effects : tuple of Curve, Table or None
        What each column adds on its own.
    kernels, trees : tuple
        What columns add together.
    constant : float
        Added to all of these.
    classes : tuple of two labels
        The negative one first.
    threshold : float or None
        A row above this score has the second label; None where the probability decides (more than ½).
    calibration : Calibration or None
        From score - baseline to the probability of the second label.
    baseline : float
    matrix : bool
        Whether the inputs are the columns of one matrix, and have no names.
    left_out : tuple of str
        Columns of the training table that the score does not need.
    typical : ndarray of shape (2, columns) or None
        Mean and deviation of the columns of numbers in training, where curves do not tell.
    is_numeric : tuple of bool
        Whether each column holds numbers; the others hold categories.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam import AUCClassifierCV
    >>> from vrspam.export import scorer_of
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> scorer = scorer_of(AUCClassifierCV(features="standardized").fit(X, y))
    >>> len(scorer.effects), scorer.kernels, scorer.trees
    (30, (), ())
    """

    inputs: tuple[Input, ...]
    columns: tuple[Column, ...]
    effects: tuple[Effect | None, ...]
    kernels: tuple[KernelPart, ...] = ()
    trees: tuple[TreePart, ...] = ()
    constant: float = 0.0
    classes: tuple[Any, Any] = (0, 1)
    threshold: float | None = 0.0
    calibration: Calibration | None = None
    baseline: float = 0.0
    matrix: bool = False
    left_out: tuple[str, ...] = ()
    typical: np.ndarray | None = None

    @property
    def is_numeric(self) -> tuple[bool, ...]:
        return tuple(self.inputs[column.source].kind != TEXT for column in self.columns)

    @cached_property
    def columns_of_inputs(self) -> list[list[int]]:
        """The numbers of the columns that each input becomes."""
        found: list[list[int]] = [[] for _ in self.inputs]
        for number, column in enumerate(self.columns):
            found[column.source].append(number)
        return found


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


@dataclass(frozen=True)
class Parts:
    """The parts of a score that is linear in the features of a map."""

    effects: tuple[Effect | None, ...]
    kernels: tuple[KernelPart, ...] = ()
    trees: tuple[TreePart, ...] = ()

    def __add__(self, other: Parts) -> Parts:
        effects = tuple(_sum([a, b]) for a, b in zip(self.effects, other.effects, strict=True))
        return Parts(effects, self.kernels + other.kernels, self.trees + other.trees)


def _sum(effects: Sequence[Effect | None]) -> Effect | None:
    present: list[Any] = [effect for effect in effects if effect is not None]
    return reduce(lambda a, b: a + b, present) if present else None


def linear_parts(coef: np.ndarray, fill: Sequence[float] | None = None) -> Parts:
    """The parts of coef · x; `fill` is what stands for missing values, without which a row has no score."""
    zero, missing = np.zeros(1), np.full(coef.size, np.nan) if fill is None else coef * np.asarray(fill)
    slopes = zip(coef.tolist(), missing.tolist(), strict=True)
    return Parts(tuple(Curve(zero, zero, slope, slope, absent) for slope, absent in slopes))


def map_parts(features: Any, coef: np.ndarray) -> Parts:
    """The parts of a score with these coefficients of the features of a fitted map of `vrspam.features`."""
    if isinstance(features, StackedFeatures):
        members = zip(features.maps_, features.map_slices_, strict=True)
        return reduce(lambda a, b: a + b, [map_parts(part, coef[where]) for part, where in members])
    if isinstance(features, LinearFeatures | AdditiveFeatures):
        slices = zip(features.encoders_, features.column_slices_, strict=True)
        return Parts(tuple(_effect(encoder, coef[where]) for encoder, where in slices))
    if isinstance(features, KernelFeatures):
        split = features.n_features_out_ - features.whitening_.shape[1]
        weights = features.whitening_ @ coef[split:]
        own = Parts(
            (None,) * features.n_features_in_,
            kernels=(KernelPart(features.encoders_, features.landmarks_, features.gamma_, weights),),
        )
        if features.additive_ is None:
            return own
        return map_parts(features.additive_, features.additive_scale_ * coef[:split]) + own
    if isinstance(features, TreeFeatures):
        weights = features.whitening_ @ coef / features.landmarks_.shape[1]
        n_trees, n_nodes = features.trees_["columns"].shape
        sums = np.zeros((n_trees, n_nodes + 1))
        np.add.at(sums, (np.arange(n_trees), features.landmarks_), weights[:, np.newaxis])
        return Parts((None,) * features.n_features_in_, trees=(TreePart(features.encoders_, features.trees_, sums),))
    kind = type(features).__name__
    if isinstance(features, FeatureMap):
        raise NotExportable(f"The map {kind} cannot be exported: use one of the maps of vrspam.features.")
    raise NotExportable(
        f"The features come from {kind}, which is not a map of vrspam.features: put it into a scikit-learn pipeline "
        "before a linear scorer, and convert the pipeline (vrspam.export.register_skl2onnx)."
    )


def _effect(encoder: Encoder, coef: np.ndarray) -> Effect:
    """What a column adds to the score, from the coefficients of its features."""
    if isinstance(encoder, Curves):
        return replace(
            curve_of(encoder, coef[: encoder.table.shape[1]]), missing=float(coef[-1]) if encoder.missing else 0.0
        )
    return table_of(encoder, coef)


def curve_of(encoder: Curves, coef: np.ndarray) -> Curve:
    """The functions of an encoder times `coef`, added up; 0 for missing values."""
    values, left, right = encoder.table @ coef, 0.0, 0.0
    if encoder.extend and encoder.nodes.size > 1:
        left = float((values[1] - values[0]) / (encoder.nodes[1] - encoder.nodes[0]))
        right = float((values[-1] - values[-2]) / (encoder.nodes[-1] - encoder.nodes[-2]))
    return Curve(encoder.nodes, values, left, right)


def table_of(encoder: Indicators, coef: np.ndarray) -> Table:
    """The indicators of an encoder times `coef`."""
    scaled = coef * np.array(encoder.scale) if encoder.scale else coef
    values = {name: float(scaled[code]) for name, code in encoder.codes.items() if name is not None}
    missing = float(scaled[-1]) if encoder.missing else 0.0
    return Table(values, missing, float(scaled[encoder.other]) if encoder.grouped else 0.0)
