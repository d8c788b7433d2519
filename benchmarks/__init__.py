"""Ratios measured in one run, beside a peer or a floor. `python -m benchmarks [name ...]` runs them."""
