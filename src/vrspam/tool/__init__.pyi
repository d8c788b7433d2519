# The public names and where they live: read by type checkers, by editors and, at import, by lazy_loader.
from .evaluation import compare, evaluate, score_file
from .explanation import explain
from .model import Model
from .modelfile import ModelFileError, load_model, save_model
from .prediction import predict
from .single_rows import explain_file
from .training import train

__all__ = [
    "Model",
    "ModelFileError",
    "compare",
    "evaluate",
    "explain",
    "explain_file",
    "load_model",
    "predict",
    "save_model",
    "score_file",
    "train",
]
