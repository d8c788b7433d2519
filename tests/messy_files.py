"""Tables as people have them, each with its clean twin: how a messy file is written, and what must come out."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROWS = 200


@cache
def _base() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    sick = rng.random(ROWS) < 0.4
    income = np.round(np.exp(rng.normal(7.5, 1.0, ROWS) + 0.4 * sick), 2)
    income[0], income[1] = 4012.5, 12.0
    seconds = rng.integers(0, 700 * 86_400, ROWS) + 40 * 86_400 * sick
    return pd.DataFrame(
        {
            "age": np.round(rng.normal(55, 12, ROWS) + 8 * sick, 1),
            "income": income,
            "visit": pd.Timestamp("2020-01-15 06:00:00") + pd.to_timedelta(seconds, unit="s"),
            "town": np.where(rng.random(ROWS) < 0.3, "Köln", rng.choice(["Graz", "Linz"], ROWS)),
            "sick": np.where(sick, "yes", "no"),
        }
    )


def base() -> pd.DataFrame:
    """Numbers, a date with its time, categories and labels."""
    return _base().copy()


def clean(*parts: str) -> pd.DataFrame:
    """The table as one would clean it by hand: no text but categories, and some `parts` of the date."""
    frame = base()
    when = frame["visit"]
    nanoseconds = when.to_numpy().astype("datetime64[us]").astype(np.int64)
    if "year" in parts and "hour" not in parts:
        nanoseconds = when.dt.normalize().to_numpy().astype("datetime64[us]").astype(np.int64)
    values = {
        "year": 1970.0 + nanoseconds / (86_400e6 * 365.2425),
        "month": when.dt.month.astype(float),
        "weekday": when.dt.day_of_week + 1.0,
        "hour": when.dt.hour.astype(float),
    }
    made = {f"visit ({part})": np.asarray(values[part]) for part in parts}
    return pd.DataFrame(
        {"age": frame["age"], "income": frame["income"], **made, "town": frame["town"], "sick": frame["sick"]}
    )


DAY, MOMENT = ("year", "month", "weekday"), ("year", "month", "weekday", "hour")


@dataclass(frozen=True)
class Messy:
    """A messy file, and the table that it should be read as."""

    name: str
    write: Callable[[Path], Path]
    twin: Callable[[], pd.DataFrame]
    says: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


def text_of(frame: pd.DataFrame, **options: Any) -> str:
    out = io.StringIO()
    frame.to_csv(out, index=False, **{"lineterminator": "\n", **options})
    return out.getvalue()


def written(frame: Callable[[], pd.DataFrame], end: str = "csv", encoding: str = "utf-8", **options: Any) -> Any:
    """A function that writes a frame as CSV; `change` is applied to the text."""
    change = options.pop("change", lambda text: text)
    pack = options.pop("pack", lambda data: data)

    def write(folder: Path) -> Path:
        path = folder / f"messy.{end}"
        path.write_bytes(pack(change(text_of(frame(), **options)).encode(encoding)))
        return path

    return write


def column(name: str, form: Callable[[Any], Any], frame: Callable[[], pd.DataFrame] | None = None) -> Any:
    """The clean table (without its date) with the values of one column written in another form."""

    def make() -> pd.DataFrame:
        table = (frame or clean)()
        table[name] = [form(value) for value in table[name]]
        return table

    return make


def dated(form: Callable[[pd.Timestamp], Any]) -> Callable[[], pd.DataFrame]:
    """The table with its date in some form."""

    def make() -> pd.DataFrame:
        table = base()
        table["visit"] = [form(when) for when in table["visit"]]
        return table

    return make


def written_as(when: pd.Timestamp, form: str) -> str:
    return when.strftime(form)


def german(value: float, thousands: str = ".") -> str:
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", thousands)


def with_gaps(name: str, word: Any, every: int = 23) -> tuple[Any, Any]:
    """The table with a word in some cells of a column, and its twin with nothing there."""

    def messy() -> pd.DataFrame:
        table = clean().astype({name: object})
        table.loc[table.index[3::every], name] = word
        return table

    def twin() -> pd.DataFrame:
        table = clean()
        table.loc[table.index[3::every], name] = np.nan
        return table

    return messy, twin


def number_cases() -> list[Messy]:
    """Numbers that look like text."""
    forms = {
        "dollars": lambda v: f"${v:,.2f}",
        "thousands": lambda v: f"{v:,.2f}",
        "European in quotes": german,
        "spaces between thousands": lambda v: german(v, " "),
        "no-break spaces": lambda v: german(v, "\u00a0"),
        "narrow spaces": lambda v: german(v, "\u202f"),
        "apostrophes": lambda v: f"{v:,.2f}".replace(",", "'"),
        "percent": lambda v: f"{v:.2f} %",
        "percent without a space": lambda v: f"{v:.2f}%",
        "euros behind": lambda v: f"{german(v)} €",
        "a currency code": lambda v: f"EUR {v:,.2f}",
        "pounds": lambda v: f"£{v:,.2f}",
        "blanks around": lambda v: f"  {v:,.2f} ",
        "a sign of plus": lambda v: f"+{v:.2f}",
        "powers of ten": lambda v: f"{v:.17e}",
    }
    cases = [Messy(name, written(column("income", form)), clean) for name, form in forms.items()]
    said = {"dollars", "thousands", "European in quotes", "percent", "a currency code"}
    cases = [
        Messy(c.name, c.write, c.twin, ("'income' holds text that was read as numbers",) if c.name in said else ())
        for c in cases
    ]

    def debts() -> pd.DataFrame:
        return column("income", lambda v: -v if v > 3000 else v)()

    def accountant(value: float) -> str:
        return f"({-value:,.2f})" if value < 0 else f"{value:,.2f}"

    cases.append(Messy("negative in parentheses", written(column("income", accountant, debts)), debts))
    minus = column("income", lambda v: f"{v:,.2f}".replace("-", "\u2212"), debts)
    cases.append(Messy("the sign of minus", written(minus), debts))

    def rounded() -> pd.DataFrame:
        return column("income", lambda v: float(round(v / 10)))()

    few = written(column("income", lambda v: f"{v:,.0f}", rounded))
    cases.append(Messy("thousands in few numbers alone", few, rounded))
    cases.append(Messy("European file", written(clean, sep=";", decimal=","), clean))
    cases.append(Messy("European thousands", written(column("income", german), sep=";", decimal=","), clean))
    cases.append(Messy("decimal commas between tabs", written(clean, end="tsv", sep="\t", decimal=","), clean))
    cases.append(Messy("all in quotes", written(clean, quoting=1), clean))
    for word in ("?", "-", "unknown", "#DIV/0!", ".", "n/a", "Not Available"):
        messy, twin = with_gaps("age", word)
        says = () if word == "n/a" else (f"'age' holds numbers; 9 values that are not ({word!r}) count as missing",)
        cases.append(Messy(f"stray {word}", written(messy), twin, says))
    messy, twin = with_gaps("age", "?", every=3)
    cases.append(Messy("a third is unknown", written(messy), twin, ("66 values that are not ('?') count as missing",)))
    messy, twin = with_gaps("age", "see letter")
    cases.append(Messy("stray words", written(messy), twin, ("9 values that are not ('see letter') count as missing",)))
    messy, twin = with_gaps("income", "none")
    dollars = column("income", lambda v: v if isinstance(v, str) else f"${v:,.2f}", messy)
    cases.append(
        Messy("dollars and words", written(dollars), twin, ("9 values that are not ('none') count as missing",))
    )
    return cases


def date_cases() -> list[Messy]:
    """Dates and times."""
    days = {
        "ISO": "%Y-%m-%d",
        "month first": "%m/%d/%Y",
        "day first": "%d/%m/%Y",
        "points": "%d.%m.%Y",
        "slashes, year first": "%Y/%m/%d",
        "month in words": "%d %B %Y",
        "month in short": "%d-%b-%y",
        "American words": "%b %d, %Y",
        "weekday before": "%A, %d %B %Y",
        "two digits of the year": "%m/%d/%y",
    }
    says = {"month first": "read as dates, the month first", "day first": "the day first", "points": "the day first"}
    cases = []
    for name, form in days.items():
        words = (says[name],) if name in says else ("dates",)
        made = dated(partial(written_as, form=form))
        cases.append(Messy(f"dates: {name}", written(made), lambda: clean(*DAY), words))
    moments = {
        "ISO": "%Y-%m-%d %H:%M:%S",
        "T": "%Y-%m-%dT%H:%M:%S",
        "UTC": "%Y-%m-%dT%H:%M:%SZ",
        "slashes": "%Y/%m/%d %H:%M:%S",
        "American": "%m/%d/%Y %I:%M:%S %p",
        "German": "%d.%m.%Y %H:%M:%S",
    }
    for name, form in moments.items():
        made = dated(partial(written_as, form=form))
        cases.append(Messy(f"times: {name}", written(made), lambda: clean(*MOMENT)))

    def gaps(parts: tuple[str, ...]) -> pd.DataFrame:
        twin = clean(*parts)
        twin.loc[twin.index[5::40], [f"visit ({part})" for part in parts]] = np.nan
        return twin

    def unknown(form: str) -> Callable[[], pd.DataFrame]:
        def make() -> pd.DataFrame:
            table = dated(lambda when: when.strftime(form))()
            table.loc[table.index[5::40], "visit"] = "unknown"
            return table

        return make

    unread = ("5 values that are", "('unknown') count as missing")
    cases.append(Messy("dates: some unknown", written(unknown("%Y-%m-%d")), lambda: gaps(DAY), unread))
    cases.append(Messy("dates: American, some unknown", written(unknown("%m/%d/%Y")), lambda: gaps(DAY), unread[1:]))

    def parquet(change: Callable[[pd.DataFrame], pd.DataFrame], end: str = "parquet") -> Callable[[Path], Path]:
        def write(folder: Path) -> Path:
            path = folder / f"messy.{end}"
            table = change(base())
            table.to_parquet(path) if end == "parquet" else table.to_feather(path)
            return path

        return write

    def moment() -> pd.DataFrame:
        return clean(*MOMENT)

    cases.append(Messy("dates: Parquet", parquet(lambda t: t), moment))
    cases.append(Messy("dates: Feather", parquet(lambda t: t, "feather"), moment))
    zoned = parquet(lambda t: t.assign(visit=t["visit"].dt.tz_localize("UTC")))
    cases.append(Messy("dates: Parquet with a time zone", zoned, moment))
    only_days = parquet(lambda t: t.assign(visit=t["visit"].dt.date))
    cases.append(Messy("dates: Parquet without times", only_days, lambda: clean(*DAY)))
    texts = parquet(lambda t: t.assign(visit=t["visit"].dt.strftime("%d.%m.%Y"), income=t["income"].map(german)))
    cases.append(Messy("dates: Parquet as text", texts, lambda: clean(*DAY)))
    dropped = written(dated(lambda when: when.strftime("%d.%m.%Y")))
    cases.append(Messy("dates: left out", dropped, clean, ("'visit' holds dates; left out",), {"dates": "drop"}))
    return cases


def clock_cases() -> list[Messy]:
    """Times of day and durations, which become hours."""

    def quarters() -> pd.DataFrame:
        table = clean()
        hours = np.random.default_rng(8).integers(0, 60, len(table)) / 4.0 + 5.0 * (table["sick"] == "yes")
        table.insert(2, "start", hours)
        return table

    def clock(form: Callable[[timedelta], Any], longer: float = 1.0) -> Callable[[], pd.DataFrame]:
        def make() -> pd.DataFrame:
            table = quarters()
            return table.assign(start=[form(timedelta(hours=longer * hours)) for hours in table["start"]])

        return make

    def twin(longer: float = 1.0) -> Callable[[], pd.DataFrame]:
        return lambda: quarters().assign(start=lambda table: longer * table["start"])

    def on_the_clock(since: timedelta, form: str) -> str:
        return (datetime(2020, 1, 1) + since).strftime(form)

    def passed(since: timedelta) -> str:
        minutes = int(since.total_seconds()) // 60
        return f"{minutes // 60}:{minutes % 60:02d}"

    def parquet(form: Callable[[timedelta], Any]) -> Callable[[Path], Path]:
        def write(folder: Path) -> Path:
            clock(form)().to_parquet(folder / "messy.parquet")
            return folder / "messy.parquet"

        return write

    said = ("'start' holds text that was read as times, in hours",)
    forms = {"hours and minutes": "%H:%M", "with seconds": "%H:%M:%S", "halves of the day": "%I:%M %p"}
    cases = [
        Messy(f"clock: {name}", written(clock(partial(on_the_clock, form=form))), twin(), said)
        for name, form in forms.items()
    ]
    cases.append(Messy("clock: durations", written(clock(passed, 3.0)), twin(3.0), said))
    hours = ("'start' holds times, which are read as hours",)
    cases.append(Messy("clock: Parquet, durations", parquet(lambda since: since), twin(), hours))
    of_day = parquet(lambda since: (datetime(2020, 1, 1) + since).time())
    cases.append(Messy("clock: Parquet, times of day", of_day, twin(), hours))
    return cases


def layout_cases() -> list[Messy]:
    """Delimiters, spaces, quotes, encodings, packing."""

    def spaced(text: str) -> str:
        return text.replace(",", ", ")

    def quoted_town() -> pd.DataFrame:
        return column("town", lambda v: f"{v}, old" if v == "Graz" else v)()

    def two_lines() -> pd.DataFrame:
        return column("town", lambda v: f"{v}\nold" if v == "Graz" else v)()

    cases = [
        Messy("a space after the comma", written(clean, change=spaced), clean),
        Messy("a space after the semicolon", written(clean, sep=";", change=lambda t: t.replace(";", "; ")), clean),
        Messy("spaces in the names", written(clean, change=lambda t: t.replace("age,income", " age , income")), clean),
        Messy("tabs", written(clean, end="tsv", sep="\t"), clean),
        Messy("bars", written(clean, sep="|"), clean),
        Messy("Windows lines", written(clean, lineterminator="\r\n"), clean),
        Messy("a byte order mark", written(clean, encoding="utf-8-sig"), clean),
        Messy("blank lines", written(clean, change=lambda t: t.replace("\n", "\n\n")), clean),
        Messy("no line end", written(clean, change=str.rstrip), clean),
        Messy("commas in quotes", written(quoted_town), quoted_town),
        Messy("line ends in quotes", written(two_lines), two_lines),
        Messy("Latin-1", written(clean, encoding="latin-1"), clean, ("is read as WINDOWS-1252 text",)),
        Messy("Windows-1252", written(clean, encoding="cp1252"), clean, ("is read as WINDOWS-1252 text",)),
        Messy("UTF-16", written(clean, encoding="utf-16"), clean, ("is read as UTF-16 text",)),
        Messy("UTF-16 without a mark", written(clean, encoding="utf-16-be"), clean, ("UTF-16-BE",)),
        Messy("an encoding that is given", written(clean, encoding="cp850"), clean, (), {"encoding": "cp850"}),
        Messy("gzip", written(clean, end="csv.gz", pack=gzip.compress), clean),
        Messy("bzip2", written(clean, end="csv.bz2", pack=bz2.compress), clean),
        Messy("xz, in Latin-1", written(clean, end="csv.xz", pack=lzma.compress, encoding="latin-1"), clean),
        Messy("a name that says nothing", written(clean, end="txt"), clean),
    ]

    def spaced_quotes(folder: Path) -> Path:
        path = folder / "messy.csv"
        lines = [", ".join(f'"{cell}"' for cell in line.split(",")) for line in text_of(clean()).splitlines()]
        path.write_text("\n".join(lines), "utf-8")
        return path

    return [*cases, Messy("a space after the comma, and quotes", spaced_quotes, clean)]


def row_cases() -> list[Messy]:
    """Rows and columns that are left out."""

    def unlabelled(word: Any) -> tuple[Any, Any]:
        def messy() -> pd.DataFrame:
            table = clean()
            table.loc[table.index[::20], "sick"] = word
            return table

        return messy, lambda: clean().drop(index=clean().index[::20]).reset_index(drop=True)

    cases = []
    for word in ("", "NA", "null"):
        messy, twin = unlabelled(word)
        cases.append(Messy(f"labels {word!r}", written(messy), twin, ("10 of 200 rows (5.0 %) have no label",)))

    def numbered(values: Any) -> Callable[[], pd.DataFrame]:
        def make() -> pd.DataFrame:
            table = clean()
            table.insert(0, "patient", values)
            return table

        return make

    rng = np.random.default_rng(3)
    left_out = ("'patient' numbers the rows",)
    cases += [
        Messy("row numbers", written(numbered(np.arange(ROWS))), clean, left_out),
        Messy("numbers in no order", written(numbered(rng.permutation(10**7)[:ROWS])), clean, left_out),
        Messy(
            "names", written(numbered([f"P-{k:04d}x" for k in rng.permutation(ROWS)])), clean, ("'patient' differs",)
        ),
        Messy("an empty column", written(numbered(np.full(ROWS, np.nan))), clean, ("'patient' has no values",)),
        Messy(
            "a column without a name",
            written(lambda: numbered(np.arange(ROWS))().rename(columns={"patient": ""})),
            clean,
        ),
    ]

    def with_lines(change: Callable[[list[str]], None]) -> Callable[[Path], Path]:
        def write(folder: Path) -> Path:
            lines = text_of(clean()).splitlines()
            change(lines)
            path = folder / "messy.csv"
            path.write_text("\n".join(lines), "utf-8")
            return path

        return write

    def too_many(lines: list[str]) -> None:
        lines[10] += ",more"

    def too_few(lines: list[str]) -> None:
        lines[10] = "12"

    def without_row() -> pd.DataFrame:
        return clean().drop(index=9).reset_index(drop=True)

    skipping = {"skip_errors": True}
    said = ("left out 1 broken", "line 11")
    cases.append(Messy("a field too many", with_lines(too_many), without_row, said, skipping))
    cases.append(Messy("fields too few", with_lines(too_few), without_row, said, skipping))
    return cases


MESSY = [*number_cases(), *date_cases(), *clock_cases(), *layout_cases(), *row_cases()]
