"""The first screen of a page: one large number, and what the reader should not miss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vrspam._utils.findings import Fix
from vrspam.report.blocks import Alerts, Facts, Headline, all_noticed
from vrspam.report.pictures.aucs import auc_scale

WORRIES = "What to worry about"
QUIET = "The checks of the data found nothing to worry about."


def headline(
    name: str,
    measured: Any,
    sentence: str,
    facts: Mapping[str, str],
    alerts: Alerts,
    *,
    remark: str = "",
    source: str = "",
) -> Headline:
    """The first screen of a page.

    `measured` has an AUC and the ends of its interval (NaN if unknown), of 95 % if it does not say otherwise; it is
    drawn on a scale from guessing to perfect. `source` says where the interval comes from.
    """
    return Headline(
        name,
        measured.auc,
        measured.low,
        measured.high,
        sentence=sentence,
        facts=Facts(facts, numbers=True),
        alerts=alerts,
        remark=remark,
        confidence=getattr(measured, "confidence", 0.95),
        source=source,
        scale=auc_scale(name, measured.auc, measured.low, measured.high),
    )


def worries(texts: Sequence[str], parameter: Callable[[Fix], str] = str) -> Alerts:
    """What to worry about in a table and its model; `parameter` returns how an option is shown."""
    return Alerts(WORRIES, all_noticed(texts, parameter), QUIET)
