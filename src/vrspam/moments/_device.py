"""Size, mean and scatter of each class of rows that lie on a device (see `vrspam._utils.array_api`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils import array_api
from vrspam._utils.array_api import beside, device_namespace, is_label, on_host, row_blocks
from vrspam.moments._rounding import Errors, gamma, two_sum
from vrspam.moments._statistics import ClassStatistics

CENTRE_ROWS = 1 << 10  # rows, from all over a class, whose mean is subtracted before all of them are multiplied


class DeviceStatistics(ClassStatistics):
    """Statistics whose scatter stays on its device, where sums are computed, until somebody reads it on the host."""

    _here: np.ndarray | None
    _there: Any
    _own_diagonal: np.ndarray | None

    @property
    def scatter(self) -> np.ndarray:
        if self._here is None:
            self._here = matrix_on_host(self._there)
            self._there = None
        return self._here

    @scatter.setter
    def scatter(self, matrix: Any) -> None:
        is_host = isinstance(matrix, np.ndarray)
        self._here = matrix if is_host else None
        self._there = None if is_host else matrix
        self._own_diagonal = None

    def __getstate__(self) -> dict[str, Any]:
        _ = self.scatter  # a file holds nothing of a device
        return self.__dict__

    @property
    def on_device(self) -> Any:
        """The scatter where it lies on a device that can be used now, else None."""
        return None if self._there is None or device_namespace(self._there) is None else self._there

    @property
    def diagonal(self) -> np.ndarray:
        there = self.on_device
        if there is None:
            return super().diagonal
        if self._own_diagonal is None:
            self._own_diagonal = on_host(device_namespace(there).linalg.diagonal(there)).copy()
        return self._own_diagonal

    def clip_diagonal(self) -> None:
        if self.on_device is None or bool((self.diagonal < 0.0).any()):
            super().clip_diagonal()

    def copy(self) -> ClassStatistics:
        there = self.on_device
        if there is None:
            return super().copy()
        mean = self.mean.copy()
        peak = self.peak.copy()
        low = self.low.copy()
        scatter = device_namespace(there).asarray(there, copy=True)
        return replace(self, mean=mean, scatter=scatter, peak=peak, low=low, errors=replace(self.errors))

    def _add_scatter(self, other: ClassStatistics | None, sign: int, ones: list[tuple[float, np.ndarray]]) -> None:
        scatter = self.on_device
        of_other = other.on_device if isinstance(other, DeviceStatistics) else None
        if scatter is None or (other is not None and of_other is None):
            super()._add_scatter(other, sign, ones)
            return

        if of_other is not None:
            scatter = scatter + of_other if sign > 0 else scatter - of_other
        if ones:
            scales = np.array([scale for scale, _ in ones])
            v = np.stack([vector for _, vector in ones])
            scatter = scatter + beside(v.T * scales, scatter) @ beside(v, scatter)
        self.scatter = scatter


def matrix_on_host(matrix: Any) -> np.ndarray:
    """A symmetric matrix from a device, by columns."""
    return np.asfortranarray(on_host(matrix).T)  # transposed, it is by columns without a copy


def statistics_on_device(
    X: Any, y: Any, weights: Any, index: np.ndarray | None, labels: np.ndarray, full: bool, of_weights: float = 0.0
) -> list[ClassStatistics]:
    """Statistics of the rows of each label (only of the rows `index`), computed on the device of X."""
    c = None if weights is None else beside(weights, X)
    chosen = None if index is None else beside(index, X)
    xp = device_namespace(X)
    groups = []
    for label in labels:
        member = is_label(y, label, X)
        if c is not None:
            member = member & (c > 0)
        groups.append(xp.nonzero(member)[0] if chosen is None else chosen[xp.take(member, chosen)])
    return statistics_of_groups(X, groups, c, full, of_weights)


class _Gathered(NamedTuple):
    """What is computed of a group of rows x minus a centre, on the device."""

    weight: Any  # Σ c; None where rows have no weights
    sums: Any  # Σ c x
    products: Any  # Σ c x xᵀ, or its diagonal
    operations: int  # most roundings that one element goes through


@np.errstate(over="ignore", invalid="ignore")  # `check_range` reports it
def statistics_of_groups(
    X: Any, groups: Sequence[Any], weights: Any, full: bool, of_weights: float = 0.0
) -> list[ClassStatistics]:
    """Size, mean and scatter of each group of rows; a group holds row numbers, all with positive weight.

    All rows of a group are shifted by the mean of some of them, so that their products simply add up; where that mean
    is no larger than the spread, the shift is left out.
    """
    # The host reads nothing between these steps, so that the device goes from one group to the next at once.
    centres = [_centre_of(X, index) for index in groups]
    of_groups = [_gather(X, index, weights, centre, full) for index, centre in zip(groups, centres, strict=True)]
    return [
        _statistics(X.shape[1], index, centre, gathered, full, of_weights)
        for index, centre, gathered in zip(groups, centres, of_groups, strict=True)
    ]


def _gather(X: Any, index: Any, weights: Any, centre: Any, full: bool) -> _Gathered | None:
    """The sums of a group of rows; None if it is empty."""
    if index.shape[0] == 0:
        return None
    xp = device_namespace(X)
    c = None if weights is None else xp.astype(xp.take(weights, index), xp.float64)
    sums_of = _sums_and_products if full else _sums_and_squares
    sums, products, operations = sums_of(X, index, c, centre)
    return _Gathered(None if c is None else xp.sum(c), sums, products, operations)


def _statistics(
    d: int, index: Any, centre: Any, gathered: _Gathered | None, full: bool, of_weights: float
) -> ClassStatistics:
    """Size, mean and scatter of a group, with bounds on their rounding errors."""
    if gathered is None:
        return ClassStatistics.empty(d, full)
    sums = gathered.sums
    products = gathered.products
    xp = device_namespace(sums)
    if not bool(xp.all(xp.isfinite(sums))):
        raise ValueError("X contains NaN or infinity: impute or drop those rows first.")

    size = int(index.shape[0])
    total = float(size if gathered.weight is None else gathered.weight)
    shift = sums / total
    squares = on_host(xp.linalg.diagonal(products) if full else products).copy()
    products = products - total * (shift[:, None] * shift[None, :] if full else shift * shift)

    residual = on_host(shift)
    mean, low = two_sum(np.zeros(d) if centre is None else on_host(centre), residual)
    of_weight = 0.0 if gathered.weight is None else gamma(size) + of_weights
    errors = Errors.of_block(gathered.operations, total, squares, residual, of_weight=of_weight, of_weights=of_weights)
    if full:
        statistics: ClassStatistics = DeviceStatistics(size, total, mean, products, np.zeros(d), low=low, errors=errors)
    else:
        statistics = ClassStatistics(size, total, mean, on_host(products), np.zeros(d), low=low, errors=errors)
    statistics.clip_diagonal()
    statistics.peak = statistics.diagonal.copy()
    return statistics


def _centre_of(X: Any, index: Any) -> Any:
    """The vector that is subtracted from all rows, or None where it would save no digits."""
    xp = device_namespace(X)
    if index.shape[0] == 0:
        return None
    step = -(-index.shape[0] // CENTRE_ROWS)
    rows = xp.astype(xp.take(X, index[::step], axis=0), xp.float64)
    mean = xp.mean(rows, axis=0)
    is_far = xp.abs(mean) > xp.std(rows, axis=0)
    return mean if bool(xp.any(is_far)) else None


def _sums_and_products(X: Any, index: Any, weights: Any, centre: Any) -> tuple[Any, Any, int]:
    """(Σ c x, Σ c x xᵀ, most roundings that one element goes through) of the rows x minus the centre.

    A column with the roots of the weights beside the columns of X makes the sums a part of the products.
    """
    xp = device_namespace(X)
    there = X.device
    d = X.shape[1]
    size = index.shape[0]
    width = d + 8 - d % 8  # rows that start at multiples of 64 bytes are multiplied quicker
    step = max(1, array_api.BLOCK_BYTES // (8 * width))
    unit = min(step, array_api.GRAM_ROWS, size)
    step = min(step // unit, -(-size // unit)) * unit
    buffer = xp.zeros((step, width), dtype=xp.float64, device=there)
    buffer[:, d] = 1.0
    total = xp.zeros((width, width), dtype=xp.float64, device=there)
    for start in range(0, size, step):
        stop = min(start + step, size)
        count = stop - start
        rows = buffer[:count, :d]
        chosen = index[start:stop]
        if type(X).__module__.split(".")[0] == "torch" and X.dtype == rows.dtype:
            import torch

            torch.index_select(X, 0, chosen, out=rows)  # without an array in between
        else:
            rows[:, :] = xp.astype(xp.take(X, chosen, axis=0), xp.float64, copy=False)
        if centre is not None:
            rows -= centre
        if weights is not None:
            root = xp.sqrt(weights[start:stop])
            rows *= root[:, None]
            buffer[:count, d] = root
        padded_stop = -(-count // unit) * unit
        if count < padded_stop:
            buffer[count:padded_stop, :] = 0.0
        total += array_api.gram(buffer[:padded_stop, :])
    return total[:d, d], total[:d, :d], step + -(-size // step)


def _sums_and_squares(X: Any, index: Any, weights: Any, centre: Any) -> tuple[Any, Any, int]:
    """What `_sums_and_products` returns, with the diagonal of the products alone."""
    xp = device_namespace(X)
    sums: Any = 0.0
    squares: Any = 0.0
    start = 0
    largest = 0  # rows of a block
    n_blocks = 0
    for _, block in row_blocks(X, index):
        rows = block if centre is None else block - centre
        stop = start + int(rows.shape[0])
        weighted = rows if weights is None else rows * weights[start:stop][:, None]
        sums = sums + xp.sum(weighted, axis=0)
        squares = squares + xp.sum(weighted * rows, axis=0)
        largest = max(largest, stop - start)
        n_blocks += 1
        start = stop
    return sums, squares, largest + n_blocks
