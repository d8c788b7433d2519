"""`vrspam train`: from a file to a model file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam._utils.findings import text_of
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output
from vrspam.cli.typed import typed
from vrspam.tool.options import PAGE, PANELS
from vrspam.tool.plan import OPTIONS, options_of

if TYPE_CHECKING:
    from vrspam.tool import Model


@options.with_options(*options_of("train"), panels=PANELS)
def train(
    context: typer.Context,
    data: options.Data,
    model: Annotated[Path, typer.Option(help="The file to write the model to.")] = Path("model.json"),
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            help="Write the page of `vrspam report`: each row is scored by a model trained without it.",
            rich_help_panel=PAGE,
        ),
    ] = None,
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Train a model on a file and write it to a model file.

    Text columns become categories, and all features are standardised.
    Text that is numbers is read as numbers, and dates become features.
    Cross-validation compares seven kinds of models, blends the best, and chooses penalties.
    Columns that look like identifiers are left out.
    Warnings say what looks wrong with the data.

    Example:  vrspam train patients.csv --target sick --positive yes --model patients.json

    Example:  vrspam train patients.csv --target sick --html report.html

    Example:  vrspam train patients.csv --target sick --features additive

    Example:  vrspam train patients.csv --target sick --max-fpr 0.1

    Example:  vrspam train visits.xlsx --target readmitted --groups patient

    Example:  vrspam train trial.csv --target months --event died

    Example:  vrspam train clicks.csv --target clicked --within query

    Example:  vrspam train "part-*.parquet" --target churned --l1 auto --drop signup,notes

    Example:  vrspam train clicks.libsvm.gz --zero-based --streaming --model clicks.json
    """
    require("data", "pyarrow")
    check_output("--model", model, data)
    check_output("--html", html, data, model)
    if html is None:
        for name, option in OPTIONS.items():
            source = context.get_parameter_source(name)
            if option.panel == PAGE and source is not None and source.name == "COMMANDLINE":
                raise errors.Misuse(f"{option.flag} is about the report: name its file with --html")
    plan = options.plan_of(data, given)
    from vrspam.model.file import save_model
    from vrspam.tool.training import fit_file

    with output.warnings_as_lines():
        if html is None:
            trained, table, *_ = fit_file(data, plan)
            save_model(trained, model, table.first_rows())
        else:
            from vrspam.tool.report import make_report

            found = make_report(data, plan=replace(plan, rows=0) if plan.private else plan)
            trained = found.model
            save_model(trained, model)
            from vrspam.cli.commands.report import page_of

            page_of(found, data, context).write(html)
    if as_json:
        output.print_json(_numbers(trained, model))
        return
    from vrspam.cli import terminal
    from vrspam.report.summaries.training import summary_of_training
    from vrspam.report.words.training import describe_rows_held

    terminal.show_all(summary_of_training(trained, typed))
    output.say("")
    written = [("written to", str(model))]
    if trained.training["rows_held"]:
        written.append(("", text_of(describe_rows_held(trained.training["rows_held"]), typed)))
    if html is not None:
        written.append(("page", str(html)))
    output.show_facts(written)


def _numbers(model: Model, path: Path) -> dict[str, Any]:
    """All facts about the training, for scripts."""
    from vrspam.report.words.auc import expected_auc
    from vrspam.report.words.names import name_measure

    notes = model.training["warnings"]
    return {
        "model": str(path),
        "positive": model.positive,
        "threshold": None if model.threshold is None else vars(model.threshold),
        **model.training,
        "warnings": output.worries(expected_auc(model), notes, name_measure(model.outcome)),
        "findings": output.findings(notes),
    }
