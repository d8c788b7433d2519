"""Paired tests of scores, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vrspam._utils.texts import auc_text
from vrspam.report.words.names import listed

if TYPE_CHECKING:
    from vrspam.measures.compare import Comparison
    from vrspam.metrics import ComparedPair, DeLongTest


def verdict(test: DeLongTest, a: str, b: str, measure: str = "AUC") -> str:
    """The result of a comparison in one sentence."""
    if np.isnan(test.p_value):
        return f"{a} and {b} differ by the same amount in every row: no test is possible."
    if test.p_value >= 1.0 - test.confidence:
        both = f"{auc_text(test.auc_a, 4)} and {auc_text(test.auc_b, 4)}"
        return f"No difference was found: {measure} {both}, p = {test.p_value:.3g}."
    better, worse = (a, b) if test.difference > 0 else (b, a)
    size = abs(test.difference)
    by = f"by {size:.4f}" if size >= 5e-5 else "by less than 0.0001"
    return f"{better} ranks better than {worse}: {by} in {measure}, p = {test.p_value:.3g}."


def aucs_of(pairs: Sequence[ComparedPair]) -> dict[str, float]:
    """The AUC of each score that is compared."""
    aucs: dict[str, float] = {}
    for a, b, test, _ in pairs:
        aucs.setdefault(a, test.auc_a)
        aucs.setdefault(b, test.auc_b)
    return aucs


def describe_tests(pairs: Sequence[ComparedPair], measure: str = "AUC") -> str:
    """The result of paired tests: which score ranks best, and which others differ from it by more than chance."""
    if len(pairs) == 1:
        return verdict(pairs[0].test, pairs[0].a, pairs[0].b, measure)
    aucs = aucs_of(pairs)
    best = max(aucs, key=lambda name: aucs[name])
    worse: list[str] = []
    alike: list[str] = []
    for a, b, test, adjusted_p in pairs:
        if best not in (a, b):
            continue
        other = b if a == best else a
        if adjusted_p < 1.0 - test.confidence:
            worse.append(other)
        else:
            alike.append(other)
    parts = [f"{best} has the highest {measure}, {auc_text(aucs[best], 4)}"]
    if worse:
        parts.append(f"it ranks better than {listed(worse)} by more than chance")
    if alike:
        parts.append(f"no difference was found from {listed(alike)}")
    return f"{'; '.join(parts)}."


def describe_beside(comparison: Comparison, measure: str = "AUC", grouped: bool = False) -> list[str]:
    """How a model compares with others whose out-of-fold scores were given, and what the comparison assumes."""
    ours = comparison.names[0]
    others = listed(comparison.names[1:])
    result = describe_tests(comparison.pairs, measure)
    if result.startswith(ours):
        result = f"{result[0].upper()}{result[1:]}"
    sentences = [f"{result} All are measured on the same {comparison.positive.size:,} held-out rows."]
    if comparison.optimism > 0.0:
        less = f"{comparison.optimism:.4f}"
        sentences.append(
            f"{less} was taken from the {measure} of this model, because these rows were used to choose it."
        )
    group = ", nor on rows of its group" if grouped else ""
    sentences.append(
        f"This assumes that {others} scored each row by a model that was not trained on it{group}. "
        f"The {measure} of {others} is not corrected: a model that was tuned on these rows looks better than it is."
    )
    if any(a == ours and test.difference < -0.05 and p < 0.05 for a, _, test, p in comparison.pairs):
        sentences.append(
            "A gap this large is often a sign that the other model was trained on the rows that it scored."
        )
    return sentences
