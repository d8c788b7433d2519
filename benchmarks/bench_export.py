"""Exported ONNX graphs on every set at hand: how far scores are from ours, and the time of onnxruntime beside ours."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from scipy import sparse

from benchmarks.common import interleaved
from vrspam import AUCClassifierCV
from vrspam.data import available, load
from vrspam.export import to_onnx
from vrspam.features import StackedFeatures, TreeFeatures
from vrspam.features.encoders import places_of

TRAINED, SCORED = 1_500, 2_000  # rows
WIDEST = 1_000  # columns, beyond which only the columns themselves are scored
MODELS: dict[str, Any] = {
    "linear": "linear",
    "additive": "additive",
    "kernel": "kernel 1",
    "kernel alone": "kernel alone 0.3",
    "trees": "trees 4",
    "blend": ["additive", "kernel 1", "trees 4"],
}
SINGLE, DOUBLE = 1e-5, 1e-12
MANY_ENTRIES = 20_000_000  # of a dense matrix of the rows that are scored


def split_rows(X: Any, y: np.ndarray, wide: bool) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows to train on, drawn so that both classes are there, and rows to score, as a dense array."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    positive = order[y[order] == 1]
    least = positive[:100]
    train = np.union1d(order[:TRAINED], least)
    scored = order[-min(SCORED, MANY_ENTRIES // X.shape[1]) :]
    dense = X[scored].toarray() if sparse.issparse(X) else X[scored]
    rows = X[train].toarray() if sparse.issparse(X) and not wide else X[train]
    return rows, y[train], np.ascontiguousarray(dense, dtype=np.float64)


def beyond_rounding(model: AUCClassifierCV, X: np.ndarray) -> np.ndarray:
    """Rows that are on the same side of all thresholds of trees when they are rounded to float32."""
    maps = model.features_.maps_ if isinstance(model.features_, StackedFeatures) else [model.features_]
    same = np.ones(len(X), dtype=bool)
    for part in maps:
        if isinstance(part, TreeFeatures):
            places, rounded = (places_of(part.encoders_, rows)[0] for rows in (X, X.astype(np.float32)))
            same &= (places == rounded).all(axis=1)
    return same


class Measurement(NamedTuple):
    """Largest difference of scores ÷ their spread, rows excepted, time ÷ ours, and the type of the input."""

    difference: float
    excepted: int
    time: float
    kind: str


def measure(model: AUCClassifierCV, X: np.ndarray, dtype: str) -> Measurement:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = to_onnx(model, dtype=dtype).SerializeToString()
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    (one,) = session.get_inputs()
    single = one.type == "tensor(float)"
    feeds = {one.name: X.astype(np.float32 if single else np.float64)}
    expected = model.decision_function(X)
    same = beyond_rounding(model, X) if single else np.ones(len(X), dtype=bool)
    spread = float(expected.std()) or 1.0
    found = float(np.abs(session.run(["score"], feeds)[0] - expected)[same].max()) / spread
    seconds = interleaved(
        {"theirs": lambda: session.run(["score"], feeds), "ours": lambda: model.decision_function(X)}, repeats=5
    )
    kind = "float32" if single else "float64"
    return Measurement(found, int((~same).sum()), seconds["theirs"] / seconds["ours"], kind)


class Measured(NamedTuple):
    """One model on one set, in both precisions."""

    data: str
    model: str
    rows: int
    single: Measurement
    double: Measurement

    @property
    def reached(self) -> bool:
        return self.single.difference <= SINGLE and self.double.difference <= DOUBLE


def print_head(columns: list[str]) -> None:
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|", flush=True)


def measure_set(name: str) -> Iterator[Measured]:
    """All models on one set."""
    data = load(name)
    wide = data.X.shape[1] > WIDEST
    X, y, scored = split_rows(data.X, data.y, wide)
    for title, features in MODELS.items():
        if wide and features != "linear":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            selection = "blend" if isinstance(features, list) else "best"
            model = AUCClassifierCV(features=features, selection=selection, cv=2, random_state=0).fit(X, y)
            single, double = (measure(model, scored, dtype) for dtype in ("float32", "float64"))
        yield Measured(name, title, len(scored), single, double)


def print_summary(found: list[Measured]) -> None:
    """The worst of each model over all sets, and the median of the times."""
    print("\nOver all sets:\n")
    columns = ["model", "sets", "float32: largest difference ÷ spread", "float64 input in", "rows excepted"]
    print_head([*columns, "float64: largest difference ÷ spread", "float32: time ÷ ours", "float64: time ÷ ours"])
    for title in MODELS:
        of = [one for one in found if one.model == title]
        if not of:
            continue
        single, double = [one.single for one in of], [one.double for one in of]
        print(
            f"| {title} | {len(of)} | {max(one.difference for one in single):.1e} "
            f"| {sum(one.kind == 'float64' for one in single)} "
            f"| {sum(one.excepted for one in single)} of {sum(one.rows for one in of):,} "
            f"| {max(one.difference for one in double):.1e} | {median(one.time for one in single):.1f} "
            f"| {median(one.time for one in double):.1f} |",
            flush=True,
        )


def main(names: list[str] | None = None) -> None:
    print("\n## export: ONNX graphs, scores and time beside ours\n")
    columns = ["set", "model", "float32: difference ÷ spread", "input", "rows excepted", "float64: difference ÷ spread"]
    print_head([*columns, "float32: time ÷ ours", "float64: time ÷ ours", ""])
    found: list[Measured] = []
    for entry in available():
        if entry["where"] == "download" or (names and entry["name"] not in names):
            continue
        for one in measure_set(entry["name"]):
            found.append(one)
            single, double = one.single, one.double
            print(
                f"| {one.data} | {one.model} | {single.difference:.1e} | {single.kind} "
                f"| {single.excepted} of {one.rows} | {double.difference:.1e} | {single.time:.2f} | {double.time:.2f} "
                f"| {'ok' if one.reached else 'MISSED'} |",
                flush=True,
            )
    print_summary(found)


if __name__ == "__main__":
    main(sys.argv[1:])
