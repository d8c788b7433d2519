"""What `report` prints: the first screen of its page, groups that differ, and other models beside this one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix
from vrspam.report.blocks import Bullets, Shown, Subheading
from vrspam.report.pages.report import first_screen
from vrspam.report.sections.beside import others_beside
from vrspam.report.words.groups import describe_unlike

if TYPE_CHECKING:
    from vrspam.tool.report import Report


def summary_of_report(report: Report, parameter: Callable[[Fix], str] = str) -> list[Shown]:
    """The AUC to expect on new rows, what to worry about, groups that differ, and how other models compare."""
    blocks: list[Shown] = [replace(first_screen(report, parameter), remark="")]
    if report.groups:
        blocks.append(Bullets(describe_unlike(report.groups)))
    if report.beside is not None:
        grouped = report.evaluation.groups is not None
        beside = others_beside(report.model.outcome, report.beside, grouped)
        blocks.append(Subheading(beside.heading, beside.blocks))
    return blocks
