"""The protocol (the values of `paper.toml`, some replaced by options of the command), and its plan of runs."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from vrspam._utils.names import usual_spelling
from vrspam.data.registry import set_info

Row = dict[str, Any]  # one row of results, see `vrspam.paper.run.SCHEMA`

GRID = "grid"  # replaces the name of an algorithm in runs whose result all algorithms use


@dataclass(frozen=True, order=True)
class Run:
    """One unit of work, whose result is stored completely or not at all.

    Attributes
    ----------
    set, algorithm : str
        The data set and the algorithm (`GRID` for a choice that all algorithms share).
    split : int
        The number of the split into training and test part.
    seed : int
        The seed of the split, the folds and the algorithm.
    task : str
        "choose": cross-validate the penalties; "tune": choose an algorithm's own parameter; "score": train
        and test; "convergence", "variance" and "theorem": compute the rows of that figure.
    """

    set: str
    algorithm: str
    split: int
    seed: int
    task: str = "score"

    @property
    def key(self) -> str:
        """The name of the run's file, without its suffix.

        >>> Run("german", "SOLAM", 3, 4).key
        'german.score.SOLAM.split03.seed4'
        """
        return f"{self.set}.{self.task}.{self.algorithm}.split{self.split:02d}.seed{self.seed}"


def make_plan(protocol: Protocol) -> list[Run]:
    """Return all runs of a protocol, each after the runs it needs.

    >>> from vrspam.paper.protocol import demo_protocol
    >>> plan = make_plan(demo_protocol(runs=2))
    >>> sum(run.task == "score" for run in plan)  # 2 sets, 2 runs, 10 algorithms
    40
    """
    plan: list[Run] = []
    chosen = {a.name for a in protocol.algorithms}
    for name in protocol.sets:
        first = protocol.first_seed
        plan += [Run(name, GRID, split, first + split, "choose") for split in range(protocol.runs)]
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
    """Return the runs whose rows this run reads."""
    if run.task in ("choose", "theorem"):
        return []
    needed = [Run(run.set, GRID, run.split, run.seed, "choose")]
    if run.task in ("score", "convergence") and protocol.algorithm(run.algorithm).tune:
        needed.append(Run(run.set, run.algorithm, 0, protocol.first_seed, "tune"))
    return needed


def cost(run: Run) -> float:
    """Return a rough estimate of the work, for the display of the remaining time; only ratios matter."""
    info = set_info(run.set)
    return info.n * info.d * {"choose": 2.0, "tune": 40.0, "convergence": 4.0}.get(run.task, 1.0) + 2e5


_SHARED = ("first_seed", "test_share", "folds", "scaling", "cv", "l2", "l1")


@dataclass(frozen=True)
class Algorithm:
    """One column of results; the fields are explained in `paper.toml`."""

    name: str
    estimator: str
    penalty: str
    parameters: tuple[tuple[str, Any], ...] = ()
    tune: tuple[str, tuple[float | str, ...]] | None = None
    paper: bool = False


@dataclass(frozen=True)
class ConvergenceFigure:
    sets: tuple[str, ...]
    algorithms: tuple[str, ...]
    epochs: tuple[int, ...]


@dataclass(frozen=True)
class VarianceFigure:
    sets: tuple[str, ...]
    epochs: int


@dataclass(frozen=True)
class TheoremFigure:
    sets: tuple[str, ...]
    l2: float
    theta: float
    epochs: int
    seeds: int


_FIGURES: dict[str, Any] = {"convergence": ConvergenceFigure, "variance": VarianceFigure, "theorem": TheoremFigure}


@dataclass(frozen=True)
class Protocol:
    """All settings that the results depend on.

    Examples
    --------
    >>> protocol = paper_protocol()
    >>> protocol.runs, protocol.folds, protocol.scaling
    (20, 5, 'published')
    >>> [a.name for a in protocol.algorithms if a.paper]
    ['VRSPAM-L2', 'VRSPAM-NET', 'SPAM-L2', 'SPAM-NET', 'SOLAM', 'OPAUC']
    """

    sets: tuple[str, ...]
    runs: int
    first_seed: int
    test_share: float
    folds: int
    scaling: str
    cv: str
    l2: tuple[float, ...]
    l1: tuple[float, ...]
    algorithms: tuple[Algorithm, ...]
    convergence: ConvergenceFigure
    variance: VarianceFigure
    theorem: TheoremFigure

    def __post_init__(self) -> None:
        for name in self.sets:
            set_info(name)
        if self.runs < 1:
            raise ValueError(f"runs must be at least 1, got {self.runs}.")
        scalings, cv_ways = ("published", "standardised", "unit-rows"), ("exact", "own")
        object.__setattr__(self, "scaling", usual_spelling(self.scaling, scalings))
        for name, value, known in (("scaling", self.scaling, scalings), ("cv", self.cv, cv_ways)):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}.")

    def algorithm(self, name: str) -> Algorithm:
        known = {algorithm.name: algorithm for algorithm in self.algorithms}
        if name not in known:
            raise ValueError(f"no algorithm is called {name!r}; there are {', '.join(known)}.")
        return known[name]

    def with_algorithms(self, names: Iterable[str]) -> Protocol:
        """Return the same protocol with only some of the algorithms."""
        chosen = {self.algorithm(name).name for name in names}
        return replace(self, algorithms=tuple(a for a in self.algorithms if a.name in chosen))

    def as_dict(self) -> dict[str, Any]:
        """Return the protocol as plain values, for JSON."""
        return json.loads(json.dumps(dataclasses.asdict(self)))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Protocol:
        """The inverse of `as_dict`."""
        given = _frozen(dict(values))
        given["algorithms"] = tuple(Algorithm(**a) for a in given["algorithms"])
        return cls(**given | {name: figure(**given[name]) for name, figure in _FIGURES.items()})

    def digest(self) -> str:
        """Return a short hash of the settings that all runs share; results with different digests must not be mixed."""
        return _hash([getattr(self, key) for key in _SHARED])

    def run_digest(self, algorithm: str, task: str) -> str:
        """Return a short hash of the settings of one run; a stored result counts only if its hash is the same."""
        own = [a for a in self.algorithms if a.name == algorithm]
        figure = getattr(self, task) if task in _FIGURES else None
        return _hash([self.digest(), *map(dataclasses.astuple, own), figure and dataclasses.astuple(figure)])


def paper_protocol(**changes: Any) -> Protocol:
    """Return the paper's protocol, with some fields replaced."""
    table = _settings()
    values = {key: value for key, value in table.items() if not isinstance(value, dict)} | table["figures"]
    algorithms = []
    for name, entry in table["algorithms"].items():
        tune = next(iter(entry["tune"].items())) if "tune" in entry else None
        parameters = list(entry.get("parameters", {}).items())
        algorithms.append(entry | {"name": name, "parameters": parameters, "tune": tune})
    return replace(Protocol.from_dict(values | {"algorithms": algorithms}), **changes)


def demo_protocol(**changes: Any) -> Protocol:
    """Return the same protocol for data sets that are always available; the figures show these sets too."""
    protocol = paper_protocol(**_frozen(_settings()["demo"]))
    sets = protocol.sets
    return replace(
        protocol,
        convergence=replace(protocol.convergence, sets=sets),
        variance=replace(protocol.variance, sets=sets),
        theorem=replace(protocol.theorem, sets=sets[:1]),
        **changes,
    )


@cache
def paper_cells() -> dict[tuple[str, str], tuple[float, float]]:
    """Return the paper's table: (set, algorithm) -> mean and standard deviation.

    >>> paper_cells()["german", "OPAUC"]
    (0.7978, 0.0347)
    """
    table = _settings()["table"]
    return {
        (name, column): (mean, std)
        for name, cells in table["cells"].items()
        for column, (mean, std) in zip(table["columns"], cells, strict=True)
    }


@cache
def _settings() -> dict[str, Any]:
    return tomllib.loads(files("vrspam.paper").joinpath("paper.toml").read_text("utf-8"))


def _hash(values: Any) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def _frozen(value: Any) -> Any:
    """Turn lists into tuples, at every level."""
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item) for item in value)
    return {key: _frozen(item) for key, item in value.items()} if isinstance(value, dict) else value
