"""What pytest leaves out: pages that `make docs` made, and modules whose engine is not installed."""

from importlib.util import find_spec

SPARK = ["src/vrspam/distributed/spark.py", "src/vrspam/distributed/_spark_blocks.py"]
MADE_BY_SPHINX = ["docs/_build", "docs/api", "docs/auto_examples"]
collect_ignore = [*([] if find_spec("pyspark") else SPARK), *MADE_BY_SPHINX, "docs/conf.py", "docs/name_links.py"]
