"""Times as ratios within one run, to another library or to the least work: `python -m benchmarks [name ...]`."""
