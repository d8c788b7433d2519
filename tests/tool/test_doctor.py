"""The doctor: for each finding a table that must show it and one that must not, drawn with a known truth."""

from __future__ import annotations

import json
import pickle
import shlex
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from vrspam._utils.findings import SEVERITIES, Finding, Fix, note_from_plain
from vrspam._utils.texts import auc_text, interval_text
from vrspam.checks.copies import find_copies
from vrspam.checks.diagnose import all_codes
from vrspam.checks.judged_groups import JudgedGroups, scores_of_known_groups
from vrspam.checks.named_groups import name_groups
from vrspam.checks.repeated_rows import describe_groups
from vrspam.cli import main
from vrspam.model_selection.calibration import calibrate
from vrspam.report.words.auc import expected_auc, other_aucs
from vrspam.tool import TrainPlan, check, evaluate, load_model, make_report, report_page, save_model, train


def independent(rng: np.random.Generator, rows: int = 600, signal: float = 1.0) -> pd.DataFrame:
    """Rows that have nothing to do with each other: numbers, towns with effects, and regions of towns."""
    town = rng.integers(0, 40, rows)
    X = rng.standard_normal((rows, 4))
    odds = signal * X[:, 0] + 0.8 * rng.standard_normal(40)[town]
    return pd.DataFrame(
        {
            "a": X[:, 0].round(2),
            "b": X[:, 1].round(1),
            "c": X[:, 2],
            "d": rng.integers(18, 80, rows),
            "town": np.char.add("t", town.astype(str)),
            "region": np.char.add("r", (town // 10).astype(str)),
            "country": np.char.add("c", (town // 20).astype(str)),
            "y": np.where(rng.random(rows) < expit(odds), "yes", "no"),
        }
    )


def visits(rng: np.random.Generator, patients: int = 120, each: int = 6, effect: float = 2.0) -> pd.DataFrame:
    """Visits of patients: an effect of each patient, which no column tells, and one column that does."""
    who = np.repeat(np.arange(patients), each)
    own = rng.standard_normal((patients, 3))
    x = rng.standard_normal(who.size)
    odds = 0.7 * x + effect * rng.standard_normal(patients)[who]
    table = pd.DataFrame({"patient": 1000 + 7 * who, "x": x, "height": own[who, 0], "weight": own[who, 1]})
    table["sex"] = np.where(own[who, 2] > 0, "f", "m")
    table["y"] = np.where(rng.random(who.size) < expit(odds), "yes", "no")
    return table


def remedy(finding: Finding) -> tuple[str, Any] | None:
    """The option that mends what was found, with its value."""
    return None if finding.fix is None else (finding.fix.option, finding.fix.value)


def codes(table, **asked) -> dict[str, str]:
    """The findings of a table: code -> severity."""
    return {one.code: one.severity for one in check(table, "y", **asked)}


def test_rows_of_one_patient_are_found_and_rows_of_one_town_are_not():
    rng = np.random.default_rng(0)
    found = next(one for one in check(visits(rng), "y") if one.code == "repeated-rows")
    assert found.severity == "severe"
    assert remedy(found) == ("groups", "patient")
    assert float(found.numbers["apart"]) > float(found.numbers["together"]) + 0.02
    for seed in range(3):
        assert "repeated-rows" not in codes(independent(np.random.default_rng(seed)))


def test_repeats_are_told_from_chance_by_what_rows_of_a_group_share():
    """The agreement of categories by brute force over all pairs of a group."""
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(25), 4)
    columns = {"who": who, "own": rng.integers(0, 9, 100)}
    columns |= {name: rng.integers(0, 9, 25)[who] for name in ("shared", "more")}
    (found,) = name_groups(columns, texts=columns)
    pairs = [(i, j) for i in range(100) for j in range(100) if i != j and who[i] == who[j]]
    brute = []
    for other in ("shared", "more", "own"):
        column = columns[other]
        chance = sum(float((column == value).mean()) ** 2 for value in range(9))
        brute.append((np.mean([column[i] == column[j] for i, j in pairs]) - chance) / (1.0 - chance))
    assert found.name == "who"
    assert np.array_equal(found.codes, who)
    assert abs(found.alike - np.mean(np.maximum(brute, 0.0))) < 0.1  # it looks at one pair a row
    alone = {**columns, "who": np.where(np.arange(100) < 84, who, -1)}  # without a name a row is a group of its own
    assert np.unique(name_groups(alone, texts=columns)[0].codes).size == 21 + 16


def test_the_headline_is_that_of_new_patients():
    rng = np.random.default_rng(2)
    whole = visits(rng, patients=400)
    old, new = whole[whole.patient < 2400], whole[whole.patient >= 2400]
    model = train(old, "y", features="additive")
    facts = model.training
    held = evaluate(model, *_scored(model, new))
    assert facts["groups"] == "patient"
    assert "patient" not in model.schema.columns
    assert facts["corrected_auc_low"] <= held.auc.auc <= facts["corrected_auc_high"]
    assert facts["independent_auc"] > facts["corrected_auc"] + 0.02
    named = train(old, "y", features="additive", groups="patient")
    assert named.training["corrected_auc"] == facts["corrected_auc"]
    taken = train(old, "y", features="additive", groups="none")
    assert "groups" not in taken.training
    assert "patient" in taken.schema.columns
    ignored = train(old, "y", features="additive", ignore=["repeated-rows"])
    assert ignored.training["corrected_auc"] == taken.training["corrected_auc"]


def payments(rng: np.random.Generator, of_card: float, of_store: float, rows: int = 3000) -> pd.DataFrame:
    """Payments by cards in stores, which cross: four columns follow from the store, two from the card."""
    card, store = rng.integers(0, 900, rows), rng.integers(0, 250, rows)
    odds = of_card * rng.standard_normal(900)[card] + of_store * rng.standard_normal(250)[store] - 0.5
    table = pd.DataFrame({"card_id": 50_000 + 3 * card, "store_id": 7 * store})
    for name in ("lat", "lng", "height", "area"):
        table[name] = rng.standard_normal(250)[store].round(3)
    for name, values in (("provider", 10), ("expiry", 60)):
        table[name] = np.char.add(name[0], rng.integers(0, values, 900).astype(str))[card]
    table["amount"] = rng.lognormal(3.0, 1.0, rows).round(2)
    table["hour"] = rng.integers(0, 24, rows)
    table["y"] = np.where(rng.random(rows) < expit(odds + 0.4 * np.log(table.amount)), "yes", "no")
    return table


def test_of_groups_that_cross_the_one_that_labels_go_with_is_kept_together():
    """Most columns follow from the store, but a card knows its label: folds by store would promise known cards."""
    for of_card, of_store, expected, other in ((2.5, 1.5, "card_id", "store_id"), (0.0, 2.5, "store_id", "card_id")):
        table = payments(np.random.default_rng(5), of_card, of_store)
        found = {one.code: one for one in check(table, "y")}["repeated-rows"]
        assert found.severity in ("severe", "warning")
        assert remedy(found) == ("groups", expected)
        assert (other in str(found)) == (of_card > 0.0)  # both are said where both matter
    table = payments(np.random.default_rng(6), 2.5, 1.0, 6000)
    old, new = table[table.card_id < 51_800], table[table.card_id >= 51_800]
    model = train(old, "y", features="boosted", random_state=0)
    assert model.training["groups"] == "card_id"
    held = evaluate(model, *_scored(model, new))
    assert model.training["corrected_auc_low"] <= held.auc.auc <= model.training["corrected_auc_high"]


def test_all_groups_that_cross_are_named():
    found = JudgedGroups("card", 0.9, np.arange(3), apart=0.9, together=0.7, z=5.0, bound=0.5, bound_z=9.0)
    told = describe_groups(found, ["store", "till"])
    assert "Rows with the same 'store' or 'till' are alike too: groups='store' would" in str(told)
    assert remedy(told) == ("groups", "card")


def test_a_model_that_knows_the_groups_predicts_errors_as_well_as_any_linear_one():
    """Against the normal equations of each row: errors of one group have the correlation r, others none."""
    rng = np.random.default_rng(8)
    groups, r = rng.integers(0, 12, 80), 0.3
    y, scores = rng.random(80) < 0.4, rng.standard_normal(80)
    chances = calibrate(scores, y, "sigmoid")(scores)
    known = scores_of_known_groups(y, scores, groups, r, seed=3)
    fifth = np.random.default_rng(3).integers(0, 5, 80)
    for i in range(80):
        others = np.flatnonzero((groups == groups[i]) & (fifth != fifth[i]))
        covariance = np.full((others.size, others.size), r) + (1.0 - r) * np.eye(others.size)
        best = np.linalg.solve(covariance, np.full(others.size, r)) @ (y - chances)[others]
        assert abs(known[i] - chances[i] - best) < 1e-12


def _scored(model, table):
    scores = model.score(model.schema.encode(_arrow(model, table)) if model.is_linear else _arrow(model, table))
    return (table.y == "yes").to_numpy(), scores


def _arrow(model, table):
    import pyarrow as pa

    return pa.Table.from_pandas(table[list(model.schema.columns)].reset_index(drop=True))


def test_copies_are_found_and_equal_rows_of_few_values_are_not():
    rng = np.random.default_rng(3)
    noise = independent(rng, 400, signal=0.0)
    copied = pd.concat([noise, noise.sample(200, random_state=0)])
    assert codes(copied)["duplicates"] in ("severe", "warning")
    model = train(copied, "y", features="kernel")
    assert "independent_auc" in model.training
    assert model.training["groups"] == "duplicates"  # so that `evaluate` keeps copies together
    apart = train(copied, "y", features="kernel", groups="none")
    assert apart.training["cv_auc"] > model.training["cv_auc"] + 0.05  # copies of training rows are known
    few = pd.DataFrame(rng.integers(0, 2, (800, 4)), columns=list("abcd"))
    few["y"] = np.where(rng.random(800) < expit(few.a + few.b - 1.0), "yes", "no")
    found = {one.code: one for one in check(few, "y")}
    assert found["duplicates"].severity == "note"
    assert "The AUC does not depend on them" in found["duplicates"]
    assert "independent_auc" not in train(few, "y", features="linear").training


def test_near_copies_differ_in_one_column():
    rng = np.random.default_rng(4)
    table = {name: rng.integers(0, 50, 100) for name in "abcdef"}
    near = {name: np.append(column, column[:10]) for name, column in table.items()}
    near["c"][100:] = 49 - near["c"][100:]
    groups = find_copies(near)
    assert groups is not None
    assert (groups[:10] == groups[100:]).all()
    near["d"][100:] = (near["d"][100:] + 25) % 50  # two columns
    near["c"][100:] = (near["c"][100:] + 7) % 50
    assert find_copies(near) is None


def test_a_leak_is_graded_by_what_the_column_explains_alone():
    rng = np.random.default_rng(5)
    table = independent(rng, 2000)
    sick = (table.y == "yes").to_numpy()
    for spread, expected in ((0.28, "severe"), (0.4, "warning"), (1.0, None)):
        column = sick + spread * rng.standard_normal(2000)
        auc = roc_auc_score(sick, column)
        assert (auc >= 0.99, auc >= 0.95) == {"severe": (True, True), "warning": (False, True), None: (False, False)}[
            expected
        ]
        found = {one.code: one for one in check(table.assign(told=-column), "y")}
        assert (found["leak"].severity if "leak" in found else None) == expected
        if expected:
            assert auc_text(auc) in found["leak"]
            assert remedy(found["leak"]) == ("drop", ["told"])
    bent = np.abs(sick + 0.15 * rng.standard_normal(2000) - 0.5) + 0.01 * rng.random(2000)
    away = np.where(sick, rng.choice([-3.0, 3.0], 2000), 0.0) + 0.2 * rng.standard_normal(2000)  # no order tells it
    assert abs(roc_auc_score(sick, away) - 0.5) < 0.1
    assert "leak" not in codes(table.assign(told=bent))
    assert codes(table.assign(told=away))["leak"] == "severe"
    kind = np.where(sick, rng.choice(["a", "b", "c"], 2000), rng.choice(["d", "e"], 2000))
    assert codes(table.assign(told=kind))["leak"] == "severe"
    several = check(table.assign(told=sick * 1.0, twice=sick * 2.0), "y")
    assert [one.code for one in several].count("leak") == 1
    assert remedy(several[0]) == ("drop", ["told", "twice"])


@pytest.mark.parametrize(("auc", "shown", "expected"), [(0.98996, "0.990", "severe"), (0.9894, "0.989", "warning")])
def test_the_grade_of_a_leak_agrees_with_the_number_that_is_shown(monkeypatch, auc, shown, expected):
    table = independent(np.random.default_rng(5), 300)
    monkeypatch.setattr(
        "vrspam.checks.seen.auc_alone", lambda codes, y, fold, ordered: auc if codes.max() == 299 else 0.6
    )
    table["b"], table["d"] = table["b"].round(0), table["d"] // 10
    (leak,) = (one for one in check(table.assign(c=np.arange(300) * 0.37 % 7), "y") if one.code == "leak")
    assert (leak.severity, remedy(leak)) == (expected, ("drop", ["c"]))
    assert f"(AUC {shown})" in leak


@pytest.mark.parametrize(
    ("apart", "corrected", "expected"),
    [(0.774, 0.63, "about 0.774 (a quick model): rows with the same id flatter it"),
     (0.99999, 0.985, "above 0.999 (a quick model): rows with the same id flatter it"),
     (0.99999, 0.998, "above 0.999 (a quick model): rows with the same id go together")],
)  # fmt: skip
def test_what_rows_show_as_independent_ones(apart, corrected, expected):
    facts = {"independent_auc": apart, "corrected_auc": corrected, "groups": "id"}
    model: Any = SimpleNamespace(training=facts)
    assert other_aucs(model).get("as independent rows") == expected


@pytest.mark.parametrize(
    ("shown", "remark"), [(0.8337, "the best penalty showed 0.834; picking the best flatters"), (0.8312, "")]
)
def test_what_the_choice_changed_is_said_only_if_it_changed_something(shown, remark):
    facts = {"cv_auc": shown, "corrected_auc": 0.8308}
    facts |= {f"{name}_{end}": 0.8 for name in ("cv_auc", "corrected_auc") for end in ("low", "high")}
    model: Any = SimpleNamespace(training=facts)
    found = expected_auc(model)
    assert found is not None
    assert found.remark == remark


def test_gaps_that_tell_the_label():
    rng = np.random.default_rng(6)
    table = independent(rng, 1000)
    sick = table.y == "yes"
    wage = pd.Series(rng.standard_normal(1000))
    assert codes(table.assign(wage=wage.where(~sick)))["missingness"] == "severe"
    assert codes(table.assign(wage=wage.where(~sick | (rng.random(1000) < 0.2))))["missingness"] == "warning"
    assert "missingness" not in codes(table.assign(wage=wage.where(rng.random(1000) < 0.5)))


def test_labels_blank_misspelt_and_rare(tmp_path):
    rng = np.random.default_rng(7)
    table = independent(rng, 800)
    blank = table.assign(y=np.where(np.arange(800) % 80 == 0, "   ", table.y + " "))
    path = tmp_path / "blank.csv"
    blank.to_csv(path, index=False)
    model = train(path, "y", features="linear")
    assert model.schema.labels == ("no", "yes")
    assert model.training["rows"] == 790
    found = {one.code: one for one in check(path, "y")}
    assert found["unlabelled"].severity == "note"
    assert found["unlabelled"].startswith("10 of 800 rows (1.2 %) have no label and are left out")
    clean = train(table[np.arange(800) % 80 != 0], "y", features="linear")
    assert clean.training["corrected_auc"] == model.training["corrected_auc"]
    shouted = table.assign(y=np.where(np.arange(800) % 40 == 0, table.y.str.upper(), table.y))
    merged = train(shouted, "y", features="linear")
    assert merged.schema.labels == ("no", "yes")
    assert "labels" in codes(shouted)
    assert merged.training["corrected_auc"] == train(table, "y", features="linear").training["corrected_auc"]
    wrong = table.assign(
        y=np.where(np.arange(800) % 200 == 0, "negativ", np.where(table.y == "no", "negative", "positive"))
    )
    told = next(one for one in check(wrong, "y", "positive") if one.code == "labels")
    assert told.severity == "warning"
    assert "'negativ' (4 rows) may be a misspelt 'negative'" in told
    short = check(table.assign(y=table.y.where(np.arange(800) % 100 > 0, "yess")), "y", "yes")
    assert any("'yess' (8 rows) may be a misspelt 'yes'" in one for one in short if one.code == "labels")
    assert "labels" not in codes(table)


def test_labels_of_new_rows_are_read_as_in_training(tmp_path):
    table = independent(np.random.default_rng(8), 400)
    model = train(table, "y", features="linear")
    paths = tmp_path / "plain.csv", tmp_path / "spelt.csv"
    table.to_csv(paths[0], index=False)
    table.assign(y=" " + table.y.str.title()).to_csv(paths[1], index=False)
    plain, spelt = (evaluate(model, path) for path in paths)
    assert plain.auc.auc == spelt.auc.auc
    assert plain.n == spelt.n == 400


def test_rows_without_a_label_come_first_where_they_are_most():
    table = independent(np.random.default_rng(9), 1000)
    few = table.assign(y=table.y.where(np.arange(1000) % 10 == 0))
    first = check(few, "y")[0]
    assert first.code == "unlabelled"
    assert first.severity == "severe"
    assert "900 of 1,000 rows (90.0 %)" in first
    some = table.assign(y=table.y.where(np.arange(1000) % 10 != 0))
    assert codes(some)["unlabelled"] == "warning"
    assert "unlabelled" not in codes(table)


def test_findings_of_one_kind_are_one_line():
    rng = np.random.default_rng(10)
    table = independent(rng, 300)
    for number in range(32):
        table[f"empty {number}"] = np.nan
        table[f"day {number}"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), unit="D")
        table[f"same {number}"] = 1.0
        table[f"price {number}"] = np.char.add("$", rng.integers(1000, 9999, 300).astype(str))
    found = check(table, "y")
    assert len({one.code for one in found}) == len(found)
    by_code = {one.code: one for one in found}
    assert "'empty 4' and 27 more have no values" in by_code["left-out"]
    assert "and 27 more hold dates" in by_code["dates"]
    assert "and 27 more hold text" in by_code["text-numbers"]
    assert by_code["constant"].endswith("'same 4' and 27 more")
    assert [SEVERITIES.index(one.severity) for one in found] == sorted(SEVERITIES.index(one.severity) for one in found)


def test_spellings_and_codes(tmp_path):
    rng = np.random.default_rng(11)
    table = independent(rng, 400)
    path = tmp_path / "table.csv"
    told = np.char.add(rng.choice(["yes", "Yes"], 400), rng.choice(["", " "], 400))
    zips = rng.choice([90210, 10001, 60601, 94105, 73301, 33101, 22108, 98101, 80202, 20001], 400).astype(str)
    table.assign(told=told, zip=zips, salary=rng.integers(20_000, 90_000, 400)).to_csv(path, index=False)
    found = {one.code: one for one in check(path, "y")}
    assert "'told' ('Yes' and 'Yes ')" in found["spellings"]
    assert remedy(found["codes"]) == ("categorical", ["zip"])
    assert "codes" not in codes(path, categorical=["zip"])
    assert not {"spellings", "codes"} & codes(table).keys()
    mixed = np.where(np.arange(400) < 390, zips, "90210-1234")
    table.assign(place=mixed).to_csv(path, index=False)
    found = {one.code: one for one in check(path, "y")}
    assert "codes" not in found or remedy(found["codes"]) == ("categorical", ["place"])
    model = train(path, "y", features="linear")
    assert "place" in model.schema.categorical or "codes" in found


def test_drift_along_a_date_and_none_where_nothing_changes(tmp_path, capsys):
    rng = np.random.default_rng(12)
    table = independent(rng, 3000)
    day = pd.Timestamp("2015-01-01") + pd.to_timedelta(np.arange(3000), unit="D")
    level = rng.choice([-2.0, 2.0], 10)[np.arange(3000) // 300]  # what held in the last months says nothing of the next
    changed = table.assign(day=day, y=np.where(rng.random(3000) < expit(level + table.a), "yes", "no"))
    found = next(one for one in check(changed, "y") if one.code == "drift")
    assert remedy(found) == ("time", "day")
    assert float(found.numbers["mixed"]) > float(found.numbers["forward"]) + 0.02
    changed.to_csv(tmp_path / "changed.csv", index=False)
    words = ["check", str(tmp_path / "changed.csv"), "--target", "y", "--groups", "duplicates"]
    assert main(words) == 0
    told = next(line for line in capsys.readouterr().out.splitlines() if "--time" in line and "vrspam report" in line)
    assert shlex.split(told)[1:] == ["report", str(tmp_path / "changed.csv"), "--target", "y", "--time", "day"]
    assert "drift" not in codes(table.assign(day=day))
    assert "drift" not in codes(changed, time="day")


def test_the_order_of_the_rows():
    table = independent(np.random.default_rng(13), 500)
    assert codes(table.sort_values("y"))["order"] == "warning"
    assert "order" not in codes(table)
    numbered = table.assign(number=np.argsort(np.argsort(table.y.to_numpy(), kind="stable")))
    found = next(one for one in check(numbered, "y") if one.code == "order")
    assert found.startswith("column 'number' goes with the label")
    assert "leak" not in codes(numbered)


def test_few_rows_majority_and_constant_columns():
    table = independent(np.random.default_rng(14), 300)
    few = pd.concat([table[table.y == "no"], table[table.y == "yes"][:30]]).assign(same="x")
    found = codes(few)
    assert found["few-rows"] == "warning"
    assert found["constant"] == "note"
    assert "majority" not in found
    most = pd.concat([table[table.y == "no"][:60], table[table.y == "yes"]])
    assert codes(most)["majority"] == "note"
    assert "majority" not in codes(most, positive="yes")
    assert not {"few-rows", "constant"} & codes(table).keys()


def test_the_forms_of_a_table_give_the_same_findings(tmp_path):
    pytest.importorskip("openpyxl")
    polars = pytest.importorskip("polars")
    table = visits(np.random.default_rng(15), patients=80)
    table["same"] = 1.0
    paths = [tmp_path / f"t.{end}" for end in ("csv", "parquet", "xlsx")]
    table.to_csv(paths[0], index=False)
    table.to_parquet(paths[1], index=False)
    table.to_excel(paths[2], index=False)
    expected = [(one.code, one.severity, one.fix) for one in check(table, "y")]
    assert expected[0][:2] == ("repeated-rows", "severe")
    assert ("constant", "note", None) in expected
    for form in (*paths, polars.from_pandas(table)):
        assert [(one.code, one.severity, one.fix) for one in check(form, "y")] == expected


def test_a_stream_and_a_spark_frame_are_looked_at_as_far_as_one_pass_allows(tmp_path, monkeypatch):
    from vrspam.tool import checking

    monkeypatch.setattr(checking, "SAMPLED", 1000)
    table = independent(np.random.default_rng(16), 3000)
    table["told"] = (table.y == "yes") * 1.0
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    streamed = {one.code: one for one in check(path, "y", streaming=True)}
    assert streamed["leak"].severity == "severe"
    assert "1,000 rows of 3,000" in streamed["not-checked"]
    monkeypatch.setattr(checking, "SAMPLED", 5_000)  # all rows are seen, but not whether they repeat
    all_seen = {one.code: one for one in check(path, "y", streaming=True)}["not-checked"]
    assert all_seen == "not looked at: whether rows repeat across the table, or drift"
    monkeypatch.setattr(checking, "SAMPLED", 1000)

    class Frame(SimpleNamespace):  # what is asked of a Spark frame
        sparkSession, count = None, staticmethod(lambda: 3000)

        def sample(self, fraction, seed):
            return SimpleNamespace(toPandas=lambda: table.sample(frac=fraction, random_state=seed))

    spark = {one.code: one for one in check(Frame(), "y")}
    assert spark["leak"].severity == "severe"
    assert "1,000 rows of 3,000" in spark["not-checked"]
    model = train(path, "y", streaming=True)
    assert any(isinstance(note, Finding) and note.code == "leak" for note in model.training["warnings"])
    assert "not-checked" not in codes(table)


def test_ignore_mutes_and_refuses_what_is_no_code(tmp_path, capsys):
    table = independent(np.random.default_rng(17), 300).assign(same="x")
    assert "constant" in codes(table)
    assert "constant" not in codes(table, ignore=["constant"])
    model = train(table, "y", features="linear", ignore=["constant"])
    assert not any(getattr(note, "code", "") == "constant" for note in model.training["warnings"])
    with pytest.raises(ValueError, match="ignore=\\['sometimes'\\] is not known; give some of repeated-rows"):
        TrainPlan("y", ignore=["sometimes"])
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    assert main(["check", str(path), "--target", "y", "--ignore", "sometimes"]) == 2
    assert "--ignore sometimes is not known" in capsys.readouterr().err


def test_the_command_its_exit_codes_and_json(tmp_path, capsys):
    table = independent(np.random.default_rng(18), 400)
    path, leaking = tmp_path / "t.csv", tmp_path / "leak.csv"
    table.to_csv(path, index=False)
    table.assign(told=(table.y == "yes") * 1.0).to_csv(leaking, index=False)
    assert main(["check", str(path), "--target", "y"]) == 0
    capsys.readouterr()
    assert main(["check", str(leaking), "--target", "y"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("severe: 'told' alone")
    assert "[leak]" in out
    assert f"vrspam report {leaking} --target y --drop told" in out
    more = ["--positive", "no", "--drop", "c", "--categorical", "d"]
    assert main(["check", str(leaking), "--target", "y", *more]) == 1
    command = next(line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  vrspam report"))
    assert command == f"vrspam report {leaking} --target y --positive no --drop c,told --categorical d"
    assert main([*shlex.split(command)[1:], "--features", "linear", "--html", str(tmp_path / "r.html")]) == 0
    capsys.readouterr()
    assert main(["check", str(leaking), "--target", "y", "--ignore", "leak"]) == 0
    assert main(["check", str(tmp_path / "none.csv"), "--target", "y"]) == 2
    assert main(["check", str(path), "--target", "nothing"]) == 2
    capsys.readouterr()
    assert main(["check", str(leaking), "--target", "y", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["severe"]
    assert found["findings"][0]["code"] == "leak"
    assert found["findings"][0]["fix"] == "--drop told"
    assert found["findings"][0]["page"] == "docs/doctor.md#leak"


def test_train_and_report_begin_with_the_findings(tmp_path, capsys):
    table = visits(np.random.default_rng(19), patients=100)
    path, page = tmp_path / "t.csv", tmp_path / "p.html"
    table.to_csv(path, index=False)
    asked = [str(path), "--target", "y", "--features", "linear"]
    assert main(["train", *asked, "--model", str(tmp_path / "m.json")]) == 0
    captured = capsys.readouterr()
    assert "severe: rows with the same 'patient' are alike" in captured.err
    assert "[repeated-rows]" in captured.err
    assert "as independent rows" in captured.out
    model = load_model(tmp_path / "m.json")
    first = model.training["warnings"][0]
    assert isinstance(first, Finding)
    assert (first.code, first.severity) == ("repeated-rows", "severe")
    assert main(["report", *asked, "--html", str(page), "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["findings"][0]["code"] == "repeated-rows"
    assert numbers["grouped_by"] == "patient"
    assert numbers["independent_auc"] > numbers["expected_auc"]
    text = page.read_text("utf-8")
    assert text.index("Severe:") < text.index("<h2")
    assert "as independent rows" in text


def test_a_finding_is_kept_by_files_and_pickles(tmp_path):
    found = Finding("leak", "severe", "'a' alone", [Fix("drop")], {"auc": 0.99}, ["a"])
    for again in (pickle.loads(pickle.dumps(found)), note_from_plain(json.loads(json.dumps(found.to_plain())))):
        assert isinstance(again, Finding)
        assert again == found
        assert (again.code, again.severity, again.fix) == ("leak", "severe", None)
        assert (again.fixes, again.numbers, again.columns) == ((Fix("drop"),), {"auc": 0.99}, ("a",))
    table = independent(np.random.default_rng(20), 300).assign(same="x")
    model = train(table, "y", features="linear")
    save_model(model, tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json").training["warnings"]
    assert [(one.code, str(one)) for one in loaded] == [(one.code, str(one)) for one in model.training["warnings"]]


def test_a_holdout_keeps_groups_that_were_found():
    table = visits(np.random.default_rng(21), patients=150)
    report = make_report(table, "y", features="linear", holdout=0.3, rows=0)
    assert report.apart == ", groups in one part each"
    assert "Severe" in report_page(report, data_name="t").html()


def test_no_number_is_rounded_to_certainty():
    assert auc_text(0.9997) == "above 0.999"
    assert auc_text(0.99996, 4) == "above 0.9999"
    assert auc_text(1.0) == "1.000"
    assert auc_text(0.0002) == "below 0.001"
    assert interval_text(0.9996, 0.9999) == "above 0.999"
    assert interval_text(0.98, 0.9999) == "0.980 to above 0.999"
    assert interval_text(0.5, 0.75, 2) == "0.50 to 0.75"


def test_every_code_has_a_section_in_the_docs():
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text("utf-8")
    sections = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert sorted(sections) == sorted(all_codes())
