# The public names and where they live: read by type checkers, by editors and, at import, by lazy_loader.
from .checking import Finding, check
from .comparison import compare
from .evaluation import Evaluation, Evaluations, evaluate, score_file
from .explanation import Effect, ExplainedRows, explain, explain_file
from .exports import ModelFileError, export_model, load_model, save_model
from .learning import MoreRows, rows
from .plan import TrainPlan
from .prediction import predict
from .report import Report, make_report, report_page
from .scores import Comparison
from .training import Model, train

__all__ = [
    "Comparison",
    "Effect",
    "Evaluation",
    "Evaluations",
    "ExplainedRows",
    "Finding",
    "Model",
    "ModelFileError",
    "MoreRows",
    "Report",
    "TrainPlan",
    "check",
    "compare",
    "evaluate",
    "explain",
    "explain_file",
    "export_model",
    "load_model",
    "make_report",
    "predict",
    "report_page",
    "rows",
    "save_model",
    "score_file",
    "train",
]
