"""The commands as a user runs them, on generated files; the page in a real browser."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import roc_auc_score
from tool_data import patients, write, write_libsvm

from vrspam.cli import main
from vrspam.cli.app import app
from vrspam.tool import load_model

INSTALLED = Path(sys.executable).with_name("vrspam")
COMMAND = [str(INSTALLED)] if INSTALLED.exists() else [sys.executable, "-m", "vrspam.cli"]
LINEAR = ["--features", "linear"]
MAX_FPR_COMMANDS = [["train", "x.csv"], ["evaluate", "m.json", "x.csv"], ["compare", "a.json", "b.json", "x.csv"]]
COMMANDS = ["train", "evaluate", "compare", "predict", "explain", "theory"]


def run(folder, *arguments, code=0):
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=folder, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models trained by the installed command, and rows that they were not trained on."""
    folder = tmp_path_factory.mktemp("commands")
    write(patients(), folder / "patients.csv")
    write(patients(seed=1), folder / "new.csv.gz")
    write(patients(seed=1), folder / "new.parquet")
    trained = run(
        folder, "train", "patients.csv", "--target", "sick", "--positive", "yes", "--model", "m.json", *LINEAR
    )
    (folder / "train.out").write_text(trained.stdout, "utf-8")
    (folder / "train.err").write_text(trained.stderr, "utf-8")
    assert (
        main(
            [
                "train",
                str(folder / "patients.csv"),
                "--target",
                "sick",
                "--model",
                str(folder / "b.json"),
                "--drop",
                "age",
                *LINEAR,
            ]
        )
        == 0
    )
    return folder


def test_train_says_what_it_did(folder):
    out, err = (folder / "train.out").read_text("utf-8"), (folder / "train.err").read_text("utf-8")
    positives = int((patients()["sick"] == "yes").sum())
    shown = dict(re.split(r"  +", line, maxsplit=1) for line in out.splitlines() if "  " in line.strip())
    assert shown["rows"] == "400"
    assert shown["rows with sick = yes"] == f"{positives} ({100 * positives / 400:.1f} %)"
    facts = load_model(folder / "m.json").training
    expected = f"{facts['corrected_auc']:.4f}, 95 % interval {facts['corrected_auc_low']:.4f} to"
    assert shown["AUC to expect on new rows"] == f"{expected} {facts['corrected_auc_high']:.4f} (5 folds)"
    assert f" (the best penalty showed {facts['cv_auc']:.3f}; picking the best flatters)" in shown["expect"]
    assert shown["fit"] == "complete"
    for words in ("95 % interval", "All features", "m.json", "größe"):
        assert words in out
    assert "choosing the penalty by 5 folds" in err
    assert "note: column 'patient' differs in nearly every row" in err
    assert "left out; use --include patient to keep it" in err
    assert "without effect: 'ward'" in err
    gaps = patients()["cholesterol, mg/dl"].isna().mean()
    assert f"note: values are missing: 'cholesterol, mg/dl' in {100 * gaps:.1f} % of the rows [missing-values]\n" in err


def test_three_commands_end_to_end(folder, monkeypatch, capsys):
    printed = run(folder, "evaluate", "m.json", "new.csv.gz", "--html", "page.html", "--cost-ratio", "5").stdout
    assert "(Newcombe)" in printed  # fewer than 500 rows of a class
    assert "(Newcombe)" in (folder / "page.html").read_text("utf-8")
    monkeypatch.chdir(folder)
    assert main(["predict", "m.json", "new.csv.gz", "--out", "scores.csv"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "m.json", "new.parquet", "--json"]) == 0
    flat = json.loads(capsys.readouterr().out)
    new, scores = patients(seed=1), pd.read_csv(folder / "scores.csv")
    assert scores["patient"].tolist() == new["patient"].tolist()
    assert flat["auc"] == pytest.approx(roc_auc_score(new["sick"] == "yes", scores["score"]), abs=1e-12)
    assert flat["auc_low"] < flat["auc"] < flat["auc_high"]
    assert flat["auc_method"] == "newcombe"
    assert (flat["n"], flat["positives"]) == (400, (new["sick"] == "yes").sum())
    assert scores["probability"].between(0, 1).all()


def test_compare_explain_and_theory(folder, capsys):
    new = str(folder / "new.parquet")
    both = ["compare", str(folder / "m.json"), str(folder / "b.json"), new]
    assert main([*both, "--picture", str(folder / "both.svg"), "--html", str(folder / "both.html")]) == 0
    out = capsys.readouterr().out
    assert "DeLong" in out
    assert "m.json ranks better than b.json" in out
    assert main([*both, "--json"]) == 0
    test = json.loads(capsys.readouterr().out)
    assert test["difference"] == pytest.approx(test["auc_a"] - test["auc_b"])
    assert 0 < test["p_value"] < 0.05
    svg = (folder / "both.svg").read_text()
    assert svg.startswith("<?xml")
    assert "DeLong" in (folder / "both.html").read_text()
    assert main(["explain", str(folder / "m.json"), "--picture", str(folder / "features.png")]) == 0
    out = capsys.readouterr().out
    assert "cholesterol, mg/dl" in out
    assert "share of its column" in out
    assert "town=Graz" in out
    assert (folder / "features.png").read_bytes().startswith(b"\x89PNG")
    assert main(["explain", str(folder / "m.json"), "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert sum(explained["columns"].values()) == pytest.approx(1.0)
    coefficient = {f["feature"]: f["coefficient"] for f in explained["features"]}
    assert coefficient["age"] == load_model(folder / "m.json").coef[1]
    assert main(["theory", str(folder / "patients.csv"), "--target", "sick", "--json"]) == 0
    constants = json.loads(capsys.readouterr().out)
    assert constants["n"] == 400
    assert constants["lipschitz_printed"] == pytest.approx(8 * constants["M"] ** 2)
    assert main(["theory", str(folder / "patients.csv"), "--target", "sick", "--l2", "0.1", "--raw"]) == 0
    assert "largest norm of a row" in capsys.readouterr().out


def test_theory_says_what_it_leaves_out(tmp_path, capsys):
    frame = patients(rows=120).assign(day=pd.Timestamp("2020-01-01"), paid=[f"1 {k % 50:03d}" for k in range(120)])
    frame["day"] += pd.to_timedelta(np.arange(120), "D")
    frame.loc[:9, "sick"] = None
    command = ["theory", str(write(frame, tmp_path / "t.csv")), "--target", "sick"]
    assert main([*command, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["n"] == 110
    assert "warning: 10 of 120 rows (8.3 %) have no label and are left out" in told.err
    assert "looks like an identifier and was left out; use --include patient to keep it" in told.err
    assert "text that was read as numbers" in told.err
    assert "--dates drop leaves dates out" in told.err
    features = json.loads(told.out)["d"]
    assert main([*command, "--dates", "drop", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["d"] < features
    assert "[dates]" not in told.err
    graded = write(patients(rows=60).assign(sick=np.arange(60) % 5), tmp_path / "graded.csv")
    assert main(["theory", str(graded), "--target", "sick"]) == 1
    assert "`train`, `report` and `evaluate` take --event none instead" in capsys.readouterr().err


def test_libsvm_with_streaming(tmp_path):
    write_libsvm(tmp_path / "rows.libsvm")
    trained = json.loads(run(tmp_path, "train", "rows.libsvm", "--streaming", "--json", "--model", "m.json").stdout)
    assert trained["cv_auc_low"] < trained["cv_auc"] < trained["cv_auc_high"]
    assert trained["corrected_auc_low"] < trained["corrected_auc"] < trained["corrected_auc_high"]
    assert trained["corrected_auc"] <= trained["cv_auc"] + 1e-12
    assert trained["corrected_auc_high"] - trained["corrected_auc_low"] > trained["cv_auc_high"] - trained["cv_auc_low"]
    assert trained["rows"] == 300
    assert (
        main(["predict", str(tmp_path / "m.json"), str(tmp_path / "rows.libsvm"), "--out", str(tmp_path / "s.parquet")])
        == 0
    )
    assert len(pd.read_parquet(tmp_path / "s.parquet")) == 300


def write_counted_from(path, first, rows=200, features=6):
    """The same rows in LIBSVM text, indices counted from `first`; the first feature is seldom 0."""
    rng = np.random.default_rng(0)
    y = rng.random(rows) < 0.4
    X = np.round(rng.standard_normal((rows, features)) + y[:, None] * np.arange(features), 3) * (
        rng.random((rows, features)) < 0.7
    )
    dump_svmlight_file(X, np.where(y, 1, -1), str(path), zero_based=first == 0)
    return path


def test_indices_that_start_at_0(tmp_path, capsys):
    zero, one = (str(write_counted_from(tmp_path / f"from{k}.libsvm", k)) for k in (0, 1))
    models = {k: str(tmp_path / f"m{k}.json") for k in (0, 1)}
    assert main(["train", zero, "--model", models[0], *LINEAR]) == 1
    assert "give --zero-based if indices start at 0" in capsys.readouterr().err
    for streaming in ([], ["--streaming"]):
        assert main(["train", zero, "--zero-based", "--model", models[0], *LINEAR, *streaming]) == 0
        assert main(["train", one, "--model", models[1], *LINEAR, *streaming]) == 0
        np.testing.assert_array_equal(load_model(models[0]).coef, load_model(models[1]).coef)
    assert load_model(models[0]).schema.feature_names == ("0", "1", "2", "3", "4", "5")
    capsys.readouterr()
    printed = []
    for data, model, options in [
        (zero, models[0], []),  # the model knows
        (one, models[1], []),
        (zero, models[1], ["--zero-based"]),
        (one, models[0], ["--one-based"]),
    ]:
        out = str(tmp_path / "s.csv")
        assert main(["predict", model, data, "--out", out, *options]) == 0
        capsys.readouterr()
        assert main(["evaluate", model, data, "--json", *options]) == 0
        assert main(["compare", model, model, data, "--json", *options]) == 0
        printed.append((capsys.readouterr().out, Path(out).read_bytes()))
    assert printed[1:] == printed[:1] * 3
    tables = []
    for command in (["theory", zero, "--zero-based", "--json"], ["theory", one, "--json"]):
        assert main(command) == 0
        tables.append(json.loads(capsys.readouterr().out))
    assert tables[0] == tables[1]


def test_delimiter_and_format_can_be_said(tmp_path, capsys):
    odd = "age" + 10 * ";"  # by the line of names alone, fields would be set apart by semicolons
    frame = patients(rows=200).rename(columns={"age": odd})
    frame.to_csv(tmp_path / "commas.csv", index=False)
    frame.to_csv(tmp_path / "rows", index=False)  # no name to tell the format by
    frame.rename(columns={odd: "age"}).to_csv(tmp_path / "tabs.svm", index=False, sep="\t")
    scores = []
    for name, options in [
        ("commas.csv", ["--delimiter", ","]),
        ("rows", ["--delimiter", ",", "--format", "csv"]),
        ("tabs.svm", ["--delimiter", "tab", "--format", "csv"]),
    ]:
        data, model, out = (str(tmp_path / part) for part in (name, "m.json", "s.csv"))
        assert main(["train", data, "--target", "sick", "--model", model, *LINEAR, *options]) == 0
        assert main(["predict", model, data, "--out", out, *options]) == 0
        capsys.readouterr()
        assert main(["evaluate", model, data, "--json", *options]) == 0
        assert main(["compare", model, model, data, "--json", *options]) == 0
        assert main(["theory", data, "--target", "sick", "--json", *options]) == 0
        scores.append((capsys.readouterr().out, Path(out).read_bytes()))
    assert scores[1:] == scores[:1] * 2
    without = ["train", str(tmp_path / "commas.csv"), "--target", "sick", "--model", str(tmp_path / "n.json")]
    assert main(without) == 1
    assert "give the delimiter of the fields with --delimiter" in capsys.readouterr().err
    assert main([*without, "--zero-based"]) == 1
    assert "--zero-based is for LIBSVM; leave it out" in capsys.readouterr().err
    parquet = str(write(patients(rows=100), tmp_path / "t.parquet"))
    assert main(["evaluate", str(tmp_path / "m.json"), parquet, "--delimiter", ";"]) == 1
    assert "--delimiter is for CSV; leave it out" in capsys.readouterr().err


def test_warnings_speak_of_options(tmp_path, capsys):
    frame = patients(rows=150)
    frame["outcome"] = (frame["sick"] == "yes") * 2.0 + np.random.default_rng(0).random(150)
    frame["paid, EUR"] = [f"1 {k % 50:03d}" for k in range(150)]
    frame["code"] = [f"c{k % 70}" for k in range(150)]
    data, model = str(write(frame, tmp_path / "notes.csv")), str(tmp_path / "m.json")
    command = ["train", data, "--target", "sick", "--model", model, *LINEAR, "--max-categories", "60", "--folds", "3"]
    assert main(command) == 0
    err = capsys.readouterr().err
    assert main([*command, "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["warnings"]
    assert main(["explain", model, "--html", str(tmp_path / "m.html")]) == 0
    page = html.unescape(re.sub("</?code>", "", (tmp_path / "m.html").read_text("utf-8")))
    for words in (
        "use --include patient to keep it",
        "leave it out with --drop",
        """leave it out (--drop '"paid, EUR"'), or take it as categories (--categorical '"paid, EUR"')""",
        "raise --max-categories",
    ):
        assert words in err
        assert any(words in note for note in notes)
        assert words in page
    again = [*command, "--drop", '"paid, EUR"', "--include", "patient"]  # what it says can be typed
    assert main(again) == 0
    err = capsys.readouterr().err
    assert "paid" not in err
    assert "--include patient" not in err


def opened(browser, path, sections, pictures):
    """Open a page, check its layout on a wide screen and on a phone, and return its text."""
    browser.open(path)
    assert browser.texts("h2") == sections
    browser.run("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")
    pictures_of_the_page = "[...document.querySelectorAll('main svg:not(.marks svg)')]"  # without those of the legend
    sizes = browser.run(f"return {pictures_of_the_page}.map(p => p.clientWidth)")
    assert len(sizes) == pictures
    assert min(sizes) > 200
    text = browser.text("body")
    assert [url for url in browser.requests if url != path.as_uri() and not url.startswith("data:")] == []
    assert browser.problems == []
    for width in (390, 1600):
        browser.set_screen(width)
        browser.open(path)
        assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.reset_screen()
    return text


def widths_on_a_phone(browser, path):
    """Return the width of each picture, and that of the figure around it."""
    browser.set_screen(390, 844)
    browser.open(path)
    pictures = "[...document.querySelectorAll('main figure svg')].filter(p => p.clientWidth)"
    sizes = browser.run(f"return {pictures}.map(p => [p.clientWidth, p.parentNode.clientWidth])")
    browser.reset_screen()
    return sizes


EVALUATION = ["Choose a threshold", "Scores", "Is it worth acting on?", "What the model looks at", "How it was made"]


def test_evaluation_in_a_browser(folder, browser):
    page = folder / "evaluation.html"
    command = ["evaluate", str(folder / "m.json"), str(folder / "new.parquet"), "--html", str(page)]
    assert main([*command, "--cost-ratio", "5"]) == 0
    text = opened(browser, page, EVALUATION, pictures=7)
    for words in ("cholesterol, mg/dl", "Youden", "one miss worth 5 false alarms", "Brier", "looks like an identifier"):
        assert words in text
    for picture, place in widths_on_a_phone(browser, page):
        assert 0.8 * place < picture <= place  # pictures use the width of a phone, and are not moved


def test_comparison_in_a_browser(folder, browser):
    page, second = folder / "comparison.html", folder / f"{'a-very-' * 8}long-name.json"
    second.write_bytes((folder / "b.json").read_bytes())
    models = [str(folder / "m.json"), str(second)]
    assert main(["compare", *models, str(folder / "new.parquet"), "--html", str(page)]) == 0
    text = opened(browser, page, ["AUC", "Curves"], pictures=2)
    for words in (f"m.json and {second.name} on new.parquet", "m.json ranks better", "DeLong", "95 % interval"):
        assert words in text


@pytest.mark.parametrize(("kind", "words"), [("additive", "Together they are the score"), ("kernel", "interactions")])
def test_curves_in_a_browser(folder, browser, kind, words):
    model = str(folder / f"{kind}.json")
    data = ["train", str(folder / "patients.csv"), "--target", "sick", "--folds", "3"]
    assert main([*data, "--features", kind, "--model", model]) == 0
    pages = [folder / f"{kind}-{part}.html" for part in ("explained", "evaluated")]
    assert main(["explain", model, "--html", str(pages[0])]) == 0
    assert main(["evaluate", model, str(folder / "new.parquet"), "--html", str(pages[1])]) == 0
    shapes = load_model(model).shapes
    assert shapes
    between = ["Which columns interact"] if kind == "kernel" else []
    of_model = 1 + sum(shape.importance > 0.0 for shape in shapes.columns) + len(shapes.pairs[:6])
    for page, sections, pictures in zip(pages, (EVALUATION[-2:], EVALUATION), (0, 6), strict=True):
        expected = [*sections[:-1], *between, sections[-1]]
        text = opened(browser, page, expected, pictures + of_model)
        assert words in text
        assert "What each column adds to the score" in text
        assert "values are missing: 'cholesterol, mg/dl'" in text


def test_table_of_options_is_that_of_the_commands():
    command: Any = typer.main.get_command(app)
    for name in [*command.commands]:
        command.resolve_command(None, [name])
    commands = command.commands
    there = {
        (name, option)
        for name, command in commands.items()
        for parameter in command.params
        if parameter.param_type_name == "option"
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    text = (Path(__file__).parents[2] / "docs" / "tool.md").read_text("utf-8")
    table = text.partition("## Options")[2].partition("\n## ")[0]
    said = set()
    for row in table.splitlines():
        if row.startswith("| `--"):
            options, names, _ = (cell.strip() for cell in row.strip("|").split(" | "))
            chosen = list(commands) if names == "all" else names.split(", ")
            said |= {(name, option) for name in chosen for option in re.findall(r"--[a-z0-9-]+", options)}
    assert said == there


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"Example:  vrspam {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train"], "Missing argument"),
        (["train", "x.csv", "--l1", "some"], "--l1"),
        (["train", "x.csv", "--l1", "-1"], "--l1"),
        (["train", "x.csv", "--folds", "1"], "--folds"),
        (["train", "x.csv", "--calibration", "magic"], "--calibration"),
        (["train", "x.csv", "--features", "magic"], "--features"),
        (
            ["train", "x.csv", "--loss", "squared_hinge", "--streaming"],
            "--streaming and --loss squared_hinge cannot be combined: this loss needs all rows in memory",
        ),
        (
            ["train", "x.csv", "--features", "auto", "--streaming"],
            "--streaming trains straight lines only: leave",
        ),
        (["train", "x.csv", "--model", "/no/such/directory/m.json"], "make it first"),
        (["evaluate", "m.json", "x.csv", "--confidence", "95"], "--confidence"),
        (["evaluate", "m.json", "x.csv", "--recall", "0"], "--recall"),
        *(([*command, "--max-fpr", share], "--max-fpr") for share in ("0", "1.5") for command in MAX_FPR_COMMANDS),
        (["evaluate", "m.json", "x.csv", "--cost-ratio", "-1"], "--cost-ratio"),
        (["predict", "m.json", "x.csv"], "--out"),
        (["predict", "m.json", "x.csv", "--out", "x.xlsx"], ".parquet"),
        (["compare", "a.json", "b.json", "x.csv", "--picture", "x.bmp"], "--picture"),
        (["theory", "x.csv", "--theta", "2"], "--theta"),
        (["train", "x.csv", "--delimiter", ";;"], "neither one ASCII character nor tab"),
        (["predict", "m.json", "x.csv", "--out", "s.csv", "--delimiter", "ö"], "--delimiter"),
        (["evaluate", "m.json", "x.csv", "--format", "xlsx"], "--format"),
    ],
)
def test_misuse_is_one_sentence_and_exit_code_2(arguments, words, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def failing(folder, capsys, *arguments):
    assert main([str(folder / a) if a.endswith((".csv", ".json")) else a for a in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = [x for x in captured.err.splitlines() if not x.endswith("...")]
    return line


def test_failures_are_one_sentence_and_exit_code_1(folder, capsys):
    assert "no file is found" in failing(folder, capsys, "train", "none.csv", "--target", "sick")
    assert "has no column 'ill'" in failing(folder, capsys, "train", "patients.csv", "--target", "ill")
    assert "no row has the label 'maybe'" in failing(
        folder, capsys, "train", "patients.csv", "--target", "sick", "--positive", "maybe"
    )
    assert "cannot be read" in failing(folder, capsys, "evaluate", "none.json", "patients.csv")
    assert "not a vrspam model file" in failing(folder, capsys, "evaluate", "patients.csv", "patients.csv")
    assert not (folder / "model.json").exists()
    frame = patients(rows=50)
    write(frame.drop(columns="age"), folder / "short.csv")
    assert "there is no column 'age'" in failing(folder, capsys, "evaluate", "m.json", "short.csv")
    write(frame.assign(sick="no"), folder / "one.csv")
    assert "at least two positive rows" in failing(folder, capsys, "evaluate", "m.json", "one.csv")
    assert "no column 'name'" in failing(
        folder, capsys, "predict", "m.json", "patients.csv", "--id", "name", "--out", "s.csv"
    )
    for option in ("--include", "--categorical", "--drop"):
        words = failing(folder, capsys, "train", "patients.csv", "--target", "sick", option, "agee")
        assert "has no column 'agee' (did you mean 'age'?)" in words
    words = failing(folder, capsys, "train", "patients.csv", "--target", "sick", "--drop", "sick")
    assert "holds the labels" in words
    with pytest.raises(ValueError, match="has no column 'ill'"):
        main(["train", str(folder / "patients.csv"), "--target", "ill", "--debug"])


def test_advice_names_what_the_command_line_has(tmp_path, capsys):
    """Sentences of the estimators, as a user of the commands reads them."""
    wide = write_libsvm(tmp_path / "wide.libsvm", rows=60, features=5)
    wide.write_text(wide.read_text() + "1 6000:1\n")
    words = failing(tmp_path, capsys, "train", str(wide), "--streaming", "--folds", "2")
    assert "leave some out, or hold all rows in memory" in words
    assert "AUCClassifier" not in words
    words = failing(tmp_path, capsys, "train", str(wide), "--features", "additive", "--folds", "2")
    assert words.endswith("Leave columns out, or use --features linear.")
    assert "The additive map gives" in words
    rng = np.random.default_rng(0)
    huge = pd.DataFrame({"a": rng.standard_normal(60) * 1e200, "y": np.arange(60) % 2})
    write(huge, tmp_path / "huge.csv")
    words = failing(tmp_path, capsys, "train", "huge.csv", "--target", "y", "--features", "linear")
    assert "rescale it so that it stays below 1e+150, or leave it out with --drop a" in words
    assert "sample_weight" not in words
    write(patients(rows=150), tmp_path / "p.csv")
    model = str(tmp_path / "m.json")
    assert main(["train", str(tmp_path / "p.csv"), "--target", "sick", "--l1", "100", "--model", model]) == 0
    words = capsys.readouterr().err
    assert "every l1 that was tried is too large" in words
    assert "try smaller numbers with --l1" in words
    few = write_libsvm(tmp_path / "few.libsvm", rows=40, features=3)
    words = failing(tmp_path, capsys, "train", str(few), "--streaming", "--folds", "30")
    assert "give fewer folds than --folds 30" in words
    assert "n_splits" not in words


def test_what_is_read_is_never_replaced(folder, capsys):
    data, model = folder / "patients.csv", folder / "m.json"
    before = data.read_bytes(), model.read_bytes()
    commands = [
        ["train", data, "--target", "sick", "--model", data],
        ["train", folder / "pat*.csv", "--target", "sick", "--model", data],
        ["predict", model, data, "--out", data],
        ["predict", model, folder, "--out", data],
        ["evaluate", model, data, "--html", model],
        ["train", data, "--target", "sick", "--model", folder],
        ["evaluate", model, data, "--html", folder],
        ["train", data],
        ["theory", data],
        ["demo", "--out", data],
    ]
    for command in commands:
        assert main([str(part) for part in command]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.splitlines()) == 1
    assert (data.read_bytes(), model.read_bytes()) == before
    assert not list(folder.glob("*.part"))


def test_a_file_of_which_nothing_can_be_scored_gives_no_result(folder, capsys):
    write(patients(rows=50).drop(columns="age"), folder / "short.csv")
    out = folder / "nothing.csv"
    assert main(["predict", str(folder / "m.json"), str(folder / "short.csv"), "--out", str(out), "--skip-errors"]) == 1
    assert "could be scored" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (lambda age: f"1 {age:03.0f}", "text that was read as numbers"),
        (lambda age: f"{1 + age % 28:.0f}.3.2024", "text that was read as dates, the day first"),
        (lambda age: "?" if age % 2 else f"{age:.0f}", "text that was read as numbers"),
        (lambda age: f"<{age:.0f}" if age % 2 else f"{age:.0f}", "text that looks like numbers"),
        (lambda age: "ABCDEFG"[int(age) % 7], None),
    ],
)
def test_text_that_should_be_numbers_is_warned_about(tmp_path, capsys, cells, words):
    frame = patients(rows=300)
    frame["age"] = [cells(int(age)) for age in frame["age"].fillna(40)]
    write(frame, tmp_path / "t.csv")
    command = ["train", str(tmp_path / "t.csv"), "--target", "sick", "--model", str(tmp_path / "m.json"), *LINEAR]
    assert main(command) == 0
    warned = capsys.readouterr().err
    assert (words in warned) if words else ("text that" not in warned)
    assert main([*command, "--categorical", "age"]) == 0
    assert "text that" not in capsys.readouterr().err


def test_decimal_commas_give_the_same_model(tmp_path, capsys):
    frame = patients(rows=300)
    frame["age"] = frame["age"] + 0.25
    frame.to_csv(tmp_path / "point.csv", index=False)
    frame.to_csv(tmp_path / "comma.csv", index=False, sep=";", decimal=",")
    for name in ("point", "comma"):
        data, model = str(tmp_path / f"{name}.csv"), str(tmp_path / f"{name}.json")
        assert main(["train", data, "--target", "sick", "--model", model, *LINEAR]) == 0
        assert main(["predict", model, data, "--out", str(tmp_path / f"scores-{name}.csv")]) == 0
    point, comma = (load_model(tmp_path / f"{name}.json") for name in ("point", "comma"))
    np.testing.assert_array_equal(point.coef, comma.coef)
    assert (tmp_path / "scores-point.csv").read_bytes() == (tmp_path / "scores-comma.csv").read_bytes()


def test_broken_rows_are_named_or_left_out(folder, capsys):
    frame = patients(seed=1).astype({"age": object})
    frame.loc[7, "age"] = "old"
    frame.loc[9, "sick"] = None
    write(frame, folder / "broken.csv")
    assert main(["evaluate", str(folder / "m.json"), str(folder / "broken.csv"), "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["n"] == 399  # the row without a label is left out, the age that is no number is missing
    assert found["warnings"] == [
        "column 'age' holds text where training had other values, in 0.3 % of the rows ('old'): these count as missing"
    ]
    assert "warning: 1 row without a label was left out" in captured.err
    lines = (folder / "broken.csv").read_text("utf-8").splitlines()
    lines[8] += ",more"
    (folder / "broken.csv").write_text("\n".join(lines), "utf-8")
    words = failing(folder, capsys, "evaluate", "m.json", "broken.csv")
    assert "line 9: 8 fields where the header has 7" in words
    assert "give --skip-errors to leave it out" in words
    assert main(["evaluate", str(folder / "m.json"), str(folder / "broken.csv"), "--skip-errors", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["n"] == 398
    assert "warning: left out 1 broken part with at least" in captured.err


def test_columns_with_commas_in_their_names(folder, capsys):
    out = str(folder / "chosen.csv")
    named = ["--id", 'town,"cholesterol, mg/dl"']
    assert main(["predict", str(folder / "m.json"), str(folder / "new.parquet"), "--out", out, *named]) == 0
    assert list(pd.read_csv(out)) == ["town", "cholesterol, mg/dl", "score", "probability", "decision", "extrapolated"]
    assert main(["predict", str(folder / "m.json"), str(folder / "new.parquet"), "--out", out, "--id", " "]) == 2
    assert "at least one name" in capsys.readouterr().err


def test_models_of_different_labels_cannot_be_compared(folder, capsys):
    other = folder / "other.json"
    command = ["train", str(folder / "patients.csv"), "--target", "sick", "--positive", "no", "--model", str(other)]
    assert main([*command, *LINEAR]) == 0
    capsys.readouterr()
    words = failing(folder, capsys, "compare", "m.json", "other.json", "patients.csv")
    assert "do not agree on which rows are positive" in words
    a, b = load_model(folder / "m.json"), load_model(other)
    np.testing.assert_allclose(a.coef, -b.coef, rtol=1e-6, atol=1e-12)
