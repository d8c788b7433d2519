"""Models as graphs of standard ONNX operators, and converters for skl2onnx. Needs the extra `onnx`."""

from vrspam._utils.messages import require

require("onnx", "onnx")  # its message says what to install; a failed import below would not

# ruff: noqa: E402
from vrspam.export.onnx_graphs.model import to_onnx
from vrspam.export.onnx_graphs.skl2onnx_converters import register_skl2onnx

__all__ = ["register_skl2onnx", "to_onnx"]
