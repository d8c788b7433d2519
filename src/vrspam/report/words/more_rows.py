"""What more rows would bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vrspam.report.words.training import KINDS

if TYPE_CHECKING:
    from vrspam.model_selection.learning_curve import LearningCurve
    from vrspam.tool.learning import MoreRows

AS_MANY = {"now": 1, "twice as many": 2, "four times as many": 4}  # as multiples of the rows at hand


def describe_gain(curve: LearningCurve, lines: bool) -> str:
    """What twice and four times the rows would bring."""
    twice, four = curve.gain(2), curve.gain(4)
    band = f"90 % band {four.low:.3f} to {four.high:.3f}"
    kind = f"This is about {KINDS['linear' if lines else 'additive']}; models of interactions may gain more."
    if curve.total > 1.5 * curve.rows[-1]:  # folds leave out a fifth alone
        kind += f" The curve was drawn from {round(1.25 * curve.rows[-1]):,} rows, taken at random."
    if four.value < 0.005:
        surely = "would change little" if four.high < 0.01 else "would probably change little"
        return f"More rows {surely}: four times as many bring about {four.value:+.3f} AUC ({band}). {kind}"
    brought = f"twice as many bring about {twice.value:+.3f} AUC, four times as many {four.value:+.3f} ({band})"
    return f"More rows would help: {brought}. {kind}"


def describe_needed(more: MoreRows, width: float | None, difference: float | None, power: float) -> list[str]:
    """How many rows an interval of this width takes, and a comparison of this difference, where they were asked for."""
    sentences = []
    for name, count in more.needed.items():
        if name == "width":
            what = f"A 95 % interval of the AUC that is {width:g} wide"
        else:
            what = f"To show that another AUC is larger by {difference:g}, with a power of {100 * power:g} %,"
        times = f"{count / more.curve.total:.2g} times those at hand"
        sentences.append(f"{what} takes {count:,} rows to test on ({times}).")
    return sentences
