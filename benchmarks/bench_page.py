"""Report pages: their size, and how long a browser takes to open them."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.bench_tool import write_table
from benchmarks.common import Table
from vrspam.report.sections import report_page
from vrspam.tool.plan import TrainPlan
from vrspam.tool.report import make_report

ROWS, COLUMNS = 200_000, 20
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
# The page has loaded, its script has run, and what it drew has been painted.
PAINTED = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"


def seconds_to_open(pages: list[Path], folder: Path, repeats: int = 5) -> dict[Path, float] | None:
    """Return the median seconds to open and paint each page, which take turns; None without chromium."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        return None
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in [*FLAGS, f"--user-data-dir={folder / 'profile'}", "--window-size=1400,900"]:
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        seconds: dict[Path, list[float]] = {page: [] for page in pages}
        for turn in range(1 + repeats):  # the first opening of a fresh browser is not counted
            for page in pages:
                browser.get("about:blank")
                start = time.perf_counter()
                browser.get(page.as_uri())  # returns after the load event
                browser.execute_async_script(PAINTED)
                if turn:
                    seconds[page].append(time.perf_counter() - start)
    finally:
        browser.quit()
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
                table.row(f"report page of {what}, seconds to open", "skipped: chromium or chromedriver is missing")
            else:
                table.at_most(f"report page of {what}, seconds until Chromium has painted it", opened[page], 2.0)
