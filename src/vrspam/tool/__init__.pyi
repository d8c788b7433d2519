# The public names and where they live: read by type checkers, by editors and, at import, by lazy_loader.
from .evaluation import compare as compare
from .evaluation import evaluate as evaluate
from .evaluation import score_file as score_file
from .explanation import explain as explain
from .model import Model as Model
from .modelfile import ModelFileError as ModelFileError
from .modelfile import load_model as load_model
from .modelfile import save_model as save_model
from .prediction import predict as predict
from .training import train as train
