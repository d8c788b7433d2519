"""A doctor never ends a command: whatever runs with rows taken as independent runs with the groups that it finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from laws_support import examples
from panels import IDENTIFIERS, identifier, panel

from vrspam.model_selection import group_splits
from vrspam.tool import check, make_report, train


def hostile(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A table whose rows are grouped in a hostile way, and options that meet the column of groups."""
    units, most = int(rng.integers(20, 120)), int(rng.choice([2, 3, 8]))
    sizes = rng.integers(1, most + 1, units)
    if rng.random() < 0.3:
        sizes[0] = 5 * units  # one large group
    unit = np.repeat(np.arange(units), sizes)
    n = unit.size

    of_unit = rng.standard_normal((units, 4))
    noise = rng.choice([0.0, 0.02, 0.3])
    columns: dict[str, Any] = {f"m{k}": of_unit[unit, k] + noise * rng.standard_normal(n) for k in range(3)}
    columns["kind"] = np.where(of_unit[:, 3] > 0, "a", "b")[unit]
    columns["visit"] = np.arange(n) % 7
    names = identifier(str(rng.choice(IDENTIFIERS)), units, rng)[unit]
    columns["who"] = names
    if rng.random() < 0.2:  # nothing but the groups
        columns = {"who": names}

    few = int(rng.choice([1, 2, 3, units // 2]))
    sick = unit < few if rng.random() < 0.5 else (unit < few) & (rng.random(n) < 0.6)
    if min(sick.sum(), (~sick).sum()) < 8:
        sick[:8] = True
        sick[-8:] = False
    table = pd.DataFrame(columns)
    gaps = rng.choice([0.0, 0.0, 1.5 / n, 0.2, 0.9])
    table["who"] = table["who"].where(rng.random(n) >= gaps)
    table["outcome"] = np.where(sick, "sick", "well")
    if rng.random() < 0.3:
        table["clinic"] = unit % 5 if rng.random() < 0.5 else rng.integers(0, 30, n)
    table = table.sample(frac=1.0, random_state=int(rng.integers(0, 1000))).reset_index(drop=True)

    options: list[dict[str, Any]] = [{}, {}, {}, {"n_splits": 10}, {"categorical": ["who"]}, {"include": ["who"]}]
    if pd.api.types.is_numeric_dtype(table["who"]):
        options.append({"monotone": {"who": 1}})
    if "clinic" in table:
        options.append({"within": "clinic"})
    return table, options[int(rng.integers(0, len(options)))]


def outcome_of(command, table, **asked) -> str:
    """What a command says of a table, if it refuses it."""
    try:
        command(table, "outcome", "sick", **asked)
    except ValueError as error:
        return f"{type(error).__name__}: {error}"
    return ""


COMMANDS = {
    "check": (check, ("categorical", "include"), {}),
    "train": (train, ("categorical", "include", "n_splits", "monotone", "within"), {"features": "linear"}),
    "report": (make_report, ("categorical", "include", "n_splits", "monotone", "within"), {"features": "linear"}),
}


@pytest.mark.parametrize("seed", range(examples(25)))
def test_what_runs_with_independent_rows_runs_with_the_groups_that_are_found(seed):
    rng = np.random.default_rng(seed)
    table, options = hostile(rng)
    name = str(rng.choice(list(COMMANDS)))
    command, known, more = COMMANDS[name]
    asked = {**more, **{key: value for key, value in options.items() if key in known}}
    if name == "report":
        asked |= {"rows": 0}
        asked |= {"holdout": float(rng.choice([0.1, 0.3, 0.5]))} if rng.random() < 0.5 else {}
        asked |= {"by": ["who"]} if rng.random() < 0.3 else {}
    found = outcome_of(command, table, **asked)
    if found:
        assert outcome_of(command, table, groups="none", **asked) == found


@pytest.mark.parametrize("asked", [{"monotone": {"who": 1}}, {"include": ["who"]}, {"categorical": ["who"]}, {}])
def test_a_column_that_the_user_made_a_feature_stays_one_and_its_rows_together(asked):
    drawn = panel(np.random.default_rng(0), 60, 5, 0.05, "shuffled number", "who")
    model = train(drawn.table, "outcome", "sick", features="linear", **asked)
    assert model.training["groups"] == "who"
    assert ("who" in model.schema.columns) == bool(asked)


@pytest.mark.parametrize("command", [check, train, make_report])
def test_a_table_of_nothing_but_groups(command):
    rng = np.random.default_rng(0)
    unit = np.repeat(rng.permutation(80), 6)
    table = pd.DataFrame({"who": unit, "outcome": np.where(rng.random(80) < 0.5, "sick", "well")[unit]})
    assert not outcome_of(command, table)


@pytest.mark.parametrize("seed", range(examples(12)))
def test_no_look_fails(seed):
    table, _ = hostile(np.random.default_rng([1, seed]))
    assert not [str(one) for one in check(table, "outcome", "sick") if "unexpectedly" in one]


@pytest.mark.parametrize("command", [check, train])
def test_a_gap_in_a_column_of_groups_that_was_found(command):
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(100), 6)
    table = pd.DataFrame(
        rng.standard_normal((100, 4))[unit] + 0.02 * rng.standard_normal((600, 4)), columns=list("abcd")
    )
    table["patient"] = pd.Series(unit).where(np.arange(600) != 77)
    table["outcome"] = np.where(rng.random(100) < 0.5, "sick", "well")[unit]
    found = command(table, "outcome", "sick")
    notes = found if command is check else found.training["warnings"]
    assert next(one for one in notes if getattr(one, "code", "") == "repeated-rows").fix[:2] == ("groups", "patient")
    assert any("1 rows have no 'patient'" in str(one) for one in notes)


def persons() -> tuple[pd.DataFrame, np.ndarray]:
    """Eight nearly equal rows of each of 60 persons, without labels, and the person of each row."""
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(60), 8)
    columns = rng.standard_normal((60, 4))[unit] + 0.02 * rng.standard_normal((480, 4))
    return pd.DataFrame(columns, columns=list("abcd")).assign(person=unit), unit


def test_a_class_in_few_groups_gets_fewer_folds_and_one_sentence():
    table, unit = persons()
    table["outcome"] = np.where(unit < 3, "sick", "well")
    model = train(table, "outcome", "sick", features="linear")
    assert model.training["groups"] == "person"
    assert model.training["folds"] == 3
    (told,) = (str(one) for one in model.training["warnings"] if "Using 3" in str(one))
    assert "'person'" in told
    assert "outcome = sick" in told
    assert "groups='none'" in told


def test_groups_that_no_folds_can_keep_are_said_and_end_nothing():
    table, unit = persons()
    table["outcome"] = np.where(unit < 1, "sick", "well")
    (found,) = (one for one in check(table, "outcome", "sick") if one.code == "repeated-rows")
    assert found.severity == "severe"
    assert "cannot keep them together" in found
    assert "groups" not in train(table, "outcome", "sick", features="linear").training


def brute_most_folds(positive: np.ndarray, number: np.ndarray) -> int:
    """The most folds whose parts all hold both classes, of all ways to deal out the groups."""
    n_groups = int(number.max()) + 1
    best = 0
    for way in np.ndindex(*([n_groups] * n_groups)):
        fold = np.array(way)[number]
        parts = [positive[fold == k] for k in np.unique(fold)]
        if len(parts) > best and all(0 < part.sum() < part.size for part in parts):
            best = len(parts)
    return best


@pytest.mark.parametrize("seed", range(examples(10)))
def test_folds_of_groups_are_as_many_as_there_can_be(seed):
    rng = np.random.default_rng(seed)
    number = np.append(np.arange(5), rng.integers(0, 5, int(rng.integers(1, 12))))
    positive = rng.random(number.size) < rng.choice([0.2, 0.5])
    most = brute_most_folds(positive, number)
    if most < 2:
        with pytest.raises(ValueError, match="cannot be split"):
            group_splits.group_folds(positive, number, 5, seed)
        return
    with pytest.warns() if most < 5 else np.errstate():
        splits = group_splits.group_folds(positive, number, 5, seed)
    assert len(splits) == most
    for train_part, test_part in splits:
        assert not set(number[train_part]) & set(number[test_part])
        assert all(0 < positive[part].sum() < part.size for part in (train_part, test_part))
    assert sorted(np.concatenate([test for _, test in splits]).tolist()) == list(range(number.size))


@pytest.mark.parametrize("seed", range(examples(8)))
def test_folds_of_very_many_groups_are_as_even_as_those_of_scikit_learn(seed, monkeypatch):
    from sklearn.model_selection import StratifiedGroupKFold

    rng = np.random.default_rng(seed)
    groups = rng.zipf(1.7, 3000) % int(rng.choice([40, 400]))
    positive = rng.random(3000) < rng.choice([0.01, 0.1, 0.5])

    def unevenness(splits) -> float:
        shares = [[side[test].sum() / side.sum() for side in (positive, ~positive)] for _, test in splits]
        return float(np.std(shares, axis=0).max())

    theirs = list(StratifiedGroupKFold(5, shuffle=True, random_state=seed).split(positive, positive, groups))
    monkeypatch.setattr(group_splits, "MANY_GROUPS", 0)
    assert unevenness(group_splits.group_folds(positive, groups, 5, seed)) <= unevenness(theirs) + 0.005


@pytest.mark.parametrize("seed", range(examples(8)))
def test_folds_that_look_forward_leave_out_those_without_a_class_or_say_so_plainly(seed):
    rng = np.random.default_rng(seed)
    n = 400
    start = rng.uniform(0.0, 0.98)  # until then no row is sick
    time = rng.permutation(n)
    sick = (time >= start * n) & (rng.random(n) < rng.choice([0.3, 1.0]))
    table = pd.DataFrame({"a": rng.standard_normal(n), "day": time, "outcome": np.where(sick, "sick", "well")})
    if min(sick.sum(), (~sick).sum()) < 8:
        return
    said = outcome_of(train, table, time="day", features="linear")
    assert not said or "rows of one kind come first" in said
    if sick.sum() > 20 and start < 0.5:
        said = outcome_of(train, table.assign(outcome=np.where(rng.random(n) < 0.3, "sick", "well")), time="day")
        assert not said


def test_the_sentence_about_rows_of_one_kind_that_all_come_first():
    table = pd.DataFrame({"a": np.arange(300.0) % 7, "day": np.arange(300)})
    table["outcome"] = np.where(table.day < 150, "well", "sick")
    said = outcome_of(train, table, time="day", features="linear")
    assert said.startswith("VrspamError: time='day': folds train on earlier rows and test on later ones")
    assert "sick" in said
