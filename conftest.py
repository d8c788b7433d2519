"""What pytest leaves out: pages that `make docs` made, modules without their package, and slow tests with --quick.

Processes that run tests side by side (`-n 2`) have one thread each, unless the environment says how many: threads of
several processes that wait for one core keep each other waiting, and tests take twice as long.
"""

import os
import runpy
from importlib.util import find_spec
from pathlib import Path

MADE_BY_SPHINX = ["docs/_build", "docs/api", "docs/auto_examples"]
NEEDED = {
    "dask": ["src/vrspam/distributed/*.py"],
    "matplotlib": ["src/vrspam/plotting/*.py"],
    "onnx": ["src/vrspam/export/onnx_graphs/*.py"],
    "pandas": ["src/vrspam/tool/*.py"],
    "pyspark": ["src/vrspam/distributed/spark.py", "src/vrspam/distributed/_spark_blocks.py"],
    "river": ["src/vrspam/online.py"],
    "skops": ["src/vrspam/trusted.py"],
}
if "PYTEST_XDIST_WORKER" in os.environ:  # this file is read before NumPy, which reads these when it is imported
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")

collect_ignore = [*MADE_BY_SPHINX, "docs/conf.py", "docs/name_links.py"]
collect_ignore_glob = [path for package, paths in NEEDED.items() if find_spec(package) is None for path in paths]


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out the tests that tests/slow_tests.txt names")


def pytest_collection_modifyitems(config, items):
    """Leave out slow tests, if that was asked for."""
    if not config.getoption("--quick"):
        return
    slow = runpy.run_path(str(Path(__file__).parent / "tests" / "slow_tests.py"))["listed"]()
    left_out = [item for item in items if item.nodeid.partition("[")[0] in slow]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.nodeid.partition("[")[0] not in slow]
