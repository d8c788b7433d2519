"""Data by name: the registry, the search for files, the checked download."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_svmlight_file

from vrspam.data import DataError, available, cache_directory, load
from vrspam.data import registry as named
from vrspam.data.registry import FileInfo, SetInfo, file_registry, registry

HERE = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("VRSPAM_DATA") or HERE.parent.parent / "shared" / "data")
needs_shared = pytest.mark.skipif(
    not (SHARED / "a9a.xz").is_file(), reason="no data directory: set VRSPAM_DATA to one to run this"
)

TEXT = b"".join(b"%d 1:%d.5 3:2\n" % (label, i) for i, label in enumerate([1, 2, 3, 4, 2, 1, 1]))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("VRSPAM_DATA", raising=False)


def toy_file(**changes):
    entry: dict[str, Any] = {
        "name": "toy",
        "n": 7,
        "d": 3,
        "url": "http://127.0.0.1:9/toy",
        "sha256": hashlib.sha256(TEXT).hexdigest(),
        "publisher_bytes": True,
        "labels": {1: 3, 2: 2, 3: 1, 4: 1},
    }
    return FileInfo(**(entry | changes))


def use(monkeypatch, *files, **changes):
    """Make `load("toy")` mean these files."""
    entry: dict[str, Any] = {
        "name": "toy",
        "title": "toy",
        "n": 7,
        "d": 3,
        "positives": 3,
        "positive": "even",
    } | changes
    monkeypatch.setattr(named, "set_info", lambda name: SetInfo(files=files, **entry))


# --- what scikit-learn ships -------------------------------------------------------------------------------


def test_scikit_learn_sets_are_always_there():
    X, y = load("breast-cancer")
    expected_X, target = load_breast_cancer(return_X_y=True)
    np.testing.assert_array_equal(X, expected_X)
    np.testing.assert_array_equal(y, 2 * target - 1)
    X, y = load("digits")
    expected_X, target = load_digits(return_X_y=True)
    np.testing.assert_array_equal(X, expected_X)
    np.testing.assert_array_equal(y == 1, np.isin(target, [0, 2, 4, 6, 8]))


def test_positive_labels_can_be_chosen():
    target = load_digits().target
    np.testing.assert_array_equal(load("digits", positive=4).y == 1, target == 4)
    np.testing.assert_array_equal(load("digits", positive=[0, 7]).y == 1, (target == 0) | (target == 7))
    bad: Any
    for bad in (17, [], range(10)):
        with pytest.raises(DataError, match="two classes"):
            load("digits", positive=bad)


def test_sparse_can_be_chosen():
    dense, sparse = load("digits"), load("digits", sparse=True)
    assert isinstance(dense.X, np.ndarray)
    assert sp.issparse(sparse.X)
    np.testing.assert_array_equal(sp.csr_matrix(sparse.X).toarray(), dense.X)


def test_registry_agrees_with_itself():
    for info in registry().values():
        assert info.sklearn or info.files
        for file in info.files:
            assert file.url or file.scaled_from
            assert file.labels is None or sum(file.labels.values()) == file.n
    used = {file.name for info in registry().values() for file in info.files}
    assert used == set(file_registry())
    rows = {row["name"]: row for row in available()}
    paper_rows = {"diabetes": 768, "german": 1000, "splice": 3175, "usps": 9298, "a9a": 32561, "w8a": 64700}
    paper_rows |= {"mnist": 60000, "acoustic": 78823, "ijcnn1": 141691}
    assert {name: row["n"] for name, row in rows.items() if row["paper"]} == paper_rows
    assert rows["digits"]["where"] == "scikit-learn"
    assert rows["a9a"]["where"] == "download"
    assert rows["digits"]["positives"] == (load("digits").y == 1).sum()


# --- files on this machine ---------------------------------------------------------------------------------


@pytest.mark.parametrize("packing", PACKERS)
def test_own_directory_any_packing(tmp_path, monkeypatch, packing):
    use(monkeypatch, toy_file())
    (tmp_path / f"toy{packing}").write_bytes(PACKERS[packing](TEXT))
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path))
    data = load("toy", allow_download=False)
    X, labels = load_svmlight_file(io.BytesIO(TEXT), n_features=3)
    np.testing.assert_array_equal(data.X, X.toarray())
    np.testing.assert_array_equal(data.y, np.where(labels % 2 == 0, 1, -1))
    assert data.sha256 == (hashlib.sha256(TEXT).hexdigest(),)
    assert data.source == (str(tmp_path / f"toy{packing}"),)


def test_files_are_joined_scaled_and_padded(tmp_path, monkeypatch):
    second = b"1 1:4\n2 2:8\n"
    other = toy_file(name="toy.t", n=2, d=2, labels={1: 1, 2: 1}, sha256=hashlib.sha256(second).hexdigest())
    use(monkeypatch, toy_file(), other, divide_by=4.0, d=5)
    (tmp_path / "toy").write_bytes(TEXT)
    (tmp_path / "toy.t").write_bytes(second)
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path))
    data = load("toy")
    assert data.rows == (7, 2)
    assert data.X.shape == (9, 5)
    np.testing.assert_array_equal(data.X[7:], [[1, 0, 0, 0, 0], [0, 2, 0, 0, 0]])


def test_own_directory_comes_before_the_cache(tmp_path, monkeypatch):
    use(monkeypatch, toy_file())
    cache_directory().mkdir(parents=True)
    (cache_directory() / "toy").write_bytes(TEXT)
    assert load("toy").source == (str(cache_directory() / "toy"),)
    (tmp_path / "toy").write_bytes(TEXT)
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path))
    assert load("toy").source == (str(tmp_path / "toy"),)


@pytest.mark.parametrize(
    ("packing", "spoil", "message"),
    [
        ("", lambda b: b[:-20], "not toy as it was published: its text has 5 lines"),
        ("", lambda b: b.replace(b"2.5", b"2.6"), "sha256"),
        (".gz", lambda b: b[:-12], "cut off or damaged"),
        (".bz2", lambda b: b[:-12], "cut off or damaged"),
        (".xz", lambda b: b[:-12], "cut off or damaged"),
        (".xz", lambda b: b[:30] + b"\0\0" + b[32:], "cut off or damaged"),
    ],
)
def test_damaged_file(tmp_path, monkeypatch, packing, spoil, message):
    use(monkeypatch, toy_file())
    (tmp_path / f"toy{packing}").write_bytes(spoil(PACKERS[packing](TEXT)))
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path))
    with pytest.raises(DataError, match=message) as caught:
        load("toy")
    assert "delete it and load again" in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace(b"2.5", b"2.6"), None),  # other digits are no fault where our copy was rebuilt
        (TEXT[: 5 * len(TEXT) // 7], "5 rows, 3 features"),
        (TEXT[:-20], "cut off"),
        (TEXT.replace(b"3:2", b"4:2"), "7 rows, 4 features"),
        (TEXT.replace(b"\n4 ", b"\n2 "), r"labels \{1: 3, 2: 3, 3: 1\}"),
        (b"not at all\n", "not LIBSVM text"),
    ],
)
def test_rebuilt_file_is_checked_by_counts(tmp_path, monkeypatch, text, message):
    use(monkeypatch, toy_file(publisher_bytes=False))
    (tmp_path / "toy").write_bytes(text)
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path))
    if message is None:
        assert load("toy").sha256 == (hashlib.sha256(text).hexdigest(),)
    else:
        with pytest.raises(DataError, match=message):
            load("toy")


GARBAGE = {
    "random": np.random.default_rng(0).bytes(4000),
    "zeros": b"\0" * 1000,
    "nothing": b"",
    "a long line": b"x" * 100_000,
    "a page": b"<html>\n<body>404\n",
    "an archive": b"PK\x03\x04" + b"\xff" * 200,
    "labels without end": b"inf 1:2\n1 1:1\n",
    "labels that are none": b"nan 1:2\n1 1:1\n",
    "an index beyond all bounds": b"1 99999999999999999999:1\n",
    "a value without end": TEXT.replace(b"2.5", b"inf"),
    "half labels": TEXT.replace(b"\n4 ", b"\n4.5 "),
    "Latin-1": "größe\n".encode("latin-1"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", GARBAGE)
@pytest.mark.parametrize("format", ["libsvm", "npz", "columns"])
def test_garbage_is_one_short_sentence(tmp_path, monkeypatch, format, kind):
    name = "toy" if format == "libsvm" else f"published.{format}"
    use(monkeypatch, toy_file(publisher_bytes=False, format=format, url=f"http://127.0.0.1:9/{name}"))
    (tmp_path / name).write_bytes(GARBAGE[kind])
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path))
    with pytest.raises(DataError) as caught:
        load("toy")
    sentence = str(caught.value).replace(str(tmp_path), "")
    assert sentence.startswith(f"/{name} ")
    assert sentence.endswith("; delete it and load again, or put the right file in its place")
    assert sentence.isascii()
    assert sentence.isprintable()
    assert "\\x" not in sentence
    assert len(sentence) < 200


def test_publishers_formats(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 4)), np.arange(20) % 5 == 0
    np.savez(tmp_path / "9_toy.npz", X=X, y=y.astype(int))
    np.savetxt(tmp_path / "toy.trn", np.column_stack([np.round(100 * X), 3 + y]), fmt="%d")
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path))
    npz = toy_file(url="http://127.0.0.1:9/9_toy.npz", format="npz", publisher_bytes=False, n=20, d=4)
    use(monkeypatch, FileInfo(**(vars(npz) | {"labels": {-1: 16, 1: 4}})), positive="larger", d=4)
    data = load("toy")
    np.testing.assert_allclose(data.X, X, rtol=1e-15)  # written with 16 digits
    np.testing.assert_array_equal(data.y, 2 * y - 1)
    columns = toy_file(url="http://127.0.0.1:9/toy.trn", format="columns", publisher_bytes=False, n=20, d=4)
    use(monkeypatch, FileInfo(**(vars(columns) | {"labels": {3: 16, 4: 4}})), d=4)
    data = load("toy")
    np.testing.assert_array_equal(data.X, np.round(100 * X))
    np.testing.assert_array_equal(data.y, 2 * y - 1)
    (tmp_path / "9_toy.npz").write_bytes((tmp_path / "9_toy.npz").read_bytes()[:100])
    use(monkeypatch, npz)
    with pytest.raises(DataError, match="cut off or damaged"):
        load("toy")


def test_clear_sentences(monkeypatch, tmp_path):
    with pytest.raises(DataError, match="did you mean 'mnist'"):
        load("minst")
    with pytest.raises(DataError, match=r"acoustic is not on this machine.*acoustic\.bz2.*VRSPAM_DATA"):
        load("acoustic", allow_download=False)
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="which is not a directory"):
        load("a9a")


# --- the download ------------------------------------------------------------------------------------------


released = threading.Event()  # set when the tests let slow answers end


class Answers(BaseHTTPRequestHandler):
    """Answer each path in its own way."""

    def do_GET(self):
        body = bz2.compress(TEXT)
        kind = self.path.split("/")[1]
        if kind == "missing":
            return self.send_error(404)
        if kind == "wrong":
            body = bz2.compress(TEXT.replace(b"2.5", b"2.6"))
        self.send_response(200)
        if kind != "unsized":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if kind == "truncated":
            body = body[:-9]
        if kind == "slow":
            self.wfile.write(body[:9])
            self.wfile.flush()
            released.wait(10)
            body = b""
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    released.clear()
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.02))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    released.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("kind", ["good", "unsized"])
def test_download_once_then_from_the_cache(server, monkeypatch, capsys, kind):
    use(monkeypatch, toy_file(url=f"{server}/{kind}/toy.bz2"))
    first = load("toy")
    assert first.source == (f"{server}/{kind}/toy.bz2",)
    assert "download toy.bz2" in capsys.readouterr().err
    assert [path.name for path in cache_directory().iterdir()] == ["toy"]
    assert (cache_directory() / "toy").read_bytes() == TEXT
    second = load("toy", allow_download=False)
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("missing", "the server answers 404"),
        ("truncated", "closed before the whole file"),
        ("wrong", "not toy as it was published.*nothing was kept"),
        ("slow", r"nothing came for 0\.2 seconds"),
    ],
)
def test_failed_download_keeps_nothing(server, monkeypatch, kind, message):
    use(monkeypatch, toy_file(url=f"{server}/{kind}/toy.bz2"))
    with pytest.raises(DataError, match=message) as caught:
        load("toy", timeout=0.2, progress=False)
    assert "put toy.bz2 into the directory that VRSPAM_DATA names" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(cache_directory().iterdir()) == []


def test_no_network(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as closed:
        url = f"http://127.0.0.1:{closed.server_address[1]}/toy"
    use(monkeypatch, toy_file(url=url))
    with pytest.raises(DataError, match="no connection"):
        load("toy", progress=False)
    assert list(cache_directory().iterdir()) == []


def test_several_at_once_leave_one_whole_file(server, monkeypatch):
    use(monkeypatch, toy_file(url=f"{server}/good/toy.bz2"))
    failures = []

    def work():
        try:
            load("toy", progress=False)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert (cache_directory() / "toy").read_bytes() == TEXT
    assert [path.name for path in cache_directory().iterdir()] == ["toy"]


@pytest.mark.parametrize("with_rich", [True, False])
def test_progress_names_share_rate_and_time_left(with_rich, monkeypatch, capsys):
    from vrspam._utils import progress

    if not with_rich:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    clock = iter(np.arange(0.0, 100.0, 2.0))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with progress.Progress("reading", 1000, "rows") as bar:
        bar.update(250, 5000)
    shown = capsys.readouterr().err
    assert "reading" in shown
    assert "25 %" in shown
    assert "rows/s" in shown
    assert "left" in shown
    assert ("━" in shown) == with_rich
    assert shown.count("\n") == 1


# --- the data directory, where there is one ----------------------------------------------------------------


@needs_shared
@pytest.mark.parametrize("name", [row for row, info in registry().items() if info.files and info.n < 50000])
def test_shared_sets_are_what_the_registry_says(name, monkeypatch):
    info = registry()[name]
    missing = [f.name for f in info.files if not (SHARED / f"{f.name}.xz").is_file()]
    if missing:
        pytest.skip(f"{missing[0]} is not in the data directory")
    monkeypatch.setenv("VRSPAM_DATA", str(SHARED))
    data = load(name, allow_download=False)
    assert data.X.shape == (info.n, info.d)
    assert int((data.y == 1).sum()) == info.positives
    assert data.sha256 == tuple(file.sha256 for file in info.files)
    text = lzma.decompress((SHARED / f"{info.files[0].name}.xz").read_bytes())
    X, labels = load_svmlight_file(io.BytesIO(text), n_features=info.d)
    row = data.X[5] if isinstance(data.X, np.ndarray) else data.X[5].toarray().ravel()
    np.testing.assert_allclose(row, X[5].toarray().ravel() / info.divide_by, rtol=1e-15)
    assert Counter(labels.astype(int)) == info.files[0].labels


@needs_shared
def test_splice_test_rows_are_scaled_as_svm_scale_does(tmp_path, monkeypatch):
    """splice_scale.t is not published, so it is computed from splice.t with the ranges of splice."""
    monkeypatch.setenv("VRSPAM_DATA", str(SHARED))
    expected = load("splice")
    for name in ("splice.xz", "splice.t.xz", "splice_scale.xz"):
        (tmp_path / name).symlink_to(SHARED / name)
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path))
    made = load("splice", allow_download=False)
    np.testing.assert_array_equal(made.X, expected.X)
    np.testing.assert_array_equal(made.y, expected.y)


@needs_shared
def test_clean_w8a_is_the_first_part(monkeypatch):
    monkeypatch.setenv("VRSPAM_DATA", str(SHARED))
    joined, clean = load("w8a"), load("w8a-clean")
    assert joined.rows == (49749, 14951)
    assert (joined.X[:49749] != clean.X).nnz == 0
