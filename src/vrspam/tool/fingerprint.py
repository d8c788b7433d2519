"""Salted hashes of some training rows, so that `evaluate` can say that it was given rows of the training file."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from vrspam.model_selection.folds import row_hashes

MOST_ROWS = 1_000
ENOUGH = 20  # rows that must be known to say anything
MANY = 0.5  # share of the rows of a fingerprint that makes a file the training file
_DIGITS = 16


@dataclass(frozen=True)
class Fingerprint:
    """Hashes of at most 1,000 different training rows, each with the same random salt."""

    salt: str
    rows: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, rows: Any, seed: int) -> Fingerprint:
        """Hash some of these rows: an arrow table of the feature columns, or an array."""
        numbers, counts = np.unique(row_numbers(rows), return_counts=True)
        alone = numbers[counts == 1]  # rows that occur once say most about a file
        if alone.size > MOST_ROWS:
            alone = np.random.default_rng(seed).choice(alone, MOST_ROWS, replace=False)
        salt = secrets.token_hex(8)
        return cls(salt, frozenset(_digests(alone, salt)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"salt": self.salt, "rows": sorted(self.rows)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Fingerprint:
        """What `to_dict` wrote, or an error."""
        salt, rows = plain["salt"], plain["rows"]
        if not isinstance(salt, str) or not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
            raise TypeError("a fingerprint needs a salt and a list of texts")
        return cls(salt, frozenset(rows))


@dataclass
class SeenRows:
    """Counts the rows of a fingerprint in new rows, block by block."""

    fingerprint: Fingerprint
    found: set[str] = field(default_factory=set)

    def add(self, rows: Any) -> None:
        """Look at a block of rows."""
        if len(self.fingerprint.rows) >= ENOUGH:
            self.found.update(self.fingerprint.rows.intersection(_digests(row_numbers(rows), self.fingerprint.salt)))

    def sentences(self) -> list[str]:
        """What is to be said, if many training rows are among them."""
        total = len(self.fingerprint.rows)
        if total < ENOUGH or len(self.found) < MANY * total:
            return []
        share = 100.0 * len(self.found) / total
        return [
            f"about {share:.0f} % of the rows that the model was trained on are in this file: what is measured here is "
            "too good, give rows that it has not seen"
        ]


def row_numbers(rows: Any) -> np.ndarray:
    """A 64-bit number for each row that depends on its values alone."""
    if sparse.issparse(rows) or isinstance(rows, np.ndarray):
        return row_hashes(rows)
    columns = [_column_numbers(rows.column(name)) for name in rows.schema.names]
    return row_hashes(np.stack(columns, axis=1)) if columns else np.zeros(rows.num_rows, dtype=np.uint64)


def _column_numbers(column: Any) -> np.ndarray:
    """Numbers as they are, and a number for each text; a missing value is one of its own."""
    import pyarrow as pa

    if pa.types.is_floating(column.type):
        values = column.to_numpy()
        return np.where(np.isnan(values), -7.25e77, values)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    coded = whole.dictionary_encode()
    texts = coded.dictionary.to_pylist()
    numbers = [int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:6], "big") for text in texts]
    return np.array([*numbers, -1], dtype=np.float64)[coded.indices.fill_null(len(texts)).to_numpy()]


def _digests(numbers: np.ndarray | Sequence[int], salt: str) -> list[str]:
    start = hashlib.sha256(salt.encode())
    found = []
    for number in np.asarray(numbers, dtype="<u8"):
        one = start.copy()
        one.update(number.tobytes())
        found.append(one.hexdigest()[:_DIGITS])
    return found
