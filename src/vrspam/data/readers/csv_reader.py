"""CSV in blocks that end at line ends, each parsed by pyarrow; a second pass locates what pyarrow refuses.

Parsing block by block is as fast as pyarrow's streaming reader, and reading can go on after a bad line.
"""

from __future__ import annotations

import csv
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import islice
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from vrspam._utils.messages import Parameter
from vrspam._utils.warnings import warn
from vrspam.data.readers.base import (
    DAMAGED,
    Block,
    Choice,
    DataError,
    Problems,
    Reader,
    TextBlock,
    TextFile,
    as_batch,
    block_size,
    count,
    named_twice,
    open_text,
    read_ahead,
    similar,
    text_blocks,
)
from vrspam.tables.kinds import find_kind
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.kinds.numbers import BLANKS, CURRENCIES, FORMATS, LONG_ZIP, Numbers
from vrspam.tables.schema import Writing

_FEW = 0.1  # largest share of cells in the first rows that may deviate from the others
_POINT, _COMMA, _WHOLE = (re.compile(rf"[+-]?\d+{part}") for part in (r"\.\d+", r",\d+", ""))
_CODE = re.compile(r"0\d+")  # 007 is a name
_CODE_CELL = {sign: re.compile(rb"(0\d+) *(?:[%s\r\n]|$)" % re.escape(sign).encode()) for sign in map(chr, range(128))}
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_ONE_GROUP = re.compile(rb"(?<![\d.,])[1-9]\d{0,2}[.,]\d{3}(?![\d.,])")  # thousands, or a fraction
_ODD_NUMBER = re.compile(f"{_THOUSANDS.pattern}|{LONG_ZIP.pattern}")  # thousands, and ZIP codes, which are names


@dataclass(eq=False)
class CSVReader(Reader):
    """CSV text, compressed or not.

    The types of columns are found from the first rows of a file, once for each file: when it is first opened. They are
    kept for later readings.
    """

    name, title, suffixes = "csv", "CSV", (".csv", ".tsv")
    options = ("delimiter", "encoding", "block_bytes", "trained")
    delimiter: str | None = None
    encoding: str | None = None
    block_bytes: int = 8 << 20
    trained: Writing | None = None  # how the training file was written; None where a file tells how to read it
    _codes: set[str] = field(default_factory=set)  # columns that hold numbers with leading zeros, which are names
    _encodings: dict[str, str] = field(default_factory=dict)
    _heads: dict[tuple[str, int, int], tuple[Dialect, dict[str, Any], int]] = field(default_factory=dict)

    def columns(self, path: str) -> dict[str, Any]:
        """Return the columns of a file with the arrow types of its first rows."""
        with open_text(path, self.encoding or self._encodings.get(path)) as file:
            try:
                return dict(self._read_head(path, file)[1])
            except DAMAGED as error:
                raise DataError(f"{path} is cut off or damaged ({error}); get it again") from error

    def writing(self, path: str) -> Writing:
        """Return how a file is written."""
        if self._key(path) not in self._heads:
            self.columns(path)
        return self._heads[self._key(path)][0].writing

    def blocks(self, path: str, wanted: Choice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield the wanted columns of a file, a block of text at a time."""
        import pyarrow as pa

        parsers = min(4, os.cpu_count() or 1)  # blocks that are parsed at the same time
        with open_text(path, self.encoding or self._encodings.get(path)) as file:
            try:
                dialect, own, first_line = self._read_head(path, file)
                chosen = wanted(own)
                types = {name: pa.string() if kind is None else kind for name, kind in chosen.types.items()}
                missing = [name for name in types if name not in own]
                if missing:
                    reason = f"there is no column {missing[0]!r}{similar(missing[0], own)}"
                    problems.refuse(path, reason)
                    return
                for name, kind in types.items():
                    if pa.types.is_timestamp(kind) and not pa.types.is_temporal(own[name]):
                        types[name] = pa.string()  # text is parsed as dates later, when its form is known
                flags = [n for n, t in types.items() if t == pa.float64() and pa.types.is_boolean(own[n])]
                parsed = types | dict.fromkeys(flags, pa.bool_())  # true and false become numbers afterwards
            except DAMAGED as error:
                problems.report(path, 1, "after line 1", f"cut off or damaged ({error})", rows=None)
                return

            parse_each = partial(parse_block, path=path, dialect=dialect, types=parsed, lenient=chosen.lenient)
            numbers = [name for name, kind in types.items() if pa.types.is_floating(kind) or pa.types.is_integer(kind)]

            def checked(text: TextBlock) -> Block:
                if chosen.learns and (codes := columns_of_codes(text.text, dialect, numbers)):
                    self._take_as_text(path, [*codes])
                    raise LateCodes(path, *codes.popitem())
                return parse_each(text)

            size = block_size(self.block_bytes, len(own))
            texts = text_blocks(file, size, first_line=first_line, quoted=True)
            for block in read_ahead(texts, checked, parsers):
                if block.table is not None:
                    block = replace(block, table=as_batch(block.table.cast(pa.schema(list(types.items())))))
                yield block

    def _take_as_text(self, path: str, columns: list[str]) -> None:
        """Remember that columns that looked like numbers hold codes (007), and so do those of all later rows."""
        dialect, types, first_line = self._heads[self._key(path)]
        with open_text(path, self.encoding or self._encodings.get(path)) as file:
            for _ in range(first_line - 1):
                file.stream.readline()
            for text in text_blocks(file, self.block_bytes, quoted=True):
                others = [name for name in types if name not in columns]
                columns += columns_of_codes(text.text, dialect, others)
        self._codes.update(columns)
        for _, known, _ in self._heads.values():
            _as_text(known, self._codes)

    def _first_writing(self) -> Writing | None:
        """Return how the first of several files is written, which decides for all, if its numbers have a sign."""
        for dialect, *_ in self._heads.values():
            return dialect.writing if dialect.decimal else None
        return None

    def _key(self, path: str) -> tuple[str, int, int]:
        """Return what identifies a file while it does not change."""
        state = os.stat(path)
        return path, state.st_size, state.st_mtime_ns

    def _read_head(self, path: str, file: TextFile) -> tuple[Dialect, dict[str, Any], int]:
        """Return how fields are written, the arrow types of the columns, and the line where the rows begin.

        The stream is left at the first row. The types come from the first rows, in the first call for a file. Lines
        that are wrong are reported when they are read.

        The encoding is found when the file is first opened; a warning names it if it is not UTF-8.
        """
        if path not in self._encodings and self.encoding is None and file.encoding != "utf-8":
            warn(f"{path} is read as {file.encoding.upper()} text, as it is not UTF-8")
        self._encodings[path] = file.encoding
        key = self._key(path)
        if key in self._heads:
            for _ in range(self._heads[key][2] - 1):
                file.stream.readline()
            return self._heads[key]
        import pyarrow as pa

        names, delimiter, lines, spaced = _read_names(path, file, self.delimiter, self.trained)
        first = list(islice(text_blocks(file, 1 << 12, quoted=True), 64))  # about 256 KiB of whole lines
        if first and first[0].damage:
            raise first[0].damage
        text = b"".join(block.text for block in first)  # if the file is cut off: what comes before the cut
        file.stream.seek(0)
        for _ in range(lines):
            file.stream.readline()
        trained = self.trained or self._first_writing()
        if trained is None:
            rows = islice(csv_rows(text, Dialect([], delimiter)), 200)
            sample = [row for _, row in rows if len(row) == len(names)]
            decimal = _find_decimal_sign(sample, delimiter)
            dialect = Dialect(names, delimiter, decimal, spaced or _has_spaces(sample))
        else:
            dialect = _as_trained(names, delimiter, spaced, trained)
        if not text or text.isspace():
            raise DataError(f"{path} has a header but no rows; get it again, or leave it out")
        text = without_spaces(text, delimiter) if dialect.spaced else text
        table = parse(text.decode("utf-8", "replace").encode(), dialect, {}, lambda row: "skip")
        if table.num_rows == 0:
            texts, nothing = dict.fromkeys(names, pa.string()), Block(path, 1, 0, str, 0.0)
            if broken := _salvage(text, lines + 1, nothing, dialect, texts, lenient=False).broken:
                raise DataError(f"{path}, {broken[0][1]}: {broken[0][2]}; the first rows are all wrong: correct them")
        types = {name: _prevailing_type(table.column(name), dialect.sign) for name in names}
        _as_text(types, {*columns_of_codes(text, dialect, names), *self._codes})
        self._heads[key] = dialect, types, lines + 1
        return self._heads[key]


def _as_text(types: dict[str, Any], columns: Collection[str]) -> None:
    """Make columns text, in place."""
    import pyarrow as pa

    types.update((name, pa.string()) for name in columns if name in types)


class LateCodes(DataError):
    """A column that looked like numbers in the first rows holds codes such as 007: its text has to be read again."""

    def __init__(self, path: str, column: str, text: str) -> None:
        words = (
            "{path}: column {column!r} begins with numbers, and {text!r} in later rows is a code: take it as "
            "categories with {categorical}, or leave it out with {drop}"
        )
        ways = {"categorical": Parameter("categorical", [column]), "drop": Parameter("drop", [column])}
        super().__init__(words, path=path, column=column, text=text, **ways)


def columns_of_codes(text: bytes, dialect: Dialect, names: Collection[str]) -> dict[str, str]:
    """Return the columns among these in which a cell is a number with a leading zero (007), and such a cell."""
    import pyarrow as pa

    cells = np.frombuffer(text, np.uint8)
    zeros = np.flatnonzero((cells[:-1] == ord("0")) & (cells[1:] - np.uint8(ord("0")) <= 9))  # before a digit
    before = cells[zeros - 1]  # of the first byte this is the last one, a line end
    delimiter = ord(dialect.delimiter)
    starts = zeros[(zeros == 0) | (before <= ord(" ")) | (before == ord('"')) | (before == delimiter)]
    if not starts.size:
        return {}
    found: dict[str, str] = {}
    if b'"' in text:  # delimiters may be inside quotes
        try:
            table = parse(text, dialect, dict.fromkeys(names, pa.string()), lambda row: "skip")
        except pa.ArrowInvalid:  # not UTF-8, say: wrong cells are located later
            return {}
        for name in names:
            texts = (cell.strip(" ") for cell in table.column(name).drop_null().to_pylist())
            if code := next(filter(_CODE.fullmatch, texts), ""):
                found[name] = code
        return found
    wanted = frozenset(names)
    places = {place: name for place, name in enumerate(dialect.names) if name in wanted}
    ends = np.flatnonzero((cells == ord("\n")) | (cells == ord("\r")))
    signs = np.flatnonzero(cells == delimiter)
    lines = np.searchsorted(ends, starts)
    begins = np.where(lines > 0, ends[lines - 1], 0) if ends.size else np.zeros(starts.size, dtype=int)
    columns = np.searchsorted(signs, starts) - np.searchsorted(signs, begins)
    for place in np.intersect1d(columns, list(places)).tolist():
        for start in starts[columns == place].tolist():
            if match := _CODE_CELL[dialect.delimiter].match(text, start):
                found[places[place]] = match[1].decode()
                break
    return found


def _prevailing_type(column: Any, decimal: str) -> Any:
    """Return a column's type; text counts as numbers, or as true and false, if all but a few cells are such.

    So a bad cell among the first rows is reported, and does not make its column categorical.
    """
    import pyarrow as pa

    if pa.types.is_time(column.type):
        return pa.string()  # times are interpreted when the table is read
    if not pa.types.is_string(column.type):
        return column.type
    cells = column.drop_null().to_pylist()
    cells = cells[:: len(cells) // 300 + 1]  # a sample is enough, and quick
    texts = pa.chunked_array([pa.array(cells, pa.string())])
    for kind in (pa.float64(), pa.bool_()):
        wrong = [cells[place] for place in np.flatnonzero(convert_texts(texts, kind, decimal, lenient=False)[1])]
        if not cells or len(wrong) > _FEW * len(cells):
            continue
        # if the wrong cells are numbers written in another way, the whole column must be read to find its kind
        if find_kind(Counter(wrong)) is None and not any(_ODD_NUMBER.fullmatch(cell.strip()) for cell in wrong):
            return kind
    return column.type


def _read_names(
    path: str, file: TextFile, delimiter: str | None, trained: Writing | None = None
) -> tuple[list[str], str, int, bool]:
    """Read the line of names; return them, the delimiter, the number of lines and whether spaces follow delimiters.

    The most frequent delimiter is taken; of those that are equally frequent, that of the training file.
    """
    raw, lines = b"", 0
    while not raw.strip() or raw.count(b'"') % 2:
        line = file.stream.readline(1 << 24)
        if not line:
            raise DataError(f"{path} is empty; get it again, or leave it out")
        raw, lines = raw + line, lines + 1
    try:
        text = raw.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError as error:
        book = raw.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0"))
        advice = "it may be an Excel workbook or an archive: save the table as CSV" if book else "save it as UTF-8"
        raise DataError(f"{path} is not UTF-8 text (line {lines}); {advice}") from error
    unquoted = re.sub('"[^"]*"', "", text)
    if delimiter is None:
        usual = "" if trained is None else trained.delimiter
        delimiter = max(",;\t|", key=lambda sign: (unquoted.count(sign), sign == usual))
    try:
        names = [name.strip(" ") for name in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))]
    except csv.Error as error:
        reason = "a stray carriage return, or a name that is too long"
        raise DataError(f"{path}: line {lines} is not a line of column names ({reason}); correct it") from error
    if (twice := named_twice(names)) is not None:
        words = "rename one, or give the delimiter of the fields with {delimiter}"
        raise DataError("{path} names the column {column!r} twice; " + words, path=path, column=twice)
    spaced = delimiter in unquoted and all(part.startswith(" ") for part in unquoted.split(delimiter)[1:])
    return names, delimiter, lines, spaced


def _has_spaces(sample: list[list[str]]) -> bool:
    """Return whether a space follows nearly every delimiter in the first rows."""
    later = [cell for row in sample for cell in row[1:]]
    return bool(later) and sum(cell.startswith(" ") for cell in later) >= (1.0 - _FEW) * len(later)


def _as_trained(names: list[str], delimiter: str, spaced: bool, trained: Writing) -> Dialect:
    """Return how to read a file for a model: by the training file and the line of names, never by other rows.

    Between commas no number has a decimal comma.
    """
    decimal = trained.decimal
    if delimiter == "," and trained.delimiter != "," and decimal == ",":
        decimal = "."
    rule = NumberRule(decimal or ".", decimal == "", delimiter == trained.delimiter)
    return Dialect(names, delimiter, decimal, spaced or trained.spaced, rule)


def _find_decimal_sign(sample: list[list[str]], delimiter: str) -> str:
    """Return the decimal sign: a comma if the numbers of a column in the first rows have commas, else a point.

    If some numbers of a column have no comma, and all commas precede groups of three digits, they separate thousands.
    If no number has a sign, the result is "".
    """
    columns = [[cell.strip() for cell in column if cell not in NULLS] for column in zip(*sample, strict=False)]
    if any(_POINT.fullmatch(cell) for column in columns for cell in column):
        return "."
    for column in columns if delimiter != "," else ():
        commas = [cell for cell in column if _COMMA.fullmatch(cell)]
        whole = sum(_WHOLE.fullmatch(cell) is not None for cell in column)
        thousands = whole > 0 and all(_THOUSANDS.fullmatch(cell) for cell in commas)
        if commas and not thousands and len(commas) + whole >= (1.0 - _FEW) * len(column):
            return ","
    return ""


# A block of text to a table. A block that pyarrow refuses is parsed once more as text, and each cell and line that is
# wrong is located there.


NULLS = ["", "#N/A", "#NA", "N/A", "NA", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None", "n/a"]


class NumberRule(NamedTuple):
    """Which numbers of a file for a model could be meant otherwise than the model would read them.

    With the decimal sign of training (`decimal`), a number that has the other sign is refused. A sign before three
    digits that may separate thousands is understood only if the file is written as the training file was (`trusted`);
    if training had whole numbers alone (`whole`), each single sign before three digits could be either.
    """

    decimal: str
    whole: bool
    trusted: bool

    @classmethod
    def in_typed_files(cls, trained: Writing) -> NumberRule:
        """The rule for text among the numbers of a frame or a Parquet file, whose own numbers have decimal points."""
        return cls(trained.decimal or ".", trained.decimal == "", trusted=trained.decimal != ",")

    @property
    def unread(self) -> str:
        """The regular expression of texts that are numbers with the other decimal sign."""
        other = "," if self.decimal == "." else "."
        return f"{Numbers(other, self.decimal).pattern}|{Numbers(other).pattern}"

    @property
    def doubtful(self) -> str:
        """The regular expression of texts whose signs may be decimal ones or separate thousands; "" if none is."""
        other = "," if self.decimal == "." else "[.]"
        patterns = []
        if not self.trusted:
            patterns.append(rf"^[+-]?[1-9]\d{{0,2}}({other}\d{{3}})+$")
        if self.whole:
            patterns.append(r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$")
        return "|".join(patterns)

    def why(self, name: str, text: str) -> str:
        """Say why a number is refused, and how to write it."""
        if re.fullmatch(r"[+-]?[1-9]\d{0,2}([.,]\d{3})+", text):
            plain = re.sub("[.,]", "", text)
            if self.whole:
                known = "training had whole numbers alone"
            else:
                known = f"the training file was not written like this one, and had decimal {_SIGNS[self.decimal]}s"
            fraction = text.replace(",", ".")
            return f"column {name!r} holds {text!r}, {plain} or {fraction}: {known}; write it as training did"
        used = "point" if self.decimal == "," else "comma"
        return (
            f"column {name!r} holds {text!r}, with a decimal {used}, where training had decimal "
            f"{_SIGNS[self.decimal]}s: write the numbers as training did"
        )


_SIGNS = {".": "point", ",": "comma"}


class Dialect(NamedTuple):
    """How the fields of a file are written; `spaced` where a space follows each delimiter.

    `decimal` is "" where no number has a sign. A file for a model has a `rule` for numbers that are refused.
    """

    names: list[str]
    delimiter: str
    decimal: str = "."
    spaced: bool = False
    rule: NumberRule | None = None

    @property
    def sign(self) -> str:
        """The decimal sign; a point where no number has one."""
        return self.decimal or "."

    @property
    def writing(self) -> Writing:
        """What a model remembers of the dialect."""
        return Writing(self.delimiter, self.decimal, self.spaced)


def parse_block(text: TextBlock, path: str, dialect: Dialect, types: Mapping[str, Any], lenient: bool) -> Block:
    """Parse a block into a table; with `lenient`, cells of the wrong type become missing values, not errors."""
    import pyarrow as pa

    line, content = text.line, text.text
    if dialect.spaced:
        content = without_spaces(content, dialect.delimiter)

    @cache  # one pass, however many rows are located
    def starts() -> list[int]:
        return lines_of_rows(content, dialect)

    def where(row: int) -> str:
        return f"line {line + line_at(starts(), row)}"

    nothing = Block(path, text.number, 0, where, text.share)
    if text.damage:
        return replace(nothing, broken=((0, f"after line {line}", f"cut off or damaged ({text.damage})", None),))
    if not content or content.isspace():
        return nothing
    refused = ""
    if not (dialect.rule and dialect.rule.whole and _ONE_GROUP.search(content)):
        try:
            table = parse(content, dialect, types)
            return replace(nothing, rows=table.num_rows, table=table)
        except pa.ArrowInvalid as error:
            refused = " ".join(str(error).split())
    try:
        return _salvage(content, line, nothing, dialect, types, lenient)
    except pa.ArrowInvalid:
        last = line + count(content, b"\n") - 1
        return replace(nothing, broken=((0, f"lines {line} to {last}", refused, last - line + 1),))


def parse(text: bytes, dialect: Dialect, types: Mapping[str, Any], invalid: Any = None) -> Any:
    """Read text into a table; `invalid` is called with each line that has the wrong number of fields."""
    from pyarrow import BufferReader
    from pyarrow import csv as arrow_csv

    # In one piece, by one thread: other threads parse other blocks, and pieces need not be put together.
    return arrow_csv.read_csv(
        BufferReader(text),
        read_options=arrow_csv.ReadOptions(column_names=dialect.names, use_threads=False, block_size=len(text) + 1),
        parse_options=arrow_csv.ParseOptions(
            delimiter=dialect.delimiter, newlines_in_values=b'"' in text, invalid_row_handler=invalid
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict(types),
            include_columns=list(types),
            null_values=NULLS,
            strings_can_be_null=True,
            decimal_point=dialect.sign,
        ),
    )


def _salvage(text: bytes, line: int, block: Block, dialect: Dialect, types: Mapping[str, Any], lenient: bool) -> Block:
    """Fill a block by parsing it as text, then column by column: each wrong line and cell is found in one pass."""
    import pyarrow as pa

    wrong: dict[int, str] = {}  # reasons by the row's number among all rows of the block, good or bad

    def note(row: Any) -> str:
        wrong[row.number - 1] = f"{row.actual_columns} fields where the header has {len(dialect.names)}"
        return "skip"

    cleaned = text.decode("utf-8", "replace").encode()  # U+FFFD in place of bytes that are not UTF-8
    table = parse(cleaned, dialect, dict.fromkeys(types, pa.string()), note)
    starts = lines_of_rows(cleaned, dialect)
    rows = np.setdiff1d(np.arange(table.num_rows + len(wrong)), list(wrong))  # numbers of the table's rows
    if cleaned != text:
        both = zip(text.split(b"\n"), cleaned.split(b"\n"), strict=True)
        not_text = [number for number, (before, after) in enumerate(both) if before != after]
        for number in not_text:
            wrong[bisect_right(starts, number) - 1] = "not UTF-8 text (save the file as UTF-8)"
    strays: dict[str, Counter[str]] = {}
    words = {"double": "a number", "int64": "a whole number", "bool": "true or false", "timestamp[us]": "a date"}
    columns = {}
    for name, kind in types.items():
        texts = table.column(name)
        if lenient and pa.types.is_boolean(kind):  # true and false are read among numbers too, each cell on its own
            kind = pa.float64()
        column, stray = convert_texts(texts, kind, dialect.sign, lenient)
        columns[name] = column
        if dialect.rule is not None and pa.types.is_floating(kind):
            for place, refused in refused_numbers(texts, stray, dialect.rule):
                wrong.setdefault(int(rows[place]), dialect.rule.why(name, refused))
        if stray.any():
            texts = table.column(name).take(np.flatnonzero(stray))
            if lenient:
                strays[name] = Counter(texts.to_pylist())
                continue
            for place, value in zip(rows[stray].tolist(), texts.to_pylist(), strict=True):
                expected = words.get(str(kind), str(kind))
                wrong.setdefault(place, f"column {name!r} holds {value!r} where {expected} is expected")
    good, places = np.flatnonzero(~np.isin(rows, list(wrong))), sorted(wrong)
    kept = rows[good]

    def where(place: int) -> str:
        return f"line {line + line_at(starts, place)}"

    before = np.searchsorted(kept, places).tolist()
    broken = tuple((n, where(place), wrong[place], 1) for n, place in zip(before, places, strict=True))
    table = pa.table(columns) if good.size == len(rows) else pa.table(columns).take(good)
    more: Any = {"strays": strays, "broken": broken, "where": lambda row: where(int(kept[row]))}
    return replace(block, rows=good.size, table=table, **more)


def refused_numbers(column: Any, stray: np.ndarray, rule: NumberRule) -> Iterator[tuple[int, str]]:
    """Yield the places and texts of the numbers that a rule refuses; `stray` says which texts could not be read."""
    import pyarrow.compute as pc

    texts = pc.utf8_trim(column, characters=BLANKS)
    refused = np.zeros(len(texts), dtype=bool)
    if stray.any():
        refused = stray & pc.match_substring_regex(texts, rule.unread).fill_null(False).to_numpy()
    if rule.doubtful:
        refused |= pc.match_substring_regex(texts, rule.doubtful).fill_null(False).to_numpy()
    for place in np.flatnonzero(refused).tolist():
        yield place, texts[place].as_py()


def convert_texts(column: Any, kind: Any, decimal: str, lenient: bool) -> tuple[Any, np.ndarray]:
    """Return a column of text as another type, and a mask of texts that are not of that type; these become missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    none = np.zeros(len(column), dtype=bool)
    if pa.types.is_string(kind):
        return column, none
    trimmed = pc.utf8_trim(column, characters=BLANKS)
    series = nw.from_native(trimmed, series_only=True)
    if pa.types.is_floating(kind):
        values, stray = Numbers(decimal).values(series)
        words = r"^[+-]?(?:inf|Inf|INF|infinity|Infinity|nan|NaN)$"
        not_finite = pc.match_substring_regex(trimmed, words).fill_null(False).to_numpy()
        if not_finite.any():
            places = np.flatnonzero(not_finite)
            values[places] = [float(text) for text in trimmed.take(places).to_pylist()]
            stray &= ~not_finite
        if stray.any() and lenient:
            _read_strays(series, decimal, values, stray)
        return pa.chunked_array([pa.array(values, mask=np.isnan(values) & ~not_finite)]).cast(kind), stray
    if pa.types.is_temporal(kind):
        moments, stray = Dates().moments(series)
        return pa.chunked_array([pa.array(moments)]).cast(kind, safe=False), stray
    try:
        return trimmed.cast(kind), none
    except pa.ArrowInvalid:
        texts, wrong = trimmed.to_pylist(), set()
    for text in {*texts} - {None}:
        try:
            pa.array([text]).cast(kind)
        except pa.ArrowInvalid:
            wrong.add(text)
    kept = [None if text in wrong else text for text in texts]
    return pa.chunked_array([pa.array(kept, pa.string())]).cast(kind), np.array([t in wrong for t in texts], bool)


def _read_strays(series: Any, decimal: str, values: np.ndarray, stray: np.ndarray) -> None:
    """Read true, false and numbers with separated thousands or a currency, in place; each cell by itself alone."""
    texts = series[np.flatnonzero(stray)].to_list()
    units = ["", *(unit for unit in CURRENCIES if any(unit in text for text in texts))]
    kinds = [Numbers(sign, thousands, unit) for unit in units for sign, thousands in FORMATS if sign == decimal]
    for kind in kinds:
        places = np.flatnonzero(stray)
        if not places.size:
            return
        values[places], stray[places] = kind.values(series[places])
    places = np.flatnonzero(stray)
    words = [text.lower() for text in series[places].to_list()]
    for word, number in (("true", 1.0), ("false", 0.0)):
        found = places[[text == word for text in words]]
        values[found], stray[found] = number, False


def lines_of_rows(text: bytes, dialect: Dialect) -> list[int]:
    """The line, from 0, at which each row begins."""
    if b'"' not in text:
        lines = enumerate(text.split(b"\n"))
        if b"\r" not in text:
            return [number for number, content in lines if content]
        return [number for number, content in lines for part in content.split(b"\r") if part]  # each \r ends a row
    return [start for start, _ in csv_rows(text, dialect)]


def line_at(starts: list[int], row: int) -> int:
    """Return the line of a row; if quotes make the rows ambiguous, at most the last line that is known."""
    return starts[min(row, len(starts) - 1)] if starts else 0


def csv_rows(text: bytes, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, fields) of each row that is not blank; lines count from 0."""
    reader = csv.reader(
        (line + "\n" for line in text.decode("utf-8", "replace").split("\n")), delimiter=dialect.delimiter
    )
    start = 0
    try:
        for cells in reader:
            if cells:
                yield start, cells
            start = reader.line_num
    except csv.Error:  # a field beyond the csv module's limit: later rows cannot be located
        return


def without_spaces(text: bytes, delimiter: str) -> bytes:
    """Return the text without spaces after delimiters; quoted text stays as it is."""
    sign = delimiter.encode()
    if b'"' not in text:
        for _ in range(4):  # fast for a few spaces, which is the usual case
            longer, text = text, text.replace(sign + b" ", sign)
            if len(text) == len(longer):
                return text
        return re.sub(re.escape(sign) + b" +", sign, text)
    return re.sub(rb'("(?:[^"]|"")*")|(?<=' + re.escape(sign) + rb") +", lambda found: found[1] or b"", text)
