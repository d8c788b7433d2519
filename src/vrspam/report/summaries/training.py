"""What `train` prints of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix
from vrspam._utils.texts import percent
from vrspam.report.blocks import Block, Facts, Headline, Paragraph
from vrspam.report.first_screen import headline, worries
from vrspam.report.sections.model import meaning_of_effects, table_of_effects
from vrspam.report.sections.origin import table_of_models
from vrspam.report.words.auc import ExpectedAUC, describe_auc, describe_expected, doubt_of, expected_auc, other_aucs
from vrspam.report.words.names import class_names, measure_title, name_measure
from vrspam.report.words.training import PARTIAL_AUC, training_facts

if TYPE_CHECKING:
    from vrspam.model.model import Model

MOST_EFFECTS = 10
SHOWN = (PARTIAL_AUC, "threshold", "model", "loss", "penalty", "fit")  # of the facts of the training


def summary_of_training(model: Model, parameter: Callable[[Fix], str] = str) -> list[Block]:
    """The AUC to expect, what to worry about, how the model was made, its strongest columns, and what was compared."""
    expected = expected_auc(model)
    facts = training_facts(model)
    made = {name: facts[name] for name in SHOWN if name in facts}
    blocks: list[Block] = [worries(model.training.get("warnings", ()), parameter), Facts(made)]
    if expected is not None:
        blocks = [screen_of_training(model, expected, made, parameter)]
    blocks += [table_of_effects(model, MOST_EFFECTS), Paragraph(meaning_of_effects(model))]
    compared = table_of_models(model)
    if compared is not None:
        blocks.append(compared)
    return blocks


def screen_of_training(
    model: Model, expected: ExpectedAUC, further: Mapping[str, str], parameter: Callable[[Fix], str] = str
) -> Headline:
    """The AUC to expect on new rows, what it means, and what to worry about; `further` facts come last."""
    outcome, training = model.outcome, model.training
    names = class_names(outcome)
    facts = {"rows": f"{training['rows']:,}"}
    if outcome.order is None:
        share = percent(training["positives"] / training["rows"])
        facts[f"rows with {names['positive']}"] = f"{training['positives']:,} ({share})"
    facts |= describe_expected(expected)
    facts |= other_aucs(model)
    texts = [
        *doubt_of(expected.low, expected.high, measure=name_measure(outcome)),
        *training.get("warnings", ()),
    ]
    return headline(
        f"{measure_title(outcome)} to expect on new rows",
        expected,
        describe_auc(expected.auc, names),
        {**facts, **further},
        worries(texts, parameter),
        source=f"{training['folds']} folds",
    )
