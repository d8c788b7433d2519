"""Importing this module makes a process ready for runs: their modules are imported, and compiled code is loaded.

The processes that do runs are forked from one that has imported it (`processes.py`); nobody else needs it.
"""

from __future__ import annotations

from contextlib import suppress

from vrspam._utils.collector import without_collector

with without_collector():
    import vrspam.kernels  # noqa: F401
    from vrspam.experiments import run  # noqa: F401
    from vrspam.experiments.protocol import demo_protocol
    from vrspam.experiments.tasks import build, warm_up

    with suppress(Exception):  # a run that needs it meets the same error, and says so
        for algorithm in demo_protocol().algorithms:
            warm_up(build(algorithm, l2=1.0, l1=0.1, seed=0))
