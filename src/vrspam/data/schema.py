"""What the columns of a file are: found in a first pass, kept with a model, used again on the next file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.messages import Parameter
from vrspam.data.errors import DataError, Problems, no_column
from vrspam.data.first_pass import Label, Means, add_categories, scan_sparse
from vrspam.data.readers import Source
from vrspam.data.readers.arrow_reader import numeric_values, type_kind
from vrspam.data.readers.base import Block, ColumnRequest
from vrspam.data.readers.other_formats import open_npy
from vrspam.features.readings import Dates, Reading, reading_from_dict, reading_to_dict
from vrspam.features.tables import part_name, read_column
from vrspam.features.unseen import Range, SeenColumn

_SCAN_ROWS = 1 << 15
_LABEL_TYPES = {"bool": "bool", "number": "double", "string": "string"}  # what labels of each kind are read as


@dataclass(frozen=True)
class Schema:
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
    readings : dict of str to Reading
        Columns of text that is numbers, and of dates, and how they are read (`vrspam.features.readings`). `numeric` has
        the columns of numbers that they become.
    ranges : dict of str to (float, float)
        The smallest and the largest number of columns in training.
    grouped : tuple of str
        Categorical columns whose rare categories are not listed.

    Examples
    --------
    >>> from vrspam.data import Schema
    >>> schema = Schema(numeric=("age",), categorical={"sex": ("f", "m")}, target="sick")
    >>> schema.feature_names
    ('age', 'sex=f', 'sex=m')
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    numeric: tuple[str, ...] = ()
    categorical: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fill: tuple[float, ...] | None = None
    target: str | None = None
    target_type: str | None = None
    labels: tuple[Label, ...] | None = None
    width: int | None = None
    zero_based: bool = False
    readings: Mapping[str, Reading] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    grouped: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for each column of X."""
        if self.width is not None and not self.numeric:
            first = 0 if self.zero_based else 1
            return tuple(str(index) for index in range(first, first + self.width))
        indicators = (f"{name}={value}" for name, values in self.categorical.items() for value in values)
        return (*self.numeric, *indicators)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns themselves, numeric ones first; those of a LIBSVM file have numbers."""
        return (*self.numeric, *self.categorical) or self.feature_names

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        if self.width is not None and not self.numeric:
            return self.width
        return len(self.numeric) + sum(len(values) for values in self.categorical.values())

    def wanted(self, tabular: bool, keep: Sequence[str] = ()) -> ColumnRequest:
        """Return what a reader must read: these columns, and some to hand on as they are."""
        if not tabular:
            label = int(self.target) if self.target is not None and self.target.isdigit() else None
            features = () if self.width is not None else tuple(int(name) for name in self.numeric)
            return ColumnRequest(features=features, label=label, width=int(self.width or 0))
        import pyarrow as pa

        made = {new for name, reading in self.readings.items() for new in made_columns(name, reading)}
        types: dict[str, Any] = {name: pa.float64() for name in self.numeric if name not in made}
        types |= {name: pa.string() for name in self.categorical}
        for name, reading in self.readings.items():
            types[name] = pa.timestamp("us") if isinstance(reading, Dates) else None
        if self.target is not None:
            plain = {"bool": pa.bool_(), "int64": pa.int64(), "double": pa.float64(), "string": pa.string()}
            types[self.target] = plain[str(self.target_type)]
        return ColumnRequest(types | {name: None for name in keep if name not in types})

    def read(self, table: Any) -> tuple[Any, dict[str, Any]]:
        """Read text as numbers and dates: the table, or batch, with the columns that they become, and what is neither.

        Other columns stay.
        """
        import pyarrow as pa

        if not self.readings:
            return table, {}
        columns, strays = dict(zip(table.schema.names, table.columns, strict=True)), {}
        for name, reading in self.readings.items():
            column = columns.pop(name)
            whole = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
            made, unread = read_column(nw.from_native(whole, series_only=True).alias(name), reading)
            columns |= {new: pa.array(values, from_pandas=True) for new, values in made.items()}
            if unread:
                strays[name] = unread
        return type(table).from_arrays(list(columns.values()), names=list(columns)), strays

    def seen(self) -> dict[str, SeenColumn]:
        """What training had in each column, as far as it is known."""
        known: dict[str, SeenColumn] = {name: Range(*self.ranges[name]) for name in self.numeric if name in self.ranges}
        return known | {n: frozenset(v) for n, v in self.categorical.items() if v and n not in self.grouped}

    def keeping_missing(self) -> Schema:
        """Return the schema that hands missing numbers on as NaN (absent values of LIBSVM files stay zeros)."""
        if self.fill is None or self.width is not None:
            return self
        return replace(self, fill=(float("nan"),) * len(self.numeric))

    def without_target(self) -> Schema:
        """Return the schema for files that carry no labels (prediction)."""
        return replace(self, target=None, target_type=None, labels=None)

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that JSON can hold."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["readings"] = {name: reading_to_dict(reading) for name, reading in self.readings.items()}
        plain["ranges"] = {name: list(ends) for name, ends in self.ranges.items()}
        plain["categorical"] = {name: list(values) for name, values in self.categorical.items()}
        for name in ("numeric", "fill", "labels", "grouped"):
            if plain[name] is not None:
                plain[name] = list(plain[name])
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Schema:
        """Return the schema that `to_dict` wrote, or say what is wrong with it."""
        known, wrong = {f.name for f in fields(cls)}, "{problem}; give what Schema.to_dict wrote"
        if isinstance(plain, Mapping):
            plain = {
                "zero_based": False,
                "readings": {},
                "ranges": {},
                "grouped": [],
                **plain,
            }  # older ones are without
        if not isinstance(plain, Mapping) or set(plain) != known:
            raise DataError(wrong, problem=f"this is not a schema (its keys must be {', '.join(sorted(known))})")
        try:
            return cls(
                numeric=tuple(_strings(plain["numeric"])),
                categorical={str(k): tuple(_strings(v)) for k, v in plain["categorical"].items()},
                fill=None if plain["fill"] is None else tuple(float(value) for value in plain["fill"]),
                target=None if plain["target"] is None else str(plain["target"]),
                target_type=None if plain["target_type"] is None else str(plain["target_type"]),
                labels=None if plain["labels"] is None else tuple(plain["labels"]),
                width=None if plain["width"] is None else int(plain["width"]),
                zero_based=_flag(plain["zero_based"]),
                readings={str(name): reading_from_dict(reading) for name, reading in plain["readings"].items()},
                ranges={str(name): _ends(ends) for name, ends in plain["ranges"].items()},
                grouped=tuple(_strings(plain["grouped"])),
            )
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise DataError(wrong, problem=f"this is not a schema ({error})") from error

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


def made_columns(name: str, reading: Reading) -> list[str]:
    """The columns of numbers that a column becomes.

    >>> made_columns("day", Dates("dmy", ("year", "month")))
    ['day (year)', 'day (month)']
    """
    return [part_name(name, part) for part in reading.parts] if isinstance(reading, Dates) else [name]


def _ends(values: Any) -> tuple[float, float]:
    low, high = map(float, values)
    if not (np.isfinite([low, high]).all() and low <= high):
        raise ValueError("a range needs two finite numbers, the smaller first")
    return low, high


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("zero_based must be true or false")
    return value


def _strings(values: Any) -> list[str]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise TypeError("names must be a list of strings")
    return list(values)


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
    seen: dict[str, set[str]] = {name: set() for name in unknown}
    means = Means(wanted.numeric)
    found: set[Label] = set()
    for block in read_blocks(source, wanted, _SCAN_ROWS, problems, "first pass" if progress else None):
        for name in unknown:
            add_categories(block, name, seen[name], most)
        if mean:
            means.add(block.X if block.table is None else numeric_values(block.table, wanted.numeric))
        if labels and block.table is None:
            found.update(np.unique(block.y[np.isfinite(block.y)]).tolist())
        elif labels:
            found.update(block.table.column(schema.target).unique().drop_null().to_pylist())
    if mean:
        schema = replace(schema, fill=means.values(source.paths[0]), ranges=means.ranges)
    complete = {name: tuple(sorted(seen[name])) if name in seen else v for name, v in schema.categorical.items()}
    return replace(schema, categorical=complete, labels=tuple(sorted(found)) if labels else None)
