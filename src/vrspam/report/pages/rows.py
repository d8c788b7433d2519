"""What more rows would bring, on one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix
from vrspam.report.first_screen import worries
from vrspam.report.page import Page
from vrspam.report.sections.more_rows import more_rows, rows_needed

if TYPE_CHECKING:
    from vrspam.tool.learning import MoreRows


def rows_page(
    more: MoreRows, *, data_name: str, asked: Sequence[str] = (), parameter: Callable[[Fix], str] = str
) -> Page:
    """The learning curve of a table; `asked` are sentences of `describe_needed`."""
    summary = f"{more.curve.total:,} rows, {more.positives:,} positive."
    page = Page(f"{data_name}: how many more rows?", summary, headline=worries(more.notes, parameter))
    page.put(more_rows(more.curve, more.lines, fold=False))
    page.put(rows_needed(asked))
    return page
