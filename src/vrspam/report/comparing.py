"""Scores of the same rows side by side: tests of all pairs, curves in one picture, and the page of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vrspam._utils.texts import auc_text, interval_text
from vrspam.metrics.thresholds import Curve
from vrspam.report import page as html
from vrspam.report import pictures, words
from vrspam.report.page import Cell, Html, Page, Row, number_cell, thin

if TYPE_CHECKING:
    from vrspam.metrics import AUCInterval, ComparedPair
    from vrspam.tool.scores import Comparison


def comparison_page(
    found: Comparison,
    *,
    data_name: str,
    partial: Sequence[ComparedPair] = (),
    max_fpr: float | None = None,
    measure: str = "AUC",
    curves: bool = True,
) -> Page:
    """Models, or columns of scores, on the same rows, on one page.

    `partial` are the tests of their partial AUCs up to `max_fpr`, if they are to be shown too; `measure` is what the
    other tests are about, and `curves` whether it has curves of thresholds.
    """
    positive = found.positive
    told = words.describe_tests(found.pairs, measure)
    counted = "" if positive.all() else f", {int(positive.sum()):,} positive"
    page = Page(f"{words.listed(found.names)} on {data_name}", f"{told} ({positive.size:,} rows{counted}.)")
    how = "DeLong's paired test" if curves else "Paired test, by the jackknife,"
    shown = f"{measure[0].upper()}{measure[1:]}"
    page.add(shown, html.paragraph(f"{how} on the same rows:"), *pair_tables(measure, found.pairs, found.intervals))
    if partial and max_fpr is not None:
        what = f"{words.describe_partial(max_fpr)} {words.describe_tests(partial, 'partial AUC')}"
        page.add("Partial AUC", html.paragraph(what), *pair_tables("partial AUC", partial))
    if curves:
        page.add("Curves", curves_of(compared_curves(found)))
    return page


def compared_curves(found: Comparison) -> dict[str, Curve]:
    """The curve of each of the scores that are compared."""
    return {name: Curve.of(found.positive, own) for name, own in zip(found.names, found.scores, strict=True)}


def curves_of(curves: Mapping[str, Curve]) -> Html:
    """ROC curves, and curves of precision and recall, of two or more scores."""
    roc, precision = {}, {}
    for name, curve in curves.items():
        kept = thin(curve, 1.0 / 400.0)[::-1]
        hits, alarms, called = (part[kept] for part in (curve.hits, curve.alarms, curve.called))
        roc[name] = alarms / curve.negatives, hits / curve.positives
        precision[name] = hits[1:] / curve.positives, hits[1:] / called[1:]
    drawn = [
        pictures.several_curves("ROC curves", roc, ("negatives called positive", "positives found")),
        pictures.several_curves("Precision and recall", precision, ("positives found", "positives among those called")),
    ]
    return html.grid(drawn, "large")


def pair_tables(measure: str, pairs: Sequence[ComparedPair], intervals: Sequence[AUCInterval] = ()) -> list[Html]:
    """A table of the scores with their AUCs, and one of the tests of all pairs."""
    aucs = {name: auc for a, b, test, _ in pairs for name, auc in ((a, test.auc_a), (b, test.auc_b))}
    rows: list[Row] = [[name, Cell(auc_text(auc, 4), auc)] for name, auc in aucs.items()]
    for row, found in zip(rows, intervals, strict=bool(intervals)):
        row.append(Cell(interval_text(found.low, found.high, 4), found.low))  # type: ignore[attr-defined]
    confidence, adjusted = f"{100 * pairs[0].test.confidence:g} % interval", len(pairs) > 1
    tests: list[Row] = [
        [
            f"{a} minus {b}",
            number_cell(test.difference, sign=True),
            f"{test.low:+.4f} to {test.high:+.4f}",
            Cell(f"{test.z:.3f}", test.z),
            Cell(f"{test.p_value:.3g}", test.p_value),
            *([Cell(f"{p:.3g}", p)] if adjusted else []),
        ]
        for a, b, test, p in pairs
    ]
    names = ["difference of", measure, confidence, "z", "p, two-sided", *(["p, adjusted"] if adjusted else [])]
    several = f"; adjusted: for {len(pairs)} pairs, by Holm's method" if adjusted else ""
    each = html.table(["scores", measure, *([confidence] if intervals else [])], rows)
    return [each, html.table(names, tests, f"Paired tests{several}")]
