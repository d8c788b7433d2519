"""Training data: a file opened with its columns found, its labels made true and false, and what was noticed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from vrspam.data import Chunks, DataError, Schema, read_chunks
from vrspam.data.schema import Label
from vrspam.data.source import Source
from vrspam.tool.columns import look


@dataclass(frozen=True)
class Opened:
    """A file of labelled rows; go through it as often as needed for blocks of (X, is positive)."""

    chunks: Chunks
    positive: Label
    identifiers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        return self.chunks.schema

    @property
    def n_rows(self) -> int | None:
        return self.chunks.n_rows

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        for X, y in self.chunks:
            yield X, y == self.positive

    def keeping_gaps(self) -> Opened:
        """The same rows with missing numbers as NaN."""
        chunks = copy(self.chunks)
        chunks.schema = self.schema.keeping_gaps()
        return replace(self, chunks=chunks)

    def load(self) -> tuple[Any, np.ndarray]:
        """All rows at once."""
        blocks = list(self)
        if not blocks:
            raise DataError(f"{self.chunks.source.paths[0]} has no rows; get it again")
        return stack([X for X, _ in blocks]), np.concatenate([positive for _, positive in blocks])


def stack(parts: list[Any]) -> Any:
    """Blocks of rows, dense or CSR, below each other."""
    return sparse.csr_array(sparse.vstack(parts)) if sparse.issparse(parts[0]) else np.concatenate(parts)


def open_labelled(
    path: Any,
    target: str | None,
    positive: str | None = None,
    *,
    drop: Sequence[str] = (),
    include: Sequence[str] = (),
    categorical: Sequence[str] = (),
    max_categories: int = 1000,
    skip_errors: bool = False,
    progress: bool = False,
    **reading: Any,
) -> Opened:
    """Find the columns and labels of a file.

    Parameters
    ----------
    path : path, directory, pattern or list of paths
    target : str or None
        The label column; None for LIBSVM files.
    positive : str, optional
        The positive label as text; with several labels all others stand against it. By default the larger of two.
    drop, include, categorical : sequence of str
        Columns to leave out, to take in although they look like identifiers, and to take as categories.
    max_categories : int
        A text column with more is left out.
    skip_errors : bool
        Leave out broken lines and rows instead of stopping at the first.
    progress : bool
        Show a progress line.
    **reading
        `format`, `delimiter` and `zero_based` of `vrspam.data.read_chunks`.

    Returns
    -------
    Opened
    """
    source = Source.open(path, **reading)
    on_error = "skip" if skip_errors else "raise"
    if source.format != "libsvm" and target is None:
        raise DataError(f"which column of {source.paths[0]} holds the labels? Name it with target=")
    found = look(
        path,
        target,
        drop=drop,
        include=include,
        categorical=categorical,
        max_categories=max_categories,
        on_error=on_error,
        **reading,
    )
    options: dict[str, Any] = {"missing": 0.0 if source.format == "libsvm" else "mean"}
    if source.format not in ("libsvm", "npy"):
        options |= {"drop": found.dropped, "categories": found.categories, "max_categories": max_categories}
    schema = Schema.infer(path, target, on_error=on_error, progress=progress, **options, **reading)
    chunks = read_chunks(path, schema=schema, unknown="ignore", on_error=on_error, progress=progress, **reading)
    label = choose_positive(schema.labels or (), positive)
    return Opened(chunks, label, tuple(found.identifiers), tuple(found.notes))


def choose_positive(labels: Sequence[Label], wanted: str | None) -> Label:
    """The label to rank above the others.

    >>> choose_positive((0, 1), None), choose_positive(("ill", "well"), "ill"), choose_positive((-1.0, 1.0), "-1")
    (1, 'ill', -1.0)
    """
    shown = ", ".join(map(str, labels[:10])) + (", ..." if len(labels) > 10 else "")
    if len(labels) < 2:
        raise DataError(f"the label column holds only {shown or 'missing values'}: rows of two classes are needed")
    if wanted is None:
        if len(labels) > 2:
            raise DataError(
                f"the label column holds {len(labels)} different values ({shown}): name the positive one with "
                "positive=, all others then stand against it"
            )
        return labels[-1]
    for same in (_same_text, _same_number, _same_word):
        for label in labels:
            if same(label, wanted):
                return label
    raise DataError(f"no row has the label {wanted!r}; there are {shown}")


def _same_text(label: Label, text: str) -> bool:
    return str(label) == text


def _same_word(label: Label, text: str) -> bool:
    return str(label).casefold() == text.casefold()


def _same_number(label: Label, text: str) -> bool:
    try:
        return not isinstance(label, str) and float(label) == float(text)
    except ValueError:
        return False
