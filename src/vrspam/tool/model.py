"""The model that a file holds: columns, parts of the score, calibration, curves, and facts about its training."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from vrspam.data import Schema
from vrspam.features import FeatureMap
from vrspam.features.encoders import Indicators
from vrspam.features.parts import CategoryPart, ColumnBlock, Effect, LinePart, Parts
from vrspam.features.scoring import PreparedParts
from vrspam.inspection import Shapes, distinct
from vrspam.measures.outcome import Outcome
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model.inputs import named_columns
from vrspam.model.model import Label as ScoreLabel
from vrspam.model.model import Model as ExportedModel
from vrspam.model_selection.calibration import Calibration
from vrspam.model_selection.hashing import row_hashes
from vrspam.moments import ClassMoments
from vrspam.moments.class_moments import spread
from vrspam.report.words.names import describe_higher
from vrspam.tables.frames import check_frame, columns_of, is_frame
from vrspam.tables.schema import Label

MOST_ROWS = 1_000
_ENOUGH = 20  # a fingerprint of fewer rows proves nothing
_DIGITS = 16


@dataclass(frozen=True)
class Fingerprint:
    """Hashes of at most 1,000 different training rows, each with the same random salt."""

    salt: str
    rows: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, rows: Any, seed: int) -> Fingerprint:
        """Hash some of these rows: an arrow table of the feature columns, or an array."""
        numbers, counts = np.unique(row_numbers(rows), return_counts=True)
        alone = numbers[counts == 1]  # rows that occur once say most about a file
        if alone.size > MOST_ROWS:
            alone = np.random.default_rng(seed).choice(alone, MOST_ROWS, replace=False)
        salt = secrets.token_hex(8)
        return cls(salt, frozenset(_digests(alone, salt)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"salt": self.salt, "rows": sorted(self.rows)}

    def find(self, rows: Any) -> set[str]:
        """The hashes of training rows among these rows."""
        return {*self.rows.intersection(_digests(row_numbers(rows), self.salt))} if self.rows else set()

    def sentences(self, found: set[str]) -> list[str]:
        """A warning, if many training rows were found."""
        many = 0.5  # a file with this share of the fingerprint's rows is taken for the training file
        if len(self.rows) < _ENOUGH or len(found) < many * len(self.rows):
            return []
        share = 100.0 * len(found) / len(self.rows)
        return [
            f"about {share:.0f} % of the rows that the model was trained on are in this file, so these measures are "
            "too good: give rows that the model has not seen"
        ]


def row_numbers(rows: Any) -> np.ndarray:
    """A 64-bit number for each row that depends on its values alone."""
    if sparse.issparse(rows) or isinstance(rows, np.ndarray):
        return row_hashes(rows)
    import pyarrow as pa

    columns = []  # numbers as they are, and a number for each text; missing values have a number of their own
    for column in rows.columns:
        if pa.types.is_floating(column.type):
            values = column.to_numpy()
            columns.append(np.where(np.isnan(values), -7.25e77, values))
            continue
        coded = (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column).dictionary_encode()
        texts = coded.dictionary.to_pylist()
        hashes = [hashlib.sha256(text.encode("utf-8", "replace")).digest()[:6] for text in texts]
        numbers = np.array([*(int.from_bytes(one, "big") for one in hashes), -1], dtype=np.float64)
        columns.append(numbers[coded.indices.fill_null(len(texts)).to_numpy()])
    return row_hashes(np.stack(columns, axis=1)) if columns else np.zeros(rows.num_rows, dtype=np.uint64)


def _digests(numbers: np.ndarray | Sequence[int], salt: str) -> list[str]:
    start = hashlib.sha256(salt.encode())
    found = []
    for number in np.asarray(numbers, dtype="<u8"):
        one = start.copy()
        one.update(number.tobytes())
        found.append(one.hexdigest()[:_DIGITS])
    return found


@dataclass(frozen=True)
class Scaling:
    """Standardisation of encoded rows. Sparse rows are not centred: the AUC depends only on differences of rows."""

    centre: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, moments: ClassMoments, is_sparse: bool) -> Scaling:
        """Round to 40 bits: the last bits of sums depend on the machine, and folds drawn by hashes of rows must not."""
        mean, deviation = (np.ldexp(np.rint(np.ldexp(m, 40)), e - 40) for m, e in map(np.frexp, spread(moments)))
        return cls(np.zeros_like(mean) if is_sparse else mean, np.where(deviation > 0, deviation, 1.0))

    def __call__(self, X: Any) -> Any:
        if sparse.issparse(X):
            return sparse.csr_array(X.multiply(1.0 / self.deviations))
        return (X - self.centre) / self.deviations


def undo_linear_map(
    features: Any,
    categories: Iterable[tuple[str, ...]],
    coef: np.ndarray,
    intercept: float,
    means: np.ndarray,
    deviations: np.ndarray,
) -> dict[str, Any] | None:
    """Fields of a `Model` without a map, if the map only standardises and encodes these `categories`; None otherwise.

    They are those of each column of text, in the order of the coefficients: a map may have levels in another order, or
    one indicator for all rare categories.
    """
    if len(features.members) > 1 or not features.keeps_columns_apart:
        return None
    if [one.categories for one in features.encoders_ if isinstance(one, Indicators)] != list(categories):
        return None
    lines: list[tuple[float, float, float]] = []  # feature = slope · column + origin, or column = constant
    for encoder in features.encoders_:
        if encoder.missing or (isinstance(encoder, Indicators) and encoder.scale):
            return None
        if isinstance(encoder, Indicators):
            lines += [(1.0, 0.0, 0.0)] * encoder.width
        elif encoder.table.shape[1] != 1 or encoder.nodes.size > 1 + encoder.extend:
            return None
        elif encoder.nodes.size == 1:
            lines.append((0.0, 0.0, float(encoder.nodes[0])))
        else:
            slope = float(np.ptp(encoder.table) / np.ptp(encoder.nodes))
            lines.append((slope, float(encoder.table[0, 0] - slope * encoder.nodes[0]), 0.0))
    slopes, origins, constants = np.array(lines).T
    safe = np.where(slopes == 0.0, 1.0, slopes)
    return {
        "coef": coef * slopes,
        "intercept": intercept + float(coef @ origins),
        "means": np.where(slopes == 0.0, constants, (means - origins) / safe),
        "deviations": deviations / safe,
    }


def parts_of_map(features: FeatureMap, coef: np.ndarray, means: np.ndarray) -> dict[str, Any]:
    """Fields of a `Model` from a feature map, the coefficients of its features and their class means."""
    parts = features.parts(coef)
    alone = np.zeros((len(means), features.n_features_in_))
    together = np.zeros((len(means), 1))
    for block, j, where in features.block_places():
        of_features = means[:, where] @ coef[where]
        if isinstance(block, ColumnBlock):
            alone[:, j] += of_features
        else:
            together[:, 0] += of_features
    of_parts = np.zeros((len(means), 0))  # no part at all: trees without a split
    if parts.has_effects:
        of_parts = alone
    if not parts.keeps_columns_apart:
        of_parts = np.hstack([of_parts, together])
    ones = np.ones(of_parts.shape[1])
    return {"features": parts, "coef": ones, "means": of_parts, "deviations": ones}


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
