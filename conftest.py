"""What pytest leaves out where an engine is not installed: its module cannot be imported for its examples."""

from importlib.util import find_spec

SPARK = ["src/vrspam/distributed/spark.py", "src/vrspam/distributed/_spark_blocks.py"]
collect_ignore = [] if find_spec("pyspark") else SPARK
