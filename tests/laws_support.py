"""How many examples a law draws: few in `make test`, many in `make fuzz`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

BATCH = 9  # after ten examples Hypothesis draws mutations of what it has drawn, which are much alike


def examples(usual: int) -> int:
    """`usual` examples, times the factor in the environment variable VRSPAM_LAWS, 1 unless it is set."""
    factor = float(os.environ.get("VRSPAM_LAWS", "1"))
    return max(1, round(usual * factor))


def simulation_seed() -> int:
    """The seed of rows that a law draws itself: the same in each `make test`, so a red run is a change of the code.

    VRSPAM_SEED, which `make fuzz` prints, gives others.
    """
    return int(os.environ.get("VRSPAM_SEED", "0"))


def batches(usual: int) -> list[int]:
    """Seeds of `usual` batches, times the factor; VRSPAM_SEED gives others."""
    first = 1_000 * simulation_seed()
    return list(range(first, first + examples(usual)))


def draw_batch(number: int, strategy: st.SearchStrategy[Any], check: Callable[[Any], None], most: int = BATCH) -> None:
    """Check at most `most` examples of a strategy, drawn with the seed of the batch: for examples that take seconds."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    few = settings(max_examples=most, print_blob=True, deadline=None, suppress_health_check=slow)
    few(seed(number)(given(strategy)(check)))()
