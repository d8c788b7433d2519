"""Warnings of the estimators, whose advice names their own parameters, in terms of what `train` lets one choose."""

from __future__ import annotations

import re

CERTIFICATE = "to the last digit; the certificate says how far from the optimum the model can be"
_REWORDED = [
    (
        re.compile(r"(\d+) of (\d+) solutions of the grid were not certified to tol: .*"),
        rf"\1 of \2 candidates for the penalty were not solved {CERTIFICATE}",
    ),
    (re.compile(r"\w+ stopped after \d+ iterations with gap_ = .*"), f"the model was not solved {CERTIFICATE}"),
    (re.compile(r"of the grid(?=, and beats its neighbour)"), "that was tried"),
    (re.compile(r": add (larger|smaller) values of l2\.$"), r": a \1 one, which `train` never takes, may rank better"),
    (re.compile(r": add (larger|smaller) values of l1\.$"), r": try \1 numbers with l1="),
    (
        re.compile(r"at a smaller one of the grid\. Add smaller values of l1, if there is anything to find\.$"),
        "at a smaller one that was tried; try still smaller numbers with l1=, if there is anything to find",
    ),
]


def reworded(message: str) -> str:
    """A warning of an estimator as it means something to whoever calls `train`; others stay as they are.

    >>> reworded("2 of 60 solutions of the grid were not certified to tol: raise max_iter, ...")  # doctest: +ELLIPSIS
    '2 of 60 candidates for the penalty were not solved to the last digit; the certificate says ...'
    """
    for pattern, words in _REWORDED:
        message = pattern.sub(words, message)
    return message
