"""Leaks that hide each other are found, whichever and however many they are; honest tables have no such finding."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from laws_support import examples
from scipy.special import expit

from vrspam.checks.quick_model import quick_scores
from vrspam.checks.seen import Seen
from vrspam.data.open import open_table
from vrspam.features import LinearFeatures
from vrspam.tables.frames import rows_of
from vrspam.tool import TrainPlan, check, train
from vrspam.tool.request import table_request


def honest(rng: np.random.Generator, rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns that are known before the outcome, and the outcome: its AUC is far below 0.95."""
    table = pd.DataFrame({f"known{k}": rng.standard_normal(rows).round(2) for k in range(4)})
    table["ward"] = rng.choice(list("abcde"), rows)
    sick = rng.random(rows) < expit(table.known0 + 0.7 * table.known1 - 0.3)
    return table, sick.to_numpy()


def leak(rng: np.random.Generator, sick: np.ndarray, strength: float):
    """A column that is filled in after the outcome; alone its AUC is about the strength."""
    flips = rng.random(sick.size) > strength
    after = sick ^ flips
    kind = int(rng.integers(0, 3))
    if kind == 0:
        return after * 1
    if kind == 1:
        return np.where(after, rng.choice(["died", "moved"], sick.size), rng.choice(["home", "ward"], sick.size))
    return np.where(after, rng.exponential(300.0, sick.size), 2000.0 + rng.exponential(5.0, sick.size)).round(1)


@pytest.mark.parametrize("seed", range(examples(5)))
def test_leaks_in_company_are_found_and_named(seed):
    rng = np.random.default_rng(seed)
    table, sick = honest(rng, int(rng.integers(600, 3000)))
    leaks = [f"z{k}" for k in range(int(rng.integers(3, 7)))]
    for name in leaks:
        table[name] = leak(rng, sick, rng.uniform(0.93, 0.96))
    table = table[list(rng.permutation(table.columns))].assign(outcome=np.where(sick, "sick", "well"))
    found = [one for one in check(table, "outcome", "sick") if one.severity == "severe"]
    assert [one.code for one in found] == ["leak"]
    (severe,) = found
    assert severe.fix is not None
    assert severe.fix.option == "drop"
    assert set(severe.fix.value) <= set(leaks)
    left = [name for name in leaks if name not in severe.fix.value]
    assert len(left) <= 2  # too few to be too good
    assert 0.5 < float(severe.numbers["auc_left"]) < 0.95


@pytest.mark.parametrize("seed", range(examples(4)))
def test_honest_columns_are_not_accused(seed):
    rng = np.random.default_rng([1, seed])
    table, sick = honest(rng, int(rng.integers(300, 3000)))
    table = table.assign(outcome=np.where(sick, "sick", "well"))
    assert not [one for one in check(table, "outcome", "sick") if one.code == "leak"]


def test_columns_that_all_tell_the_answer_are_a_finding_once():
    """No column is to be left out then; after the fit the finding has been made, and is not looked for again."""
    rng = np.random.default_rng(0)
    sick = rng.random(400) < 0.4
    table = pd.DataFrame({f"x{k}": 3.0 * sick + rng.standard_normal(400) for k in range(14)})
    table["outcome"] = np.where(sick, "sick", "well")
    model = train(table, "outcome", "sick", features="linear")
    assert model.training["corrected_auc"] >= 0.99
    (severe,) = (str(one) for one in model.training["warnings"] if getattr(one, "code", "") == "leak")
    assert "so many columns tell the answer" in severe
    assert severe.count("too good to be true") == 1


@pytest.mark.parametrize("seed", range(examples(2)))
def test_a_promise_that_is_too_good_is_a_finding_after_the_fit(seed):
    """Two columns that say nothing alone, and everything together: the doctor's quick look cannot see them."""
    rng = np.random.default_rng(seed)
    table, sick = honest(rng, 1200)
    start = rng.normal(0.0, 10.0, 1200)
    table = table.assign(start=start, end=start + np.where(sick, 1.0, -1.0) * rng.uniform(0.5, 1.5, 1200))
    table["outcome"] = np.where(sick, "sick", "well")
    assert not [one for one in check(table, "outcome", "sick") if one.code == "leak"]
    model = train(table, "outcome", "sick", features="linear")
    assert model.training["corrected_auc"] >= 0.99
    (severe,) = (one for one in model.training["warnings"] if getattr(one, "code", "") == "leak")
    assert severe.severity == "severe"
    assert set(severe.fix.value) <= {"start", "end"}
    assert float(severe.numbers["auc_left"]) < 0.9
    muted = train(table, "outcome", "sick", features="linear", ignore=["leak"])
    assert not [one for one in muted.training["warnings"] if getattr(one, "code", "") == "leak"]


@pytest.mark.parametrize("seed", range(examples(3)))
def test_columns_of_a_wide_table_are_chosen_by_other_rows_than_those_that_judge_them(seed):
    rng = np.random.default_rng(seed)
    noise = pd.DataFrame({f"c{k}": rng.standard_normal(160).round(4) for k in range(700)})
    noise["y"] = rng.permutation(np.where(np.arange(160) % 2, "a", "b"))
    plan = TrainPlan("y")
    seen = Seen(open_table(noise, table_request(plan)), plan)
    assert seen.choosing_rows is not None
    judged = np.flatnonzero(~seen.choosing_rows)
    assert min(np.bincount(seen.positive[judged])) == 40
    lines = {"linear": LinearFeatures()}
    believed = quick_scores(rows_of(seen.quick_rows, judged), seen.positive[judged], 5, seed, lines).auc
    assert abs(believed - 0.5) < 4.0 * 0.065  # the deviation of an AUC of 40 and 40 rows without signal


def test_one_good_column_among_a_thousand_without_signal_is_no_company():
    rng = np.random.default_rng(3)
    positive = np.arange(160) % 2 == 0
    columns = rng.standard_normal((160, 1000))
    columns[:, 0] += 1.9 * positive
    table = pd.DataFrame(columns.round(4), columns=[f"c{k}" for k in range(1000)])
    table["y"] = np.where(positive, "a", "b")
    assert [finding.code for finding in check(table, target="y") if finding.severity == "severe"] == []
