"""Models of times (`--event`) and of pairs inside strata (`--within`): every command, and what it must not say."""

from __future__ import annotations

import io
import json
import re
import sqlite3

import numpy as np
import pandas as pd
import pytest

from vrspam.cli.run import run
from vrspam.data import DataError
from vrspam.export import to_onnx, to_python, to_sql
from vrspam.metrics import concordance_index, concordance_index_ci, concordance_test
from vrspam.pairs import whole_units
from vrspam.tool import check, compare, evaluate, load_model, make_report, predict, report_page, save_model, train
from vrspam.tool.score_blocks import open_rows

AGAINST = ("Choose a threshold", "probability", "Calibration", "Lift", "lift", "Youden", "DeLong", "AUC inside")


def trial(seed: int, n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, dose = rng.normal(60, 9, n).round(1), rng.choice(["low", "high"], n)
    months = rng.exponential(np.exp(-0.08 * (age - 60) - 0.7 * (dose == "low"))) * 20
    stop = rng.exponential(25, n)
    died = months <= stop
    return pd.DataFrame(
        {
            "age": age,
            "dose": dose,
            "noise": rng.normal(size=n).round(3),
            "site": rng.choice(["a", "b", "c"], n),
            "months": np.minimum(months, stop).round(2),
            "died": died.astype(int),
        }
    )


def clicks(seed: int, queries: int = 50, each: int = 8) -> pd.DataFrame:
    """What all rows of a query share decides between queries, and is of no use inside one."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), each)
    level, own = rng.normal(size=queries)[query], rng.normal(size=query.size)
    clicked = 2 * level + own + rng.logistic(size=query.size) > 0.5
    frame = {"query": [f"q{one}" for one in query], "level": level.round(3), "own": own.round(3)}
    return pd.DataFrame({**frame, "clicked": np.where(clicked, "yes", "no")})


@pytest.fixture(scope="module")
def survival():
    return train(trial(0), "months", event="died", features="linear", drop=["site"])


@pytest.fixture(scope="module")
def inside():
    return train(clicks(0), "clicked", within="query", features="linear")


def test_a_model_of_times_ranks_by_risk(survival, tmp_path):
    new = trial(1)
    assert survival.training["event"] == "died"
    assert survival.training["times"] == "months"
    assert "months" not in survival.schema.columns
    found = evaluate(survival, new)
    scores = _scores(survival, new, tmp_path)
    expected = concordance_index_ci(new["months"], scores, event=new["died"])
    assert (found.auc.auc, found.auc.low, found.auc.high) == (expected.auc, expected.low, expected.high)
    assert found.auc.auc > 0.6  # older rows die earlier: the score is a risk
    assert concordance_index(new["months"], new["age"], event=new["died"]) > 0.6
    values = found.flat()
    assert values["concordance_index"] == expected.auc
    assert not {key for key in values if "sensitivity" in key or "lift" in key or key in ("auc", "brier")}
    before = survival.training
    assert before["cv_auc_low"] < before["cv_auc"] < before["cv_auc_high"]
    assert abs(before["cv_auc"] - found.auc.auc) < 0.1


def _scores(model, frame, folder):
    frame.to_csv(folder / "new.csv", index=False)
    predict(model, folder / "new.csv", folder / "scores.csv")
    written = pd.read_csv(folder / "scores.csv")
    assert not {"decision", "probability"} & set(written.columns)
    return written["score"].to_numpy()


def test_a_model_inside_strata_compares_rows_of_one_query(inside, tmp_path):
    new = clicks(1)
    found, scores = evaluate(inside, new), _scores(inside, new, tmp_path)
    yes = (new["clicked"] == "yes").astype(int)
    expected = concordance_index_ci(yes, scores, strata=new["query"])
    values = (expected.auc, expected.low, expected.high)  # but for the order in which strata are added up
    assert (found.auc.auc, found.auc.low, found.auc.high) == pytest.approx(values, rel=1e-14)
    # what queries share has no place in the score; without strata it has the largest
    assert abs(inside.standardised[0]) < 0.2 * abs(inside.standardised[1])
    plain = train(clicks(0), "clicked", groups="query", features="linear")
    assert abs(plain.standardised[0]) > abs(plain.standardised[1])
    assert inside.calibration is None


@pytest.mark.parametrize("kind", ["survival", "inside"])
def test_a_model_file_remembers(kind, request, tmp_path):
    model, new = request.getfixturevalue(kind), trial(2) if kind == "survival" else clicks(2)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.ranks
    assert evaluate(loaded, new).flat() == evaluate(model, new).flat()
    with pytest.raises(DataError, match="has no column"):
        evaluate(loaded, new.drop(columns=["months" if kind == "survival" else "query"]))


@pytest.mark.parametrize("kind", ["survival", "inside"])
def test_exports_have_a_score_and_no_label(kind, request):
    import onnxruntime

    model, new = request.getfixturevalue(kind), trial(2) if kind == "survival" else clicks(2)
    expected = np.concatenate([model.score(block.rows) for block in open_rows(model, new, labels=False).blocks()])
    namespace: dict = {}
    exec(to_python(model), namespace)
    assert "label" not in namespace
    assert "probability" not in namespace
    rows = new.to_dict("records")
    np.testing.assert_allclose([namespace["score"](row) for row in rows], expected, rtol=1e-9, atol=1e-12)
    with sqlite3.connect(":memory:") as database:
        new.to_sql("t", database, index=False)
        found = [score for (score,) in database.execute(f"SELECT ({to_sql(model)}) FROM t")]
    assert "Label" not in to_sql(model)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    graph = to_onnx(model, dtype="float64")
    assert [one.name for one in graph.graph.output] == ["score"]
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    taken = {one.name for one in session.get_inputs()}
    inputs = {name: new[name].to_numpy()[:, None] for name in taken}
    inputs = {name: values.astype(object if values.dtype.kind in "OUT" else float) for name, values in inputs.items()}
    np.testing.assert_allclose(session.run(None, inputs)[0].ravel(), expected, rtol=1e-9, atol=1e-9)
    assert model.outcome.higher.startswith("an earlier died = 1" if kind == "survival" else "more likely")


def test_a_ranker_is_exported_without_labels():
    from vrspam import ConcordanceRanker

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = ConcordanceRanker().fit(X, X[:, 0])
    assert model.to_model().outcome.higher == "a larger y"
    assert "def label" not in to_python(model)


def test_compare_is_the_paired_test_of_the_same_pairs(survival, inside):
    new = trial(3)
    other = train(trial(0), "months", event="died", features="linear", drop=["site", "age"])
    found = compare(survival, other, new)
    a, b = found.scores
    assert found.test == concordance_test(new["months"], a, b, event=new["died"])
    with pytest.raises(DataError, match="have no ROC curve, and so no partial AUC"):
        found.partial_test(0.2)
    with pytest.raises(DataError, match="have no ROC curve"):
        compare(inside, inside, clicks(1)).partial_pairs(0.2)
    with pytest.raises(DataError, match="different pairs"):
        compare(survival, inside, new)


@pytest.mark.parametrize("kind", ["survival", "inside"])
def test_thresholds_are_refused_by_the_options_that_were_given(kind, request, tmp_path, capsys):
    save_model(request.getfixturevalue(kind), tmp_path / "m.json")
    (trial(1) if kind == "survival" else clicks(1)).to_csv(tmp_path / "new.csv", index=False)
    model, new = str(tmp_path / "m.json"), str(tmp_path / "new.csv")
    assert run(["compare", model, model, new, "--max-fpr", "0.2"]) == 2
    assert "it has no threshold. Leave --max-fpr 0.2 out." in capsys.readouterr().err
    assert run(["compare", model, model, str(tmp_path / "absent.csv"), "--picture", str(tmp_path / "p.png")]) == 2
    assert "--picture draws ROC curves" in capsys.readouterr().err  # before any row is read
    assert run(["evaluate", model, new, "--cost-ratio", "5"]) == 1
    assert "it has no threshold. Leave --cost-ratio 5.0 out." in capsys.readouterr().err
    assert run(["evaluate", model, new, "--cost-ratio", "5", "--max-fpr", "0.2"]) == 1
    assert "Leave --max-fpr 0.2 and --cost-ratio 5.0 out." in capsys.readouterr().err


def test_a_doubt_names_the_measure(tmp_path, capsys):
    frame, path, model = trial(0), str(tmp_path / "t.csv"), str(tmp_path / "m.json")
    frame.assign(months=np.random.default_rng(1).permutation(frame["months"])).to_csv(path, index=False)
    asked = [path, "--target", "months", "--event", "died", "--features", "linear"]
    assert run(["train", *asked, "--model", model, "--json"]) == 0
    doubt = "interval of its concordance index"
    assert doubt in json.loads(capsys.readouterr().out)["warnings"][0]
    for command in (["train", *asked, "--model", model], ["report", *asked, "--html", str(tmp_path / "r.html")]):
        assert run(command) == 0
        assert doubt in capsys.readouterr().err
    assert run(["report", *asked, "--html", str(tmp_path / "r.html"), "--json"]) == 0
    assert doubt in " ".join(json.loads(capsys.readouterr().out)["warnings"])
    trial(1).assign(age=0.0, noise=0.0, dose="low", site="a").to_csv(path, index=False)  # one score for all rows
    assert run(["evaluate", model, path]) == 0
    assert doubt in capsys.readouterr().err
    assert run(["evaluate", model, path, "--json"]) == 0
    assert doubt in " ".join(json.loads(capsys.readouterr().out)["warnings"])


def test_a_column_may_be_named_twice():
    frame = clicks(0)
    asked: dict = {"within": "query", "features": "linear"}
    twice = train(frame, "clicked", groups="query", **asked)
    copied = train(frame.assign(same=frame["query"]), "clicked", groups="same", **asked)
    assert twice.schema.columns == copied.schema.columns == ("level", "own")
    np.testing.assert_array_equal(twice.coef, copied.coef)
    numbers = frame.assign(mass=np.arange(len(frame)) % 7 + 1.0)
    twice = train(numbers, "clicked", features="linear", weights="mass", time="mass")
    copied = train(numbers.assign(at=numbers["mass"]), "clicked", features="linear", weights="mass", time="at")
    np.testing.assert_array_equal(twice.coef, copied.coef)


def test_many_features_of_times_are_fitted_by_straight_lines():
    rng, frame = np.random.default_rng(0), trial(0, 60)
    wide = pd.DataFrame(rng.normal(size=(60, 1_001)), columns=[f"x{j}" for j in range(1_001)])
    notes = train(pd.concat([frame, wide], axis=1), "months", event="died", n_splits=2).training["warnings"]
    (note,) = [note for note in notes if "compares all" in note]
    assert note.startswith("Straight lines alone were fitted, because there are 1,0")


def text_of(page: str) -> str:
    body = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_the_page_of_a_model_of_times(survival):
    frame = trial(0)
    report = make_report(frame, "months", event="died", features="linear", by=["site"], drop=["site"], rows=2)
    text = text_of(report_page(report, data_name="trial.csv").html())
    for wanted in (
        "Concordance index to expect on new rows",
        "one is known to have had died = 1 first",
        "Kaplan-Meier",
        "highest third",
        "A higher score means an earlier died = 1",
        "of its pairs",
    ):
        assert wanted in text, wanted
    for unwanted in AGAINST:
        assert unwanted not in text, unwanted
    sites = {group.name: group for group in report.groups}
    own = (frame["site"] == "a").to_numpy()
    evaluation = report.evaluation
    expected = concordance_index_ci(frame["months"][own], evaluation.scores[own], event=frame["died"][own])
    assert sites["a"].auc is not None
    assert sites["a"].auc.auc == expected.auc


def test_the_page_of_a_model_inside_strata(inside):
    report = make_report(clicks(0), "clicked", within="query", features="linear", rows=2)
    text = text_of(report_page(report, data_name="clicks.csv").html())
    for wanted in ("AUC inside query to expect on new rows", "What inside query means", "of the same query"):
        assert wanted in text, wanted
    for unwanted in set(AGAINST) - {"AUC inside", "probability"}:
        assert unwanted not in text, unwanted
    assert "not a probability" in text


def test_by_default_all_maps_that_need_no_classes_are_compared():
    model = train(trial(0, 120), "months", event="died")
    names = {row["features"] for row in model.training["selection"]}
    assert {"additive", "kernel 1"} <= names
    assert not {"forest", "boosted"} & names
    assert model.shapes is not None


@pytest.mark.parametrize("features", ["forest", "boosted"])
def test_trees_that_learn_from_times_are_stored_and_read(features, tmp_path):
    model = train(trial(0, 200), "months", event="died", features=features, random_state=0)
    found = evaluate(model, trial(1, 300))
    assert found.auc.low > 0.55  # the risk grows with a column
    save_model(model, tmp_path / "model.json")
    again = evaluate(load_model(tmp_path / "model.json"), trial(1, 300))
    np.testing.assert_allclose(again.scores, found.scores, rtol=1e-12)
    assert report_page(make_report(trial(0, 200), "months", event="died", features=features), data_name="t").html()


def test_folds_keep_strata_and_groups_whole():
    frame = clicks(0).assign(person=lambda table: np.arange(len(table)) // 16)
    model = train(frame, "clicked", within="query", groups="person", features="linear")
    assert (model.training["within"], model.training["groups"]) == ("query", "person")
    whole = whole_units(np.array([0, 0, 1, 2]), np.array([5, 6, 6, 7]))
    assert np.unique(whole, return_inverse=True)[1].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({}, {"event": "dead"}, "no column 'dead'"),
        ({"died": 0}, {}, "all rows censored no two of them can be compared"),
        ({"died": "dead"}, {}, "says dead in every row: if that is the event, say so with positive='dead'"),
        ({"died": "dead"}, {"positive": "alive"}, "all rows censored"),
        ({"months": 3.0}, {"event": "none"}, "'months' is the same in every row, and has no order"),
        ({"months": "long"}, {"event": "none"}, "holds text that is not numbers or dates"),
        ({}, {"event": "none", "positive": "1"}, "an order has no label to look for"),
        ({}, {"event": None}, "`train`, `report` and `evaluate` take event='none' instead"),
        ({"months": -1.0}, {}, "negative or infinite"),
        ({"months": "long"}, {}, "holds text that is not numbers"),
        ({}, {"event": "months"}, "holds the labels"),
        ({}, {"recall": 0.9}, "a score that only ranks has no threshold or ROC curve"),
        ({}, {"max_fpr": 0.1}, "a score that only ranks has no threshold or ROC curve"),
        ({}, {"streaming": True}, "all rows in memory"),
        ({}, {"within": "site", "time": "months"}, "cannot be combined"),
        ({}, {"target": None}, "needs a column of times"),
    ],
)
def test_bad_input_gets_one_sentence(change, options, words):
    frame = trial(0).assign(**change)
    with pytest.raises(ValueError, match=words) as found:
        train(frame, **{"target": "months", "event": "died", "features": "linear", **options})
    assert "\n" not in str(found.value)


def test_the_commands(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trial(0).to_csv("trial.csv", index=False)
    trial(1).to_csv("new.csv", index=False)

    def said(*words):
        code = run([*words])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return re.sub(r"\s+", " ", printed.out)

    train_it = ("train", "trial.csv", "--target", "months", "--event", "died", "--features", "linear")
    assert "Concordance index to expect" in said(*train_it, "--model", "a.json")
    assert "had died = 1 first" in said("evaluate", "a.json", "new.csv", "--html", "page.html")
    assert "Kaplan-Meier" in (tmp_path / "page.html").read_text("utf-8")
    assert "site" in said("evaluate", "a.json", "new.csv", "--by", "site")
    found = json.loads(said("evaluate", "a.json", "new.csv", "--json"))
    assert 0.5 < found["concordance_index_low"] < found["concordance_index"]
    told = said("predict", "a.json", "new.csv", "--out", "scores.csv")
    assert "are called" not in told
    assert "A higher score means an earlier died = 1" in told
    assert "an earlier died = 1" in said("explain", "a.json")
    assert "concordance index" in said("compare", "a.json", "a.json", "new.csv", "--html", "both.html")
    assert run(["compare", "a.json", "a.json", "new.csv", "--picture", "both.png"]) != 0
    assert run(["evaluate", "a.json", "new.csv", "--cost-ratio", "3"]) != 0


def prices(seed: int, n: int = 260) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size, town = rng.normal(100, 20, n).round(), rng.choice(["x", "y"], n)
    price = np.exp(0.01 * size + 0.5 * (town == "x") + 0.2 * rng.normal(size=n)) - 3.0
    return pd.DataFrame({"size": size, "town": town, "noise": rng.normal(size=n).round(3), "price": price.round(3)})


def test_an_order_ranks_larger_values_higher(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old, new = prices(0), prices(1)
    assert (old["price"] < 0.0).any()  # which a time may not be
    new.loc[0, "price"] = np.nan
    old.to_csv("old.csv", index=False)
    new.to_csv("new.csv", index=False)

    def said(*words):
        code = run([*words])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return re.sub(r"\s+", " ", printed.out)

    train_it = ("train", "old.csv", "--target", "price", "--event", "none")
    told = said(*train_it, "--features", "additive", "--model", "a.json")
    assert "pairs of rows that differ in price, the one with the larger price is ranked higher in" in told
    assert "positive" not in told
    said(*train_it, "--features", "linear", "--loss", "squared_hinge", "--model", "b.json")
    said("predict", "a.json", "new.csv", "--out", "scores.csv")
    known = new["price"].notna().to_numpy()
    scores = pd.read_csv("scores.csv")["score"].to_numpy()[known]
    expected = concordance_index_ci(new["price"][known], scores)
    with pytest.warns(UserWarning, match="1 row without a label was left out"):
        found = evaluate(load_model("a.json"), "new.csv")
    assert (found.auc.auc, found.auc.low, found.auc.high) == (expected.auc, expected.low, expected.high)
    assert found.auc.auc > 0.75
    assert json.loads(said("evaluate", "a.json", "new.csv", "--json"))["concordance_index"] == expected.auc
    assert "(jackknife)" in said("evaluate", "a.json", "new.csv")
    assert "positive" not in said("compare", "a.json", "b.json", "new.csv", "--html", "both.html")
    other = pd.read_csv(io.StringIO(new[known].to_csv(index=False)))
    test = compare(load_model("a.json"), load_model("b.json"), other).test
    assert test.auc_a == pytest.approx(expected.auc, rel=1e-12)
    assert "A higher score means a larger price" in said("explain", "a.json")
    exported = to_python(load_model("a.json"))
    assert "a larger price" in exported
    assert "label" not in exported


def test_the_page_of_an_order(tmp_path):
    report = make_report(prices(0), "price", event="none", features="additive", by=["town"], rows=2)
    text = text_of(report_page(report, data_name="prices.csv").html())
    for wanted in (
        "what predicts a larger price?",
        "the one with the larger price is ranked higher in",
        "Price and the score",
        "of its pairs",
        "Concordance index by town",
    ):
        assert wanted in text, wanted
    for unwanted in (*AGAINST, "Kaplan-Meier", "positive", "censored", "event", "too few rows to test"):
        assert unwanted not in text, unwanted
    frame, own = prices(0), (prices(0)["town"] == "x").to_numpy()
    (group,) = (one for one in report.groups if one.name == "x")
    scores = report.evaluation.scores
    assert group.auc is not None
    assert group.auc.auc == concordance_index(frame["price"][own], scores[own])


def test_a_strong_column_is_no_leak_of_an_order():
    frame = prices(0).assign(price=lambda rows: rows["size"] + 0.1 * np.random.default_rng(0).normal(size=len(rows)))
    assert "leak" in {one.code for one in check(frame.assign(price=frame["price"] > 100), "price")}
    assert "leak" not in {one.code for one in check(frame, "price", event="none")}


def test_grades_inside_queries():
    rng = np.random.default_rng(2)
    frame = clicks(0).assign(grade=lambda rows: (rows["own"] + 0.5 * rng.normal(size=len(rows))).round().clip(-1, 2))
    model = train(frame.drop(columns="clicked"), "grade", event="none", within="query", features="linear")
    new = clicks(1).assign(grade=lambda rows: rows["own"].round())
    found = evaluate(model, new)
    expected = concordance_index(new["grade"], found.scores, strata=new["query"])
    assert found.auc.auc == expected > 0.9


@pytest.mark.parametrize("died", [1, True, "dead"])
def test_nobody_censored_is_an_order_of_times(died):
    frame, positive = trial(0).assign(died=died), "dead" if died == "dead" else None
    model = train(frame, "months", positive, event="died", features="linear", drop=["site"])
    assert model.training["positives"] == len(frame)
    new = trial(1).assign(died=died)
    found = evaluate(model, new)
    assert found.auc.auc == concordance_index(new["months"], found.scores, event=np.ones(len(new)))
    assert found.auc.low > 0.5  # half of these times end by censoring, so that the index is low
    report = make_report(frame, "months", positive, event="died", features="linear")
    text = text_of(report_page(report, data_name="t").html())
    assert "Kaplan-Meier" in text
    if type(died) is int:  # later rows may be censored
        evaluate(model, trial(1))
