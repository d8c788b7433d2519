"""`Schema`: the kinds of the columns of a file, found in a first pass; and blocks of its rows as (X, y).

Numbers are checked and filled, categories become one-hot, labels are taken out, and unusable rows are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from vrspam._utils.messages import Finding, Message, Parameter, WordedError
from vrspam._utils.progress import Progress
from vrspam._utils.warnings import warn
from vrspam.data.readers import Source
from vrspam.data.readers.array_readers import open_npy
from vrspam.data.readers.arrow_reader import type_kind
from vrspam.data.readers.base import Block, BrokenRow, ColumnRequest, DataError, NoLabel, Problems, as_table, no_column
from vrspam.data.readers.csv_reader import LateCodes
from vrspam.tables.columns import MOST_COUNTED, Asked, NumberColumn
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.kinds.times import Times
from vrspam.tables.schema import Label, TableLearner, TableSchema

BadRows = dict[int, str | Message]
MISSING = "column {column!r} has a missing value ({mean} or {zero} would fill it)"
_INFINITE = "column {column!r} is infinite"
NO_FEATURE = "{path}: no feature column is left; take at least one beside the labels"
_FILLS = {"mean": Parameter("missing", "mean"), "zero": Parameter("missing", 0.0)}
_LABEL_TYPES = {"bool": "bool", "number": "double", "string": "string"}  # the arrow type for labels of each kind


class Schema(TableSchema):
    """The input columns of a model, in order: numeric ones first, then one indicator per category.

    Attributes
    ----------
    numeric : tuple of str
        Numeric columns. For `.npy` files the column numbers "0", "1", ...; for LIBSVM files the chosen
        indices, empty when all are taken.
    categorical : dict of str to tuple of str
        Categories of each categorical column; each category is one 0/1 feature.
    fill : tuple of float or None
        The value that replaces missing ones in each numeric column (NaN keeps them); None refuses missing values. If it
        is given, a missing category is a row of zeros in its indicators.
    target : str or None
        The label column (None: no labels are read).
    target_type : str or None
        Type of the labels: "bool", "int64", "double" or "string".
    labels : tuple or None
        The sorted labels; None if the label column has not been read through.
    width : int or None
        Number of features of a LIBSVM file.
    zero_based : bool
        Whether the indices of a LIBSVM file start at 0.
    readings : dict of str to KindOfText
        How columns of dates, and of text that holds numbers, are read (`vrspam.tables.kinds`). `numeric` has the
        columns of numbers that they become.
    ranges : dict of str to (float, float)
        The smallest and the largest training value of each numeric column.
    writing : Writing
        How the training file was written: its delimiter, decimal sign and blanks. New files are read in the same way.
    grouped : tuple of str
        Categorical columns whose rare categories are not listed.
    identifiers, source : tuple of str
        Columns that only identify the rows; and all columns of a frame, in its order (empty for files).

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
        """Return what a reader must read: the columns of the schema, and those in `keep` unchanged."""
        if not tabular:
            label = int(self.target) if self.target is not None and self.target.isdigit() else None
            features = () if self.width is not None else tuple(int(name) for name in self.numeric)
            return ColumnRequest(features=features, label=label, width=int(self.width or 0))
        import pyarrow as pa

        types: dict[str, Any] = dict.fromkeys(self.inputs(), pa.float64())
        types |= {name: pa.timestamp("us") if kind.words == "dates" else None for name, kind in self.readings.items()}
        types |= dict.fromkeys(self.categorical, pa.string())
        if self.target is not None:
            types[self.target] = pa.type_for_alias(str(self.target_type))
        return ColumnRequest(types | {name: None for name in keep if name not in types})

    def encode(self, rows: Any, *, sparse: bool = False) -> Any:
        """Return X for rows that were read: missing values are filled, and categories become one-hot.

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
            return check_dense(rows, self, {})
        parts = [_encode_table(batch, self, sparse, True, "ignore", {}) for batch in rows.to_batches()]
        return sp.csr_matrix(sp.vstack(parts)) if sparse else np.concatenate(parts)

    @classmethod
    def infer(cls, path: Any, target: str | int | None = None, **options: Any) -> Schema:
        """Find the schema of a file by reading it through, and once more for means of numbers in text.

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
            With the categories, fill values and labels of the file.

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
    """Return the schema of a stream; all rows are read only if it takes them.

    They tell what text and dates mean, categories, means, labels and the width of a LIBSVM file.
    """
    if missing not in ("error", "mean") and not isinstance(missing, (int, float)):
        given = Parameter("missing", missing)
        raise DataError("{given} is not known; give 'error', 'mean' or a number", given=given)
    for name, named in {"categorical": categorical, "categories": categories, "drop": drop}.items():
        if named:
            source.check_named(name)
    if n_features is not None and not source.reader.sparse:
        raise DataError("{given} applies only to LIBSVM files; leave it out", given=Parameter("n_features"))
    if source.reader.sparse:
        if target is not None:
            words = "the rows of a {format} file carry their labels; leave {target} out"
            raise DataError(words, format=source.reader.title)
        if missing == "mean":
            words = "{given} is not for {format} files, whose absent values are zeros; give a number"
            raise DataError(words, format=source.reader.title, given=Parameter("missing", "mean"))
        width, known, first = n_features, None, 0 if source.zero_based else 1
        if width is None or labels:
            seen, values = scan_sparse(source, problems, progress)
            width, known = seen if width is None else width, tuple(sorted(values))
        chosen = tuple(str(column) for column in columns or ())
        for name in chosen:
            if not name.isdigit() or not first <= int(name) < first + width:
                raise DataError(f"{source.paths[0]} has features {first} to {first + width - 1}, not {name!r}")
        fill = None if missing == "error" else (float(missing),)
        return Schema(chosen, {}, fill, None, "double", known, width, source.zero_based)
    if source.reader.tabular:

        def learn() -> tuple[Schema, TableLearner]:
            found = source.reader.columns(source.paths[0])
            learner = TableLearner([*map(str, columns or ())], categorical, path=source.paths[0], error=DataError)
            learner.most_known, learner.declared = max_categories, source.reader.declared
            schema = table_schema(found, target, learner, columns, drop, categories or {})
            for name in (*categorical, *(categories or ())):
                if name not in schema.categorical:
                    words = "column {column!r} is not read as a feature: leave it out of {option}, or change {ways}"
                    option = Parameter("categorical" if name in categorical else "categories")
                    raise DataError(words, column=name, option=option, ways="columns=, drop= or keep=")
            again = Problems(problems.on_error, problems.leave_unlabelled)
            return _scan(source, schema, missing == "mean", labels, again, progress, learner), learner

        schema, learner = read_until_typed(learn)
        writing = learner.writing(source.reader.writing(source.paths[0]))
        if missing != "mean" and not writing.decimal:  # only the first rows were looked at
            writing = replace(writing, decimal=".")
        schema = replace(schema, writing=writing)
        if not schema.columns:
            raise DataError(NO_FEATURE, path=source.paths[0])
    else:
        found, label = source.reader.columns(source.paths[0]), None if target is None else str(target)
        names = list(found) if columns is None else [str(c) for c in columns]
        for name in [*names, *([label] if label and label.isdigit() else [])]:
            if name not in found:
                raise DataError(f"{source.paths[0]} has columns 0 to {len(found) - 1}, not {name!r}")
        kind = found["0"] if label is None or label.isdigit() else open_npy(label).dtype
        target_type = None if label is None else {"b": "bool", "f": "double"}.get(kind.kind, "int64")
        schema = Schema(tuple(n for n in names if n != label), target=label, target_type=target_type)
        schema = _scan(source, schema, missing == "mean", labels, problems, progress)
    return schema if missing in ("error", "mean") else replace(schema, fill=(float(missing),) * len(schema.numeric))


def read_until_typed(read: Callable[[], Any]) -> Any:
    """Return what `read` returns; it is called again if later rows show that a column of numbers holds codes (007)."""
    while True:
        with suppress(LateCodes):  # the reader takes the columns as text now
            return read()


def read_blocks(
    source: Source,
    schema: Schema,
    rows: int,
    problems: Problems,
    label: str | None = None,
    learns: bool = False,
) -> Iterator[Block]:
    """Yield the blocks of a source with the columns of a schema; labels of `.npy` files may be in a separate file."""
    wanted = schema.wanted(source.reader.tabular)._replace(learns=learns)
    blocks = source.blocks(wanted, rows, problems, label)
    if source.reader.tabular or schema.target is None or wanted.label is not None:
        yield from blocks
        return
    labels, start = open_npy(schema.target), 0
    if labels.shape != (source.n_rows,):
        raise DataError(f"{schema.target} has shape {labels.shape} where {source.n_rows} labels are needed")
    for block in blocks:
        yield replace(block, y=np.array(labels[start : start + block.rows]))
        start += block.rows


def find_labels(source: Source, schema: Schema, problems: Problems) -> tuple[Label, ...]:
    """Read the whole label column; return its values, sorted."""
    if source.reader.sparse:
        return tuple(sorted(scan_sparse(source, problems, False)[1]))
    only = Schema(target=schema.target, target_type=schema.target_type)
    return _scan(source, only, False, True, problems, False).labels or ()


def table_schema(
    types: Mapping[str, Any],
    target: str | int | None,
    asked: Asked,
    columns: Sequence[str | int] | None = None,
    drop: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] = {},
) -> Schema:
    """Return the schema of a table with these arrow types: which columns are read, and how; `asked.path` is the file.

    Categories that are not given stay empty, to be found later; dates and times are `readings`. Columns of other types
    than number and text are left out, with a note, if empty columns are; else these are refused. `asked.taken` becomes
    the names that columns made from dates may not have.
    """
    import pyarrow.types as t

    path, takes_all = asked.path, asked.empty == "leave out"
    named = [*(columns or ()), *drop, *asked.include, *asked.categorical, *categories]
    for name in named if target is None else [*named, target]:
        if name not in types:
            raise DataError(no_column(path, str(name), types))
    left_out = {*drop, target}
    numeric, found, readings = [], {}, {}
    for name in map(str, types if columns is None else columns):
        kind, what = types[name], type_kind(types[name])
        if name in left_out:
            continue
        if name in categories or name in asked.categorical:
            found[name] = tuple(map(str, categories.get(name, ())))
        elif t.is_timestamp(kind) or t.is_date(kind) or t.is_time(kind) or t.is_duration(kind):
            is_date = t.is_timestamp(kind) or t.is_date(kind)
            readings[name] = Dates(parts=()) if is_date else Times()  # which parts vary is found later
        elif takes_all and t.is_null(kind) and name not in asked.include:
            asked.note("left-out", name, "has no values; left out")
        elif what == "string":
            found[name] = ()
        elif what in ("number", "bool"):
            numeric.append(name)
        elif takes_all and name not in asked.include:
            asked.note("left-out", name, "is of type {type}, neither number nor category; left out", type=str(kind))
        else:
            words = (
                "{path}: column {column!r} of type {type} is neither number, text nor date; leave it out with {drop}"
            )
            raise DataError(words, path=path, column=name, type=str(kind))
    asked.taken = [*numeric, *found, *([] if target is None else [str(target)])]
    if target is None:
        return Schema(tuple(numeric), found, readings=readings)
    kind = types[str(target)]
    target_type = "int64" if t.is_integer(kind) else _LABEL_TYPES.get(type_kind(kind))
    if target_type is None:
        raise DataError(f"{path}: the label column {target!r} of type {kind} is neither number nor text")
    return Schema(tuple(numeric), found, target=str(target), target_type=target_type, readings=readings)


def _scan(
    source: Source,
    schema: Schema,
    mean: bool,
    labels: bool,
    problems: Problems,
    progress: bool,
    learner: TableLearner | None = None,
) -> Schema:
    """Read the whole stream if means, labels, or what text and dates mean have to be found; warn about columns read.

    Means of numbers in text take a second pass: only the first tells how they are written.
    """
    unknown = [name for name, values in schema.categorical.items() if not values]
    labels = labels and schema.target is not None
    if not (unknown or schema.readings or mean or labels):
        return schema
    wanted = Schema(
        numeric=schema.numeric if mean else (),
        categorical={name: () for name in unknown},
        readings=schema.readings,
        target=schema.target if labels else None,
        target_type=schema.target_type if labels else None,
    )
    learner, inputs = learner or TableLearner(), wanted.inputs()
    learner.include = [*learner.include, *schema.numeric]  # columns of numbers are always features
    found: set[Label] = set()
    label = "first pass" if progress else None
    for block in read_blocks(source, wanted, 1 << 15, problems, label, learns=True):
        if block.table is None:
            for name, values in zip(wanted.numeric, block.X.T, strict=True):
                learner.columns.setdefault(name, NumberColumn(name)).add(values)
        else:
            learner.add(as_table(block.table, inputs))
        if labels:
            if block.table is None:
                found.update(np.unique(block.y[np.isfinite(block.y)]).tolist())
            else:
                labels_there = block.table.column(schema.target).unique().drop_null().to_pylist()
                texts = (label.strip() if isinstance(label, str) else label for label in labels_there)
                found.update(label for label in texts if label != "")
    if inputs and not learner.columns:
        raise problems.nothing_left(source.paths[0])
    learned = learner.finish(Schema)
    for name in learned.grouped:
        words = "{path}: column {column!r} has more than {most} categories; leave it out with {drop}"
        words += "" if learner.most_known >= MOST_COUNTED else ", or raise {max_categories}"
        raise DataError(words, path=source.paths[0], column=name, most=min(learner.most_known, MOST_COUNTED))
    warn_of_notes(
        learner.notes, lambda name: {"include": Parameter("categorical", [name]), "dates": Parameter("drop", [name])}
    )
    plain, known = frozenset(schema.numeric), dict(learned.categorical)
    made = [name for name in learned.numeric if name not in plain]
    schema = replace(
        schema,
        numeric=(*schema.numeric, *made),
        categorical={n: v for n, v in schema.categorical.items() if v or n in known} | known,
        readings=learned.readings,
        ranges=learned.ranges,
        identifiers=learned.identifiers,
        labels=tuple(sorted(found)) if labels else None,
    )
    if mean:
        means = dict(zip(learned.numeric, learned.fill or (), strict=True))
        schema = replace(schema, fill=tuple(means[name] for name in schema.numeric))
        if not set(made).isdisjoint(schema.unfinished):
            blocks = read_blocks(source, schema.without_target(), 1 << 15, problems, label)
            schema = schema.completed(schema.read(as_table(block.table))[0] for block in blocks)
        for name in schema.unfinished:
            own = schema.made().get(name, (name,))[0]
            raise DataError(f"{source.paths[0]}: column {own!r} has no value at all; leave it out")
    return schema


def warn_of_notes(notes: Iterable[Finding], ways: Callable[[Any], Mapping[str, Any]]) -> None:
    """Warn of what was learned; for a column, `ways` gives what stands in place of parameters of its note."""
    for note in notes:
        own_ways = ways(note.columns[0])
        warn(note.text(lambda fix, own_ways=own_ways: str(own_ways.get(fix.option, fix))))  # type: ignore[misc]


def scan_sparse(source: Source, problems: Problems, progress: bool) -> tuple[int, set[Label]]:
    """Return the number of features and the labels of LIBSVM files, found by scanning their text."""
    texts: set[bytes] = set()
    width = done = lines = 0
    with Progress("first pass", source.n_bytes, "rows", progress) as bar:
        for path in source.paths:
            for more, labels, size, rows in source.reader.scan(path, problems):
                width, texts = max(width, more), texts | labels
                done, lines = done + size, lines + rows
                bar.update(done, lines)
    if width > max(10_000_000, done):  # less than one value in four features
        raise DataError(
            f"{source.paths[0]} has the index {width:,}, and fewer than {done // 4 + 1:,} values: a model of so many "
            "features needs too much memory; correct the index, or number the features without gaps"
        )
    values: set[Label] = set()
    wrong = ""
    for text in sorted(texts):
        try:
            values.add(float(text))
        except ValueError:  # a bad line: the parser will name it
            wrong = wrong or text.decode("utf-8", "replace")[:40]
    if wrong and not values:
        several = ": rows with several labels are not read" if "," in wrong else ""
        words = f"the label {wrong!r} is not a number{several}; give each line one number first"
        raise DataError(f"{source.paths[0]}: {words}")
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
) -> tuple[Any, ...] | None:
    """Return (X, y, kept columns) of a block, without its bad rows; None when no row is left.

    With `on_error="keep"` there is a fourth part, a list of `BrokenRow`: bad rows and those that could not be read. In
    this case X and y are None when no row is left.

    With `raw` missing values stay missing, and the X of a table is an arrow table of the feature columns, numbers
    first: categories stay text, and only infinite numbers and labels that cannot be used make a row bad.
    """
    bad: BadRows = {}
    table, kept, y = block.table, None, block.y
    if table is None:
        schema = schema.keeping_missing() if raw else schema
        X = block.X
        if not sp.issparse(X):
            X = check_dense(X, schema, bad)
        else:
            check_sparse(X, schema.fill, 0 if zero_based else 1, bad)
            if schema.numeric:
                X = X[:, [int(name) - (0 if schema.zero_based else 1) for name in schema.numeric]]
    elif raw:
        for name in schema.numeric:
            values = table.column(name).to_numpy(zero_copy_only=False)  # missing ones are NaN
            _note(np.isinf(values)[:, np.newaxis], (name,), _INFINITE, bad)
        X = as_table(table, schema.columns)
    else:
        X = _encode_table(table, schema, sparse, schema.fill is not None, unknown, bad)
    if table is not None:
        y = None if schema.target is None else table.column(schema.target)
        kept = (table if block.raw is None else block.raw).select(list(keep))
    if y is not None:
        y = _labels(y, schema, bad, problems)
    good = block.without(bad, problems) if bad else np.arange(block.rows)
    keeps, broken = problems.on_error == "keep", []
    if keeps:
        found = [(place, 0, where, why, None) for place, where, why, _ in block.broken]
        for row, why in bad.items():
            found.append((row, 1, block.where(row), why, None if kept is None else kept.slice(row, 1)))
        for place, _, where, why, beside in sorted(found, key=lambda one: one[:2]):
            broken.append(BrokenRow(int(np.searchsorted(good, place)), f"{where}: {why}", beside))
    if bad or not good.size:
        y, kept = None if y is None else y[good], None if kept is None else kept.take(good)
        if not good.size:
            return (None, None, kept, broken) if keeps else None
        X = X.take(good) if hasattr(X, "schema") else X[good]
    if table is None and sparse != sp.issparse(X):
        X = sp.csr_matrix(X) if sparse else X.toarray()
    return (X, y, kept, broken) if keeps else (X, y, kept)


def check_dense(X: np.ndarray, schema: Schema, bad: BadRows) -> np.ndarray:
    """Fill missing values of the columns of numbers, or note their rows; note rows with infinite values."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # one cheap pass; the rest is for blocks with something in them
            return X
    nan = np.isnan(X)
    if schema.fill is not None:
        X = np.where(nan, np.asarray(schema.fill), X)
    else:
        _note(nan, schema.numeric, MISSING, bad, schema.made())
    _note(np.isinf(X), schema.numeric, _INFINITE, bad)
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


def _note(
    mask: np.ndarray, names: Sequence[str], template: str, bad: BadRows, made: Mapping[str, tuple[Any, str]] = {}
) -> None:
    """Note the rows of a mask, whose columns have these names; of a column that was `made` its source is named."""
    for row in np.flatnonzero(mask.any(axis=1)):
        name = names[int(mask[row].argmax())]
        bad.setdefault(int(row), Message(template, column=made.get(name, (name, ""))[0], **_FILLS))


def _encode_table(table: Any, schema: Schema, sparse: bool, filled: bool, unknown: str, bad: BadRows) -> Any:
    """Return the numbers of a record batch and beside them an indicator for each category; note rows that are bad."""
    import pyarrow as pa
    import pyarrow.compute as pc

    X = np.empty((table.num_rows, 0))
    if schema.numeric:
        X = table.select(list(schema.numeric)).to_tensor(null_to_nan=True, row_major=True).to_numpy()
    X = check_dense(X, schema, bad)
    every: list[np.ndarray] = []  # for each categorical column the places of its categories, -1 for none
    for name, values in schema.categorical.items():
        column = table.column(name)
        codes = pc.index_in(column, value_set=pa.array(values, pa.string())).fill_null(-1).to_numpy()
        every.append(codes)
        for row in np.flatnonzero(codes < 0):
            value = column[int(row)].as_py()
            if value is None and not filled:
                bad.setdefault(int(row), Message(MISSING, column=name, **_FILLS))
            elif value is not None and unknown == "error":
                reason = Message(
                    "column {column!r} holds {value!r}, a category that the schema does not have ({ignore} makes it a "
                    "row of zeros)",
                    column=name,
                    value=value,
                    ignore=Parameter("unknown", "ignore"),
                )
                bad.setdefault(int(row), reason)
    if not every and not sparse:
        return X
    widths = [len(values) for values in schema.categorical.values()]
    if sparse:
        columns = [sp.csr_matrix(X)]
        for codes, width in zip(every, widths, strict=True):
            there = codes >= 0
            indptr = np.concatenate([[0], np.cumsum(there)])
            columns.append(sp.csr_matrix((np.ones(indptr[-1]), codes[there], indptr), shape=(len(codes), width)))
        return sp.csr_matrix(sp.hstack(columns, format="csr"))
    out = np.zeros((X.shape[0], X.shape[1] + sum(widths)))
    out[:, : X.shape[1]] = X
    start = X.shape[1]
    for codes, width in zip(every, widths, strict=True):
        rows = np.flatnonzero(codes >= 0)
        out[rows, start + codes[rows]] = 1.0
        start += width
    return out


def _labels(column: Any, schema: Schema, bad: BadRows, problems: Problems) -> np.ndarray:
    """Return labels as a NumPy array: bool, int64, float64 or text without outer blanks; empty text is no label.

    A text that differs from a known label by case alone is that label. Where a model has taken several labels as one
    class, a new label is of this class as well, and is counted.
    """
    missing = np.zeros(0, dtype=bool)
    if isinstance(column, np.ndarray):
        y = column
    elif schema.target_type == "string":
        coded = column.dictionary_encode()
        texts = [text.strip() for text in (*coded.dictionary.to_pylist(), "")]
        known = {str(label).casefold(): str(label) for label in schema.labels or ()}
        words = np.array([t if t in (schema.labels or ()) else known.get(t.casefold(), t) for t in texts], dtype=str)
        codes = coded.indices.fill_null(len(words) - 1).to_numpy()
        y, missing = words[codes], (words == "")[codes]
    else:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        nothing = False if str(column.type) == "bool" else 0
        y = (column.fill_null(nothing) if missing.any() else column).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(missing):
        bad.setdefault(int(row), NoLabel(f"the label in column {schema.target!r} is missing"))
    if y.dtype.kind == "f":
        for row in np.flatnonzero(~np.isfinite(y)):
            reason = "the label is not a finite number"
            bad.setdefault(int(row), NoLabel(reason) if np.isnan(y[row]) else reason)
    if schema.labels is not None:
        listed = ", ".join(map(repr, schema.labels))
        for place in np.flatnonzero(~np.isin(y, np.array(schema.labels))).tolist():
            if problems.leave_unlabelled and len(schema.labels) > 2:
                if place not in bad:
                    problems.new_labels[str(y[place])] += 1
            else:
                bad.setdefault(place, f"the label {y[place].item()!r} is none of {listed}")
    return y
