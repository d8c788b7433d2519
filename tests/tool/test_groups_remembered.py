"""Groups and weights that a model was trained with are used by every later command, or missed aloud."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from vrspam.cli.run import run
from vrspam.data import DataError
from vrspam.measures.fold_interval import fold_auc_ci
from vrspam.metrics import delong_test, partial_auc_test, roc_auc_ci
from vrspam.tool import (
    compare,
    evaluate,
    load_model,
    make_report,
    predict,
    report_page,
    save_model,
    score_file,
    train,
)


def visits(seed: int, patients: int = 60, each: int = 8) -> pd.DataFrame:
    """Several visits of each patient; what a patient has is the same at all visits."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(patients), each)
    sick = (rng.random(patients) < 0.4)[patient]
    age = (rng.standard_normal(patients)[patient] + 0.9 * sick).round(3)
    return pd.DataFrame(
        {
            "patient": [f"p{number}" for number in patient],
            "age": age,
            "pulse": (rng.standard_normal(age.size) + 0.3 * sick).round(3),
            "weight": rng.integers(1, 5, age.size),
            "sick": np.where(sick, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def model():
    return train(visits(0), "sick", features="linear", groups="patient", weights="weight")


def beside(frame: pd.DataFrame) -> dict:
    return {"groups": frame["patient"], "sample_weight": frame["weight"]}


def test_evaluate_takes_the_groups_and_weights_of_training(model):
    new = visits(1)
    positive, scores = score_file(model, new)
    found, expected = evaluate(model, new).auc, roc_auc_ci(positive, scores, **beside(new))
    assert (found.auc, found.low, found.high) == (expected.auc, expected.low, expected.high)
    alone = evaluate(model, new, groups="none", weights="none").auc
    assert alone == roc_auc_ci(positive, scores)
    assert found.standard_error > 1.8 * alone.standard_error


def nearly_equal(seed: int, rows: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    """Four copies of each row, of which one column was typed again; the labels of copies agree; and the original."""
    rng = np.random.default_rng(seed)
    original = np.repeat(np.arange(rows), 4)
    sick = rng.random(rows) < 0.4
    table = {name: (rng.standard_normal(rows) + 0.4 * sick).round(3)[original] for name in "abcdef"}
    typed = rng.permutation(original.size)[: original.size // 2]
    table["f"][typed] = rng.standard_normal(typed.size)
    return pd.DataFrame(table).assign(sick=np.where(sick, "yes", "no")[original]), original


@pytest.mark.parametrize("groups", [None, "duplicates"])
def test_near_copies_of_rows_are_groups_of_an_evaluation_too(groups, tmp_path):
    (old, _), (new, original) = nearly_equal(0), nearly_equal(1)
    model = train(old, "sick", features="linear", groups="duplicates")
    save_model(model, tmp_path / "model.json")
    new.to_csv(tmp_path / "new.csv", index=False)
    positive, scores = score_file(model, new)
    expected = roc_auc_ci(positive, scores, groups=original)
    assert expected.standard_error > 1.5 * roc_auc_ci(positive, scores).standard_error
    for data in (new, tmp_path / "new.csv"):
        found = evaluate(load_model(tmp_path / "model.json"), data, groups=groups).auc
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert evaluate(model, new, groups="none").auc == roc_auc_ci(positive, scores)


def test_a_stored_model_still_knows_its_groups(model, tmp_path):
    save_model(model, tmp_path / "model.json")
    again, new = load_model(tmp_path / "model.json"), visits(1)
    assert (again.training["groups"], again.training["weights"]) == ("patient", "weight")
    assert evaluate(again, new).auc == evaluate(model, new).auc


def test_other_columns_are_named_and_missing_ones_missed_aloud(model):
    new = visits(1).rename(columns={"patient": "person"})
    with pytest.warns(UserWarning, match="has no column 'patient', which training had as groups: rows count as indepe"):
        independent = evaluate(model, new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grouped = evaluate(model, new, groups="person")
        assert evaluate(model, new, groups="none").auc == independent.auc
    assert grouped.auc.standard_error > 1.8 * independent.auc.standard_error
    with pytest.raises(DataError, match="has no column 'patients' \\(did you mean 'patient'\\?\\)"):
        evaluate(model, visits(1), groups="patients")
    with pytest.warns(UserWarning, match="has no column 'weight', which training had as weights: rows count alike"):
        evaluate(model, visits(1).drop(columns="weight"))


def test_a_comparison_is_that_of_patients(model):
    other, new = train(visits(0)[["patient", "pulse", "sick"]], "sick", features="linear", groups="patient"), visits(1)
    positive, a = score_file(model, new)
    _, b = score_file(other, new)
    expected = delong_test(positive, a, b, **beside(new))  # groups are added up in another order
    assert vars(compare(model, other, new).test) == pytest.approx(vars(expected), rel=1e-12)
    assert compare(model, other, new, groups="none", weights="none").test == delong_test(positive, a, b)
    partial = compare(model, other, new).partial_test(0.3)
    expected = partial_auc_test(positive, a, b, max_fpr=0.3, **beside(new))
    assert vars(partial) == pytest.approx(vars(expected), rel=1e-12)
    assert partial.standard_error > 1.3 * partial_auc_test(positive, a, b, max_fpr=0.3).standard_error
    third = train(visits(0).rename(columns={"patient": "person"}), "sick", features="linear", groups="person")
    both = new.assign(person=new["patient"])
    with pytest.raises(DataError, match="different groups \\(patient and person\\): name one"):
        compare(model, third, both)
    assert compare(model, third, both, groups="patient").test.standard_error > 0.0


def test_predict_copies_the_column_of_the_groups(model, tmp_path):
    assert predict(model, visits(1), tmp_path / "scores.csv") == 480
    assert pd.read_csv(tmp_path / "scores.csv")["patient"].tolist() == visits(1)["patient"].tolist()


def test_rows_kept_for_the_test_have_the_interval_of_their_patients():
    both = [
        make_report(visits(2), "sick", features="linear", groups="patient", holdout=0.5, rows=0, by=["pulse"]),
        make_report(visits(2), "sick", features="linear", holdout=0.5, rows=0, drop=["patient"]),
    ]
    widths = [report.expected.high - report.expected.low for report in both]
    assert widths[0] > 1.6 * widths[1]
    assert "groups of rows" in str(report_page(both[0], data_name="visits").headline)
    assert all(group.auc is not None and group.auc.high > group.auc.low for group in both[0].groups)


def test_the_interval_of_folds_covers_the_truth_for_patients():
    """A score that nobody trained, in five folds of whole patients: 300 sets."""
    rng, auc, inside, alone = np.random.default_rng(3), 0.75, list[bool](), list[bool]()
    for _ in range(300):
        groups = np.repeat(np.arange(80), 6)
        positive = rng.random(80)[groups] < 0.4
        scores = np.sqrt(0.7) * rng.standard_normal(80)[groups] + np.sqrt(0.3) * rng.standard_normal(groups.size)
        scores += np.sqrt(2.0) * ndtri(auc) * positive
        for found, given in ((inside, groups), (alone, None)):
            interval = fold_auc_ci(positive, scores, groups % 5, groups=given)
            found.append(interval.low <= auc <= interval.high)
    assert 0.91 <= np.mean(inside) <= 0.985
    assert np.mean(alone) < 0.8


def test_the_interval_of_folds_covers_the_truth_for_few_patients():
    """Eight patients in five folds: a fold of one or two does not show how patients vary."""
    rng, auc, inside = np.random.default_rng(4), 0.75, list[bool]()
    for _ in range(300):
        groups = np.repeat(np.arange(8), 30)
        own = rng.standard_normal(8)[groups]  # moves labels and scores of a patient together
        positive = own + rng.logistic(size=groups.size) > 0.5
        scores = 0.7 * rng.standard_normal(8)[groups] + rng.standard_normal(groups.size)
        if min(positive.sum(), (~positive).sum()) < 20:
            continue
        scores += np.sqrt(2.0 * (0.49 + 1.0)) * ndtri(auc) * positive
        interval = fold_auc_ci(positive, scores, groups % 5, groups=groups)
        inside.append(interval.low <= auc <= interval.high)
    assert 0.91 <= np.mean(inside) <= 0.99


def test_few_groups_of_noise_have_a_wide_interval_before_the_correction_too():
    rng = np.random.default_rng(0)
    rows = visits(4, patients=8, each=30).assign(sick=rng.choice(["yes", "no"], 240))
    facts = train(rows, "sick", groups="patient", features="linear").training
    widths = [facts[f"{name}_high"] - facts[f"{name}_low"] for name in ("cv_auc", "corrected_auc")]
    assert widths[0] == pytest.approx(widths[1], abs=1e-9)
    assert facts["cv_auc_low"] < 0.5 < facts["cv_auc_high"]


def test_copies_in_new_rows_are_told():
    """Training had none, so intervals take rows as independent; equal rows of few values are no copies."""

    def rows(n, seed, values=None):
        rng = np.random.default_rng(seed)
        found = {
            name: rng.standard_normal(n).round(3) if values is None else rng.integers(0, values, n) for name in "abcdef"
        }
        return pd.DataFrame(found).assign(sick=np.where(found["a"] + rng.logistic(size=n) > 0.5, "yes", "no"))

    model = train(rows(400, 0), "sick", features="linear")
    nearly = pd.concat([rows(100, 1).assign(f=rows(100, seed)["f"]) for seed in (2, 3, 4)], ignore_index=True)
    with pytest.warns(UserWarning, match="copies of others, or nearly: intervals should be 1.7 times as wide"):
        narrow = evaluate(model, nearly)
    wide = evaluate(model, nearly, groups="duplicates")
    assert wide.auc.high - wide.auc.low > 1.6 * (narrow.auc.high - narrow.auc.low)
    few = train(rows(400, 0, 2), "sick", features="linear")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(model, rows(300, 5))
        evaluate(few, rows(300, 6, 2))


def test_five_groups_have_no_interval_but_a_sentence(tmp_path, capsys):
    rows = visits(3, patients=5, each=60)
    sick = rows["pulse"] + np.random.default_rng(0).standard_normal(300) > 0.2
    rows.assign(sick=np.where(sick, "yes", "no")).to_csv(tmp_path / "v.csv", index=False)
    told = ["--target", "sick", "--groups", "patient", "--features", "linear", "--drop", "weight"]
    assert run(["train", f"{tmp_path}/v.csv", *told, "--model", f"{tmp_path}/m.json"]) == 0
    said = capsys.readouterr()
    assert "95 % interval not known" in said.out
    assert "The rows are of 5 groups, too few to say how far off the AUC may be for new groups" in said.err
    assert run(["report", f"{tmp_path}/v.csv", *told, "--html", f"{tmp_path}/r.html", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)  # NaN is no JSON
    assert found["expected_auc_low"] is None
    assert 0.5 < found["expected_auc"] < 1.0
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "interval</span> not known" in page
    assert "(interval not known)" in page
    assert load_model(tmp_path / "m.json").training["cv_auc_low"] == 0.0  # of fewer than six groups


def test_the_commands_say_how_many_groups_there_are(model, tmp_path, capsys):
    save_model(model, tmp_path / "model.json")
    visits(1).to_csv(tmp_path / "new.csv", index=False)
    arguments = ["evaluate", f"{tmp_path}/model.json", f"{tmp_path}/new.csv"]
    assert run(arguments) == 0
    assert "(Newcombe, 60 groups of rows)" in capsys.readouterr().out
    assert run([*arguments, "--groups", "none", "--weights", "none", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["auc_standard_error"] > 1.8 * alone["auc_standard_error"]
    visits(1).drop(columns="patient").to_csv(tmp_path / "bare.csv", index=False)
    assert run(["evaluate", f"{tmp_path}/model.json", f"{tmp_path}/bare.csv"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "which training had as groups" in said
    assert "add --groups none" in said
    both = ["compare", f"{tmp_path}/model.json", f"{tmp_path}/model.json"]
    assert run([*both, f"{tmp_path}/new.csv"]) == 0
    assert "480 rows in 60 groups" in capsys.readouterr().out
    assert run([*both, f"{tmp_path}/bare.csv"]) == 0
    said = capsys.readouterr()
    assert "groups" not in said.out
    assert "add --groups none" in " ".join(said.err.split())
    assert run([*arguments, "--max-fpr", "0.2"]) == 1
    assert "--max-fpr and --weights cannot be combined" in capsys.readouterr().err


def test_rows_without_a_label_are_not_judged(tmp_path):
    """What only unlabelled rows hold is no matter for an evaluation, which leaves them out."""
    model, new = train(visits(0), "sick", features="linear", groups="patient"), visits(1)
    odd = visits(2, patients=10).assign(age=1e6, sick=None)
    both = pd.concat([new, odd], ignore_index=True)
    for table in (both, tmp_path / "both.csv"):
        both.to_csv(tmp_path / "both.csv", index=False)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = evaluate(model, table)
        assert found.n == 480
        assert not any("far outside" in str(one.message) for one in said)
        assert any("80 rows without a label were left out" in str(one.message) for one in said)
