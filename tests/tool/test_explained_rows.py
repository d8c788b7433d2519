"""Single rows of files, explained: the parts add up to the score, values and numbers of rows are those of the file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tool_data import patients, write, write_libsvm

from vrspam.cli import main
from vrspam.data import DataError
from vrspam.tool import explanation, load_model, save_model, score_file, train
from vrspam.tool.explanation import ExplainedRow

explain_file: Any = explanation.explain_file  # whose scores may be None

KINDS: dict[str, dict[str, Any]] = {
    "linear": {"features": "linear"},
    "additive": {"features": "additive"},
    "kernel": {"features": "kernel"},
}


def shown(rows):
    """Rows without the last digits, which depend on how many are scored at once."""
    return [(row.row, [(part.column, part.value, round(part.adds, 10)) for part in row.parts]) for row in rows]


def with_dates(rows=300, seed=0):
    frame = patients(rows, seed)
    frame["admitted"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(rows) * 3, "D")).strftime("%Y-%m-%d")
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    write(with_dates(), folder / "patients.csv")
    write(with_dates(60, seed=1), folder / "new.csv")
    write(with_dates(60, seed=1), folder / "new.parquet")
    for name, options in KINDS.items():
        save_model(train(folder / "patients.csv", "sick", n_splits=3, **options), folder / f"{name}.json")
    return folder


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", list(KINDS))
@pytest.mark.parametrize("file", ["new.csv", "new.parquet"])
def test_parts_add_up_and_values_are_those_of_the_file(folder, name, file):
    model, frame = load_model(folder / f"{name}.json"), with_dates(60, seed=1)
    _, scores = score_file(model, folder / file)
    found = explain_file(model, folder / file)
    assert found.n == 60
    assert [row.row for row in found.rows] == list(range(1, 61))
    for row, score, expected in zip(found.rows, scores, frame.to_dict("records"), strict=True):
        assert row.score == pytest.approx(score, abs=1e-9)
        assert sum(part.adds for part in row.parts) == pytest.approx(score, abs=1e-9)
        assert row.identifiers == {"patient": expected["patient"]}
        assert 0.0 < row.probability < 1.0
        sizes = [abs(part.adds) for part in row.parts]
        assert sizes == sorted(sizes, reverse=True)
        values = {part.column: part.value for part in row.parts}
        assert values["town"] == expected["town"]
        for column in ("age", "cholesterol, mg/dl"):
            value = None if np.isnan(expected[column]) else pytest.approx(expected[column])
            assert (None if values[column] is None else float(values[column])) == value
        assert float(values["admitted (month)"]) == pd.Timestamp(expected["admitted"]).month


@pytest.mark.parametrize("name", ["linear", "additive"])
def test_a_part_is_what_its_column_changes(folder, tmp_path, name):
    """Of a score that is a sum over columns: change one column of a row, and only its part changes."""
    model, frame = load_model(folder / f"{name}.json"), with_dates(60, seed=1).head(2)
    frame.loc[1] = {**frame.loc[0], "age": 91.0, "patient": "other"}
    one, two = explain_file(model, write(frame, tmp_path / "two.csv")).rows
    before, after = ({part.column: part.adds for part in row.parts} for row in (one, two))
    for column in before:
        if column != "age":
            assert before[column] == pytest.approx(after[column], abs=1e-12)
    assert after["age"] - before["age"] == pytest.approx(two.score - one.score)


def test_some_rows_in_the_order_that_was_asked_for(folder):
    model = load_model(folder / "linear.json")
    every = explain_file(model, folder / "new.csv").rows
    assert shown(explain_file(model, folder / "new.csv", [7, 3, 7]).rows) == shown([every[6], every[2]])
    assert shown(explain_file(model, folder / "new.csv", most=4).rows) == shown(every[:4])
    with pytest.raises(DataError, match=r"there is no row 61: .*new.csv has 60 rows, counted from 1"):
        explain_file(model, folder / "new.csv", [61])
    with pytest.raises(DataError, match="rows are counted from 1"):
        explain_file(model, folder / "new.csv", [0])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_that_cannot_be_scored_keep_their_number(folder, tmp_path):
    lines = (folder / "new.csv").read_text("utf-8").splitlines()
    lines.insert(3, lines[3] + ",too,many")
    path = tmp_path / "broken.csv"
    path.write_text("\n".join(lines), "utf-8")
    for name in KINDS:
        model = load_model(folder / f"{name}.json")
        rows, every = explain_file(model, path, [2, 3, 4]).rows, explain_file(model, folder / "new.csv").rows
        assert [row.row for row in rows] == [2, 3, 4]
        assert rows[1].score is None
        assert rows[1].reason
        assert rows[1].parts == ()
        expected = [ExplainedRow(**{**vars(every[2]), "row": 4})]
        assert shown([rows[0], rows[2]]) == shown([every[1], *expected])


@pytest.mark.filterwarnings("ignore::UserWarning")  # of rows that the model was trained on
def test_files_without_names_of_columns(tmp_path):
    path = write_libsvm(tmp_path / "rows.libsvm")
    model = train(path, n_splits=3, features="linear")
    _, scores = score_file(model, path)
    rows = explain_file(model, path, [1, 300]).rows
    assert [row.score for row in rows] == pytest.approx([scores[0], scores[-1]])
    for row in rows:
        assert sum(part.adds for part in row.parts) == pytest.approx(row.score)
    first = dict(pair.split(":") for pair in path.read_text().splitlines()[0].split()[1:])
    values = {part.column: part.value for part in rows[0].parts}
    assert values == {name: pytest.approx(float(first.get(name, 0.0))) for name in values}


def test_the_command_prints_a_table_or_json(folder, capsys):
    model, data = str(folder / "kernel.json"), str(folder / "new.csv")
    assert main(["explain", model, data, "--row", "2", "--top", "3"]) == 0
    shown = capsys.readouterr().out
    (row,) = explain_file(load_model(model), data, [2]).rows
    assert f"row 2 of new.csv (patient {row.identifiers['patient']}): score {row.score:+.4f}" in shown
    for part in row.parts[:3]:
        assert f"{part.adds:+.4f}" in shown
    rest = sum(part.adds for part in row.parts[3:])
    lines = [line.split() for line in shown.splitlines()]
    assert [f"{len(row.parts) - 3}", "others", "(--top)", f"{rest:+.4f}"] in lines
    assert ["total:", "the", "score", f"{row.score:+.4f}"] in lines
    assert "Rows are counted from 1" in shown
    for arguments in ([data], ["--rows", data]):
        assert main(["explain", model, *arguments, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert len(found["rows"]) == 60
        assert found["rows"][1]["score"] == pytest.approx(row.score)
        assert found["rows"][1]["parts"][0] == row.parts[0]._asdict()
    assert main(["explain", model, data]) == 0
    assert "and 50 more rows: --row names some, --json prints all" in capsys.readouterr().out


def test_a_column_that_cannot_be_read_can_be_allowed(folder, tmp_path, capsys):
    frame, model = with_dates(60, seed=1), str(folder / "linear.json")
    write(frame.assign(age="old"), tmp_path / "words.csv")
    command = ["explain", model, str(tmp_path / "words.csv")]
    assert main([*command, "--json"]) == 1
    assert "let it count as missing with --allow-missing age" in capsys.readouterr().err
    assert main([*command, "--allow-missing", "age", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["rows"]
    missing = explain_file(load_model(model), write(frame.assign(age=np.nan), tmp_path / "gaps.csv")).rows
    assert [row["score"] for row in found] == pytest.approx([row.score for row in missing], abs=1e-12)


def test_a_row_of_the_training_file_and_its_picture(folder, tmp_path, capsys):
    picture = tmp_path / "row.svg"
    assert main(["explain", str(folder / "additive.json"), "--row", "1", "--picture", str(picture)]) == 0
    assert "row 1 of patients.csv (patient P00000)" in capsys.readouterr().out
    assert "added to the score of this row" in picture.read_text("utf-8") or picture.stat().st_size > 5_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new.csv", "--row", "x"], "is not a number, or numbers separated by commas"),
        (["new.csv", "--row", "0"], "rows are counted from 1"),
        (["new.csv", "--rows", "new.csv"], "named twice"),
        (["new.csv", "--picture", "p.png"], "name it with --row"),
        (["new.csv", "--row", "1,2", "--picture", "p.png"], "a picture shows one row"),
        (["new.csv", "--row", "1", "--html", "p.html"], "a page shows the whole model"),
    ],
)
def test_misuse_gets_one_sentence(folder, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(folder)
    assert main(["explain", "linear.json", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert words in said


def test_without_the_training_file_a_file_is_asked_for(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "m.json").write_bytes((folder / "linear.json").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "m.json", "--row", "1"]) == 2
    assert "name a file of rows, as in vrspam explain m.json FILE --row 1" in capsys.readouterr().err
