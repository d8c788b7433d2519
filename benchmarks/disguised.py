"""Tables that fool people in disguise: names of units under other names, leaks that hide each other; drawn or renamed.

`python -m benchmarks.raw_tables --disguised` compares what `vrspam train` promises on them with rows of new units. The
drawn tables have the structure of files that are not at hand: visits of a cohort whose numbers move slowly, persons
who come back, cards in stores, patients that are numbered inside each hospital, and columns that are filled in after
the outcome. Their truth is known: a unit's label depends on its facts and on luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.tables import FOOLING, Table, read_table


def plain_panel(rng: np.random.Generator) -> Any:
    """250 patients with 6 visits, five features that vary by 2 %, and labels that are drawn by patient."""
    import pandas as pd

    unit = np.repeat(np.arange(250), 6)
    facts = rng.standard_normal((250, 5))[unit] + 0.02 * rng.standard_normal((1500, 5))
    table = pd.DataFrame(facts, columns=[f"x{k}" for k in range(5)])
    table["visit"], table["who"] = np.tile(np.arange(6), 250), 1000 + unit
    return table.assign(label=np.where(rng.random(250) < 0.5, "sick", "well")[unit])


def cohort(rng: np.random.Generator, leaks: bool = False) -> Any:
    """One to three visits of 1,500 persons, years apart: blood pressure and weight move slowly; an event by person."""
    import pandas as pd

    persons = 1500
    unit = np.repeat(np.arange(persons), rng.integers(1, 4, persons))
    visit = np.arange(unit.size) - np.searchsorted(unit, unit)
    of_person = rng.standard_normal((persons, 6))
    moving = of_person[unit] + 0.6 * rng.standard_normal((unit.size, 6))
    age = (rng.integers(32, 70, persons)[unit] + 6 * visit).astype(float)
    sex = (rng.random(persons) < 0.55) + 1
    risk = -1.5 + 0.5 * of_person[:, 0] + 0.4 * (sex == 1) + 0.8 * rng.standard_normal(persons)
    event = rng.random(persons) < 1.0 / (1.0 + np.exp(-risk))
    table = pd.DataFrame(
        {
            "RANDNR": (2448 + 37 * rng.permutation(persons))[unit],
            "sex": sex[unit],
            "age": age,
            "sysbp": (130 + 20 * moving[:, 0]).round(),
            "diabp": (82 + 8 * moving[:, 0] + 8 * moving[:, 1]).round(),
            "chol": (236 + 40 * moving[:, 2]).round(),
            "bmi": (26 + 4 * of_person[unit, 3] + 0.7 * rng.standard_normal(unit.size)).round(2),
            "cigs": np.maximum(0.0, 10 * moving[:, 4]).round(),
            "glucose": (80 + 12 * moving[:, 5]).round(),
            "educ": rng.integers(1, 5, persons)[unit],
            "period": visit + 1,
        }
    )
    if leaks:
        days = np.where(event, rng.integers(1, 8000, persons), 8766)
        table["time_event"] = days[unit]
        table["hospital"] = np.where(event, rng.random(persons) < 0.8, rng.random(persons) < 0.03)[unit] * 1
        table["angina"] = np.where(event, rng.random(persons) < 0.7, rng.random(persons) < 0.05)[unit] * 1
        later = np.minimum(8766, days + rng.integers(0, 2000, persons))
        table["time_death"] = np.where(rng.random(persons) < 0.9, later, 8766)[unit]
    return table.assign(label=np.where(event, "event", "none")[unit])


def returning_persons(rng: np.random.Generator) -> Any:
    """Arrests of 1,800 persons, whose name and date of birth alone say who they are; columns of what came later."""
    import pandas as pd

    persons = 1800
    unit = np.repeat(np.arange(persons), rng.geometric(0.45, persons))
    n = unit.size
    again = rng.random(persons) < 1.0 / (1.0 + np.exp(0.3 - 1.2 * rng.standard_normal(persons)))
    label = np.where(rng.random(n) < 0.92, again[unit], ~again[unit])
    birth = np.datetime64("1950-01-01") + rng.integers(0, 15_000, persons)
    table = pd.DataFrame(
        {
            "who": np.array([f"{k:05d} {'abcdefgh'[k % 8]}" for k in rng.permutation(persons)])[unit],
            "born": birth.astype(str)[unit],
            "sex": rng.choice(["m", "f"], persons, p=[0.8, 0.2])[unit],
            "group": rng.choice(list("abcd"), persons)[unit],
            "priors": rng.poisson(2.0, persons)[unit] + rng.poisson(0.5, n),
            "charge": rng.choice([f"c{k}" for k in range(60)], n),
            "days": rng.poisson(20, n),
        }
    )
    after = rng.random(n) < np.where(label, 0.97, 0.03)
    table["flag"] = after * 1
    table["later_date"] = np.where(label, rng.integers(1, 700, n).astype(float), np.nan)
    table["later_date"] = table["later_date"].where(rng.random(n) < 0.9)
    return table.assign(label=np.where(label, "again", "not"))


def crossing(rng: np.random.Generator) -> Any:
    """Payments of cards in stores, named k1 and k2: four columns follow from the store, two from the card."""
    import pandas as pd

    rows, card, store = 4000, rng.integers(0, 1200, 4000), rng.integers(0, 250, 4000)
    odds = 2.5 * rng.standard_normal(1200)[card] + 0.8 * rng.standard_normal(250)[store] - 0.5
    table = pd.DataFrame({"k1": 50_000 + 3 * card, "k2": 7 * store})
    for name in ("lat", "lng", "height", "area"):
        table[name] = rng.standard_normal(250)[store].round(3)
    for name, values in (("provider", 10), ("expiry", 60)):
        table[name] = np.char.add(name[0], rng.integers(0, values, 1200).astype(str))[card]
    table["amount"] = rng.lognormal(3.0, 1.0, rows).round(2)
    return table.assign(label=np.where(rng.random(rows) < 1.0 / (1.0 + np.exp(-odds)), "yes", "no"))


def numbered_in_hospitals(rng: np.random.Generator) -> Any:
    """Patients that are numbered from 1 inside each of 12 hospitals: two columns together name them."""
    table = plain_panel(rng)
    unit = table["who"].to_numpy() - 1000
    return table.drop(columns="who").assign(hospital=np.array(list("abcdefghijkl"))[unit % 12], number=1 + unit // 12)


def dates_of_birth(rng: np.random.Generator) -> Any:
    """The panel, whose patients have a date of birth and no number."""
    table = plain_panel(rng)
    born = np.datetime64("1940-01-01") + rng.choice(20_000, 250, replace=False)
    return table.assign(who=born.astype(str)[table["who"].to_numpy() - 1000])


def noisy_texts(rng: np.random.Generator) -> Any:
    """The panel with noise of a third of the spread, names that are texts, and labels that change in 10 % of rows."""
    table = plain_panel(rng)
    for name in table.columns[:5]:
        table[name] += 0.3 * rng.standard_normal(len(table))
    table["who"] = np.array([f"{'xyz'[k % 3]}{k * 7919 % 1000:03d}" for k in table["who"]])
    sick = (table["label"] == "sick").to_numpy() ^ (rng.random(len(table)) < 0.1)
    return table.assign(label=np.where(sick, "sick", "well"))


#: How a table is drawn, the columns that name a unit, and the label to look for.
DRAWN: dict[str, tuple[Callable[[np.random.Generator], Any], tuple[str, ...], str]] = {
    "plain panel": (plain_panel, ("who",), "sick"),
    "cohort": (cohort, ("RANDNR",), "event"),
    "cohort with leaks": (lambda rng: cohort(rng, leaks=True), ("RANDNR",), "event"),
    "returning persons": (returning_persons, ("who",), "again"),
    "crossing names": (crossing, ("k1",), "yes"),
    "two columns": (numbered_in_hospitals, ("hospital", "number"), "sick"),
    "dates of birth": (dates_of_birth, ("who",), "sick"),
    "noisy texts": (noisy_texts, ("who",), "sick"),
}

HOUSEHOLDS = {
    name: Table("Ecdat", "Yogurt", "choice", (), "id", name) for name in ("yoplait", "dannon", "weight", "hiland")
}


def disguised() -> Iterator[tuple[str, Callable[[], Any], Table]]:
    """Name, frame and description of each table: drawn ones, households, and the real ones with columns c0, c1, ..."""
    for name, (draw, key, positive) in DRAWN.items():
        yield name, partial(draw_shuffled, draw), Table("", name, "label", (), "+".join(key), positive)
    for name, table in HOUSEHOLDS.items():
        yield f"households, {name}", partial(read_household, table), table
    for name, table in FOOLING.items():
        if table.groups:
            names = renamed(table)
            left_out = tuple(names[column] for column in table.left_out)
            known = table._replace(target=names[table.target], groups=names[table.groups], left_out=left_out)
            yield f"{name}, renamed", partial(read_renamed, table), known


def draw_shuffled(draw: Callable[[np.random.Generator], Any]) -> Any:
    """A drawn table, its rows in a random order."""
    return shuffled(draw(np.random.default_rng(46)))


def read_household(table: Table) -> Any:
    """A real table without the numbers of its rows."""
    return read_table(table).drop(columns="rownames")


def read_renamed(table: Table) -> Any:
    """A real table whose columns have names without a meaning."""
    return read_table(table).rename(columns=renamed(table))


def renamed(table: Table) -> dict[str, str]:
    """A name without a meaning for each column."""
    return {name: f"c{number}" for number, name in enumerate(read_table(table).columns)}


def shuffled(frame: Any) -> Any:
    """The rows in a random order."""
    return frame.sample(frac=1.0, random_state=0).reset_index(drop=True)
