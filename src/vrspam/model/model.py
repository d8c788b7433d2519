"""`Model`: what estimators and model files hand to exporters, clusters and pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from vrspam.features.encoders.indicators import Indicators
from vrspam.features.parts import CategoryPart, Parts
from vrspam.features.scoring import PreparedParts
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model.inputs import TEXT, Column, Input, NotExportable
from vrspam.model_selection.calibration import Calibration


class Label(NamedTuple):
    """What a score says of a row."""

    classes: tuple[Any, Any] = (0, 1)  # the negative one first
    # what a higher score means, if scores only rank rows: then there is neither label nor probability
    ranks: str = ""

    @property
    def higher(self) -> str:
        """What a higher score means."""
        return self.ranks or f"more likely {self.classes[1]!r}"


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted score, complete: it knows neither the estimator nor the file it came from.

        score(x) = constant + Σ parts(x)

    Attributes
    ----------
    inputs : tuple of Input
    columns : tuple of Column
        The columns made from the inputs, in the order in which the parts take them.
    parts : Parts
        Straight lines, functions of single columns, kernels and trees.
    constant : float
        Added to all of these.
    label : Label
    limit : float or None
        A row above this score has the second label; None where the probability decides (more than ½).
    threshold : ChosenThreshold or None
        A threshold with its meaning, used instead of `limit`: a row at or above it has the second label.
    calibration : Calibration or None
        The function from score - baseline to the probability of the second label.
    baseline : float
    is_matrix : bool
        Whether the inputs are the columns of one matrix, and have no names.
    left_out : tuple of str
        Columns of the training table that the score does not need.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam import AUCClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AUCClassifierCV(features="standardized").fit(X, y).to_model()
    >>> model.label.classes, len(model.inputs), model.parts.keeps_columns_apart
    ((0, 1), 30, True)
    """

    inputs: tuple[Input, ...]
    columns: tuple[Column, ...]
    parts: Parts
    constant: float = 0.0
    label: Label = field(default_factory=Label)
    limit: float | None = 0.0
    threshold: ChosenThreshold | None = None
    calibration: Calibration | None = None
    baseline: float = 0.0
    is_matrix: bool = False
    left_out: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to clusters: the fields, not what is computed from them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def is_numeric(self) -> tuple[bool, ...]:
        """Whether each column holds numbers; the others hold categories."""
        return tuple(self.inputs[column.source].kind != TEXT for column in self.columns)

    @cached_property
    def columns_of_inputs(self) -> list[list[int]]:
        """The numbers of the columns that each input becomes."""
        columns: list[list[int]] = [[] for _ in self.inputs]
        for number, column in enumerate(self.columns):
            columns[column.source].append(number)
        return columns

    @cached_property
    def effects(self) -> tuple[Any, ...]:
        """What each column adds on its own, a straight line as a curve; None for nothing."""
        return self.parts.of_columns()

    @cached_property
    def prepared(self) -> PreparedParts:
        """The parts with what is computed once of them."""
        return PreparedParts(self.parts)

    @property
    def texts(self) -> Iterator[str]:
        """The names, labels and categories that it is made of."""
        for one in self.inputs:
            yield one.name
        for column in self.columns:
            yield column.name
        for label in self.label.classes:
            yield str(label)
        for effect in self.parts.effects:
            if isinstance(effect, CategoryPart):
                yield from effect.values
        for encoders in self.parts.encoders:
            for encoder in encoders:
                if isinstance(encoder, Indicators):
                    yield from encoder.categories

    def scores(self, X: Any) -> np.ndarray:
        """Scores of rows that were read and checked: arrays, sparse rows or frames of `columns`."""
        return self.prepared.scores(X)[:, 0] + self.constant

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """The label of each score."""
        if self.threshold is not None:
            above = scores >= self.threshold.threshold
        elif self.limit is not None:
            above = scores > self.limit
        else:
            assert self.calibration is not None
            above = self.calibration(scores - self.baseline) > 0.5
        return np.array(self.label.classes)[above.astype(np.intp)]


def model_of(scorer: Any) -> Model:
    """The model of a fitted estimator of this package, or of a model file; a `Model` is returned as it is."""
    if isinstance(scorer, Model):
        return scorer
    if hasattr(scorer, "to_model"):
        return scorer.to_model()
    raise NotExportable(
        f"{type(scorer).__name__} is not an estimator of this package: give one; of a pipeline, give its last step."
    )
