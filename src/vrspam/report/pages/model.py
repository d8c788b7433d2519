"""What a model looks at, on one page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix
from vrspam._utils.texts import auc_text, interval_text
from vrspam.report.page import Page
from vrspam.report.sections.interactions import interactions
from vrspam.report.sections.model import what_it_looks_at
from vrspam.report.sections.origin import how_it_was_made
from vrspam.report.words.auc import expected_auc
from vrspam.report.words.names import describe_direction, describe_ranks, name_measure

if TYPE_CHECKING:
    from vrspam.model.model import Model


def explanation_page(model: Model, *, model_name: str, parameter: Callable[[Fix], str] = str) -> Page:
    """What a model looks at, on one page."""
    page = Page(model_name, _summary(model))
    page.put(what_it_looks_at(model))
    page.put(interactions(model))
    page.put(how_it_was_made(model, show_notes=parameter))
    return page


def _summary(model: Model) -> str:
    """What a higher score means, and the AUC to expect."""
    outcome, expected = model.outcome, expected_auc(model)
    sentences = [describe_direction(outcome)]
    if expected is not None:
        if outcome.ranks:
            sentences.append(describe_ranks(outcome))
        measure = name_measure(outcome)
        article = "an" if measure.startswith("AUC") else "a"
        interval = f"95 % interval {interval_text(expected.low, expected.high)}"
        remark = f" ({expected.remark})" if expected.remark else ""
        sentences.append(f"Expect {article} {measure} of {auc_text(expected.auc)}, {interval}{remark}.")
    return " ".join(sentences)
