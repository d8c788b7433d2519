"""Curves in model files, against the estimator, sums by hand and folds fitted one by one; gaps; what `train` tries."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from sklearn.model_selection import StratifiedKFold
from stored import as_lists
from tool_data import flat_curve, open_planned, patients, write, write_libsvm

from vrspam import AUCClassifier, AUCClassifierCV
from vrspam.cli import main
from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures
from vrspam.features.names import GROUPS
from vrspam.inspection import Shape, Shapes
from vrspam.metrics import roc_auc
from vrspam.model.effects import explain
from vrspam.model.file import checksum
from vrspam.model.plain import from_plain, to_plain
from vrspam.plotting import plot_shapes
from vrspam.report.words.model import describe_pairs
from vrspam.report.words.training import describe_candidate
from vrspam.tool import ModelFileError, evaluation, load_model, save_model
from vrspam.tool.plan import TrainPlan
from vrspam.tool.score_blocks import open_rows
from vrspam.tool.training import train

INSTALLED = Path(sys.executable).with_name("vrspam")
COMMAND = [str(INSTALLED)] if INSTALLED.exists() else [sys.executable, "-m", "vrspam.cli"]
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
KINDS = {"additive": "additive", "lines": LinearFeatures(), "kernel": KernelFeatures(n_landmarks=30, random_state=0)}


def ill(rows=400, seed=0):
    """Patients some of whose towns are missing."""
    frame = patients(rows, seed).drop(columns=["patient"])
    frame.loc[np.random.default_rng(seed).random(rows) < 0.1, "town"] = None
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    write(ill(), folder / "patients.csv")
    write(ill(rows=150, seed=1).assign(town=lambda f: f["town"].replace("Graz", "Wien")), folder / "new.csv")
    return folder


@pytest.fixture(scope="module", params=KINDS, ids=list(KINDS))
def model(folder, request):
    """Write the model to a file and load it again."""
    trained = train(folder / "patients.csv", "sick", features=KINDS[request.param], n_splits=3)
    save_model(trained, folder / f"{request.param}.json")
    again = load_model(folder / f"{request.param}.json")
    assert again.shapes
    assert trained.shapes
    assert again.shapes.to_dict() == trained.shapes.to_dict()  # floats compare by value: the same bits
    return again


def parts(model, frame):
    """Return what each column adds to the score of each row, from the stored curves; a new category has only zeros."""
    found = {}
    for shape in model.shapes.columns:
        if shape.numeric:
            found[shape.name] = np.interp(frame[shape.name], shape.grid, shape.contribution)
            if shape.missing is not None:
                found[shape.name][frame[shape.name].isna()] = shape.missing[0]
        else:
            table = {**dict(zip(shape.grid, shape.contribution, strict=True)), None: shape.missing[0]}
            values = frame[shape.name].astype(object).where(frame[shape.name].notna(), None)
            found[shape.name] = np.array([table.get(value, shape.unknown) for value in values])
    return found


def test_curves_are_those_of_the_estimator_on_the_original_scale(tmp_path):
    frame = patients(300)[["größe", "age", "cholesterol, mg/dl", "sick"]]
    path = write(frame, tmp_path / "numbers.csv")
    save_model(train(path, "sick", features="additive", n_splits=3), tmp_path / "m.json")
    shapes = load_model(tmp_path / "m.json").shapes
    assert shapes
    found = {shape.name: shape for shape in shapes.columns}
    y = frame.pop("sick") == "yes"
    expected = AUCClassifierCV(features="additive", cv=FOLDS, random_state=0).fit(frame, y).shape_functions_
    assert list(found) == list(expected)
    assert expected["cholesterol, mg/dl"].missing is not None
    for name, shape in expected.items():
        np.testing.assert_allclose(found[name].grid, shape.grid, rtol=1e-12)
        for key in ("contribution", "low", "high", "importance"):
            np.testing.assert_allclose(getattr(found[name], key), getattr(shape, key), atol=1e-9)
        missing = found[name].missing
        assert (missing is None) == (shape.missing is None)
        if missing is not None:
            np.testing.assert_allclose(np.array(missing), np.array(shape.missing), atol=1e-9)


def explained(model, path):
    """Return what each part adds to the score of each row of a file, as the model says, and the scores."""
    rows = [block.rows for block in open_rows(model, path, labels=False).blocks()]
    each = [model.parts_of_rows(block) for block in rows]
    parts = {name: np.concatenate([block[name] for block in each]) for name in each[0]}
    return parts, np.concatenate([model.score(block) for block in rows])


@pytest.mark.parametrize("name", ["patients.csv", "new.csv"])
def test_curves_and_interactions_add_up_to_the_score(model, folder, name):
    """Also on new rows, with categories that training did not have."""
    by_hand, inside = parts(model, frame := pd.read_csv(folder / name)), np.ones(len(frame), dtype=bool)
    if any(shape.extend for shape in model.shapes.columns):  # lines go on outside the values seen
        for shape in model.shapes.columns:
            if shape.numeric:
                inside &= frame[shape.name].isna() | frame[shape.name].between(shape.grid[0], shape.grid[-1])
    found, scores = explained(model, folder / name)
    for column, part in by_hand.items():
        np.testing.assert_allclose(found[column][inside], part[inside], atol=1e-10)
    np.testing.assert_allclose(sum(found.values()), scores, atol=1e-10)
    assert set(found) - set(by_hand) == ({"interactions"} if model.parts.kernels else set())


def test_interactions_hold_no_function_of_one_column(model, folder):
    """Their mean is 0 in every town, and at every number of visits, both classes weighing the same."""
    if model.shapes.interactions is None:
        pytest.skip("a sum of curves")
    frame = pd.read_csv(folder / "patients.csv")
    sick = (frame["sick"] == "yes").to_numpy()
    rest = explained(model, folder / "patients.csv")[0]["interactions"]
    assert model.shapes.interactions == pytest.approx(balanced_deviation(rest, sick))
    weights = np.where(sick, 1 / sick.sum(), 1 / (~sick).sum())
    for town in frame["town"].dropna().unique():
        here = (frame["town"] == town).to_numpy()
        assert here.sum() > 20
        assert abs(np.average(rest[here], weights=weights[here])) < 1e-6 < np.std(rest)


def test_a_model_explains_a_row_as_its_estimator_does(tmp_path):
    frame = ill(300)
    path, y = write(frame, tmp_path / "p.csv"), frame.pop("sick") == "yes"
    features = KernelFeatures(n_landmarks=30, random_state=0)
    save_model(train(path, "sick", features=features, n_splits=3), tmp_path / "m.json")
    found, _ = explained(load_model(tmp_path / "m.json"), path)
    fitted = AUCClassifierCV(features=features, cv=FOLDS, calibration=None, random_state=0).fit(frame, y)
    for row in (0, 5, 17):
        assert {name: part[row] for name, part in found.items()} == pytest.approx(fitted.explain_one(frame.iloc[row]))
    assert dict(describe_pairs(load_model(tmp_path / "m.json"))) == pytest.approx(
        {" × ".join(pair): share for pair, share in fitted.interactions_.items()}
    )


def balanced_deviation(values, positive):
    """Return the standard deviation with equal weight for both classes."""
    centre = (values[positive].mean() + values[~positive].mean()) / 2
    return np.sqrt(sum(np.mean((values[rows] - centre) ** 2) for rows in (positive, ~positive)) / 2)


def test_importance_is_the_spread_of_the_parts(model, folder):
    frame = pd.read_csv(folder / "patients.csv")
    positive = (frame["sick"] == "yes").to_numpy()
    by_hand = {name: balanced_deviation(part, positive) for name, part in parts(model, frame).items()}
    assert {shape.name: shape.importance for shape in model.shapes.columns} == pytest.approx(by_hand, abs=1e-10)
    effects = {effect.feature: effect for effect in explain(model)}
    assert set(effects) == set(by_hand) | (set() if model.shapes.interactions is None else {"interactions"})
    for name, part in parts(model, frame).items():
        assert effects[name].importance == pytest.approx(by_hand[name], abs=1e-10)
        assert effects[name].contribution == pytest.approx(part[positive].mean() - part[~positive].mean(), abs=1e-10)


def test_band_of_a_category_is_the_jackknife_of_folds_fitted_one_by_one(model, folder):
    if model.parts.kernels:
        pytest.skip("its curves are projections")
    opened = open_planned(folder / "patients.csv", TrainPlan("sick"))
    table, y = opened.rows, opened.positive
    kind = LinearFeatures if model.training["map"] == "standardized" else AdditiveFeatures
    fitted_map = kind(random_state=0).fit(table)
    features = fitted_map.transform(table)
    means = np.stack([features[y == label].mean(axis=0) for label in (False, True)])
    whole = AUCClassifier(model.training["l2"], tol=1e-12).fit(features, y).coef_[0]
    town = next(shape for shape in model.shapes.columns if shape.name == "town")
    own = fitted_map.column_slices_[model.schema.columns.index("town")]
    rows = table.to_pandas().iloc[[0] * 4].assign(town=[*town.grid, None])
    design = fitted_map.transform(rows)[:, own] - means[:, own].mean(axis=0)
    each = []
    for inside, _ in FOLDS.split(features, y):
        fitted = AUCClassifier(model.training["l2"], tol=1e-12).fit(features[inside], y[inside])
        each.append(design @ fitted.coef_[0][own])
    half = student.ppf(0.975, 2) * np.sqrt(2) * np.std(each, axis=0)  # (1 - v)/v = 2 for thirds
    middle = design @ whole[own]
    np.testing.assert_allclose([*town.contribution, town.missing[0]], middle, atol=1e-7)
    effect = model.parts.effects[model.schema.columns.index("town")]
    by_table = np.array([*(effect.values[name] for name in town.grid), effect.missing])
    alone = by_table - model.of_columns.means[:, model.schema.columns.index("town")].mean()
    np.testing.assert_allclose([*town.contribution, town.missing[0]], alone, atol=1e-10)
    np.testing.assert_allclose([*town.low, town.missing[1]], middle - half, atol=1e-5)
    np.testing.assert_allclose([*town.high, town.missing[2]], middle + half, atol=1e-5)


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.UnseenValues")  # tested elsewhere
def test_a_gap_that_means_something_is_used(tmp_path):
    rng = np.random.default_rng(0)
    sick = rng.random(400) < 0.4
    frame = pd.DataFrame({"test": rng.standard_normal(400), "age": rng.normal(50, 9, 400)})
    frame.loc[sick & (rng.random(400) < 0.9), "test"] = np.nan  # not measured where there was no need to ask
    frame["sick"] = np.where(sick, "yes", "no")
    path = write(frame, tmp_path / "gaps.csv")
    aucs = {}
    for kind in ("linear", "additive"):
        model = train(path, "sick", features=kind, n_splits=3)
        aucs[kind] = roc_auc(*evaluation.score_file(model, path))
    assert aucs["linear"] < 0.8
    assert aucs["additive"] > 0.93


def test_what_is_tried_by_default(folder, tmp_path):
    tried = train(folder / "patients.csv", "sick", n_splits=2).training
    assert [row["features"] for row in tried["selection"]] == list(GROUPS["auto"])
    best = max(tried["selection"], key=lambda row: row["auc"])
    assert best["weight"] == max(row["weight"] for row in tried["selection"])
    members = [row["features"] for row in tried["selection"] if row["chosen"]]
    assert tried["map"] == ("stacked" if len(members) > 1 else members[0].split()[0])
    for options in ({"l1": "auto"}, {"l1": [0.0, 0.01]}, {"streaming": True}):
        tried = train(folder / "patients.csv", "sick", n_splits=2, **options).training
        assert (tried["map"], len(tried["selection"])) == ("linear", 1)
    wide = write_libsvm(tmp_path / "wide.libsvm", rows=60, features=1001)
    assert len(train(wide, n_splits=2).training["selection"]) == 1
    assert len(train(write_libsvm(tmp_path / "rows.libsvm", rows=60), n_splits=2).training["selection"]) == len(
        GROUPS["auto"]
    )


@pytest.mark.parametrize(("grid", "marked"), [(np.linspace(0, 1, 11), False), (np.linspace(0, 1, 11) ** 2, True)])
def test_only_quantiles_are_marked_under_a_curve(grid, marked):
    shape = Shape("a", grid, grid, grid - 0.1, grid + 0.1, None, 1.0)
    (ax,) = plot_shapes({"a": shape}).axes
    marks = [line for line in ax.lines if line.get_marker() == "|"]
    assert [np.asarray(line.get_xdata()).tolist() for line in marks] == ([grid.tolist()] if marked else [])


def rewritten(path, to, change):
    """A model file with changed content, arrays as lists of numbers."""
    whole = json.loads(path.read_text("utf-8"))
    whole["model"] = as_lists(whole["model"])
    change(whole["model"])
    whole["checksum"] = checksum(whole["model"])
    to.write_text(json.dumps(whole), "utf-8")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda shape: shape["low"].pop(), "different sizes"),
        (lambda shape: shape.update(grid=[]), "different sizes"),
        (lambda shape: shape["contribution"].__setitem__(0, "1e999"), "something else than finite numbers"),
        (lambda shape: shape.update(missing=[1.0]), "contradicts itself"),
        (lambda shape: shape.pop("high"), "contradicts itself"),
        (lambda shape: shape.update(importance="nan"), "importance is not a finite number"),
    ],
)
def test_damaged_curves_are_named(folder, tmp_path, change, words):
    path = folder / "small.json"
    if not path.exists():
        save_model(train(folder / "patients.csv", "sick", features=LinearFeatures(), n_splits=2), path)
    rewritten(path, tmp_path / "m.json", lambda content: change(content["fields"]["shapes"]["columns"][0]))
    with pytest.raises(ModelFileError, match=words):
        load_model(tmp_path / "m.json")


def test_from_a_table_to_curves_by_the_installed_command(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"dose": rng.uniform(0, 10, 400), "sex": rng.choice(["f", "m"], 400)})
    good = np.sin(frame["dose"]) + 0.8 * (frame["sex"] == "m") + 0.5 * rng.standard_normal(400) > 0.5
    write(frame.assign(well=np.where(good, "yes", "no")), tmp_path / "doses.csv")

    def run(*arguments):
        done = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return done.stdout

    out = run("train", "doses.csv", "--target", "well", "--folds", "3")
    rows = [line.split() for line in out.splitlines() if "±" in line and line.startswith("  ")]
    assert [" ".join(row[: row.index("±") - 2]) for row in rows] == [
        describe_candidate(name) for name in GROUPS["auto"]
    ]
    aucs = [float(row[row.index("±") - 1]) for row in rows]
    shares = [int(row[-5]) if row[-1] == "blend" else 0 for row in rows]
    assert shares[int(np.argmax(aucs))] == max(shares)
    assert sum(shares) == pytest.approx(100, abs=6)
    assert max(aucs[1:]) > aucs[0] + 0.1  # a wave is no line
    run("train", "doses.csv", "--target", "well", "--folds", "3", "--features", "additive")
    out = run("explain", "model.json", "--picture", "curves.svg", "--html", "model.html")
    assert "dose" in out
    assert "Together they are the score" in out
    explained = json.loads(run("explain", "model.json", "--json"))
    dose, sex = explained["shapes"]["columns"]
    assert (dose["name"], sex["name"], sex["grid"]) == ("dose", "sex", ["f", "m"])
    assert sex["contribution"][1] > sex["contribution"][0]
    assert dose["grid"][0] == pytest.approx(frame["dose"].min())
    assert np.corrcoef(dose["contribution"], np.sin(dose["grid"]))[0, 1] > 0.95
    assert (tmp_path / "curves.svg").read_text("utf-8").startswith("<?xml")
    run("evaluate", "model.json", "doses.csv", "--html", "report.html")
    for name in ("model.html", "report.html"):
        page = (tmp_path / name).read_text("utf-8")
        assert "What each column adds to the score" in page
        assert "Picture: what the model looks at" in page


@pytest.mark.parametrize("gaps", [False, True])
def test_a_category_is_missing_only_where_rows_were_without_one(tmp_path, gaps):
    frame = ill(200) if gaps else patients(200).drop(columns=["patient"])
    trained = train(write(frame, tmp_path / "p.csv"), "sick", features="additive", n_splits=3)
    assert trained.shapes
    (town,) = (shape for shape in trained.shapes.columns if shape.name == "town")
    assert (town.missing is not None) == gaps


@pytest.mark.parametrize(
    ("grid", "values", "words"), [([0.0, np.inf], [0.0, 1.0], "not finite"), ([], [], "different sizes")]
)
def test_curves_over_nothing_or_infinite_values_are_refused(grid, values, words):
    plain = to_plain(Shapes((flat_curve(2),)))
    plain["fields"]["columns"][0].update(grid=grid, contribution=values, low=values, high=values)
    with pytest.raises(ValueError, match=words):
        from_plain(Shapes, plain)


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    """Write a model with one strong pair, and two columns that move together."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"dose": rng.uniform(0, 10, 600), "age": rng.normal(50, 9, 600)})
    frame["birth year"] = 2024 - frame["age"].round()
    good = (frame["dose"] - 5) * (frame["age"] - 50) / 15 + (frame["age"] - 50) / 9 + rng.standard_normal(600) > 0.5
    folder = tmp_path_factory.mktemp("crossed")
    write(frame.assign(well=np.where(good, "yes", "no")), folder / "doses.csv")
    model = train(folder / "doses.csv", "well", features=KernelFeatures(n_landmarks=60, random_state=0), n_splits=3)
    save_model(model, folder / "m.json")
    return folder / "m.json"


def test_pairs_and_columns_that_move_together_are_said(crossed, tmp_path, capsys):
    model = load_model(crossed)
    assert model.shapes
    assert all("dose" in pair.names for pair in model.shapes.pairs[:1])
    assert main(["explain", str(crossed), "--html", str(tmp_path / "m.html")]) == 0
    out = capsys.readouterr().out
    assert f"{100 * model.shapes.share:.0f} % of the score comes from combinations of columns." in out
    strongest = f"{' × '.join(model.shapes.pairs[0].names)} {100 * model.shapes.pairs[0].share:.1f} %"
    assert strongest in [" ".join(line.split()) for line in out.splitlines()]
    assert "age and birth year say nearly the same" in " ".join(out.split())
    page = (tmp_path / "m.html").read_text("utf-8")
    for words in ("age and birth year say nearly the same", "Which columns interact", "Orange cells raise the score"):
        assert words in page
    assert main(["explain", str(crossed), "--json"]) == 0
    shapes = json.loads(capsys.readouterr().out)["shapes"]
    assert shapes["pairs"][0]["share"] == model.shapes.pairs[0].share
    assert shapes["columns"][1]["together"] == ["birth year"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda shapes: shapes["pairs"][0]["values"].pop(), "does not fit its bins"),
        (lambda shapes: shapes["pairs"][0]["columns"][0]["edges"].reverse(), "bins of a pair do not fit"),
        (lambda shapes: shapes["pairs"][0]["columns"][0]["edges"].pop(), "bins of a pair do not fit"),
        (
            lambda shapes: shapes["pairs"][0]["columns"][0]["labels"].__setitem__(0, 3),
            r"labels\[0\] is not a text \(3\)",
        ),
        (lambda shapes: shapes["pairs"][0].update(share=7), "share of a pair"),
        (lambda shapes: shapes.update(share=-1), "share of the interactions"),
        (lambda shapes: shapes["columns"][0].update(extend=3), "extend is not true or false"),
        (lambda shapes: shapes["columns"][0].update(together="age"), "together is not a list of texts"),
        (lambda shapes: shapes["columns"][0].update(unknown="nan"), "unknown is not a finite number"),
        (lambda shapes: shapes["columns"][0]["mean_score"].pop(), "different sizes"),
    ],
)
def test_damaged_pairs_are_named(crossed, tmp_path, change, words):
    rewritten(crossed, tmp_path / "m.json", lambda content: change(content["fields"]["shapes"]))
    with pytest.raises(ModelFileError, match=words):
        load_model(tmp_path / "m.json")


def test_a_model_without_curves_says_why_rows_are_not_explained(crossed):
    with pytest.raises(ValueError, match="has no curves, because it has too many columns or categories: its single"):
        replace(load_model(crossed), shapes=None).parts_of_rows(pd.DataFrame({"dose": [1.0]}))


def test_rows_of_a_linear_model_are_explained_by_its_features(tmp_path):
    frame = patients(200)[["age", "sick"]]
    model = train(write(frame, tmp_path / "p.csv"), "sick", features="linear", n_splits=3)
    X = frame[["age"]].to_numpy()
    np.testing.assert_allclose(model.parts_of_rows(X)["age"], model.score(X), atol=1e-9)
