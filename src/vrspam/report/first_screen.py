"""The first screen of a page: one large AUC, what it means, and what the reader should not miss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from vrspam._utils.findings import Fix, text_of
from vrspam._utils.texts import auc_text
from vrspam.report.html import Html, block
from vrspam.report.page import facts
from vrspam.report.pictures.aucs import auc_scale

WORRIES = "What to worry about"
QUIET = "The checks of the data found nothing to worry about."


class ShownFinding(NamedTuple):
    """A finding or a warning as a page shows it; the code is that of a section of docs/doctor.md, or empty."""

    severity: str
    text: str
    code: str


def headline(
    name: str,
    found: Any,
    interval: str,
    sentence: str,
    values: Mapping[str, str],
    worries: Sequence[str],
    remark: str,
    parameter: Callable[[Fix], str] = str,
    alert: str = WORRIES,
    quiet: str = QUIET,
) -> Html:
    """The first screen of a page.

    `found` has an AUC and the ends of its interval (NaN if unknown), drawn on a scale from guessing to perfect.
    `parameter` returns how a parameter in `worries` is shown.
    """
    return block(
        "headline",
        name=name,
        auc=auc_text(found.auc, 2),
        scale=auc_scale(name, found.auc, found.low, found.high),
        interval=interval,
        sentence=sentence,
        facts=facts(values, numbers=True),
        remark=remark,
        noticed=noticed(worries, parameter, alert, quiet),
    )


def noticed(
    worries: Sequence[str], parameter: Callable[[Fix], str] = str, alert: str = WORRIES, quiet: str = QUIET
) -> Html:
    """What the reader should not miss, the gravest first; notes are folded.

    `parameter` returns how a parameter is shown. Findings have a severity and a code; other texts count as warnings.
    """
    shown = []
    for worry in worries:
        severity, code = getattr(worry, "severity", "warning"), getattr(worry, "code", "")
        shown.append(ShownFinding(severity, text_of(worry, parameter), code))
    shown.sort(key=lambda finding: finding.severity != "severe")
    return block(
        "noticed",
        grave=[finding for finding in shown if finding.severity != "note"],
        notes=[finding for finding in shown if finding.severity == "note"],
        is_severe=any(finding.severity == "severe" for finding in shown),
        alert=alert,
        quiet=quiet,
    )
