"""The deployable model, in one frozen object: columns, coefficients, curves, calibration and how it came about.

Beside it, what its parts are made of: the standardisation of encoded rows, and linear parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from vrspam._utils.blas import blas_thread_count, blas_threads
from vrspam.data import Chunks, Schema
from vrspam.data.chunks import BrokenRow, map_ahead
from vrspam.data.readers import Source
from vrspam.features import LinearFeatures
from vrspam.features.encoders import Curves
from vrspam.inspection import column_groups, keeps_columns_apart
from vrspam.model_selection.calibration import Calibration
from vrspam.moments import ClassMoments
from vrspam.moments.class_moments import spread
from vrspam.tables.schema import Label
from vrspam.tool.curves import Shapes
from vrspam.tool.fingerprint import Fingerprint


@dataclass(frozen=True)
class Scaling:
    """Standardisation of encoded rows. Sparse rows are not centred: differences of rows, all that AUC sees, stay."""

    centre: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, moments: ClassMoments, is_sparse: bool) -> Scaling:
        mean, deviation = spread(moments)
        return cls(np.zeros_like(mean) if is_sparse else mean, np.where(deviation > 0, deviation, 1.0))

    def __call__(self, X: Any) -> Any:
        if sparse.issparse(X):
            return sparse.csr_array(X.multiply(1.0 / self.deviations))
        return (X - self.centre) / self.deviations

    def undo(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
        """Coefficients and intercept for rows as they are."""
        original = coef / self.deviations
        return original, intercept - float(original @ self.centre)


class LinearParts(NamedTuple):
    """The numbers of a linear model of some features: see the attributes of `Model`."""

    coef: np.ndarray
    intercept: float
    means: np.ndarray
    deviations: np.ndarray


def undo_linear_map(features: Any, parts: LinearParts) -> LinearParts | None:
    """The same model without its map, of the encoded columns, if the map only standardises and encodes one-hot.

    None for any other map, and where missing values have features of their own.
    """
    if not isinstance(features, LinearFeatures) or any(encoder.missing for encoder in features.encoders_):
        return None
    lines: list[tuple[float, float, float]] = []  # feature = slope · column + origin, or column = constant
    for encoder in features.encoders_:
        if not isinstance(encoder, Curves):
            lines += [(1.0, 0.0, 0.0)] * encoder.width
        elif encoder.nodes.size == 1:
            lines.append((0.0, 0.0, float(encoder.nodes[0])))
        else:
            slope = float(np.ptp(encoder.table) / np.ptp(encoder.nodes))
            lines.append((slope, float(encoder.table[0, 0] - slope * encoder.nodes[0]), 0.0))
    slopes, origins, constants = np.array(lines).T
    safe = np.where(slopes == 0.0, 1.0, slopes)
    return LinearParts(
        coef=parts.coef * slopes,
        intercept=parts.intercept + float(parts.coef @ origins),
        means=np.where(slopes == 0.0, constants, (parts.means - origins) / safe),
        deviations=parts.deviations / safe,
    )


class ScoredBlock(NamedTuple):
    """Scores of a block of rows, which of them are positive (None without labels), columns handed on, broken rows."""

    scores: np.ndarray
    positive: np.ndarray | None
    kept: Any = None
    broken: Sequence[BrokenRow] = ()


@dataclass(frozen=True, eq=False)
class Model:
    """A linear scorer of the rows of a file.

        score(x) = coef · x + intercept

    where x are the columns as `schema` encodes them: numbers with missing ones replaced by the training mean, and
    one 0/1 feature for each category. The standardisation that was used in training is folded into `coef`;
    `deviations` turns it back: coef · deviations is the change of the score for one standard deviation. With
    `features`, a feature map of the columns as they are (text is a category, missing values are missing), the score is
    linear in its features instead, and `coef`, `means` and `deviations` are theirs.

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
    features : FeatureMap or None
        A fitted map of `vrspam.features`, for curves and interactions.
    shapes : Shapes or None
        What each column adds to the score, where there is a feature map with curves.
    calibration : Sigmoid, Isotonic or None
        From scores to probabilities of the positive label.
    identifiers : tuple of str
        Columns that were left out because they only name the rows; `predict` hands them on.
    fingerprint : Fingerprint or None
        Salted hashes of some training rows, by which `evaluate` can tell that it is given the training file.
    training : dict
        Facts about the training: rows, positives, penalties, cross-validated AUC with its interval, certificate.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import train
    >>> path = f"{tempfile.mkdtemp()}/cells.csv"
    >>> load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    >>> model = train(path, "target", features="linear")
    >>> model.schema.target, model.positive, model.training["rows"], f"{model.training['cv_auc']:.2f}"
    ('target', 1, 569, '0.99')
    """

    version: ClassVar[int] = 4  # of the file that can hold it

    schema: Schema
    positive: Label
    coef: np.ndarray
    intercept: float
    means: np.ndarray
    deviations: np.ndarray
    features: Any = None
    shapes: Shapes | None = None
    calibration: Calibration | None = None
    identifiers: tuple[str, ...] = ()
    fingerprint: Fingerprint | None = None
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        d = self.schema.n_features
        if self.features is not None:
            columns = self._map_columns
            if self.features.n_features_in_ != len(columns):
                taken = self.features.n_features_in_
                raise ValueError(f"the feature map takes {taken} columns where there are {len(columns)}")
            d = self.features.n_features_out_
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
        if self.schema.labels is None or self.positive not in self.schema.labels:
            raise ValueError(f"the positive label {self.positive!r} is none of the labels {self.schema.labels}")

    @property
    def _map_columns(self) -> tuple[str, ...]:
        """What the feature map takes."""
        return self.schema.columns

    @property
    def standardised(self) -> np.ndarray:
        """Change of the score for one standard deviation of each feature."""
        return self.coef * self.deviations

    @property
    def contributions(self) -> np.ndarray:
        """What each feature adds to the difference of the mean scores of the two classes."""
        return self.coef * (self.means[1] - self.means[0])

    def score(self, X: Any) -> np.ndarray:
        """Scores of rows: encoded ones (dense or CSR), or what the feature map takes (a frame, say)."""
        scores = X @ self.coef if self.features is None else self.features.products(X, self.coef)
        return np.asarray(scores).ravel() + self.intercept

    def as_scorer(self) -> Any:
        """What `vrspam.export` exports of this model."""
        from vrspam.tool.exporting import describe_model

        return describe_model(self)

    def parts(self, X: Any) -> np.ndarray:
        """What each encoded feature adds to the scores of rows, without a feature map; the parts add up to `score`."""
        rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
        return (rows - self.means.mean(axis=0)) * self.coef

    def open(
        self,
        path: Any,
        *,
        labels: bool,
        keep: Any = (),
        skip_errors: bool = False,
        keep_errors: bool = False,
        progress: bool = False,
        **reading: Any,
    ) -> Chunks:
        """Open a file, or what `open_source` returned, with the columns of this model.

        A category that training did not have sets all its indicators to 0. Text in columns of numbers is missing, and
        rows without a label are left out. With `keep_errors` rows that cannot be scored keep their places.

        `reading`: `format`, `delimiter` and `zero_based` of `vrspam.data.read_chunks`.
        """
        schema = self._reading_schema if labels else self._reading_schema.without_target()
        return Chunks(
            path if isinstance(path, Source) else self.open_source(path, **reading),
            schema,
            unknown="ignore",
            keep=keep,
            on_error="skip" if skip_errors else "keep" if keep_errors else "raise",
            progress=progress,
            raw=self._takes_frames,
            lenient=True,
            compared=True,
        )

    def open_source(self, path: Any, **reading: Any) -> Source:
        """Find files and their reader; indices of LIBSVM files start as they did in training, unless told otherwise."""
        return Source.open(path, zero_based_before=self.schema.zero_based, **reading)

    @property
    def _reading_schema(self) -> Schema:
        return self.schema

    @property
    def _takes_frames(self) -> bool:
        return self.features is not None

    def column_contributions(self) -> dict[str, float]:
        """What the curve of each column, and interactions, add to the difference of the mean scores of the classes."""
        if not keeps_columns_apart(self.features) and self.shapes is not None and self.shapes.whole:
            parts = {shape.name: shape.difference for shape in self.shapes.columns}
            rest = float(self.contributions.sum()) - sum(parts.values())
            return {**parts, self.shapes.rest_name: rest}
        groups = column_groups(self.features, self.schema.columns, self.coef.size)
        return {name: float(self.contributions[where].sum()) for name, where in groups.items()}

    def score_chunks(self, chunks: Chunks) -> Iterator[ScoredBlock]:
        """Scores of what `open` returned, block by block, in the order of the rows."""

        def scored(block: tuple[Any, ...]) -> ScoredBlock:
            X, y, *more = block
            scores = np.empty(0) if X is None else self.score(X)
            return ScoredBlock(scores, None if y is None else y == self.positive, *more)

        threads = 1 if self.features is None else blas_thread_count()
        if threads == 1:
            yield from map(scored, chunks)
            return
        with blas_threads(1):  # products of a block are small: threads do more for several blocks
            yield from map_ahead(scored, iter(chunks), threads)
