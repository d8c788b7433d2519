"""Data on a device: computations with PyTorch, CuPy and other array-API arrays on their own device.

Work that grows with the rows (moments, products, scores, ranks) is done by the array's own library on its own device,
in float64 for any dtype of the data (so a GPU's TF32 mode is never used). Small results (class statistics,
coefficients) are copied between device and host. As everywhere in scikit-learn,
`sklearn.config_context(array_api_dispatch=True)` switches this on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config

BLOCK_BYTES = 1 << 29  # rows are gathered in float64 blocks of about this size


def device_namespace(array: Any) -> Any:
    """Return the library of an array that is not NumPy's, if scikit-learn's dispatch is on; else None."""
    if not get_config()["array_api_dispatch"] or sparse.issparse(array) or isinstance(array, np.ndarray | np.generic):
        return None
    if isinstance(array, list | tuple) or hasattr(array, "columns") or not hasattr(array, "shape"):
        return None
    from sklearn.utils._array_api import _is_numpy_namespace, get_namespace

    try:
        xp, is_array = get_namespace(array)
    except TypeError:  # a container that is not an array, such as a series
        return None
    return xp if is_array and not _is_numpy_namespace(xp) else None


def on_host(array: Any) -> np.ndarray:
    """Return the array as a NumPy array on the host."""
    if isinstance(array, np.ndarray):
        return array
    library = type(array).__module__.split(".")[0]
    if library in ("torch", "cupy"):  # also if dispatch is off
        return array.cpu().numpy() if library == "torch" else array.get()
    xp = device_namespace(array)
    if xp is None:
        return np.asarray(array)
    from sklearn.utils._array_api import _convert_to_numpy

    return _convert_to_numpy(array, xp)


def beside(values: Any, X: Any) -> Any:
    """Return `values` as an array of the same library and on the same device as X."""
    from sklearn.utils._array_api import device

    xp, there = device_namespace(X), device(X)
    if device_namespace(values) is xp and device(values) == there:
        return values
    return xp.asarray(on_host(values), device=there)


def checked_rows(X: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Check X, which is real, y and the weights on their devices, X as floats; the moments find NaN in X later."""
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
    return np.unique(on_host(xp.unique_values(y if weights is None else y[beside(weights, y) > 0])))


def is_label(y: Any, label: Any, X: Any) -> Any:
    """Return where y equals a label, as a boolean array on the device of X; y may be on the host, and may be text."""
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


def scores(X: Any, coef: Any, index: Any = None) -> Any:
    """Return X @ coef (for the rows `index`) in float64 on the device of X; `coef` has shape (d,) or (d, m)."""
    xp = device_namespace(X)
    coef = beside(coef, X)
    return xp.concat([rows @ coef for _, rows in row_blocks(X, index)])


def eigh(matrix: np.ndarray, like: Any) -> tuple[np.ndarray, Any]:
    """Return eigenvalues (on the host) and eigenvectors (on the device of `like`) of a symmetric matrix."""
    values, vectors = device_namespace(like).linalg.eigh(beside(matrix, like))
    return np.array(on_host(values)), vectors


def choose(labels: np.ndarray, second: Any) -> Any:
    """Return labels[1] where `second` is true, else labels[0]: numbers on the device of `second`, text on the host."""
    if labels.dtype.kind not in "biuf":
        return labels[on_host(second).astype(np.intp)]
    xp = device_namespace(second)
    return xp.take(beside(labels, second), xp.astype(second, xp.int64))


def auc_columns(positive: Any, scores: Any, weights: Any = None) -> np.ndarray:
    """Return the AUC of every column of scores, computed on their device; ties count one half."""
    xp = device_namespace(scores)
    above = beside(positive, scores)
    c = None if weights is None else xp.astype(beside(weights, scores), xp.float64)
    present = xp.ones_like(above) if c is None else c > 0
    up, down = xp.nonzero(above & present)[0], xp.nonzero(~above & present)[0]
    if up.shape[0] == 0 or down.shape[0] == 0:
        return np.full(scores.shape[1], np.nan)
    if bool(xp.any(xp.isnan(scores))):
        raise ValueError("scores contains NaN, which has no rank; remove or impute those rows.")
    aucs = np.empty(scores.shape[1])
    for column in range(scores.shape[1]):
        values, others = xp.take(scores[:, column], up), xp.take(scores[:, column], down)
        order = xp.argsort(others)
        ranked = xp.take(others, order)
        low, high = (xp.searchsorted(ranked, values, side=side) for side in ("left", "right"))
        if c is None:
            aucs[column] = float(xp.sum(low + high)) / (2.0 * up.shape[0] * down.shape[0])
        else:
            c_up, c_down = xp.take(c, up), xp.take(c, down)
            below = xp.cumulative_sum(xp.take(c_down, order), include_initial=True)
            wins = xp.sum((xp.take(below, low) + xp.take(below, high)) * c_up)
            aucs[column] = float(wins) / (2.0 * float(xp.sum(c_up)) * float(xp.sum(c_down)))
    return aucs
