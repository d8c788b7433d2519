"""The schema of files, found by reading them: what text and dates mean, categories, means, labels, widths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from vrspam._utils.findings import Fix
from vrspam._utils.progress import Progress
from vrspam._utils.warnings import warn
from vrspam.data.first_look import first_look, refuse_unread, request_of
from vrspam.data.readers.block import Block, as_table
from vrspam.data.readers.csv_codes import LateCodes
from vrspam.data.readers.npy import open_npy
from vrspam.data.readers.problems import Problems
from vrspam.data.source import Source
from vrspam.tables import columns as learned_columns
from vrspam.tables.columns import NumberColumn
from vrspam.tables.decide import ColumnRules
from vrspam.tables.decisions import Decision
from vrspam.tables.errors import DataError
from vrspam.tables.learner import TableLearner, complete
from vrspam.tables.schema import Label, Schema
from vrspam.tables.writing import Writing

NO_FEATURE = "{path}: no feature column is left; take at least one beside the labels"
_ROWS_AT_ONCE = 1 << 15
_MOST_FEATURES = 10_000_000  # that need not be bounded by the number of values


def infer_schema(path: Any, target: str | int | None = None, *, on_error: str = "raise", **options: Any) -> Schema:
    """Find the schema of files by reading them through, and once more for means of numbers in text.

    Parameters
    ----------
    path : path, directory, pattern or list of paths
        The files.
    target : str or int, optional
        The label column.
    on_error : {"raise", "skip"}, default="raise"
        As in `read_chunks`.
    **options
        `columns`, `drop`, `categorical`, `categories`, `missing`, `max_categories`, `n_features`,
        `format`, `delimiter`, `encoding`, `zero_based`, `chunk_bytes` and `progress` of `read_chunks`.

    Returns
    -------
    Schema
        With the categories, fill values and labels of the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from vrspam.data import infer_schema
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("age,sex,sick\\n61,f,yes\\n,m,no\\n47,f,no\\n")
    >>> schema = infer_schema(path, target="sick", missing="mean")
    >>> schema.feature_names, schema.fill, schema.labels
    (('age', 'sex=f', 'sex=m'), (54.0,), ('no', 'yes'))
    """
    names = ("format", "delimiter", "encoding", "zero_based", "chunk_bytes")
    reading = {name: options.pop(name) for name in names if name in options}
    source = Source.open(path, **reading)
    return schema_of(source, target, labels=True, problems=Problems(on_error), **options)


def schema_of(
    source: Source,
    target: str | int | None,
    *,
    labels: bool,
    problems: Problems,
    columns: Sequence[str | int] | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    missing: str | float = "error",
    max_categories: int = 1000,
    n_features: int | None = None,
    progress: bool = False,
) -> Schema:
    """Return the schema of a stream; all rows are read only if it takes them, or if its `labels` are asked for."""
    if missing not in ("error", "mean") and not isinstance(missing, (int, float)):
        raise DataError(Fix("missing", missing), " is not known; give 'error', 'mean' or a number")
    for option, named in {"categorical": categorical, "categories": categories, "drop": drop}.items():
        if named:
            source.check_named(option)
    if source.reader.sparse:
        return _schema_of_libsvm(source, target, columns, missing, n_features, labels, problems, progress)
    if n_features is not None:
        raise DataError(Fix("n_features"), " applies only to LIBSVM files; leave it out")

    means = missing == "mean"
    if source.reader.tabular:
        rules = ColumnRules(
            include=[*map(str, columns or ())],
            categorical=categorical,
            most_known=max_categories,
            declared=source.reader.declared,
            path=source.paths[0],
        )

        def read() -> Schema:
            look = first_look(source.reader.columns(source.paths[0]), target, rules, columns, drop, categories)
            refuse_unread(look.schema, categorical, categories or {})
            learner = TableLearner(replace(rules, taken=look.taken))
            again = Problems(problems.on_error, problems.leave_unlabelled)
            schema = _scanned(source, look.schema, learner, means, labels, again, progress)
            return replace(schema, writing=_writing(source, learner, means))

        schema = read_until_typed(read)
        if not schema.columns:
            raise DataError(NO_FEATURE.format(path=source.paths[0]))
    else:
        schema = _schema_of_array(source, target, columns)
        schema = _scanned(source, schema, TableLearner(), means, labels, problems, progress)
    if isinstance(missing, str):
        return schema
    return replace(schema, fill=(float(missing),) * len(schema.numeric))


def read_until_typed(read: Callable[[], Any]) -> Any:
    """Return what `read` returns; it is called again if later rows show that a column of numbers holds codes (007)."""
    while True:
        with suppress(LateCodes):  # the reader takes the columns as text now
            return read()


def _writing(source: Source, learner: TableLearner, all_read: bool) -> Writing:
    """How the first file was written; without a look at all numbers of a file their decimal sign is a point."""
    writing = learner.writing(source.reader.writing(source.paths[0]))
    if not all_read and not writing.decimal:
        return replace(writing, decimal=".")
    return writing


def _schema_of_array(source: Source, target: str | int | None, columns: Sequence[str | int] | None) -> Schema:
    """The schema of `.npy` files; the label is a column, or a file of its own."""
    types = source.reader.columns(source.paths[0])
    label = None if target is None else str(target)
    names = list(types) if columns is None else [str(column) for column in columns]
    label_is_column = label is not None and label.isdigit()
    for name in [*names, label] if label_is_column else names:
        if name not in types:
            raise DataError(f"{source.paths[0]} has columns 0 to {len(types) - 1}, not {name!r}")
    features = tuple(name for name in names if name != label)
    if label is None:
        return Schema(features)
    kind = types["0"] if label_is_column else open_npy(label).dtype
    target_type = {"b": "bool", "f": "double"}.get(kind.kind, "int64")
    return Schema(features, target=label, target_type=target_type)


# LIBSVM files


def _schema_of_libsvm(
    source: Source,
    target: str | int | None,
    columns: Sequence[str | int] | None,
    missing: str | float,
    n_features: int | None,
    labels: bool,
    problems: Problems,
    progress: bool,
) -> Schema:
    """The schema of LIBSVM files: their width, and their labels if they are asked for."""
    if target is not None:
        raise DataError(f"the rows of a {source.reader.title} file carry their labels; leave ", Fix("target"), " out")
    if missing == "mean":
        what = f" is not for {source.reader.title} files, whose absent values are zeros; give a number"
        raise DataError(Fix("missing", "mean"), what)

    width = n_features
    known: tuple[Label, ...] | None = None
    if width is None or labels:
        width_of_rows, values = scan_sparse(source, problems, progress)
        width = width_of_rows if width is None else width
        known = tuple(sorted(values))
    first = 0 if source.zero_based else 1
    chosen = tuple(str(column) for column in columns or ())
    for name in chosen:
        if not name.isdigit() or not first <= int(name) < first + width:
            raise DataError(f"{source.paths[0]} has features {first} to {first + width - 1}, not {name!r}")
    fill = None if missing == "error" else (float(missing),)
    return Schema(chosen, {}, fill, None, "double", known, width, source.zero_based)


def scan_sparse(source: Source, problems: Problems, progress: bool) -> tuple[int, set[Label]]:
    """Return the number of features and the labels of LIBSVM files, found by scanning their text."""
    texts: set[bytes] = set()
    width = bytes_read = lines_read = 0
    with Progress("first pass", source.n_bytes, "rows", progress) as bar:
        for path in source.paths:
            for block_width, labels, size, lines in source.reader.scan(path, problems):
                width = max(width, block_width)
                texts |= labels
                bytes_read += size
                lines_read += lines
                bar.update(bytes_read, lines_read)
    if width > max(_MOST_FEATURES, bytes_read):  # less than one value in four features
        raise DataError(
            f"{source.paths[0]} has the index {width:,}, and fewer than {bytes_read // 4 + 1:,} values: a model of so "
            "many features needs too much memory; correct the index, or number the features without gaps"
        )
    return width, _label_values(source.paths[0], texts)


def _label_values(path: str, texts: set[bytes]) -> set[Label]:
    """The labels that texts are; those of bad lines are none, and the parser names them."""
    values: set[Label] = set()
    wrong: list[bytes] = []
    for text in sorted(texts):
        try:
            values.add(float(text))
        except ValueError:
            wrong.append(text)
    if wrong and not values:
        label = wrong[0].decode("utf-8", "replace")[:40]
        several = ": rows with several labels are not read" if "," in label else ""
        raise DataError(f"{path}: the label {label!r} is not a number{several}; give each line one number first")
    return values


# The first pass over other files


def read_blocks(
    source: Source,
    schema: Schema,
    rows: int,
    problems: Problems,
    label: str | None = None,
    learns: bool = False,
) -> Iterator[Block]:
    """Yield the blocks of a source with the columns of a schema; labels of `.npy` files may be in a separate file."""
    wanted = request_of(schema, source.reader.tabular)._replace(learns=learns)
    blocks = source.blocks(wanted, rows, problems, label)
    if source.reader.tabular or schema.target is None or wanted.label is not None:
        yield from blocks
        return
    labels = open_npy(schema.target)
    if labels.shape != (source.n_rows,):
        raise DataError(f"{schema.target} has shape {labels.shape} where {source.n_rows} labels are needed")
    start = 0
    for block in blocks:
        yield replace(block, y=np.array(labels[start : start + block.rows]))
        start += block.rows


def find_labels(source: Source, schema: Schema, problems: Problems) -> tuple[Label, ...]:
    """Read the whole label column; return its values, sorted."""
    if source.reader.sparse:
        return tuple(sorted(scan_sparse(source, problems, False)[1]))
    only_labels = Schema(target=schema.target, target_type=schema.target_type)
    return _scanned(source, only_labels, TableLearner(), False, True, problems, False).labels or ()


def _scanned(
    source: Source,
    schema: Schema,
    learner: TableLearner,
    means: bool,
    labels: bool,
    problems: Problems,
    progress: bool,
) -> Schema:
    """The schema with what takes a reading of all rows: means, labels, what text and dates mean; warn about the latter.

    Means of numbers in text take a second pass: only the first tells how they are written.
    """
    unknown = [name for name, values in schema.categorical.items() if not values]
    labels = labels and schema.target is not None
    if not (unknown or schema.readings or means or labels):
        return schema
    wanted = Schema(
        numeric=schema.numeric if means else (),
        categorical={name: () for name in unknown},
        readings=schema.readings,
        target=schema.target if labels else None,
        target_type=schema.target_type if labels else None,
    )
    learner.rules = replace(learner.rules, include=[*learner.rules.include, *schema.numeric])  # always features
    label = "first pass" if progress else None
    values: set[Label] = set()
    for block in read_blocks(source, wanted, _ROWS_AT_ONCE, problems, label, learns=True):
        _learn_block(learner, wanted, block)
        if labels:
            values |= _labels_of(block, schema)
    if wanted.inputs() and not learner.columns:
        raise problems.nothing_left(source.paths[0])

    learned = learner.finish()
    _refuse_grouped(learned, learner.rules)
    warn_of_decisions(learner.decisions, remedies_of_files)
    schema = _with_learned(schema, learned)
    if labels:
        schema = replace(schema, labels=tuple(sorted(values)))
    return _with_means(source, schema, learned, problems, label) if means else schema


def _learn_block(learner: TableLearner, wanted: Schema, block: Block) -> None:
    """Learn from the wanted columns of a block."""
    if block.table is not None:
        learner.add(as_table(block.table, wanted.inputs()))
        return
    for name, values in zip(wanted.numeric, block.X.T, strict=True):
        learner.columns.setdefault(name, NumberColumn(name)).add(values)


def _labels_of(block: Block, schema: Schema) -> set[Label]:
    """The different labels of a block; empty text is none."""
    if block.table is None:
        return set(np.unique(block.y[np.isfinite(block.y)]).tolist())
    values = block.table.column(schema.target).unique().drop_null().to_pylist()
    labels = {value.strip() if isinstance(value, str) else value for value in values}
    return labels - {""}


def _refuse_grouped(learned: Schema, rules: ColumnRules) -> None:
    """Refuse columns with too many categories."""
    for name in learned.grouped:
        most = min(rules.most_known, learned_columns.MOST_COUNTED)
        what = f"{rules.path}: column {name!r} has more than {most} categories; leave it out with "
        ways: list[str | Fix] = [Fix("drop", [name])]
        if rules.most_known < learned_columns.MOST_COUNTED:
            ways += [", or raise ", Fix("max_categories")]
        raise DataError(what, *ways)


def _with_learned(schema: Schema, learned: Schema) -> Schema:
    """The schema with the categories, the readings and the columns made of them that were learned."""
    known = dict(learned.categorical)
    given = {name: values for name, values in schema.categorical.items() if values or name in known}
    made = [name for name in learned.numeric if name not in frozenset(schema.numeric)]
    return replace(
        schema,
        numeric=(*schema.numeric, *made),
        categorical=given | known,
        readings=learned.readings,
        ranges=learned.ranges,
        identifiers=learned.identifiers,
    )


def _with_means(source: Source, schema: Schema, learned: Schema, problems: Problems, label: str | None) -> Schema:
    """The schema with the means of all columns of numbers; those of numbers in text take a reading of all rows."""
    means = dict(zip(learned.numeric, learned.fill or (), strict=True))
    schema = replace(schema, fill=tuple(means[name] for name in schema.numeric))
    made = schema.made()
    if any(name in made for name in schema.unfinished):
        blocks = read_blocks(source, schema.without_target(), _ROWS_AT_ONCE, problems, label)
        schema = complete(schema, (schema.read(as_table(block.table))[0] for block in blocks))
    for name in schema.unfinished:
        column = made.get(name, (name,))[0]
        raise DataError(f"{source.paths[0]}: column {column!r} has no value at all; leave it out")
    return schema


def remedies_of_files(column: Any) -> dict[str, Any]:
    """What to do about a column in `read_chunks`, in place of the options of training."""
    return {"include": Fix("categorical", [column]), "dates": Fix("drop", [column])}


def warn_of_decisions(decisions: Iterable[Decision], remedies: Callable[[Any], Mapping[str, Any]]) -> None:
    """Warn of what was decided; for a column, `remedies` stand in place of the options of training."""
    for decision in decisions:
        instead = remedies(decision.column)
        warn(decision.finding().text(partial(_shown, instead)))


def _shown(instead: Mapping[str, Any], fix: Fix) -> str:
    """An option, or what stands in its place."""
    return str(instead.get(fix.option, fix))
