"""When the n-th write, rename, sync or large allocation fails, the old files survive and one sentence says so.

For `train`, `report`, `predict`, `export` and `explain`, and n = 1, 2, ... until nothing fails any more.
"""

from __future__ import annotations

import errno
import os
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from laws_support import examples
from tool_data import patients, write

from vrspam.cli import main
from vrspam.tool import load_model

resource = pytest.importorskip("resource")
OLD = b"the old file"
COMMANDS = {
    "train": ("train rows.csv --target sick --features linear --folds 2 --model a.json", ["a.json"]),
    "train with a page": (
        "train rows.csv --target sick --features linear --folds 2 --model a.json --html a.html",
        ["a.json", "a.html"],
    ),
    "report": ("report rows.csv --target sick --features linear --folds 2 --html a.html", ["a.html"]),
    "predict": ("predict model.json rows.csv --out a.csv", ["a.csv"]),
    "predict, packed": ("predict model.json rows.csv --out a.csv.gz", ["a.csv.gz"]),
    "predict, Parquet": ("predict model.json rows.csv --out a.parquet", ["a.parquet"]),
    "predict, reasons": ("predict model.json broken.csv --out a.csv --top 5", ["a.csv"]),
    "export": ("export model.json --python a.py --sql a.sql --onnx a.onnx", ["a.py", "a.sql", "a.onnx"]),
    "explain": ("explain model.json --html a.html", ["a.html"]),
    "picture": ("explain model.json --picture a.svg", ["a.svg"]),
    "evaluate": ("evaluate model.json rows.csv --html a.html", ["a.html"]),
}
SLOW = ("train", "train with a page", "report")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    write(patients(120), folder / "rows.csv")
    text = (folder / "rows.csv").read_text("utf-8").splitlines()
    (folder / "broken.csv").write_text("\n".join([*text[:5], text[5] + ",1,2,3", *text[6:], ""]), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train = ["train", str(folder / "rows.csv"), "--target", "sick", "--features", "linear", "--folds", "2"]
        assert main([*train, "--model", str(folder / "model.json")]) == 0
    return folder


class Counter:
    """Counts calls of one kind, and fails at the n-th."""

    def __init__(self, n):
        self.n, self.calls = n, 0

    def __call__(self, error):
        self.calls += 1
        if self.calls == self.n:
            raise error

    @property
    def failed(self):
        return self.calls >= self.n


def counted(counter, function, error, counts=lambda *_, **__: True):
    def call(*args, **named):
        if counts(*args, **named):
            counter(error)
        return function(*args, **named)

    return call


FULL = OSError(errno.ENOSPC, "No space left on device")


@contextmanager
def failing_rename(patch, counter):
    patch.setattr(os, "replace", counted(counter, os.replace, FULL))
    yield


@contextmanager
def failing_sync(patch, counter):
    patch.setattr(os, "fsync", counted(counter, os.fsync, OSError(errno.EIO, "Input/output error")))
    yield


@contextmanager
def failing_creation(patch, counter):
    patch.setattr(os, "open", counted(counter, os.open, FULL, lambda path, flags, *_, **__: flags & os.O_CREAT))
    yield


@contextmanager
def failing_mode(patch, counter):
    patch.setattr(os, "chmod", counted(counter, os.chmod, PermissionError(errno.EPERM, "Operation not permitted")))
    yield


@contextmanager
def failing_allocation(patch, counter):
    large = 64  # numbers

    def counts(shape=0, *_, **__):
        sizes = shape if isinstance(shape, tuple) else (shape,)
        return all(isinstance(size, int | np.integer) for size in sizes) and np.prod(sizes, dtype=float) >= large

    for name in ("empty", "zeros", "ones"):
        patch.setattr(np, name, counted(counter, getattr(np, name), MemoryError("Unable to allocate"), counts))
    yield


@contextmanager
def failing_write(patch, counter):
    """No file can grow beyond a size: so does a full disk fail, for each library that writes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    sizes = [0, 1, 100, 1_000, 5_000, 20_000, 60_000, 200_000]
    if counter.n <= len(sizes):
        resource.setrlimit(resource.RLIMIT_FSIZE, (sizes[counter.n - 1], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    counter.calls = counter.n if counter.n <= len(sizes) else 0


FAULTS = {
    "rename": failing_rename,
    "sync": failing_sync,
    "creation": failing_creation,
    "mode": failing_mode,
    "allocation": failing_allocation,
    "write": failing_write,
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_old_files_survive_and_one_sentence_comes(folder, monkeypatch, capsys, name, fault):
    command, outputs = COMMANDS[name]
    monkeypatch.chdir(folder)
    before = sorted(Path().iterdir())
    most = examples(3 if name in SLOW else 9)
    for n in range(1, most + 1):
        for output in outputs:
            Path(output).write_bytes(OLD)
        counter = Counter(n)
        with monkeypatch.context() as patch, FAULTS[fault](patch, counter), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = main(command.split())
        said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("vrspam:")]
        contents = [Path(output).read_bytes() for output in outputs]
        for output in outputs:
            Path(output).unlink()
        assert sorted(Path().iterdir()) == before  # nothing is left over
        if code == 0:
            assert OLD not in contents
        else:
            assert code == 1
            assert len(said) == 1, said
            assert "unexpected" not in said[0], said
            check_survivors(folder, outputs, contents)
        if not counter.failed:
            assert code == 0
            assert n > 1 or fault == "allocation"  # each command does all of the others
            break


def check_survivors(folder, outputs, contents):
    """Old files, or whole new ones where a command has several that do not belong together."""
    if outputs != ["a.json", "a.html"]:
        assert contents == [OLD] * len(outputs)
        return
    assert OLD in contents
    model, page = contents
    assert page == OLD or page.rstrip().endswith(b"</html>")
    if model != OLD:
        (folder / "new.json").write_bytes(model)
        load_model(folder / "new.json")
        (folder / "new.json").unlink()
