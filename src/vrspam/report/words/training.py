"""How a model was made: what was tried and chosen, and whether the fit is complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vrspam import __version__
from vrspam._utils.findings import Fix, Note
from vrspam._utils.names import USUAL_PENALTY
from vrspam._utils.roles import REMEMBERED
from vrspam._utils.texts import auc_text, interval_text
from vrspam.report.words.auc import NOT_CORRECTED, expected_auc
from vrspam.report.words.names import name_measure

if TYPE_CHECKING:
    from vrspam.metrics.thresholds import ChosenThreshold
    from vrspam.model.model import Model

PARTIAL_AUC = "cross-validated partial AUC"
KINDS = {
    "linear": "straight lines",
    "standardized": "straight lines",
    "additive": "smooth curves",
    "kernel alone": "interactions alone",
    "kernel": "smooth curves and interactions",
    "tree": "interactions of random trees",
    "trees": "interactions of random trees",
    "forest": "forest of trees that learn from labels",
    "boosted": "boosted trees",
}


def describe_candidate(name: str) -> str:
    """Return what kind of model a candidate is, from its name in `selection`; unknown names stay as they are.

    >>> describe_candidate("boosted"), describe_candidate("kernel alone 0.3")
    ('boosted trees', 'interactions alone (kernel bandwidth 0.3)')
    """
    kind, _, size = name.rpartition(" ")
    if name in KINDS:
        return KINDS[name]
    setting = "maximum depth" if kind == "trees" else "kernel bandwidth"
    return f"{KINDS[kind]} ({setting} {size})" if kind in KINDS else name


def describe_step(step: str) -> str:
    """The step of a search, such as "additive: AUC 0.83 ± 0.01", with the model in plain words."""
    name, colon, score = step.partition(":")
    return f"{describe_candidate(name)}{colon}{score}"


def describe_result(row: Mapping[str, Any], rows: int) -> tuple[str, str]:
    """Return the mean over folds of a candidate ("" if fewer than `rows` rows were used), and what became of it.

    >>> describe_result({"chosen": True, "weight": 0.25, "auc": 0.9, "standard_error": 0.01, "rows": 90_000}, 90_000)
    ('0.9000 ± 0.0100', '25 % of the blend')
    >>> describe_result({"chosen": False, "auc": 0.927, "rows": 4_000}, 90_000)
    ('', 'tried on 4,000 rows only (0.927 there), behind the others')
    """
    n_compared = row.get("rows", rows)
    score = row.get("score", row["auc"])
    mean = ""
    became = ""
    if n_compared < rows:
        became = f"tried on {n_compared:,} rows only ({auc_text(score)} there), behind the others"
    else:
        mean = f"{auc_text(score, 4)} ± {row['standard_error']:.4f}"
    if row["chosen"]:
        weight = row.get("weight", 1.0)
        became = "chosen" if weight == 1.0 else f"{100 * weight:.0f} % of the blend"
    return mean, became


def describe_fit(facts: Mapping[str, Any]) -> tuple[str, str] | None:
    """Whether the fit reached the optimum, in short, and how that is known; None if the facts do not say.

    >>> describe_fit({"relative_gap": 2e-16})[0]
    'complete'
    >>> describe_fit({"relative_gap": None})[0]
    'without a certificate'
    """
    if None in (facts.get("relative_gap", 0.0), facts.get("relative_stationarity", 0.0)):
        return "without a certificate", (
            "There is no certificate: how far these coefficients are from the best ones is not known. So it is where "
            "held-out rows are ranked no better than by chance."
        )
    if "relative_gap" in facts:
        gap = facts["relative_gap"]
        short = "complete" if gap <= 1e-3 else f"stopped early, up to {gap:.0e} above the minimum"
        return short, (
            f"The certificate: no other coefficients have an objective that is smaller by more than {gap:.0e} of the "
            "objective with all coefficients 0. It holds in floating point."
        )
    if "relative_stationarity" in facts:
        return "no small change improves it", (
            "There is no certificate, because the penalty is not convex: distant coefficients may be better. No small "
            f"change improves these; the gradient is 0 to {facts['relative_stationarity']:.0e}."
        )
    return None


def describe_rows_held(count: int) -> Note:
    """Return the warning for a model file that holds rows of the table."""
    words = f"this file contains data of {count:,} of your rows; share it with care, or use "
    return Note(words, Fix("private", True))


def training_facts(model: Model) -> dict[str, str]:
    """Return how the model was made, from the facts that it stores, and what kind of function its score is."""
    facts, shown = model.training, dict[str, str]()
    if "data" in facts:
        shown["trained on"] = ", ".join(facts["data"])
    if facts.keys() >= {"rows", "positives"}:
        positives = "" if "order" in facts else f", {facts['positives']:,} positive"
        shown["rows"] = f"{facts['rows']:,}{positives}"
    shown["model"] = _kind_of_model(model)
    for name in REMEMBERED:
        if name in facts:
            shown[name] = facts[name]
    expected = expected_auc(model)
    if expected is not None:
        interval = interval_text(expected.low, expected.high, 4)
        if np.isnan(expected.low):
            interval = f"interval {interval}"
        auc = auc_text(expected.auc, 4)
        remark = f"; {expected.remark}" if expected.remark else ""
        shown[f"{name_measure(model.outcome)} to expect"] = f"{auc} ({interval}){remark}"
    if facts.keys() >= {"max_fpr", "cv_partial_auc", "cv_partial_auc_low", "cv_partial_auc_high"}:
        shown[PARTIAL_AUC] = _partial_auc(facts)
    if facts.get("loss", "squared") != "squared":
        shown["loss"] = facts["loss"]
    if facts.get("map") == "stacked":
        shown["penalty"] = "each model of the blend has its own, chosen by the folds"
    elif facts.keys() >= {"l2", "l1"}:
        shown["penalty"] = _penalty(facts)
    fit = describe_fit(facts)
    if fit is not None:
        shown["fit"] = fit[0]
    if model.threshold is not None:
        shown["threshold"] = _stored_threshold(model.threshold)
    if not model.ranks:
        shown["calibration"] = "none" if model.calibration is None else model.calibration.method
    shown["page written by"] = f"vrspam {__version__}"
    return shown


def _kind_of_model(model: Model) -> str:
    """What kind of function a score is, and of how many features."""
    facts = model.facts
    if facts is None:
        return "straight lines" if model.is_linear else "curves, kernels or trees"
    # A file stores the features of a kernel added up; the facts have the number that was fitted.
    features = f"{facts.features:,} feature{'s' if facts.features != 1 else ''}"
    if facts.nonzero < facts.features:
        features = f"{features}, {facts.nonzero:,} of them used"
    kind = facts.map
    if kind == "stacked":
        n_models = sum(candidate.chosen for candidate in facts.selection)
        return f"a blend of {n_models} models, {features}"
    if kind not in KINDS:
        return f"{kind}, {features}"
    words = KINDS[kind]
    if kind == "kernel" and not model.is_linear and not model.parts.has_effects:
        words = KINDS["kernel alone"]
    return f"{words} ({kind}), {features}"


def _partial_auc(facts: Mapping[str, Any]) -> str:
    """The partial AUC of the folds."""
    interval = f"95 % interval {interval_text(facts['cv_partial_auc_low'], facts['cv_partial_auc_high'], 4)}"
    up_to = f"up to {100 * facts['max_fpr']:g} % false positives, standardised"
    return f"{auc_text(facts['cv_partial_auc'], 4)}, {interval} ({up_to}); {NOT_CORRECTED}"


def _penalty(facts: Mapping[str, Any]) -> str:
    """The penalty, and what it does."""
    name = facts.get("penalty", USUAL_PENALTY)
    called = "" if name == USUAL_PENALTY else f"{name}, "
    effect = "l2 keeps coefficients small, l1 sets some to 0" if facts["l1"] else "keeps coefficients small"
    return f"{called}l2 = {facts['l2']:.3g}, l1 = {facts['l1']:.3g} ({effect}; chosen by the folds)"


def _stored_threshold(threshold: ChosenThreshold) -> str:
    """The threshold that a model stores, with what it does on held-out rows."""
    found = f"{100 * threshold.sensitivity:.1f} % of the positives"
    called = f"{100 * threshold.share:.1f} % of the rows"
    right = ""
    if threshold.precision is not None:
        right = f", and {100 * threshold.precision:.1f} % of them are positive"
    rule = f"score at least {threshold.threshold:g} ({threshold.words})"
    return f"{rule}. On held-out rows it finds {found} and calls {called}{right}"
