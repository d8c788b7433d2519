"""Data on a device: computations with PyTorch, CuPy and other array-API arrays on their own device.

Work that grows with the rows (moments, products, scores, ranks) is done by the array's own library on its own device,
in float64 for any dtype of the data (so a GPU's TF32 mode is never used). Small results (class statistics,
coefficients) are copied between device and host. As everywhere in scikit-learn,
`sklearn.config_context(array_api_dispatch=True)` switches this on.
"""

import operator
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config

BLOCK_BYTES = 1 << 29  # rows are gathered in float64 blocks of about this size
CHOLESKY_DEVICES = ("cuda",)  # PyTorch devices where many Cholesky factors are quicker than one eigendecomposition
GRAM_ROWS = 1 << 11  # rows of one product in a batch of them: a GPU has enough to do, and sums of results are cheap
_LIBRARIES: dict[type, Any] = {}  # of the types of arrays seen so far: scikit-learn takes 0.1 ms to name one


def device_namespace(array: Any) -> Any:
    """Return the library of an array that is not NumPy's, if scikit-learn's dispatch is on; else None."""
    if not get_config()["array_api_dispatch"]:
        return None
    if type(array) in _LIBRARIES:
        return _LIBRARIES[type(array)]
    if sparse.issparse(array) or isinstance(array, np.ndarray | np.generic | list | tuple):
        return None
    if hasattr(array, "columns") or not hasattr(array, "shape"):
        return None
    try:
        library = _finder_of_libraries()(array)
    except (AttributeError, TypeError):  # a container that is not an array, such as a series
        return None
    if isinstance(library, tuple):  # scikit-learn tells too whether it knows the library
        library = library[0]
    if library is np or library.__name__.split(".")[-1] == "numpy":
        return None
    _LIBRARIES[type(array)] = library
    return library


def _finder_of_libraries() -> Callable[[Any], Any]:
    """The function that names the library of an array: the one that is there and knows the most."""
    try:
        from sklearn.utils._array_api import get_namespace  # not public
    except ImportError:
        try:
            from array_api_compat import array_namespace as get_namespace  # type: ignore[import-not-found]
        except ImportError:  # what has no such method (PyTorch) is then copied to the host
            get_namespace = operator.methodcaller("__array_namespace__")
    return get_namespace


def on_host(array: Any) -> np.ndarray:
    """Return the array as a NumPy array on the host."""
    if isinstance(array, np.ndarray):
        return array
    library = type(array).__module__.split(".")[0]
    if library == "torch":  # also if dispatch is off
        return array.cpu().numpy()
    if library == "cupy":
        return array.get()
    try:
        return np.asarray(array)
    except (RuntimeError, TypeError, ValueError):  # it is not on the host
        if device_namespace(array) is None:
            raise
        return np.from_dlpack(array, device="cpu")


def beside(values: Any, X: Any) -> Any:
    """Return `values` as an array of the same library and on the same device as X."""
    xp = device_namespace(X)
    if device_namespace(values) is xp and values.device == X.device:
        return values
    return xp.asarray(on_host(values), device=X.device)


def checked_rows(X: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Check X (real), y and the weights on their devices; return X as floats. The moments find NaN in X later."""
    xp = device_namespace(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64)
    y = np.asarray(y) if device_namespace(y) is None else y
    if tuple(y.shape) != (X.shape[0],):
        raise ValueError(f"y must be one label for each of the {X.shape[0]} rows, got shape {tuple(y.shape)}.")
    if weights is None:
        return X, y, None
    weights = beside(weights, X)
    if tuple(weights.shape) != (X.shape[0],):
        raise ValueError(
            f"sample_weight must have one entry per row, got shape {tuple(weights.shape)} for {X.shape[0]} rows."
        )
    weights = xp.astype(weights, xp.float64)
    if not bool(xp.all(xp.isfinite(weights))) or bool(xp.any(weights < 0.0)):
        raise ValueError("sample_weight must be finite and not negative.")
    return X, y, weights


def labels_of(y: Any, weights: Any = None) -> np.ndarray:
    """Return the sorted labels of the rows with a positive weight, on the host."""
    xp = device_namespace(y)
    if xp is None:
        labels = np.asarray(y)
        return np.unique(labels if weights is None else labels[on_host(weights) > 0])
    if weights is not None:
        y = y[beside(weights, y) > 0]
    if y.shape[0] and not xp.isdtype(y.dtype, "bool"):
        low, high = xp.min(y), xp.max(y)
        if bool(xp.all((y == low) | (y == high))):  # two labels need no sorting
            return np.unique(on_host(xp.stack([low, high])))
    return np.unique(on_host(xp.unique_values(y)))


def is_label(y: Any, label: Any, X: Any) -> Any:
    """Return a boolean array, on the device of X, of where y equals a label; y may be on the host, and may be text."""
    if device_namespace(y) is None:
        member = np.asarray(y) == label
        return member if device_namespace(X) is None else beside(member, X)
    if hasattr(label, "item"):  # a number of NumPy
        label = label.item()
    return beside(y == label, X)


def row_blocks(X: Any, index: Any = None) -> Iterator[tuple[Any, Any]]:
    """Yield (row numbers, those rows in float64), in blocks that are small enough to be copied."""
    xp = device_namespace(X)
    count = X.shape[0] if index is None else index.shape[0]
    step = max(1, BLOCK_BYTES // (8 * max(X.shape[1], 1)))
    for start in range(0, count, step):
        stop = min(start + step, count)
        where: Any = slice(start, stop) if index is None else index[start:stop]
        rows = X[where, :] if index is None else xp.take(X, where, axis=0)
        yield where, xp.astype(rows, xp.float64, copy=False)


def score_lines(X: Any, coefs: Any, index: Any = None) -> Any:
    """Return coefs @ X.T (for the rows `index`) in float64 on the device of X: a line for each row of `coefs`."""
    xp = device_namespace(X)
    coefs = beside(coefs, X)
    return xp.concat([coefs @ xp.matrix_transpose(rows) for _, rows in row_blocks(X, index)], axis=-1)


def gram(rows: Any) -> Any:
    """Return rowsᵀ rows on their device; the number of rows must be a multiple of `GRAM_ROWS` if it is larger.

    Only blocks on and above the diagonal are computed, each as a batch of products of some rows: on a GPU this takes
    0.7 of the time of the whole product.
    """
    xp = device_namespace(rows)
    n, d = rows.shape
    step = min(n, GRAM_ROWS)
    batch = xp.reshape(rows, (n // step, step, d))
    edges = [*range(0, d, 64 if d <= 256 else 128), d]  # a multiple of the tiles that GPUs multiply
    found = xp.zeros((d, d), dtype=rows.dtype, device=rows.device)
    for start, stop in pairwise(edges):
        found[start:stop, start:] = xp.sum(xp.matrix_transpose(batch[:, :, start:stop]) @ batch[:, :, start:], axis=0)
    return xp.triu(found) + xp.matrix_transpose(xp.triu(found, k=1))


def shifted_solver(matrix: Any, shifts: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
    """The function b -> (matrix + shift I)⁻¹ b, a line for each shift, by Cholesky factors on the device of the matrix.

    None if there is no factor, or where eigenvectors are quicker. Triangular solves have no common name in array
    libraries, so only PyTorch's are used.
    """
    if type(matrix).__module__.split(".")[0] != "torch" or matrix.device.type not in CHOLESKY_DEVICES:
        return None
    import torch

    d = matrix.shape[0]
    step = max(1, BLOCK_BYTES // (8 * d * d))  # factors that are computed at a time
    identity = torch.eye(d, dtype=matrix.dtype, device=matrix.device)
    factors = []
    codes = []  # 0 for a factor that there is
    for start in range(0, len(shifts), step):
        block = beside(shifts[start : start + step], matrix)[:, None, None]
        factor, code = torch.linalg.cholesky_ex(matrix + block * identity)
        factors.append(factor)
        codes.append(code)
    if bool(torch.any(torch.cat(codes) != 0)):
        return None

    def solve(b: np.ndarray) -> np.ndarray:
        right = beside(b, matrix)[:, None]
        lines = [torch.cholesky_solve(right.expand(len(factor), *right.shape), factor) for factor in factors]
        return on_host(torch.cat(lines)[:, :, 0])

    return solve


def choose(labels: np.ndarray, second: Any) -> Any:
    """Return labels[1] where `second` is true, else labels[0]: numbers on the device of `second`, text on the host."""
    if labels.dtype.kind not in "biuf":
        return labels[on_host(second).astype(np.intp)]
    xp = device_namespace(second)
    return xp.take(beside(labels, second), xp.astype(second, xp.int64))


def auc_columns(positive: Any, scores: Any, weights: Any = None) -> np.ndarray:
    """The AUC of every column of scores, on their device; ties count one half. The smaller class is sorted."""
    xp = device_namespace(scores)
    positive = beside(positive, scores)
    counts = xp.ones_like(positive)  # rows that count
    if weights is not None:
        weights = xp.astype(beside(weights, scores), xp.float64)
        counts = weights > 0
    positives = xp.nonzero(positive & counts)[0]
    negatives = xp.nonzero(~positive & counts)[0]
    if positives.shape[0] == 0 or negatives.shape[0] == 0:
        return np.full(scores.shape[1], np.nan)
    if bool(xp.any(xp.isnan(scores))):
        raise ValueError("scores contains NaN, which has no rank; remove or impute those rows.")

    positives_are_fewer = positives.shape[0] <= negatives.shape[0]
    few, many = (positives, negatives) if positives_are_fewer else (negatives, positives)
    if weights is None:
        pairs = float(few.shape[0] * many.shape[0])
        twice_won_by_many = _twice_won(scores, few, many)
    else:
        few_weights = _up_to_one(xp, xp.take(weights, few))
        many_weights = _up_to_one(xp, xp.take(weights, many))
        pairs = float(xp.sum(few_weights) * xp.sum(many_weights))
        twice_won_by_many = _twice_won_by_weight(scores, few, many, few_weights, many_weights)
    if positives_are_fewer:
        return np.clip((2.0 * pairs - twice_won_by_many) / (2.0 * pairs), 0.0, 1.0)
    return np.clip(twice_won_by_many / (2.0 * pairs), 0.0, 1.0)


def _up_to_one(xp: Any, weights: Any) -> Any:
    """Weights divided by the largest, so that products of two stay within range."""
    return weights / xp.max(weights)


def _twice_won(scores: Any, few: Any, many: Any) -> np.ndarray:
    """For each column of scores, twice the pairs of two classes in which the row of the larger class is above."""
    xp = device_namespace(scores)
    won = []
    for lines in _blocks_of_columns(scores):
        sorted_lines = xp.sort(xp.take(lines, few, axis=1), axis=1)
        values = xp.take(lines, many, axis=1)
        for j in range(values.shape[0]):
            low = xp.searchsorted(sorted_lines[j, :], values[j, :], side="left")
            high = xp.searchsorted(sorted_lines[j, :], values[j, :], side="right")
            won.append(xp.sum(low + high))
    return on_host(xp.stack(won)).astype(np.float64)


def _twice_won_by_weight(scores: Any, few: Any, many: Any, few_weights: Any, many_weights: Any) -> np.ndarray:
    """The same, with products of weights in place of pairs."""
    xp = device_namespace(scores)
    won = []
    for lines in _blocks_of_columns(scores):
        lines_of_few = xp.take(lines, few, axis=1)
        order = xp.argsort(lines_of_few, axis=1)
        sorted_lines = xp.sort(lines_of_few, axis=1)
        values = xp.take(lines, many, axis=1)
        for j in range(values.shape[0]):
            low = xp.searchsorted(sorted_lines[j, :], values[j, :], side="left")
            high = xp.searchsorted(sorted_lines[j, :], values[j, :], side="right")
            below = xp.cumulative_sum(xp.take(few_weights, order[j, :]), include_initial=True)
            won.append(xp.sum((xp.take(below, low) + xp.take(below, high)) * many_weights))
    return on_host(xp.stack(won)).astype(np.float64)


def _blocks_of_columns(scores: Any) -> Iterator[Any]:
    """Columns of scores as lines, some at a time."""
    lines = device_namespace(scores).matrix_transpose(scores)
    step = max(1, BLOCK_BYTES // (8 * scores.shape[0]))
    for start in range(0, lines.shape[0], step):
        yield lines[start : min(start + step, lines.shape[0]), :]


def padded(array: np.ndarray, size: int, axes: tuple[int, ...] | None = None) -> np.ndarray:
    """A copy with zeros appended up to `size` along all axes, or along those named."""
    chosen = range(array.ndim) if axes is None else axes
    widths = [(0, size - length if axis in chosen else 0) for axis, length in enumerate(array.shape)]
    return np.pad(array, widths)
