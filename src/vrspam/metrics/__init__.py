"""How well scores rank: AUC and partial AUC with intervals and paired tests, sensitivity at a specificity."""

from vrspam.metrics.intervals import (
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
from vrspam.metrics.partial import partial_auc, partial_auc_ci, partial_auc_columns, partial_auc_test
from vrspam.metrics.roc import hand_till_auc, one_vs_rest_auc, roc_auc, roc_auc_columns, sensitivity_at_specificity
from vrspam.metrics.thresholds import average_precision_columns

__all__ = [
    "ENOUGH_FOR_DELONG",
    "AUCInterval",
    "DeLongTest",
    "IntervalMethod",
    "average_precision_columns",
    "delong_test",
    "exponential_variance",
    "hand_till_auc",
    "logit_interval",
    "newcombe_interval",
    "one_vs_rest_auc",
    "partial_auc",
    "partial_auc_ci",
    "partial_auc_columns",
    "partial_auc_test",
    "roc_auc",
    "roc_auc_ci",
    "roc_auc_columns",
    "sensitivity_at_specificity",
]
