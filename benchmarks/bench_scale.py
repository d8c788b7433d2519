"""Fits of files relative to only reading them, peak memory at two file sizes, and Dask relative to a local fit."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import ROOT, Table, interleaved
from vrspam import AUCClassifier
from vrspam.data import read_chunks

COLUMNS = 50
PARQUET_BYTES = int(float(os.environ.get("VRSPAM_BENCH_GB", "2")) * 1e9)
GROUP_ROWS = 100_000


def labelled(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((rows, COLUMNS))
    return X, (X[:, 0] + X[:, 1] + 2.0 * rng.standard_normal(rows) > 2.0).astype(np.int64)


def write_parquet(path: Path) -> int:
    """Write a file of about PARQUET_BYTES: 50 float64 columns that do not compress, and a label; return its rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    groups = max(1, PARQUET_BYTES // (GROUP_ROWS * COLUMNS * 8))
    names = [f"x{j}" for j in range(COLUMNS)]
    writer = None
    for _ in range(groups):
        X, y = labelled(rng, GROUP_ROWS)
        table = pa.table({**{name: X[:, j] for j, name in enumerate(names)}, "y": y})
        writer = writer or pq.ParquetWriter(path, table.schema, compression="snappy", use_dictionary=["y"])
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return groups * GROUP_ROWS


def parquet(table: Table, path: Path) -> None:
    import pyarrow.parquet as pq

    rows = write_parquet(path)

    def read_only() -> None:
        for _ in pq.ParquetFile(path).iter_batches(batch_size=GROUP_ROWS):
            pass

    seconds = interleaved(
        {"read": read_only, "fit": lambda: AUCClassifier().fit_stream(read_chunks(path, target="y"))}, repeats=3
    )
    note = f"({path.stat().st_size / 1e9:.1f} GB, {rows / seconds['fit'] / 1e6:.2f} M rows/s)"
    table.at_most("fit_stream on Parquet ÷ pyarrow reading it", seconds["fit"] / seconds["read"], 2.5, note)


def peak_megabytes(paths: list[Path]) -> float:
    program = """
import re, sys
from vrspam import AUCClassifier
from vrspam.data import read_chunks
AUCClassifier().fit_stream(read_chunks(sys.argv[1:], target="y"))
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024)
"""
    command = [sys.executable, "-c", program, *map(str, paths)]
    return float(subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout)


def memory(table: Table, path: Path) -> None:
    once, twice = peak_megabytes([path]), peak_megabytes([path, path])
    note = f"({once:.0f} MB, {twice:.0f} MB)"
    table.at_most("peak RSS, twice the Parquet input ÷ once", twice / once, 1.1, note)


def csv(table: Table, folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv

    X, y = labelled(np.random.default_rng(1), 300_000)
    path = folder / "rows.csv"
    columns = {**{f"x{j}": X[:, j] for j in range(COLUMNS)}, "y": y}
    pa.csv.write_csv(pa.table(columns), path)

    def read_only() -> None:
        with pa.csv.open_csv(path) as reader:
            for _ in reader:
                pass

    seconds = interleaved(
        {"read": read_only, "fit": lambda: AUCClassifier().fit_stream(read_chunks(path, target="y"))}, repeats=5
    )
    note = f"({path.stat().st_size / 1e6:.0f} MB, {seconds['fit']:.2f} s / {seconds['read']:.2f} s)"
    table.at_most("fit_stream on CSV ÷ pyarrow reading it", seconds["fit"] / seconds["read"], 1.5, note)


def libsvm(table: Table, folder: Path) -> None:
    from scipy import sparse
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    rng = np.random.default_rng(2)
    X = sparse.random_array((60_000, 300), density=0.1, format="csr", rng=rng)
    path = folder / "rows.svm"
    dump_svmlight_file(X, rng.integers(0, 2, 60_000), str(path), zero_based=False)
    seconds = interleaved(
        {
            "read": lambda: load_svmlight_file(str(path)),
            "fit": lambda: AUCClassifier().fit_stream(read_chunks(path, n_features=300)),
        },
        repeats=5,
    )
    note = f"({path.stat().st_size / 1e6:.0f} MB, {seconds['fit']:.2f} s / {seconds['read']:.2f} s)"
    table.at_most("fit_stream on LIBSVM text ÷ scikit-learn's parser", seconds["fit"] / seconds["read"], 1.3, note)


def dask_blocks(table: Table) -> None:
    """Compare 2,000,000 × 100 float32 in 200 blocks on two workers with the same rows in one process."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    from vrspam.distributed import DaskAUCClassifier

    blocks, d = 200, 100

    def spread(rows: int):
        X = da.random.default_rng(0).standard_normal((blocks * rows, d), chunks=(rows, d), dtype=np.float32).persist()
        return X, (X[:, 0] + X[:, 1] > 1.0).astype(np.int8).persist()

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        X, y = spread(10_000)
        few = spread(100)
        local_X, local_y = X.compute(), y.compute()
        local, distributed = AUCClassifier().fit(local_X, local_y), DaskAUCClassifier().fit(X, y)
        seconds = interleaved(
            {
                "local": lambda: AUCClassifier().fit(local_X, local_y),
                "dask": lambda: DaskAUCClassifier().fit(X, y),
                "nothing": lambda: DaskAUCClassifier().fit(*few),
            },
            repeats=3,
        )
    error = float(np.linalg.norm(distributed.coef_ - local.coef_) / np.linalg.norm(local.coef_))
    table.row(
        "Dask on 2 workers ÷ local fit, 2,000,000 × 100 float32, 200 blocks",
        f"{seconds['dask'] / seconds['local']:.2f} ({seconds['dask']:.2f} s / {seconds['local']:.2f} s)",
    )
    table.row("Dask's overhead per block (200 blocks of 100 rows)", f"{1e3 * seconds['nothing'] / blocks:.1f} ms")
    table.at_most("its coefficients against the local ones, relative", error, 1e-5, "(float32 blocks cut differently)")


def main() -> None:
    table = Table("data of any size")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parquet(table, folder / "rows.parquet")
        memory(table, folder / "rows.parquet")
        csv(table, folder)
        libsvm(table, folder)
    dask_blocks(table)
