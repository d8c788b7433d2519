"""Files of any size read in blocks; oracles are pandas, pyarrow and scikit-learn."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import json
import lzma
import re
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from messy_files import MESSY
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from tool_data import open_planned

from vrspam._utils.warnings import TextRead, UnseenValues
from vrspam.data import Chunks, DataError, Schema, infer_schema, read_chunks
from vrspam.data.readers.problems import problem_of
from vrspam.tables.learner import learn_schema
from vrspam.tool import train
from vrspam.tool.plan import TrainPlan

pa = pytest.importorskip("pyarrow", reason="needs the extra vrspam[data]")
pq = pytest.importorskip("pyarrow.parquet")

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def frame(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "höhe": rng.standard_normal(n),
            "count": rng.integers(-5, 1000, n),
            "flag": rng.random(n) < 0.5,
            "town": rng.choice(["Köln", "a,b", 'say "hi"', "two\nlines", "x"], n),
            "sick": rng.choice(["yes", "no"], n),
        }
    )


def expected(data, target="sick"):
    """One-hot by pandas: numeric columns first, then indicators by sorted category."""
    features = data.drop(columns=[target]) if target in data else data
    text = [c for c in features if not (pd.api.types.is_numeric_dtype(features[c]))]
    numbers = features.drop(columns=text).astype(float)
    indicators = pd.get_dummies(features[text], prefix_sep="=", dtype=float) if text else features[[]]
    return pd.concat([numbers, indicators], axis=1)


def collect(chunks):
    blocks = list(chunks)
    stack = sp.vstack if sp.issparse(blocks[0][0]) else np.vstack
    y = None if blocks[0][1] is None else np.concatenate([block[1] for block in blocks])
    return stack([block[0] for block in blocks]), y, blocks


def write(data, path):
    if ".csv" in path.name:
        packing = path.name.partition(".csv")[2]
        path.write_bytes(PACKERS[packing](data.to_csv(index=False).encode()))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pandas(data, preserve_index=False), path, row_group_size=150)
    else:
        table = pa.Table.from_pandas(data, preserve_index=False)
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=130)
    return path


TABLES = ["t.csv", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.parquet", "t.feather", "t.arrow"]


# --- what is read is what is there -------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("chunk_bytes", [700, 1 << 20])
def test_tables_equal_pandas(tmp_path, name, chunk_bytes):
    data = frame()
    chunks = read_chunks(write(data, tmp_path / name), target="sick", chunk_bytes=chunk_bytes)
    X, y, blocks = collect(chunks)
    want = expected(data)
    assert list(chunks.feature_names_) == list(want.columns)
    np.testing.assert_array_equal(X, want.to_numpy())
    np.testing.assert_array_equal(y, data["sick"].to_numpy(str))
    assert chunks.n_features == X.shape[1]
    assert chunks.classes.tolist() == ["no", "yes"]
    assert chunks.n_rows == (None if "csv" in name else len(data))
    if chunk_bytes == 700:
        assert len(blocks) > 10
        assert max(block[0].nbytes for block in blocks) <= 700
    again, _, _ = collect(chunks)
    np.testing.assert_array_equal(again, X)


@pytest.mark.parametrize("name", TABLES[:1] + TABLES[4:6])
def test_chunk_rows_and_sparse(tmp_path, name):
    data = frame()
    path = write(data, tmp_path / name)
    X, _, blocks = collect(read_chunks(path, target="sick", chunk_rows=7, sparse=True))
    assert max(block[0].shape[0] for block in blocks) == 7
    assert sp.issparse(X)
    np.testing.assert_array_equal(X.toarray(), expected(data).to_numpy())


@pytest.mark.parametrize("sparse", [True, False])
def test_several_categorical_columns(tmp_path, sparse):
    data = frame(100).assign(sex=np.random.default_rng(1).choice(["f", "m"], 100), more=["p", "q"] * 50)
    X, _, _ = collect(read_chunks(write(data, tmp_path / "t.csv"), target="sick", sparse=sparse))
    np.testing.assert_array_equal(X.toarray() if sparse else X, expected(data).to_numpy())


def test_wide_categories_become_csr_and_stay_small(tmp_path):
    data = pd.DataFrame({"word": [f"w{i % 900}" for i in range(5000)], "y": np.arange(5000) % 2})
    path = write(data, tmp_path / "t.csv")
    X, y, _ = collect(read_chunks(path, target="y"))
    assert sp.issparse(X)
    assert X.shape == (5000, 900)
    np.testing.assert_array_equal(X.indices, data["word"].astype("category").cat.codes)
    assert y.dtype == np.int64
    with pytest.raises(DataError, match=r"'word' has more than 100 categories.*drop="):
        read_chunks(path, target="y", max_categories=100)


@pytest.mark.parametrize(
    ("text", "kind"), [("1\n0\n", "i"), ("1.5\n0\n", "f"), ("true\nfalse\n", "b"), ("a\nb\n", "U")]
)
def test_label_types(tmp_path, text, kind):
    path = tmp_path / "t.csv"
    path.write_text("y,x\n" + text.replace("\n", ",3\n"))
    _, y, _ = collect(read_chunks(path, target="y"))
    assert y.dtype.kind == kind
    np.testing.assert_array_equal(y, pd.read_csv(path)["y"].to_numpy(y.dtype))


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
def test_windows_line_ends_quotes_and_byte_order_mark(tmp_path, delimiter):
    data = frame(50)
    text = data.to_csv(index=False, sep=delimiter, quoting=1, lineterminator="\r\n")
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    X, y, _ = collect(read_chunks(path, target="sick", chunk_bytes=300))
    np.testing.assert_array_equal(X, expected(data).to_numpy())
    np.testing.assert_array_equal(y, data["sick"].to_numpy(str))


def test_a_lone_quote_inside_a_field_is_only_a_character(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size,x,y\n" + "".join(f'{i % 3}" pipe,{i},{i % 2}\n' for i in range(200)))
    X, _, _ = collect(read_chunks(path, target="y", chunk_bytes=100))
    np.testing.assert_array_equal(X[:, 0], np.arange(200))
    assert X[:, 1:].sum() == 200


def test_many_files_are_one_stream(tmp_path):
    parts = [frame(50, seed) for seed in range(3)]
    paths = [write(part, tmp_path / f"part-{i}.parquet") for i, part in enumerate(parts)]
    (tmp_path / "_SUCCESS").touch()
    want = expected(pd.concat(parts)).to_numpy()
    for path in (tmp_path, str(tmp_path / "part-*.parquet"), paths):
        X, _, _ = collect(read_chunks(path, target="sick"))
        np.testing.assert_array_equal(X, want)
    X, _, _ = collect(read_chunks(paths[::-1], target="sick"))
    np.testing.assert_array_equal(X[:50], want[100:])
    reordered = parts[1][parts[1].columns[::-1]]
    write(reordered, paths[1])
    X, _, _ = collect(read_chunks(paths, target="sick"))
    np.testing.assert_array_equal(X, want)


def test_column_choice(tmp_path):
    data = frame(60)
    path = write(data, tmp_path / "t.csv")
    X, y, _ = collect(read_chunks(path, columns=["count", "höhe"]))
    np.testing.assert_array_equal(X, data[["count", "höhe"]].to_numpy(float))
    assert y is None
    chunks = read_chunks(path, target="sick", drop=["town", "flag"])
    assert chunks.feature_names_ == ("höhe", "count")
    chunks = read_chunks(path, target="sick", categories={"town": ["x", "Köln"]}, unknown="ignore")
    assert chunks.feature_names_[-2:] == ("town=x", "town=Köln")
    X, _, _ = collect(chunks)
    np.testing.assert_array_equal(X[:, -2:], np.column_stack([data["town"] == "x", data["town"] == "Köln"]))
    chunks = read_chunks(path, target="sick", columns=["count"], categorical=["count"])
    X, _, _ = collect(chunks)
    np.testing.assert_array_equal(X.toarray(), expected(data[["count"]].astype(str).assign(sick="")).to_numpy())


def test_keep_hands_a_column_on(tmp_path):
    data = frame(100).assign(id=[f"{i:04d}" for i in range(100)])
    for name in ("t.csv", "t.parquet"):
        chunks = read_chunks(write(data, tmp_path / name), target="sick", keep=["id"], chunk_rows=30)
        assert "id" not in "".join(chunks.feature_names_)
        kept = [value for _, _, batch in chunks for value in batch.column("id").to_pylist()]
        assert kept == data["id"].tolist()


# --- missing values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES[:1] + TABLES[4:6])
def test_missing_values(tmp_path, name):
    data = frame()
    holes = data.copy()
    holes.loc[::7, "höhe"] = np.nan
    holes.loc[3::11, "town"] = None
    path = write(holes, tmp_path / name)
    with pytest.raises(DataError, match="'höhe' has a missing value"):
        list(read_chunks(path, target="sick"))
    want = expected(holes).fillna({"höhe": holes["höhe"].mean()}).to_numpy()
    X, _, _ = collect(read_chunks(path, target="sick", missing="mean"))
    np.testing.assert_allclose(X, want, rtol=1e-12)
    X, _, _ = collect(read_chunks(path, target="sick", missing=-9))
    np.testing.assert_array_equal(X, expected(holes).fillna(-9).to_numpy())
    assert (X[3, 3:] == 0).all()
    chunks = read_chunks(path, target="sick", on_error="skip")
    with pytest.warns(UserWarning, match="left out"):
        X, _, _ = collect(chunks)
    good = holes["höhe"].notna() & holes["town"].notna()
    np.testing.assert_array_equal(X, expected(holes)[good].to_numpy())
    assert chunks.n_skipped_ == chunks.n_skipped_rows_ == (~good).sum()


def test_infinite_values_and_empty_columns_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,,0\n2,,1\ninf,,0\n")
    with pytest.raises(DataError, match=r"t\.csv, block 1, line 4: column 'a' is infinite"):
        list(read_chunks(path, target="y", missing=0.0))
    with pytest.raises(DataError, match="'b' has no value at all"):
        read_chunks(path, target="y", missing="mean")


# --- schema ------------------------------------------------------------------------------------------------


def test_schema_is_found_kept_and_used_again(tmp_path):
    train, test = frame(200, 1), frame(80, 2)
    train.loc[5, "höhe"] = np.nan
    path = write(train, tmp_path / "train.csv")
    schema = infer_schema(path, target="sick", missing="mean")
    assert schema.labels == ("no", "yes")
    assert schema.fill is not None
    assert schema.fill[0] == pytest.approx(train["höhe"].mean(), rel=1e-12)
    schema = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    # no labels, another format, a category and a hole not met in training
    test = test.drop(columns="sick")
    test.loc[0, "town"] = "Nowhere"
    test.loc[1, "höhe"] = np.nan
    later = write(test, tmp_path / "later.parquet")
    with pytest.raises(
        DataError, match=r"row 1: column 'town' holds 'Nowhere', a category that the schema does not have"
    ):
        list(read_chunks(later, schema=schema.without_target()))
    X, y, _ = collect(read_chunks(later, schema=schema.without_target(), unknown="ignore"))
    assert y is None
    assert schema.fill is not None
    want = expected(test).drop(columns="town=Nowhere").fillna({"höhe": schema.fill[0]})
    np.testing.assert_array_equal(X, want.to_numpy())
    with pytest.raises(DataError, match="no column 'sick'"):
        list(read_chunks(later, schema=schema, unknown="ignore"))
    with pytest.raises(DataError, match=r"give it alone, or infer it with the others \(infer_schema\)"):
        read_chunks(path, target="sick", schema=schema)


def test_a_label_not_met_before(tmp_path):
    path = write(frame(30), tmp_path / "a.csv")
    schema = infer_schema(path, target="sick")
    other = write(frame(30, 3).replace({"sick": {"yes": "perhaps"}}), tmp_path / "b.csv")
    with pytest.raises(DataError, match="the label 'perhaps' is none of 'no', 'yes'"):
        list(read_chunks(other, schema=schema))


@pytest.mark.parametrize(
    "spoil", [{"numeric": "abc"}, {"categorical": []}, {"width": "x"}, {"more": 1}, {"fill": [None]}, {"zero_based": 0}]
)
def test_damaged_schema(spoil):
    with pytest.raises(DataError, match=r"this is not a schema.*; give what Schema\.to_dict wrote"):
        Schema.from_dict(Schema(numeric=("a",)).to_dict() | spoil)


# --- LIBSVM ------------------------------------------------------------------------------------------------


def libsvm(n=300, d=40, seed=0, zero_based=False):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, 0.2, "csr", random_state=rng)
    y = rng.choice([-1, 1], n)
    text = io.BytesIO()
    dump_svmlight_file(X, y, text, zero_based=zero_based)
    return text.getvalue()


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("name", ["a9a", "a9a.t", "data.libsvm"])
def test_libsvm_equals_scikit_learn(tmp_path, packing, name):
    text = libsvm()
    path = tmp_path / (name + packing)
    path.write_bytes(PACKERS[packing](text))
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=False)
    chunks = read_chunks(path, chunk_bytes=900)
    assert chunks.n_features == X.shape[1]
    assert chunks.classes.tolist() == [-1, 1]
    got, labels, blocks = collect(chunks)
    assert len(blocks) > 10
    assert (got != X).nnz == 0
    np.testing.assert_array_equal(labels, y)
    dense, _, _ = collect(read_chunks(path, n_features=50, sparse=False, chunk_rows=11))
    assert dense.shape == (300, 50)
    np.testing.assert_array_equal(dense[:, : X.shape[1]], X.toarray())
    chosen, _, _ = collect(read_chunks(path, columns=[3, 1]))
    assert (chosen != X[:, [2, 0]]).nnz == 0


def test_libsvm_comments_blank_lines_and_zero_based(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"# head\r\n1 1:2 3:4 # note 9:9\r\n\r\n-1 qid:3 2:5\r\n+1\r\n")
    X, y, _ = collect(read_chunks(path))
    np.testing.assert_array_equal(X.toarray(), [[2, 0, 4], [0, 5, 0], [0, 0, 0]])
    np.testing.assert_array_equal(y, [1, -1, 1])
    text = libsvm(zero_based=True)
    path.write_bytes(text)
    with pytest.raises(DataError, match="zero_based=True"):
        list(read_chunks(path))
    X, _, _ = collect(read_chunks(path, zero_based=True, chunk_bytes=1000))
    expected = load_svmlight_file(io.BytesIO(text), zero_based=True)[0]
    assert (expected != X).nnz == 0


def test_indices_that_start_at_0_keep_their_names(tmp_path):
    text = libsvm(zero_based=True)
    path = tmp_path / "zero.libsvm"
    path.write_bytes(text)
    expected = load_svmlight_file(io.BytesIO(text), zero_based=True)[0].toarray()
    schema = infer_schema(path, zero_based=True)
    assert schema.feature_names == tuple(str(j) for j in range(expected.shape[1]))
    stored = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    X, _, _ = collect(read_chunks(path, schema=stored))  # the schema knows
    np.testing.assert_array_equal(X.toarray(), expected)
    X, _, _ = collect(read_chunks(path, zero_based=True, columns=["0", "7"]))
    np.testing.assert_array_equal(X.toarray(), expected[:, [0, 7]])
    with pytest.raises(DataError, match="features 0 to 39, not '40'"):
        read_chunks(path, zero_based=True, columns=["40"])
    (tmp_path / "one.libsvm").write_bytes(libsvm())
    X, _, _ = collect(read_chunks(tmp_path / "one.libsvm", schema=stored, zero_based=False))
    np.testing.assert_array_equal(X.toarray(), expected)  # the same rows, counted from 1
    path.write_text("1 0:1 3:inf\n")
    with pytest.raises(DataError, match="the value of index 3 is infinite"):
        list(read_chunks(path, zero_based=True))
    older = {key: value for key, value in schema.to_dict().items() if key != "zero_based"}
    assert not Schema.from_dict(older).zero_based


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("t.csv", {"zero_based": True}, "zero_based=True is for LIBSVM; leave it out"),
        ("t.npy", {"delimiter": ";"}, "delimiter= is for CSV; leave it out"),
        ("t.npy", {"schema": Schema(("a",))}, "t.npy is read as .npy, but a table is needed"),
        ("t.csv", {"schema": Schema(width=3, zero_based=True)}, "but a LIBSVM file is needed"),
        ("t.csv", {"schema": Schema(("a",)), "format": "libsvm"}, "name its format with format="),
    ],
)
def test_what_does_not_go_together(tmp_path, name, options, words):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    np.save(tmp_path / "t.npy", np.zeros((3, 2)))
    with pytest.raises(DataError, match=words):
        read_chunks(tmp_path / name, **options)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1 2:3 oops 4:5", "'oops' is not an index:value pair"),
        (b"1 2:3 4:x", "'4:x' is not an index:value pair"),
        (b"yes 2:3", "the label 'yes' is not a number"),
        (b"1 5:1 4:1", "index 4 after 5"),
        (b"1 2:nan", "index 2 is missing"),
        (b"1 2:inf", "index 2 is infinite"),
        (b"nan 2:1", "the label is not a finite number"),
        (b"1 2:1 41:1", "index 41 where the data have 40 features"),
    ],
)
def test_bad_libsvm_line(tmp_path, line, reason):
    lines = libsvm().splitlines()
    lines[200] = line
    path = tmp_path / "a.libsvm"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=rf"a\.libsvm, block \d+, line 201: .*{reason}"):
        list(read_chunks(path, n_features=40, chunk_bytes=4000))
    chunks = read_chunks(path, n_features=40, chunk_bytes=4000, on_error="skip")
    with pytest.warns(UserWarning, match="left out 1 broken"):
        X, _, _ = collect(chunks)
    want, _ = load_svmlight_file(io.BytesIO(b"\n".join(lines[:200] + lines[201:])), n_features=40)
    assert (want != X).nnz == 0
    assert chunks.skipped_[0].where == "line 201"
    assert chunks.n_skipped_rows_ == 1


# --- .npy --------------------------------------------------------------------------------------------------


def test_npy(tmp_path):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((500, 6)).astype(np.float32)
    A[:, 4] = rng.integers(0, 2, 500)
    np.save(tmp_path / "a.npy", A)
    np.save(tmp_path / "y.npy", A[:, 4].astype(int))
    chunks = read_chunks(tmp_path / "a.npy", target=4, chunk_rows=64)
    X, y, blocks = collect(chunks)
    assert X.dtype == np.float64
    assert len(blocks) == 8
    assert chunks.n_rows == 500
    assert chunks.classes.tolist() == [0, 1]
    np.testing.assert_array_equal(X, np.delete(A, 4, axis=1))
    np.testing.assert_array_equal(y, A[:, 4])
    X, y, _ = collect(read_chunks(tmp_path / "a.npy", target=str(tmp_path / "y.npy"), columns=[5, 0]))
    np.testing.assert_array_equal(X, A[:, [5, 0]])
    np.testing.assert_array_equal(y, A[:, 4])
    A[7, 2] = np.nan
    np.save(tmp_path / "b.npy", A)
    with pytest.raises(DataError, match=r"b\.npy, block 1, row 8: column '2' has a missing value"):
        list(read_chunks(tmp_path / "b.npy"))
    X, _, _ = collect(read_chunks(tmp_path / "b.npy", missing="mean"))
    assert X[7, 2] == pytest.approx(np.nanmean(A[:, 2].astype(float)), rel=1e-12)
    np.save(tmp_path / "short.npy", np.zeros(9))
    with pytest.raises(DataError, match="500 labels are needed"):
        list(read_chunks(tmp_path / "a.npy", target=str(tmp_path / "short.npy")))


# --- broken files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1.5,oops,true,x,yes", "column 'count' holds 'oops' where a number is expected"),
        (b"1.5,3", "2 fields where the header has 5"),
        (b"1.5,3,true,x,yes,more", "6 fields where the header has 5"),
        (b"1.5,3,maybe,x,yes", "column 'flag' holds 'maybe' where true or false is expected"),
        (b"1.5,3,true,\xff\xfe,yes", "not UTF-8 text"),
        (b"1.5,3,true,x,", "the label in column 'sick' is missing"),
    ],
)
@pytest.mark.parametrize("packing", ["", ".gz"])
def test_bad_csv_line(tmp_path, line, reason, packing):
    data = frame().replace({"town": {"two\nlines": "two lines"}})
    lines = data.to_csv(index=False).encode().splitlines()
    lines[250] = line
    path = tmp_path / f"t.csv{packing}"
    path.write_bytes(PACKERS[packing](b"\n".join(lines)))
    categories = {"town": sorted(data["town"].unique())}
    with pytest.raises(DataError, match=rf"t\.csv.*, block \d+, line 251: {reason}"):
        list(read_chunks(path, target="sick", categories=categories, chunk_bytes=3000))
    chunks = read_chunks(path, target="sick", categories=categories, chunk_bytes=3000, on_error="skip")
    with pytest.warns(UserWarning, match="line 251"):
        X, _, _ = collect(chunks)
    np.testing.assert_array_equal(X, expected(data.drop(index=249)).to_numpy())
    (note,) = chunks.skipped_
    assert (note.where, note.rows) == ("line 251", 1)
    assert note.reason.startswith(reason)


def test_a_block_of_broken_lines_alone_is_left_out(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n3,4\n" + "1,2,3\n" * 40 + "5,6\n")
    chunks = read_chunks(path, chunk_bytes=20, on_error="skip")
    with pytest.warns(UserWarning, match="left out 40 broken"):
        blocks = [X for X, _ in chunks]
    assert np.concatenate(blocks).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert min(map(len, blocks)) > 0
    kept = Chunks(chunks.source, chunks.schema, on_error="keep")
    assert sum(len(broken) for *_, broken in kept) == kept.n_skipped_ == 40  # each is noted once


@pytest.mark.parametrize(("name", "where"), [("t.csv", "line 39"), ("t.parquet", "row 38"), ("t.feather", "row 38")])
def test_places_hold_in_small_blocks(tmp_path, name, where):
    data = frame(50).drop(columns="town")
    data.loc[37, "höhe"] = np.nan
    with pytest.raises(DataError, match=rf"{where}: column 'höhe' has a missing value"):
        list(read_chunks(write(data, tmp_path / name), target="sick", chunk_rows=5))


def test_line_numbers_hold_after_quoted_line_ends(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b,y\n1,"x\ny",0\n\n2,z,1\n3,"x\ny",\n4,z,0\n')
    with pytest.raises(DataError, match="line 6: the label"):
        list(read_chunks(path, target="y"))


def test_truncated_files(tmp_path):
    data = frame(5000)
    path = write(data, tmp_path / "t.csv.bz2")  # less than one of bzip2's blocks: nothing can be read
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match="cut off or damaged"):
        read_chunks(path, target="sick")
    for packing in (".gz", ".xz"):
        path = write(data, tmp_path / f"t.csv{packing}")
        path.write_bytes(path.read_bytes()[:-100])
        chunks = read_chunks(path, target="sick", drop=["town"], chunk_bytes=20000)
        with pytest.raises(DataError, match=r"block \d+, after line \d+: cut off or damaged"):
            list(chunks)
        chunks = read_chunks(path, target="sick", drop=["town"], chunk_bytes=20000, on_error="skip")
        with pytest.warns(UserWarning, match="left out 1 broken"):
            X, _, _ = collect(chunks)
        np.testing.assert_array_equal(X, expected(data.drop(columns="town"))[: len(X)].to_numpy())
        assert len(X) > 3000
        assert chunks.skipped_[0].rows is None
    path = write(data, tmp_path / "t.parquet")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"t\.parquet is truncated, or not a Parquet file") as refused:
        read_chunks(path, target="sick")
    assert problem_of(refused.value).startswith("is truncated, or not a Parquet file")
    path = write(data, tmp_path / "t.feather")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match="truncated, or not an Arrow file"):
        read_chunks(path, target="sick")
    np.save(tmp_path / "t.npy", np.zeros((100, 3)))
    whole = (tmp_path / "t.npy").read_bytes()
    (tmp_path / "t.npy").write_bytes(whole[:-100])
    with pytest.raises(DataError, match=r"t\.npy is truncated, or not a \.npy file") as refused:
        read_chunks(tmp_path / "t.npy")
    assert problem_of(refused.value) == "is truncated, or not a .npy file of numbers; get it again"


def test_broken_file_among_good_ones(tmp_path):
    parts = [frame(50, seed).drop(columns="town") for seed in range(5)]
    paths = [write(part, tmp_path / f"{i}.parquet") for i, part in enumerate(parts)]
    paths[1].write_bytes(paths[1].read_bytes()[:-50])
    write(parts[2].drop(columns="count"), paths[2])
    write(parts[3].astype({"count": str}), paths[3])
    for first, reason in (
        (1, "truncated, or not a Parquet"),
        (2, "no column 'count'"),
        (3, "'count' has type (large_)?string"),
    ):
        with pytest.raises(DataError, match=rf"{first}\.parquet: .*{reason}"):
            list(read_chunks([paths[0], paths[first]], target="sick"))
    chunks = read_chunks(paths, target="sick", on_error="skip")
    with pytest.warns(UserWarning, match="left out 3 broken"):
        X, _, _ = collect(chunks)
    np.testing.assert_array_equal(X, expected(pd.concat([parts[0], parts[4]])).to_numpy())
    assert [note.rows for note in chunks.skipped_] == [None, 50, 50]


def test_damaged_row_group(tmp_path):
    data = pd.DataFrame(np.random.default_rng(0).standard_normal((3000, 2)), columns=["a", "b"])
    path = tmp_path / "t.parquet"
    table = pa.Table.from_pandas(data, preserve_index=False)
    pq.write_table(table, path, row_group_size=1000, use_dictionary=False, compression="snappy")
    column = pq.ParquetFile(path).metadata.row_group(1).column(1)
    raw = bytearray(path.read_bytes())
    raw[column.data_page_offset : column.data_page_offset + 200] = bytes(200)
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"block \d+, row 1001: row group 2 is damaged"):
        list(read_chunks(path, chunk_rows=500))
    chunks = read_chunks(path, chunk_rows=500, on_error="skip")
    with pytest.warns(UserWarning, match="left out 1 broken part with at least 1000 rows"):
        X, _, _ = collect(chunks)
    np.testing.assert_array_equal(X, data.drop(index=range(1000, 2000)).to_numpy())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "sik"}, "has no column 'sik'.*it has 'höhe', 'count'"),
        ({"columns": ["höhe"], "target": "höhe"}, "no feature column is left.*at least one"),
        ({"missing": "median"}, "give 'error', 'mean' or a number"),
        ({"unknown": "zero"}, "give 'error' or 'ignore'"),
        ({"on_error": "ignore"}, "give 'raise' or 'skip'"),
        ({"format": "xls"}, "give one of csv"),
        ({"chunk_rows": 0}, "at least 1"),
        ({"chunk_bytes": 0}, "at least 1"),
        ({"delimiter": "::"}, "one ASCII character"),
        ({"n_features": 3}, "n_features= applies only to LIBSVM files; leave it out"),
        ({"keep": ["nothing"]}, "no column 'nothing'"),
        ({"categorical": ["town"], "keep": ["town"]}, "'town' is not read as a feature: leave it out of categorical="),
        ({"categorical": ["town"], "columns": ["count"]}, "leave it out of categorical=, or change columns=, drop= or"),
        (
            {"categories": {"town": ["x"]}, "drop": ["town"]},
            "'town' is not read as a feature: leave it out of categories=",
        ),
    ],
)
def test_misuse(tmp_path, options, message):
    path = write(frame(20), tmp_path / "t.csv")
    with pytest.raises(DataError, match=message):
        list(read_chunks(path, **options))


def test_misuse_of_files(tmp_path):
    with pytest.raises(DataError, match="no file is found"):
        read_chunks(tmp_path / "nothing.csv")
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match=r"is empty.*get it again"):
        read_chunks(tmp_path / "empty")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    with pytest.raises(DataError, match="'a' twice"):
        read_chunks(tmp_path / "twice.csv")
    table = pa.table({"parts": pa.array([[1], [2]]), "y": [1, 0]})
    pq.write_table(table, tmp_path / "lists.parquet")
    with pytest.raises(
        DataError, match=r"'parts' of type .* is neither number, text nor date; leave it out with drop="
    ):
        read_chunks(tmp_path / "lists.parquet", target="y")
    (tmp_path / "a.libsvm").write_bytes(libsvm())
    for options, message in (
        ({"target": "y"}, "leave target= out"),
        ({"missing": "mean"}, "give a number"),
        ({"columns": [41]}, "has features 1 to 40"),
        ({"drop": ["a"]}, "no named columns"),
    ):
        with pytest.raises(DataError, match=message):
            read_chunks(tmp_path / "a.libsvm", **options)


# --- size and progress -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.libsvm"])
def test_memory_does_not_grow_with_the_rows(tmp_path, name):
    """Compare the peak memory of Python, NumPy and pyarrow for 1 and for 8 times the rows."""
    rng = np.random.default_rng(0)

    def peak(times):
        block = pd.DataFrame(rng.standard_normal((4000, 8)), columns=list("abcdefgh"))
        data = pd.concat([block] * times)
        path = tmp_path / f"{times}{name}"
        if name == "t.libsvm":
            with open(path, "wb") as file:
                dump_svmlight_file(data.to_numpy(), np.ones(len(data)), file, zero_based=False)
        else:
            write(data, path)
        chunks = read_chunks(path, chunk_bytes=1 << 16, n_features=8 if name == "t.libsvm" else None)
        gc.collect()  # what other tests left behind
        before, most = pa.total_allocated_bytes(), 0
        tracemalloc.start()
        for _ in chunks:
            most = max(most, pa.total_allocated_bytes() - before)
        traced = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return traced + most

    peak(1)  # imports
    # How many blocks wait in the thread that reads ahead depends on the scheduler: that can only add to a peak, so the
    # least of a few is compared. What grows with the rows is in all of them.
    few = max(peak(1) for _ in range(2))
    assert any(peak(8) < 1.3 * few + 200_000 for _ in range(3))


def test_progress_and_no_warning_when_all_is_well(tmp_path, capsys):
    path = write(frame(), tmp_path / "t.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(read_chunks(path, target="sick", progress=True))
    shown = capsys.readouterr().err
    assert "reading" in shown
    assert "100 %" in shown
    assert "rows/s" in shown


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_equal_pandas(tmp_path, separator):
    path = tmp_path / "t.csv"
    rows = [f"{i},{i % 10}{separator}{i}{separator}{'a,1' if i % 2 else 'b'}{separator}{i % 2}" for i in range(500)]
    path.write_text("\n".join([separator.join(["x", "n", "code", "y"]), *rows]) + "\n")
    expected = pd.read_csv(path, sep=separator, decimal=",")
    X, y = next(iter(read_chunks(path, target="y", sparse=False)))
    np.testing.assert_array_equal(X[:, :2], expected[["x", "n"]])
    np.testing.assert_array_equal(X[:, 2] == 1.0, expected["code"] == "a,1")
    np.testing.assert_array_equal(y, expected["y"])
    path.write_text(path.read_text() + f"12.5{separator}1{separator}b{separator}1\n")
    with pytest.raises(DataError, match=r"line 502: column 'x' holds '12\.5' where a number is expected"):
        list(read_chunks(path, target="y", chunk_bytes=1000))
    path.write_text(path.read_text().replace("\n", "\nbroken\n", 1))
    with pytest.warns(UserWarning, match="left out 2"):
        assert sum(len(X) for X, _ in read_chunks(path, target="y", on_error="skip")) == 500


def test_commas_are_no_fractions_where_points_are(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("dose;codes;y\n" + "".join(f"{i}.5;{i % 3},{i % 2};{i % 2}\n" for i in range(60)))
    with pytest.warns(UserWarning, match=r"categorical=\['codes'\]"):  # one by one they are, as in a frame
        assert infer_schema(path, target="y").numeric == ("dose", "codes")
    schema = infer_schema(path, target="y", categorical=["codes"])
    assert schema.numeric == ("dose",)
    assert schema.categorical["codes"] == ("0,0", "0,1", "1,0", "1,1", "2,0", "2,1")


TEXTS = [case for case in MESSY if case.name.startswith(("dates:", "times:", "clock:")) or "income" in str(case.says)]
TEXTS = [case for case in TEXTS if not case.options]  # read_chunks has other options


@pytest.mark.parametrize("case", TEXTS, ids=[case.name for case in TEXTS])
def test_text_means_what_it_means_in_every_other_reader(case, tmp_path):
    path, twin = case.write(tmp_path), case.twin()
    clean = expected(twin, "sick")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chunks = read_chunks(path, target="sick", missing="mean", chunk_rows=77)
        X, y, _ = collect(chunks)
    assert sorted(chunks.feature_names_) == sorted(clean.columns)
    np.testing.assert_allclose(X, clean.fillna(clean.mean())[[*chunks.feature_names_]], rtol=1e-9)
    np.testing.assert_array_equal(y, twin["sick"])
    said = [str(one.message) for one in caught]
    assert sum("is read as" in one or "holds" in one for one in said) == len(chunks.schema.readings) >= 1
    for words in case.says:
        assert any(words in one for one in said)
    stored = Schema.from_dict(json.loads(json.dumps(chunks.schema.to_dict())))
    again = np.vstack([X for X, _ in read_chunks(path, schema=stored.without_target())])
    np.testing.assert_array_equal(again, X)


def test_text_that_names_the_rows_is_left_out_unless_it_is_asked_for(tmp_path):
    data = frame(60).assign(name=[f"P-{k}x" for k in range(60)])
    path = write(data, tmp_path / "t.csv")
    with pytest.warns(UserWarning, match=r"'name' differs in nearly every row.*use categorical=\['name'\] to keep it"):
        found = read_chunks(path, target="sick")
    assert not any("name" in feature for feature in found.feature_names_)
    assert found.schema.identifiers == ("name",)
    wishes: list[dict[str, Any]] = [{"categorical": ["name"]}, {"columns": ["höhe", "name"]}]
    for asked in wishes:
        assert len(read_chunks(path, target="sick", **asked).schema.categorical["name"]) == 60
    lost = data.drop(columns="name").assign(when=[f"{1 + k % 28}.{1 + k % 12}.2020" for k in range(60)])
    lost.loc[7, "when"] = "later"
    with pytest.warns(UserWarning, match="'later'"):
        strict = read_chunks(write(lost, tmp_path / "gap.csv"), target="sick")
    with pytest.raises(DataError, match=r"line \d+: column 'when' has a missing value \(missing='mean'"):
        list(strict)
    lost.assign(when=None).astype({"when": "datetime64[us]"}).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match=r"none\.parquet: column 'when' has no value at all"):
        read_chunks(tmp_path / "none.parquet", target="sick", missing="mean")


MOMENTS = ["2020-12-31", "2021-01-05", "2021-01-05 10:30:00", "2021-02-01"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("t.csv", None),
        ("t.parquet", pa.date32()),
        ("t.parquet", pa.timestamp("ns")),
        ("t.feather", pa.timestamp("us")),
        ("t.arrow", pa.timestamp("s")),
        ("t.xlsx", None),
    ],
    ids=str,
)
def test_dates_can_be_categories_in_every_format(tmp_path, name, kind):
    texts = [text for text in MOMENTS if kind != pa.date32() or " " not in text] * 12
    data = pd.DataFrame({"when": texts, "y": np.arange(len(texts)) % 2})
    if kind is None:
        if name == "t.xlsx":
            pytest.importorskip("openpyxl")
            data.assign(when=pd.to_datetime(data["when"], format="ISO8601")).to_excel(tmp_path / name, index=False)
        else:
            data.to_csv(tmp_path / name, index=False)
    else:
        when = pa.array(pd.to_datetime(data["when"], format="ISO8601")).cast(kind)
        table = pa.table({"when": when, "y": data["y"]})
        if name == "t.parquet":
            pq.write_table(table, tmp_path / name)
        else:
            with pa.ipc.new_file(tmp_path / name, table.schema) as file:
                file.write_table(table)
    asked: list[dict[str, Any]] = [{"categorical": ["when"]}, {"categories": {"when": sorted(set(texts))}}]
    for wish in asked:
        chunks = read_chunks(tmp_path / name, "y", sparse=False, **wish)
        assert chunks.schema.categorical == {"when": tuple(sorted(set(texts)))}
        np.testing.assert_array_equal(collect(chunks)[0], expected(data, "y"))


def test_as_many_categories_are_kept_as_are_asked_for(tmp_path, monkeypatch):
    codes = np.tile([f"c{k}" for k in range(12_000)], 2)
    path = write(pd.DataFrame({"code": codes, "y": np.arange(24_000) % 2}), tmp_path / "t.csv")
    X, _, _ = collect(read_chunks(path, "y", max_categories=12_000))
    assert X.shape == (24_000, 12_000)
    np.testing.assert_array_equal(X.sum(axis=0), np.full((1, 12_000), 2.0))
    with pytest.raises(DataError, match=r"'code' has more than 11999 categories; .* or raise max_categories="):
        read_chunks(path, "y", max_categories=11_999)
    monkeypatch.setattr("vrspam.tables.columns.MOST_COUNTED", 5_000)
    with pytest.raises(DataError, match=r"more than 5000 categories; leave it out with drop=\['code'\]$"):
        read_chunks(path, "y", max_categories=50_000)


@pytest.mark.parametrize("role", ["number", "category", "label"])
def test_the_parts_of_a_date_replace_no_other_column(tmp_path, role):
    name = "when (year)"
    data = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=60, freq="17D"), "x": np.arange(60.0) % 7})
    data[name] = np.arange(60) % 2 if role != "category" else ["old", "new"] * 30
    target = name if role == "label" else None
    path = write(data, tmp_path / "t.csv")
    words = rf"t\.csv: column 'when' holds dates, and '{re.escape(name)}' is the name of another column: rename one"
    with pytest.raises(DataError, match=words):
        read_chunks(path, target)
    with pytest.raises(DataError, match=words):
        train(path, target or "x", positive="3" if target is None else None)
    assert len(read_chunks(path, "x", drop=["when"]).feature_names_) in (1, 2)
    assert name in read_chunks(path, drop=[name]).feature_names_


def test_text_where_an_earlier_file_has_dates_is_counted(tmp_path):
    days = pd.date_range("2020-01-01", periods=40, freq="13D")
    for name, form in (("a.csv", "%Y-%m-%d"), ("b.csv", "%d.%m.%Y")):
        rows = {"when": days.strftime(form), "x": np.arange(40) % 7, "y": np.arange(40) % 2}
        pd.DataFrame(rows).to_csv(tmp_path / name, index=False)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    words = "holds dates; 40 values that are not (.*) count as missing"
    with pytest.warns(UserWarning, match="'when' " + words.replace("(", r"\(").replace(")", r"\)")):
        read_chunks(paths, "y", missing="mean")
    notes = open_planned(paths, TrainPlan("y")).findings
    assert any("40 values that are not ('01.01.2020'" in note for note in notes)


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_text_that_a_given_schema_cannot_read_is_told(tmp_path, end):
    data = pd.DataFrame({"pay": [f"${1200 + 7 * k:,}" for k in range(60)], "y": np.arange(60) % 2})
    with pytest.warns(UserWarning, match="'pay' holds text that was read as numbers"):
        schema = infer_schema(write(data, tmp_path / f"old.{end}"), "y", missing="mean")
    chunks = read_chunks(write(data, tmp_path / f"old.{end}"), schema=schema)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(chunks)
    data.loc[::3, "pay"] = "1200 a year"
    data.loc[1, "pay"] = "n/a"
    new = read_chunks(write(data, tmp_path / f"new.{end}"), schema=schema, chunk_rows=7)
    for _ in range(2):
        with pytest.warns(UnseenValues) as said:
            X = np.concatenate([X for X, _ in new])
        (one,) = said
        assert str(one.message) == (
            "Compared with training: column 'pay' holds text where training had other values, in 33.3 % of the rows "
            "('1200 a year'): these count as missing."
        )
    assert schema.fill is not None
    np.testing.assert_allclose(X[::3, 0], schema.fill[0])
    with warnings.catch_warnings(record=True) as caught:  # the first pass has said it
        warnings.simplefilter("always")
        list(read_chunks(write(data, tmp_path / f"new.{end}"), "y", missing=0.0, categorical=[]))
    assert not any(isinstance(one.message, UnseenValues) for one in caught)


def test_a_first_pass_without_rows_says_so(tmp_path):
    for kinds in ({"a": pa.float64()}, {"town": pa.string()}, {"when": pa.timestamp("us")}):
        schema = pa.schema([*kinds.items(), ("y", pa.int64())])
        pq.write_table(schema.empty_table(), tmp_path / "none.parquet")
        with pytest.raises(DataError, match=r"none\.parquet has no rows; get it again"):
            read_chunks(tmp_path / "none.parquet", "y", missing="mean")
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    with pytest.raises(DataError, match=r"none\.npy has no rows; get it again"):
        read_chunks(tmp_path / "none.npy", missing="mean")
    path = tmp_path / "damaged.parquet"
    table = pa.table({"a": np.random.default_rng(0).standard_normal(1000)})
    pq.write_table(table, path, use_dictionary=False, compression="snappy")
    raw = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    raw[start : start + 200] = bytes(200)
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"no row of .*damaged\.parquet can be used: row group 1 is damaged"):
        read_chunks(path, missing="mean", on_error="skip")


def test_a_long_file_has_the_parts_of_a_date_that_its_frame_has(tmp_path, monkeypatch):
    """The first values, after which counting stops, are of one month; oracle: the schema of the whole frame."""
    first = pd.date_range("2020-01-06 00:00", periods=300, freq="57min")
    data = pd.DataFrame(
        {"when": [*first, *pd.date_range("2021-02-01", periods=300, freq="31h")], "y": np.arange(600) % 2}
    )
    data["when"] = data["when"].dt.strftime("%d.%m.%Y %H:%M")
    with pytest.warns(TextRead):
        whole = learn_schema(data[["when"]])
    assert len(whole.numeric) == 4
    monkeypatch.setattr("vrspam.tables.columns.MOST_COUNTED", 100)
    with pytest.warns(UserWarning, match="its year, month, weekday and hour are features"):
        found = read_chunks(write(data, tmp_path / "t.csv"), "y", chunk_bytes=4_000)
    assert found.feature_names_ == whole.numeric


def test_a_cell_that_is_no_date_is_told_as_such(tmp_path):
    days = pd.Series([f"2020-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(30_000)])  # more than decide its type
    days[29_999] = "later"
    path = write(pd.DataFrame({"when": days, "y": np.arange(30_000) % 2}), tmp_path / "t.csv")
    with pytest.raises(DataError, match="line 30001: column 'when' holds 'later' where a date is expected"):
        read_chunks(path, "y")
    same = pd.DataFrame({"when": [pd.Timestamp("2021-03-01")] * 40, "y": np.arange(40) % 2})
    with pytest.warns(UserWarning, match=r"'when' holds dates: its year is a feature; drop=\['when'\] leaves"):
        read_chunks(write(same, tmp_path / "t.parquet"), "y")


def test_the_second_pass_of_a_schema_shows_its_progress(tmp_path, capsys):
    data = pd.DataFrame({"pay": [f"${1200 + 7 * k:,}" for k in range(60)], "y": np.arange(60) % 2})
    with pytest.warns(UserWarning, match="'pay'"):
        read_chunks(write(data, tmp_path / "t.csv"), "y", missing="mean", progress=True)
    assert capsys.readouterr().err.count("first pass") >= 2


def test_text_that_is_not_utf8_is_named_in_a_first_look_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("town,y\nŁódź,1\nK".encode() + b"\xf6ln,0\n")  # most letters are UTF-8
    with pytest.raises(DataError, match=r"line 3: not UTF-8 text \(save the file as UTF-8\)"):
        infer_schema(path, target="y")


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-16", "utf-16-le", "utf-8-sig"])
def test_other_encodings_are_recognised(tmp_path, encoding):
    path = tmp_path / "t.csv"
    text = "größe,town,y\n" + "".join(f"{i},{('Köln', 'Graz', 'Lübeck')[i % 3]},{i % 2}\n" for i in range(3000))
    path.write_bytes(text.encode(encoding))
    if encoding == "utf-8-sig":
        schema = infer_schema(path, target="y", chunk_bytes=5000)
    else:
        with pytest.warns(UserWarning, match="is read as .* text, as it is not UTF-8"):
            schema = infer_schema(path, target="y", chunk_bytes=5000)
    assert schema.feature_names == ("größe", "town=Graz", "town=Köln", "town=Lübeck")
    given = read_chunks(path, target="y", encoding=encoding, chunk_bytes=5000)
    np.testing.assert_array_equal(np.concatenate([X[:, 0] for X, _ in given]), np.arange(3000))
    with pytest.raises(DataError, match="encoding='klingon' is not known"):
        read_chunks(path, target="y", encoding="klingon")
    if encoding == "latin-1":
        with pytest.raises(DataError, match=r"utf-16 text|no rows|header"):
            list(read_chunks(path, target="y", encoding="utf-16"))


def test_rows_that_all_have_a_field_too_many_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,0,\n2,1,\n")
    with pytest.raises(DataError, match="line 2: 3 fields where the header has 2"):
        infer_schema(path, target="y")


def test_a_workbook_is_called_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"PK\x03\x04\xff\xfe" * 10)
    with pytest.raises(DataError, match=r"Excel workbook .* save the table as CSV"):
        infer_schema(path, target="y")


def test_an_index_far_beyond_all_values_is_refused(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:0.5 3:1\n-1 2:0.5 1000000000:1\n" * 20, "utf-8")
    for read in (read_chunks, infer_schema):
        with pytest.raises(DataError, match="has the index 1,000,000,000, and fewer than 171 values"):
            read(path)
    chunks = read_chunks(path, n_features=1_000_000_000)  # who asks for it gets it
    assert [X.shape for X, _ in chunks] == [(40, 1_000_000_000)]


def test_a_parquet_file_that_does_not_fit_into_memory_is_not_called_damaged(tmp_path, monkeypatch):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), path)

    def fail(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 1000000000000 failed")
        yield

    chunks = read_chunks(path, "y", on_error="skip")
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", fail)
    with pytest.raises(DataError, match="row group 1 does not fit into memory; write the file with smaller ones"):
        list(chunks)
    monkeypatch.setattr(pq, "ParquetFile", lambda *_, **__: next(fail()))
    with pytest.raises(DataError, match=r"rows.parquet does not fit into memory \(malloc of size"):
        read_chunks(path, "y")
