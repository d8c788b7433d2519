"""Models, or columns of scores, compared on the same rows, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vrspam.report.page import Page
from vrspam.report.sections.beside import curves_compared, paired_tests, partial_aucs
from vrspam.report.words.comparisons import describe_tests
from vrspam.report.words.names import listed

if TYPE_CHECKING:
    from vrspam.measures.compare import Comparison
    from vrspam.metrics import ComparedPair


def comparison_page(
    comparison: Comparison,
    *,
    data_name: str,
    partial: Sequence[ComparedPair] = (),
    max_fpr: float | None = None,
    measure: str = "AUC",
) -> Page:
    """Models, or columns of scores, on the same rows.

    `partial` are the tests of their partial AUCs up to `max_fpr`, if they are to be shown too; `measure` names what the
    other tests compare.
    """
    positive = comparison.positive
    counted = f"{positive.size:,} rows"
    groups = comparison.beside.get("groups")
    if groups is not None:
        counted = f"{counted} in {np.unique(groups).size:,} groups"
    if not positive.all():
        counted = f"{counted}, {int(positive.sum()):,} positive"
    summary = f"{describe_tests(comparison.pairs, measure)} ({counted}.)"
    page = Page(f"{listed(comparison.names)} on {data_name}", summary)
    page.put(paired_tests(comparison, measure, f"{measure[0].upper()}{measure[1:]}"))
    page.put(partial_aucs(partial, max_fpr))
    page.put(curves_compared(comparison))
    return page
