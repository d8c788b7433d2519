"""Forms of arrays, and of what is stored as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from vrspam.model.forms.base import FEW, Form, PlainError, Sink, Source, at, check_keys, show
from vrspam.model.forms.values import TEXTS


class Array(Form):
    """Arrays of finite numbers, as floats."""

    words = "an array of finite numbers"
    kinds = "fiu"

    def write(self, value: Any, sink: Sink) -> Any:
        """A list of few numbers, or the place of the packed array."""
        array = np.asarray(value)
        self.check(array)
        if array.size > FEW:
            return {"array": sink.arrays.place(array)}
        return array.tolist()

    def read(self, plain: Any, source: Source) -> np.ndarray:
        """The array."""
        if isinstance(plain, dict):
            check_keys(plain, ("array",))
            array = source.array(plain["array"])
        else:
            array = self.from_list(plain)
        self.check(array)
        return self.typed(array)

    def from_list(self, plain: Any) -> np.ndarray:
        """The array of numbers that stayed readable."""
        if not isinstance(plain, list):
            raise PlainError(f"is not {self.words} ({show(plain)})")
        try:
            return np.array(plain) if plain else np.empty(0)
        except (ValueError, OverflowError) as error:
            raise PlainError(f"is not {self.words} ({show(plain)})") from error

    def check(self, array: np.ndarray) -> None:
        """Refuse arrays of something else."""
        if array.dtype.kind not in self.kinds:
            raise PlainError(f"holds something else than {self.words.partition(' of ')[2]}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise PlainError("holds numbers that are not finite")

    def typed(self, array: np.ndarray) -> np.ndarray:
        """The array as the code takes it."""
        return array.astype(np.float64, copy=False)


class ArrayWithGaps(Array):
    """Arrays of numbers that are finite, or NaN where there is none."""

    words = "an array of numbers"

    def write(self, value: Any, sink: Sink) -> Any:
        """As other arrays; in lists None stands for NaN."""
        plain = super().write(value, sink)
        return _without_nan(plain) if isinstance(plain, list) else plain

    def from_list(self, plain: Any) -> np.ndarray:
        """The array of numbers that stayed readable."""
        return super().from_list(_with_nan(plain) if isinstance(plain, list) else plain)

    def check(self, array: np.ndarray) -> None:
        """Refuse arrays of something else."""
        if array.dtype.kind not in self.kinds:
            raise PlainError("holds something else than numbers")
        if np.isinf(array).any():
            raise PlainError("holds numbers that are not finite")


class WholeArray(Array):
    """Arrays of whole numbers of 32 bits."""

    words = "an array of whole numbers"
    kinds = "iu"

    def check(self, array: np.ndarray) -> None:
        """Refuse arrays of something else."""
        super().check(array)
        if array.size and max(-int(array.min()), int(array.max())) > 2**31 - 1:
            raise PlainError("holds whole numbers that are too large")

    def from_list(self, plain: Any) -> np.ndarray:
        """The array of numbers that stayed readable."""
        array = super().from_list(plain)
        return array if array.size else array.astype(np.int32)

    def typed(self, array: np.ndarray) -> np.ndarray:
        """The array as compiled code takes it."""
        return array.astype(np.int32, copy=False)


class FlagArray(Array):
    """Arrays of flags; packed ones are 0 or 1."""

    words = "an array of flags"
    kinds = "biu"

    def check(self, array: np.ndarray) -> None:
        """Refuse arrays of something else."""
        super().check(array)
        if array.size and not (array.min() >= 0 and array.max() <= 1):
            raise PlainError("holds something else than flags")

    def typed(self, array: np.ndarray) -> np.ndarray:
        """The array as compiled code takes it."""
        return array.astype(bool)


class ArrayOrTexts(Form):
    """An array of finite numbers, or of texts."""

    def write(self, value: Any, sink: Sink) -> Any:
        """An array, or a list of texts."""
        if value.dtype.kind == "O":
            return {"texts": TEXTS.write(value.tolist(), sink)}
        return Array().write(value, sink)

    def read(self, plain: Any, source: Source) -> np.ndarray:
        """The array."""
        if isinstance(plain, dict) and "texts" in plain:
            check_keys(plain, ("texts",))
            return np.array(at(".texts", TEXTS.read, plain["texts"], source), dtype=object)
        return Array().read(plain, source)


def _without_nan(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_without_nan(part) for part in plain]
    return None if plain != plain else plain


def _with_nan(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_with_nan(part) for part in plain]
    return float("nan") if plain is None else plain


class NamedNumbers(Form):
    """Finite numbers by name: of many, the numbers are an array."""

    def write(self, value: Any, sink: Sink) -> dict[str, Any]:
        """The names, and an array."""
        numbers = np.array([float(number) for number in value.values()], dtype=np.float64)
        return {
            "names": TEXTS.write(tuple(value), sink),
            "numbers": at(".numbers", Array().write, numbers, sink),
        }

    def read(self, plain: Any, source: Source) -> dict[str, float]:
        """A dict."""
        check_keys(plain, ("names", "numbers"))
        names = at(".names", TEXTS.read, plain["names"], source)
        numbers = at(".numbers", Array().read, plain["numbers"], source)
        if numbers.shape != (len(names),) or len(set(names)) < len(names):
            raise PlainError("needs different names, with a number each")
        return dict(zip(names, numbers.tolist(), strict=True))
