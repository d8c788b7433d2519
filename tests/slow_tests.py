"""Which tests take long: `make quick` leaves them out, and `make test` runs them.

    python -m pytest -n 2 --junitxml=seconds.xml && python tests/slow_tests.py seconds.xml

writes their names into slow_tests.txt again. A test that is not in the list is taken for a quick one.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

LIST = Path(__file__).with_suffix(".txt")
ONE = 0.4  # seconds of one case from which on a test is slow
ALL = 2.0  # seconds of all cases of a test


def slow_tests(measured: Path) -> list[str]:
    """The tests, file::function, that took long."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for case in ElementTree.parse(measured).iter("testcase"):
        file = case.attrib["classname"].replace(".", "/") + ".py"
        if file.startswith("tests/"):
            seconds[f"{file}::{case.attrib['name'].partition('[')[0]}"].append(float(case.attrib["time"]))
    return sorted(name for name, each in seconds.items() if max(each) > ONE or sum(each) > ALL)


def listed() -> set[str]:
    return set(LIST.read_text("utf-8").split("\n"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path, help="what pytest wrote with --junitxml")
    LIST.write_text("\n".join(slow_tests(parser.parse_args().measured)) + "\n", "utf-8")
