"""`train`, `evaluate` and `compare` with --max-fpr: numbers against scikit-learn, in the text, JSON and on pages."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tool_data import make_model, patients, write

from vrspam.cli import main
from vrspam.measures.fold_interval import fold_auc_ci
from vrspam.metrics import partial_auc_ci, partial_auc_test
from vrspam.plotting import plot_roc
from vrspam.tool import load_model, train
from vrspam.tool.evaluation import evaluate, score_file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("max_fpr")
    write(patients(), folder / "patients.csv")
    write(patients(seed=1), folder / "new.csv")
    for name, more in (("m.json", ["--max-fpr", "0.2"]), ("b.json", ["--drop", "age"])):
        command = ["train", str(folder / "patients.csv"), "--target", "sick", "--model", str(folder / name), *more]
        assert main([*command, "--features", "linear"]) == 0
    return folder


def test_train_chooses_by_the_partial_auc_and_reports_it(folder, capsys):
    command = ["train", str(folder / "patients.csv"), "--target", "sick", "--max-fpr", "0.2"]
    assert main([*command, "--model", str(folder / "auto.json"), "--features", "additive"]) == 0
    out = capsys.readouterr().out
    facts = load_model(folder / "auto.json").training
    assert f"partial AUC  {facts['cv_partial_auc']:.4f}, 95 % interval {facts['cv_partial_auc_low']:.4f} to" in out
    assert "(up to 20 % false positives, standardised); this may flatter a little, because the model was chosen" in out
    assert facts["cv_partial_auc_low"] < facts["cv_partial_auc"] < facts["cv_partial_auc_high"]
    assert facts["max_fpr"] == 0.2
    (row,) = facts["selection"]
    assert row["score"] != row["auc"]
    assert row["score"] == pytest.approx(facts["cv_partial_auc"], abs=0.05)
    assert row["auc"] == pytest.approx(facts["cv_auc"], abs=0.05)
    assert main([*command, "--model", str(folder / "j.json"), "--features", "linear", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["cv_partial_auc"] == load_model(folder / "m.json").training["cv_partial_auc"]


def test_streaming_reports_it_too(folder):
    facts = train(folder / "patients.csv", "sick", streaming=True, max_fpr=0.3, n_splits=3).training
    assert facts["max_fpr"] == 0.3
    assert 0.5 < facts["cv_partial_auc"] < facts["cv_auc"] + 0.1


def test_without_the_option_nothing_changes(folder):
    facts = load_model(folder / "b.json").training
    assert not {"max_fpr", "cv_partial_auc", "score"} & {*facts, *facts["selection"][0]}


def test_several_maps_are_compared_by_it(folder, capsys):
    command = ["train", str(folder / "patients.csv"), "--target", "sick", "--max-fpr", "0.2", "--folds", "3"]
    assert main([*command, "--model", str(folder / "all.json")]) == 0
    out = capsys.readouterr().out
    assert "Models compared: mean partial AUC of the folds ± standard error" in out
    rows = load_model(folder / "all.json").training["selection"]
    best = max(rows, key=lambda row: row["score"])
    assert best["weight"] == max(row["weight"] for row in rows)
    share = "chosen" if best["weight"] == 1.0 else f"{100 * best['weight']:.0f} % of the blend"
    assert f"{best['score']:.4f} ± {best['standard_error']:.4f}  {share}" in out
    assert main(["explain", str(folder / "all.json"), "--html", str(folder / "all.html")]) == 0
    page = re.sub("</?span[^>]*>", "", (folder / "all.html").read_text("utf-8"))
    assert "mean partial AUC of the folds ±" in page
    assert "cross-validated partial AUC" in page
    assert "(up to 20 % false positives, standardised); this may flatter a little" in page.replace("\u00a0", " ")


def test_nothing_at_the_top_is_said_in_options(folder, capsys):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{number < 60}" for number in range(300)]
    (folder / "noise.csv").write_text("\n".join(["x,sick", *lines]))
    command = ["train", str(folder / "noise.csv"), "--target", "sick", "--positive", "True", "--folds", "3"]
    command += ["--features", "linear", "--loss", "squared_hinge", "--max-fpr", "0.1"]
    assert main([*command, "--model", str(folder / "noise.json")]) == 0
    said = capsys.readouterr()
    assert "With --max-fpr 0.1 all coefficients are 0" in said.out + said.err
    assert "or --loss squared, which trains on the whole curve" in said.out + said.err


def test_evaluate_reports_the_interval(folder, capsys):
    command = ["evaluate", str(folder / "m.json"), str(folder / "new.csv"), "--max-fpr", "0.2", "--confidence", "0.9"]
    assert main([*command, "--html", str(folder / "page.html")]) == 0
    out, page = capsys.readouterr().out, re.sub("</?span[^>]*>", "", (folder / "page.html").read_text("utf-8"))
    positive, scores = score_file(load_model(folder / "m.json"), folder / "new.csv")
    expected = partial_auc_ci(positive, scores, max_fpr=0.2, confidence=0.9)
    assert expected.auc == pytest.approx(roc_auc_score(positive, scores, max_fpr=0.2))
    interval = f"{expected.low:.4f} to {expected.high:.4f}"
    shown = f"partial AUC {expected.auc:.4f}, 90 % interval {interval} (up to 20 % false positives"
    assert shown in " ".join(out.split())
    assert "partial AUC" in page
    assert f"{expected.auc:.4f}, 90 % interval {interval} (up to 20 % false positives" in " ".join(page.split())
    assert main([*command, "--json"]) == 0
    flat = json.loads(capsys.readouterr().out)
    names = ("max_fpr", "partial_auc", "partial_auc_low", "partial_auc_high", "partial_auc_method")
    assert [flat[name] for name in names] == [0.2, expected.auc, expected.low, expected.high, "score"]
    assert flat["partial_auc_standard_error"] == expected.standard_error
    assert "partial_auc" not in evaluate(make_model(), positive, scores).flat()


def test_compare_tests_the_partial_aucs_too(folder, capsys):
    command = ["compare", str(folder / "m.json"), str(folder / "b.json"), str(folder / "new.csv"), "--max-fpr", "0.2"]
    assert main([*command, "--html", str(folder / "both.html")]) == 0
    out = capsys.readouterr().out
    (positive, a), (_, b) = (score_file(load_model(folder / name), folder / "new.csv") for name in ("m.json", "b.json"))
    expected = partial_auc_test(positive, a, b, max_fpr=0.2)
    shown = [line.split() for line in out[out.index("Partial AUC") :].splitlines()]
    assert ["m.json", f"{expected.auc_a:.4f}"] in shown
    assert ["b.json", f"{expected.auc_b:.4f}"] in shown
    assert any(
        line[:3] == ["m.json", "minus", "b.json"] and line[-2:] == [f"{expected.z:.3f}", f"{expected.p_value:.3g}"]
        for line in shown
    )
    assert "up to 20 % false positives, standardised" in out
    page = (folder / "both.html").read_text("utf-8")
    assert "Partial AUC" in page
    assert f"{expected.low:+.4f} to {expected.high:+.4f}" in page
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["max_fpr"], found["partial_auc_a"], found["partial_auc_b"]) == (0.2, expected.auc_a, expected.auc_b)
    assert (found["partial_difference"], found["partial_p_value"]) == (expected.difference, expected.p_value)
    assert main(command[:-2]) == 0
    assert "partial" not in capsys.readouterr().out


def test_the_mean_of_the_folds_has_the_error_of_independent_folds():
    rng = np.random.default_rng(0)
    positive, fold = rng.random(900) < 0.3, np.arange(900) % 3
    scores = rng.standard_normal(900) + positive
    parts = [partial_auc_ci(positive[fold == k], scores[fold == k], max_fpr=0.1) for k in range(3)]
    found = fold_auc_ci(positive, scores, fold, max_fpr=0.1)
    assert found.auc == pytest.approx(np.mean([part.auc for part in parts]))
    assert found.standard_error == pytest.approx(np.sqrt(sum(part.standard_error**2 for part in parts)) / 3)
    assert found.low < found.auc < found.high
    perfect = fold_auc_ci(positive, positive * 1.0, fold, max_fpr=0.1)
    assert (perfect.auc, perfect.standard_error, perfect.high) == (1.0, 0.0, 1.0)
    assert perfect.low == pytest.approx(
        np.mean([partial_auc_ci(positive[fold == k], positive[fold == k] * 1.0, max_fpr=0.1).low for k in range(3)])
    )


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_less_than_one_negative_is_one_sentence(folder, capsys, command):
    arguments = {
        "train": [str(folder / "patients.csv"), "--target", "sick", "--model", str(folder / "x.json")],
        "evaluate": [str(folder / "m.json"), str(folder / "new.csv")],
    }[command]
    assert main([command, *arguments, "--max-fpr", "0.001"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "--max-fpr 0.001 of" in last
    assert "is less than one: use a larger share" in last


def test_a_wrong_share_is_refused_by_the_functions():
    with pytest.raises(ValueError, match=r"max_fpr=2\.0 must be above 0 and at most 1"):
        train("nothing.csv", max_fpr=2.0)
    positive = np.arange(20) % 2 == 0
    with pytest.raises(ValueError, match=r"max_fpr=2\.0 must be above 0 and at most 1"):
        evaluate(make_model(), positive, np.arange(20.0), max_fpr=2.0)


def test_roc_picture_shades_what_does_not_count():
    y, scores = [0, 0, 0, 1, 1], [0.1, 0.4, 0.3, 0.2, 0.9]
    (shade,) = plot_roc(y, scores, max_fpr=0.2).patches
    box = shade.get_path().get_extents(shade.get_patch_transform())
    assert (box.x0, box.x1) == pytest.approx((0.2, 1.0))
    assert not plot_roc(y, scores).patches
    assert not plot_roc(y, scores, max_fpr=1.0).patches
    with pytest.raises(ValueError, match=r"max_fpr=0.0 must be above 0"):
        plot_roc(y, scores, max_fpr=0.0)
