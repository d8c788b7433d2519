"""From a file of rows to a model file, an honest evaluation and something to show: what the commands call.

train -> Model, saved as JSON -> evaluate, compare, predict, explain
"""

from vrspam.tool.model import Model
from vrspam.tool.modelfile import ModelFileError, load_model, save_model

__all__ = ["Model", "ModelFileError", "load_model", "save_model"]
