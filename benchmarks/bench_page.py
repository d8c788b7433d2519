"""Report pages: their size, and how long a browser takes to open them."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bench_tool import write_table
from benchmarks.common import Table
from vrspam.report.pages.report import report_page
from vrspam.tool.plan import TrainPlan
from vrspam.tool.report import make_report

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from browsing import Browser, find_chromium

ROWS, COLUMNS = 200_000, 20
# The page has loaded, its script has run, and what it drew has been painted.
PAINTED = "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def seconds_to_open(pages: list[Path], folder: Path, repeats: int = 5) -> dict[Path, float] | None:
    """Return the median seconds to open and paint each page, which take turns; None without chromium."""
    chromium = find_chromium()
    if chromium is None:
        return None
    browser = Browser(chromium, folder / "profile")
    browser.set_screen(1400)
    try:
        seconds: dict[Path, list[float]] = {page: [] for page in pages}
        for turn in range(1 + repeats):  # the first opening of a fresh browser is not counted
            for page in pages:
                start = time.perf_counter()
                browser.open(page)  # returns after the load event
                browser.run(PAINTED)
                if turn:
                    seconds[page].append(time.perf_counter() - start)
    finally:
        browser.close()
    return {page: statistics.median(values) for page, values in seconds.items()}


def main() -> None:
    table = Table("The report page")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many, wide = folder / "many_rows.html", folder / "many_columns.html"
        write_table(folder / "many_rows.csv", ROWS)
        report = make_report(folder / "many_rows.csv", "sick", "yes", plan=TrainPlan(features="additive"), by=["town"])
        report_page(report, data_name="many_rows.csv").write(many)
        write_table(folder / "many_columns.csv", 5_000, numbers=COLUMNS - 1)
        report = make_report(folder / "many_columns.csv", "sick", "yes", by=["town"])  # every map, so interactions too
        report_page(report, data_name="many_columns.csv").write(wide)
        opened = seconds_to_open([many, wide], folder)
        for page, what, most in ((many, f"{ROWS:,} rows", 5.0), (wide, f"{COLUMNS} columns", 3.0)):
            table.at_most(f"report page of {what}, MB", page.stat().st_size / 1e6, most)
            if opened is None:
                table.row(f"report page of {what}, seconds to open", "skipped: no chromium is installed")
            else:
                table.at_most(f"report page of {what}, seconds until Chromium has painted it", opened[page], 2.0)
