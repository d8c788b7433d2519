"""The paper's experiments: the protocol, its runs, their stored rows, what is published of them (`vrspam.paper`)."""

from vrspam.paper.protocol import Protocol, Run, demo_protocol, make_plan, paper_cells, paper_protocol
from vrspam.paper.publish import publish, summarise
from vrspam.paper.run import run_experiment
from vrspam.paper.store import read_all

__all__ = [
    "Protocol",
    "Run",
    "demo_protocol",
    "make_plan",
    "paper_cells",
    "paper_protocol",
    "publish",
    "read_all",
    "run_experiment",
    "summarise",
]
