"""Frames as people have them, in Python: numbers in text, dates, identifiers, and what training has not seen."""

from __future__ import annotations

import functools
import re
import warnings
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from messy_files import base, clean
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from vrspam import AUCClassifier, AUCClassifierCV, VRSPAMClassifier
from vrspam._utils.warnings import ColumnsLeftOut, TextRead, UnseenValues
from vrspam.data import read_chunks
from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures, TreeFeatures
from vrspam.tables import frames
from vrspam.tables.identifiers import is_identifier
from vrspam.tables.kinds import find_kind, typed_kind
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.kinds.numbers import Numbers
from vrspam.tables.kinds.times import Times
from vrspam.tables.schema import Schema
from vrspam.tool import score_file, train

MAP = AUCClassifierCV(features="additive", cv=3, random_state=0)
FRAMES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


def series(values):
    """The same texts in every kind of series."""
    yield nw.from_native(pd.Series(values, dtype=object), series_only=True)
    yield nw.from_native(pd.Series(values, dtype="str"), series_only=True)
    yield nw.from_native(pl.Series(values, dtype=pl.String), series_only=True)
    yield nw.from_native(pa.chunked_array([pa.array(values, pa.string())]), series_only=True)


def messy_frame() -> pd.DataFrame:
    frame = base().drop(columns="sick")
    frame["income"] = [f"${value:,.2f}" for value in frame["income"]]
    frame.insert(0, "patient", np.random.default_rng(0).permutation(10**7)[: len(frame)])
    frame["name"] = [f"n{k}" for k in range(len(frame))]
    return frame


@functools.cache
def model_of_the_clean_twin():
    twin = clean("year", "month", "weekday", "hour")
    y = twin.pop("sick")
    return clone(MAP).fit(twin, y)


@pytest.mark.parametrize("kind", FRAMES)
def test_an_estimator_reads_columns_as_the_tool_does(kind):
    frame, twin = messy_frame(), clean("year", "month", "weekday", "hour")
    y = twin.pop("sick")
    with (
        pytest.warns(TextRead, match="'income' holds text that was read as numbers"),
        pytest.warns(ColumnsLeftOut, match="'patient', 'name'"),
    ):
        model = clone(MAP).fit(FRAMES[kind](frame), y)
    expected = model_of_the_clean_twin()
    assert model.n_features_in_ == frame.shape[1]
    assert list(model.feature_names_in_) == list(frame.columns)
    assert list(model.importances_) == list(twin.columns)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    scores = model.decision_function(FRAMES[kind](frame))
    np.testing.assert_allclose(scores, expected.decision_function(twin), rtol=1e-9, atol=1e-12)
    parts = model.explain_one(FRAMES[kind](frame)[:1])
    assert sum(parts.values()) == pytest.approx(scores[0])
    assert set(model.shape_functions_) == set(twin.columns)


def test_identifiers_are_named_and_have_no_features():
    frame, y = messy_frame()[["patient", "name", "age"]], base()["sick"]
    with pytest.warns(ColumnsLeftOut, match="Columns 'patient', 'name' look like identifiers and are not used"):
        model = clone(MAP).fit(frame, y)
    assert model.n_features_in_ == 3
    assert list(model.features_.feature_names_in_) == ["age"]
    other = frame.assign(patient=0, name="x")  # they do not count
    np.testing.assert_array_equal(model.decision_function(frame), model.decision_function(other))
    with pytest.raises(ValueError, match="Every column looks like an identifier"):
        clone(MAP).fit(frame[["patient", "name"]], y)


def test_a_transformer_of_the_user_gets_the_frame_as_it_is():
    class Lengths:
        def fit(self, X, y=None):
            return self

        def transform(self, X):
            assert isinstance(X["income"].iloc[0], str)
            return np.stack([X["income"].str.len(), X["age"]], axis=1).astype(float)

        def get_params(self, deep=True):
            return {}

    model = AUCClassifierCV(features=Lengths(), cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TextRead)
        model.fit(messy_frame(), base()["sick"])


@functools.cache
def model_of_three_columns():
    frame = messy_frame()[["age", "income", "town"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextRead)
        return frame, clone(MAP).fit(frame, base()["sick"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda f: f.assign(town=f["town"].str.upper()),
            r"'town' .* in 100\.0 % of the rows .* in case or spaces alone",
        ),
        (
            lambda f: f.assign(town=f["town"].replace("Linz", "Wien")),
            r"'town' holds categories .*\('Wien'\)$|\('Wien'\)",
        ),
        (lambda f: f.assign(age=1000.0 * f["age"]), r"'age' is far outside the range of training, .* check its unit"),
        (lambda f: f.assign(town=None), "'town' has no value in any row"),
        (lambda f: f.assign(income="a lot"), r"'income' holds text where training had other values, in 100\.0 %"),
    ],
)
def test_what_training_has_not_seen_is_said(change, words):
    frame, model = model_of_three_columns()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.decision_function(frame)  # nothing to say about the rows of training
    with pytest.warns(UnseenValues, match=words):
        model.decision_function(change(frame))


PARTS = st.integers(-999_999, 999_999), st.integers(0, 99)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*PARTS), min_size=4, max_size=12, unique=True), st.sampled_from(["us", "de", "ch", "fr"]))
def test_numbers_come_back_from_their_text(parts, country):
    """Oracle: the numbers themselves, and Python's own formatting."""
    values = [whole + (cents / 100 if whole >= 0 else -cents / 100) for whole, cents in parts]
    forms = {
        "us": lambda v: f"{v:,.2f}",
        "de": lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")),
        "ch": lambda v: f"{v:,.2f}".replace(",", "'"),
        "fr": lambda v: f"{v:,.2f}".replace(",", " ").replace(".", ","),
    }
    texts = [forms[country](value) for value in values]
    found = find_kind(Counter(texts))
    if found is None:  # fewer than two different texts
        assert len(set(texts)) < 2
        return
    assert isinstance(found.kind, Numbers)
    for one in series([*texts, None, "?"]):
        numbers, stray = found.kind.values(one)
        np.testing.assert_allclose(numbers[: len(texts)], [float(f"{v:.2f}") for v in values], rtol=1e-12)
        assert np.isnan(numbers[-2:]).all()
        assert stray.tolist() == [False] * (len(texts) + 1) + [True]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.datetimes(datetime(1950, 1, 1), datetime(2049, 12, 31)), min_size=30, max_size=40, unique=True),
    st.sampled_from(["%d.%m.%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%Y/%m/%d %H:%M:%S", "%d %B %Y %H:%M:%S"]),
)
def test_dates_come_back_from_their_text(moments, form):
    moments = [moment.replace(microsecond=0) for moment in moments]
    if not any(moment.day > 12 for moment in moments):
        return
    texts = [moment.strftime(form) for moment in moments]
    found = find_kind(Counter(texts))
    assert found is not None
    assert isinstance(found.kind, Dates)
    for one in series([*texts, None, "soon"]):
        read, stray = found.kind.moments(one)
        assert read[: len(texts)].tolist() == moments
        assert np.isnat(read[-2:]).all()
        assert stray[-1]
        assert not stray[:-1].any()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.times(), min_size=4, max_size=12, unique=True), st.sampled_from(["%H:%M", "%H:%M:%S.%f", "%I:%M:%S %p"])
)
def test_times_come_back_from_their_text(times, form):
    """Oracle: the standard library's own formatting and reading."""
    texts = [time.strftime(form) for time in times]
    found = find_kind(Counter(texts))
    if found is None:
        assert len(set(texts)) < 2
        return
    assert isinstance(found.kind, Times)
    since = [datetime.strptime(text, form) - datetime(1900, 1, 1) for text in texts]
    for one in series([*texts, None, "soon"]):
        hours, stray = found.kind.values(one)
        np.testing.assert_allclose(hours[:-2], [one / timedelta(hours=1) for one in since], rtol=1e-12)
        assert np.isnan(hours[-2:]).all()
        assert stray.tolist() == [False] * (len(texts) + 1) + [True]


HOURS = np.array([8.5, 20.25, 0.0, np.nan, 13.75] * 12)


@pytest.mark.parametrize("kind", ["times", "durations", "texts"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_columns_of_times_are_hours(make, kind):
    since = [None if np.isnan(hour) else timedelta(hours=hour) for hour in HOURS]
    times = [None if one is None else (datetime.min + one).time() for one in since]
    texts = [None if one is None else one.isoformat() for one in times]
    values = {"times": times, "durations": since, "texts": texts}[kind]
    y = np.arange(60) % 2
    age = (np.arange(60.0) * 7) % 11
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextRead)
        model = clone(MAP).fit(make({"start": values, "age": age}), y)
    plain = clone(MAP).fit(make({"start": HOURS.tolist(), "age": age}), y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    scores = model.decision_function(make({"start": values, "age": age}))
    np.testing.assert_array_equal(scores, plain.decision_function(make({"start": HOURS.tolist(), "age": age})))


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "012", "1"],
        ["Graz", "Linz 1", "Linz 2"],
        ["5-10", "10-20", "20-30"],
        ["<5", "5", "7"],
        ["A1", "B2", "C3"],
        ["1", "one", "two"],
        ["$5", "€6", "£7"],
        ["", "?", "-"],
        ["1.2.3.4", "10.0.0.1", "8.8.8.8"],
        ["16:9", "4:3", "21:9"],
        ["555-1234", "555-9876", "555-0000"],
        ["31.02.2020", "30.02.2021", "99.99.2020"],
    ],
)
def test_what_is_not_numbers_or_dates_stays_text(texts):
    assert find_kind(Counter(texts)) is None


def test_categorical_columns_stay_categories():
    frame = pd.DataFrame({"grade": pd.Categorical(["1", "2", "3", "4"] * 10), "age": np.arange(40.0) % 7})
    model = clone(MAP).fit(frame, np.arange(40) % 2)
    assert list(model.features_.encoders_[0].categories) == ["1", "2", "3", "4"]


def test_readings_are_stored_as_plain_values():
    for reading in (Numbers(",", "."), Numbers(".", ",", "$"), Dates("dmy", ("year", "hour")), Times()):
        stored = Schema(readings={"amount": reading}).to_dict()
        assert Schema.from_dict(stored).readings == {"amount": reading}
    for wrong in ({"kind": "numbers", "decimal": "x", "thousands": "", "unit": ""}, {"kind": "dates", "order": "xyz"}):
        with pytest.raises(ValueError, match="not a schema"):
            Schema.from_dict({**Schema().to_dict(), "readings": {"amount": wrong}})


def test_amounts_are_no_identifiers():
    rng = np.random.default_rng(1)
    amounts = np.unique(rng.lognormal(11, 0.8, 400).round())
    rng.shuffle(amounts)
    assert not is_identifier(amounts)
    assert is_identifier(amounts, "customerId")
    assert not is_identifier(np.append(rng.permutation(10**6)[:300], 5).astype(float).repeat(2))
    assert is_identifier(rng.permutation(10**6)[:300])
    assert not is_identifier(np.array([1.5, np.nan] * 50))


# --- folds, and errors in the words of a table ---------------------------------------------------------------


def test_folds_are_shuffled_with_seed_0():
    rng = np.random.default_rng(0)
    X = np.c_[rng.standard_normal((300, 2)), np.repeat([0.0, 1.0, 2.0], 100)]
    y = rng.random(300) < 0.3
    default = AUCClassifierCV().fit(X, y)
    seeded = AUCClassifierCV(cv=StratifiedKFold(5, shuffle=True, random_state=0)).fit(X, y)
    np.testing.assert_array_equal(default.auc_path_, seeded.auc_path_)
    np.testing.assert_array_equal(default.auc_path_, AUCClassifierCV(random_state=0).fit(X, y).auc_path_)


A = np.random.default_rng(0).standard_normal(60) + np.arange(60) % 2


@pytest.mark.parametrize("estimator", [AUCClassifier(), AUCClassifierCV(cv=2), VRSPAMClassifier(max_iter=1)])
@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.where(A > 2, np.nan, A), r"contains NaN in column 'b': AUCClassifierCV\(features='auto'\) takes missing"),
        (np.where(A > 2, np.inf, A), "contains infinity in column 'b'"),
        (["x", "y"] * 30, r"Column 'b' holds text: AUCClassifierCV\(features='auto'\) takes text as categories"),
        (pd.date_range("2020", periods=60), "Column 'b' holds dates"),
        ([[1, 2]] * 60, "Column 'b' holds lists or records"),
        (A * 1e200, "Column 'b' holds numbers up to .*, whose squares overflow"),
    ],
)
def test_a_column_that_cannot_be_used_is_named(estimator, column, words):
    frame = pd.DataFrame({"a": A, "b": column})
    if isinstance(estimator, AUCClassifierCV) and re.search("NaN|holds text|holds dates", words):
        model = clone(estimator).fit(frame, np.arange(60) % 2)
        assert isinstance(model.features_, LinearFeatures)
        assert np.isfinite(model.decision_function(frame if "NaN" in words else frame[["b", "a"]])).all()
        return
    with pytest.raises(ValueError, match=words) as refused:
        clone(estimator).fit(frame, np.arange(60) % 2)
    assert "\n" not in str(refused.value)


def test_two_columns_of_one_name_are_named():
    frame = pd.DataFrame(np.c_[A, A], columns=["a", "a"])
    for estimator in (AUCClassifier(), AUCClassifierCV(features="additive", cv=2)):
        with pytest.raises(ValueError, match="rename one of those called 'a'"):
            estimator.fit(frame, np.arange(60) % 2)


def test_arrays_have_numbers_for_names():
    X = np.c_[A, A]
    fitted = AUCClassifier().fit(X, np.arange(60) % 2)
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in column 1"):
        fitted.predict(X)
    with pytest.raises(ValueError, match=r"overflow \(column 1\)"):
        AUCClassifier().fit(np.c_[A, A * 1e200], np.arange(60) % 2)
    with pytest.raises(ValueError, match="'l' holds lists"):
        clone(MAP).fit(pd.DataFrame({"a": A, "l": [[1]] * 60}), np.arange(60) % 2)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("names", [("a", "id", "when", "b"), (0, 1, 2, 3)])
def test_importances_have_an_entry_for_each_column_of_the_frame(names):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3 == 0
    days = pd.date_range("2020-01-01", periods=120, freq="37h")[rng.permutation(120)]
    columns = [rng.standard_normal(120) + y, [f"p{number}" for number in range(120)], days, rng.standard_normal(120)]
    model = clone(MAP).set_params(l2s=[0.1]).fit(pd.DataFrame(dict(zip(names, columns, strict=True))), y)
    found = model.feature_importances_
    assert found.shape == (4,) == (model.n_features_in_,)
    assert found[1] == 0.0
    assert (found[[0, 2, 3]] > 0.0).all()
    assert found.argmax() == 0
    assert found.sum() == pytest.approx(1.0)
    spread = {name: value**2 for name, value in model.importances_.items()}
    of_dates = [value for name, value in spread.items() if name.startswith(f"{names[2]} (")]
    assert len(of_dates) > 1
    assert (found[2] / found[0]) ** 2 == pytest.approx(sum(of_dates) / next(iter(spread.values())))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_stream_forgets_how_the_columns_of_an_earlier_frame_were_read():
    X, y = np.c_[A, np.roll(A, 7)], np.arange(60) % 2
    model = clone(MAP).fit(pd.DataFrame({"when": pd.date_range("2020", periods=60), "a": A}), y)
    model.set_params(features="linear").fit_stream([(X, y)])
    assert list(model.explain_one(X[0])) == ["x0", "x1", "baseline"]


def test_what_is_new_is_said_where_columns_are_called_by_numbers():
    frame = pd.DataFrame({0: A, 1: ["u", "v", "u"] * 20})
    model = clone(MAP).set_params(l2s=[0.1]).fit(frame, np.arange(60) % 2)
    with pytest.warns(UnseenValues, match="column '1' holds categories that training did not have"):
        model.predict(pd.DataFrame({0: A, 1: ["U", "v", "u"] * 20}))


def test_held_columns_are_read_like_the_frame_they_were_made_of():
    frame = pd.DataFrame(
        {
            "size": [1.5, None, 3.0, -2.0],
            "count": [1, 2, 3, 4],
            "flag": [True, False, True, True],
            "town": ["Graz", None, "Köln", "Graz"],
            "kind": pd.Categorical(["b", "a", "b", "a"]),
        }
    )
    held = frames.HeldColumns.of(frame)
    assert held.shape == frame.shape
    assert frames.numeric_flags(held) == frames.numeric_flags(frame) == [True, True, True, False, False]
    mixed = np.array([[0, 1, 2, 3, 0], [3, 2, 1, 1, 1]])
    parts = [
        (held, frame),
        (frames.rows_of(held, np.array([3, 0, 0])), frames.rows_of(frame, np.array([3, 0, 0]))),
        (frames.rows_of(held, slice(1, 3)), frames.rows_of(frame, slice(1, 3))),
        (frames.rows_of(held, mixed), frames.rows_of(frame, mixed)),
    ]
    codes = {"Graz": 4, "b": 7, None: 9}
    for mine, theirs in parts:
        assert mine.shape == theirs.shape
        for index in range(3):
            np.testing.assert_array_equal(frames.numbers(mine, index), frames.numbers(theirs, index))
        for index in (3, 4):
            assert frames.named_column(mine, index)[0] == frames.named_column(theirs, index)[0]
            assert frames.categories(mine, index) == frames.categories(theirs, index)
            assert frames.category_codes(mine, index, codes, 2).tolist() == (
                frames.category_codes(theirs, index, codes, 2).tolist()
            )


@pytest.mark.parametrize("kind", [AdditiveFeatures, KernelFeatures, TreeFeatures, LinearFeatures])
def test_maps_learn_the_same_of_a_frame_and_of_its_held_columns(kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.standard_normal(60), "town": rng.choice(["a", "b", "c"], 60)})
    frame.loc[3, ["x", "town"]] = None
    of_frame, of_held = kind(random_state=0).fit(frame), kind(random_state=0)
    of_held.learn(frames.HeldColumns.of(frame))
    assert of_held.feature_names_in_.tolist() == ["x", "town"]
    np.testing.assert_array_equal(of_held.transform(frame), of_frame.transform(frame))
    np.testing.assert_array_equal(of_held.features_of(frames.HeldColumns.of(frame)), of_frame.transform(frame))


def test_odd_types_of_columns_are_read():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(120)
    y = rng.random(120) < 0.3 + 0.4 * (x > 0)
    bands = pd.DataFrame({"band": pd.cut(x, 4), "z": rng.standard_normal(120)})  # categories of intervals
    model, twin = (train(f.assign(y=y), "y", features="linear") for f in (bands, bands.astype({"band": str})))
    assert model.schema.categorical == twin.schema.categorical
    np.testing.assert_array_equal(score_file(model, bands.assign(y=y))[1], score_file(twin, bands.assign(y=y))[1])
    numbered = pd.DataFrame({"class": pd.Categorical(rng.integers(1, 4, 120)), "z": x})
    fitted = clone(MAP).fit(numbered, y)
    for row in (numbered.iloc[0], numbered.iloc[0].to_dict(), {**numbered.iloc[0], "class": str(numbered["class"][0])}):
        total = sum(fitted.explain_one(row).values())
        assert total == pytest.approx(fitted.decision_function(numbered[:1])[0], abs=1e-12)
    unknown = pa.chunked_array([pa.array([Decimal(1), Decimal(2)], pa.decimal256(50, 3))])  # to narwhals
    assert typed_kind(nw.from_native(unknown, series_only=True)) is None


def test_declared_categories_stay_categories_in_every_reader():
    grades = np.random.default_rng(0).permutation(["1", "2", "3"] * 40)
    frame = pd.DataFrame({"grade": pd.Categorical(grades), "age": A.repeat(2)})
    frame["name"] = pd.Categorical([f"n{k}" for k in range(120)])  # its type says that it is no identifier
    sick = frame.assign(sick=np.arange(120) % 2)
    ordered = pd.CategoricalDtype(["1", "2", "3"], ordered=True)
    given = [sick, sick.astype({"grade": ordered}), pl.from_pandas(sick), pa.Table.from_pandas(sick)]
    for rows in given:
        model = train(rows, "sick", features="linear", n_splits=2)
        assert model.schema.categorical["grade"] == ("1", "2", "3")
        assert len(model.schema.categorical["name"]) == 120
        assert model.schema.readings == {}
        chunks = read_chunks(rows, "sick")
        assert chunks.feature_names_[:4] == ("age", "grade=1", "grade=2", "grade=3")
    fitted = clone(MAP).set_params(l2s=[0.1]).fit(frame[["grade", "age"]], sick["sick"])  # as the estimator takes them
    assert set(fitted.shape_functions_["grade"].grid) >= {"1", "2", "3"}
    texts = sick.astype({"grade": str, "name": str})
    with pytest.warns(UserWarning, match="'name' differs in nearly every row"):
        assert read_chunks(texts, "sick").feature_names_ == ("age", "grade")


ARROW_TEXTS = {
    "large_string": lambda texts: texts.cast(pa.large_string()),
    "string_view": lambda texts: texts.cast(pa.string_view()),
    "dictionary of string": lambda texts: texts.dictionary_encode(),
    "dictionary of string_view": lambda texts: pa.DictionaryArray.from_arrays(
        texts.dictionary_encode().indices, texts.dictionary_encode().dictionary.cast(pa.string_view())
    ),
    "run_end_encoded": lambda texts: pc.run_end_encode(texts),
    "run_end_encoded large_string": lambda texts: pc.run_end_encode(texts.cast(pa.large_string())),
}


def arrow_table(kind) -> pa.Table:
    """A number, a town with a gap, and labels, with towns and labels as texts of this arrow type."""
    rng = np.random.default_rng(0)
    towns = rng.choice(["Graz", "Linz", "Wien"], 120).tolist()
    towns[3] = None
    age = np.round(rng.normal(50.0, 10.0, 120) + 6.0 * np.array([town == "Graz" for town in towns]), 1)
    sick = np.where(age + rng.normal(0.0, 8.0, 120) > 52.0, "yes", "no")
    return pa.table({"age": age, "town": kind(pa.array(towns)), "sick": kind(pa.array(sick))})


def scores_of_arrow(table: pa.Table) -> np.ndarray:
    labels = np.array([str(label) for label in table.column("sick").to_pylist()])
    model = AUCClassifierCV(features="additive", cv=3).fit(table.drop_columns(["sick"]), labels)
    return model.decision_function(table.drop_columns(["sick"]))


@functools.cache
def of_plain_texts() -> tuple[np.ndarray, float]:
    plain = arrow_table(lambda texts: texts)
    return scores_of_arrow(plain), train(plain, "sick", features="additive").training["cv_auc"]


@pytest.mark.parametrize("name", ARROW_TEXTS)
def test_texts_of_every_arrow_type_are_texts(name, tmp_path):
    """Estimators, the tool, and Feather files where they can hold the type, give what plain strings give."""
    other, (scores, cv_auc) = arrow_table(ARROW_TEXTS[name]), of_plain_texts()
    assert_allclose(scores_of_arrow(other), scores, rtol=0, atol=0)
    assert train(other, "sick", features="additive").training["cv_auc"] == cv_auc
    path = tmp_path / "rows.arrow"
    with pa.ipc.new_file(str(path), other.schema) as file:
        file.write_table(other)
    assert train(str(path), "sick", features="additive").training["cv_auc"] == cv_auc


def test_views_of_bytes_and_runs_of_numbers_are_what_they_stand_for():
    plain = arrow_table(lambda texts: texts).drop_columns(["sick"])
    labels = arrow_table(lambda texts: texts).column("sick").to_numpy()
    runs = plain.set_column(0, "age", [pc.run_end_encode(plain.column("age").combine_chunks())])
    both = [AUCClassifierCV(features="additive", cv=3).fit(table, labels).best_score_ for table in (plain, runs)]
    assert both[0] == both[1]
    bytes_, views = (plain.set_column(1, "town", plain.column("town").cast(kind)) for kind in ("binary", "binary_view"))
    both = [AUCClassifierCV(features="additive", cv=3).fit(table, labels).best_score_ for table in (bytes_, views)]
    assert both[0] == both[1]
