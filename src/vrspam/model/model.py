"""`Model`: a fitted score, what `train` and `estimator.to_model()` return, files hold and exporters write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from vrspam._utils.roles import REMEMBERED
from vrspam.features.encoders.indicators import Indicators
from vrspam.features.parts import CategoryPart, Effect, Parts
from vrspam.features.scoring import PreparedParts
from vrspam.inspection import Shapes, distinct
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model.facts import ColumnFacts, TrainingFacts
from vrspam.model.fingerprint import Fingerprint
from vrspam.model.inputs import TEXT, Column, Input, NotExportable, TakenColumns, column_names, is_matrix, taken_columns
from vrspam.model.outcome import Outcome
from vrspam.model_selection.calibration import Calibration
from vrspam.tables.frames import check_frame, columns_of, is_frame
from vrspam.tables.schema import Label, Schema


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted score, complete: it knows neither the estimator nor the file that it came from.

        score(x) = intercept + Σ parts(x)

    Attributes
    ----------
    schema : Schema
        The columns, and how their values become numbers and categories; or a matrix of so many columns.
    positive : bool, int, float or str
        The label that is ranked above the others.
    parts : Parts
        Straight lines, functions of single columns, kernels and trees.
    intercept : float
        Added to all of these.
    calibration : Sigmoid, Isotonic or None
        The function from score - baseline to the probability of the positive label.
    baseline : float
        0 for models that `train` returns.
    threshold : ChosenThreshold or None
        Rows whose score is at least `threshold.threshold` are called positive; its other fields are the rule behind it
        and its measures on held-out rows. None: the probability ½ decides.
    shapes : Shapes or None
        What each column adds to the score, where the score is made of curves, kernels or trees.
    roles : mapping of str to str
        The columns that training needed beside the features, by their roles: weights, groups, times, ...
    facts : TrainingFacts or None
        How the model was trained; None for models of estimators.
    fingerprint : Fingerprint or None
        Salted hashes of some training rows, by which `evaluate` can tell that it is given the training file.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import train
    >>> model = train(load_breast_cancer(as_frame=True).frame, "target", features="linear")
    >>> model.schema.target, model.positive, model.training["rows"], f"{model.training['cv_auc']:.2f}"
    ('target', 1, 569, '0.99')
    >>> from vrspam import AUCClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AUCClassifierCV(features="standardized").fit(X, y).to_model()
    >>> model.classes, len(model.inputs), model.parts.keeps_columns_apart
    ((0, 1), 30, True)
    """

    schema: Schema
    positive: Label
    parts: Parts
    intercept: float = 0.0
    calibration: Calibration | None = None
    baseline: float = 0.0
    threshold: ChosenThreshold | None = None
    shapes: Shapes | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    facts: TrainingFacts | None = None
    fingerprint: Fingerprint | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to clusters: the fields, not what is computed from them."""
        return {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}

    def check(self) -> None:
        """Refuse parts that do not fit together, as a file may hold them; each part was checked before."""
        n_columns = self.parts.n_columns
        if (self.schema.width or 0) > n_columns:  # before a name is made for each
            raise ValueError(f"the score takes {n_columns} columns, not {self.schema.width}")
        self._check_columns(n_columns)
        for role in self.roles:
            if role not in REMEMBERED:
                raise ValueError(f"the role {role!r} of a column is not known")
        if self.outcome.order is None and self.positive not in (self.schema.labels or ()):
            raise ValueError(f"the positive label {self.positive!r} is none of the labels {self.schema.labels}")
        if self.shapes is not None and len(self.shapes.columns) != n_columns:
            raise ValueError(f"{len(self.shapes.columns)} curves for {n_columns} columns")
        if self.facts is not None:
            self._check_facts(self.facts)

    def _check_columns(self, n_columns: int) -> None:
        kinds = self.parts.kinds_of_columns()
        if self.is_matrix:  # of numbers; a name for each of a million would take long
            if self.schema.n_features != n_columns or kinds.categories.any():
                raise ValueError(f"the score takes {n_columns} columns, not {self.schema.n_features} of numbers")
            return
        names = column_names(self.schema)
        if len(names) != n_columns:
            raise ValueError(f"the score takes {n_columns} columns where there are {len(names)}")
        for j, name in enumerate(names):
            if (kinds.numbers if name in self.schema.categorical else kinds.categories)[j]:
                raise ValueError(f"the score takes {name!r} for another kind of column than it is")

    def _check_facts(self, facts: TrainingFacts) -> None:
        if self.schema.target is None and self.schema.width is None:
            raise ValueError("no column holds the labels")
        if self.schema.fill is None and self.schema.numeric and self.schema.width is None:
            raise ValueError("the fill values of the numeric columns are missing")
        if self.is_linear:
            n_terms = self.coef.size
        else:
            of_single_columns = self.parts.n_columns if self.parts.has_effects else 0
            n_terms = of_single_columns + (not self.parts.keeps_columns_apart)
        if facts.of_columns.deviations.size != n_terms:
            raise ValueError(f"the score has {n_terms} terms, and {facts.of_columns.deviations.size} class means")

    # What a score says of a row.

    @cached_property
    def outcome(self) -> Outcome:
        """What the scores rank, in the words of the table."""
        return Outcome.of(self.schema.target, self.positive, self.schema.labels or (), self.roles)

    @property
    def ranks(self) -> bool:
        """Whether scores only rank rows, by times or an order or inside strata, and say nothing about one row alone."""
        return self.outcome.ranks

    @property
    def classes(self) -> tuple[Label, Label]:
        """The labels that rows are given, the negative one first; one label stands for several negative ones."""
        return self.outcome.classes

    @property
    def limit(self) -> float | None:
        """Without a threshold a row above this score is called positive; None: one whose probability is above ½."""
        if self.calibration is None:
            return 0.0
        if self.calibration.half is None:
            return None
        return self.calibration.half + self.baseline

    # How it was trained.

    @property
    def training(self) -> dict[str, Any]:
        """The facts about the training by name, and the columns that it needed beside the features by their roles."""
        facts = {} if self.facts is None else self.facts.to_dict()
        return {**facts, **self.roles}

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Columns that were left out because they only name the rows; `predict` copies them."""
        return tuple(map(str, self.schema.identifiers))

    # Columns.

    @cached_property
    def _taken(self) -> TakenColumns:
        return taken_columns(self.schema)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The columns as they come from outside."""
        return self._taken.inputs

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns made from the inputs, in the order in which the parts take them."""
        return self._taken.columns

    @property
    def is_matrix(self) -> bool:
        """Whether the inputs are the columns of one matrix, and have no names."""
        return is_matrix(self.schema)

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

    @property
    def texts(self) -> Iterator[str]:
        """The names, labels and categories that it is made of."""
        for source in self.inputs:
            yield source.name
        for column in self.columns:
            yield column.name
        for label in self.classes:
            yield str(label)
        for effect in self.parts.effects:
            if isinstance(effect, CategoryPart):
                yield from effect.values
        for encoders in self.parts.encoders:
            for encoder in encoders:
                if isinstance(encoder, Indicators):
                    yield from encoder.categories

    # The score.

    @property
    def is_linear(self) -> bool:
        """Whether the score has a coefficient for each number, and for each category."""
        return self.parts.lines is not None

    @cached_property
    def coef(self) -> np.ndarray:
        """The coefficients of a linear score: of numbers, then of the categories of each column (0/1 features)."""
        lines = self.parts.lines
        if lines is None:
            raise AttributeError("This score has no coefficients, because it is made of curves, kernels or trees.")
        coef = [lines.coef]
        if self.schema.categorical:
            coef = [lines.coef[: len(self.schema.numeric)]]
            for effect in self.parts.effects:
                if isinstance(effect, CategoryPart):
                    coef.append(np.array(list(effect.values.values()), dtype=np.float64))
        return np.concatenate(coef)

    @cached_property
    def effects(self) -> tuple[Effect | None, ...]:
        """What each column adds on its own, a straight line as a curve; None for nothing."""
        return self.parts.of_columns()

    @cached_property
    def prepared(self) -> PreparedParts:
        """The parts with what is computed once of them."""
        return PreparedParts(self.parts)

    def score(self, X: Any) -> np.ndarray:
        """Scores of rows: the columns as they are, a frame, say, or an array.

        For linear scores of tables, arrays and sparse rows are taken as `schema` encodes them.
        """
        if self.is_linear and self.schema.fill is not None and not is_frame(X):
            return np.asarray(self.schema.encode(X) @ self.coef).ravel() + self.intercept
        return self.prepared.scores(self._checked(X))[:, 0] + self.intercept

    def _checked(self, X: Any) -> Any:
        """Rows with the columns that the score takes, or an error."""
        if not is_frame(X):
            if X.shape[1] != self.parts.n_columns:
                raise ValueError(f"X has {X.shape[1]} columns, but the model takes {self.parts.n_columns}.")
            return X
        check_frame(X)
        names = column_names(self.schema)
        if tuple(columns_of(X).names) != names:
            raise ValueError(f"The columns of the frame must be those of the model: {', '.join(names)}.")
        return X

    def calls(self, scores: np.ndarray) -> np.ndarray:
        """Whether each score is called positive: by the threshold, or else by the probability ½."""
        if self.threshold is not None:
            return scores >= self.threshold.threshold
        if self.limit is not None:
            return scores > self.limit
        probabilities = self.probabilities(scores)
        assert probabilities is not None
        return probabilities > 0.5

    def probabilities(self, scores: np.ndarray) -> np.ndarray | None:
        """The probability of the positive label for each score; None without a calibration."""
        if self.calibration is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # scores that are not finite
            return self.calibration(scores - self.baseline)

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """The label of each score."""
        return np.array(self.classes)[self.calls(scores).astype(np.intp)]

    # What its columns do.

    @property
    def of_columns(self) -> ColumnFacts:
        """Class means and deviations of the terms of the score in the training rows."""
        if self.facts is None:
            raise ValueError(
                "This model does not know its training rows: explain the estimator that it comes from, or train with "
                "vrspam.tool.train."
            )
        return self.facts.of_columns

    @property
    def standardised(self) -> np.ndarray:
        """Change of a linear score for one standard deviation of each feature."""
        return self.coef * self.of_columns.deviations

    @property
    def contributions(self) -> np.ndarray:
        """What each feature, or column, adds to the difference of the mean scores of the two classes."""
        means = self.of_columns.means
        differences = means[1] - means[0]
        return self.coef * differences if self.is_linear else differences

    def parts_of_rows(self, X: Any) -> dict[str, np.ndarray]:
        """What each column, and interactions, add to the score of each row."""
        if self.parts.keeps_columns_apart:  # exact outside the range of training too
            added = self.prepared.columns_apart(self._checked(X)) - self._middle_of_columns()
            return dict(zip(distinct(self.schema.columns), added.T, strict=True))
        if self.shapes is None:
            raise ValueError(
                "This model has no curves, because it has too many columns or categories: its single rows cannot be "
                "explained."
            )
        return self.shapes.parts(X, self.score(X))

    def _middle_of_columns(self) -> np.ndarray:
        """What each column adds half-way between the class means."""
        middle = self.of_columns.means.mean(axis=0)
        if self.is_linear:
            middle = middle * self.coef
            if self.schema.categorical:  # the indicators of a column are added up
                widths = [1] * len(self.schema.numeric)
                widths += [len(categories) for categories in self.schema.categorical.values()]
                features = np.split(middle, np.cumsum(widths)[:-1])
                middle = np.array([part.sum() for part in features])
        if not middle.size:  # trees without a split: no column adds anything
            middle = np.zeros(len(self.schema.columns))
        return middle


def model_of(scorer: Any) -> Model:
    """The model of a fitted estimator of this package; a `Model` is returned as it is."""
    if isinstance(scorer, Model):
        return scorer
    if hasattr(scorer, "to_model"):
        return scorer.to_model()
    raise NotExportable(
        f"{type(scorer).__name__} is not an estimator of this package: give one; of a pipeline, give its last step."
    )
