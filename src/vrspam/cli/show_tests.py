"""Tests of pairs of AUCs, as `evaluate` and `compare` print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vrspam.cli import output

if TYPE_CHECKING:
    from vrspam.measures.compare import Comparison


def show_tests(comparison: Comparison, measure: str, how: str) -> None:
    """Print the AUCs, the test of each pair, and what follows from them."""
    from vrspam._utils.texts import auc_text
    from vrspam.report.words.comparisons import aucs_of, describe_tests

    pairs = comparison.pairs
    aucs = aucs_of(pairs)
    output.show_facts([(name, f"{measure} {auc_text(auc, 4)}") for name, auc in aucs.items()], max(map(len, aucs)))
    for a, b, test, adjusted_p in pairs:
        interval = f"{100 * test.confidence:g} % interval {test.low:+.4f} to {test.high:+.4f}"
        difference = f"difference {test.difference:+.4f}, {interval}, z = {test.z:.3f}, p = {test.p_value:.3g}"
        if len(pairs) > 1:
            difference = f"{a} minus {b}: {difference}, adjusted p = {adjusted_p:.3g}"
        output.tell(f"{difference} ({how})")
    output.tell(describe_tests(pairs, measure))
