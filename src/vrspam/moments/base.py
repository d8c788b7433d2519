"""What a quadratic loss and the estimators read of sums over pairs of rows, however these were gathered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from vrspam.moments._statistics import ClassStatistics

MOST_CANCELLATION = 1e6  # subtraction may lose six of the sixteen digits
NO_MATRIX = (
    "These moments were gathered with scatter=False and hold no d×d matrix: gather them again with scatter=True, or "
    "fit the rows themselves."
)


class PairStatistics(NamedTuple):
    """What the squared pair loss needs of the pairs, apart from Σ; `PairSums` explains each field."""

    p: float
    q: float
    means: np.ndarray
    delta: np.ndarray
    within_diagonal: np.ndarray


class PairErrors(NamedTuple):
    """Bounds on the rounding errors of a `PairStatistics`, and of Σ."""

    share: float  # relative error of pq, and of the weight of either class
    means: np.ndarray
    delta: np.ndarray
    within: np.ndarray  # |error of Σ_ij| ≤ √(within_i within_j)


class PairSums(ABC):
    """Sums over pairs of an upper and a lower row: of two classes, or of the pairs that count.

    Attributes
    ----------
    classes : ndarray
        The two labels, that of the lower rows first.
    n_features : int or None
    has_scatter : bool
        Whether there are d×d matrices, or only their diagonals.
    """

    classes: np.ndarray
    n_features: int | None
    has_scatter: bool

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether there is any pair."""

    @abstractmethod
    def pair_statistics(self) -> PairStatistics:
        """Shares, means and the diagonal of `within`, all at once."""

    @abstractmethod
    def pair_errors(self) -> PairErrors:
        """How far rounding may have moved each of the statistics."""

    @property
    @abstractmethod
    def within(self) -> np.ndarray:
        """Σ, the covariance of the differences of the pairs, shape (d, d); of two classes Σ₊ + Σ₋."""

    @property
    @abstractmethod
    def within_on_device(self) -> Any:
        """`within` as an array on a device, if it lies there, else None."""

    @abstractmethod
    def sides(self) -> tuple[ClassStatistics, ClassStatistics]:
        """The statistics of the lower and of the upper rows as two classes; an error if there is no pair."""

    @property
    @abstractmethod
    def offsets(self) -> np.ndarray:
        """What rounding drops of `means`: these are means + offsets, shape (2, d)."""

    @property
    @abstractmethod
    def rows(self) -> np.ndarray:
        """Number of lower and of upper rows."""

    @property
    @abstractmethod
    def weights(self) -> np.ndarray:
        """Total weight of the lower and of the upper rows."""

    @property
    @abstractmethod
    def variances(self) -> np.ndarray:
        """Variance of each column among lower and among upper rows, shape (2, d)."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """Relative rounding of the matrices: that of float32 if any rows were multiplied in float32, else 0."""

    @property
    @abstractmethod
    def cancellation(self) -> float:
        """How many times as large the numbers were of which these are a difference: it costs digits."""

    @property
    def has_cancelled(self) -> bool:
        """Whether `-` has lost so many digits that the rows should be gathered again: `cancellation` is above 1e6."""
        return self.cancellation > MOST_CANCELLATION

    @property
    def means(self) -> np.ndarray:
        """Means of lower and upper rows: class means, shape (2, d)."""
        return self.pair_statistics().means

    @property
    def p(self) -> float:
        """Weighted share of the positive class; p q is the share of all ordered pairs that count."""
        return self.pair_statistics().p

    @property
    def q(self) -> float:
        """Weighted share of the negative class: 1 - p without its rounding."""
        return self.pair_statistics().q

    @property
    def delta(self) -> np.ndarray:
        """Mean difference of the pairs: mean of the positive class minus mean of the negative."""
        return self.pair_statistics().delta

    @property
    def within_diagonal(self) -> np.ndarray:
        """The diagonal of `within`."""
        return self.pair_statistics().within_diagonal


class AddableSums(PairSums):
    """Sums over pairs of parts of the rows, which add up to those of all rows."""

    @abstractmethod
    def __add__(self, other: Any, /) -> Any:
        """The sums over both parts."""

    @abstractmethod
    def __sub__(self, other: Any, /) -> Any:
        """The sums without a part that was added before."""


def check_alike(a: PairSums, b: PairSums) -> None:
    """Refuse to combine sums of different columns, or with and without matrices."""
    if a.n_features is not None and b.n_features is not None and a.n_features != b.n_features:
        raise ValueError(
            f"Moments of {a.n_features} and of {b.n_features} features cannot be combined: gather both from the same "
            "columns."
        )
    if a.has_scatter != b.has_scatter:
        raise ValueError(
            "Moments with and without scatter matrices cannot be combined: gather both with the same scatter=."
        )
