"""The report: complete, escaped, and correct in a real browser, on a phone and on a wide screen."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from experiment_rows import fill

from vrspam._utils.findings import Finding
from vrspam.metrics.net_benefit import NetBenefit
from vrspam.model_selection.learning_curve import LearningCurve
from vrspam.paper.publish import publish
from vrspam.report.blocks import (
    Alerts,
    Bullets,
    Card,
    Cell,
    Facts,
    Folded,
    Grid,
    Headline,
    Paragraph,
    Table,
    all_noticed,
)
from vrspam.report.markdown import as_markdown
from vrspam.report.page import Page
from vrspam.report.pictures.decision import decision_curve
from vrspam.report.pictures.learning import learning_curve
from vrspam.report.pictures.several import several_curves, survival_curves
from vrspam.report.slider import explorer
from vrspam.report.stops import Stops


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    directory = tmp_path_factory.mktemp("results")
    fill(directory, far=True)
    return directory, publish(directory)


def test_files_are_all_there(written):
    directory, files = written
    names = {path.name for paths in files.values() for path in paths}
    pictures = {"convergence-passes", "convergence-seconds", "variance", "theorem"}
    assert names == {"table.md", "table.csv", "report.html"} | {
        f"{p}.{end}" for p in pictures for end in ("png", "svg")
    }
    assert all((directory / name).stat().st_size > 0 for name in names)
    assert all((directory / f"{p}.png").read_bytes().startswith(b"\x89PNG") for p in pictures)


def test_written_twice_gives_the_same_bytes(written):
    directory, files = written
    before = {path: path.read_bytes() for paths in files.values() for path in paths}
    publish(directory)
    assert {path: path.read_bytes() for path in before} == before


def test_page_in_a_browser(written, browser):
    directory, _ = written
    page = directory / "report.html"
    browser.open(page)
    sections = browser.texts("h2")
    assert sections[:3] == ["Test AUC", "Does VRSPAM reach the optimum?", "Figures"]
    assert {"Protocol", "Data", "Versions and machine"} <= set(sections)
    sizes = browser.run("return [...document.images].map(i => [i.complete, i.naturalWidth])")
    assert len(sizes) == 4
    assert all(complete and width > 0 for complete, width in sizes)
    assert "<test & machine>" in browser.text("main")
    assert page.as_uri() in browser.requests
    assert [url for url in browser.requests if url != page.as_uri() and not url.startswith("data:")] == []
    assert browser.problems == []


def test_table_sorts_by_number_both_ways(written, browser):
    browser.open(written[0] / "report.html")
    table = "table.sortable >> nth=0"
    heading = f"{table} >> th button >> nth=1"

    def first_column():
        return browser.texts(f"{table} >> tbody tr td:first-of-type")

    assert first_column() == ["german", "splice", "usps"]
    browser.click(heading)
    assert first_column() == ["german", "splice", "usps"]  # .80, .93, and no number last
    browser.click(heading)
    assert first_column() == ["splice", "german", "usps"]
    assert browser.attribute(f"{table} >> th >> nth=1", "aria-sort") == "descending"


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1600, 1000)])
def test_no_part_of_the_page_is_wider_than_the_screen(written, browser, width, height):
    browser.set_screen(width, height)
    browser.open(written[0] / "report.html")
    assert browser.run("return window.innerWidth") == width
    assert browser.run("return document.documentElement.scrollWidth") <= width
    size = browser.run("return getComputedStyle(document.body).fontSize")
    assert float(size.removesuffix("px")) >= 14
    browser.reset_screen()


def test_text_is_escaped_everywhere():
    evil = "<script>alert('x')</script>{{body}}"
    page = Page(evil, evil)
    page.add(
        evil,
        Paragraph(evil, code=evil),
        Bullets([evil]),
        Facts({evil: evil}),
        Table([evil], [[evil], [Cell(evil, 1.0, evil)]], evil),
        Folded(evil, []),
    )
    html = page.html()
    assert "<script>alert" not in html
    escaped = ("alert(&#x27;x&#x27;)&lt;/script&gt;{{body}}", "alert(&#39;x&#39;)&lt;/script&gt;{{body}}")
    assert html.count("{{body}}") == sum(map(html.count, escaped)) > 8


def test_page_names_what_disagrees(written):
    html = (written[0] / "report.html").read_text()
    assert "In 10 of 12 runs" in html  # VRSPAM-L2 and -NET, 2 sets, 3 splits; NET is off in split 1 of each set
    assert html.count("<td>VRSPAM-NET</td>") >= 2


def test_markdown_keeps_its_columns():
    text = as_markdown(Table(["a", "b"], [["x|y", Cell("1", 1.0, "note")]]))
    assert text.splitlines()[-1] == r"| x\|y | 1, note |"


def test_a_page_as_markdown_has_all_but_its_pictures():
    alerts = Alerts("What to worry about", all_noticed(["look", Finding("leak", "severe", "'a*b' tells")]), "nothing")
    first = Headline("AUC", 0.83456, 0.81, 0.86, "Of 100 pairs 83.", Facts({"rows": "300"}), alerts, source="DeLong")
    page = Page("a|b", headline=first)
    drawn = several_curves("ROC curves", {"a": (np.array([0.0, 1.0]), np.array([0.0, 1.0]))}, ("x", "y"))
    page.add("Curves", Grid([drawn, Table(["rows", "lift"], [["top", Cell("2.3", 2.3)]], "Lift")]))
    page.add("More", Folded("How", [Paragraph("<b>", code="x ``` y"), Card("Row 3", [Bullets(["one", "two"])])]))
    assert page.markdown() == (
        "# a\\|b\n\n**AUC: 0.835**, 95 % interval 0.810 to 0.860 (DeLong). Of 100 pairs 83.\n\n- **rows**: 300\n\n"
        "**What to worry about**\n\n- **severe**: 'a\\*b' tells (`leak`)\n- **warning**: look\n\n"
        "## Curves\n\nLift:\n\n| rows | lift |\n|---|--:|\n| top | 2.3 |\n\n"
        "## More\n\n### How\n\n\\<b\\>\n\n````\nx ``` y\n````\n\n#### Row 3\n\n- one\n- two\n"
    )


def test_a_line_never_breaks_inside_an_option():
    page = Page("Notes", "")
    page.add("Noticed", Bullets(["<b> was left out; use --max-categories to keep it"]))
    assert "&lt;b&gt; was left out; use <code>--max-categories</code> to keep it" in page.html()
    assert "li code, p code, .n { white-space: nowrap; }" in page.html()


@pytest.mark.parametrize("width", [390, 1200])
def test_counts_of_calls_never_break_across_lines(browser, tmp_path, width):
    counts = np.array([320_450.0, 160_225.0, 0.0])
    stops = Stops(np.array([-1.0, 0.0, 1.0]), counts, counts, *counts[[0, 0]])
    page = Page("Calls", "")
    page.add("Calls", explorer(stops, 1, {"positive": "result = positive", "negative": "another result"}, 1.0, "")[0])
    page.write(tmp_path / "calls.html")
    browser.set_screen(width)
    browser.open(tmp_path / "calls.html")
    heights = browser.run(
        "return [...document.querySelectorAll('.confusion .value')].map(v => v.getClientRects().length)"
    )
    assert heights == [1, 1, 1, 1]
    assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.reset_screen()


@pytest.mark.parametrize("draw", [partial(several_curves, "ROC curves"), survival_curves])
def test_three_curves_differ_by_their_dashes_and_the_legend_shows_them(browser, tmp_path, draw):
    ends = np.array([0.0, 1.0])
    page = Page("Curves", "")
    page.add("Curves", draw({name: (ends, ends) for name in "abc"}, ("x", "y")))
    page.write(tmp_path / "curves.html")
    browser.open(tmp_path / "curves.html")
    dashes = browser.run(
        "return [...document.querySelectorAll('svg .line')].map(l => getComputedStyle(l).strokeDasharray)"
    )
    assert len(set(dashes[:3])) == 3
    assert dashes[3:] == dashes[:3]


def test_no_percent_sign_is_cut_off_on_a_phone_and_no_line_leaves_its_axes(browser, tmp_path):
    share = np.linspace(0.0, 1.0, 50)
    benefit = NetBenefit(share, *(np.full(50, 0.2) for _ in range(5)))
    auc, noise = np.array([0.63, 0.61, 0.64, 0.69, 0.72]), np.array([0.05, 0.05, 0.01, 0.001, 0.001])
    learned = LearningCurve(200.0 * 2.0 ** np.arange(5), auc, noise, 0.001, 4000)
    page = Page("Pictures", "")
    page.add(
        "Pictures",
        several_curves("ROC curves", {"a": (share, share)}, ("x", "y")),
        decision_curve(benefit, 1.0),
        learning_curve(learned),
    )
    page.write(tmp_path / "pictures.html")
    browser.set_screen(420)
    browser.open(tmp_path / "pictures.html")
    beyond = browser.run(
        "return [...document.querySelectorAll('svg text')].map(t => [t.textContent, t.getBoundingClientRect().right - "
        "t.ownerSVGElement.getBoundingClientRect().right]).filter(found => found[1] > 0)"
    )
    assert beyond == []
    below = browser.run(
        "return [...document.querySelectorAll('svg path.line, svg polyline.line')].map(line => { const box = "
        "line.getBBox(), frame = line.ownerSVGElement.dataset.frame.split(' '); return box.y + box.height - frame[6]})"
    )
    assert len(below) == 3
    assert max(below) <= 0.1
    browser.reset_screen()
