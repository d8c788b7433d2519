"""The paper's experiments: the protocol, its runs, their stored rows, and the published results (`vrspam.paper`)."""

# ruff: noqa: F401 (all that is imported is for others)
from vrspam.paper.protocol import Protocol, Run, demo_protocol, make_plan, paper_cells, paper_protocol
from vrspam.paper.publish import publish, summarise
from vrspam.paper.run import read_all, run_experiment

__all__ = [name for name in dir() if not name.startswith("_")]
