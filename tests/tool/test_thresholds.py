"""A threshold that a model stores: how it is chosen, and who uses it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vrspam import AUCClassifierCV
from vrspam._utils.names import THRESHOLD_RULES
from vrspam.cli.run import run
from vrspam.export import to_python, to_sql
from vrspam.metrics.promises import choose_threshold, promised_threshold
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.report.words.thresholds import describe_promise
from vrspam.tool import (
    Model,
    TrainPlan,
    evaluate,
    export_model,
    load_model,
    make_report,
    predict,
    report_page,
    save_model,
    score_file,
    train,
)
from vrspam.tool.training import fit_file
from vrspam.trusted import SKOPS_TYPES


def trained(**asked: Any) -> tuple[Model, ChosenThreshold]:
    """A model with a threshold, and the threshold."""
    model = train(patients(), "sick", **asked)
    assert model.threshold is not None
    return model, model.threshold


def patients(rows: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, dose = rng.standard_normal((2, rows)).round(2)
    sick = age + 0.5 * dose + rng.standard_normal(rows) > 0.8
    return pd.DataFrame(
        {"number": np.arange(rows) + 7000, "age": age, "dose": dose, "sick": np.where(sick, "yes", "no")}
    )


ASKED = {"recall": 0.9, "precision": 0.8, "alerts": 0.1, "cost_ratio": 5.0, "threshold": 0.25}


def measures(positive, called, weights):
    """Recall, precision, share of the rows called, and the cost for each ratio."""
    total, found = weights[called].sum(), weights[called & positive].sum()
    missed, alarms = weights[positive & ~called].sum(), weights[called & ~positive].sum()
    precision = found / total if total else 1.0
    return found / weights[positive].sum(), precision, total / weights.sum(), alarms + 5.0 * missed


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", THRESHOLD_RULES)
def test_the_threshold_of_a_rule_is_the_best_of_all(rule, weighted):
    rng = np.random.default_rng(3)
    positive = rng.random(80) < 0.4
    scores = np.round(rng.standard_normal(80) + positive, 1)  # with ties
    weights = rng.integers(1, 4, 80).astype(float) if weighted else np.ones(80)
    found = choose_threshold(positive, scores, rule, ASKED[rule], weights if weighted else None)
    all_of_them = {cut: measures(positive, scores >= cut, weights) for cut in [*np.unique(scores), np.inf]}
    called = scores >= found.threshold
    recall, precision, share, cost = own = measures(positive, called, weights)
    assert (found.sensitivity, found.precision, found.share) == pytest.approx(own[:3])
    assert not np.isin(found.threshold, scores) or rule == "threshold"
    if rule == "recall":
        assert found.threshold <= max(cut for cut, one in all_of_them.items() if one[0] >= 0.9)
        assert recall == min(one[0] for one in all_of_them.values() if one[0] >= 0.9)
    elif rule == "precision":
        assert precision >= 0.8
        assert recall == max(one[0] for cut, one in all_of_them.items() if one[1] >= 0.8 and cut < np.inf)
    elif rule == "alerts":
        assert share == max(one[2] for one in all_of_them.values() if one[2] <= 0.1)
    elif rule == "cost_ratio":
        assert cost == min(one[3] for one in all_of_them.values())
    else:
        assert found.threshold == 0.25


def test_rules_that_no_threshold_keeps_are_refused():
    positive, scores = np.array([True, False] * 10), np.repeat(np.arange(10.0), 2)
    with pytest.raises(ValueError, match=r"no threshold keeps precision=0\.9 on held-out rows: give a smaller number"):
        choose_threshold(positive, scores, "precision", 0.9)
    with pytest.raises(ValueError, match=r"no threshold keeps alerts=0\.05 on held-out rows: give a larger number"):
        choose_threshold(positive, scores, "alerts", 0.05)
    with pytest.raises(ValueError, match="recall= and alerts= cannot be combined: a model stores one threshold"):
        train(patients(), "sick", recall=0.9, alerts=0.1)
    with pytest.raises(ValueError, match="alerts=3 must be between 0 and 1"):
        train(patients(), "sick", alerts=3)


@pytest.mark.parametrize("rule", THRESHOLD_RULES)
def test_every_form_of_a_model_applies_its_threshold(rule, tmp_path):
    (model, chosen), new = trained(features="additive", **{rule: ASKED[rule]}), patients(400, seed=1)
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").threshold == chosen
    scores = score_file(model, new)[1]
    expected = np.where(scores >= chosen.threshold, "yes", "no").tolist()
    assert 0 < expected.count("yes") < 400
    predict(model, new, tmp_path / "scores.csv")
    assert pd.read_csv(tmp_path / "scores.csv")["decision"].tolist() == expected
    namespace: dict = {}
    exec(to_python(model), namespace)
    assert [namespace["label"](row) for row in new.to_dict("records")] == expected
    words = f"'yes' where the score is at least {chosen.threshold!r}, a threshold that {chosen.words}."
    assert namespace["label"].__doc__ == words
    assert f"'yes' where the score is at least {chosen.threshold!r}" in to_sql(model)
    runtime, onnx = pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    export_model(model, onnx=tmp_path / "model.onnx", dtype="float64")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    inputs = {one.name: new[one.name].to_numpy()[:, np.newaxis] for one in session.get_inputs()}
    assert session.run(["label"], inputs)[0].ravel().tolist() == expected
    (said,) = [one.doc_string for one in onnx.load(tmp_path / "model.onnx").graph.output if one.name == "label"]
    assert said == f"'yes' where the score is at least {chosen.threshold:g} ({chosen.words})."


@pytest.mark.parametrize("threshold", [{"recall": 0.9}, {"alerts": 0.1}, {"cost_ratio": 5.0}, 0.25])
def test_an_estimator_applies_its_threshold_and_keeps_it_in_a_file(threshold):
    skops = pytest.importorskip("skops.io")
    X, y = patients()[["age", "dose"]], patients()["sick"]
    model = AUCClassifierCV(threshold=threshold).fit(X, y)
    expected = np.where(model.decision_function(X) >= model.threshold_.threshold, "yes", "no")
    assert model.predict(X).tolist() == expected.tolist()
    again = skops.loads(skops.dumps(model), trusted=SKOPS_TYPES)
    assert again.predict(X).tolist() == expected.tolist()
    held_out = model.out_of_fold_.scores + model.baseline_ >= model.threshold_.threshold
    assert model.threshold_.share == pytest.approx(held_out.mean())
    assert AUCClassifierCV().fit(X, y).threshold_ is None
    with pytest.raises(
        ValueError, match=r"The 'threshold' parameter of AUCClassifierCV must be .*dict of one of recall"
    ):
        AUCClassifierCV(threshold={"f1": 0.5}).fit(X, y)


def test_a_cluster_applies_the_threshold():
    array = pytest.importorskip("dask.array")
    from vrspam import HashFolds
    from vrspam.distributed import DaskAUCClassifierCV

    X, y = patients()[["age", "dose"]].to_numpy(), (patients()["sick"] == "yes").to_numpy().astype(int)
    there = array.from_array(X, chunks=(100, 2)), array.from_array(y, chunks=100)
    model = DaskAUCClassifierCV(threshold={"recall": 0.9}).fit(*there)
    local = AUCClassifierCV(threshold={"recall": 0.9}, cv=HashFolds(5)).fit(X, y)
    # the zero of the scores is where the probability is one half, and a cluster has no correction for the choice
    assert model.threshold_.threshold - model.baseline_ == pytest.approx(
        local.threshold_.threshold - local.baseline_, abs=1e-5
    )
    assert model.predict(there[0]).compute().tolist() == local.predict(X).tolist()


def test_evaluate_says_what_was_promised_and_what_is_found(tmp_path, capsys):
    (model, promise), new = trained(features="linear", recall=0.85), patients(400, seed=1)
    found = evaluate(model, new, recall=0.5)
    assert found.promised == promise
    positive, scores = score_file(model, new)
    called = scores >= promise.threshold
    assert 0.85 < promise.sensitivity < 0.92  # so that new rows keep 0.85
    assert found.thresholds["model"].sensitivity == called[positive].mean()
    assert found.thresholds["model"].precision == positive[called].mean()
    assert found.thresholds["recall"].sensitivity == pytest.approx(0.5, abs=0.02)
    save_model(model, tmp_path / "model.json")
    new.to_csv(tmp_path / "new.csv", index=False)
    assert run(["evaluate", f"{tmp_path}/model.json", f"{tmp_path}/new.csv", "--html", f"{tmp_path}/page.html"]) == 0
    said = capsys.readouterr().out
    promised = f"sensitivity {promise.sensitivity:.3f} in training, found {called[positive].mean():.3f}"
    assert promised in said
    assert "of the model: finds at least 85 % of the positives, with 95 % confidence" in said
    assert promised in (tmp_path / "page.html").read_text("utf-8")
    assert run(["evaluate", f"{tmp_path}/model.json", f"{tmp_path}/new.csv", "--json"]) == 0
    flat = json.loads(capsys.readouterr().out)
    assert flat["promised_sensitivity"] == promise.sensitivity
    assert flat["model_sensitivity"] == called[positive].mean()


def test_train_says_what_it_stores(tmp_path, capsys):
    patients().to_csv(tmp_path / "old.csv", index=False)
    command = ["train", f"{tmp_path}/old.csv", "--target", "sick", "--model", f"{tmp_path}/model.json"]
    command += ["--features", "linear"]
    assert run([*command, "--cost-ratio", "5"]) == 0
    assert "has the least cost, one miss worth 5 false alarms" in capsys.readouterr().out
    assert run([*command, "--alerts", "0.1", "--json"]) == 0
    chosen = json.loads(capsys.readouterr().out)["threshold"]
    assert (chosen["rule"], chosen["asked"]) == ("alerts", 0.1)
    assert 0.05 < chosen["share"] <= 0.1
    assert run([*command, "--recall", "0.9", "--threshold", "0.2"]) == 2
    assert "--recall and --threshold cannot be combined" in capsys.readouterr().err


def test_the_rows_at_the_top(tmp_path, capsys):
    model, new = train(patients(), "sick", features="linear"), patients(400, seed=1)
    scores = score_file(model, new)[1]
    assert predict(model, new, tmp_path / "top.csv", top=7) == 7
    found = pd.read_csv(tmp_path / "top.csv")
    best = np.argsort(-scores, kind="stable")[:7]
    assert found["row"].tolist() == (best + 1).tolist()
    assert found["number"].tolist() == new["number"].to_numpy()[best].tolist()  # identifiers stay beside
    np.testing.assert_allclose(found["score"], scores[best])
    assert predict(model, new, tmp_path / "all.csv", top=10_000) == 400
    with pytest.raises(ValueError, match="top=0 must be at least 1"):
        predict(model, new, tmp_path / "top.csv", top=0)
    save_model(model, tmp_path / "m.json")
    new.to_csv(tmp_path / "new.csv", index=False)
    command = ["predict", f"{tmp_path}/m.json", f"{tmp_path}/new.csv", "--out", f"{tmp_path}/top.csv"]
    assert run([*command, "--top", "7"]) == 0
    assert "the 7 rows with the highest scores: " in capsys.readouterr().out
    assert run(command) == 0
    assert "400 rows scored: " in capsys.readouterr().out


def test_rows_called_one_of_several_labels_are_counted(tmp_path, capsys):
    rng = np.random.default_rng(0)
    grade = rng.integers(0, 3, 300)
    frame = pd.DataFrame({"a": rng.standard_normal(300) + grade, "grade": grade})
    save_model(train(frame, "grade", positive="2", features="linear"), tmp_path / "m.json")
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "scores.csv"
    assert run(["predict", str(tmp_path / "m.json"), str(tmp_path / "t.csv"), "--out", str(out)]) == 0
    called = int((pd.read_csv(out)["decision"] == "2").sum())
    assert called > 0
    assert f"{called} rows of the file are called 2" in capsys.readouterr().out


def test_the_rows_at_the_top_of_many_blocks(tmp_path):
    model = train(patients(), "sick", features="linear")
    many = pd.concat([patients(400, seed=1)] * 300, ignore_index=True)
    many.to_csv(tmp_path / "many.csv", index=False)
    assert predict(model, tmp_path / "many.csv", tmp_path / "top.csv", top=1000) == 1000
    scores = score_file(model, many)[1]
    np.testing.assert_array_equal(
        pd.read_csv(tmp_path / "top.csv")["row"], np.argsort(-scores, kind="stable")[:1000] + 1
    )


@pytest.mark.parametrize("drop_errors", [False, True])
def test_rows_at_the_top_have_their_numbers_in_the_file_after_broken_ones(drop_errors, tmp_path, capsys):
    model, new = train(patients(), "sick", features="linear"), patients(400, seed=1)
    scores, broken = score_file(model, new)[1], [0, 4, 5, 201, 399]
    lines = new.to_csv(index=False).splitlines()
    for place in broken:
        lines[place + 1] += ",more"
    (tmp_path / "broken.csv").write_text("\n".join(lines))
    words = "5 rows cannot be scored, and cannot be among the highest: without top=, `predict` says why"
    for top in (3, 1_000):
        asked: Any = {"top": top, "drop_errors": drop_errors, "chunk_bytes": 700}
        with pytest.warns(UserWarning, match=words):
            assert predict(model, tmp_path / "broken.csv", tmp_path / "top.csv", **asked) == min(top, 395)
        found = pd.read_csv(tmp_path / "top.csv")
        whole = np.setdiff1d(np.argsort(-scores, kind="stable"), broken, assume_unique=True)[:top]
        assert found["row"].tolist() == (whole + 1).tolist()
        assert found["number"].tolist() == new["number"].to_numpy()[whole].tolist()
        assert "reason" not in found
    save_model(model, tmp_path / "m.json")
    command = ["predict", f"{tmp_path}/m.json", f"{tmp_path}/broken.csv", "--out", f"{tmp_path}/top.csv", "--top", "3"]
    assert run([*command, *["--drop-errors"] * drop_errors]) == 0
    assert (
        "warning: 5 rows cannot be scored, and cannot be among the highest: without --top," in capsys.readouterr().err
    )
    assert run([*command, *["--drop-errors"] * drop_errors, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["unscored"]) == (3, 5)


def test_rows_without_a_score_are_told_in_the_words_of_the_reader(tmp_path, capsys):
    model, lines = train(patients(), "sick", features="linear"), patients(50, seed=1).to_csv(index=False).splitlines()
    (tmp_path / "broken.csv").write_text("\n".join([*lines, "1,2,3,no,more"]))
    save_model(model, tmp_path / "m.json")
    assert run(["predict", f"{tmp_path}/m.json", f"{tmp_path}/broken.csv", "--out", f"{tmp_path}/s.csv"]) == 0
    assert "the column 'reason' says why; --drop-errors leaves such rows out" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="1 row cannot be scored: .* says why; drop_errors=True leaves such rows out"):
        predict(model, tmp_path / "broken.csv", tmp_path / "s.csv")


def test_the_page_begins_at_the_threshold(tmp_path):
    report = make_report(patients(), "sick", features="linear", recall=0.9, rows=0)
    chosen = report.model.threshold
    assert chosen is not None
    assert report.evaluation.thresholds["model"].sensitivity == pytest.approx(chosen.sensitivity)
    page = report_page(report, data_name="patients.csv").html()
    assert f"confidence: threshold {chosen.threshold:g}." in page


def test_train_stores_the_promised_threshold_or_says_why_not(tmp_path, capsys):
    """200 positives promise a recall of 0.9 (see benchmarks/promises.py for new rows); 20 do not, for want of 29."""
    frame = patients(700)
    model = train(frame, "sick", features="linear", recall=0.9)
    assert model.threshold is not None
    assert model.threshold.confidence == 0.95
    assert model.threshold.words == "finds at least 90 % of the positives, with 95 % confidence"
    assert not any("promise" in note for note in model.training["warnings"])
    positive, scores = score_file(model, patients(20_000, seed=5))
    assert 0.9 <= np.mean(scores[positive] >= model.threshold.threshold) <= 0.96
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").threshold == model.threshold
    assert "at least 90 % of the positives, with 95 % confidence" in to_sql(model)
    report = make_report(frame, "sick", features="linear", recall=0.9, rows=0)
    told = f"find at least 90 % of the positives, with 95 % confidence: threshold {model.threshold.threshold:g}."
    assert told in describe_promise(report.evaluation)[0]
    assert "find at least" in report_page(report, data_name="patients").html()
    few = pd.concat([frame[frame.sick == "yes"][:20], frame[frame.sick == "no"][:60]])
    few.to_csv(tmp_path / "few.csv", index=False)
    words = ["train", str(tmp_path / "few.csv"), "--target", "sick", "--features", "linear", "--recall", "0.9"]
    assert run([*words, "--model", str(tmp_path / "few.json")]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "20 positives are too few to promise --recall 0.9 with 95 % confidence: it takes 29." in said
    assert "The stored threshold meets this target on the held-out rows alone." in said
    stored = load_model(tmp_path / "few.json").threshold
    assert stored is not None
    assert stored.confidence is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"recall": 1.0}, "no number of rows can promise recall=1.0"),
        ({"recall": 0.8, "weights": "dose"}, "rows in groups, or with weights, cannot promise recall=0.8"),
        ({"alerts": 0.3, "groups": "number"}, "rows in groups, or with weights, cannot promise alerts=0.3"),
        ({"alerts": 0.006}, "too few to promise alerts=0.006"),
    ],
)
def test_what_is_no_promise_is_said(given, words):
    frame = patients().assign(number=np.arange(600) // 3)
    frame["dose"] = frame["dose"].abs() + 0.1
    model = train(frame, "sick", features="linear", **given)
    assert model.threshold is not None
    assert model.threshold.confidence is None
    assert any(words in note for note in model.training["warnings"])


@pytest.mark.parametrize(
    "rule", [{"recall": 90}, {"alerts": 5}, {"precision": 1.5}, {"threshold": 0.5}, {"cost_ratio": np.inf}]
)
def test_a_classifier_refuses_a_rule_that_no_number_can_keep(rule):
    with pytest.raises(ValueError, match=r"recall, precision, alerts and a number in \(0, 1\], or of cost_ratio and a"):
        AUCClassifierCV(threshold=rule).fit(np.arange(40.0)[:, np.newaxis], np.arange(40) % 2)


def test_stored_promises_allow_for_shared_training_rows():
    """Scores that are mostly noise would be others for other training rows: their promise is wider."""
    rng = np.random.default_rng(5)
    noise = pd.DataFrame(rng.standard_normal((400, 10))).add_prefix("c")
    sick = rng.random(400) < 0.4
    clear = noise.assign(c0=rng.standard_normal(400) + 3.0 * sick)[["c0"]]
    for table, least, most in ((noise, 1.3, 1.6), (clear, 1.0, 1.1)):
        trained = fit_file(table.assign(sick=sick.astype(int)), TrainPlan("sick", features="linear", alerts=0.2))
        held_out, stored = trained.held_out, trained.model.threshold
        alone = promised_threshold(held_out.positive, held_out.scores, alerts=0.2)
        assert stored is not None
        widened = (0.2 - stored.share) / (0.2 - alone.found)
        assert least - 0.1 <= widened <= most + 0.1, widened
