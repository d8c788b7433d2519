"""Rows of one unit are kept together whatever its column is called, and independent rows are not: for any panel."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from laws_support import examples
from panels import IDENTIFIERS, NAMES, Panel, households, independent, measurements, numbered_inside, panel

from vrspam.checks.near_copies import find_near_copies
from vrspam.tool import TrainPlan, check, evaluate, train
from vrspam.tool.checking import open_checked

GROUPS = ("repeated-rows", "duplicates")


def groups_of(table, **asked) -> np.ndarray | None:
    """The groups that folds keep together, or None."""
    opened, _ = open_checked(table, TrainPlan("outcome", "sick", **asked))
    return opened.groups


def keep_units(groups: np.ndarray | None, unit: np.ndarray) -> bool:
    """Whether rows of a unit are in one group, up to one in a hundred pairs, and groups are not much coarser."""
    if groups is None:
        return False
    order = np.argsort(unit, kind="stable")
    same = unit[order][1:] == unit[order][:-1]
    together = (groups[order][1:] == groups[order][:-1])[same].mean()
    return together > 0.99 and np.unique(groups).size > 0.5 * np.unique(unit).size


def draw_panel(seed: int, **given) -> Panel:
    """A panel of any size, noise, name and form of its identifier."""
    rng = np.random.default_rng(seed)
    drawn = {
        "units": int(rng.integers(30, 401)),
        "visits": int(rng.integers(2, 9)),
        "noise": float(rng.choice([0.0, 0.02, 0.1, 0.3])),
        "kind": str(rng.choice(IDENTIFIERS)),
        "name": str(rng.choice(NAMES)),
        "label_noise": float(rng.choice([0.0, 0.0, 0.05, 0.1])),
        "shuffled": bool(rng.random() < 0.7),
        "numbers": bool(rng.random() < 0.5),
    }
    return panel(rng, **{**drawn, **given})


@pytest.mark.parametrize("seed", range(examples(10)))
def test_repeated_rows_are_found(seed):
    drawn = draw_panel(seed)
    assert keep_units(groups_of(drawn.table), drawn.unit)


@pytest.mark.parametrize("seed", range(examples(3)))
@pytest.mark.parametrize("draw", [households, numbered_inside])
def test_what_no_single_fact_tells_is_found(draw, seed):
    drawn = draw(np.random.default_rng(seed))
    opened, found = open_checked(drawn.table, TrainPlan("outcome", "sick"))
    assert keep_units(opened.groups, drawn.unit)
    (told,) = (one for one in found.findings if one.code in GROUPS)
    assert told.severity == "severe"
    assert told.fix is not None
    assert sorted(told.fix.value.split(",")) == sorted(drawn.names)


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.UnseenValues")
@pytest.mark.parametrize("seed", range(examples(2)))
def test_two_columns_name_groups_for_training_and_for_new_rows(seed):
    drawn = numbered_inside(np.random.default_rng(seed))
    model = train(drawn.table, "outcome", "sick", features="linear", groups="site,number")
    assert model.training["groups"] == "site,number"
    assert {"site", "number"} <= set(model.schema.columns)
    groups = evaluate(model, drawn.table).groups
    assert groups is not None
    assert np.unique(groups).size == np.unique(drawn.unit).size
    assert keep_units(groups, drawn.unit)


@pytest.mark.parametrize("seed", range(examples(8)))
def test_independent_rows_are_not(seed):
    rng = np.random.default_rng(seed)
    table = independent(rng, int(rng.integers(150, 2500)), rng.choice([0.0, 0.5, 1.5]))
    opened, found = open_checked(table, TrainPlan("outcome", "sick"))
    assert opened.groups is None
    assert not [one for one in found.findings if one.code in GROUPS and one.severity == "severe"]


@pytest.mark.parametrize("seed", range(examples(2)))
def test_texts_name_units_whose_numbers_are_never_equal(seed):
    """Neither equal values nor an order of the names can tell: only the ranks of what was measured."""
    drawn = draw_panel(seed, kind="text", numbers=True, noise=0.1)
    assert keep_units(groups_of(drawn.table), drawn.unit)


@pytest.mark.parametrize("seed", range(examples(4)))
def test_measurements_that_go_together_name_nothing(seed):
    table = measurements(np.random.default_rng(seed))
    assert not [str(one) for one in check(table, "outcome", "sick") if one.code == "repeated-rows"]


def findings(table) -> list[tuple]:
    """What is found in a table, without the numbers that findings show."""
    return [(one.code, one.severity, one.fix and one.fix.option) for one in check(table, "outcome", "sick")]


@pytest.mark.parametrize("seed", range(examples(3)))
def test_names_of_columns_change_no_finding(seed):
    table = draw_panel(seed, name="patient_id").table
    called = {name: f"c{number}" for number, name in enumerate(table.columns.drop("outcome"))}
    assert findings(table) == findings(table.rename(columns=called))


@pytest.mark.parametrize("seed", range(examples(3)))
def test_the_order_of_the_rows_changes_no_finding_on_groups(seed):
    rng = np.random.default_rng(seed)
    for table in (draw_panel(seed).table, independent(rng, 400)):
        again = table.iloc[rng.permutation(len(table))].reset_index(drop=True)
        same = [
            [str(found) for found in check(one, "outcome", "sick") if found.code in GROUPS] for one in (table, again)
        ]
        assert same[0] == same[1]


@pytest.mark.parametrize("name", ["patient", "id", "RANDID", "x"])
def test_the_plainest_panel(name):
    """250 patients with 6 visits each, whose features vary by 2 %, and labels by patient: the truth is 0.5."""
    drawn = panel(np.random.default_rng(0), 250, 6, 0.02, "number", name)
    (found,) = (one for one in check(drawn.table, "outcome", "sick") if one.code == "repeated-rows")
    assert (found.severity, found.fix and found.fix[:2]) == ("severe", ("groups", name))
    assert float(found.numbers["together"]) < 0.65


@pytest.mark.parametrize("seed", range(examples(3)))
def test_visits_are_found_without_any_column_that_names_their_patient(seed):
    """Numbers that nearly agree make rows copies, in whatever order they lie and whatever else is in the table."""
    rng = np.random.default_rng([seed, 31])
    units, visits = int(rng.integers(100, 300)), int(rng.integers(2, 7))
    unit = rng.permutation(np.repeat(np.arange(units), visits))
    level = rng.standard_normal((units, int(rng.integers(4, 8))))
    X = np.exp(level[unit] + 0.01 * rng.standard_normal((unit.size, level.shape[1])))
    table = pd.DataFrame(X).add_prefix("lab ").assign(ward=rng.choice(["a", "b", "c"], unit.size))
    table["outcome"] = np.where((rng.random(units) < 0.4)[unit], "sick", "well")
    assert keep_units(groups_of(table), unit)


@pytest.mark.parametrize("seed", range(examples(3)))
def test_independent_rows_near_each_other_are_no_copies(seed):
    """On lines, in clusters, over many scales and in time rows are near, and no nearer than others are."""
    rng = np.random.default_rng([seed, 32])
    n = int(rng.integers(300, 1500))
    along = rng.random((n, 1))
    kinds = {
        "line": np.hstack([along, along**2, np.sin(5 * along)]) + 1e-3 * rng.standard_normal((n, 3)),
        "clusters": rng.standard_normal((10, 4))[rng.integers(0, 10, n)] + 0.05 * rng.standard_normal((n, 4)),
        "heavy": rng.standard_t(1, (n, 5)),
        "together": rng.standard_normal((n, 1)) + 0.05 * rng.standard_normal((n, 5)),
        "in time": np.cumsum(rng.standard_normal((n, 4)), axis=0),
    }
    for kind, X in kinds.items():
        codes = {str(number): column.argsort().argsort() for number, column in enumerate(X.T)}
        assert find_near_copies(codes, codes) is None, kind


@pytest.mark.parametrize("end", ["frame", "csv", "parquet"])
@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_groups_that_are_found_are_those_that_are_named(kind, end, tmp_path):
    """As if the user had named the column: the same features, rows and findings, and groups of the same numbers."""
    drawn = draw_panel(3, units=60, visits=5, kind=kind, name="patient", noise=0.02, label_noise=0.0)
    drawn.table.loc[[3, 50], "patient"] = None
    table = drawn.table
    if end == "csv":
        table.to_csv(tmp_path / "t.csv", index=False)
    elif end == "parquet":
        table.to_parquet(tmp_path / "t.parquet")
    path = table if end == "frame" else tmp_path / f"t.{end}"
    found, _ = open_checked(path, TrainPlan("outcome", "sick"))
    named, _ = open_checked(path, TrainPlan("outcome", "sick", groups="patient"))
    np.testing.assert_array_equal(found.groups, named.groups)
    assert found.schema == named.schema
    assert found.rows.equals(named.rows)
    assert found.findings == named.findings
    assert found.named == named.named
