"""Models as graphs of standard ONNX operators. Needs the extra `onnx`."""

from vrspam._utils.extras import require

require("onnx", "onnx")  # its message says what to install; a failed import below would not

# ruff: noqa: E402
from vrspam.export.onnx_graphs.model import to_onnx

__all__ = ["to_onnx"]
