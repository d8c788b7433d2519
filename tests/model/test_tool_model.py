"""Models from files: the same as a scikit-learn pipeline of the same steps; calibration; streaming; notes."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.fixes import parse_version
from tool_data import NAMES, open_planned, patients, with_facts, write, write_libsvm

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, HashFolds
from vrspam._utils.findings import Fix
from vrspam.cli import main
from vrspam.data import read_chunks
from vrspam.data.labels import choose_positive
from vrspam.data.rows import RowSample
from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures
from vrspam.measures.fold_interval import fold_auc_ci
from vrspam.metrics import roc_auc, roc_auc_ci
from vrspam.model.effects import explain, sum_by_column
from vrspam.model.facts import MeasuredAUC
from vrspam.model_selection.calibration import calibrate
from vrspam.model_selection.choose_model import choose_map
from vrspam.report.pages.model import explanation_page
from vrspam.report.words.auc import expected_auc
from vrspam.selection import select
from vrspam.tool import evaluation, load_model, save_model
from vrspam.tool.notes import note_of
from vrspam.tool.plan import TrainPlan
from vrspam.tool.prediction import predict
from vrspam.tool.score_blocks import open_rows, score_blocks
from vrspam.tool.training import train as train_by_default

NUMBERS, TOWN, SICK = NAMES[1:4], "town", "sick"
train = partial(train_by_default, features="linear")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tool")


@pytest.fixture(scope="module")
def table(folder):
    return write(patients(), folder / "patients.csv.gz")


@pytest.fixture(scope="module")
def model(table):
    return train(table, SICK)


def pipeline(model):
    """The same steps by scikit-learn."""
    columns = make_column_transformer(
        (SimpleImputer(), [*NUMBERS, "ward"]),
        (OneHotEncoder(sparse_output=False), [TOWN]),
        verbose_feature_names_out=False,
    )
    fitted = AUCClassifier(model.training["l2"], model.training["l1"])
    return make_pipeline(columns, StandardScaler(), fitted)


def scores_of(model, path):
    return np.concatenate([block.scores for block in score_blocks(model, open_rows(model, path, labels=False).read())])


@pytest.mark.parametrize("streaming", [False, True])
def test_scores_are_those_of_a_pipeline(table, folder, streaming):
    model = train(table, SICK, streaming=streaming)
    frame, new = patients(), patients(seed=1)
    oracle = pipeline(model).fit(frame, frame[SICK] == "yes")
    expected = oracle.decision_function(new)
    found = scores_of(model, write(new, folder / "new.csv"))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert model.positive == "yes"
    assert model.identifiers == ("patient",)
    assert model.training["rows"] == 400
    assert model.training["positives"] == (frame[SICK] == "yes").sum()
    assert 0 <= model.training["relative_gap"] < 1e-8


def test_cross_validated_auc_is_that_of_the_folds(model):
    frame = patients()
    y = (frame[SICK] == "yes").to_numpy()
    X = pipeline(model)[:-1].fit_transform(frame)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    fitted = AUCClassifier(model.training["l2"])
    by_hand = [
        roc_auc(y[test], fitted.fit(X[train], y[train]).decision_function(X[test])) for train, test in folds.split(X, y)
    ]
    assert model.training["cv_auc"] == pytest.approx(np.mean(by_hand), abs=1e-12)
    assert model.training["cv_auc_low"] < np.mean(by_hand) < model.training["cv_auc_high"]
    search = AUCClassifierCV(cv=folds, random_state=0).fit(X, y)
    expected = [search.corrected_score_, *search.corrected_interval_]
    found = [model.training[f"corrected_auc{end}"] for end in ("", "_low", "_high")]
    assert found == pytest.approx(expected, abs=1e-9)
    assert found[0] < model.training["cv_auc"]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_are_those_of_calibrated_classifier_cv(table, method, monkeypatch):
    """Of held-out scores as they are, and of models whose scores have one mean over all rows."""
    monkeypatch.setattr("vrspam.estimators.search.signal_kept", lambda *given: 1.0)
    model = train(table, SICK, calibration=method)
    frame = patients()
    X, y = pipeline(model)[:-1].fit_transform(frame), (frame[SICK] == "yes").to_numpy()

    class WithOneZero(AUCClassifier):
        def decision_function(self, rows):
            scores = super().decision_function
            return scores(rows) - scores(X).mean()

    fitted = WithOneZero(model.training["l2"])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    oracle = CalibratedClassifierCV(fitted, method=method, cv=folds, ensemble=False).fit(X, y)
    assert model.calibration
    np.testing.assert_allclose(model.calibration(scores_of(model, table)), oracle.predict_proba(X)[:, 1], rtol=1e-6)


def test_weights_of_a_calibration_stand_for_repeated_rows():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(300)
    positive = rng.random(300) < 1 / (1 + np.exp(-scores))
    times = np.where(positive, 1, 3)
    weighted = calibrate(scores, positive, "isotonic", times.astype(float))
    repeated = calibrate(np.repeat(scores, times), np.repeat(positive, times), "isotonic")
    grid = np.linspace(-2, 2, 50)
    np.testing.assert_allclose(weighted(grid), repeated(grid), atol=1e-12)


def test_interval_over_folds_by_hand():
    rng = np.random.default_rng(1)
    positive, fold = rng.random(500) < 0.4, rng.integers(0, 4, 500)
    scores = rng.standard_normal(500) + positive + 100 * fold  # only comparisons within a fold count
    parts = [roc_auc_ci(positive[fold == k], scores[fold == k]) for k in range(4)]
    found = fold_auc_ci(positive, scores, fold)
    assert found.auc == pytest.approx(np.mean([p.auc for p in parts]))
    assert found.standard_error == pytest.approx(np.sqrt(sum(p.standard_error**2 for p in parts)) / 4)
    assert found.low < found.auc < found.high < parts[0].high + 0.1
    alone = fold_auc_ci(positive, scores, np.zeros(500))
    one_fold = roc_auc_ci(positive, scores, method="logit")
    assert (alone.low, alone.high) == pytest.approx((one_fold.low, one_fold.high))
    perfect = fold_auc_ci(positive, positive * 1.0, fold)
    assert perfect.auc == perfect.high == 1.0
    smaller = sum(min(positive[fold == k].sum(), (~positive[fold == k]).sum()) for k in range(4))
    assert perfect.low == pytest.approx(0.025 ** (1 / smaller))  # all folds together, not the worst of them


def test_libsvm_and_its_stream(folder):
    path = write_libsvm(folder / "rows.libsvm")
    X, y = load_svmlight_file(str(path), n_features=8)
    for streaming in (False, True):
        model = train(path, streaming=streaming, l1="auto")
        scaled = StandardScaler(with_mean=False).fit_transform(X)
        oracle = AUCClassifier(model.training["l2"], model.training["l1"], tol=1e-12).fit(scaled, y)
        np.testing.assert_allclose(scores_of(model, path), oracle.decision_function(scaled), atol=1e-4)
        assert model.positive == 1.0
        assert model.schema.target is None


def test_stream_chooses_as_cross_validation_in_memory_with_its_folds(folder):
    """With --streaming, the mean AUC over folds is that of fits on the rows outside each fold."""
    path = write_libsvm(folder / "chosen.libsvm", rows=400)
    model = train(path, streaming=True)
    X, y = load_svmlight_file(str(path), n_features=8)
    folds = HashFolds(5, 0)
    scaled = StandardScaler(with_mean=False).fit_transform(X).tocsr()
    number = folds.fold_of(X.multiply(1.0 / model.of_columns.deviations).tocsr())
    aucs = []
    for fold in range(5):
        inside = number == fold
        fitted = AUCClassifier(model.training["l2"]).fit(scaled[~inside], y[~inside])
        aucs.append(roc_auc(y[inside], fitted.decision_function(scaled[inside])))
    assert model.training["cv_auc"] == pytest.approx(np.mean(aucs), abs=1e-9)


def test_row_sample_is_fair():
    counts = np.zeros(50)
    for seed in range(400):
        sample = RowSample(10, seed)
        for start in range(0, 50, 7):
            rows = np.arange(start, min(start + 7, 50))
            sample.add(rows[:, None].astype(float), rows % 2 == 0)
        X = np.asarray(sample.X)
        assert X.shape == (10, 1)
        assert ((X[:, 0] % 2 == 0) == sample.y).all()
        counts[X[:, 0].astype(int)] += 1
    assert counts.min() > 40  # 80 expected, standard deviation 8
    assert counts.max() < 120


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.UnseenValues")  # rows of training are scored
def test_one_label_against_all_others(folder):
    frame = patients()
    frame["town2"] = frame.pop(TOWN)
    path = write(frame.drop(columns=["patient"]), folder / "towns.csv")
    with pytest.raises(ValueError, match=r"3 different values.*positive="):
        train(path, "town2")
    model = train(path, "town2", "Köln")
    labels, scores = evaluation.score_file(model, path)
    assert (labels == (frame["town2"] == "Köln")).all()
    assert roc_auc(labels, scores) > 0.5


@pytest.mark.parametrize(
    ("labels", "wanted", "found"),
    [
        ((0, 1), None, 1),
        ((0, 1), "0", 0),
        (("no", "yes"), "YES", "yes"),
        ((False, True), "true", True),
        ((1.0, 2.0), "2", 2.0),
    ],
)
def test_positive_label(labels, wanted, found):
    assert choose_positive(labels, wanted) == (labels, found)


@pytest.mark.parametrize("streaming", [False, True])
def test_rows_with_a_blank_label_are_left_out(tmp_path, streaming):
    path = tmp_path / "t.csv"
    path.write_text("age,left\n" + "".join(f"{k % 17},{('No', 'Yes', ' ')[k % 3]}\n" for k in range(90)), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a stream, the file is read again
        opened = open_planned(path, TrainPlan("left", streaming=streaming))
    assert opened.origin.unlabelled == 30
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a stream, the file is read again
        table = opened.as_table() if streaming else opened
        rows, positive = table.rows, table.positive
    assert (rows.num_rows, positive.sum(), opened.schema.labels) == (60, 30, ("No", "Yes"))
    path.write_text("age,left\n" + "".join(f"{k % 17},{(' ', 'Yes')[k % 2]}\n" for k in range(90)), "utf-8")
    with pytest.raises(ValueError, match="holds only Yes"):
        open_planned(path, TrainPlan("left", streaming=streaming))  # blank is no class
    with pytest.raises(ValueError, match="line 2: the label in column 'left' is missing"):
        list(read_chunks(path, "left"))
    assert read_chunks(path, "left").classes.tolist() == ["Yes"]


@pytest.mark.parametrize(
    ("labels", "wanted", "words"), [((), None, "two classes"), ((1,), None, "only 1"), ((0, 1), "2", "no row has")]
)
def test_positive_label_that_cannot_be(labels, wanted, words):
    with pytest.raises(ValueError, match=words):
        choose_positive(labels, wanted)


def noticed(folder, frame, **options):
    path = write(frame, folder / "noticed.parquet")
    return open_planned(path, TrainPlan(SICK, **options))


def test_columns_that_are_left_out_and_why(folder):
    frame = patients()
    frame["number"] = np.arange(400) + 1000
    frame["visited"] = [b"bytes"] * 400
    frame["empty"] = pd.Series([None] * 400, dtype=object)
    frame["code"] = [f"c{k % 150}" for k in range(400)]
    opened = noticed(folder, frame, max_categories=100)
    assert opened.schema.identifiers == ("patient", "number")
    assert opened.schema.feature_names[:4] == (*NUMBERS, "ward")
    assert list(opened.schema.categorical) == [TOWN, "code"]
    counts = frame["code"].value_counts()
    assert set(opened.schema.categorical["code"]) == set(counts.index[counts == 3]) - {"c99"}  # the last of a tie
    assert opened.schema.grouped == ("code",)
    notes = " | ".join(opened.findings)
    for words in (
        "'patient' differs",
        "'number' numbers the rows",
        "'visited' is of type",
        "'empty' has no",
        "'code' has more than 100 categories: the 99 most frequent are kept, and the other 51 count as one",
    ):
        assert words in notes
    included = noticed(folder, frame, include=["number"], drop=["visited", "patient"], max_categories=200)
    assert "number" in included.schema.numeric
    assert len(included.schema.categorical["code"]) == 150
    assert included.schema.identifiers == ()


def test_identifiers_are_known_from_the_first_blocks(folder):
    path = write(patients(), folder / "blocks.csv")
    found = open_planned(path, TrainPlan(SICK, max_categories=50), chunk_bytes=2000)
    assert found.schema.identifiers == ("patient",)
    assert found.schema.categorical[TOWN] == ("Graz", "Köln", 'Łódź "old"')


def test_suspicious_data_are_named(folder):
    frame = patients(rows=150).drop(columns="patient")
    sick = (frame[SICK] == "yes").to_numpy()
    frame["outcome"] = sick * 2.0 + np.random.default_rng(0).random(150)
    frame["discharge"] = np.where(sick, np.where(np.arange(150) % 2, "ward", "morgue"), "home")
    for streaming in (False, True):
        warned = train(write(frame, folder / "leak.csv"), SICK, streaming=streaming, n_splits=3).training["warnings"]
        text = " | ".join(warned)
        assert "each of 'outcome', 'discharge' alone nearly separates the classes (AUC 1.000, 1.000)" in text
        assert "without effect: 'ward'" in text
        assert f"only {sick.sum()} rows are positive" in text
        assert "'age' alone" not in text
    calm = patients(rows=400).drop(columns=["patient", "ward"]).fillna({NAMES[3]: 200.0})
    assert train(write(calm, folder / "calm.csv"), SICK).training["warnings"] == []


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_gaps_are_named_with_their_share(folder, streaming, end):
    rng = np.random.default_rng(0)
    frame = patients(rows=400).drop(columns=["patient", "ward"]).fillna({NAMES[3]: 200.0})
    shares = {"age": 0.3, "town": 0.2, "größe": 0.0025, "a": 0.1, "b": 0.05, "c": 0.04, "d": 0.5}
    for name in "abcd":
        frame[name] = rng.standard_normal(400)
    for name, share in shares.items():
        frame.loc[rng.permutation(400)[: round(400 * share)], name] = None
    path = write(frame, folder / f"gaps.{end}")
    note, *others = train(path, SICK, streaming=streaming, n_splits=3).training["warnings"]
    assert [other.code for other in others] == ["not-checked"] * streaming
    parts = [
        f"{name!r} in {100 * frame[name].isna().mean():.1f} % of the rows" for name in ("d", "age", "town", "a", "b")
    ]
    assert note == f"values are missing: {', '.join(parts)}, and in 2 more columns"


def test_gaps_of_sparse_tables(folder):
    frame = patients(rows=400).drop(columns=["patient", "ward"])
    frame["code"] = [f"c{k % 60}" for k in range(400)]
    frame.loc[[1, 5], "code"] = None
    opened = open_planned(write(frame, folder / "many.parquet"), TrainPlan(SICK))
    assert sparse.issparse(opened.features())
    gaps = frame[NAMES[3]].isna().mean()
    expected = f"values are missing: {NAMES[3]!r} in {100 * gaps:.1f} % of the rows, 'code' in 0.5 % of the rows"
    for streaming in (False, True):
        found = train(folder / "many.parquet", SICK, streaming=streaming, n_splits=3)
        assert expected in found.training["warnings"]


@pytest.mark.parametrize(
    ("options", "words", "not_there"),
    [
        ({"max_iter": 1, "tol": 1e-15, "l2s": [1e-6]}, "did not reach the tolerance; the certificate says", "max_iter"),
        ({"l1s": [1e3, 1e4]}, "try smaller numbers with l1=", "Add"),
    ],
)
def test_warnings_of_the_estimator_say_what_train_can_do(folder, monkeypatch, options, words, not_there):
    rng = np.random.default_rng(0)
    n, d = 60, 40
    frame = pd.DataFrame(rng.standard_normal((n, d)), columns=[f"x{j}" for j in range(d)])
    frame[SICK] = np.where(frame["x0"] + rng.standard_normal(n) > 0, "yes", "no")
    path = write(frame, folder / "noise.csv")

    def estimator(*args, **given):
        return AUCClassifierCV(*args, **{**given, **options})

    monkeypatch.setattr("vrspam.tool.recipes.AUCClassifierCV", estimator)
    notes = train(path, SICK, l1=[0.001] if "max_iter" in options else [0.0]).training["warnings"]
    assert any(words in note for note in notes), notes
    assert not any(not_there in note for note in notes)


def test_documented_paths_are_the_exported_functions():
    import vrspam.tool
    from vrspam.tool import evaluation, training

    assert set(vrspam.tool.__all__) >= {
        "train",
        "evaluate",
        "compare",
        "predict",
        "explain",
        "load_model",
        "save_model",
    }
    assert vrspam.tool.train is training.train
    assert vrspam.tool.evaluate is evaluation.evaluate
    assert vrspam.tool.score_file is evaluation.score_file


@pytest.mark.parametrize(("scores", "end"), [([0.8, 0.9], "larger"), ([0.9, 0.8], "smaller")])
@pytest.mark.parametrize(("name", "words"), [("l2", "but `train` does not try one"), ("l1", "numbers with l1=")])
def test_advice_about_a_grid_says_what_train_can_do(scores, end, name, words):
    choice = select([[score, score] for score in scores], {name: [0.01, 0.1]})
    (advice,) = choice.advice
    assert advice.endswith(f"add {end} values of {name}.")
    found = note_of(choice.edges[0])
    assert "add" not in found
    assert "grid" not in found
    assert f"{end} " in found
    assert words in found


@pytest.mark.parametrize(
    "options",
    [
        {"target": None},
        {"target": "town"},
        {"drop": [SICK]},
        {"streaming": True, "features": "additive"},
        {"delimiter": ";;"},
    ],
)
def test_errors_in_python_name_parameters(table, options):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        train_by_default(table, **{"target": SICK, **options})
    assert "--" not in str(caught.value)
    assert "=" in str(caught.value)


def test_notes_in_python_name_parameters(folder):
    frame = patients(rows=150)
    frame["outcome"] = (frame[SICK] == "yes") * 2.0 + np.random.default_rng(0).random(150)
    frame["paid"] = [f"1 {k % 50:03d}" for k in range(150)]
    frame["code"] = [f"c{k % 70}" for k in range(150)]
    path = write(frame, folder / "notes.csv")
    text = " | ".join(train(path, SICK, n_splits=3, max_categories=60).training["warnings"])
    assert "--" not in text
    for words in (
        "include=['patient']",
        "with drop=",
        "drop=['paid']",
        "categorical=['paid']",
        "raise max_categories=",
    ):
        assert words in text


@pytest.mark.parametrize("name", ["drop", "include", "categorical"])
def test_columns_cannot_be_named_where_they_have_no_names(folder, name):
    path = write_libsvm(folder / "nameless.libsvm")
    with pytest.raises(ValueError, match=f"a LIBSVM file has no named columns; leave {name}= out"):
        train(path, **{name: ["3"]})  # type: ignore[arg-type]


def test_too_few_rows_to_learn_from(folder):
    frame = patients(rows=60)
    frame[SICK] = np.where(np.arange(60) < 3, "yes", "no")
    with pytest.raises(ValueError, match="only 3 rows"):
        train(write(frame, folder / "few.csv"), SICK)


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.UnseenValues")  # rows of training are scored
def test_contributions_add_up_to_the_difference_of_mean_scores(model, table):
    labels, scores = evaluation.score_file(model, table)
    effects = explain(model)
    assert sum(effect.contribution for effect in effects) == pytest.approx(
        scores[labels].mean() - scores[~labels].mean()
    )
    assert sum(share for _, share in sum_by_column(effects)) == pytest.approx(1.0)
    assert {effect.column for effect in effects} == {*NUMBERS, TOWN, "ward"}
    age = next(effect for effect in effects if effect.feature == "age")
    assert age.effect == pytest.approx(age.coefficient * patients()["age"].std(ddof=0))


@pytest.mark.parametrize("end", ["csv", "csv.gz", "parquet"])
def test_predict_keeps_order_and_identifiers(model, folder, end):
    new = patients(rows=300, seed=5).drop(columns=SICK).sample(frac=1.0, random_state=0)
    path = write(new, folder / "unlabelled.csv")
    assert predict(model, path, folder / f"scores.{end}") == 300
    # pandas 3 reads numbers to the last bit, and deprecates the option by which pandas 2 does
    older = end != "parquet" and parse_version(pd.__version__) < parse_version("3")
    read = pd.read_parquet if end == "parquet" else pd.read_csv
    found = read(folder / f"scores.{end}", **({"float_precision": "round_trip"} if older else {}))
    assert list(found.columns) == ["patient", "score", "probability", "decision", "extrapolated"]
    assert found["patient"].tolist() == new["patient"].tolist()
    np.testing.assert_array_equal(found["score"], scores_of(model, path))
    np.testing.assert_array_equal(found["probability"], model.calibration(scores_of(model, path)))
    chosen = predict(model, path, folder / f"chosen.{end}", ids=["town", "age"])
    assert chosen == 300


@pytest.mark.parametrize("end", ["csv", "csv.gz", "parquet"])
def test_identifiers_that_look_like_formulas(model, folder, end):
    """With `escape_formulas` CSV has an apostrophe before them; numbers, other texts and Parquet stay as they are."""
    texts = ["=1+1", "+49 1", "-5a", "@sum", "P7", None, "a=b", "\n=1+1", "\t=1"]
    texts += ["\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20a"]  # full-width
    texts += [" =1+1", "\u00a0@a", "\u200b=1", "\x0b-a", " a=b"]  # blanks, which a spreadsheet skips
    numbers = [-5, *range(1, 18)]
    new = patients(rows=18, seed=5).drop(columns=SICK).assign(patient=texts, number=numbers)
    new["=column"] = "-"
    path = write(new, folder / "formulas.csv")
    ids = ["patient", "number", "=column"]
    read = pd.read_parquet if end == "parquet" else pd.read_csv
    for escape in (True, False):
        assert predict(model, path, folder / f"scores.{end}", ids=ids, escape_formulas=escape) == 18
        found = read(folder / f"scores.{end}")
        changed = escape and end != "parquet"
        mark = "'" if changed else ""
        assert list(found.columns) == [
            "patient",
            "number",
            f"{mark}=column",
            "score",
            "probability",
            "decision",
            "extrapolated",
        ]
        plain = ("P7", None, "a=b", " a=b")
        shown = [t if t in plain else mark + t for t in texts]
        assert found["patient"].fillna("").tolist() == [text or "" for text in shown]
        assert found["number"].astype(float).tolist() == numbers
        assert set(found[f"{mark}=column"]) == {f"{mark}-"}


def test_labels_that_look_like_formulas(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=90)})
    table["sick"] = np.where(table["age"] + rng.normal(size=90) > 0.0, "=yes", "-no")
    model = train(table, "sick", positive="=yes", features="linear", n_splits=2)
    for escape, labels in ((True, {"'=yes", "'-no"}), (False, {"=yes", "-no"})):
        predict(model, table, tmp_path / "scores.csv", escape_formulas=escape)
        assert set(pd.read_csv(tmp_path / "scores.csv")["decision"]) == labels


def test_identifiers_of_rows_without_a_score_are_escaped_too(model, folder):
    new = patients(rows=4, seed=5).drop(columns=SICK).assign(patient=["=1+1", "P7", "@a", "P8"])
    new.loc[0, "age"] = np.inf
    path = write(new, folder / "broken.csv")
    with pytest.warns(UserWarning, match="1 row cannot be scored"):
        predict(model, path, folder / "scores.csv", ids=["patient"], escape_formulas=True)
    found = pd.read_csv(folder / "scores.csv")
    assert found["score"].isna().tolist() == [True, False, False, False]
    assert found["patient"].tolist() == ["'=1+1", "P7", "'@a", "P8"]


def test_the_target_of_a_link_is_written_and_the_link_stays(model, folder, tmp_path):
    path = write(patients(rows=10), tmp_path / "rows.csv")
    (tmp_path / "elsewhere").mkdir()
    for name in ("m.json", "scores.csv", "new.csv", "moments.npz"):
        (tmp_path / name).symlink_to(tmp_path / "elsewhere" / name)
    (tmp_path / "elsewhere" / "scores.csv").write_text("before")
    save_model(model, tmp_path / "m.json")
    assert main(["predict", str(tmp_path / "m.json"), str(path), "--out", str(tmp_path / "scores.csv")]) == 0
    assert main(["predict", str(tmp_path / "m.json"), str(path), "--out", str(tmp_path / "new.csv")]) == 0
    ClassMoments.from_data(np.eye(2), [0, 1]).save(tmp_path / "moments.npz")
    for name in ("m.json", "scores.csv", "new.csv", "moments.npz"):
        assert (tmp_path / name).is_symlink()
        assert not (tmp_path / "elsewhere" / name).is_symlink()
    assert {p.name for p in (tmp_path / "elsewhere").iterdir()} == {"m.json", "scores.csv", "new.csv", "moments.npz"}
    assert (tmp_path / "elsewhere" / "scores.csv").read_text().startswith('"patient","score"')


def test_a_link_into_no_directory_is_refused_before_any_work(tmp_path, capsys):
    (tmp_path / "scores.csv").symlink_to(tmp_path / "absent" / "scores.csv")
    assert main(["predict", "no-model.json", "no-rows.csv", "--out", str(tmp_path / "scores.csv")]) == 2
    assert "absent is not a directory: make it first" in capsys.readouterr().err


def test_predict_that_fails_leaves_nothing(model, tmp_path):
    path = write(patients(rows=3000, seed=5), tmp_path / "broken.csv.gz")
    path.write_bytes(path.read_bytes()[:-100])
    (tmp_path / "scores.csv").write_text("as before")
    with pytest.raises(ValueError, match="cut off or damaged"):
        predict(model, path, tmp_path / "scores.csv")
    assert {p.name for p in tmp_path.iterdir()} == {"broken.csv.gz", "scores.csv"}
    assert (tmp_path / "scores.csv").read_text() == "as before"


def test_unknown_categories_and_gaps_are_scored(model, folder):
    new = patients(rows=40, seed=2)
    plain = scores_of(model, write(new.assign(town=None), folder / "none.csv"))
    reading = open_rows(model, write(new.assign(town="Wien"), folder / "wien.csv"), labels=False).read()
    found = np.concatenate([block.scores for block in score_blocks(model, reading)])
    np.testing.assert_array_equal(found, plain)
    assert reading.unseen is not None
    (said,) = reading.unseen.sentences()
    assert said == "column 'town' holds categories that training did not have in 100.0 % of the rows ('Wien')"


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.UnseenValues")  # rows of training are scored
@pytest.mark.parametrize(
    "kind", ["additive", KernelFeatures(n_landmarks=40, random_state=0)], ids=["additive", "kernel"]
)
def test_curves_are_those_of_the_estimator(folder, kind):
    frame, new = patients(rows=300).drop(columns=["patient", "ward"]), patients(rows=80, seed=3)
    path = write(frame, folder / "curves.csv")
    model = train(path, SICK, features=kind, n_splits=3, l1=[0.0])
    columns, y = [*NUMBERS, TOWN], (frame[SICK] == "yes").to_numpy()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    oracle = AUCClassifierCV(features=kind, cv=folds, random_state=0).fit(frame[columns], y)
    expected = oracle.decision_function(new[columns]) - oracle.baseline_
    save_model(model, folder / "curves.json")
    again = load_model(folder / "curves.json")
    new_path = write(new, folder / "new-curves.csv")
    np.testing.assert_allclose(scores_of(again, new_path), expected, atol=1e-7)
    probabilities = oracle.predict_proba(new[columns])[:, 1]
    assert again.calibration
    np.testing.assert_allclose(again.calibration(scores_of(again, new_path)), probabilities, atol=1e-7)
    np.testing.assert_array_equal(scores_of(again, new_path), scores_of(model, new_path))
    labels, scores = evaluation.score_file(model, path)
    effects = explain(model)
    difference = scores[labels].mean() - scores[~labels].mean()
    assert sum(effect.contribution for effect in effects) == pytest.approx(difference)
    assert {effect.column for effect in effects} == {*NUMBERS, TOWN} | (
        set() if kind == "additive" else {"interactions"}
    )
    assert {effect.coefficient for effect in effects} == {None}


@pytest.mark.parametrize("l1", [[0.0], "auto"])
def test_curves_take_as_many_categories_as_the_table_was_opened_with(folder, l1):
    rng = np.random.default_rng(0)
    town = np.concatenate([np.arange(1200), rng.integers(0, 1200, 1800)])
    frame = pd.DataFrame({"age": rng.normal(50, 10, 3000), TOWN: [f"t{i}" for i in town]})
    frame.loc[5, TOWN] = None
    frame[SICK] = np.where(frame["age"] + 10 * (town % 2) + rng.normal(0, 5, 3000) > 60, "yes", "no")
    path = write(frame, folder / "towns.csv")
    model = train(path, SICK, features="additive", max_categories=2000, n_splits=2, l1=l1)
    assert model.training["selection"][0]["features"] == "additive"
    assert len(model.schema.categorical[TOWN]) == 1200
    few = train(path, SICK, features=AdditiveFeatures(), max_categories=2000, n_splits=2)
    (note,) = [note for note in few.training["warnings"] if "categories" in note]  # said once, not for each fold
    assert "'town' has 1,200 categories: the 999 most frequent are kept, and the other 201 count as one" in note
    assert "max_categories" in [part.option for part in note.parts if isinstance(part, Fix)]


def test_training_on_a_map_searches_once(folder, monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return choose_map(*arguments)

    monkeypatch.setattr("vrspam.estimators.search.choose_map", counted)
    train(write(patients(rows=200), folder / "once.csv"), SICK, features="additive", n_splits=3)
    assert len(calls) == 1


def test_a_map_that_is_linear_gives_a_plain_model(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(5, 2, 300), "b": rng.normal(-1, 30, 300)})
    frame[SICK] = np.where(frame["a"] + 0.1 * frame["b"] + rng.standard_normal(300) > 6, "yes", "no")
    path = write(frame, folder / "straight.csv")
    model = train(path, SICK, features=LinearFeatures(), n_splits=3)  # what "auto" takes when lines rank best
    assert model.is_linear
    scaled = StandardScaler().fit_transform(frame[["a", "b"]])
    direction = AUCClassifier(model.training["l2"]).fit(scaled, frame[SICK]).coef_[0]
    cosine = direction @ model.standardised / np.linalg.norm(direction) / np.linalg.norm(model.standardised)
    assert cosine == pytest.approx(1.0, abs=1e-6)
    middle = frame.groupby(SICK)[["a", "b"]].mean().mean().to_numpy()
    assert model.score(middle[np.newaxis])[0] == pytest.approx(0.0, abs=1e-9)  # half-way between the class means


def test_streams_are_straight(table):
    with pytest.raises(ValueError, match="features="):
        train(table, SICK, streaming=True, features="additive")


def test_nothing_to_learn_from(folder):
    frame = pd.DataFrame({"a": np.ones(60), SICK: ["yes", "no"] * 30})
    with pytest.raises(ValueError, match="every feature is constant"):
        train(write(frame, folder / "nothing.csv"), SICK)


def test_what_a_reader_may_expect_is_the_corrected_auc(model, folder):
    facts = model.training
    page = re.sub("<[^>]*>", "", explanation_page(model, model_name="m.json").html())
    words = "Expect an AUC of {:.3f}, 95 % interval {:.3f} to {:.3f}"
    names = ("corrected_auc", "corrected_auc_low", "corrected_auc_high")
    assert words.format(*(facts[name] for name in names)) in page
    assert f"showed {facts['cv_auc']:.3f}; picking the best flatters" in page
    for low, high in ((None, None), (facts["corrected_auc_low"], facts["corrected_auc_high"])):
        uncorrected = with_facts(model, corrected_auc=MeasuredAUC(None, low, high))
        page = re.sub("<[^>]*>", "", explanation_page(uncorrected, model_name="m.json").html())
        assert words.format(*(facts[name] for name in ("cv_auc", "cv_auc_low", "cv_auc_high"))) in page
        assert "this may flatter a little, because the model was chosen by it" in page
    assert expected_auc(replace(model, facts=None)) is None


def test_an_auc_that_cannot_be_corrected_is_none_in_the_file(tmp_path):
    """Folds of a stream may hold out one row of a class: then nothing shows how the AUC varies."""
    rng = np.random.default_rng(1)
    y = np.arange(400) < 5
    frame = pd.DataFrame({"a": rng.standard_normal(400) + y, "b": rng.standard_normal(400), "sick": y})
    nothing = MeasuredAUC(None, None, None)
    trained = train(write(frame, tmp_path / "few.csv"), "sick", n_splits=2)
    lacking = with_facts(trained, corrected_auc=nothing)
    save_model(lacking, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").training["corrected_auc"] is None


def test_the_squared_hinge_is_trained_saved_and_scored(folder):
    """Straight lines by scikit-learn's steps, curves by the estimator itself; the file says which loss it was."""
    frame, new = patients(), patients(seed=1)
    path, scored = write(frame, folder / "hinge.csv"), write(new, folder / "hinge-new.csv")
    model = train(path, SICK, loss="squared_hinge", features="linear")
    oracle = pipeline(model).set_params(aucclassifier__loss="squared_hinge").fit(frame, frame[SICK] == "yes")
    np.testing.assert_allclose(scores_of(model, scored), oracle.decision_function(new), rtol=1e-5, atol=1e-6)
    save_model(model, folder / "hinge.json")
    assert load_model(folder / "hinge.json").training["loss"] == "squared_hinge"
    curved = train(path, SICK, loss="squared_hinge", features="additive", n_splits=3)
    assert curved.training["map"] == "additive"
    assert 0 <= curved.training["relative_gap"] < 1e-8
    for kind, match in (("hinge", "loss='hinge' is not known"), ("squared_hinge", "needs all rows in memory")):
        with pytest.raises(ValueError, match=match):
            train(path, SICK, **dict[str, Any](loss=kind, streaming=True))
