from .from_estimators import scorer_of
from .onnx_model import to_onnx
from .scorer import NotExportable, Scorer

__all__ = [
    "NotExportable",
    "Scorer",
    "scorer_of",
    "to_onnx",
]
