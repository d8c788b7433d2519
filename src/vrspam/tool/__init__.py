"""From a file of rows to a model file, an honest evaluation and something to show: what the commands call.

train -> Model, saved as JSON -> evaluate, compare, predict, explain
"""

from importlib import import_module
from typing import Any

from vrspam.tool.model import Model
from vrspam.tool.modelfile import ModelFileError, load_model, save_model

__all__ = [
    "Model",
    "ModelFileError",
    "compare",
    "evaluate",
    "explain",
    "load_model",
    "predict",
    "save_model",
    "train",
]

# Found when first asked for: to explain a model needs none of what trains one.
_LATER = {
    "train": "training",
    "evaluate": "evaluation",
    "compare": "evaluation",
    "predict": "predicting",
    "explain": "explaining",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
