"""What a model file gives back of the parts of a score."""

import json

from vrspam.features.parts import Parts
from vrspam.tool.modelfile import pack, parts_from_dict, parts_to_dict, unpack


def read_again(parts: Parts) -> Parts:
    """The parts of a score, packed, written as JSON, and read."""
    text = json.dumps(pack({"features": parts_to_dict(parts)}))
    return parts_from_dict(unpack(json.loads(text))["features"])
