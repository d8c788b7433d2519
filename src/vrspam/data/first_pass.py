"""The first pass over a stream: what its columns are, which categories, means and labels they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vrspam._utils.progress import Progress
from vrspam.data.array_blocks import libsvm_text, open_npy, scan_libsvm
from vrspam.data.arrow_blocks import type_kind
from vrspam.data.blocks import Block
from vrspam.data.encode import numeric_values
from vrspam.data.errors import DataError, no_column
from vrspam.data.problems import Problems
from vrspam.data.schema import Label, Schema
from vrspam.data.source import Source
from vrspam.data.streams import follow, npy_stream, table_blocks, table_types, wanted_types
from vrspam.data.textfile import count_lines

_SCAN_ROWS = 1 << 15


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
        raise DataError(f"missing={missing!r} is not known; give 'error', 'mean' or a number")
    table = source.format in ("csv", "parquet", "feather")
    if not table and (categorical or categories or drop):
        raise DataError(f"a {source.format} file has no named columns to drop or to take as categories")
    if n_features is not None and source.format != "libsvm":
        raise DataError("n_features is for LIBSVM files; other files say themselves how many columns they have")
    if source.format == "libsvm":
        return _libsvm_schema(source, target, columns, missing, n_features, labels, problems, progress)
    if source.format == "npy":
        schema = _npy_schema(source, target, columns)
    else:
        schema = _table_schema(source, target, columns, drop, categorical, dict(categories or {}))
    if isinstance(missing, (int, float)):
        schema = replace(schema, fill=(float(missing),) * len(schema.numeric))
    return _scan(source, schema, missing == "mean", labels, max_categories, problems, progress)


def find_labels(source: Source, schema: Schema, problems: Problems) -> tuple[Label, ...]:
    """Read the label column through; return its values, sorted."""
    if source.format == "libsvm":
        found = _scan_libsvm(source, problems, False)[1]
    else:
        only = Schema(target=schema.target, target_type=schema.target_type)
        found = set(_scan(source, only, False, True, 0, problems, False).labels or ())
    return tuple(sorted(found))


def _table_schema(
    source: Source,
    target: str | int | None,
    columns: Sequence[str | int] | None,
    drop: Sequence[str],
    categorical: Sequence[str],
    categories: dict[str, Sequence[str]],
) -> Schema:
    types, path = table_types(source), source.paths[0]
    asked = [*(columns or ()), *drop, *categorical, *categories, *([] if target is None else [target])]
    for name in asked:
        if name not in types:
            raise DataError(no_column(str(path), str(name), types))
    features = [n for n in (columns if columns is not None else types) if n not in drop and n != target]
    if not features:
        raise DataError(f"{path}: no feature column is left; take at least one beside the labels")
    numeric, found = [], {}
    for name in map(str, features):
        kind = type_kind(types[name])
        if name in categories or name in categorical or kind == "string":
            found[name] = tuple(map(str, categories.get(name, ())))
        elif kind in ("number", "bool"):
            numeric.append(name)
        else:
            hint = f"leave it out with drop=[{name!r}], or take its values as categories with categorical=[{name!r}]"
            raise DataError(f"{path}: column {name!r} of type {types[name]} is no number; {hint}")
    target_type = None if target is None else _target_type(path, str(target), types[str(target)])
    return Schema(tuple(numeric), found, target=None if target is None else str(target), target_type=target_type)


def _target_type(path: str, name: str, kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return "int64"
    known = {"bool": "bool", "number": "double", "string": "string"}
    if type_kind(kind) not in known:
        raise DataError(f"{path}: the label column {name!r} of type {kind} is neither number nor text")
    return known[type_kind(kind)]


def _npy_schema(source: Source, target: str | int | None, columns: Sequence[str | int] | None) -> Schema:
    array = open_npy(source.paths[0])
    if array.ndim != 2:
        raise DataError(f"{source.paths[0]} has shape {array.shape}; rows and columns are needed")
    label = None if target is None else str(target)
    names = [str(i) for i in range(array.shape[1])] if columns is None else [str(c) for c in columns]
    for name in [*names, *([label] if label and label.isdigit() else [])]:
        if not name.isdigit() or int(name) >= array.shape[1]:
            raise DataError(f"{source.paths[0]} has columns 0 to {array.shape[1] - 1}, not {name!r}")
    kind = array.dtype if label is None or label.isdigit() else open_npy(label).dtype
    target_type = None if label is None else {"b": "bool", "f": "double"}.get(kind.kind, "int64")
    return Schema(tuple(n for n in names if n != label), target=label, target_type=target_type)


def _libsvm_schema(
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
        raise DataError("a LIBSVM file has its labels at the head of each line; leave target= out")
    if missing == "mean":
        raise DataError("missing='mean' is not for LIBSVM files, whose absent values are zeros; give a number")
    found: set[Label] | None = None
    width = n_features
    if width is None or labels:
        seen, found = _scan_libsvm(source, problems, progress)
        width = seen if width is None else width
    chosen = tuple(str(column) for column in columns or ())
    first = 0 if source.zero_based else 1
    for name in chosen:
        if not name.isdigit() or not first <= int(name) < first + width:
            raise DataError(f"{source.paths[0]} has features {first} to {first + width - 1}, not {name!r}")
    fill = None if missing == "error" else (float(missing),)
    known = None if found is None else tuple(sorted(found))
    return Schema(chosen, {}, fill, None, "double", known, width, source.zero_based)


def _scan_libsvm(source: Source, problems: Problems, progress: bool) -> tuple[int, set[Label]]:
    texts: set[bytes] = set()
    width = done = lines = 0
    with Progress("first pass", source.n_bytes, "rows", progress) as bar:
        for path in source.paths:
            for _, text, _, _ in libsvm_text(path, source, problems):
                more, labels = scan_libsvm(text, source.zero_based)
                width, texts = max(width, more), texts | labels
                done, lines = done + len(text), lines + count_lines(text)
                bar.update(done, lines)
    values: set[Label] = set()
    for text in texts:
        try:
            values.add(float(text))
        except ValueError:
            continue  # a bad line: the parser will name it
    return width, values


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
    seen: dict[str, set[str]] = {name: set() for name in unknown}
    total, count = np.zeros(len(wanted.numeric)), np.zeros(len(wanted.numeric))
    found: set[Label] = set()
    with Progress("first pass", source.n_bytes, "rows", progress) as bar:
        if source.format == "npy":
            blocks = npy_stream(source, wanted, _SCAN_ROWS, problems, bar)
        else:
            blocks = follow(source, table_blocks(source, wanted_types(wanted), _SCAN_ROWS, problems), bar)
        for block in blocks:
            for name in unknown:
                _add_categories(block, name, seen[name], most)
            if mean:
                X = block.X if block.table is None else numeric_values(block.table, wanted.numeric)
                finite = np.isfinite(X)
                total += np.where(finite, X, 0.0).sum(axis=0)
                count += finite.sum(axis=0)
            if labels and block.table is None:
                found.update(np.unique(block.y[np.isfinite(block.y)]).tolist())
            elif labels:
                found.update(block.table.column(schema.target).unique().drop_null().to_pylist())
    if mean:
        for name in np.array(wanted.numeric)[count == 0]:
            raise DataError(f"{source.paths[0]}: column {str(name)!r} has no value at all; leave it out")
        schema = replace(schema, fill=tuple((total / count).tolist()))
    complete = {name: tuple(sorted(seen[name])) if name in seen else v for name, v in schema.categorical.items()}
    return replace(schema, categorical=complete, labels=tuple(sorted(found)) if labels else None)


def _add_categories(block: Block, name: str, seen: set[str], most: int) -> None:
    seen.update(block.table.column(name).unique().drop_null().to_pylist())
    if len(seen) > most:
        raise DataError(
            f"{block.file}: column {name!r} has more than {most} categories; leave it out with drop=[{name!r}], "
            "or raise max_categories"
        )
