"""`Schema`: what the columns of a file are, found in a first pass; and blocks of its rows as (X, y).

Numbers are checked and filled, categories are one-hot, labels are taken out, and rows that cannot be used are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from vrspam._utils.messages import Message, Parameter, WordedError
from vrspam._utils.progress import Progress
from vrspam.data.errors import DataError, NoLabel, Problems, no_column
from vrspam.data.readers import Source
from vrspam.data.readers.array_readers import open_npy
from vrspam.data.readers.arrow_reader import as_table, column_values, numeric_values, type_kind
from vrspam.data.readers.base import Block, ColumnRequest
from vrspam.tables.schema import Label, TableLearner, TableSchema

EncodedBlock = tuple[Any, np.ndarray | None, Any]
BadRows = dict[int, str | Message]
MISSING = "column {column!r} is missing ({mean} or {zero} would fill it)"
INFINITE = "column {column!r} is infinite"
_FILLS = {"mean": Parameter("missing", "mean"), "zero": Parameter("missing", 0.0)}
_LABEL_TYPES = {"bool": "bool", "number": "double", "string": "string"}  # what labels of each kind are read as


class Schema(TableSchema):
    """The columns a model is fed with, in order: numeric ones first, then one indicator per category.

    Attributes
    ----------
    numeric : tuple of str
        Numeric columns. For `.npy` files the column numbers "0", "1", ...; for LIBSVM files the chosen
        indices, empty when all are taken.
    categorical : dict of str to tuple of str
        Categories of each categorical column; each category is one 0/1 feature.
    fill : tuple of float or None
        What stands for a missing value in each numeric column (NaN keeps it); None refuses them. Where it is given, a
        missing category is a row of zeros in its indicators.
    target : str or None
        The label column (None: no labels are read).
    target_type : str or None
        Type of the labels: "bool", "int64", "double" or "string".
    labels : tuple or None
        The labels found, sorted; None where the label column has not been read through.
    width : int or None
        Number of features of a LIBSVM file.
    zero_based : bool
        Indices of that LIBSVM file start at 0.
    readings : dict of str to KindOfText
        Columns of text that is numbers, and of dates, and how they are read (`vrspam.tables.texts`). `numeric` has
        the columns of numbers that they become.
    ranges : dict of str to (float, float)
        The smallest and the largest number of columns in training.
    grouped : tuple of str
        Categorical columns whose rare categories are not listed.
    identifiers, source : tuple of str
        Columns that only name the rows, and all columns that were looked at, in the order of the file.

    Examples
    --------
    >>> from vrspam.data import Schema
    >>> schema = Schema(numeric=("age",), categorical={"sex": ("f", "m")}, target="sick")
    >>> schema.feature_names
    ('age', 'sex=f', 'sex=m')
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    error: ClassVar[type[WordedError]] = DataError

    def wanted(self, tabular: bool, keep: Sequence[str] = ()) -> ColumnRequest:
        """Return what a reader must read: these columns, and some to hand on as they are."""
        if not tabular:
            label = int(self.target) if self.target is not None and self.target.isdigit() else None
            features = () if self.width is not None else tuple(int(name) for name in self.numeric)
            return ColumnRequest(features=features, label=label, width=int(self.width or 0))
        import pyarrow as pa

        plain = {"bool": pa.bool_(), "int64": pa.int64(), "double": pa.float64(), "string": pa.string()}
        types: dict[str, Any] = dict.fromkeys(self.inputs(), pa.float64())
        types |= {name: pa.timestamp("us") if kind.words == "dates" else None for name, kind in self.readings.items()}
        types |= dict.fromkeys(self.categorical, pa.string())
        if self.target is not None:
            types[self.target] = plain[str(self.target_type)]
        return ColumnRequest(types | {name: None for name in keep if name not in types})

    def encode(self, rows: Any, *, sparse: bool = False) -> Any:
        """Return X of rows that were read with missing values: these are filled, categories become one-hot.

        Parameters
        ----------
        rows : arrow table of the feature columns, or array whose missing values are NaN
        sparse : bool, default=False
            Whether X of a table is a CSR matrix.

        Returns
        -------
        array or CSR matrix
        """
        if sp.issparse(rows):
            return rows
        if isinstance(rows, np.ndarray):
            return check_dense(rows, self.numeric, self.fill, {})
        parts = [_join(_numbers_and_codes(b, self, True, "ignore", {}), self, sparse) for b in rows.to_batches()]
        return sp.csr_matrix(sp.vstack(parts)) if sparse else np.concatenate(parts)

    @classmethod
    def infer(cls, path: Any, target: str | int | None = None, **options: Any) -> Schema:
        """Find the schema of a file by reading it through once.

        Parameters
        ----------
        path : path, directory, pattern or list of paths
            The files.
        target : str or int, optional
            The label column.
        **options
            `columns`, `drop`, `categorical`, `categories`, `missing`, `max_categories`, `n_features`,
            `format`, `delimiter`, `encoding`, `zero_based`, `chunk_bytes`, `on_error` and `progress` of `read_chunks`.

        Returns
        -------
        Schema
            With categories, fill values and labels as found.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from vrspam.data import Schema
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
        >>> _ = path.write_text("age,sex,sick\\n61,f,yes\\n,m,no\\n47,f,no\\n")
        >>> schema = Schema.infer(path, target="sick", missing="mean")
        >>> schema.feature_names, schema.fill, schema.labels
        (('age', 'sex=f', 'sex=m'), (54.0,), ('no', 'yes'))
        """
        reading = {
            k: options.pop(k) for k in ("format", "delimiter", "encoding", "zero_based", "chunk_bytes") if k in options
        }
        problems = Problems(options.pop("on_error", "raise"))
        return infer_schema(Source.open(path, **reading), target, labels=True, problems=problems, **options)


def infer_schema(
    source: Source,
    target: str | int | None,
    *,
    labels: bool,
    columns: Sequence[str | int] | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    missing: str | float = "error",
    max_categories: int = 1000,
    n_features: int | None = None,
    problems: Problems,
    progress: bool = False,
) -> Schema:
    """Return the schema of a stream; the whole of it is read only where that is needed to know it."""
    if missing not in ("error", "mean") and not isinstance(missing, (int, float)):
        given = Parameter("missing", missing)
        raise DataError("{given} is not known; give 'error', 'mean' or a number", given=given)
    if not source.reader.tabular and (categorical or categories or drop):
        raise DataError(f"a {source.reader.title} file has no named columns to drop or to take as categories")
    if n_features is not None and not source.reader.sparse:
        raise DataError(
            "{given} is for LIBSVM files; other files say themselves how many columns they have",
            given=Parameter("n_features"),
        )
    if source.reader.sparse:
        return _sparse_schema(source, target, columns, missing, n_features, labels, problems, progress)
    if source.reader.tabular:
        found = source.columns()
        schema = table_schema(source.paths[0], found, target, columns, drop, categorical, categories or {})
        if not schema.columns:
            raise no_feature_left(source.paths[0])
    else:
        schema = _npy_schema(source, target, columns)
    if isinstance(missing, (int, float)):
        schema = replace(schema, fill=(float(missing),) * len(schema.numeric))
    return _scan(source, schema, missing == "mean", labels, max_categories, problems, progress)


def read_blocks(
    source: Source,
    schema: Schema,
    rows: int,
    problems: Problems,
    label: str | None = None,
    keep: Sequence[str] = (),
    lenient: bool = False,
) -> Iterator[Block]:
    """Yield the blocks of a source with the columns of a schema, and some to hand on as they are."""
    wanted = schema.wanted(source.reader.tabular, keep)._replace(lenient=lenient)
    if not source.reader.tabular and schema.target is not None and wanted.label is None:
        return source.blocks_with_labels(schema.target, wanted, rows, problems, label)
    return source.blocks(wanted, rows, problems, label)


def find_labels(source: Source, schema: Schema, problems: Problems) -> tuple[Label, ...]:
    """Read the label column through; return its values, sorted."""
    if source.reader.sparse:
        found = scan_sparse(source, problems, False)[1]
    else:
        only = Schema(target=schema.target, target_type=schema.target_type)
        found = set(_scan(source, only, False, True, 0, problems, False).labels or ())
    return tuple(sorted(found))


def table_schema(
    path: str,
    types: Mapping[str, Any],
    target: str | int | None,
    columns: Sequence[str | int] | None,
    drop: Sequence[str],
    categorical: Sequence[str],
    categories: Mapping[str, Sequence[str]],
) -> Schema:
    """Return the schema of a table with columns of these arrow types; categories that are not given are left open."""
    import pyarrow as pa

    asked = [*(columns or ()), *drop, *categorical, *categories, *([] if target is None else [target])]
    for name in asked:
        if name not in types:
            raise DataError(no_column(str(path), str(name), types))
    features = [n for n in (columns if columns is not None else types) if n not in drop and n != target]
    numeric, found = [], {}
    for name in map(str, features):
        kind = type_kind(types[name])
        if name in categories or name in categorical or kind == "string":
            found[name] = tuple(map(str, categories.get(name, ())))
        elif kind in ("number", "bool"):
            numeric.append(name)
        else:
            raise DataError(
                "{path}: column {column!r} of type {type} is not a number; leave it out with {drop}, or take its "
                "values as categories with {categorical}",
                path=path,
                column=name,
                type=str(types[name]),
                drop=Parameter("drop", [name]),
                categorical=Parameter("categorical", [name]),
            )
    if target is None:
        return Schema(tuple(numeric), found)
    kind = types[str(target)]
    target_type = "int64" if pa.types.is_integer(kind) else _LABEL_TYPES.get(type_kind(kind))
    if target_type is None:
        raise DataError(f"{path}: the label column {target!r} of type {kind} is neither number nor text")
    return Schema(tuple(numeric), found, target=str(target), target_type=target_type)


def _npy_schema(source: Source, target: str | int | None, columns: Sequence[str | int] | None) -> Schema:
    found = source.columns()
    label = None if target is None else str(target)
    names = list(found) if columns is None else [str(c) for c in columns]
    for name in [*names, *([label] if label and label.isdigit() else [])]:
        if name not in found:
            raise DataError(f"{source.paths[0]} has columns 0 to {len(found) - 1}, not {name!r}")
    kind = found["0"] if label is None or label.isdigit() else open_npy(label).dtype
    target_type = None if label is None else {"b": "bool", "f": "double"}.get(kind.kind, "int64")
    return Schema(tuple(n for n in names if n != label), target=label, target_type=target_type)


def _sparse_schema(
    source: Source,
    target: str | int | None,
    columns: Sequence[str | int] | None,
    missing: str | float,
    n_features: int | None,
    labels: bool,
    problems: Problems,
    progress: bool,
) -> Schema:
    if target is not None:
        raise DataError(
            "the rows of a {format} file carry their labels; leave {target} out",
            format=source.reader.title,
            target=Parameter("target"),
        )
    if missing == "mean":
        raise DataError(
            "{given} is not for {format} files, whose absent values are zeros; give a number",
            format=source.reader.title,
            given=Parameter("missing", "mean"),
        )
    found: set[Label] | None = None
    width = n_features
    if width is None or labels:
        seen, found = scan_sparse(source, problems, progress)
        width = seen if width is None else width
    chosen = tuple(str(column) for column in columns or ())
    first = 0 if source.zero_based else 1
    for name in chosen:
        if not name.isdigit() or not first <= int(name) < first + width:
            raise DataError(f"{source.paths[0]} has features {first} to {first + width - 1}, not {name!r}")
    fill = None if missing == "error" else (float(missing),)
    known = None if found is None else tuple(sorted(found))
    return Schema(chosen, {}, fill, None, "double", known, width, source.zero_based)


def _scan(
    source: Source, schema: Schema, mean: bool, labels: bool, most: int, problems: Problems, progress: bool
) -> Schema:
    """Read the stream through for open categories, means and labels, if any of them is asked for."""
    unknown = [name for name, values in schema.categorical.items() if not values]
    labels = labels and schema.target is not None
    if not (unknown or mean or labels):
        return schema
    wanted = Schema(
        numeric=schema.numeric if mean else (),
        categorical={name: () for name in unknown},
        target=schema.target if labels else None,
        target_type=schema.target_type if labels else None,
    )
    learner = TableLearner(interpret=False)  # text is categories, numbers are numbers
    found: set[Label] = set()
    for block in read_blocks(source, wanted, 1 << 15, problems, "first pass" if progress else None):
        if block.table is None:
            learner.add_array(block.X, wanted.numeric)
        else:
            learner.add(as_table(block.table, [*wanted.numeric, *unknown]))
        for name in unknown:
            if learner.different(name) > most:
                raise DataError(
                    "{file}: column {column!r} has more than {most} categories; leave it out with {drop}, or raise "
                    "{most_allowed}",
                    file=block.file,
                    column=name,
                    most=most,
                    drop=Parameter("drop", [name]),
                    most_allowed=Parameter("max_categories"),
                )
        if labels:
            if block.table is None:
                found.update(np.unique(block.y[np.isfinite(block.y)]).tolist())
            else:
                found.update(block.table.column(schema.target).unique().drop_null().to_pylist())
    learned = learner.finish(Schema)
    for name, value in zip(learned.numeric, learned.fill or (), strict=True):
        if np.isnan(value):
            raise DataError(f"{source.paths[0]}: column {name!r} has no value at all; leave it out")
    if mean:
        schema = replace(schema, fill=learned.fill, ranges=learned.ranges)
    complete = {name: learned.categorical.get(name, values) for name, values in schema.categorical.items()}
    return replace(schema, categorical=complete, labels=tuple(sorted(found)) if labels else None)


def no_feature_left(path: str) -> DataError:
    """The error for a table without features."""
    return DataError(f"{path}: no feature column is left; take at least one beside the labels")


def scan_sparse(source: Source, problems: Problems, progress: bool) -> tuple[int, set[Label]]:
    """Return the number of features and the labels of files that do not say them."""
    texts: set[bytes] = set()
    width = done = lines = 0
    with Progress("first pass", source.n_bytes, "rows", progress) as bar:
        for path in source.paths:
            for more, labels, size, rows in source.reader.scan(path, problems):
                width, texts = max(width, more), texts | labels
                done, lines = done + size, lines + rows
                bar.update(done, lines)
    values: set[Label] = set()
    for text in texts:
        try:
            values.add(float(text))
        except ValueError:
            continue  # a bad line: the parser will name it
    return width, values


def encode_block(
    block: Block,
    schema: Schema,
    problems: Problems,
    *,
    keep: Sequence[str] = (),
    sparse: bool = False,
    unknown: str = "ignore",
    raw: bool = False,
    zero_based: bool = False,
) -> EncodedBlock | None:
    """Return (X, y, kept columns) of a block, without its bad rows; None when no row is left.

    With `raw` missing values stay missing, and X is, of a table, an arrow table of the feature columns, numbers first:
    categories stay text, and only infinite numbers and missing labels are bad.
    """
    bad: BadRows = {}
    table, kept, y = block.table, None, block.y
    if table is None:
        schema = schema.keeping_missing() if raw else schema
        X, numeric = block.X, schema.numeric
        if not sp.issparse(X):
            X = check_dense(X, numeric, schema.fill, bad)
        else:
            check_sparse(X, schema.fill, 0 if zero_based else 1, bad)
            if numeric:
                X = X[:, [int(name) - (0 if schema.zero_based else 1) for name in numeric]]
        parts = [X]
    elif raw:
        for name in schema.numeric:
            values = column_values(table, name)
            if not np.isfinite(values.sum()):
                _note(np.isinf(values)[:, np.newaxis], (name,), INFINITE, bad)
        parts = [as_table(table, schema.columns)]
    else:
        parts = _numbers_and_codes(table, schema, schema.fill is not None, unknown, bad)
    if table is not None:
        y = None if schema.target is None else _labels(table.column(schema.target), schema, bad)
        kept = (table if block.raw is None else block.raw).select(list(keep))
    elif y is not None:
        _check_labels(y, schema, bad)
    if bad:
        good = block.without(bad, problems)
        if not good.size:
            return None
        parts = [part.take(good) if hasattr(part, "schema") else part[good] for part in parts]
        y, kept = None if y is None else y[good], None if kept is None else kept.take(good)
    if table is not None:
        return parts[0] if raw else _join(parts, schema, sparse), y, kept
    X = parts[0]
    if sparse != sp.issparse(X):
        X = sp.csr_matrix(X) if sparse else X.toarray()
    return X, y, None


def check_dense(X: np.ndarray, names: tuple[str, ...], fill: tuple[float, ...] | None, bad: BadRows) -> np.ndarray:
    """Fill missing values, or note their rows; note rows with infinite values."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # one cheap pass; the rest is for blocks with something in them
            return X
    nan = np.isnan(X)
    if fill is not None:
        X = np.where(nan, np.asarray(fill), X)
    else:
        _note(nan, names, MISSING, bad)
    _note(np.isinf(X), names, INFINITE, bad)
    return X


def check_sparse(X: sp.csr_matrix, fill: tuple[float, ...] | None, first: int, bad: BadRows) -> None:
    """Fill or note missing and infinite values of a CSR matrix, in place; `first` is the index of its first column."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.data.sum()):
            return
    nan = np.isnan(X.data)
    if fill is not None:
        X.data[nan] = fill[0]
    for mask, what in ((np.isnan(X.data), "is missing ({zero} would fill it)"), (np.isinf(X.data), "is infinite")):
        for place in np.flatnonzero(mask):
            row = int(np.searchsorted(X.indptr, place, side="right")) - 1
            index = X.indices[place] + first
            bad.setdefault(row, Message(f"the value of index {{index}} {what}", index=index, **_FILLS))


def _note(mask: np.ndarray, names: tuple[str, ...], template: str, bad: BadRows) -> None:
    for row in np.flatnonzero(mask.any(axis=1)):
        bad.setdefault(int(row), Message(template, column=names[int(mask[row].argmax())], **_FILLS))


def _numbers_and_codes(table: Any, schema: Schema, filled: bool, unknown: str, bad: BadRows) -> list[np.ndarray]:
    """Return the numeric columns, and for each categorical one the positions of its categories, -1 for none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [check_dense(numeric_values(table, schema.numeric), schema.numeric, schema.fill, bad)]
    for name, values in schema.categorical.items():
        column = table.column(name)
        codes = pc.index_in(column, value_set=pa.array(values, pa.string())).fill_null(-1).to_numpy()
        parts.append(codes)
        for row in np.flatnonzero(codes < 0):
            value = column[int(row)].as_py()
            if value is None and not filled:
                bad.setdefault(int(row), Message(MISSING, column=name, **_FILLS))
            elif value is not None and unknown == "error":
                reason = Message(
                    "column {column!r} holds {value!r}, a category not met before ({ignore} would allow it)",
                    column=name,
                    value=value,
                    ignore=Parameter("unknown", "ignore"),
                )
                bad.setdefault(int(row), reason)
    return parts


def _labels(column: Any, schema: Schema, bad: BadRows) -> np.ndarray:
    """Return labels as a NumPy array: bool, int64, float64 or text."""
    missing = column.is_null().to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(missing):
        bad.setdefault(int(row), NoLabel(f"the label in column {schema.target!r} is missing"))
    if schema.target_type == "string":
        coded = column.dictionary_encode()
        words = np.array([*coded.dictionary.to_pylist(), ""], dtype=str)
        y = words[coded.indices.fill_null(len(words) - 1).to_numpy()]
    else:
        y = (column.fill_null(0) if missing.any() else column).to_numpy(zero_copy_only=False)
    _check_labels(y, schema, bad)
    return y


def _check_labels(y: np.ndarray, schema: Schema, bad: BadRows) -> None:
    if y.dtype.kind == "f" and not np.isfinite(y.sum()):
        for row in np.flatnonzero(~np.isfinite(y)):
            reason = "the label is not a finite number"
            bad.setdefault(int(row), NoLabel(reason) if np.isnan(y[row]) else reason)
    if schema.labels is not None:
        for row in np.flatnonzero(~np.isin(y, np.array(schema.labels))):
            known = ", ".join(map(repr, schema.labels))
            reason = f"the label {y[row].item()!r} is none of {known}"
            bad.setdefault(int(row), reason if str(y[row]).strip() else NoLabel(reason))


def _join(parts: list[np.ndarray], schema: Schema, sparse: bool) -> Any:
    """Put the indicators of the categories beside the numbers."""
    X, *codes = parts
    widths = [len(values) for values in schema.categorical.values()]
    if sparse:
        columns = [sp.csr_matrix(X)]
        for code, width in zip(codes, widths, strict=True):
            there = code >= 0
            indptr = np.concatenate([[0], np.cumsum(there)])
            columns.append(sp.csr_matrix((np.ones(indptr[-1]), code[there], indptr), shape=(len(code), width)))
        return sp.csr_matrix(sp.hstack(columns, format="csr"))
    if not codes:
        return X
    out = np.zeros((X.shape[0], X.shape[1] + sum(widths)))
    out[:, : X.shape[1]] = X
    start = X.shape[1]
    for code, width in zip(codes, widths, strict=True):
        rows = np.flatnonzero(code >= 0)
        out[rows, start + code[rows]] = 1.0
        start += width
    return out
