"""What a model file gives back of objects, and what it holds with lists in the place of packed arrays."""

import copy
import json
from typing import Any

from vrspam.features.parts import Parts
from vrspam.model.packing import unpack_arrays
from vrspam.model.plain import from_plain, to_plain


def read_again(parts: Parts) -> Parts:
    """The parts of a score, made plain, written as JSON, and read."""
    return from_plain(Parts, json.loads(json.dumps(to_plain(parts))))


def as_lists(content: dict[str, Any]) -> dict[str, Any]:
    """The same content with its arrays as lists, where they are used; None stands for NaN."""
    arrays = [without_nan(array.tolist()) for array in unpack_arrays(content["arrays"])]

    def unpacked(value: Any) -> Any:
        if isinstance(value, dict):
            if set(value) == {"array"} and type(value["array"]) is int:
                return copy.deepcopy(arrays[value["array"]])
            return {key: unpacked(part) for key, part in value.items()}
        return [unpacked(part) for part in value] if isinstance(value, list) else value

    return {"fields": unpacked(content["fields"]), "shared": unpacked(content["shared"]), "arrays": []}


def without_nan(value: Any) -> Any:
    """A list with None in the place of NaN."""
    if isinstance(value, list):
        return [without_nan(part) for part in value]
    return None if value != value else value
