"""Sufficient statistics of the objective: size, mean and scatter of each of two classes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from vrspam._utils import array_api
from vrspam._utils.arrays import own_arrays
from vrspam._utils.atomic import replacing
from vrspam._utils.validation import check_rows, union_of_labels
from vrspam.moments import _file
from vrspam.moments._device import DeviceStatistics, matrix_on_host, statistics_of_groups, statistics_on_device
from vrspam.moments._gather import statistics_in_memory
from vrspam.moments._rounding import UNIT, UNKNOWN_SCATTER, Errors, difference, level_of, relative
from vrspam.moments._statistics import ClassStatistics, check_range, same
from vrspam.moments.base import NO_MATRIX, AddableSums, PairErrors, PairStatistics, PairSums, check_alike


class ClassMoments(AddableSums):
    """Size, mean and scatter of each of two classes; moments of different rows can be added and subtracted.

    Parameters
    ----------
    n_features : int, optional
        Number of features; taken from the first block when left out.
    classes : array-like of two labels, optional
        The labels (negative, positive) in sorted order; otherwise found as rows come in.
    scatter : bool, default=True
        Keep the d×d scatter of each class. With False only its diagonal is kept.
    half_life : float, optional
        Each new row multiplies the weight of all rows before it by 2^(-1/half_life): old rows are forgotten, and
        the statistics follow a stream that drifts. How the rows are cut into blocks makes no difference. For a
        window with a sharp edge see `vrspam.SlidingMoments`.

    Attributes
    ----------
    classes : ndarray
        The labels seen or given, sorted: the larger one is the positive class.
    n_features : int or None

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 1, 0])
    >>> a, b = ClassMoments.from_data(X[:4], y[:4]), ClassMoments.from_data(X[4:], y[4:])
    >>> a + b == ClassMoments.from_data(X, y)
    True
    >>> (a + b).delta
    array([0.66666667, 0.66666667])
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, n_features: int | None = None, *, classes=None, scatter: bool = True, half_life: float | None = None
    ):
        if half_life is not None and not 0.0 < half_life < np.inf:
            raise ValueError(f"half_life must be a positive number of rows, got {half_life}.")
        self.n_features = n_features
        self.half_life = half_life
        self.has_scatter = bool(scatter)
        self.classes = np.empty(0)
        self._stats: list[ClassStatistics] = []
        self._known = self.classes  # the labels seen, or given for rows to come
        if classes is not None:
            labels = np.unique(np.asarray(classes))
            if labels.size != 2:
                raise ValueError(f"classes must hold exactly two different labels, got {labels.tolist()}.")
            self._known = labels
            if n_features is not None:
                self._widen(labels)

    @classmethod
    def from_data(cls, X, y, sample_weight=None, classes=None, scatter: bool = True) -> ClassMoments:
        """Moments of the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            float32 or float64; arrays on a device are worked on there (`vrspam._utils.array_api`).
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight 0 count for nothing.
        classes, scatter
            As in `ClassMoments`.

        Returns
        -------
        ClassMoments
        """
        return cls(classes=classes, scatter=scatter).update(X, y, sample_weight)

    @classmethod
    def side_by_side(cls, parts: Sequence[PairSums]) -> ClassMoments:
        """Moments, without scatter matrices, of all columns of several moments of the same rows.

        Parameters
        ----------
        parts : sequence of moments, or of sums over pairs

        Returns
        -------
        ClassMoments
        """
        new = cls(classes=parts[0].classes, scatter=False)
        new.classes = new._known
        for side in zip(*(part.sides() for part in parts), strict=True):
            errors = Errors(
                weight=side[0].errors.weight,
                mean=np.concatenate([s.errors.mean for s in side]),
                scatter=np.concatenate([s.errors.scatter for s in side]),
            )
            joined = ClassStatistics(
                rows=side[0].rows,
                weight=side[0].weight,
                mean=np.concatenate([s.mean for s in side]),
                scatter=np.concatenate([s.diagonal for s in side]),
                peak=np.concatenate([s.peak for s in side]),
                rounding=max(s.rounding for s in side),
                low=np.concatenate([s.low for s in side]),
                errors=errors,
            )
            new._stats.append(joined)
            new.n_features = joined.mean.size
        return new

    @classmethod
    def of_statistics(
        cls, negative: ClassStatistics, positive: ClassStatistics, classes: Sequence[Any] | np.ndarray, scatter: bool
    ) -> ClassMoments:
        """Moments from the statistics of two classes, which are not copied.

        Parameters
        ----------
        negative, positive : ClassStatistics
        classes : sequence of two labels
        scatter : bool
            Whether they have scatter matrices.

        Returns
        -------
        ClassMoments
        """
        new = cls(negative.mean.size, scatter=scatter)
        new.classes = new._known = np.asarray(classes)
        new._stats = [negative, positive]
        return new

    @classmethod
    def of_device_rows(
        cls, X: Any, parts: Sequence[tuple[Any, Any]], weights: Any, classes: np.ndarray
    ) -> list[ClassMoments]:
        """Moments of parts of the rows on a device.

        Each of `parts` holds the numbers of its negative and of its positive rows, all with positive weight.
        """
        groups = [index for part in parts for index in part]
        of_groups = statistics_of_groups(X, groups, weights, full=True)
        for statistics in of_groups:
            check_range(statistics, forgets=False)
        pairs = zip(of_groups[::2], of_groups[1::2], strict=True)
        return [cls.of_statistics(negative, positive, classes, True) for negative, positive in pairs]

    def update(self, X, y, sample_weight=None) -> Self:
        """Add rows, in place; if they are refused, nothing changes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Arrays on a device are worked on there (`vrspam._utils.array_api`); the statistics themselves are NumPy's.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        return self.add_checked(*check_rows(X, y, sample_weight))

    def add_checked(
        self,
        X,
        y: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        index: np.ndarray | None = None,
        precise: bool = True,
    ) -> Self:
        """`update` for data that an estimator has already validated: NaN is not looked for again.

        Parameters
        ----------
        X, y, weights
            As in `update`.
        index : ndarray of int, optional
            Add only the rows of these numbers.
        precise : bool, default=True
            Whether dense float32 rows are multiplied in float64; float32 is faster, but too coarse for a certificate.

        Returns
        -------
        self
        """
        if self.n_features is not None and X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, but these moments have {self.n_features}.")
        of_weights = 0.0
        if self.half_life is not None:
            of_weights = UNIT * (4.0 + min(X.shape[0] / self.half_life, 1100.0))  # weights below 2^-1075 are 0
            fading = np.exp2(-np.arange(X.shape[0] - 1.0, -1.0, -1.0) / self.half_life)
            weights = fading if weights is None else array_api.on_host(weights) * fading
        labels = array_api.labels_of(y, weights)
        classes = union_of_labels(self._known, labels)
        if array_api.device_namespace(X) is None:
            with np.errstate(over="ignore", invalid="ignore"):  # `check_range` reports it
                fresh = statistics_in_memory(X, y, weights, index, labels, self.has_scatter, precise, of_weights)
        else:
            fresh = statistics_on_device(X, y, weights, index, labels, self.has_scatter, of_weights)
        for statistics in fresh:
            check_range(statistics, forgets=self.half_life is not None)
            if self.half_life is not None:
                statistics.fade(1.0)  # a class may be forgotten within one long block
        self.n_features = X.shape[1]
        self._widen(classes)
        if self.half_life is not None:
            for statistics in self._stats:
                statistics.fade(2.0 ** (-X.shape[0] / self.half_life))
        for label, statistics in zip(labels, fresh, strict=True):
            slot = int(np.searchsorted(self.classes, label))
            if self._stats[slot].rows == 0:
                self._stats[slot] = statistics
            else:
                self._stats[slot].merge(statistics)
        return self

    def _widen(self, classes: np.ndarray) -> None:
        """Add empty statistics for labels not seen before."""
        assert self.n_features is not None
        old = dict(zip(self.classes.tolist(), self._stats, strict=True))
        self.classes = self._known = classes
        self._stats = []
        for label in classes.tolist():
            statistics = old.get(label) or ClassStatistics.empty(self.n_features, self.has_scatter)
            own_arrays(statistics)  # before they are written to
            self._stats.append(statistics)

    def add_features(self, count: int) -> Self:
        """Append columns that are 0 in all rows so far, in place.

        Parameters
        ----------
        count : int

        Returns
        -------
        self
        """
        if self.n_features is not None:
            self.n_features += count
            for statistics in self._stats:
                statistics.add_features(count)
        return self

    def copy(self) -> ClassMoments:
        """An independent copy."""
        new = ClassMoments(self.n_features, scatter=self.has_scatter, half_life=self.half_life)
        new._known = self._known
        new.classes = self.classes
        new._stats = [statistics.copy() for statistics in self._stats]
        return new

    def _check_alike(self, other: ClassMoments) -> np.ndarray:
        check_alike(self, other)
        if self.half_life is not None or other.half_life is not None:
            raise ValueError("Moments with half_life depend on the order of rows: add rows by update, not by + or -.")
        union_of_labels(self._known, other._known)
        return union_of_labels(self.classes, other.classes)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        if not isinstance(other, ClassMoments):
            return NotImplemented
        return self.copy().put_in(other)

    def put_in(self, other: ClassMoments) -> Self:
        """Add the moments of other rows, in place: `self + other` without a copy.

        Parameters
        ----------
        other : ClassMoments
            If they are refused, nothing changes.

        Returns
        -------
        self
        """
        self._check_alike(other)
        if other.n_features is None:
            return self
        classes = union_of_labels(self._known, other._known)
        self.n_features = other.n_features
        self._widen(classes)
        for label, statistics in zip(other.classes, other._stats, strict=True):
            slot = int(np.searchsorted(classes, label))
            if self._stats[slot].rows == 0:
                self._stats[slot] = statistics.copy()
            else:
                self._stats[slot].merge(statistics)
        return self

    def __sub__(self, other: ClassMoments) -> ClassMoments:
        if not isinstance(other, ClassMoments):
            return NotImplemented
        return self.copy().take_out(other)

    def take_out(self, other: ClassMoments) -> Self:
        """Subtract rows that were added before, in place: `self - other` without a copy.

        Parameters
        ----------
        other : ClassMoments
            Of a part of the rows in these moments; if it is refused, nothing changes.

        Returns
        -------
        self
        """
        classes = self._check_alike(other)
        if other.n_features is None:
            return self
        if self.n_features is None:
            raise ValueError("Nothing can be subtracted from empty moments.")
        self._widen(classes)
        mine_of = dict(zip(classes.tolist(), self._stats, strict=True))
        gone_of = dict(zip(other.classes.tolist(), other._stats, strict=True))
        for label, gone in gone_of.items():
            mine = mine_of[label]
            if gone.rows > mine.rows or gone.weight > mine.weight * (1 + 1e-9):
                raise ValueError(
                    f"Subtracting would leave a negative count for class {label!r}: "
                    f"{mine.rows} rows (weight {mine.weight:g}) minus {gone.rows} "
                    f"(weight {gone.weight:g}); the right side must be part of the left."
                )
        for label, gone in gone_of.items():  # only after all checks: an error changes nothing
            mine_of[label].remove(gone)
        return self

    def __eq__(self, other: object) -> bool:
        """Equal up to rounding, in whichever order rows were merged."""
        if not isinstance(other, ClassMoments):
            return NotImplemented
        if (self.n_features, self.has_scatter, self.half_life) != (
            other.n_features,
            other.has_scatter,
            other.half_life,
        ):
            return False
        if not np.array_equal(self.classes, other.classes):
            return False
        return all(same(a, b) for a, b in zip(self._stats, other._stats, strict=True))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{c!r}: {s.rows}" for c, s in zip(self.classes.tolist(), self._stats, strict=True))
        return f"ClassMoments(n_features={self.n_features}, rows={{{sizes}}}, scatter={self.has_scatter})"

    # What the objective needs. Index 0 is the negative class, 1 the positive.

    @property
    def complete(self) -> bool:
        """Whether both classes have been seen."""
        return len(self._stats) == 2 and min(self._stats[0].weight, self._stats[1].weight) > 0

    def sides(self) -> tuple[ClassStatistics, ClassStatistics]:
        """The statistics of the negative and of the positive class; an error if one has no rows."""
        seen = [c for c, s in zip(self.classes.tolist(), self._stats, strict=True) if s.weight > 0]
        if len(seen) < 2:
            raise ValueError(
                f"AUC needs rows of two classes, but {'only ' + repr(seen[0]) if seen else 'none'} "
                "was seen with positive weight."
            )
        return self._stats[0], self._stats[1]

    def _with_scatter(self) -> tuple[ClassStatistics, ClassStatistics]:
        """The same; an error if they have no matrices."""
        if not self.has_scatter:
            raise ValueError(NO_MATRIX)
        return self.sides()

    def pair_statistics(self) -> PairStatistics:
        """Shares, means and the sum of the variances of both classes, all at once."""
        negative, positive = self.sides()
        total = negative.weight + positive.weight
        if negative.weight / total * (positive.weight / total) < np.finfo(float).tiny:
            raise ValueError(
                f"The weights of the classes, {negative.weight:.2g} and {positive.weight:.2g}, are too far apart: "
                "rescale sample_weight."
            )
        return PairStatistics(
            p=positive.weight / total,
            q=negative.weight / total,
            means=np.stack([negative.mean, positive.mean]),
            delta=difference(positive.mean, positive.low, negative.mean, negative.low),
            within_diagonal=self.variances.sum(axis=0),
        )

    def pair_errors(self) -> PairErrors:
        """How far rounding may have moved each of the statistics."""
        negative, positive = self.sides()
        shares = [relative(s.errors.weight, s.weight) for s in (negative, positive)]
        means = positive.mean, positive.low, negative.mean, negative.low
        delta = difference(*means)
        level = level_of(*means)
        within = np.zeros_like(level)
        for s, share in zip((negative, positive), shares, strict=True):
            within += (1.01 * s.errors.scatter + (share + 4.0 * UNIT) * (s.diagonal + s.errors.scatter)) / s.weight
        return PairErrors(
            share=2.0 * sum(shares) + 8.0 * UNIT,
            means=np.stack([negative.errors.mean, positive.errors.mean]),
            delta=negative.errors.mean + positive.errors.mean + 4.0 * UNIT * np.abs(delta) + 16.0 * UNIT**2 * level,
            within=np.minimum(within, UNKNOWN_SCATTER),
        )

    @property
    def offsets(self) -> np.ndarray:
        """What rounding drops of `means`: the class means are means + offsets, shape (2, d)."""
        return np.stack([s.low for s in self.sides()])

    @property
    def rows(self) -> np.ndarray:
        """Number of rows of each class (rows of weight 0 are not counted)."""
        return np.array([s.rows for s in self._stats])

    @property
    def weights(self) -> np.ndarray:
        """Total weight of each class."""
        return np.array([s.weight for s in self._stats])

    @property
    def rounding(self) -> float:
        """Relative rounding of the scatters: that of float32 if any rows were multiplied in float32, else 0."""
        return max((s.rounding for s in self._stats), default=0.0)

    @property
    def within(self) -> np.ndarray:
        """Σ₊ + Σ₋, the sum of the class covariances, shape (d, d)."""
        there = self.within_on_device
        if there is not None:
            return matrix_on_host(there)
        negative, positive = self._with_scatter()
        within = negative.scatter / negative.weight
        within += positive.scatter / positive.weight
        return within

    @property
    def within_on_device(self) -> Any:
        """`within` as an array on the device where both scatters lie; None if one is on the host."""
        classes = self._with_scatter()
        there = [s.on_device if isinstance(s, DeviceStatistics) else None for s in classes]
        if there[0] is None or there[1] is None:
            return None
        return there[0] / classes[0].weight + there[1] / classes[1].weight

    @property
    def scatters(self) -> np.ndarray:
        """A copy of the two scatter matrices n_c Σ_c, shape (2, d, d)."""
        return np.stack([s.scatter for s in self._with_scatter()])

    @property
    def variances(self) -> np.ndarray:
        """Variance of each column within each class, shape (2, d)."""
        return np.maximum(np.stack([s.diagonal / s.weight for s in self.sides()]), 0.0)

    @property
    def cancellation(self) -> float:
        """The largest scatter so far over the present one (at least the mean over columns), for the worst column.

        It tells how many digits `-` has lost.
        """
        several = [s for s in self._stats if s.rows > 1]  # of a single row the scatter is exactly 0
        return max((s.cancellation for s in several), default=1.0)

    def save(self, path: str | os.PathLike) -> None:
        """Write to a NumPy archive (no pickle); an existing file is replaced only by a complete one.

        Parameters
        ----------
        path : str or path-like
            Used unchanged: no suffix is added.
        """
        labels = self.classes
        stats = self._stats
        if labels.dtype == object and all(isinstance(label, str) for label in labels.tolist()):
            labels = labels.astype(str)
        if labels.dtype.kind not in "biufUS":
            raise ValueError("Only numbers, booleans and strings can be saved as class labels.")
        if self.n_features is None or not stats:
            raise ValueError("Empty moments cannot be saved: add rows first.")
        content: dict[str, Any] = {
            "classes": labels,
            "rows": self.rows,
            "weights": self.weights,
            "means": [s.mean for s in stats],
            "scatters": [s.scatter for s in stats],
            "peaks": [s.peak for s in stats],
            "roundings": [s.rounding for s in stats],
            "lows": [s.low for s in stats],
            "weight_errors": [s.errors.weight for s in stats],
            "mean_errors": [s.errors.mean for s in stats],
            "scatter_errors": [s.errors.scatter for s in stats],
            "half_life": np.inf if self.half_life is None else float(self.half_life),
        }
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, format=_file.FILE_FORMAT, version=_file.FILE_VERSION, **content)

    @classmethod
    def load(cls, path: str | os.PathLike) -> ClassMoments:
        """Read what `save` wrote; anything else is refused.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        ClassMoments
        """
        content = _file.read(path)
        half_life = float(content["half_life"])
        scatters = content["scatters"]
        new = cls(
            content["means"].shape[1],
            scatter=scatters.ndim == 3,
            half_life=None if half_life == np.inf else half_life,
        )
        new.classes = new._known = content["classes"]
        for c in range(new.classes.size):
            errors = Errors(
                weight=float(content["weight_errors"][c]),
                mean=content["mean_errors"][c].astype(np.float64),
                scatter=content["scatter_errors"][c].astype(np.float64),
            )
            statistics = ClassStatistics(
                rows=int(content["rows"][c]),
                weight=float(content["weights"][c]),
                mean=content["means"][c].astype(np.float64),
                scatter=np.asfortranarray(scatters[c], dtype=np.float64),
                peak=content["peaks"][c].astype(np.float64),
                rounding=float(content["roundings"][c]),
                low=content["lows"][c].astype(np.float64),
                errors=errors,
            )
            new._stats.append(statistics)
        return new


def one_vs_rest_moments(
    X, codes: np.ndarray, weights: np.ndarray | None, n_classes: int, *, scatter: bool = True, precise: bool = True
) -> Iterator[ClassMoments]:
    """The moments of class 0 (as True) and of all other rows (as False), then of class 1, and so on.

    `codes` are the classes of the rows, and each class has weight. The rows are read once, in the call itself; the
    statistics of the rest are sums of those of the other classes, so that no digits are lost.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # `check_range` reports it
        each = statistics_in_memory(X, codes, weights, None, np.arange(n_classes), scatter, precise)
    for statistics in each:
        check_range(statistics, forgets=False)
    all_but_one = zip(_all_but_one(each, None), each, strict=True)
    return (ClassMoments.of_statistics(others, of_class, (False, True), scatter) for others, of_class in all_but_one)


def _all_but_one(each: Sequence[ClassStatistics], outside: ClassStatistics | None) -> Iterator[ClassStatistics]:
    """For each of these classes the sum of the others and `outside`, by halving: K log K sums, few held at once."""
    if len(each) == 1:
        assert outside is not None
        yield outside
        return
    middle = len(each) // 2
    halves = each[:middle], each[middle:]
    for half, other in (halves, halves[::-1]):
        total = (other[0] if outside is None else outside).copy()
        for statistics in other[1 if outside is None else 0 :]:
            total.merge(statistics)
        yield from _all_but_one(half, total)


def spread(moments: PairSums) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each feature over all rows; the deviation of a constant feature is 0."""
    share = moments.weights[:, np.newaxis] / moments.weights.sum()
    mean = (share * moments.means).sum(axis=0)
    variance = (share * (moments.variances + (moments.means - mean) ** 2)).sum(axis=0)
    deviation = np.sqrt(variance)
    deviation[deviation <= 1e-10 * np.abs(mean)] = 0.0  # rounding, not spread
    return mean, deviation
