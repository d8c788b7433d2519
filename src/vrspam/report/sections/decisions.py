"""The decision curve: what it is worth to act on rows from a probability on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vrspam.metrics import Estimate, NetBenefit, net_benefit
from vrspam.metrics.net_benefit import benefit_over_all
from vrspam.report.blocks import Cell, Grid, Paragraph, Row, Shown, Table
from vrspam.report.page import Section
from vrspam.report.pictures.decision import decision_curve
from vrspam.report.words.probabilities import describe_benefit

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation

POINTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)


def worth_acting(evaluation: Evaluation) -> Section | None:
    """The net benefit of the model, of acting on everyone and on no one; none without probabilities."""
    positive, chance = evaluation.positive, evaluation.probabilities
    if chance is None:
        return None
    confidence = evaluation.auc.confidence
    counting: dict[str, Any] = {
        "confidence": confidence,
        "groups": evaluation.groups,
        "sample_weight": evaluation.weights,
    }
    benefit = net_benefit(positive, chance, **counting)

    highest = float(np.quantile(chance, 0.999))
    last = min(0.99, max(float(np.ceil(10.0 * highest) / 10.0), 0.1))
    points = [at for at in POINTS if at <= last]
    usual = min(points, key=lambda at: abs(np.log(at / evaluation.share_of_positives)))

    over_all = benefit_over_all(positive, chance, usual, **counting)
    sentence = describe_benefit(usual, over_all, _benefit_at(benefit, usual), confidence)
    blocks: list[Shown] = [decision_curve(benefit, last), _table_of_benefits(benefit, points, confidence)]
    return Section("Is it worth acting on?", [Paragraph(sentence), Grid(blocks, "large")])


def _benefit_at(benefit: NetBenefit, at: float) -> Estimate:
    """The net benefit of the model from a probability on, with its interval."""
    place = round(100 * at) - 1  # thresholds are 1 %, 2 %, ...
    return Estimate(float(benefit.model[place]), float(benefit.low[place]), float(benefit.high[place]))


def _table_of_benefits(benefit: NetBenefit, points: list[float], confidence: float) -> Table:
    """The net benefit at a few probabilities, per 100 rows."""
    rows: list[Row] = []
    for at in points:
        value, low, high = (100.0 * number for number in _benefit_at(benefit, at))
        everyone = 100.0 * float(benefit.treat_all[round(100 * at) - 1])
        rows.append(
            [
                Cell(f"{100 * at:g} %", at),
                Cell(f"{value:.2f} ({low:.2f} to {high:.2f})", value),
                Cell(f"{everyone:.2f}", everyone),
            ]
        )
    caption = "Net true alerts per 100 rows: hits, less false alarms at their price; acting on no one brings 0"
    return Table(["act from", f"model, {100 * confidence:g} % interval", "everyone"], rows, caption)
