"""Columns that 64-bit floats cannot hold: complex numbers are refused, integers that would lose digits are named."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from numbers import Complex, Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils import array_api
from vrspam._utils.warnings import IntegersRounded, warn

LARGEST_EXACT = 2**53  # floats hold every integer up to here; just beyond, every second one


def check_columns(X: Any, said: set[Any] | None = None) -> None:
    """Refuse complex numbers, and warn of integers that lose digits as floats. X is an array, a matrix or a frame.

    The warning leaves out the columns in `said`, and adds to them those it names.
    """
    refuse_complex(X)
    said = set() if said is None else said
    if names := [name for name in rounded_columns(X) if name not in said]:
        said.update(names)
        warn(IntegersRounded(tuple(names)))


def refuse_complex(X: Any) -> None:
    """Refuse complex numbers; the error names the column of a frame.

    >>> refuse_complex(np.array([[1.0, 2.0j]]))
    Traceback (most recent call last):
    ValueError: Complex data not supported: give real and imaginary parts as columns of their own.
    """
    dtype = getattr(X, "dtype", None)
    xp = array_api.device_namespace(X)
    if xp.isdtype(dtype, "complex floating") if xp is not None else getattr(dtype, "kind", "") == "c":
        raise ValueError("Complex data not supported: give real and imaginary parts as columns of their own.")
    for name, values in _columns(X):
        if values.dtype.kind == "c" or (values.dtype == object and any(map(_is_complex, values.tolist()))):
            raise ValueError(
                f"Complex data not supported: column {name!r} holds complex numbers; give their real and imaginary "
                "parts as columns of their own."
            )


def rounded_columns(X: Any) -> list[Any]:
    """The columns with integers that change as 64-bit floats: their names in a frame, else their numbers.

    >>> rounded_columns(np.array([[2**53, 2**53 + 1], [3, 2**60]]))
    [1]
    """
    if sparse.issparse(X):
        if X.dtype.kind not in "iu" or not _beyond(X.data):
            return []
        X = X.tocsc()
        parts = np.split(X.data, X.indptr[1:-1])
        return [j for j, values in enumerate(parts) if _any_changes(values)]
    return [name for name, values in _columns(X) if _any_changes(values)]


def _is_complex(value: Any) -> bool:
    return isinstance(value, Complex) and not isinstance(value, Real)


def _beyond(values: np.ndarray) -> bool:
    """Whether any of these integers is beyond ±2⁵³."""
    return values.size > 0 and (int(values.max()) > LARGEST_EXACT or int(values.min()) < -LARGEST_EXACT)


def _any_changes(values: np.ndarray) -> bool:
    """Whether integers or decimals among the values are other numbers as 64-bit floats."""
    if values.dtype.kind not in "iuO" or (values.dtype.kind in "iu" and not _beyond(values)):
        return False
    return any(_changes(value) for value in values.tolist())


def _changes(value: Any) -> bool:
    if not isinstance(value, (Integral, Decimal)):
        return False
    # Python compares its own integers and decimals with floats exactly; NumPy would round them first.
    exact: Any = int(value) if isinstance(value, Integral) else value
    try:
        return abs(exact) > LARGEST_EXACT and float(exact) != exact
    except (ArithmeticError, ValueError):  # not a number, or beyond all floats: refused where it is converted
        return False


def _columns(X: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """Name (or number) and values of the columns of integers, complex numbers or Python objects, as far as present."""
    xp = array_api.device_namespace(X)
    if xp is not None:
        if X.ndim == 2 and xp.isdtype(X.dtype, "integral"):
            yield from ((j, array_api.on_host(X[:, j])) for j in range(X.shape[1]))
    elif isinstance(X, list | tuple) or hasattr(X, "__array_interface__"):
        yield from _array_columns(X)
    elif not sparse.issparse(X):
        yield from _frame_columns(X)


def _array_columns(X: Any) -> Iterator[tuple[Any, np.ndarray]]:
    try:
        X = np.asarray(X)
    except (TypeError, ValueError):  # rows of different lengths: refused where they are converted
        return
    if X.ndim == 2 and (X.dtype.kind in "cO" or (X.dtype.kind in "iu" and _beyond(X))):
        yield from ((j, X[:, j]) for j in range(X.shape[1]))


def _frame_columns(X: Any) -> Iterator[tuple[Any, np.ndarray]]:
    import narwhals.stable.v2 as nw  # only where there may be a frame
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError:  # two columns of one name: refused where names are needed
        return
    if not isinstance(frame, nw.DataFrame):
        return
    # Maps check each block of rows that they are given: one look at all types is quicker than one column at a time.
    for j, (name, dtype) in enumerate(frame.schema.items()):
        if dtype.is_integer() or dtype == nw.Decimal:
            column = frame[:, j].drop_nulls()
            if len(column) == 0 or not (column.max() > LARGEST_EXACT or column.min() < -LARGEST_EXACT):
                continue
        elif dtype in (nw.Object, nw.Unknown):  # narwhals has no type for complex numbers
            column = frame[:, j]
        else:
            continue
        yield name, np.fromiter(column.drop_nulls().to_list(), dtype=object)
