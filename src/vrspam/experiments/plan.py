"""The plan: which runs there are, and which run needs the result of which."""

from __future__ import annotations

from dataclasses import dataclass

from vrspam.data.registry.entries import set_info
from vrspam.experiments.protocol import Protocol

GRID = "grid"  # stands in the place of an algorithm where the run serves all of them


@dataclass(frozen=True, order=True)
class Run:
    """One piece of work, done whole or not at all.

    Attributes
    ----------
    set, algorithm : str
        The data set and the algorithm (`GRID` for a choice that all algorithms share).
    split : int
        Which division into training and test part.
    seed : int
        Of the split, the folds and the algorithm.
    task : str
        "choose": cross-validate the penalties; "tune": choose an algorithm's own parameter; "score": train
        and test; "convergence", "variance" and "theorem": the rows of that figure.
    """

    set: str
    algorithm: str
    split: int
    seed: int
    task: str = "score"

    @property
    def key(self) -> str:
        """The run as a file name.

        >>> Run("german", "SOLAM", 3, 4).key
        'german.score.SOLAM.split03.seed4'
        """
        return f"{self.set}.{self.task}.{self.algorithm}.split{self.split:02d}.seed{self.seed}"


def make_plan(protocol: Protocol) -> list[Run]:
    """All runs of a protocol; each stands after the runs it needs.

    >>> from vrspam.experiments.protocol import demo_protocol
    >>> plan = make_plan(demo_protocol(runs=2))
    >>> sum(run.task == "score" for run in plan)  # 2 sets, 2 runs, 10 algorithms
    40
    """
    plan: list[Run] = []
    chosen = {a.name for a in protocol.algorithms}
    for name in protocol.sets:
        first = protocol.first_seed
        for split in range(protocol.runs):
            plan.append(Run(name, GRID, split, first + split, "choose"))
        plan += [Run(name, a.name, 0, first, "tune") for a in protocol.algorithms if a.tune]
        for split in range(protocol.runs):
            plan += [Run(name, a.name, split, first + split) for a in protocol.algorithms]
        if name in protocol.convergence.sets:
            plan += [Run(name, a, 0, first, "convergence") for a in protocol.convergence.algorithms if a in chosen]
        if name in protocol.variance.sets:
            plan += [Run(name, a, 0, first, "variance") for a in ("VRSPAM-L2", "SPAM-L2") if a in chosen]
        if name in protocol.theorem.sets and "VRSPAM-L2" in chosen:
            plan.append(Run(name, "VRSPAM-L2", 0, first, "theorem"))
    return plan


def needs(run: Run, protocol: Protocol) -> list[Run]:
    """The runs whose rows this one reads."""
    if run.task in ("choose", "theorem"):
        return []
    needed = [Run(run.set, GRID, run.split, run.seed, "choose")]
    if run.task in ("score", "convergence") and protocol.algorithm(run.algorithm).tune:
        needed.append(Run(run.set, run.algorithm, 0, protocol.first_seed, "tune"))
    return needed


def cost(run: Run) -> float:
    """A rough guess of the work, for the time left; only ratios matter."""
    info = set_info(run.set)
    return info.n * info.d * {"choose": 2.0, "tune": 40.0, "convergence": 4.0}.get(run.task, 1.0) + 2e5
