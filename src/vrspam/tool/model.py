"""The model that a file holds: columns, parts of the score, calibration, curves, and facts about its training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from vrspam.data import Schema
from vrspam.features.parts import CategoryPart, Effect, LinePart, Parts
from vrspam.features.scoring import PreparedParts
from vrspam.inspection import Shapes, distinct
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model.fingerprint import Fingerprint
from vrspam.model.inputs import named_columns
from vrspam.model.model import Label as ScoreLabel
from vrspam.model.model import Model as ExportedModel
from vrspam.model.outcome import Outcome, describe_higher
from vrspam.model_selection.calibration import Calibration
from vrspam.tables.frames import check_frame, columns_of, is_frame
from vrspam.tables.schema import Label


@dataclass(frozen=True, eq=False)
class Model:
    """A scorer of the rows of a file.

        score(x) = coef · x + intercept

    where x are the columns as `schema` encodes them: numbers with missing ones replaced by the training mean, and
    one 0/1 feature for each category; coef · deviations is the change of the score for one standard deviation. With
    `features`, functions of the columns as they are, x holds what each column adds on its own, and last what columns
    add together, where the model has such parts; `coef`, `means` and `deviations` are those of these parts.

    Attributes
    ----------
    schema : Schema
        Columns, categories, fill values, label column.
    positive : bool, int, float or str
        The label that is ranked above the others.
    coef : ndarray of d
        Coefficients on the original scale of the columns.
    intercept : float
        Puts the score 0 half-way between the class means.
    means : ndarray of shape (2, d)
        Class means of the training rows: others first, then positives.
    deviations : ndarray of d
        Standard deviations of the training rows (1 for a constant column).
    features : Parts or None
        The parts of the score, for curves and interactions: `effects` of single columns, `kernels` and `trees`.
    shapes : Shapes or None
        What each column adds to the score, where there is a feature map with curves.
    calibration : Sigmoid, Isotonic or None
        From scores to probabilities of the positive label.
    identifiers : tuple of str
        Columns that were left out because they only name the rows; `predict` copies them.
    fingerprint : Fingerprint or None
        Salted hashes of some training rows, by which `evaluate` can tell that it is given the training file.
    threshold : ChosenThreshold or None
        Rows whose score is at least `threshold.threshold` are called positive; its other fields are the rule behind it
        and its measures on held-out rows. None: the probability ½ decides.
    training : dict
        Facts about the training: rows, positives, penalties, cross-validated AUC with its interval, certificate.
    ranks : bool
        Whether scores only rank rows, by times or an order or inside strata, and say nothing about one row alone.
    classes : tuple of two labels
        The labels that rows are given, the negative one first; one label stands for several negative ones.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import train
    >>> model = train(load_breast_cancer(as_frame=True).frame, "target", features="linear")
    >>> model.schema.target, model.positive, model.training["rows"], f"{model.training['cv_auc']:.2f}"
    ('target', 1, 569, '0.99')
    """

    schema: Schema
    positive: Label
    coef: np.ndarray
    intercept: float
    means: np.ndarray
    deviations: np.ndarray
    features: Parts | None = None
    shapes: Shapes | None = None
    calibration: Calibration | None = None
    identifiers: tuple[str, ...] = ()
    fingerprint: Fingerprint | None = None
    threshold: ChosenThreshold | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    ranks: bool = field(init=False)  # this and the next follow from the others, and are not stored
    classes: tuple[Label, Label] = field(init=False)

    def __post_init__(self) -> None:
        ranks = not self.training.keys().isdisjoint(("times", "order", "within"))
        others = [label for label in self.schema.labels or () if label != self.positive]
        several = f"not {self.positive}", str(self.positive)
        object.__setattr__(self, "ranks", ranks)
        object.__setattr__(self, "classes", (others[0], self.positive) if len(others) == 1 else several)
        d = self.schema.n_features
        if self.features is not None:
            taken, columns = len(self.features.effects), self.schema.columns
            if taken != len(columns):
                raise ValueError(f"the score takes {taken} columns where there are {len(columns)}")
            d = taken * self.features.has_effects + bool(self.features.kernels or self.features.trees)
        for name, shape in (("coef", (d,)), ("means", (2, d)), ("deviations", (d,))):
            values = getattr(self, name)
            if values.shape != shape:
                raise ValueError(f"{name} has shape {values.shape} where the columns need {shape}")
            if not np.isfinite(values).all():
                raise ValueError(f"{name} holds numbers that are not finite")
        if not np.isfinite(self.intercept):
            raise ValueError("the intercept is not finite")
        if (self.deviations <= 0).any():
            raise ValueError("deviations must be positive")
        if "order" not in self.training and self.positive not in (self.schema.labels or ()):
            raise ValueError(f"the positive label {self.positive!r} is none of the labels {self.schema.labels}")

    @cached_property
    def outcome(self) -> Outcome:
        """What the scores rank, in the words of the table."""
        return Outcome.of(self.schema.target, self.positive, self.schema.labels or (), self.training)

    @cached_property
    def parts(self) -> Parts:
        """The score as a sum of functions of columns: `features`, or a line or table for each column."""
        if self.features is not None:
            return self.features
        schema = self.schema
        n_numeric = len(schema.columns) - len(schema.categorical)
        fill = schema.fill
        if fill is not None and schema.width is not None:
            fill = fill * n_numeric  # one for all columns of a LIBSVM file
        coef = np.zeros(len(schema.columns))
        coef[:n_numeric] = self.coef[:n_numeric]
        missing = np.zeros(coef.size)
        missing[:n_numeric] = np.nan if fill is None else coef[:n_numeric] * np.asarray(fill)
        unknown = float("nan") if fill is None else 0.0
        indicators = iter(self.coef[n_numeric:].tolist())
        effects: list[Effect | None] = [None] * n_numeric
        for names in schema.categorical.values():
            effects.append(CategoryPart(dict(zip(names, indicators, strict=False)), unknown))
        return Parts(tuple(effects), lines=LinePart(coef, missing))

    @cached_property
    def prepared(self) -> PreparedParts:
        """The parts of the score with what is computed once of them."""
        return PreparedParts(self.parts)

    @property
    def standardised(self) -> np.ndarray:
        """Change of the score for one standard deviation of each feature."""
        return self.coef * self.deviations

    @property
    def contributions(self) -> np.ndarray:
        """What each feature adds to the difference of the mean scores of the two classes."""
        return self.coef * (self.means[1] - self.means[0])

    def score(self, X: Any) -> np.ndarray:
        """Scores of rows: the columns as they are (a frame, say) or, without `features`, encoded (dense or CSR)."""
        if self.features is None and not is_frame(X):
            return np.asarray(self.schema.encode(X) @ self.coef).ravel() + self.intercept
        return self.prepared.scores(self._checked(X))[:, 0] + self.intercept

    def _checked(self, X: Any) -> Any:
        """Rows with the columns that the score takes, or an error."""
        columns = list(self.schema.columns)
        if is_frame(X):
            check_frame(X)
            if list(columns_of(X).names) != columns:
                raise ValueError(f"The columns of the frame must be those of the model: {', '.join(columns)}.")
        elif X.shape[1] != len(columns):
            raise ValueError(f"X has {X.shape[1]} columns, but the model takes {len(columns)}.")
        return X

    def to_model(self) -> ExportedModel:
        """Return what `vrspam.export` exports: the columns as they are in a file, and the parts of the score."""
        schema = self.schema
        numeric = [name not in schema.categorical for name in schema.columns]
        inputs, columns = named_columns(schema.columns, numeric, schema)
        return ExportedModel(
            inputs,
            columns,
            parts=self.parts,
            constant=self.intercept,
            label=ScoreLabel(self.classes, describe_higher(self.outcome) if self.ranks else ""),
            limit=0.0 if self.calibration is None else self.calibration.half,
            threshold=self.threshold,
            calibration=self.calibration,
            is_matrix=schema.width is not None and not schema.numeric,
            left_out=self.identifiers,
        )

    def parts_of_rows(self, X: Any) -> dict[str, np.ndarray]:
        """What each column, and interactions, add to the score of each row."""
        if self.parts.keeps_columns_apart:  # exact outside the range of training too
            middle = self.means.mean(axis=0) * self.coef
            if not middle.size:  # trees without a split: no column adds anything
                middle = np.zeros(len(self.schema.columns))
            if self.features is None and self.schema.categorical:  # the indicators of a column are added up
                widths = [1] * len(self.schema.numeric) + [*map(len, self.schema.categorical.values())]
                middle = np.array([part.sum() for part in np.split(middle, np.cumsum(widths)[:-1])])
            found = self.prepared.columns_apart(self._checked(X)) - middle
            return dict(zip(distinct(self.schema.columns), found.T, strict=True))
        if self.shapes is None:
            raise ValueError(
                "This model has no curves, because it has too many columns or categories: its single rows cannot be "
                "explained."
            )
        return self.shapes.parts(X, self.score(X))
