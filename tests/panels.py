"""Tables of repeated rows, and of independent ones with columns that look like names of rows, with a known truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit


class Panel(NamedTuple):
    """Rows of units that were seen several times, the unit of each row, and the columns that name the unit."""

    table: pd.DataFrame
    unit: np.ndarray
    names: list[str]


IDENTIFIERS = ("number", "float", "text", "date", "shuffled number", "long number")
NAMES = ("patient", "RANDID", "x17", "col", "Wert", "site visit", "a")


def identifier(kind: str, units: int, rng: np.random.Generator) -> np.ndarray:
    """A name of each unit."""
    order = rng.permutation(units)
    if kind == "number":
        return 1000 + np.arange(units)
    if kind == "shuffled number":
        return 17 + 3 * order
    if kind == "long number":
        return 7_000_000_000 + rng.permutation(10 * units)[:units]
    if kind == "float":
        return order + 0.5
    if kind == "date":
        return (np.datetime64("2015-03-01") + rng.permutation(5 * units)[:units]).astype(str)
    return np.array([f"{'ABCDE'[k % 5]}-{k:04d}" for k in order])


def panel(
    rng: np.random.Generator,
    units: int = 250,
    visits: int = 6,
    noise: float = 0.02,
    kind: str = "number",
    name: str = "patient",
    label_noise: float = 0.0,
    shuffled: bool = True,
    numbers: bool = False,
) -> Panel:
    """Five facts of each unit, seen with noise (their spread is 1); labels are drawn by unit, and some are changed.

    With `numbers` no fact is a category, and no row equals another in any.
    """
    unit = np.repeat(np.arange(units), visits)
    facts = rng.standard_normal((units, 5))
    seen = facts[unit] + noise * rng.standard_normal((unit.size, 5))
    columns = {f"m{k}": seen[:, k] for k in range(3)}
    columns["grade"] = np.where(rng.random(unit.size) < noise, rng.permutation(facts[unit, 3]), facts[unit, 3]).round(0)
    columns["sex"] = np.where(facts[unit, 4] > 0, "f", "m")
    columns["visit"] = np.tile(np.arange(visits), units)
    if numbers:
        columns = {f"m{k}": seen[:, k] + 1e-9 * rng.standard_normal(unit.size) for k in range(5)}
    columns[name] = identifier(kind, units, rng)[unit]
    sick = (rng.permutation(units) < 0.4 * units)[unit]
    sick = np.where(rng.random(unit.size) < label_noise, ~sick, sick)
    table = pd.DataFrame(columns)[list(rng.permutation(list(columns)))]
    table["outcome"] = np.where(sick, "sick", "well")
    order = rng.permutation(unit.size) if shuffled else np.arange(unit.size)
    return Panel(table.iloc[order].reset_index(drop=True), unit[order], [name])


def independent(rng: np.random.Generator, rows: int = 600, signal: float = 1.0) -> pd.DataFrame:
    """Independent rows with columns that look like names: few levels, postal codes, dates, rounded measurements."""
    size = rng.standard_normal(rows)
    zips = np.sort(rng.choice(90_000, 80, replace=False) + 10_000)
    place = rng.integers(0, 80, rows)
    table = pd.DataFrame(
        {
            "height": (170 + 10 * size).round(0),
            "weight": (70 + 12 * (0.7 * size + 0.7 * rng.standard_normal(rows))).round(1),
            "zip": zips[place],
            "region": np.array([f"r{k // 10}" for k in range(80)])[place],
            "patient_id": rng.integers(0, rows // 3, rows),
            "seen": (np.datetime64("2020-01-01") + rng.integers(0, 300, rows)).astype(str),
            "ward": np.array(list("abcdefgh"))[rng.integers(0, 8, rows)],
            "score": rng.standard_normal(rows),
        }
    )
    odds = signal * (size + table.score + 0.5 * rng.standard_normal(80)[place])
    table["outcome"] = np.where(rng.random(rows) < expit(odds - 0.3), "sick", "well")
    return table


def households(rng: np.random.Generator, units: int = 80, each: int = 40) -> Panel:
    """What households buy under few different prices: rows of a household at the same prices are copies of each other.

    Some households buy at a third of the prices, others nearly never; which prices these are differs.
    """
    unit = np.repeat(np.arange(units), each)
    week = rng.integers(0, 12, unit.size)
    table = pd.DataFrame(rng.integers(80, 120, (12, 3))[week], columns=["price a", "price b", "price c"])
    table["offer"] = rng.integers(0, 2, 12)[week]
    table["hh"] = (100 + rng.permutation(units))[unit]
    share = np.where(rng.random(units) < 0.4, 0.4, 0.03)
    buys = rng.random((units, 12)) < share[:, np.newaxis]
    table["outcome"] = np.where(buys[unit, week], "sick", "well")
    order = rng.permutation(unit.size)
    return Panel(table.iloc[order].reset_index(drop=True), unit[order], ["hh"])


def measurements(rng: np.random.Generator, rows: int = 1000) -> pd.DataFrame:
    """Independent persons with seven rounded measurements of one thing, which go together."""
    size = rng.standard_normal(rows)
    table = pd.DataFrame({f"width {k}": (30 + 9 * (size + 0.3 * rng.standard_normal(rows))).round() for k in range(7)})
    table["outcome"] = np.where(rng.random(rows) < expit(1.5 * np.abs(size) - 1.0), "sick", "well")
    return table


def numbered_inside(rng: np.random.Generator, units: int = 150, visits: int = 5) -> Panel:
    """A panel whose units are numbered from 1 inside each of ten sites: two columns together name them."""
    drawn = panel(rng, units, visits, 0.05)
    table = drawn.table.drop(columns="patient").assign(site=drawn.unit % 10, number=1 + drawn.unit // 10)
    return Panel(table, drawn.unit, ["site", "number"])
