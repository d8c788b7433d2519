"""`vrspam explain FILE --row N`: what each column adds to the score of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vrspam._utils.messages import require
from vrspam.cli.options import print_json, say, warn, warnings_as_lines
from vrspam.cli.tables import show_table, tell

if TYPE_CHECKING:
    from vrspam.tool import Model
    from vrspam.tool.explanation import ExplainedRow

MOST_ROWS = 10  # that are printed where none are named


def explain_single_rows(
    model: Model,
    data: str,
    numbers: Sequence[int] | None,
    reading: dict[str, Any],
    top: int,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Print rows of a file with what each column adds; without numbers the first ones, in JSON all."""
    require("data", "pyarrow")
    from vrspam.tool import explain_file

    most = None if as_json else MOST_ROWS
    with warnings_as_lines():
        found = explain_file(model, data, numbers, most=most, **reading)
    if picture is not None:
        _draw(model, found.rows[0], picture)
    if as_json:
        rows = [row.to_dict() for row in found.rows]
        print_json({"data": data, "positive": model.positive, "rows": rows, "warnings": list(found.notes)})
        return
    for number, row in enumerate(found.rows):
        if number:
            say("")
        _print_row(model, row, data, top)
    if numbers is None and found.n > len(found.rows):
        tell(f"and {found.n - len(found.rows):,} more rows: --row names some, --json prints all")
    say("")
    tell("Rows are counted from 1, the first row of the data. A score of 0 is half-way between the classes.")
    if picture is not None:
        say(str(picture))
    for note in found.notes:
        warn(f"warning: {note}")


def _print_row(model: Model, row: ExplainedRow, data: str, top: int) -> None:
    names = ", ".join(f"{name} {value}" for name, value in row.identifiers.items())
    title = f"row {row.row:,} of {Path(data).name}{f' ({names})' if names else ''}"
    if row.score is None:
        tell(f"{title}: no score, because {row.reason}")
        return
    label = f"{model.schema.target} = " if model.schema.target else ""
    from vrspam.tool.explanation import value_text

    likely = f"score {row.score:+.4f}"
    if row.probability is not None:
        likely += f", probability of {label}{model.positive} {row.probability:.1%}"
    tell(f"{title}: {likely}")
    shown, others = row.parts[:top], row.parts[top:]
    lines = [[part.column, value_text(model, part), f"{part.adds:+.4f}"] for part in shown]
    if others:
        rest = sum(part.adds for part in others)
        lines.append([f"{len(others):,} others (--top)", "", f"{rest:+.4f}"])
    lines.append(["total: the score", "", f"{row.score:+.4f}"])
    show_table(["column", "value", "adds to the score"], lines, texts=(0, 1), margin=2)


def _draw(model: Model, row: ExplainedRow, picture: Path) -> None:
    if row.score is None:
        raise ValueError(f"row {row.row:,} has no score to draw: {row.reason}")
    from vrspam.plotting import plot_contributions
    from vrspam.plotting.style import new_figure, save_figure
    from vrspam.tool.explanation import value_text

    figure, axes = new_figure(1, 1, (6.4, 1.4 + 0.27 * min(len(row.parts) + 1, 14)))
    parts = {part.column: part.adds for part in row.parts}
    values = {part.column: text for part in row.parts if (text := value_text(model, part))}
    plot_contributions(parts, values, ax=axes[0, 0])
    axes[0, 0].set_title(f"row {row.row:,}")
    save_figure(figure, picture)
