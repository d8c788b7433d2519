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
        from sklearn.utils._array_api import get_namespace  # not public, and knows the most libraries
    except ImportError:
        try:
            from array_api_compat import array_namespace as get_namespace  # type: ignore[import-not-found]
        except ImportError:  # what has no such method (PyTorch) is then copied to the host
            get_namespace = operator.methodcaller("__array_namespace__")
    try:
        found = get_namespace(array)
    except (AttributeError, TypeError):  # a container that is not an array, such as a series
        return None
    xp = found[0] if isinstance(found, tuple) else found
    if xp is np or xp.__name__.split(".")[-1] == "numpy":
        return None
    _LIBRARIES[type(array)] = xp
    return xp


def on_host(array: Any) -> np.ndarray:
    """Return the array as a NumPy array on the host."""
    if isinstance(array, np.ndarray):
        return array
    library = type(array).__module__.split(".")[0]
    if library in ("torch", "cupy"):  # also if dispatch is off
        return array.cpu().numpy() if library == "torch" else array.get()
    try:
        return np.asarray(array)
    except (RuntimeError, TypeError, ValueError):  # it is not on the host
        if device_namespace(array) is None:
            raise
        return np.from_dlpack(array, device="cpu")


def beside(values: Any, X: Any) -> Any:
    """Return `values` as an array of the same library and on the same device as X."""
    xp, there = device_namespace(X), X.device
    if device_namespace(values) is xp and values.device == there:
        return values
    return xp.asarray(on_host(values), device=there)


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
        return np.unique(np.asarray(y) if weights is None else np.asarray(y)[on_host(weights) > 0])
    y = y if weights is None else y[beside(weights, y) > 0]
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
    return beside(y == (label.item() if hasattr(label, "item") else label), X)


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
    each, factors, failed = max(1, BLOCK_BYTES // (8 * d * d)), [], []
    identity = torch.eye(d, dtype=matrix.dtype, device=matrix.device)
    for start in range(0, len(shifts), each):
        some = beside(shifts[start : start + each], matrix)[:, None, None]
        factor, info = torch.linalg.cholesky_ex(matrix + some * identity)
        factors.append(factor)
        failed.append(info)
    if bool(torch.any(torch.cat(failed) != 0)):
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
    above = beside(positive, scores)
    c = None if weights is None else xp.astype(beside(weights, scores), xp.float64)
    present = xp.ones_like(above) if c is None else c > 0
    few, many = xp.nonzero(above & present)[0], xp.nonzero(~above & present)[0]
    if few.shape[0] == 0 or many.shape[0] == 0:
        return np.full(scores.shape[1], np.nan)
    if bool(xp.any(xp.isnan(scores))):
        raise ValueError("scores contains NaN, which has no rank; remove or impute those rows.")
    if swapped := few.shape[0] > many.shape[0]:
        few, many = many, few
    of_few: Any = None
    of_many: Any = None
    if c is not None:  # products of the largest weights stay within range
        of_few, of_many = (part / xp.max(part) for part in (xp.take(c, few), xp.take(c, many)))
    lines, wins = xp.matrix_transpose(scores), []
    step = max(1, BLOCK_BYTES // (8 * scores.shape[0]))
    for start in range(0, scores.shape[1], step):
        some = lines[start : min(start + step, lines.shape[0]), :]
        sorted_lines, values = (xp.take(some, side, axis=1) for side in (few, many))
        order = None if c is None else xp.argsort(sorted_lines, axis=1)
        sorted_lines = xp.sort(sorted_lines, axis=1)
        for j in range(values.shape[0]):
            low, high = (xp.searchsorted(sorted_lines[j, :], values[j, :], side=side) for side in ("left", "right"))
            if order is None:
                wins.append(xp.sum(low + high))
            else:
                below = xp.cumulative_sum(xp.take(of_few, order[j, :]), include_initial=True)
                wins.append(xp.sum((xp.take(below, low) + xp.take(below, high)) * of_many))
    pairs = few.shape[0] * many.shape[0] if c is None else float(xp.sum(of_few) * xp.sum(of_many))
    of_larger = on_host(xp.stack(wins)).astype(np.float64)
    return np.clip((of_larger if swapped else 2.0 * pairs - of_larger) / (2.0 * pairs), 0.0, 1.0)


def padded(array: np.ndarray, size: int, axes: tuple[int, ...] | None = None) -> np.ndarray:
    """A copy with zeros appended up to `size` along all axes, or along those named."""
    chosen = range(array.ndim) if axes is None else axes
    widths = [(0, size - length if axis in chosen else 0) for axis, length in enumerate(array.shape)]
    return np.pad(array, widths)
