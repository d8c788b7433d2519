"""Tables as people have them, drawn at random: columns of every kind, odd names and cells, files of every format.

Hypothesis draws what a table is like, and each column has a seed for its cells: a table shrinks row by row and column
by column, and the cells that stay do not change.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

MOST_ROWS = 400
Cells = list[Any]
NamedCells = list[tuple[str, Cells]]  # of a table, in order; a name may be there twice

# Columns. A kind makes cells of a drive: normal deviates, one for each row, that go with the label or do not.

ODD_TEXTS = [
    *["Graz", "O'Brien", 'Łódź "old"', "a\\b", "new\nline", "=1+1", "<b>&amp;", "a,b;c|d", "50 %", "#1", "😀", "'"],
    *[
        "toString",
        "__proto__",
        "; DROP TABLE rows --",
        "١",
        "true",
        "01",
        "1e5x",
        "long " * 60,
        "\u202eabc",
        "{x}",
        "%s",
    ],
]
SIZES = ["small", "medium", "large"]
DAY = date(2019, 10, 20)
MOMENT = datetime(2019, 10, 20, 5, 30)


def shares(drive: np.ndarray) -> np.ndarray:
    """The drive as numbers between 0 and 1, whatever other rows there are."""
    return 1.0 / (1.0 + np.exp(-1.7 * drive))


def levels_of(drive: np.ndarray, levels: Sequence[Any]) -> Cells:
    return [levels[min(int(share * len(levels)), len(levels) - 1)] for share in shares(drive)]


def digits(values: np.ndarray) -> Cells:
    """Numbers of 14 digits: Excel keeps 15."""
    return [float(f"{value:.14g}") for value in values]


def grouped(value: float, thousands: str, point: str) -> str:
    """A number with signs between thousands, and another decimal sign."""
    return f"{value:,.2f}".translate({ord(","): thousands, ord("."): point})


def odd_levels(drive: np.ndarray, rng: np.random.Generator) -> Cells:
    return levels_of(drive, rng.permutation(ODD_TEXTS)[: int(rng.integers(2, 9))].tolist())


def sentences(drive: np.ndarray, rng: np.random.Generator) -> Cells:
    words = rng.choice(["pain", "since", "Monday", "left", "knee", "no", "fever", "then", "again"], (drive.size, 5))
    return [
        " ".join([*row, str(number)]) for row, number in zip(words, rng.integers(10**6, size=drive.size), strict=True)
    ]


def with_one_other(drive: np.ndarray, rng: np.random.Generator) -> Cells:
    other = int(rng.integers(20))
    return [8.0 if row == other else 7.0 for row in range(drive.size)]


def with_infinities(drive: np.ndarray, rng: np.random.Generator) -> Cells:
    infinite = rng.random(drive.size) < 0.05
    return np.where(infinite, np.copysign(np.inf, drive), np.round(drive, 3)).tolist()


NUMBERS: dict[str, Callable[[np.ndarray, np.random.Generator], Cells]] = {
    "number": lambda drive, rng: np.round(50.0 + 10.0 * drive, 2).tolist(),
    "fine number": lambda drive, rng: digits(drive * np.pi),
    "count": lambda drive, rng: np.floor(np.exp(drive)).astype(int).tolist(),
    "zero or one": lambda drive, rng: (drive > 0.4).astype(int).tolist(),
    "year": lambda drive, rng: (1990 + np.floor(5.0 * drive)).astype(int).tolist(),
    "unix time": lambda drive, rng: (1_600_000_000 + np.floor(40_000.0 * drive)).astype(int).tolist(),
    "huge": lambda drive, rng: digits(drive * 1e100),
    "tiny": lambda drive, rng: digits(drive * 1e-100),
    "amount": lambda drive, rng: np.round(np.exp(8.0 + 2.0 * drive), 2).tolist(),
    "constant": lambda drive, rng: [7.25] * drive.size,
    "almost constant": with_one_other,
}
OTHERS: dict[str, Callable[[np.ndarray, np.random.Generator], Cells]] = {
    "boolean": lambda drive, rng: (drive > 0.4).tolist(),
    "yes or no": lambda drive, rng: np.where(drive > 0.4, "yes", "no").tolist(),
    "category": odd_levels,
    "ordered": lambda drive, rng: levels_of(drive, SIZES),
    "constant text": lambda drive, rng: ["same"] * drive.size,
    "many levels": lambda drive, rng: [f"code {number}" for number in levels_of(drive, range(60))],
    "leading zeros": lambda drive, rng: levels_of(drive, ["01", "1", "007", "7", "10"]),
    "date": lambda drive, rng: [DAY + timedelta(days=int(200 * one)) for one in drive],
    "moment": lambda drive, rng: [MOMENT + timedelta(minutes=int(9e4 * one)) for one in drive],
    "far date": lambda drive, rng: [date(2000 + min(max(int(700 * one), -1990), 7990), 3, 1) for one in drive],
    "day first": lambda drive, rng: [f"{DAY + timedelta(days=int(200 * one)):%d.%m.%Y}" for one in drive],
    "time of day": lambda drive, rng: [f"{int(24 * one):02d}:{int(1440 * one) % 60:02d}" for one in shares(drive)],
    "decimal comma": lambda drive, rng: [f"{3.0 + one:.3f}".replace(".", ",") for one in drive],
    "thousands": lambda drive, rng: [grouped(np.exp(8.0 + one), ",", ".") for one in drive],
    "thousands and comma": lambda drive, rng: [grouped(np.exp(8.0 + one), ".", ",") for one in drive],
    "dollars": lambda drive, rng: [f"${np.exp(5.0 + one):,.2f}" for one in drive],
    "percent": lambda drive, rng: [f"{100.0 * one:.0f} %" for one in shares(drive)],
    "identifier": lambda drive, rng: [f"P{number:05d}" for number in rng.permutation(99_999)[: drive.size]],
    "row number": lambda drive, rng: list(range(1, drive.size + 1)),
    "free text": sentences,
}
KINDS = NUMBERS | OTHERS | {"infinite": with_infinities}
NAMES = {"boolean", "yes or no", "category", "ordered", "constant text", "many levels", "leading zeros"}
NAMES |= {"identifier", "free text"}  # kinds whose cells stay texts
NAMING = {"identifier", "row number", "free text"}  # kinds that differ in each row: such columns may be left out
PLAIN_NAMES = [f"{kind} {number}" for number in range(4) for kind in ("age", "dose", "ward", "income", "score of", "x")]
ODD_NAMES = [
    *["größe", "cholesterol, mg/dl", "it's", 'the "old" one', "new\nline", " leading", "trailing ", "__proto__"],
    *["constructor", "select", "score", "probability", "a=b", "50 %", "{x}", "<b>", "年齢", "n" * 300, "=1+1", "0"],
    *["nan", "a;b", "tab\there", "\u202eabc", "row", "label", "X", "-1", "i\u0307", "Straße", "\\", "$x", "$$", "😀"],
]
GAPS = ["", "NA", "n/a", "?", "-", "unknown", "NULL", "NaN", "#N/A", "None", "missing", "."]


class Column(NamedTuple):
    """A column: its kind, a seed for its cells, the share of missing ones, and how a file spells them."""

    name: str
    kind: str
    seed: int = 0
    missing: float = 0.0
    gap: str = ""

    def cells(self, latent: np.ndarray, signal: float) -> Cells:
        """The cells of all rows that a table can have; a missing one is None."""
        rng = np.random.default_rng([self.seed, len(self.kind)])
        drive = signal * latent + np.sqrt(1.0 - signal**2) * rng.standard_normal(latent.size)
        gone = rng.random(latent.size) < self.missing
        return [None if no else cell for cell, no in zip(KINDS[self.kind](drive, rng), gone, strict=True)]


# Tables.

LABELS: dict[str, tuple[Any, Any]] = {
    "words": ("no", "yes"),
    "numbers": (0, 1),
    "booleans": (False, True),
    "signs": (-1, 1),
    "fractions": (0.25, 0.5),
    "odd words": ("healthy, or so", 'ill "again"'),
}
FORMATS = ("csv", "csv.gz", "tsv", "parquet", "feather", "xlsx", "npy", "libsvm")
TEXT_FORMATS = ("csv", "csv.gz", "tsv")
MATRICES = ("npy", "libsvm")  # which have no names


@dataclass(frozen=True)
class Dialect:
    """How CSV is written."""

    delimiter: str = ","
    point: str = "."
    encoding: str = "utf-8"
    line_end: str = "\n"
    quoting: Literal[0, 1, 2, 3] = csv.QUOTE_MINIMAL


@dataclass(frozen=True, repr=False)
class Table:
    """A table: its columns, its label, columns that have a role, and the format of its file."""

    columns: tuple[Column, ...]
    rows: int = 60
    positives: int = 20
    signal: float = 0.5
    seed: int = 0
    labels: str = "words"
    unlabelled: int = 0
    copies: bool = False  # the last column is there twice, once as `copy`
    same_names: bool = False  # the last column is there twice under its name
    other_scores: bool = False  # there are scores of another model
    weights: str | None = None
    groups: str | None = None
    within: int = 0
    time: bool = False
    survival: bool = False
    format: str = "csv"
    dialect: Dialect = field(default_factory=Dialect)

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(column.kind for column in self.columns))
        return f"<{self.rows} rows, {len(self.columns)} columns ({kinds}), {self.format}>"

    @cached_property
    def latent(self) -> np.ndarray:
        """What the label is made of."""
        rng = np.random.default_rng(self.seed)
        latent = rng.standard_normal(MOST_ROWS)
        if self.groups == "one label":  # patients are ill or well
            latent = rng.standard_normal(MOST_ROWS)[self.members]
        return latent

    @cached_property
    def members(self) -> np.ndarray:
        """The number of the group of each row."""
        rng = np.random.default_rng(self.seed + 1)
        return rng.integers(max(4, self.rows // 5), size=MOST_ROWS)

    @cached_property
    def positive(self) -> np.ndarray:
        """Which rows are positive: those where what the label is made of is largest."""
        order = np.argsort(-self.latent[: self.rows], kind="stable")
        found = np.zeros(self.rows, dtype=bool)
        found[order[: self.positives]] = True
        return found

    @property
    def target(self) -> str:
        return "months" if self.survival else "sick"

    @property
    def named(self) -> bool:
        return self.format not in MATRICES

    @cached_property
    def features(self) -> dict[str, Cells]:
        """The cells of the columns that may be features."""
        found = {column.name: column.cells(self.latent, self.signal)[: self.rows] for column in self.columns}
        if self.copies:
            found["copy"] = found[self.columns[-1].name]
        return found

    @cached_property
    def roles(self) -> dict[str, Cells]:
        """The cells of columns that are no features."""
        rng, found = np.random.default_rng(self.seed + 2), dict[str, Cells]()
        if self.weights is not None:
            weights = np.ones(MOST_ROWS) if self.weights == "ones" else np.round(rng.uniform(0.2, 5.0, MOST_ROWS), 2)
            if self.weights == "zeros":
                weights[rng.random(MOST_ROWS) < 0.2] = 0.0
            found["weight"] = weights[: self.rows].tolist()
        if self.groups is not None:
            found["patient"] = [f"p{number}" for number in self.members[: self.rows]]
            if self.groups == "gaps":
                found["patient"][3] = None
        if self.other_scores:
            noise = np.random.default_rng(self.seed + 3).standard_normal(MOST_ROWS)
            found["other scores"] = np.round(self.latent + noise, 3)[: self.rows].tolist()
        if self.within:
            found["site"] = [f"site {number}" for number in rng.integers(self.within, size=MOST_ROWS)[: self.rows]]
        if self.time:
            found["day"] = [
                DAY + timedelta(days=int(number)) for number in rng.integers(300, size=MOST_ROWS)[: self.rows]
            ]
        if self.survival:
            found["months"] = np.round(np.exp(2.0 - self.latent + 0.3 * rng.standard_normal(MOST_ROWS)), 1)[
                : self.rows
            ].tolist()
            found["died"] = self.positive.astype(int).tolist()
        else:
            negative, positive = LABELS[self.labels]
            found["sick"] = [positive if one else negative for one in self.positive]
            for row in range(self.unlabelled):
                found["sick"][2 * row + 1] = None
        return found

    @property
    def cells(self) -> dict[str, Cells]:
        """All columns, as a frame holds them."""
        return {**self.features, **self.roles}

    def gap(self, name: str) -> str:
        """How a file spells a missing value of a column.

        Nothing stands there in a column of texts, where `unknown` would be one of them, and in one whose cells are
        mostly missing: more words than numbers are not read as numbers.
        """
        spelled = {one.name: one.gap for one in self.columns if one.kind not in NAMES and one.missing <= 0.2}
        return spelled.get(name, "")

    # Frames.

    def name_read(self, name: str) -> str:
        """What a column is called once its file is read: CSV and Excel lose blanks around names."""
        return name.strip() if self.format in (*TEXT_FORMATS, "xlsx") else name

    def spelled(self, texts: Mapping[str, Sequence[str]]) -> dict[str, Cells]:
        """All columns; those in `texts`, which a reader took as categories, as they are spelled in the file."""
        found = {self.name_read(name): cells for name, cells in self.cells.items()}
        for name in self.features:
            read = self.name_read(name)
            if read in texts:
                gap = self.gap(name) if self.gap(name) in texts[read] else None
                written = [cell_text(cell, "", self.dialect.point) for cell in found[read]]
                found[read] = [gap if cell is None else text for cell, text in zip(found[read], written, strict=True)]
        return found

    def pandas(self, texts: Mapping[str, Sequence[str]] = MappingProxyType({})) -> pd.DataFrame:
        """All columns, with the types that pandas would give them."""
        return pd.DataFrame({name: series_of(cells) for name, cells in self.spelled(texts).items()})

    def polars(self, texts: Mapping[str, Sequence[str]] = MappingProxyType({})) -> pl.DataFrame:
        """All columns, with the types that polars would give them."""
        return pl.DataFrame({name: pl.Series(cells, strict=False) for name, cells in self.spelled(texts).items()})

    # Files.

    def write(
        self,
        path: Path,
        rows: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        changed: Mapping[str, Cells] = MappingProxyType({}),
    ) -> Path:
        """Write rows and columns, by default all, in the format of the table; return the path with its suffix.

        `changed` gives columns other cells, one for each written row.
        """
        path = path.with_name(f"{path.name}.{self.format}")
        cells = {name: self.cells[name] for name in names or self.cells}
        if rows is not None:
            cells = {name: [column[row] for row in rows] for name, column in cells.items()}
        WRITERS[self.format](self, self._named({**cells, **changed}), path)
        return path

    def _named(self, cells: Mapping[str, Cells]) -> NamedCells:
        """Columns with their names, one of which may be there twice."""
        named = list(cells.items())
        if self.same_names:
            name = self.columns[-1].name
            named.append((name, cells[name]))
        return named

    def as_text(self) -> str:
        """The table as CSV, for people."""
        return csv_text(self, self._named(self.cells), replace(self.dialect, line_end="\n"))


def series_of(cells: Cells) -> pd.Series:
    """Cells as a column of pandas: a date is a moment there."""
    known = [cell for cell in cells if cell is not None]
    if known and all(isinstance(cell, bool) for cell in known) and len(known) < len(cells):
        return pd.Series(cells, dtype="boolean")
    if known and isinstance(known[0], date):
        return pd.Series(np.array([np.datetime64("NaT") if cell is None else cell for cell in cells], "datetime64[us]"))
    return pd.Series(cells)


def cell_text(cell: Any, gap: str, point: str) -> str:
    if cell is None:
        return gap
    if isinstance(cell, float):
        return repr(cell).replace(".", point)
    return cell.isoformat(" ") if isinstance(cell, datetime) else str(cell)


def csv_text(table: Table, named: NamedCells, dialect: Dialect) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=dialect.delimiter, lineterminator=dialect.line_end, quoting=dialect.quoting)
    writer.writerow([name for name, _ in named])
    texts = [[cell_text(cell, table.gap(name), dialect.point) for cell in column] for name, column in named]
    writer.writerows(zip(*texts, strict=True))
    return out.getvalue()


def write_csv(table: Table, named: NamedCells, path: Path) -> None:
    dialect = replace(table.dialect, delimiter="\t", point=".") if table.format == "tsv" else table.dialect
    text = csv_text(table, named, dialect)
    try:
        content = text.encode(dialect.encoding)
    except UnicodeEncodeError:  # a letter that the encoding does not have
        content = text.encode("utf-8")
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_arrow(table: Table, named: NamedCells, path: Path) -> None:
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    content = pa.table([pa.array(column) for _, column in named], [name for name, _ in named])
    if table.format == "parquet":
        parquet.write_table(content, path)
    else:
        feather.write_feather(content, path)


def write_excel(table: Table, named: NamedCells, path: Path) -> None:
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("rows")

    def cell_of(value: Any) -> Any:
        cell = WriteOnlyCell(sheet, value=value)
        if isinstance(value, str):
            cell.data_type = "s"  # also where it looks like a formula
        return cell

    sheet.append([cell_of(name) for name, _ in named])
    for row in zip(*(column for _, column in named), strict=True):
        sheet.append([cell_of(value) for value in row])
    book.save(path)


def matrix_of(named: NamedCells) -> np.ndarray:
    """Numbers alone, the label last."""
    columns = [[np.nan if cell is None else float(cell) for cell in column] for _, column in named]
    return np.array(columns).T


def write_npy(table: Table, named: NamedCells, path: Path) -> None:
    np.save(path, matrix_of(named))


def write_libsvm(table: Table, named: NamedCells, path: Path) -> None:
    lines = []
    for row in matrix_of(named).tolist():
        entries = [f"{place}:{value!r}" for place, value in enumerate(row[:-1], 1) if value != 0.0]
        lines.append(" ".join([f"{row[-1]:+.0f}", *entries]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


WRITERS: dict[str, Callable[[Table, NamedCells, Path], None]] = {
    **dict.fromkeys(TEXT_FORMATS, write_csv),
    "parquet": write_arrow,
    "feather": write_arrow,
    "xlsx": write_excel,
    "npy": write_npy,
    "libsvm": write_libsvm,
}

# Draws. What is simplest comes first in each list: a failure shrinks towards it.


def names(count: int) -> st.SearchStrategy[list[str]]:
    """Different names, some of them odd; two that differ in blanks alone are one."""
    some = st.lists(st.sampled_from(ODD_NAMES), max_size=min(count, 4), unique=True)
    plain = [*PLAIN_NAMES, *(f"column {number}" for number in range(80))]
    return some.map(lambda odd: [*odd, *plain][:count])


@st.composite
def columns(draw: st.DrawFn, kinds: Sequence[str], most: int) -> tuple[Column, ...]:
    """Few columns, several, or more than 32."""
    least, most = draw(st.sampled_from([(1, min(4, most)), (1, min(12, most)), (min(33, most), most)]))
    drawn = draw(
        st.lists(
            st.tuples(
                st.sampled_from(kinds),
                st.integers(0, 99),
                st.sampled_from([0.0, 0.0, 0.1, 0.2, 0.6, 0.97]),
                st.sampled_from(GAPS),
            ),
            min_size=least,
            max_size=most,
        )
    )
    called = draw(names(len(drawn)))
    return tuple(Column(name, *one) for name, one in zip(called, drawn, strict=True))


@st.composite
def dialects(draw: st.DrawFn) -> Dialect:
    """How CSV is written: a decimal comma needs another delimiter."""
    delimiter, point = draw(st.sampled_from([(",", "."), (";", "."), (";", ","), ("|", "."), ("\t", ",")]))
    return Dialect(
        delimiter,
        point,
        draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])),
        draw(st.sampled_from(["\n", "\r\n"])),
        draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])),
    )


@st.composite
def tables(draw: st.DrawFn, formats: Sequence[str] = FORMATS, most_columns: int = 80) -> Table:
    """A table with a label, or with times and events."""
    format = draw(st.sampled_from(formats))
    kinds = list(NUMBERS) if format in MATRICES else [*NUMBERS, *OTHERS]
    rows = draw(st.integers(20, MOST_ROWS))
    found = Table(
        draw(columns(kinds, most_columns)),
        rows,
        positives=draw(st.one_of(st.just(rows // 3), st.integers(3, 9), st.integers(3, rows - 3))),
        signal=draw(st.sampled_from([0.5, 0.0, 0.0, 0.9])),
        seed=draw(st.integers(0, 999)),
        copies=draw(st.booleans()),
        format=format,
        dialect=draw(dialects()) if format in ("csv", "csv.gz") else Dialect(),
    )
    if format != "xlsx" and draw(st.sampled_from([False] * 15 + [True])):  # Excel has no infinity
        found = replace(found, columns=(*found.columns, Column("infinite", "infinite", draw(st.integers(0, 99)))))
    if format in MATRICES:
        return replace(found, labels=draw(st.sampled_from(["numbers", "signs"])))
    return replace(
        found,
        labels=draw(st.sampled_from(list(LABELS))),
        unlabelled=draw(st.sampled_from([0, 0, 0, 3])),
        same_names=draw(st.sampled_from([False] * 19 + [True])),
        other_scores=draw(st.sampled_from([False, False, True])),
        weights=draw(st.sampled_from([None, None, "some", "ones", "zeros"])),
        groups=draw(st.sampled_from([None, None, "several rows", "one label", "gaps"])),
        within=draw(st.sampled_from([0, 0, 0, 4])),
        time=draw(st.sampled_from([False, False, True])),
        survival=draw(st.sampled_from([False, False, False, True])),
    )
