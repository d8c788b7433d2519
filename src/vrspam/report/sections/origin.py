"""How a model was made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix, text_of
from vrspam.report.blocks import Bullets, Cell, Facts, Folded, Paragraph, Row, Shown, Table
from vrspam.report.page import Section
from vrspam.report.words.names import name_measure
from vrspam.report.words.training import describe_candidate, describe_fit, describe_result, training_facts

if TYPE_CHECKING:
    from vrspam.model.model import Model


def how_it_was_made(
    model: Model,
    *,
    further: Mapping[str, str] | None = None,
    show_notes: Callable[[Fix], str] | None = None,
    command: str = "",
) -> Section:
    """The facts of the training, with `further` ones before them.

    `show_notes` is how a parameter is shown in what the training noticed; None leaves that out. `command` makes the
    page again.
    """
    blocks: list[Shown] = [Facts({**(further or {}), **training_facts(model)})]
    fit = describe_fit(model.training)
    if fit is not None:
        blocks.append(Folded("How we know that the fit is complete", [Paragraph(fit[1])]))
    blocks += _models_compared(model)
    notes = model.training.get("warnings", ())
    if show_notes is not None and notes:
        blocks += [Paragraph("Noticed in training:"), Bullets([text_of(note, show_notes) for note in notes])]
    if command:
        blocks.append(Paragraph("The command to do it again:", code=command))
    return Section("How it was made", blocks)


def _models_compared(model: Model) -> list[Folded]:
    """The candidates, folded; none if there was no choice."""
    numbers = table_of_models(model)
    return [] if numbers is None else [Folded(f"The {len(numbers.rows)} models that were compared", [numbers])]


def table_of_models(model: Model) -> Table | None:
    """The models that were compared; None if there was no choice."""
    tried = model.training.get("selection", ())
    if len(tried) < 2:
        return None
    n_rows = model.training.get("rows", 0)
    rows: list[Row] = []
    for candidate in tried:
        mean, became = describe_result(candidate, n_rows)
        n_features = candidate["n_features"]
        auc: Cell | str = Cell(mean, candidate.get("score", candidate["auc"])) if mean else "–"
        rows.append([describe_candidate(candidate["features"]), Cell(f"{n_features:,}", n_features), auc, became])
    measure = "partial AUC" if "score" in tried[0] else name_measure(model.outcome)
    columns = ["model", "features", f"{measure} of the folds", "taken"]
    return Table(columns, rows, f"Models compared: mean {measure} of the folds ± standard error")
