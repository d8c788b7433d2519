"""What estimators and model files hand to exporters and clusters: columns, parts of the score, labels."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vrspam._utils import array_api
from vrspam._utils.findings import VrspamError
from vrspam.features import FeatureMap
from vrspam.features.encoders import Indicators
from vrspam.features.parts import CategoryPart, Effect, KernelPart, Parts, TreePart, lines_alone
from vrspam.features.scoring import PreparedParts
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model_selection.calibration import Calibration
from vrspam.objective import multiply
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.schema import Schema

NUMBER, TEXT, DATE = "number", "text", "date"


class NotExportable(VrspamError):
    """A model, or a part of one, that the format cannot hold; the message says why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vrspam import OneVsRestAUC
    >>> from vrspam.export import to_sql
    >>> to_sql(OneVsRestAUC().fit(*load_iris(return_X_y=True)))
    Traceback (most recent call last):
    vrspam.model.scorer.NotExportable: OneVsRestAUC has 3 scores for each row: export an estimator of two classes ...
    """


@dataclass(frozen=True)
class Input:
    """A column as it comes from outside."""

    name: str
    kind: str = NUMBER  # {"number", "text", "date"}
    note: str = ""  # what the reader should know of its values, as a sentence; "" for nothing


@dataclass(frozen=True)
class Column:
    """A column as the model takes it: the input of number `source` or, if this is a date, one part of the date."""

    name: str
    source: int
    part: str | None = None  # one of `Dates.parts`


@dataclass(frozen=True, eq=False)
class Scorer:
    """A score that other programs can compute.

    Attributes
    ----------
    inputs : tuple of Input
    columns : tuple of Column
        The columns made from the inputs, in the order of `effects` and of the encoders of kernels and trees.
    effects : tuple of CurvePart, CategoryPart or None
        What each column adds on its own.
    kernels, trees : tuple
        What columns add together.
    constant : float
        Added to all of these.
    classes : tuple of two labels
        The negative one first.
    threshold : float or None
        A row above this score has the second label; None where the probability decides (more than ½).
    chosen : ChosenThreshold or None
        A threshold with its meaning, used instead of `threshold`: a row at or above it has the second label.
    calibration : Calibration or None
        The function from score - baseline to the probability of the second label.
    baseline : float
    matrix : bool
        Whether the inputs are the columns of one matrix, and have no names.
    left_out : tuple of str
        Columns of the training table that the score does not need.
    ranks : str
        What a higher score means, if scores only rank rows: then there is neither label nor probability.
    coef : ndarray or None
        The coefficients, if the score is linear in columns of numbers as they are.
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
    coef: np.ndarray | None = None
    chosen: ChosenThreshold | None = None
    ranks: str = ""

    @property
    def higher(self) -> str:
        """What a higher score means."""
        return self.ranks or f"more likely {self.classes[1]!r}"

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

    @cached_property
    def prepared(self) -> PreparedParts:
        """The score as a sum of functions of columns, without the constant."""
        return PreparedParts(Parts(self.effects, self.kernels, self.trees))

    @property
    def texts(self) -> Iterator[str]:
        """The names, labels and categories that it is made of."""
        yield from (one.name for one in self.inputs)
        yield from (column.name for column in self.columns)
        yield from map(str, self.classes)
        for effect in self.effects:
            yield from effect.values if isinstance(effect, CategoryPart) else ()
        parts: list[Any] = [*self.kernels, *self.trees]
        for encoder in (encoder for part in parts for encoder in part.encoders):
            yield from encoder.categories if isinstance(encoder, Indicators) else ()

    def score(self, X: Any) -> np.ndarray:
        """Scores of rows that were read and checked: arrays, sparse rows or frames of `columns`."""
        return (self.prepared.scores(X)[:, 0] if self.coef is None else multiply(X, self.coef)) + self.constant

    def label(self, scores: np.ndarray) -> np.ndarray:
        """The label of each score."""
        if self.chosen is not None:
            above = scores >= self.chosen.threshold
        elif self.threshold is None:
            assert self.calibration is not None
            above = self.calibration(scores - self.baseline) > 0.5
        else:
            above = scores > self.threshold
        return np.array(self.classes)[above.astype(np.intp)]


def check_utf8(texts: Iterable[str], language: str) -> None:
    """Refuse texts that no file in UTF-8 holds, and so no program that the model is exported to."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise NotExportable(
                f"{text!r} holds half of a surrogate pair, which {language} cannot hold: correct the text, and train "
                "again."
            ) from error


def scorer_of(model: Any) -> Scorer:
    """Return the score to export of a fitted estimator of this package, or of a model of the command-line tool.

    Parameters
    ----------
    model : estimator, `vrspam.tool.Model` or Scorer

    Returns
    -------
    Scorer

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam import AUCClassifierCV
    >>> from vrspam.export import scorer_of
    >>> scorer = scorer_of(AUCClassifierCV(features="standardized").fit(*load_breast_cancer(return_X_y=True)))
    >>> scorer.classes, len(scorer.inputs)
    ((0, 1), 30)
    """
    if isinstance(model, Scorer):
        return model
    if hasattr(model, "as_scorer"):
        return model.as_scorer()
    raise NotExportable(
        f"{type(model).__name__} is not an estimator of this package: give one; of a pipeline, give its last step."
    )


def scorer_of_estimator(model: Any) -> Scorer:
    """Return the score of a fitted estimator of this package, as it is exported and sent to clusters."""
    check_is_fitted(model, "coef_")
    coefs = np.asarray(array_api.on_host(model.coef_), dtype=np.float64)
    if len(coefs) != 1:
        raise NotExportable(
            f"{type(model).__name__} has {len(coefs)} scores for each row: export an estimator of two classes for each."
        )
    coef = coefs[0]
    features = getattr(model, "features_", None)
    calibration = getattr(model, "calibration_", None)
    if features is not None and not isinstance(features, FeatureMap):
        raise NotExportable(
            f"The features come from {type(features).__name__}, which is not a map of vrspam.features: put it into a "
            "scikit-learn pipeline before a linear scorer, and export that scorer."
        )
    parts = lines_alone(coef) if features is None else features.parts(coef)
    names, schema = getattr(model, "feature_names_in_", None), getattr(model, "_table_schema", None)
    matrix = names is None and schema is None
    taken: Any = range(model.n_features_in_) if matrix else names if schema is None else schema.names
    numeric = [True] * model.n_features_in_ if features is None else features.numeric_columns
    return Scorer(
        *named_columns(list(map(str, taken)), numeric, schema),
        parts.of_columns(),
        parts.kernels,
        parts.trees,
        constant=float(array_api.on_host(model.intercept_)[0]),
        classes=tuple(np.asarray(getattr(model, "classes_", (False, True))).tolist()),  # rankers have none
        ranks={"event": "an earlier event", "y": "a larger y"}.get(getattr(model, "higher_", ""), ""),
        threshold=0.0 if calibration is None or calibration.half is not None else None,
        calibration=calibration,
        baseline=float(getattr(model, "baseline_", 0.0)),
        matrix=matrix,
        left_out=() if schema is None else tuple(map(str, schema.identifiers)),
        coef=coef if features is None else None,
        chosen=getattr(model, "threshold_", None),
    )


def named_columns(
    names: Sequence[str], numeric: Sequence[bool], schema: Schema | None
) -> tuple[tuple[Input, ...], tuple[Column, ...]]:
    """The inputs from which columns of these names are made, and the columns; `numeric` says which hold numbers.

    >>> from vrspam.tables.kinds.numbers import Numbers
    >>> inputs, _ = named_columns(["income"], [True], Schema(readings={"income": Numbers(".", ",", "$")}))
    >>> inputs[0].note
    "In training this was text such as '$1,234.5': give the number, 1234.5."
    """
    made = {} if schema is None else schema.made()
    inputs: dict[Any, Input] = {}
    places: dict[Any, int] = {}
    columns: list[Column] = []
    for name, is_number in zip(names, numeric, strict=True):
        source, part = made.get(name, (name, ""))
        if source not in inputs:
            kind = None if schema is None else schema.readings.get(source)
            number = Input(str(source), NUMBER if is_number else TEXT, "" if kind is None else kind.hint)
            places[source], inputs[source] = len(inputs), number
            if isinstance(kind, Dates):
                inputs[source] = Input(str(source), DATE)
        columns.append(Column(name, places[source], part or None))
    return tuple(inputs.values()), tuple(columns)
