# The public names and where they live: read by type checkers, by editors and, at import, by lazy_loader.
from .calibration import Calibration, calibration_measures
from .comparison import ComparedPair, compare_aucs, unpaired_auc_test
from .concordance import concordance_index, concordance_index_ci, concordance_test
from .corrected_search import corrected_auc_of
from .correction import CorrectedAUC, corrected_auc
from .estimates import Estimate
from .intervals import (
    ENOUGH_FOR_DELONG,
    AUCInterval,
    DeLongTest,
    IntervalMethod,
    delong_test,
    exponential_variance,
    logit_interval,
    newcombe_interval,
    roc_auc_ci,
)
from .net_benefit import NetBenefit, net_benefit
from .partial import partial_auc, partial_auc_ci, partial_auc_columns, partial_auc_test
from .planning import rows_for_difference, rows_for_width
from .promises import PromisedThreshold, promised_threshold
from .roc import hand_till_auc, one_vs_rest_auc, roc_auc, roc_auc_columns, sensitivity_at_specificity
from .thresholds import average_precision_columns

__all__ = [
    "ENOUGH_FOR_DELONG",
    "AUCInterval",
    "Calibration",
    "ComparedPair",
    "CorrectedAUC",
    "DeLongTest",
    "Estimate",
    "IntervalMethod",
    "NetBenefit",
    "PromisedThreshold",
    "average_precision_columns",
    "calibration_measures",
    "compare_aucs",
    "concordance_index",
    "concordance_index_ci",
    "concordance_test",
    "corrected_auc",
    "corrected_auc_of",
    "delong_test",
    "exponential_variance",
    "hand_till_auc",
    "logit_interval",
    "net_benefit",
    "newcombe_interval",
    "one_vs_rest_auc",
    "partial_auc",
    "partial_auc_ci",
    "partial_auc_columns",
    "partial_auc_test",
    "promised_threshold",
    "roc_auc",
    "roc_auc_ci",
    "roc_auc_columns",
    "rows_for_difference",
    "rows_for_width",
    "sensitivity_at_specificity",
    "unpaired_auc_test",
]
