"""Check the rows, columns, labels and weights that a user gives, before anything is computed."""

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from decimal import Decimal
from numbers import Complex, Integral, Number, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from vrspam._utils import array_api
from vrspam._utils.findings import VrspamError
from vrspam._utils.warnings import IntegersRounded, warn

LARGEST_EXACT = 2**53  # floats hold every integer up to here; just beyond, every second one


def check_columns(X: Any, said: set[Any] | None = None, *, rounding: bool = True) -> None:
    """Refuse complex numbers, by the name of a column, and warn of integers that change as 64-bit floats.

    Columns in `said` (names of a frame, else numbers) are not warned about again; columns that are warned about are
    added to it. Without `rounding` there are no warnings.
    """
    if _has_complex_type(X):
        raise ValueError("Complex data not supported: give real and imaginary parts as columns of their own.")
    known = set() if said is None else said
    rounded = []
    for name, values in _columns(X):
        if _any_complex(values):
            raise ValueError(
                f"Complex data not supported: column {name!r} holds complex numbers; give their real and imaginary "
                "parts as columns of their own."
            )
        if rounding and name not in known and _any_changes(values):
            rounded.append(name)
    if rounded:
        known.update(rounded)
        warn(IntegersRounded(tuple(rounded)))


def _has_complex_type(X: Any) -> bool:
    """Whether an array of one type holds complex numbers."""
    dtype = getattr(X, "dtype", None)
    xp = array_api.device_namespace(X)
    if xp is not None:
        return xp.isdtype(dtype, "complex floating")
    return getattr(dtype, "kind", "") == "c"


def _any_complex(values: np.ndarray) -> bool:
    """Whether some values of a column are complex numbers."""
    if values.dtype != object:
        return values.dtype.kind == "c"
    return any(isinstance(value, Complex) and not isinstance(value, Real) for value in values.tolist())


def _beyond(values: np.ndarray) -> bool:
    """Whether any of these integers is beyond ±2⁵³."""
    return values.size > 0 and (int(values.max()) > LARGEST_EXACT or int(values.min()) < -LARGEST_EXACT)


def _any_changes(values: np.ndarray) -> bool:
    """Whether integers or decimals among the values are other numbers as 64-bit floats."""
    if values.dtype.kind not in "iuO" or (values.dtype.kind in "iu" and not _beyond(values)):
        return False
    for value in values.tolist():
        if isinstance(value, (Integral, Decimal)):
            # Python compares its own integers and decimals with floats exactly; NumPy would round them first.
            exact: Any = int(value) if isinstance(value, Integral) else value
            with suppress(ArithmeticError, ValueError):  # no number, or beyond all floats: refused at its conversion
                if abs(exact) > LARGEST_EXACT and float(exact) != exact:
                    return True
    return False


def _columns(X: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield name (or number) and values of the columns to check: of integers, complex numbers or Python objects."""
    if array_api.device_namespace(X) is not None:
        yield from _columns_on_device(X)
    elif sparse.issparse(X):
        if X.dtype.kind in "iu" and _beyond(X.data):
            X = X.tocsc()
            yield from enumerate(np.split(X.data, X.indptr[1:-1]))
    elif isinstance(X, list | tuple) or hasattr(X, "__array_interface__"):
        yield from _columns_of_array(X)
    else:
        yield from _columns_of_frame(X)


def _columns_on_device(X: Any) -> Iterator[tuple[int, np.ndarray]]:
    xp = array_api.device_namespace(X)
    if X.ndim == 2 and xp.isdtype(X.dtype, "integral"):
        for j in range(X.shape[1]):
            yield j, array_api.on_host(X[:, j])


def _columns_of_array(X: Any) -> Iterator[tuple[int, np.ndarray]]:
    try:
        X = np.asarray(X)
    except (TypeError, ValueError):  # rows of different lengths: refused where they are converted
        return
    if X.ndim != 2:
        return
    if X.dtype.kind in "cO" or (X.dtype.kind in "iu" and _beyond(X)):
        for j in range(X.shape[1]):
            yield j, X[:, j]


def _columns_of_frame(X: Any) -> Iterator[tuple[Any, np.ndarray]]:
    import narwhals.stable.v2 as nw  # only where there may be a frame
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(plain_arrow(X), pass_through=True)
    except DuplicateError:  # two columns of one name: refused where names are needed
        return
    if not isinstance(frame, nw.DataFrame):
        return
    # Maps check each block of rows that they are given: one look at all types is quicker than one column at a time.
    for j, (name, dtype) in enumerate(frame.schema.items()):
        is_whole = dtype.is_integer() or dtype == nw.Decimal
        if not is_whole and dtype not in (nw.Object, nw.Unknown):  # narwhals has no type for complex numbers
            continue
        column = frame[:, j].drop_nulls()
        if is_whole and not (len(column) and (column.max() > LARGEST_EXACT or column.min() < -LARGEST_EXACT)):
            continue
        yield name, np.fromiter(column.to_list(), dtype=object)


def plain_arrow(X: Any) -> Any:
    """Return an arrow table with plain columns for views of texts and run-end encoding; anything else as it is."""
    if type(X).__module__ != "pyarrow.lib" or not hasattr(X, "set_column"):
        return X
    for place, kind in enumerate(X.schema.types):
        if str(kind).startswith("run_end_encoded"):
            import pyarrow.compute as pc

            X = X.set_column(place, X.schema.names[place], pc.run_end_decode(X.column(place)))
            kind = kind.value_type
        if str(kind) in ("string_view", "binary_view"):
            X = X.set_column(place, X.schema.names[place], X.column(place).cast(str(kind).removesuffix("_view")))
        elif str(kind).startswith("dictionary<values=string_view"):  # which arrow cannot cast
            whole = X.column(place).unify_dictionaries().combine_chunks()
            plain = whole.from_arrays(whole.indices, whole.dictionary.cast("string"))
            X = X.set_column(place, X.schema.names[place], plain)
    return X


class Rows(NamedTuple):
    """Validated training data: X, the labels, and the weights of the rows if there are any."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None


def numbers_of(labels: Any, n_rows: int, name: str, noun: str) -> np.ndarray:
    """Return the number, from 0 on, of each row's label; errors call the argument `name`, and a label `noun`.

    Labels may be of any kind, but each row needs a label.
    """
    names = array_api.on_host(labels)
    if names.shape != (n_rows,):
        raise ValueError(f"{name} has shape {names.shape}; it needs one label for each of {n_rows} rows.")
    missing = np.zeros(n_rows, dtype=bool)
    if names.dtype.kind in "fcmM":
        missing = names != names
    if names.dtype.kind not in "biufUSmM":
        entries = names.tolist()
        missing = np.array([_is_missing(entry) for entry in entries], dtype=bool)
        numbers: dict[Any, int] = {}
        names = np.array([numbers.setdefault(entry, len(numbers)) for entry in entries], dtype=np.intp)
    if missing.any():
        raise ValueError(
            f"{name} is missing in {int(missing.sum())} rows; leave them out, or give each a {noun} of its own."
        )
    return np.unique(names, return_inverse=True)[1].ravel()


def _is_missing(entry: Any) -> bool:
    """Whether an object stands for no label: None, NaN, or the NA of pandas, which equals nothing and is no truth."""
    return entry is None or type(entry).__name__ == "NAType" or entry != entry


def error_in_block(number: int, error: ValueError) -> VrspamError:
    """The same error with the number of its block in front."""
    parts = error.note.parts if isinstance(error, VrspamError) else (str(error),)
    return VrspamError(f"Block {number}: ", *parts)


def union_of_labels(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sorted labels of a and b; raise an error for more than two labels, or numbers mixed with strings."""
    if a.size and b.size and (a.dtype.kind in "OUS") != (b.dtype.kind in "OUS"):
        raise ValueError(f"Labels {a.tolist()} and {b.tolist()} are of different types: give all labels one type.")
    if a.size and b.size:
        union = np.union1d(a, b)
    else:
        union = np.unique(b if b.size else a)
    if union.size > 2:
        known = f" (so far {a.tolist()})" if a.size else ""
        raise ValueError(
            f"Only two classes are possible, got labels {union.tolist()}{known}: the target must be binary."
        )
    return union


def column_names(estimator: Any, given: Any = None) -> np.ndarray:
    """The names of the columns that a fitted estimator has seen, else those given, else x0, x1, ..."""
    return OneToOneFeatureMixin.get_feature_names_out(estimator, given)


def check_weights(weights: Any, n_rows: int) -> np.ndarray:
    """The weights of n rows, finite, not negative and not all 0; a number stands for all rows."""
    if isinstance(weights, Number):
        weights = np.full(n_rows, weights)
    weights = check_array(weights, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight")
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must have one entry per row, got shape {weights.shape} for {n_rows} rows.")
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    if (weights < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`.")
    return weights


def check_rows(X, y, sample_weight):
    """Return X as a float array or CSR/CSC matrix, y as a vector, and the weights as float64 or None."""
    check_columns(X)
    if array_api.device_namespace(X) is not None:
        return array_api.checked_rows(X, y, sample_weight)
    X = _as_floats(X)
    y = np.asarray(y)
    _refuse_labels(y, X.shape[0])
    values = X.data if sparse.issparse(X) else X
    if not np.isfinite(values.sum(dtype=np.float64)) and not np.isfinite(values).all():
        raise ValueError("X contains NaN or infinity: impute or drop those rows first.")
    if sample_weight is None:
        return X, y, None
    return X, y, _as_weights(sample_weight, y)


def _as_floats(X: Any) -> Any:
    """X as a float array or a CSR or CSC matrix."""
    X = X if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    if X.shape[1] == 0:
        raise ValueError(f"X has no features: its shape is {X.shape}.")
    if sparse.issparse(X) and X.format != "csc":
        X = X.tocsr()
    if X.dtype in (np.float32, np.float64):
        return X
    try:
        return X.astype(np.float64, casting="unsafe" if X.dtype.kind in "OUSiub" else "same_kind")
    except (TypeError, ValueError) as error:
        raise ValueError(f"X is not numeric: encode it as numbers, without missing values ({error}).") from error


def _refuse_labels(y: np.ndarray, n_rows: int) -> None:
    """Refuse what is not a label of one of two classes for each row."""
    if y.ndim != 1 or y.shape[0] != n_rows:
        raise ValueError(f"y must be one label for each of the {n_rows} rows, got shape {y.shape}.")
    if y.dtype.kind not in "biufUSOM":
        raise ValueError(f"The labels must be numbers, booleans or strings, got {y.dtype}.")
    try:
        labels = np.unique(y)
        missing = bool((labels != labels).any())  # NaN
    except TypeError:
        raise ValueError("y holds labels of different types, or missing ones: give all labels one type.") from None
    if missing:
        raise ValueError("y contains NaN: drop the rows that have no label.")
    if labels.size > 2:
        raise ValueError(f"Only two classes are possible, got labels {labels.tolist()[:5]}.")


def _as_weights(sample_weight: Any, y: np.ndarray) -> np.ndarray:
    """The weights of the rows as float64."""
    weights = np.asarray(sample_weight)
    is_complex = weights.dtype.kind == "c"
    if not is_complex:
        weights = weights.astype(np.float64)
    if weights.shape != y.shape:
        raise ValueError(f"sample_weight must have one entry per row, got shape {weights.shape} for {y.shape[0]} rows.")
    if is_complex or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be real, finite and not negative.")
    return weights


# ---- rows that an estimator cannot take, refused in the words of a table: which column, what is in it, what to do


@contextmanager
def named_columns(X: Any) -> Iterator[None]:
    """Refuse X in terms of its columns where scikit-learn, or NumPy, refuses its values."""
    refuse_same_names(X)
    about = ("NaN", "infinity", "convert string to float", "promoted", "array element with a sequence", "DType")
    try:
        yield
    except (TypeError, ValueError) as error:
        if any(words in str(error) for words in about) and (reason := _reason(X)) is not None:
            raise ValueError(reason) from error
        raise


def refuse_same_names(X: Any) -> None:
    """Refuse a frame in which two columns have one name."""
    if isinstance(X, np.ndarray | list | tuple) or sparse.issparse(X):
        return
    columns: Any = getattr(X, "column_names", None)  # of arrow
    columns = getattr(X, "columns", ()) if columns is None else columns
    try:
        names = [name if isinstance(name, str) else repr(name) for name in columns]
    except TypeError:  # something else of this name
        return
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"Two columns of the frame have the same name: rename one of those called {twice!r}.")


def refuse_huge_columns(X: Any, names: Any) -> None:
    """Refuse numbers whose squares overflow, by the name of their column; X is an array."""
    if names is None or sparse.issparse(X) or X.size == 0:
        return
    largest, most = np.maximum(X.max(axis=0), -X.min(axis=0)), 1e150
    if largest[huge := int(np.argmax(largest))] > most:
        raise ValueError(
            f"Column {names[huge]!r} holds numbers up to {largest[huge]:.2g}, whose squares overflow: rescale it so "
            f"that it stays below {most:.0e}."
        )


def _reason(X: Any) -> str | None:
    """Return what is wrong with the first bad column, or None if it cannot be found."""
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(plain_arrow(X), pass_through=True)
    except Exception:
        return None
    if isinstance(frame, nw.DataFrame):
        return _wrong_kind(frame) or _not_finite(_columns_by_name(frame))
    if sparse.issparse(X):
        return _not_finite(_first_not_finite_entry(X))
    try:
        array = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if array.ndim != 2:
        return None
    return _not_finite((str(j), array[:, j]) for j in range(array.shape[1]))


MAPS = "AUCClassifierCV(features='auto')"


def _wrong_kind(frame: Any) -> str | None:
    """What is wrong with a frame whose columns are not all numbers."""
    first_of_kind: dict[str, str] = {}
    for name, column in zip(frame.columns, frame.iter_columns(), strict=True):
        first_of_kind.setdefault(_kind(column), name)
    for kind, advice in (
        ("lists or records", "make a column of each part, or drop it."),
        ("dates", f"{MAPS} takes dates as features, or make numbers of it first."),
        ("text", f"{MAPS} takes text as categories, or make numbers of it first."),
    ):
        if kind in first_of_kind:
            return f"Column {first_of_kind[kind]!r} holds {kind}: {advice}"
    return None


def _columns_by_name(frame: Any) -> Iterator[tuple[str, np.ndarray]]:
    for name, column in zip(frame.columns, frame.iter_columns(), strict=True):
        yield repr(name), column.to_numpy()


def _first_not_finite_entry(X: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The column of the first entry of a sparse matrix that is not finite, and the entry."""
    entries = X.tocoo()
    if entries.data.dtype.kind == "f":
        for place in np.flatnonzero(~np.isfinite(entries.data))[:1]:
            yield str(int(entries.col[place])), entries.data[[place]]


def _not_finite(columns: Iterable[tuple[str, np.ndarray]]) -> str | None:
    """What is wrong with the first column that is not finite."""
    for name, column in columns:
        if column.dtype.kind not in "fc":
            continue
        if np.isnan(column).any():
            return (
                f"Input X contains NaN in column {name}: {MAPS} takes missing values as they are, or fill them in "
                "first (sklearn.impute.SimpleImputer)."
            )
        if np.isinf(column).any():
            return f"Input X contains infinity in column {name}: remove or replace such values."
    return None


def _kind(column: Any) -> str:
    import narwhals.stable.v2 as nw

    if column.dtype in (nw.List, nw.Array, nw.Struct):
        return "lists or records"
    if column.dtype in (nw.Date, nw.Datetime, nw.Duration):
        return "dates"
    if column.dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    if column.dtype == nw.Object:
        values = column.to_list()
        if any(isinstance(value, list | tuple | dict | set | np.ndarray) for value in values):
            return "lists or records"
        if any(isinstance(value, str) for value in values):
            return "text"
        return "other"
    return "number"


def check_labels(y: np.ndarray) -> None:
    """Refuse labels that name no classes: more than two that look like a target of regression, or that have no order.

    >>> check_labels(np.array([0.25, 0.5, 0.5]))
    """
    try:
        if y.dtype == object and any(isinstance(label, Sized) and not isinstance(label, str | bytes) for label in y):
            raise TypeError("several values have no order as labels do")
        distinct = np.unique(y)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in y.tolist()})
        raise ValueError(
            f"The labels in y cannot be sorted ({', '.join(kinds[:3])}), and the last in order is the positive class: "
            "write them as text or as numbers."
        ) from None
    if distinct.size > 2:
        check_classification_targets(y)


def counted_rows(weights: Any) -> np.ndarray | None:
    """The numbers of the rows of positive weight; None if these are all rows.

    >>> counted_rows(np.array([1.0, 0.0, 2.0])).tolist(), counted_rows(np.ones(3))
    ([0, 2], None)
    """
    if weights is None:
        return None
    counts = array_api.on_host(weights) > 0.0
    return None if counts.all() else np.flatnonzero(counts)


def row_numbers(index: Any, n_rows: int) -> np.ndarray | None:
    """The rows that a part of a fold names by their numbers, or by a mask; None if it is neither.

    >>> row_numbers([True, False, True], 3).tolist(), row_numbers([2, -3], 3).tolist(), row_numbers([5], 3)
    ([0, 2], [2, 0], None)
    """
    index = np.asarray(index)
    if index.size == 0:
        index = index.astype(np.intp)
    elif index.dtype == object and all(isinstance(one, bool | np.bool_) for one in index.ravel().tolist()):
        index = index.astype(bool)  # a mask of a table whose columns hold objects
    try:
        found = np.arange(n_rows)[index]
    except (IndexError, TypeError, ValueError):
        return None
    return found if found.ndim == 1 else None
