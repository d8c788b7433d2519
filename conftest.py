"""What pytest leaves out where a package is not installed: modules that cannot be imported for their examples."""

from importlib.util import find_spec

NEEDED = {
    "dask": ["src/vrspam/distributed/*.py"],
    "matplotlib": ["src/vrspam/plotting/*.py"],
    "onnx": ["src/vrspam/export/onnx_graphs/*.py"],
    "pandas": ["src/vrspam/tool/*.py"],
    "pyspark": ["src/vrspam/distributed/spark.py", "src/vrspam/distributed/_spark_blocks.py"],
    "river": ["src/vrspam/online/*.py"],
    "skops": ["src/vrspam/trusted.py"],
}
collect_ignore_glob = [path for package, paths in NEEDED.items() if find_spec(package) is None for path in paths]
