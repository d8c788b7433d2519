"""Scored rows, and every number that follows from them: a model, a column of scores and held-out rows go one way.

rows.py           `ScoredRows`: labels, scores, and what stands beside them
outcome.py        `Outcome`: what scores rank, in the words of the table
measure.py        `measure`: AUC, thresholds, calibration, ... -> `Evaluation`
compare.py        `compare`: paired tests of several scores of the same rows -> `Comparison`
subgroups.py      `judge_levels`: the levels of columns, one by one -> `Subgroup`
auc_interval.py   the interval of an AUC, or of a concordance index
fold_interval.py  the interval of the mean AUC of folds
"""
