"""The AUC: what it means, what to expect on new rows, what to doubt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam._utils.findings import Fix, Note
from vrspam._utils.texts import auc_text, interval_text
from vrspam.model.outcome import Outcome
from vrspam.report.words.names import class_names, name_measure

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation
    from vrspam.metrics import AUCInterval
    from vrspam.model.model import Model

AUC_IS = "AUC is the probability that a positive row scores above a negative one; 0.5 is guessing, 1 is perfect."
GUESSING = "0.5 is guessing"
NOT_CORRECTED = "this may flatter a little, because the model was chosen by it"


def describe_auc(auc: float, names: Mapping[str, str]) -> str:
    """Return what an AUC means; `names` are what rows of both classes are called, from `class_names`.

    >>> describe_auc(0.834, {"positive": "sick = yes", "negative": "sick = no"})
    'Of 100 pairs of a row with sick = yes and a row with sick = no, 83 are ranked right.'
    >>> describe_auc(0.834, {"pair": "rows that differ in price", "upper": "the one with the larger price"})
    'Of 100 pairs of rows that differ in price, the one with the larger price is ranked higher in 83.'
    """
    count = f"{100 * auc:.0f}"
    if count == "100":
        count = "all" if auc == 1.0 else "more than 99"
    pair = names.get("pair") or f"a row with {names['positive']} and a row with {names['negative']}"
    if "upper" in names:
        return f"Of 100 pairs of {pair}, {names['upper']} is ranked higher in {count}."
    return f"Of 100 pairs of {pair}, {count} are ranked right."


def describe_partial(max_fpr: float) -> str:
    """What a partial AUC is, in one sentence."""
    return (
        f"The partial AUC is the AUC of the part of the curve up to {100 * max_fpr:g} % false positives, standardised: "
        "0.5 is guessing, 1 is perfect."
    )


def describe_source(evaluation: Evaluation) -> str:
    """Return the method behind the interval of an evaluation's AUC, and the number of groups if rows have any."""
    source = evaluation.auc.source
    if not evaluation.has_classes and source == "DeLong":
        source = "jackknife"
    if evaluation.folds is not None:
        source += f", mean of {np.unique(evaluation.folds).size:,} folds"
    if evaluation.groups is not None:
        source += f", {np.unique(evaluation.groups).size:,} groups of rows"
    return source


class ExpectedAUC(NamedTuple):
    """The AUC to expect on new rows, its 95 % interval, and a remark on what the choice of the model did to it, or "".

    With fewer than 6 groups of rows there is no interval: its ends are NaN.
    """

    auc: float
    low: float
    high: float
    remark: str


def expected_auc(model: Model) -> ExpectedAUC | None:
    """Return the cross-validated AUC, corrected for the choice of the model if known; None if the model stores none."""
    facts = model.training
    if any(facts.get(name) is None for name in ("cv_auc", "cv_auc_low", "cv_auc_high")):
        return None
    if facts.get("corrected_auc") is None:
        return ExpectedAUC(facts["cv_auc"], facts["cv_auc_low"], facts["cv_auc_high"], NOT_CORRECTED)
    auc = facts["corrected_auc"]
    low = facts.get("corrected_auc_low")
    high = facts.get("corrected_auc_high")
    return ExpectedAUC(
        auc,
        low=np.nan if low is None else low,
        high=np.nan if high is None else high,
        remark=_what_the_best_showed(facts, auc),
    )


def _what_the_best_showed(facts: Mapping[str, Any], auc: float) -> str:
    """The AUC of the folds by which a model was chosen, beside the AUC to expect; "" where both are the same."""
    tried = facts.get("selection", ())
    n_taken = sum(row["chosen"] for row in tried)
    if n_taken > 1:
        best = f"a blend of {n_taken} models"
    elif len(tried) > 1:
        best = f"the best of {len(tried)} models"
    else:
        best = "the best penalty"
    shown = auc_text(facts["cv_auc"])
    if shown == auc_text(auc):
        return ""
    return f"{best} showed {shown}; picking the best flatters"


def describe_expected(expected: ExpectedAUC) -> dict[str, str]:
    """The AUC to expect beside the one by which the model was chosen; nothing where both are the same."""
    return {"expect": f"{auc_text(expected.auc)} ({expected.remark})"} if expected.remark else {}


def other_aucs(model: Model, kept: bool = False) -> dict[str, str]:
    """Return further AUCs, named by what differs from the AUC to expect.

    "as independent rows": without the groups that folds keep together (left out if rows were `kept` from the
    training); "without directions": of a model that is free to rise and fall, where columns are monotone.
    """
    facts, aucs = model.training, dict[str, str]()
    if "independent_auc" in facts and not kept:
        aucs["as independent rows"] = _as_independent_rows(facts)
    if "unconstrained_auc" in facts:
        directions = ", ".join(f"{name} {direction}" for name, direction in requests(model).items())
        aucs["without directions"] = f"{auc_text(facts['unconstrained_auc'])} ({directions} by request)"
    return aucs


def _as_independent_rows(facts: Mapping[str, Any]) -> str:
    """The AUC of folds that tear groups apart, and whether that flatters."""
    independent = facts["independent_auc"]
    shown = auc_text(independent)
    if not shown.startswith("above"):
        shown = f"about {shown}"
    column = facts.get("groups", "duplicates")
    rows = "copies of one row" if column == "duplicates" else f"rows with the same {column}"
    effect = "flatter it" if independent > facts["corrected_auc"] + 0.01 else "go together"
    return f"{shown} (a quick model): {rows} {effect}"


def requests(model: Model) -> dict[str, str]:
    """Return the direction that was requested for each monotone column: "rises" or "falls"."""
    directions = model.training.get("monotone", {})
    return {name: "rises" if sign > 0 else "falls" for name, sign in directions.items() if sign}


def doubt_of(low: float, high: float, confidence: float = 0.95, measure: str = "AUC") -> list[str]:
    """Return a warning if the model may be guessing: one sentence, or none.

    >>> doubt_of(0.47, 0.64)
    ['the model may be guessing: the 95 % interval of its AUC, 0.470 to 0.640, holds 0.5']
    >>> doubt_of(0.6, 0.7)
    []
    """
    if not low <= 0.5:
        return []
    interval = f"the {100 * confidence:g} % interval of its {measure}, {interval_text(low, high)},"
    if high < 0.5:
        return [f"the model ranks these rows worse than guessing, are the labels swapped? {interval} lies below 0.5"]
    return [f"the model may be guessing: {interval} holds 0.5"]


def doubts_of_column(name: str, outcome: Outcome, auc: AUCInterval) -> list[str]:
    """Return the warning of `doubt_of` for a column of scores that any model has made."""
    measure, subject = name_measure(outcome), f"column {name!r}"
    doubts = doubt_of(auc.low, auc.high, auc.confidence, measure)
    if not doubts or auc.high >= 0.5:
        return [text.replace("the model", subject) for text in doubts]
    positive = outcome.higher if outcome.ranks else class_names(outcome)["positive"]
    sentence = (
        f"{subject} ranks the wrong way round: its {measure} is {auc_text(auc.auc)}. Where low scores stand for "
        f"{positive}, give the negative of the column"
    )
    if len(outcome.others) == 1 and not outcome.ranks:
        return [Note(sentence, ", or add ", Fix("positive", str(outcome.others[0])))]
    return [sentence]
