"""What pytest leaves out: pages that `make docs` made, and modules whose package is not installed."""

from importlib.util import find_spec

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
collect_ignore = [*MADE_BY_SPHINX, "docs/conf.py", "docs/name_links.py"]
collect_ignore_glob = [path for package, paths in NEEDED.items() if find_spec(package) is None for path in paths]
