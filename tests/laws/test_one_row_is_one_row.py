"""Any file of some rows, in any order and any dialect, gives each row the score that it has in every other file.

A row may be refused where its file is written otherwise than the training file, but it never gets another score.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pytest
from hypothesis import HealthCheck, Phase, assume, example, given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam._utils.findings import VrspamError
from vrspam.tool import load_model, predict, save_model, train

COLUMNS = ("share", "count", "word", "flag", "day", "price", "y")


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text."""

    delimiter: str = ","
    decimal: str = "."
    thousands: str = ""  # in the column of prices
    spaced: bool = False
    quoted: bool = False

    def cell(self, name: str, value) -> str:
        if value is None:
            return ""
        if name == "price":
            whole, _, part = f"{value:.2f}".partition(".")
            groups = f"{int(whole):,}".replace(",", self.thousands)
            return groups if part == "00" else f"{groups}{self.decimal}{part}"
        return f"{value:.10g}".replace(".", self.decimal) if isinstance(value, float) else str(value)

    def write(self, path, rows: list[dict]) -> str:
        """Write rows; the line of names as well, with spaces behind its delimiters if the rows have them."""
        between = self.delimiter + " " * self.spaced
        lines = [between.join(COLUMNS)]
        for row in rows:
            cells = [self.cell(name, row[name]) for name in COLUMNS]
            needs_quotes = [self.quoted or self.delimiter in cell for cell in cells]
            lines.append(between.join(f'"{c}"' if q else c for c, q in zip(cells, needs_quotes, strict=True)))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(path)


DIALECTS = st.one_of(
    st.builds(Dialect, delimiter=st.just(","), spaced=st.booleans(), quoted=st.booleans()),
    st.builds(Dialect, delimiter=st.sampled_from(";\t|"), spaced=st.booleans(), quoted=st.booleans()),
    st.builds(
        Dialect,
        delimiter=st.sampled_from(";\t|"),
        decimal=st.just(","),
        thousands=st.sampled_from(["", "."]),
        spaced=st.booleans(),
        quoted=st.booleans(),
    ),
)


def table(seed: int, whole: bool, n_rows: int = 80) -> list[dict]:
    """Rows of numbers that look like thousands, whole numbers, words, flags, days and prices, with gaps."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_rows):
        y = int(rng.random() < 0.4)
        share = float(np.round(rng.normal(3.0 + y, 1.5), rng.choice([1, 3])))
        row: dict[str, Any] = {
            "share": int(share) if whole else share,
            "count": int(rng.integers(1, 3000)) + 500 * y,
            "word": str(rng.choice(["red", "green", "blue" if y else "red"])),
            "flag": str(rng.random() < 0.3 + 0.3 * y).lower(),
            "day": str(np.datetime64("2021-01-01") + int(rng.integers(0, 900)) + 200 * y),
            "price": float(rng.integers(100, 900_000))
            if whole
            else float(np.round(rng.gamma(2.0, 900.0 + 500 * y), 2)),
            "y": ("no", "yes")[y],
        }
        for name in ("share", "count", "word", "price"):
            if rng.random() < 0.03:
                row[name] = None
        rows.append(row)
    rows[0] |= {"share": 2 if whole else 1.257, "count": 1257, "price": 1257.0}
    rows[1] |= {"share": 2 if whole else 2.0, "count": 2, "price": 2.0}
    return rows


def fit(folder, dialect: Dialect, rows: list[dict]):
    """A model of these rows, saved and loaded."""
    save_model(train(dialect.write(folder / "training.csv", rows), "y", features="linear"), folder / "model.json")
    return load_model(folder / "model.json")


def scores(model, path, folder) -> np.ndarray:
    """The score of each row, NaN for one that is refused; all NaN if the file is refused in a sentence."""
    out = folder / "scores.csv"
    try:
        predict(model, path, out)
    except VrspamError:
        return np.array([np.nan])
    return pd.read_csv(out)["score"].to_numpy(dtype=float)


def agree(found: np.ndarray, want: np.ndarray, may_refuse: bool) -> None:
    """Assert that scores are the same; a refused row has none."""
    if may_refuse and found.shape != want.shape:
        assert np.isnan(found).all()
        return
    known = ~np.isnan(found) if may_refuse else np.ones(found.shape, dtype=bool)
    np.testing.assert_allclose(found[known], want[known], rtol=0, atol=1e-9)


@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


quick = settings(
    max_examples=examples(4),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
    print_blob=True,
)


@quick
@given(dialect=DIALECTS, seed=st.integers(0, 2**32 - 1), whole=st.booleans(), data=st.data())
def test_rows_of_the_training_file_keep_their_scores(folder, dialect, seed, whole, data):
    rows = table(seed, whole)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(folder, dialect, rows)
        want = scores(model, str(folder / "training.csv"), folder)
        assert np.isfinite(want).all()
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="subset"))
        subsets = [np.array([0]), np.array([1, 0]), rng.permutation(len(rows))]
        subsets += [rng.choice(len(rows), size, replace=False) for size in (1, 1, 2, 3, 7)]
        for places in subsets:
            path = dialect.write(folder / "some.csv", [rows[place] for place in places])
            agree(scores(model, path, folder), want[places], may_refuse=False)


@quick
@given(trained=DIALECTS, new=DIALECTS, seed=st.integers(0, 2**32 - 1), whole=st.booleans())
def test_a_file_in_another_dialect_gives_each_row_one_score(folder, trained, new, seed, whole):
    """The rows of a file do not matter to each other; signs that agree with those of training give its scores."""
    assume(not (whole and trained.thousands))  # 1.257 and no fraction anywhere: nobody can tell what it means
    rows = table(seed, whole)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(folder, trained, rows)
        want = scores(model, str(folder / "training.csv"), folder)
        together = scores(model, new.write(folder / "new.csv", rows), folder)
        if (new.decimal, new.thousands) == (trained.decimal, trained.thousands):
            agree(together, want, may_refuse=True)
        rng = np.random.default_rng(seed)
        for places in [np.array([0]), np.array([0, 1]), rng.choice(len(rows), 5, replace=False)]:
            alone = scores(model, new.write(folder / "some.csv", [rows[place] for place in places]), folder)
            if alone.shape == places.shape and together.shape == want.shape:
                np.testing.assert_array_equal(alone, together[places])
            else:
                assert np.isnan(alone).all() or np.isnan(together).all()


@quick
@given(trained=DIALECTS, seed=st.integers(0, 2**32 - 1), whole=st.booleans())
def test_typed_files_of_some_rows_give_the_same_scores(folder, trained, seed, whole):
    assume(not (whole and trained.thousands))
    rows = table(seed, whole)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(folder, trained, rows)
        want = scores(model, str(folder / "training.csv"), folder)
        frame = pd.DataFrame(rows)
        frame["flag"] = frame["flag"] == "true"
        frame["day"] = pd.to_datetime(frame["day"])
        rng = np.random.default_rng(seed)
        for places in [np.arange(len(rows)), np.array([0]), rng.choice(len(rows), 4, replace=False)]:
            some = frame.iloc[places]
            some.to_parquet(folder / "some.parquet", index=False)
            feather.write_feather(pa.Table.from_pandas(some, preserve_index=False), folder / "some.arrow")
            some.to_excel(folder / "some.xlsx", index=False)
            for path in (some, folder / "some.parquet", folder / "some.arrow", folder / "some.xlsx"):
                agree(scores(model, path, folder), want[places], may_refuse=False)


@quick
@given(trained=DIALECTS, seed=st.integers(0, 2**32 - 1), whole=st.booleans())
@example(trained=Dialect(";", ","), seed=0, whole=False)
def test_the_texts_of_a_file_in_a_frame_give_its_scores(folder, trained, seed, whole):
    """Also in typed files: text among numbers is read as the training file was written."""
    assume(not (whole and trained.thousands))
    rows = table(seed, whole)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(folder, trained, rows)
        want = scores(model, str(folder / "training.csv"), folder)
        texts = pd.DataFrame([{name: trained.cell(name, row[name]) for name in COLUMNS} for row in rows])
        rng = np.random.default_rng(seed)
        for places in [np.arange(len(rows)), np.array([0]), rng.choice(len(rows), 4, replace=False)]:
            some = texts.iloc[places]
            some.to_parquet(folder / "some.parquet", index=False)
            for path in (some, folder / "some.parquet"):
                agree(scores(model, path, folder), want[places], may_refuse=False)


def test_a_number_with_the_other_decimal_sign_in_a_frame_is_refused(folder):
    """As in text files: a row whose text could be read otherwise than training was has no score, and says why."""
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 60)
    values = np.round(rng.normal(3.0 + y, 1.0), 3)
    texts = [str(value).replace(".", ",") for value in values]
    (folder / "t.csv").write_text("x;y\n" + "".join(f"{a};{b}\n" for a, b in zip(texts, y, strict=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(str(folder / "t.csv"), "y", features="linear")
        want = scores(model, str(folder / "t.csv"), folder)
        predict(model, pd.DataFrame({"x": [texts[0], "2.5", texts[1], "1.257", None]}), folder / "scores.csv")
    found = pd.read_csv(folder / "scores.csv")
    assert found["score"].isna().tolist() == [False, True, False, True, False]
    np.testing.assert_array_equal(found["score"][[0, 2]], want[:2])
    assert "2.5" in found["reason"][1]
    assert "1.257" in found["reason"][3]


def test_a_whole_number_and_a_fraction_are_never_confused(folder):
    """Numbers such as 1,257 and 1.250, alone and in company, for models of decimal commas and of whole numbers."""
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 60)
    values = np.round(rng.normal(3.0 + y, 1.0), 3)

    def model_of(texts):
        (folder / "t.csv").write_text("x;y\n" + "".join(f"{a};{b}\n" for a, b in zip(texts, y, strict=True)))
        return train(str(folder / "t.csv"), "y", features="linear")

    def score_of(model, *cells):
        (folder / "n.csv").write_text("x;z\n" + "".join(f"{cell};0\n" for cell in cells))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return scores(model, str(folder / "n.csv"), folder)

    commas = model_of([str(value).replace(".", ",") for value in values])
    alone = score_of(commas, "1,257")[0]
    for company in ("2", "1", "0,5", "1,5", "100"):
        assert score_of(commas, "1,257", company)[0] == alone
    points = model_of(values)
    for cell in ("$5", "1,234", "true", "€7"):
        alone = score_of(points, cell)[0]
        for others in (["€5", "€6", "€7"], ["$8", "$9"], ["1,000", "2,000"], ["word", "text", "1.5"]):
            assert score_of(points, cell, *others, "1", "2", "3", "4")[0] == alone
    whole = model_of((1000 * values).astype(int))
    assert np.isnan(score_of(whole, "1.250")).all()
    assert np.isnan(score_of(whole, "1,250")).all()
    assert np.isnan(score_of(whole, "1.250", "2")[0])
    assert score_of(whole, "1.250", "2")[1] == score_of(whole, "2")[0]


@pytest.mark.parametrize("company", [[], ["a"], [" a", " b"]])
def test_a_blank_before_a_word_stays(folder, company):
    """A word that begins with a blank is the same word in a file where all words do."""
    words = np.resize(["a", " a", "b", " b"], 80)
    y = np.resize([0, 1, 1, 0], 80)
    (folder / "t.csv").write_text(
        "n,w,y\n" + "".join(f"{k % 7},{w},{b}\n" for k, (w, b) in enumerate(zip(words, y, strict=True)))
    )
    model = train(str(folder / "t.csv"), "y", features="linear")
    (folder / "whole.csv").write_text("n,w\n1,a\n1, a\n")
    (folder / "one.csv").write_text("n,w\n1, a\n" + "".join(f"1,{word}\n" for word in company))
    assert scores(model, str(folder / "one.csv"), folder)[0] == scores(model, str(folder / "whole.csv"), folder)[1]


def test_a_moment_is_the_same_beside_a_text_that_is_none(folder):
    """Where one cell of a block is no date, all of the block are read by another way, which sees the same moments."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.normal(100 + 30 * y, 30.0), unit="D")
    frame = pd.DataFrame({"when": days.strftime("%Y-%m-%d %H:%M:%S.%f"), "y": y})
    frame.to_csv(folder / "t.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(str(folder / "t.csv"), "y", features="linear")
        want = scores(model, str(folder / "t.csv"), folder)
        frame.iloc[:7].to_csv(folder / "some.csv", index=False)
        with open(folder / "some.csv", "a") as file:
            file.write("later,0\n")
        np.testing.assert_allclose(scores(model, str(folder / "some.csv"), folder)[:7], want[:7], rtol=0, atol=1e-12)


def test_an_infinite_number_is_a_row_without_a_score_where_text_was_read_as_numbers(folder):
    """As in a column that held plain numbers: the row keeps its place, and the other rows keep their scores."""
    rng = np.random.default_rng(0)
    amount = rng.normal(size=60).round(2) + np.tile([0.0, 1.0], 30)
    sick = np.tile(["no", "yes"], 30)
    training = {"text": [f"$ {value:.2f}" for value in amount], "plain": amount}
    new = pd.DataFrame({"amount": [1.0, np.inf, np.nan, -np.inf, 2.0]})
    new.to_parquet(folder / "new.parquet")
    for written, values in training.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = train(pd.DataFrame({"amount": values, "sick": sick}), "sick", features="linear")
            for table in (new, folder / "new.parquet"):
                predict(model, table, folder / "scores.csv")
                found = pd.read_csv(folder / "scores.csv")
                assert found["score"].isna().tolist() == [False, True, False, True, False], written
                assert found["reason"].dropna().str.contains("column 'amount' is infinite").all()
                finite = new[np.isfinite(new["amount"]) | new["amount"].isna()]
                predict(model, finite, folder / "finite.csv")
                np.testing.assert_array_equal(found["score"].dropna(), pd.read_csv(folder / "finite.csv")["score"])


@pytest.mark.parametrize(
    ("option", "said"), [("weights", "2 of them are negative or infinite"), ("time", "holds infinite numbers")]
)
def test_infinite_weights_and_times_are_refused_in_a_sentence(folder, option, said):
    rng = np.random.default_rng(0)
    beside = np.r_[np.inf, np.inf, rng.random(58)]
    frame = pd.DataFrame({"age": rng.normal(size=60), "beside": beside, "sick": ["no", "yes"] * 30})
    frame.to_parquet(folder / "t.parquet")
    asked: dict[str, Any] = {option: "beside"}
    with pytest.raises(VrspamError, match=said):
        train(folder / "t.parquet", "sick", features="linear", **asked)
