"""`Fingerprint`: salted hashes of training rows, by which `evaluate` can tell that it is given the training file."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from vrspam.model_selection.hashing import row_hashes

MOST_ROWS = 1_000
LEAST_ROWS = 20  # a fingerprint of fewer rows proves nothing
DIGITS = 16
MISSING = -7.25e77  # stands for a missing number


@dataclass(frozen=True)
class Fingerprint:
    """Hashes of at most 1,000 different training rows, each with the same random salt."""

    salt: str
    rows: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, rows: Any, seed: int) -> Fingerprint:
        """Hash some of these rows: an arrow table of the feature columns, or an array."""
        numbers, counts = np.unique(row_numbers(rows), return_counts=True)
        single = numbers[counts == 1]  # rows that occur once say most about a file
        if single.size > MOST_ROWS:
            single = np.random.default_rng(seed).choice(single, MOST_ROWS, replace=False)
        salt = secrets.token_hex(8)
        return cls(salt, frozenset(_digests(single, salt)))

    def find(self, rows: Any) -> set[str]:
        """The hashes of training rows among these rows."""
        if not self.rows:
            return set()
        return {*self.rows.intersection(_digests(row_numbers(rows), self.salt))}

    def sentences(self, hashes: set[str]) -> list[str]:
        """A warning, if many training rows were found."""
        many = 0.5  # a file with this share of the fingerprint's rows is taken for the training file
        if len(self.rows) < LEAST_ROWS or len(hashes) < many * len(self.rows):
            return []
        share = 100.0 * len(hashes) / len(self.rows)
        return [
            f"about {share:.0f} % of the rows that the model was trained on are in this file, so these measures are "
            "too good: give rows that the model has not seen"
        ]


def row_numbers(rows: Any) -> np.ndarray:
    """A 64-bit number for each row, of an arrow table or an array, that depends on its values alone."""
    if sparse.issparse(rows) or isinstance(rows, np.ndarray):
        return row_hashes(rows)
    columns = [_column_numbers(column) for column in rows.columns]
    if not columns:
        return np.zeros(rows.num_rows, dtype=np.uint64)
    return row_hashes(np.stack(columns, axis=1))


def _column_numbers(column: Any) -> np.ndarray:
    """Numbers as they are, and a number for each text; missing values have a number of their own."""
    if str(column.type) in ("double", "float"):
        values = column.to_numpy()
        return np.where(np.isnan(values), MISSING, values)

    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    coded = whole.dictionary_encode()
    texts = coded.dictionary.to_pylist()
    number_of_code = [_text_number(text) for text in texts]
    number_of_code.append(-1.0)
    return np.array(number_of_code)[coded.indices.fill_null(len(texts)).to_numpy()]


def _text_number(text: str) -> float:
    """A whole number below 2⁴⁸."""
    return float(int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:6], "big"))


def _digests(numbers: np.ndarray, salt: str) -> list[str]:
    start = hashlib.sha256(salt.encode())
    digests = []
    for number in np.asarray(numbers, dtype="<u8"):
        digest = start.copy()
        digest.update(number.tobytes())
        digests.append(digest.hexdigest()[:DIGITS])
    return digests
