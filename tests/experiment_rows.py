"""Made-up results for tests: rows as runs store them, with known means, marks and disagreements."""

from __future__ import annotations

from vrspam.paper.protocol import GRID, Run, paper_protocol
from vrspam.paper.run import Store

FACTS = {"n_train": 800, "n_test": 200, "d": 24, "positive_share": 0.3}
SPLITS = 3


def about(protocol, run):
    return {
        "digest": protocol.digest(),
        "run_digest": protocol.run_digest(run.algorithm, run.task),
        "protocol": protocol.as_dict(),
        "machine": {"vrspam": "0.1.0", "python": "3.11", "processor": "<test & machine>"},
        "data": {
            "name": run.set,
            "title": f"made-up {run.set}",
            "n": 1000,
            "d": 24,
            "positives": 300,
            "files": [run.set],
            "sha256": ["0" * 64],
        },
    }


def result(auc, optimum, **more):
    row = {"kind": "result", "l2": 0.1, "l1": 0.0, "epoch": 5, "passes": 11.0, "seconds": 0.2, "objective": 0.15}
    return row | FACTS | {"gap": 1e-8, "excess": 1e-9, "nonzeros": 24, "auc": auc, "auc_exact": optimum} | more


def fill(directory, sets=("german", "splice"), far=False):
    """A directory with results of every kind: german as in the paper, splice below it, usps never run."""
    protocol = paper_protocol(sets=(*sets, "usps"), runs=SPLITS)
    store = Store(directory / "rows")

    def keep(run, rows):
        store.write(run, rows, about(protocol, run))

    levels = {"german": 0.79, "splice": 0.92}
    for name in sets:
        for split in range(SPLITS):
            best = levels[name] + 0.01 * split
            grid = [{"kind": "grid", "l2": 0.1, "l1": l1, "auc_cv": 0.8, "auc": best + 0.001} for l1 in (0.0, 0.1)]
            keep(Run(name, GRID, split, split + 1, "choose"), grid)
            for algorithm in protocol.algorithms:
                off = 0.02 if far and algorithm.name == "VRSPAM-NET" and split == 1 else 0.0
                keep(Run(name, algorithm.name, split, split + 1), [result(best - off, best)])
        for k, shown in enumerate(protocol.convergence.algorithms):
            rows = [
                result(0.9 - 0.1 / e, 0.9, epoch=e, passes=2.0 * e, seconds=0.01 * e, excess=10.0 ** -(e + k))
                | {"kind": "convergence"}
                for e in (1, 2, 4, 8)
            ]
            keep(Run(name, shown, 0, 1, "convergence"), rows)
        for shown, bound in (("VRSPAM-L2", 2.0), ("SPAM-L2", None)):
            rows = [
                {
                    "kind": "variance",
                    "epoch": e,
                    "passes": 2.0 * e,
                    "variance": 1.0 / 4**e,
                    "bound": bound,
                    "bound_rows": bound and bound / 3,
                }
                for e in (1, 2, 3)
            ]
            keep(Run(name, shown, 0, 1, "variance"), rows)
    theorem = [
        {"kind": "theorem", "epoch": e, "repeat": r, "distance": (1 + 0.2 * r) * 0.1**e, "bound": 2 * 0.3**e}
        for e in (1, 2, 3)
        for r in (0, 1)
    ]
    keep(Run(sets[0], "VRSPAM-L2", 0, 1, "theorem"), theorem)
    return protocol, store
