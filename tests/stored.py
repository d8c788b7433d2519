"""What a model file gives back of the parts of a score."""

import json

from vrspam.features.parts import Parts
from vrspam.features.storage import parts_from_plain, parts_to_plain
from vrspam.tool.modelfile import pack, unpack


def read_again(parts: Parts) -> Parts:
    """The parts of a score, packed, written as JSON, and read."""
    text = json.dumps(pack({"features": parts_to_plain(parts)}))
    return parts_from_plain(unpack(json.loads(text))["features"])
