"""Sentences that pages and the terminal share: each is worded here, once.

names.py          what rows and measures are called
auc.py            the AUC: what it means, what to expect, what to doubt
comparisons.py    paired tests
thresholds.py     thresholds, what they promise, what they call
probabilities.py  calibration, and what it is worth to act
more_rows.py      what more rows would bring
groups.py         levels of columns
model.py          what a model looks at
numbers.py        single numbers of an evaluation
training.py       how a model was made
"""
