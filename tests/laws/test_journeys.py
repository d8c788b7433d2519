"""A table that trains goes the whole way: every reading of it, every form of its model and every page agree to 1e-9.

Whatever the table holds and the plan asks for: `train` writes a model, or refuses in a sentence that is listed here.
The model gives the same scores for a file, for frames, for rows in another order, for some of them, for one alone. What
`evaluate`, `explain`, `export` and the page say follows from these scores. Every column is used or said to be left out.
"""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Refused, as_typed, run, strict_json
from drawn_plans import Journey, Plan, journeys
from drawn_tables import NAMING, NUMBERS, TEXT_FORMATS, Cells, Column, Dialect, Table
from exported import columns_of_file, in_duckdb, in_onnx, in_python, in_sqlite
from hypothesis import note
from laws_support import batches, draw_batch
from sklearn.metrics import roc_auc_score

from vrspam.tool import load_model
from vrspam.tool.score_blocks import open_rows, score_blocks

NEAR = 1e-9  # of the spread of the scores

#: What `train` may refuse, and the tables that may be refused so.
REFUSALS: dict[str, Callable[[Table, Plan], bool]] = {
    r"one of the two classes has only \d rows?": lambda table, plan: min(weighted_counts(table)) < 4,
    r"only \d rows?( of positive \S+)? (with|without) an event": lambda table, plan: "--event" in plan.data,
    r"column '[^']*' has no value at all": lambda table, plan: not table.named and any(map(is_empty, features(table))),
    r" is infinite; correct it": lambda table, plan: any(map(is_infinite, features(table))),
    r"cannot keep a score rising or falling": lambda table, plan: "--monotone" in plan.model,
    r"has no place in the order": lambda table, plan: any(lacks(table, *one) for one in orders(plan)),
    r"two columns are called|names the column .* twice": lambda table, plan: table.same_names,
    r"Curves that must rise or fall allow only l2": lambda table, plan: {"--monotone", "--l1"} <= {*plan.model},
    r"no threshold keeps ": lambda table, plan: not {"--precision", "--alerts", "--recall"}.isdisjoint(plan.model),
    r"every feature is constant": lambda table, plan: all(map(is_constant, features(table))),
    r"one of them has no row of one class": lambda table, plan: plan.streams and min(counts(table)) < 100,
    r"of the \d+ negative rows that a fold holds out is less than one": lambda table, plan: counts(table)[1] < 20,
    r"one class has only \d rows kept for the test": lambda table, plan: "--holdout" in plan.page and few_kept(table),
    r"no fold has two rows of each class": lambda table, plan: plan.streams and min(counts(table)) < 100,
    r"no feature column is left": lambda table, plan: nothing_counts(table),
    r"cannot be made: each fold needs rows that rank differently": lambda table, plan: needs_more(table, plan),
}


def orders(plan: Plan) -> Iterable[tuple[str, list[str]]]:
    """The categories of columns, in the order that the plan gives them."""
    return [(name, order.split(",")) for name, order in plan.columns_of("--ordered").items()]


def lacks(table: Table, name: str, order: list[str]) -> bool:
    """Whether an order lacks a category of its column."""
    return not {cell for cell in table.features[name] if cell is not None} <= set(order)


def needs_more(table: Table, plan: Plan) -> bool:
    """Whether rows that are kept together, or in order, may leave a fold without rows that rank differently."""
    kept = not {"--groups", "--within", "--time"}.isdisjoint(plan.data)
    return kept and (min(weighted_counts(table)) < 10 or table.within > 0)


def few_kept(table: Table) -> bool:
    """Whether a part of the rows, of whole groups or strata, may hold few of a class."""
    return min(weighted_counts(table)) < 20 or table.within > 0 or table.groups is not None


def features(table: Table) -> Iterable[Cells]:
    return table.features.values()


def counts(table: Table) -> tuple[int, int]:
    """The number of labelled rows of each class."""
    labelled = np.array([label is not None for label in table.roles.get("sick", [0] * table.rows)])
    return int((table.positive & labelled).sum()), int((~table.positive & labelled).sum())


def weighted_counts(table: Table) -> tuple[int, int]:
    """The number of rows of each class that have a weight."""
    counted = np.array(table.roles.get("weight", [1.0] * table.rows)) > 0.0
    return int((table.positive & counted).sum()), int((~table.positive & counted).sum())


def is_constant(cells: Cells) -> bool:
    return len({cell for cell in cells if cell is not None}) < 2


def nothing_counts(table: Table) -> bool:
    """Whether no row that has a weight knows a value of any column, but for columns that name the rows."""
    weights = table.roles.get("weight", [1.0] * table.rows)
    naming = {column.name for column in table.columns if column.kind in NAMING}
    if table.copies and table.columns[-1].name in naming:
        naming.add("copy")
    return all(
        name in naming or all(cell is None or not weight for cell, weight in zip(cells, weights, strict=True))
        for name, cells in table.features.items()
    )


def is_empty(cells: Cells) -> bool:
    return all(cell is None for cell in cells)


def is_infinite(cells: Cells) -> bool:
    return any(isinstance(cell, float) and np.isinf(cell) for cell in cells)


def check_allowed(refusal: Refused, journey: Journey) -> None:
    about = journey.table, journey.plan
    allowed = any(re.search(pattern, str(refusal)) and holds(*about) for pattern, holds in REFUSALS.items())
    assert allowed, f"what could be done is refused: {refusal}"


class Travel:
    """One journey: its files, and the scores that all forms of the model must have."""

    def __init__(self, journey: Journey, folder: Path, tell: Callable[[str], None]):
        self.journey, self.folder, self.tell = journey, folder, tell
        self.table, self.plan = journey.table, journey.plan
        self.path = self.table.write(folder / "table")
        self.model_path, self.page = folder / "model.json", folder / "page.html"
        self.numbers = itertools.count()

    def run(self, *arguments: Any, **codes: Any) -> Any:
        """Run a command; what is printed for a failure names the files as they lie in its folder."""
        typed = as_typed(tuple(map(str, arguments))).replace(f"{self.folder}/", "")
        self.tell(typed)
        return run(*arguments, **codes)

    def train(self) -> bool:
        """Train; False if the table was refused in a sentence that is allowed."""
        html = () if self.plan.streams or not self.table.named else ("--html", self.page)
        command = ("train", self.path, *self.plan.options, "--model", self.model_path, "--json", *html)
        try:
            self.facts = self.run(*command).json()
        except Refused as refusal:
            check_allowed(refusal, self.journey)
            assert not self.model_path.exists(), "a refused table leaves a model file"
            return False
        assert not self.table.same_names, "two columns of the same name are taken"
        assert not any(lacks(self.table, *one) for one in orders(self.plan)), "an order that lacks a category is taken"
        self.model = load_model(self.model_path)
        return True

    # Scores.

    def predict(self, path: Path) -> pd.DataFrame:
        """The lines that `predict` writes for a file."""
        out = self.folder / f"scores {next(self.numbers)}.parquet"
        self.run("predict", self.model_path, path, "--out", out, "--json").json()
        return pd.read_parquet(out)

    def rows(self, rows: Any, names: Any = None) -> np.ndarray:
        """The scores of some rows, in a file of their own."""
        path = self.table.write(self.folder / f"rows {next(self.numbers)}", rows, names)
        return self.predict(path)["score"].to_numpy()

    def near(self, found: np.ndarray, expected: np.ndarray, what: str, near: float = NEAR) -> None:
        """The same scores, where rows have any; and none where they have none."""
        assert found.shape == expected.shape, f"{what}: {found.size} scores of {expected.size} rows"
        scored = np.isfinite(expected)
        assert (np.isfinite(found) == scored).all(), f"{what}: other rows have a score"
        error = np.abs(found - expected)[scored]
        assert error.size == 0 or error.max() <= near * self.spread, f"{what}: off by {error.max():.1e}: {found[:5]}"

    def score(self) -> None:
        """The scores of the file, and of what holds the same rows in another form."""
        written = self.predict(self.path)
        self.scores = written["score"].to_numpy()
        self.spread = max(float(np.nanstd(self.scores)), 1e-9)
        assert self.scores.size == self.table.rows, f"{self.scores.size} lines for {self.table.rows} rows"
        without = ~np.isfinite(self.scores)
        assert without.sum() == 0 or written["reason"][without].notna().all(), "a row has neither score nor reason"
        if "probability" in written:
            probabilities = written["probability"].to_numpy()[~without]
            assert ((probabilities >= 0.0) & (probabilities <= 1.0)).all(), "a probability is none"

    def reorder(self) -> None:
        """A row's score does not depend on the rows beside it, or on the order of rows and columns."""
        backwards = np.arange(self.table.rows)[::-1]
        self.near(self.rows(backwards), self.scores[backwards], "rows in reverse")
        some = np.random.default_rng(0).permutation(self.table.rows)[: max(2, self.table.rows // 7)]
        self.near(self.rows(some), self.scores[some], "some rows")
        one = int(some[0])
        self.near(self.rows([one]), self.scores[[one]], "one row")
        if self.table.named:
            self.near(self.rows(None, list(self.table.cells)[::-1]), self.scores, "columns in reverse")

    def frames(self) -> None:
        """A frame of the same cells has the same scores."""
        if not self.table.named:
            return
        texts = self.numbers_as_categories()
        for library in ("pandas", "polars"):
            frame = getattr(self.table, library)(texts)
            stream = open_rows(self.model, frame, labels=False, on_error="keep")
            found = np.full(self.table.rows, np.nan)
            for block in score_blocks(self.model, stream.read()):
                found[block.table.places - 1] = block.scores
            self.near(found, self.scores, f"a frame of {library}")

    def numbers_as_categories(self) -> dict[str, tuple[str, ...]]:
        """Columns of numbers that are categories in a text file, where one text alone shows no kind: this is said."""
        known = {self.table.name_read(one.name) for one in self.table.columns if one.kind in NUMBERS}
        found = {name: values for name, values in self.model.schema.categorical.items() if name in known}
        assert not found or self.table.format in TEXT_FORMATS
        for name, values in found.items():
            said = [one for one in map(str, self.model.training["warnings"]) if repr(name)[1:-1] in one]
            assert len(values) <= 2, f"{name!r} has numbers {values}, taken as categories"
            assert any("one text that looks like" in one or "date alone" in one for one in said), f"{name!r}: {said}"
        return found

    def follow_directions(self) -> None:
        """A score rises or falls with a column that has a direction, whatever else the row holds."""
        orders_of_columns = dict(orders(self.plan))
        for name, sign in self.plan.columns_of("--monotone").items():
            known = {cell for cell in self.table.features[name] if cell is not None}
            levels = [cell for cell in orders_of_columns.get(name, sorted(known)) if cell in known]
            levels = levels[:: max(1, len(levels) // 6)]
            rows = [row for row in range(5) for _ in levels]
            changed = {name: levels * 5}
            path = self.table.write(self.folder / f"rows {next(self.numbers)}", rows, changed=changed)
            scores = self.predict(path)["score"].to_numpy().reshape(5, -1)
            steps = int(sign) * np.diff(scores, axis=1)
            steps = steps[np.isfinite(steps)]
            assert (steps >= -NEAR * self.spread).all(), (
                f"{name!r} has direction {sign}, and a score goes {steps.min()}"
            )

    # What follows from scores.

    def account(self) -> None:
        """Every column is an input of the model, or is said to be left out."""
        if not self.table.named:
            return
        used = {str(one.name) for one in self.model.inputs} | set(self.model.identifiers)
        said = "\n".join(map(str, [*self.facts["warnings"], *self.model.training["warnings"]]))
        used |= {self.table.target, *self.plan.options}
        for name in self.table.cells:
            name = self.table.name_read(name)
            assert name in used or name in said or repr(name)[1:-1] in said, f"nothing is said about {name!r}"

    def evaluate(self) -> None:
        """`evaluate` gives numbers, and the AUC that follows from the scores."""
        measured = self.run("evaluate", self.model_path, self.path, "--json").json()
        table = self.table
        plain = table.named and not (
            table.survival or table.within or table.unlabelled or "--weights" in self.plan.data
        )
        if plain and np.isfinite(self.scores).all():
            expected = roc_auc_score(table.positive, self.scores)
            assert abs(measured["auc"] - expected) <= NEAR, f"evaluate says {measured['auc']}, it is {expected}"

    def explain(self) -> None:
        """What columns add to a row is its score."""
        self.run("explain", self.model_path, "--json").json()
        self.run("explain", self.model_path, "--html", self.folder / "explained.html")
        check_page(self.folder / "explained.html", self.table)
        self.run("explain", self.model_path)
        if self.model.shapes is None and not self.model.parts.keeps_columns_apart:
            return
        if not self.table.named and self.table.format == "libsvm":
            return
        for row in self.run("explain", self.model_path, self.path, "--row", "1,2,7", "--json").json()["rows"]:
            if row["score"] is not None:
                total = sum(part["adds"] for part in row["parts"])
                assert abs(total - row["score"]) <= NEAR * self.spread * 10, f"parts add up to {total}: {row['score']}"
                expected = self.scores[row["row"] - 1 : row["row"]]
                self.near(np.array([row["score"]]), expected, f"row {row['row']} explained")

    def export(self) -> None:
        """Every form that the model can have gives its scores."""
        onnx, python, sql = (self.folder / f"scorer.{name}" for name in ("onnx", "py", "sql"))
        self.run("export", self.model_path, "--onnx", onnx, "--dtype", "float64", "--json").json()
        if not self.table.named or not np.isfinite(self.scores).all():
            return
        columns = columns_of_file(self.model, self.path)
        self.near(in_onnx(onnx.read_bytes(), columns), self.scores, "ONNX")
        if not self.model.parts.keeps_columns_apart:
            with pytest.raises(Refused, match="depend on several columns at once"):
                self.run("export", self.model_path, "--python", python)
            return
        self.run("export", self.model_path, "--python", python, "--sql", sql, "--json").json()
        self.near(in_python(python.read_text("utf-8"), columns), self.scores, "plain Python")
        self.near(in_sqlite(sql.read_text("utf-8"), columns), self.scores, "SQL in SQLite")
        self.near(in_duckdb(sql.read_text("utf-8"), columns), self.scores, "SQL in DuckDB")

    def report(self) -> None:
        """The page of the same plan: levels of a column add up to all rows, and other scores stand beside its own."""
        options = self.plan.page
        if not options:
            return
        page = self.folder / "report.html"
        try:
            plan = [one for one in self.plan.options if one != "--private"]  # which is about a model file
            facts = self.run("report", self.path, *plan, *options, "--html", page, "--json").json()
        except Refused as refusal:
            check_allowed(refusal, self.journey)
            return
        check_page(page, self.table)
        asked = dict(pairs_of(options))
        for name in filter(None, asked.get("--by", "").split(",")):
            levels = [level for level in facts["groups"] if level["column"] == name]
            assert sum(level["rows"] for level in levels) == facts["n"], f"the levels of {name!r} are not all rows"
            if "positives" in facts:
                assert sum(level["positives"] for level in levels) == facts["positives"]
        if "--beside" in asked:
            assert {"this model", "other scores"} == set(facts["beside"]["scores"])
            assert "other scores" in facts["left_out"]

    def show(self) -> None:
        """The page is whole, its data are strict JSON, and no number on it is none."""
        if self.page.exists():
            check_page(self.page, self.table)

    def look(self) -> None:
        """`check` finds what it finds, and never ends in an error."""
        data = [one for one in pairs_of(self.plan.data) if one[0] in ("--target", "--event", "--groups", "--time")]
        try:
            found = self.run("check", self.path, *itertools.chain(*data), "--json", codes=(0, 1)).json()
        except Refused as refusal:
            check_allowed(refusal, self.journey)
        else:
            assert isinstance(found["findings"], list)


def pairs_of(options: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(zip(options[::2], options[1::2], strict=True))


class PageReader(HTMLParser):
    """The texts of a page, and the data of its script."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.data = ""
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.inside = dict(attrs).get("id", "") if tag == "script" else tag
        for name, value in attrs:
            if name in ("points", "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height"):
                assert not re.search("nan|inf", value or ""), f"a picture has {name}={value!r}"

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "data":
            self.data += data
        elif self.inside not in ("script", "style", ""):
            self.texts.append(data)


def check_page(path: Path, table: Table) -> None:
    reader = PageReader()
    text = path.read_text("utf-8")
    reader.feed(text)
    assert text.rstrip().endswith("</html>"), "the page is cut off"
    strict_json(reader.data)
    cells = {str(cell) for column in table.cells.values() for cell in column} | set(table.cells)
    if not any(re.search("nan|inf", one, re.I) for one in cells):
        wrong = [one for one in reader.texts if re.search(r"(?<![\w-])(nan|inf)(?!\w)", one)]
        assert not wrong, f"the page says {wrong[0].strip()!r}"


def check_journey(journey: Journey) -> None:
    """Go the whole way; a failure prints the table and the commands."""
    note(journey.table.as_text())
    with tempfile.TemporaryDirectory() as folder:
        go(journey, Path(folder), note)


def go(journey: Journey, folder: Path, tell: Callable[[str], None] = print) -> None:
    travel = Travel(journey, folder, tell)
    if journey.table.named:
        travel.look()
    if not travel.train():
        return
    travel.score()
    travel.account()
    travel.reorder()
    travel.frames()
    travel.evaluate()
    travel.explain()
    travel.follow_directions()
    travel.export()
    travel.report()
    travel.show()


@pytest.mark.parametrize("batch", batches(2))
def test_a_table_that_trains_goes_the_whole_way(batch):
    draw_batch(batch, journeys(), check_journey)


def table_of(*kinds: str, **traits: Any) -> Table:
    """A table of columns of these kinds."""
    return Table(tuple(Column(f"column {place}", kind, place) for place, kind in enumerate(kinds)), **traits)


BINARY, TIMES = ("--target", "sick"), ("--target", "months", "--event", "died")
COMMAS = Dialect(";", ",")
#: Journeys that failed once, made small.
FOUND = {
    "trees of 33 columns": Journey(table_of(*["number"] * 33), Plan(BINARY, ("--features", "boosted"))),
    "trees of noise": Journey(table_of(*["number"] * 3, rows=120, signal=0.0), Plan(BINARY, ("--features", "boosted"))),
    "trees of one boolean": Journey(
        table_of("yes or no", rows=20, positives=7), Plan(BINARY, ("--features", "forest"))
    ),
    "a patient of no name": Journey(table_of("number", "count", groups="gaps"), Plan((*BINARY, "--groups", "patient"))),
    "codes with leading zeros": Journey(table_of("leading zeros", rows=200, signal=0.9), Plan(BINARY)),
    "times and straight lines": Journey(table_of("boolean", survival=True), Plan(TIMES, ("--features", "linear"))),
    "strata and straight lines": Journey(
        table_of("number", within=4), Plan((*BINARY, "--within", "site"), ("--features", "linear"))
    ),
    "only a date, and rows without a label": Journey(
        table_of("date", unlabelled=3, weights="some", format="parquet"), Plan((*BINARY, "--weights", "weight"))
    ),
    "equal weights in decimal commas": Journey(
        table_of("number", weights="ones", dialect=COMMAS), Plan((*BINARY, "--weights", "weight"))
    ),
    "one number in decimal commas, and gaps": Journey(
        Table((Column("a", "number"), Column("b", "constant", 0, 0.2)), rows=200, dialect=COMMAS), Plan(BINARY)
    ),
    "one number, and words for gaps": Journey(
        Table((Column("a", "number"), Column("b", "constant", 0, 0.2, "?")), rows=200), Plan(BINARY)
    ),
    "infinite numbers": Journey(table_of("number", "infinite", rows=300, format="parquet"), Plan(BINARY)),
    "names that graphs need": Journey(
        Table((Column("score", "number"), Column("column 1", "count"))), Plan(BINARY, ("--features", "additive"))
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_journeys_that_failed_once(name):
    journey = FOUND[name]
    with tempfile.TemporaryDirectory() as folder:
        go(journey, Path(folder))
