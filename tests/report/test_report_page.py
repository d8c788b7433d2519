"""The report of a table: its numbers against scikit-learn, names as text, and the page in a real browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from matplotlib.figure import Figure
from scipy.stats import binomtest, norm
from scipy.stats import t as student
from sklearn.metrics import (
    confusion_matrix,
    precision_recall_curve,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)
from tool_data import write

from vrspam._utils.texts import percent
from vrspam.cli import main
from vrspam.inspection import Shape
from vrspam.measures.rows import ScoredRows
from vrspam.measures.subgroups import judge_levels
from vrspam.metrics import NetBenefit, compare_aucs
from vrspam.metrics.calibration import effective_share, wilson
from vrspam.metrics.comparison import holm
from vrspam.metrics.thresholds import Curve
from vrspam.model_selection.held_out import HeldOut
from vrspam.plotting import plot_reliability
from vrspam.report.first_screen import headline, worries
from vrspam.report.html import as_html
from vrspam.report.page import Page
from vrspam.report.pages.evaluation import evaluation_page
from vrspam.report.pages.report import report_page
from vrspam.report.pictures.columns import column_picture
from vrspam.report.pictures.decision import decision_curve
from vrspam.report.sections.beside import pair_tables
from vrspam.report.slider import explorer
from vrspam.report.stops import FINE, Stops
from vrspam.tool.evaluation import evaluate
from vrspam.tool.plan import TrainPlan
from vrspam.tool.report import make_report
from vrspam.tool.training import train
from vrspam.tool.unseen_rows import crossfitted_probabilities

AXE = Path(__file__).parents[1] / "vendor" / "axe.min.js"
EVIL = "<img src=x onerror=alert(1)>\"'&{{body}}</script><b>"
RIGHT_TO_LEFT, EMOJI = "عمر المريض", "🫀 heart 👩‍⚕️"
LONG, LONGER = f"{'the same long name ' * 11}A"[-200:], f"{'the same long name ' * 11}B"[-200:]
POSITIVE = "<i>yes</i>"
QUICK = TrainPlan(features="linear", n_splits=3)


def awkward(rows: int = 500) -> pd.DataFrame:
    """Columns and categories whose names are not to be taken for HTML; some matter, some do not."""
    rng = np.random.default_rng(0)
    sick = rng.random(rows) < 0.3
    frame = pd.DataFrame(
        {
            EVIL: rng.normal(size=rows) + sick,
            RIGHT_TO_LEFT: rng.normal(50, 9, rows) + 4 * sick,
            EMOJI: rng.choice(["♥", "<b>bold</b>", "שלום", '"quoted"'], rows),
            LONG: rng.normal(size=rows),
            LONGER: rng.normal(size=rows) + 0.5 * sick,
            "sex": rng.choice(["f", "m"], rows),
            "patient": [f"P{number:04d}" for number in range(rows)],
            "out <come>": np.where(sick, POSITIVE, "no & none"),
        }
    )
    frame.loc[rng.random(rows) < 0.1, RIGHT_TO_LEFT] = np.nan
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write the report of an awkward table."""
    folder = tmp_path_factory.mktemp("report")
    write(awkward(), folder / "awkward.csv")
    assert main([*command(folder), "--markdown", str(folder / "r.md")]) == 0
    return folder


def command(folder: Path) -> list[str]:
    data = [str(folder / "awkward.csv"), "--target", "out <come>", "--positive", POSITIVE, "--folds", "3"]
    return ["report", *data, "--features", "additive", "--by", f"sex,{EMOJI}", "--html", str(folder / "r.html")]


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "r.html").read_text("utf-8")


def scored(rows: int, seed: int = 0, digits: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    positive = rng.random(rows) < 0.3
    return positive, np.round(rng.standard_normal(rows) + positive, digits)  # with ties


def shown_at(stops: Stops, place: int) -> dict[str, str]:
    """What the page shows where the slider stands."""
    drawn, _ = explorer(stops, place, {"positive": "yes", "negative": "no"}, 1.0, "")
    return dict(re.findall(r'data-show="([\w-]+)"[^>]*>([^<]*)<', drawn))


@pytest.mark.parametrize("digits", [1, 9])
def test_every_stop_of_the_slider_counts_what_scikit_learn_counts(digits):
    positive, scores = scored(400, digits=digits)
    stops = Stops.of(Curve.of(positive, scores))
    assert (np.diff(stops.thresholds) > 0.0).all()
    for place in range(0, stops.thresholds.size, 1 if digits == 1 else 9):
        called = scores >= stops.thresholds[place]
        shown = shown_at(stops, place)
        tn, fp, fn, tp = confusion_matrix(positive, called).ravel().tolist()
        assert [shown[name] for name in ("tn", "fp", "fn", "tp")] == [str(count) for count in (tn, fp, fn, tp)]
        assert shown["sensitivity"] == percent(recall_score(positive, called))
        assert shown["specificity"] == percent(recall_score(~positive, ~called))
        assert shown["ppv"] == (percent(precision_score(positive, called)) if called.any() else "–")
        assert shown["npv"] == ("–" if called.all() else percent(precision_score(~positive, ~called)))
        assert float(shown["alerts"]) == pytest.approx(1000 * called.mean(), abs=0.0501)
    assert stops.hits[-1] == stops.alarms[-1] == 0.0  # no row
    assert stops.hits[0] + stops.alarms[0] == 400  # every row


def test_stops_count_weights():
    positive, scores = scored(200)
    weights = np.random.default_rng(1).integers(0, 4, 200).astype(float)
    stops = Stops.of(Curve.of(positive, scores, weights))
    for place in (0, 17, 60):
        called = scores >= stops.thresholds[place]
        assert stops.hits[place] == weights[called & positive].sum()
        assert stops.alarms[place] == weights[called & ~positive].sum()


def test_the_best_stops_are_those_of_a_search(folder):
    positive, scores = scored(300, digits=9)
    model = train(folder / "awkward.csv", "out <come>", POSITIVE, features="linear", n_splits=3)
    false, true, _ = roc_curve(positive, scores, drop_intermediate=False)
    for ratio in (None, 7.0):
        found = evaluate(model, positive, scores, cost_ratio=ratio)
        page = evaluation_page(model, found, model_name="m", data_name="d", cost_ratio=ratio)
        data, place = page.data["explorer"], re.search(r'step="1" value="(\d+)"', page.html())
        assert place
        hits, alarms = (data[name][int(place[1])] for name in ("hits", "alarms"))
        if ratio is None:
            assert hits / data["positives"] - alarms / data["negatives"] == pytest.approx((true - false).max())
        else:
            at = data["thresholds"]
            costs = [(~positive & (scores >= t)).sum() + ratio * (positive & (scores < t)).sum() for t in at]
            assert alarms + ratio * (data["positives"] - hits) == min(costs)


@pytest.mark.parametrize("asked", [{"recall": 0.95}, {}], ids=str)
def test_the_dashed_line_stands_at_the_threshold_of_the_points(folder, asked):
    positive, scores = scored(300, digits=9)
    ratio = None if asked else 7.0
    model = train(folder / "awkward.csv", "out <come>", POSITIVE, features="linear", n_splits=3, **asked)
    found = evaluate(model, positive, scores, cost_ratio=ratio)
    page = evaluation_page(model, found, model_name="m", data_name="d", cost_ratio=ratio)
    text = page.html()
    place, line = re.search(r'step="1" value="(\d+)"', text), re.search(r'x1="([\d.]+)"[^>]*data-threshold=""', text)
    frame = re.search(r'data-kind="scores" data-frame="([^"]*)"', text)
    assert place
    assert line
    assert frame
    low, high, left, right = map(float, frame[1].split()[:4])
    threshold = page.data["explorer"]["thresholds"][int(place[1])]
    at = left + (np.clip(threshold, low, high) - low) / (high - low) * (right - left)
    assert float(line[1]) == pytest.approx(at, abs=0.06)


def test_curves_of_many_rows_are_thin_and_move_by_less_than_a_pixel():
    positive, scores = scored(200_000, digits=12)
    stops = Stops.of(Curve.of(positive, scores))
    assert stops.thresholds.size < 8_000
    false, true, _ = roc_curve(positive, scores, drop_intermediate=False)
    called = (false * (~positive).sum() + true * positive.sum()) / positive.size
    precision, recall, thresholds = precision_recall_curve(positive, scores)
    x, y = (stops.alarms / stops.negatives)[::-1], (stops.hits / stops.positives)[::-1]
    pixel = 1 / 600  # a picture is at most 430 pixels wide
    assert np.abs(np.interp(false, x, y) - true).max() < pixel
    assert np.abs(np.interp(called, ((stops.hits + stops.alarms) / positive.size)[::-1], y) - true).max() < pixel
    before = np.searchsorted(stops.thresholds, thresholds, side="right") - 1  # the stop at or before each score
    counts = np.maximum(stops.hits + stops.alarms, 1.0)
    for full, thinned in ((precision, stops.hits / counts), (recall, stops.hits / stops.positives)):
        assert np.abs(full[:-1] - thinned[before]).max() < FINE + 1e-12 < pixel


def test_a_large_table_has_a_small_page(folder, tmp_path):
    model = train(folder / "awkward.csv", "out <come>", POSITIVE, features="linear", n_splits=3)
    positive, scores = scored(200_000, digits=12)
    written = evaluation_page(model, evaluate(model, positive, scores), model_name="m", data_name="d")
    assert written.write(tmp_path / "large.html").stat().st_size < 5_000_000


def test_twenty_columns_have_a_small_page(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 20)), columns=[f"column {j}" for j in range(20)])
    frame["sick"] = rng.random(400) < 0.3
    report = make_report(
        write(frame, tmp_path / "t.csv"), "sick", "True", plan=TrainPlan(features="additive", n_splits=3), rows=10
    )
    html = report_page(report, data_name="t.csv").html()
    assert len(html.encode()) < 3_000_000
    assert sum(f"<bdi>column {j}</bdi>" in html for j in range(20)) == 20


def test_rows_kept_from_training_are_scored_by_a_model_of_the_others(tmp_path):
    """The model of a hold-out is that of a file without these rows, and judges all of them."""
    frame = awkward().drop(columns=[RIGHT_TO_LEFT, "patient"])
    report = make_report(write(frame, tmp_path / "all.csv"), "out <come>", POSITIVE, plan=QUICK, holdout=0.3, rows=0)
    assert report.evaluation.n == 150
    assert report.evaluation.positives == pytest.approx(0.3 * (frame["out <come>"] == POSITIVE).sum(), abs=1)
    numbers = frame[[EVIL, LONG, LONGER]].to_numpy()
    places = [row.number - 1 for row in report.rows]
    kept = make_report(tmp_path / "all.csv", "out <come>", POSITIVE, plan=QUICK, holdout=0.3, rows=148).rows
    places = sorted({row.number - 1 for row in kept})
    assert len(places) == 150
    others = frame.drop(index=places)
    alone = train(write(others, tmp_path / "others.csv"), "out <come>", POSITIVE, features="linear", n_splits=3)
    np.testing.assert_allclose(alone.coef, report.model.coef, rtol=1e-9)
    columns = [alone.schema.feature_names.index(name) for name in (EVIL, LONG, LONGER)]
    part = {row.number - 1: dict((name, value) for name, _, value in row.parts) for row in kept}
    centre = alone.of_columns.means.mean(axis=0)
    for place in places[::20]:
        for column, name in zip(columns, (EVIL, LONG, LONGER), strict=True):
            value = (numbers[place, [EVIL, LONG, LONGER].index(name)] - centre[column]) * alone.coef[column]
            assert part[place][name] == pytest.approx(value, abs=1e-9)


def test_groups_and_times_are_respected_by_a_holdout(tmp_path):
    frame = awkward(300).drop(columns="patient")
    rng = np.random.default_rng(1)
    frame["clinic"], frame["day"] = rng.integers(0, 40, 300), rng.permutation(300)
    path = write(frame, tmp_path / "t.csv")
    options: Any = {"plan": QUICK, "holdout": 0.3, "rows": 300}
    report = make_report(path, "out <come>", POSITIVE, groups="clinic", **options)
    kept = {row.number - 1 for row in report.rows}
    inside = set(frame["clinic"].iloc[sorted(kept)])
    assert 50 < len(kept) < 130
    assert not inside & set(frame["clinic"].drop(index=sorted(kept)))
    report = make_report(path, "out <come>", POSITIVE, time="day", **options)
    kept = {row.number - 1 for row in report.rows}
    assert frame["day"].iloc[sorted(kept)].min() > frame["day"].drop(index=sorted(kept)).max()
    report = make_report(path, "out <come>", POSITIVE, time="day", plan=QUICK, rows=5)  # folds that look forward
    assert report.evaluation.n < 300
    assert all(frame["day"][row.number - 1] > 50 for row in report.rows)


def test_the_headline_is_the_corrected_auc_and_the_curves_are_of_held_out_rows(folder):
    report = make_report(folder / "awkward.csv", "out <come>", POSITIVE, plan=QUICK, rows=2)
    facts = report.model.training
    assert (report.expected.auc, report.expected.low) == (facts["corrected_auc"], facts["corrected_auc_low"])
    assert report.folds == 3
    html = report_page(report, data_name="awkward.csv").html()
    interval = f"95 % interval {facts['corrected_auc_low']:.3f} to {facts['corrected_auc_high']:.3f}"
    assert interval in re.sub("<[^>]*>", "", html)
    assert "All counts below are for rows the model had not seen." in html
    assert f"{report.evaluation.auc.auc:.4f}" in html  # among the further numbers
    kept = make_report(folder / "awkward.csv", "out <come>", POSITIVE, plan=QUICK, rows=2, holdout=0.3)
    found = kept.evaluation
    assert kept.expected.auc == found.auc.auc == pytest.approx(roc_auc_score(found.positive, found.scores))
    assert "rows that were kept from the training" in report_page(kept, data_name="awkward.csv").html()


def test_a_probability_does_not_know_its_own_label():
    positive, scores = scored(300)
    fold = np.arange(300) % 3
    model, opened = SimpleNamespace(calibration=SimpleNamespace(method="isotonic")), SimpleNamespace(plan=TrainPlan())

    def probabilities(labels: np.ndarray) -> np.ndarray:
        trained: Any = SimpleNamespace(model=model, opened=opened, kept=None)
        trained.held_out = HeldOut(labels, scores, fold, np.ones(300))
        found = crossfitted_probabilities(trained)
        assert found is not None
        return found

    before = probabilities(positive)
    for row in (0, 7, 100):
        changed = positive.copy()
        changed[row] = ~changed[row]
        after = probabilities(changed)
        assert after[row] == before[row]
    assert (after != before).any()


def test_levels_are_judged_by_their_own_rows():
    positive, scores = scored(600)
    rng = np.random.default_rng(2)
    columns = {"sex": rng.choice(np.array(["f", "m", None], dtype=object), 600), "age": rng.normal(50, 9, 600)}
    probabilities = np.clip(scores / 4 + 0.3, 0.01, 0.99)
    found = judge_levels(ScoredRows(positive, scores, probabilities), columns)
    assert [group.name for group in found[:3]] == ["f", "m", "missing"]
    assert len(found) == 3 + 4
    assert sum(group.rows for group in found) == 1200
    for group, value in zip(found[:2], ("f", "m"), strict=True):
        inside = columns["sex"] == value
        assert group.auc is not None
        assert group.auc.auc == pytest.approx(roc_auc_score(positive[inside], scores[inside]))
        assert group.observed == pytest.approx(positive[inside].mean())
        assert group.predicted == pytest.approx(probabilities[inside].mean())
    quarters = [group.rows for group in found[3:]]
    assert max(quarters) - min(quarters) <= 2


def test_holm_is_a_rule_step_by_step():
    """The smallest of m is compared with level/m, the next with level/(m - 1), until one is not below."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.random(6) ** 3
        rejected = np.zeros(6, dtype=bool)
        for step, place in enumerate(np.argsort(p)):
            if p[place] >= 0.05 / (6 - step):
                break
            rejected[place] = True
        assert ((holm(p) < 0.05) == rejected).all()


def test_noise_is_rarely_marked_and_differences_are():
    """400 tables without any difference: at most 5 % have a mark, up to chance; groups of 30 positives."""
    rng = np.random.default_rng(0)
    marked = 0
    for _ in range(400):
        p = rng.beta(1.0, 3.0, 300)
        positive = rng.random(300) < p
        groups = judge_levels(ScoredRows(positive, p, p), {"clinic": rng.choice(["a", "b", "c"], 300)})
        marked += any(group.ranked_differently or group.predicted_wrongly for group in groups)
    assert marked <= 0.05 * 400 + 3 * np.sqrt(400 * 0.05 * 0.95)
    clinic = rng.choice(["a", "b"], 2000)
    p = rng.beta(1.0, 3.0, 2000)
    positive = rng.random(2000) < np.where(clinic == "b", p.mean(), p)  # b is ranked by chance
    a, b = judge_levels(ScoredRows(positive, p, p), {"clinic": clinic})
    assert b.ranked_differently
    assert b.worse
    assert not a.worse
    high = rng.random(2000) < np.where(clinic == "b", np.minimum(1.0, 1.6 * p), p)
    assert judge_levels(ScoredRows(high, p, p), {"clinic": clinic})[1].predicted_wrongly


def test_single_rows_are_the_extremes_and_their_parts_add_up(folder):
    report = make_report(folder / "awkward.csv", "out <come>", POSITIVE, plan=QUICK, rows=6)
    positive, scores = report.evaluation.positive, report.evaluation.scores
    by_kind: dict[str, list[int]] = {}
    for row in report.rows:
        by_kind.setdefault(row.kind, []).append(row.number - 1)
        assert row.score == scores[row.number - 1]
    order = np.argsort(scores)
    assert by_kind["highest scores"] == order[::-1][:4].tolist()
    assert by_kind["lowest scores"] == order[:4].tolist()
    pairs = np.sign(scores[:, None] - scores[None, :])
    wrong = [np.mean(pairs[i, positive != positive[i]] * (1 if positive[i] else -1) < 0) for i in range(500)]
    assert sorted(wrong)[-4:] == pytest.approx(sorted(wrong[i] for i in by_kind["most wrong"]))
    assert len(by_kind["spread over the ranking"]) == 6
    for kind in ("linear", "additive", "kernel"):
        report = make_report(
            folder / "awkward.csv", "out <come>", POSITIVE, plan=TrainPlan(features=kind, n_splits=3), rows=3
        )
        assert len(report.rows) == 15
        for row in report.rows:
            assert sum(part for *_, part in row.parts) == pytest.approx(row.own_score, abs=1e-8)
            assert row.names == (f"P{row.number - 1:04d}",)
        assert {name for name, *_ in report.rows[0].parts} >= {EVIL, EMOJI, LONG, LONGER, RIGHT_TO_LEFT}


@pytest.mark.parametrize(("seen", "rows"), [(0, 12), (3, 10), (50, 50), (70, 1000)])
def test_intervals_of_the_calibration_are_wilsons(seen, rows):
    expected = binomtest(seen, rows).proportion_ci(method="wilson")
    found = wilson(np.array([seen / rows]), np.array([rows]))
    assert [float(side[0]) for side in found] == pytest.approx([expected.low, expected.high])


class Elements(HTMLParser):
    """All elements of a page with their attributes, and its text."""

    def __init__(self, html: str):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.inside = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.text += data


def test_names_stay_text(page):
    elements = Elements(page)
    assert not {tag for tag, _ in elements.found} & {"img", "b", "i", "iframe", "object", "form"}
    scripts = [attributes for tag, attributes in elements.found if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    for _, attributes in elements.found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    for name in (EVIL, RIGHT_TO_LEFT, EMOJI, "<b>bold</b>", "שלום", '"quoted"', f"out <come> = {POSITIVE}"):
        assert name in elements.text
    assert LONG in elements.text  # in the table, and cut above pictures such that both can be told apart
    assert LONGER in elements.text
    assert re.search(r"…[^<]*name A<", page)
    assert re.search(r"…[^<]*name B<", page)


def test_the_page_as_markdown_has_the_same_sections_tables_and_names(folder, page):
    rendered = MarkdownIt("commonmark").enable("table").render((folder / "r.md").read_text("utf-8"))
    found, shown = Elements(rendered), Elements(page)
    assert {tag for tag, _ in found.found} <= set(
        ["h1", "h2", "h3", "h4", "p", "ul", "li", "strong", "code", "pre", "table", "thead", "tbody", "tr", "th", "td"]
    )
    for tag in ("h1", "h2"):
        assert re.findall(rf"<{tag}>(.*?)</{tag}>", rendered) == re.findall(
            rf"<{tag}>(?:<bdi>)?(.*?)(?:</bdi>)?</{tag}>", page
        )
    assert rendered.count("<table>") == page.count('<table class="sortable">')
    for name in (
        EVIL,
        RIGHT_TO_LEFT,
        EMOJI,
        "<b>bold</b>",
        "שלום",
        '"quoted"',
        f"out <come> = {POSITIVE}",
        LONG,
        LONGER,
    ):
        assert name in found.text
        assert name in shown.text


def test_only_the_script_and_the_style_of_the_page_are_allowed(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert "unsafe" not in policy[1]
    for tag in ("script", "style"):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        assert len(text) == 1
        digest = base64.b64encode(hashlib.sha256(text[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert "http" not in page.replace("http-equiv", "")


def test_data_of_the_page_cannot_end_their_element(page):
    data = re.search(r'id="data">(.*?)</script>', page, re.S)
    assert data
    assert json.loads(data[1])["explorer"]["names"]["positive"] == f"out <come> = {POSITIVE}"


def test_the_command_on_the_page_makes_it_again(folder, page):
    shown = re.search(r"<pre tabindex=\"0\"><code>(vrspam report.*?)</code>", page, re.S)
    assert shown
    words = shlex.split(Elements(shown[1]).text)
    assert main(words[1:]) == 0
    assert (folder / "r.html").read_text("utf-8") == page


def test_options_given_twice_and_large_numbers_that_name_rows_are_shown_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    size, dose = rng.choice(["s", "m", "l"], 120), rng.choice(["low", "high"], 120)
    sick = (size == "l") | (rng.random(120) < 0.3)
    table = pd.DataFrame({"patient_id": 2**53 + 1 + 7 * np.arange(120), "size": size, "dose": dose, "sick": sick})
    table.to_parquet(tmp_path / "t.parquet")
    ordered = ["--ordered", "size=s,m,l", "--ordered", "dose=low,high", "--monotone", "size=1,dose=1"]
    files = [str(tmp_path / "t.parquet"), "--target", "sick", "--html", str(tmp_path / "t.html")]
    assert main(["report", *files, "--features", "additive", "--folds", "2", "--rows", "9", *ordered]) == 0
    page = (tmp_path / "t.html").read_text("utf-8")
    assert " ".join(ordered) in page
    shown = re.findall(r"\b900719925474\d{4}\b", page)
    assert shown
    assert {int(number) for number in shown} <= {*table["patient_id"]}


def test_training_writes_the_same_report(folder, tmp_path, capsys):
    data = command(folder)[1:-2]
    model, html = tmp_path / "m.json", tmp_path / "t.html"
    assert main(["train", *data, "--model", str(model), "--html", str(html)]) == 0
    assert re.search(rf"^page +{re.escape(str(html))}$", capsys.readouterr().out, re.M)
    pages = [path.read_text("utf-8").partition("The command to do it again")[0] for path in (html, folder / "r.html")]
    assert pages[0] == pages[1]
    assert model.exists()
    assert main(["train", *data, "--model", str(model)]) == 2
    assert "name its file with --html" in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_report_for_scripts(folder, capsys):
    assert main([*command(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["judged_by"] == "cross-validation"
    assert found["expected_auc_low"] < found["expected_auc"] < found["expected_auc_high"]
    assert [group["name"] for group in found["groups"][:2]] == ["f", "m"]
    assert found["left_out"] == ["patient"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--holdout", "1.5"], "--holdout 1.5 must be between 0 and 1"),
        (["--holdout", "0.3", "--streaming"], "--streaming and --holdout cannot be combined: a stream holds no rows"),
        (["--holdout", "0.999"], "and 4 are needed: give another share"),
        (["--by", "sexe"], "has no column 'sexe' (did you mean 'sex'?)"),
        (["--by", "out <come>"], "holds the labels: name another with --by"),
        (["--by", "sex", "--streaming"], "--by sex needs the named columns of a table in memory"),
        (["--holdout", "0.999"], "with --holdout 0.999, one class has only"),
        (["--cost", "-1"], "--cost-ratio -1.0 must be a positive number"),
    ],
)
def test_what_is_refused(folder, capsys, more, words):
    data = [str(folder / "awkward.csv"), "--target", "out <come>", "--positive", POSITIVE, "--folds", "3"]
    assert main(["report", *data, "--features", "linear", "--html", str(folder / "no.html"), *more]) != 0
    assert words in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not (folder / "no.html").exists()


def test_other_kinds_of_tables(folder, tmp_path, capsys):
    """Weights, a stream, no calibration, LIBSVM: a page for each, that says what it counts."""
    frame = awkward(400).assign(mass=np.random.default_rng(0).integers(1, 4, 400))
    data = [str(write(frame, tmp_path / "t.csv")), "--target", "out <come>", "--positive", POSITIVE, "--folds", "3"]
    html = tmp_path / "t.html"
    for more in (["--weights", "mass"], ["--streaming"], ["--calibration", "none"], ["--max-fpr", "0.3"]):
        assert main(["report", *data, "--features", "linear", "--html", str(html), *more]) == 0
        text = html.read_text("utf-8")
        assert ("counted by their weights" in text) == ("--weights" in more)
        assert ("predicted probability" in text) == ("none" not in more)
    rng = np.random.default_rng(0)
    lines = [f"{'+1' if k % 3 else '-1'} 1:{rng.normal() + (k % 3 > 0):.3f} 3:{rng.normal():.3f}" for k in range(200)]
    (tmp_path / "t.libsvm").write_text("\n".join(lines) + "\n")
    assert main(["report", str(tmp_path / "t.libsvm"), "--html", str(html), "--folds", "3"]) == 0
    text = html.read_text("utf-8")
    assert "Of 100 pairs of a row with label 1 and a row with label -1," in text
    assert "Highest scores" in text
    assert main(["report", str(tmp_path / "t.libsvm"), "--html", str(html), "--folds", "3", "--holdout", "0.4"]) == 0
    assert "80 rows that were kept from the training" in html.read_text("utf-8")
    capsys.readouterr()


def test_results_of_experiments_are_published(tmp_path, capsys, monkeypatch):
    published = {"report": [tmp_path / "r.html"]}
    monkeypatch.setattr("vrspam.paper.publish.publish", lambda directory: published)
    assert main(["publish", str(tmp_path)]) == 0
    assert capsys.readouterr() == (f"report   {tmp_path}/r.html\n", "")
    (tmp_path / "rows").mkdir()
    assert main(["report", str(tmp_path)]) == 0  # the name that it had before
    old = capsys.readouterr()
    assert old.out == f"report   {tmp_path}/r.html\n"
    assert f"vrspam publish {tmp_path}" in old.err


@pytest.fixture
def opened(folder, browser):
    """Open the page at a width, in the light or in the dark; everything is set back at the end."""

    def open_page(width: int = 1400, scheme: str = "light") -> Any:
        browser.set_screen(width)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.send("Emulation.setEmulatedMedia", media="screen", features=[feature])
        browser.open(folder / "r.html")
        return browser

    yield open_page
    browser.reset_screen()
    browser.send("Emulation.setEmulatedMedia", media="", features=[])
    browser.send("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.parametrize("width", [1400, 800, 390])
def test_page_is_complete_at_every_width(folder, browser, opened, width):
    opened(width)
    address = (folder / "r.html").as_uri()
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert [url for url in browser.requests if url != address and not url.startswith("data:")] == []
    assert browser.problems == []
    assert browser.texts("h2") == [
        "Choose a threshold", "Scores", "Is it worth acting on?", "Groups", "What the model looks at",
        "How many more rows?", "Single rows", "How it was made",
    ]  # fmt: skip
    letters = browser.run(
        "return Math.min(...[...document.querySelectorAll('svg text')].filter(t => t.getBoundingClientRect().height)"
        ".map(t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width"
        " / t.ownerSVGElement.viewBox.baseVal.width))"
    )
    assert letters > 8.0


def shown(browser) -> dict[str, str]:
    """What the page shows for the threshold."""
    return browser.run(
        "const outputs = [...document.querySelectorAll('[data-show]')];"
        "return Object.fromEntries(outputs.map(o => [o.dataset.show, o.textContent]))"
    )


@pytest.fixture(scope="module")
def evaluation(folder):
    """What the page shows, without the page."""
    plan = TrainPlan(features="additive", n_splits=3)
    report = make_report(folder / "awkward.csv", "out <come>", POSITIVE, plan=plan, rows=0)
    assert report.rows == ()
    return report.evaluation


def number(text: str) -> float:
    return float(text.replace(",", "").replace("\u00a0%", ""))


def test_the_slider_shows_what_scikit_learn_computes(evaluation, opened):
    browser = opened()
    positive, scores = evaluation.positive, evaluation.scores
    browser.run("document.querySelector('nav a:last-child').focus()")
    browser.press("Tab")
    assert browser.run("return document.activeElement.id") == "threshold"  # the keyboard reaches it
    before = shown(browser)
    points = (
        "return [...document.querySelectorAll('.point')].map(p => p.getAttribute('cx') + ' ' + p.getAttribute('cy'))"
    )
    lines = "return document.querySelector('line[data-threshold]').getAttribute('x1')"
    places = browser.run(points), browser.run(lines)
    for key, times in (("PageUp", 2), ("ArrowLeft", 7), ("PageDown", 6)):
        for _ in range(times):
            browser.press(key, "#threshold")
        after = shown(browser)
        threshold = number(after["threshold"])  # the number that is shown is the one that counts
        called = scores >= threshold
        tn, fp, fn, tp = confusion_matrix(positive, called).ravel().tolist()
        assert [number(after[name]) for name in ("tn", "fp", "fn", "tp")] == [tn, fp, fn, tp]
        expected = {
            "sensitivity": recall_score(positive, called),
            "specificity": recall_score(~positive, ~called),
            "ppv": precision_score(positive, called),
            "npv": precision_score(~positive, ~called),
        }
        for name, value in expected.items():
            assert after[name] == f"{100 * value:.1f}\u00a0%"
        assert number(after["alerts"]) == pytest.approx(1000 * called.mean(), abs=0.051)
        ratio = float(browser.value("#cost"))
        assert number(after["cost"]) == pytest.approx(1000 * (fp + ratio * fn) / positive.size, abs=0.051)
        assert browser.attribute("#threshold", "aria-valuetext").startswith("score at least ")
        assert all(before[name] != after[name] for name in before)
        moved = browser.run(points), browser.run(lines)
        assert len(moved[0]) == 4
        assert all(a != b for a, b in zip(places[0], moved[0], strict=True))
        assert places[1] != moved[1]
        before, places = after, moved
    browser.clear("#cost")
    browser.type("20", "#cost")
    browser.click("#cheapest")
    thresholds = Stops.of(Curve.of(positive, scores)).thresholds
    costs = [(~positive & (scores >= t)).sum() + 20 * (positive & (scores < t)).sum() for t in thresholds]
    assert number(shown(browser)["cost"]) == pytest.approx(1000 * min(costs) / positive.size, abs=0.051)


def test_boxes_move_the_threshold(evaluation, opened):
    """A share to find, a number of alerts, a score and both costs are typed; intervals are Wilson's."""
    browser = opened()
    stops = Stops.of(Curve.of(evaluation.positive, evaluation.scores))
    called, total = stops.hits + stops.alarms, stops.positives + stops.negatives
    middle = float(stops.thresholds[stops.thresholds.size // 3])
    expected = {
        "recall": ("80", int(np.flatnonzero(stops.hits >= 0.8 * stops.positives).max())),
        "calls": ("100", int(np.argmax(np.where(called <= 0.1 * total, called, -1.0)))),
        "typed": (f"{middle:.6f}", int(np.argmin(np.abs(stops.thresholds - float(f"{middle:.6f}"))))),
    }
    for box, (typed, place) in expected.items():
        browser.type(typed, f"#{box}")
        after = shown(browser)
        assert number(after["tp"]) == stops.hits[place]
        assert number(after["fp"]) == stops.alarms[place]
        ends = wilson(np.array(stops.hits[place] / called[place]), np.array(called[place]))
        assert after["ppv-interval"] == " to ".join(percent(float(end)).replace(" ", "\u00a0") for end in ends)
        ends = wilson(np.array(stops.hits[place] / stops.positives), np.array(stops.positives))
        assert after["sensitivity-interval"] == " to ".join(percent(float(end)).replace(" ", "\u00a0") for end in ends)
    for box, typed in (("cost", "6"), ("alarm", "2")):
        browser.clear(f"#{box}")
        browser.type(typed, f"#{box}")
    browser.click("#cheapest")
    costs = 2.0 * stops.alarms + 6.0 * (stops.positives - stops.hits)
    assert number(shown(browser)["cost"]) == pytest.approx(1000.0 * costs.min() / total, abs=0.051)


def test_intervals_of_weighted_and_grouped_rows_are_wider():
    rng = np.random.default_rng(0)
    right, ones = rng.random(400) < 0.7, np.ones(400)
    assert effective_share(right, ones) == pytest.approx(1.0, rel=1e-9)
    fewer = 399 / 400 * (norm.ppf(0.975) / student.ppf(0.975, 399)) ** 2  # 400 groups hardly fall short of 400 rows
    grouped = effective_share(np.repeat(right, 5), np.ones(2000), np.repeat(np.arange(400), 5))
    assert grouped == pytest.approx(0.2 * fewer)
    weights = np.where(rng.random(400) < 0.1, 10.0, 1.0)
    found, drawn = effective_share(right, weights) * weights.sum(), []
    for _ in range(2000):
        some = rng.random(400) < 0.7
        drawn.append(weights @ some / weights.sum())
    assert found == pytest.approx(0.7 * 0.3 / np.var(drawn), rel=0.2)
    assert effective_share(np.ones(10, dtype=bool), np.ones(10), np.arange(10) // 5) == pytest.approx(0.2)


def test_calibration_groups_of_few_rows_are_the_same_everywhere(tmp_path, capsys):
    """Of 100 rows, six groups of at least 15: in both pictures of the page, and with matplotlib."""
    rng = np.random.default_rng(0)
    chance = rng.random(100)
    sick = rng.random(100) < chance
    table = pd.DataFrame({"a": chance, "b": np.clip(chance + 0.05, 0.0, 1.0), "sick": np.where(sick, "yes", "no")})
    given = [str(write(table, tmp_path / "t.csv")), "--target", "sick", "--scores", "a,b"]
    assert main(["evaluate", *given, "--html", str(tmp_path / "e.html")]) == 0
    text = (tmp_path / "e.html").read_text("utf-8")
    told, figures = re.findall(r"calibration error</dt><dd[^>]*>([\d.]+)", text), text.split("<figure>")
    capsys.readouterr()
    assert main(["evaluate", *given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    drawn = {name: one for one in figures for name in re.findall(r"<bdi>(Calibration[^<]*)</bdi>", one)}
    assert {name: one.count("rows: predicted") for name, one in drawn.items()} == {
        "Calibration": 6,
        "Calibration of b": 6,
    }
    assert sorted(told) == sorted(f"{one['calibration_error']:.4f}" for one in found["columns"].values())
    dots = plot_reliability(sick, chance, ax=Figure().subplots()).get_lines()[-1]
    assert np.asarray(dots.get_xdata()).size == 6


def test_an_unseen_stretch_of_a_line_is_a_gap():
    """A net benefit below the frame is not drawn along its edge; nor is acting on everyone above it."""
    at = np.linspace(0.01, 0.99, 99)
    model, everyone = np.where(at < 0.5, 0.2, -5.0), np.where(at < 0.1, 0.9, 0.0)
    found = NetBenefit(at, model, model - 0.01, model + 0.01, np.full(99, 0.01), everyone)
    drawn = decision_curve(found, 0.99)
    lines = {css: points for css, points in re.findall(r'<polyline class="(\w+)" points="([^"]*)"', drawn)}
    frame = list(map(float, re.search(r'data-frame="([^"]*)"', drawn)[1].split()))  # type: ignore[index]
    for css, last in (("line", 0.49), ("guess", 0.99)):
        places = np.array([list(map(float, point.split(","))) for point in lines[css].split()])
        right = frame[2] + last / 0.99 * (frame[3] - frame[2])
        assert places[-1, 0] == pytest.approx(right, abs=0.2)
        assert (places[:, 1] < frame[6] - 1.0).all()
        assert (places[:, 1] > frame[7] - 0.1).all()


def test_the_interval_of_a_difference_is_sorted_and_written_as_a_number():
    positive, scores = scored(200)
    noise = np.random.default_rng(1).standard_normal((2, 200))
    found = compare_aucs(positive, {"a": scores, "b": scores + noise[0], "c": noise[1]})
    tests = as_html(pair_tables("AUC", found)[1])
    for _, _, test, _ in found:
        cell = f'<td data-sort="{test.low!r}" class="number" data-numbers><span class="n">'
        assert f"{cell}{test.low:+.4f} to {test.high:+.4f}</span></td>" in tests


def test_the_spoken_headline_names_the_measure():
    found = SimpleNamespace(auc=0.834, low=0.8, high=0.87)
    drawn = as_html(headline("Concordance index", found, "", {}, worries([])))
    assert 'aria-label="Concordance index: 0.834, interval 0.800 to 0.870, on a scale to 1."' in drawn


def test_a_curve_with_a_gap_tells_nothing_in_the_gap(browser, tmp_path):
    grid = np.linspace(0.0, 10.0, 41)
    value = np.where((grid > 4.0) & (grid < 6.0), 9.0, 0.1 * grid)  # drawn up to 1
    one = Shape("dose", grid, value, np.full(41, np.nan), np.full(41, np.nan), None, 1.0)
    page = Page("Curve")
    page.add("Curve", column_picture(one, (-0.1, 1.2)))
    page.write(tmp_path / "curve.html")
    browser.open(tmp_path / "curve.html")
    picture = 'svg[data-kind="column"]'
    frame = [float(part) for part in browser.attribute(picture, "data-frame").split()]
    across = browser.box(picture)["width"]
    width = across / float(browser.attribute(picture, "viewBox").split()[2])
    told = {}
    for at in (2.0, 5.0, 8.0):
        place = (frame[2] + at / 10.0 * (frame[3] - frame[2])) * width - across / 2.0
        browser.point_at(picture, right=round(place))
        shown = browser.is_shown("#hint")
        told[at] = [float(part) for part in browser.text("#hint").split(": ")] if shown else None
    assert told[5.0] is None
    for at in (2.0, 8.0):
        assert told[at] == pytest.approx([at, 0.1 * at], rel=0.05)


def test_a_curve_can_be_pointed_at(opened):
    browser = opened()
    before = shown(browser)
    browser.point_at('svg[data-kind="roc"]', right=-60, down=-40)
    assert browser.is_shown("#hint")
    assert "score at least" in browser.text("#hint")
    browser.click_there()
    after = shown(browser)
    assert after != before
    assert f"score at least {number(after['threshold']):.4g}"[:17] in browser.text("#hint")
    column = 'svg[data-kind="column"]'
    browser.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", column)
    browser.point_at(column)
    assert re.fullmatch(r"-?[\d.]+: -?[\d.]+", browser.text("#hint"))


OUTSIDE = """
const box = (element) => element.getBoundingClientRect();
const outside = (text) => {
  const [a, b] = [box(text), box(text.ownerSVGElement)];
  return a.width && (a.left < b.left - 1 || a.right > b.right + 1);
};
return [...document.querySelectorAll("svg text")].filter(outside).map((text) => text.textContent);
"""
COLLIDED = """
const collide = (a, b) => a.right > b.left + 1 && b.right > a.left && a.bottom > b.top + 4 && b.bottom > a.top + 4;
const box = (element) => element.getBoundingClientRect();
return [...document.querySelectorAll("svg")].flatMap((picture) => {
  const names = [...picture.querySelectorAll("text.end:not(.small)")].map(box);
  const numbers = [...picture.querySelectorAll("text.small")];
  return numbers.filter((number) => names.some((name) => collide(name, box(number))));
}).map((text) => text.textContent);
"""


def test_no_text_leaves_its_picture(opened):
    """Wide letters, long names, numbers at the ends of bars: all lie inside, and numbers beside their names."""
    browser = opened()
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.run(OUTSIDE) == []
    assert browser.run(COLLIDED) == []


def test_shares_next_to_none_and_all_are_not_rounded_to_them(opened):
    browser = opened()
    shown = browser.run("return [0, 0.0001, 0.4, 0.9999, 1].map(percent)")
    assert shown == ["0.0\u00a0%", "less than 0.1\u00a0%", "40.0\u00a0%", "more than 99.9\u00a0%", "100.0\u00a0%"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened, scheme):
    browser = opened(1400, scheme)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    browser.run(AXE.read_text("utf-8"))
    found = browser.run("return axe.run().then(result => result.violations)")
    serious = [
        (rule["id"], [node["html"][:200] for node in rule["nodes"][:3]])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_numbers_are_written_as_the_browser_writes_them(opened, browser):
    agent = browser.run("return navigator.userAgent")
    browser.send("Network.setUserAgentOverride", userAgent=agent, acceptLanguage="de-DE")
    try:
        opened()
        assert re.fullmatch(r"0,\d\d", browser.text(".headline strong"))
        assert re.search(r"\d,\d\u00a0%", shown(browser)["sensitivity"])
        assert "0.25" not in browser.text("svg[data-kind=scores]")
    finally:
        browser.send("Network.setUserAgentOverride", userAgent=agent, acceptLanguage="en-US")


def test_without_javascript_the_pictures_and_numbers_are_there(opened, browser):
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    opened()
    browser.send("Emulation.setScriptExecutionDisabled", value=False)  # to look at the page
    assert browser.run("return document.querySelectorAll('svg').length") > 25
    pictures = [f"svg >> nth={place}" for place in range(6)]
    assert all(browser.is_shown(picture) and browser.box(picture)["height"] > 30 for picture in pictures)
    assert all(value.strip() for value in shown(browser).values())
    assert not browser.is_shown("#threshold")
    assert "With JavaScript a slider moves the threshold" in browser.text(".slider")
