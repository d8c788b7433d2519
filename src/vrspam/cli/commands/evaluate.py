"""`vrspam evaluate`: a model, or columns of scores, on labelled rows that the model has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output, write_page
from vrspam.cli.typed import typed
from vrspam.tool.plan import check_measures
from vrspam.tool.typed_values import read_names

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation
    from vrspam.tool import Evaluations


@options.with_options(
    "target", "positive", "event", "within", "by", "cost_ratio", "max_fpr", *options.READING, "skip_errors"
)
def evaluate(
    model: Annotated[str, typer.Argument(help="A model that `vrspam train` has written; with --scores the table.")],
    data: Annotated[str | None, typer.Argument(help="With a model: the table. CSV, Parquet, Excel and others.")] = None,
    scores: Annotated[
        str | None,
        typer.Option(help="Columns of scores that any model has made; commas separate them.", metavar="<names>"),
    ] = None,
    html: options.HtmlOut = None,
    markdown: options.MarkdownOut = None,
    confidence: options.Confidence = 0.95,
    recall: Annotated[
        float, typer.Option(help="Adds the highest threshold that finds this share of the positives.")
    ] = 0.9,
    weights: options.Weights = None,
    groups: options.Groups = None,
    folds: Annotated[
        str | None,
        typer.Option(help="With out-of-fold --scores: the column with the fold of each row.", metavar="<column>"),
    ] = None,
    allow_missing: options.AllowMissing = None,
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Measure how good a model is on labelled rows: AUC with its interval, curves, thresholds, lift, calibration.

    Use rows that the model was not trained on.

    With --scores, name one table: its columns of scores are measured in the place of a model, and compared in pairs.

    Example:  vrspam evaluate patients.json new-patients.csv --html report.html

    Example:  vrspam evaluate patients.json new-patients.csv --cost-ratio 20 --json

    Example:  vrspam evaluate patients.json new-patients.csv --max-fpr 0.1

    Example:  vrspam evaluate scored.csv --target sick --scores catboost,xgboost --by sex --html report.html

    Example:  vrspam evaluate scored.csv --target sick --scores out_of_fold --folds fold

    Example:  vrspam evaluate scored.csv --target months --event died --scores cox,forest
    """
    require("data", "pyarrow")
    reading = options.read_options(given)
    asked = {name: reading.pop(name) for name in ("target", "positive", "event", "within")}
    if data is not None and scores is not None:
        raise errors.Misuse(f"--scores names columns of one table, made by any model: leave {model} or --scores out")
    if data is None and scores is None:
        raise errors.Misuse(
            "name the table after the model; or columns of scores of one table with --scores and --target"
        )
    if data is not None and (named := [f"--{name}" for name, value in asked.items() if value is not None]):
        raise errors.Misuse(f"the model knows its labels: leave {' and '.join(named)} out")
    if data is not None and folds is not None:
        raise errors.Misuse("--folds is about out-of-fold --scores of one table: for a model and new rows leave it out")
    if scores is not None and allow_missing is not None:
        raise errors.Misuse(options.NO_MODEL)
    measures = {name: reading.pop(name) for name in ("cost_ratio", "max_fpr")}
    measures |= {"confidence": confidence, "recall": recall}
    with errors.misuse():
        if allow_missing is not None:
            reading["allow_missing"] = read_names(allow_missing)
        columns = [] if scores is None else list(read_names(scores))
        check_measures(weights, **measures)
    check_output("--html", html, model, data)
    check_output("--markdown", markdown, model, data)
    from vrspam.report.words.names import name_measure
    from vrspam.tool import load_model
    from vrspam.tool.evaluation import evaluate_columns, evaluate_rows
    from vrspam.tool.scored_rows import score_rows
    from vrspam.tool.scores import read_scores

    reading |= {"weights": weights, "groups": groups, "progress": output.err.is_terminal}
    several: Evaluations | None = None
    with output.warnings_as_lines():
        if data is None:
            table, outcome = read_scores(model, scores=columns, folds=folds, **asked, **reading)
            several = evaluate_columns(table, outcome, **measures)
            found = next(iter(several.values()))
        else:
            loaded = load_model(Path(model))
            table, outcome = score_rows(loaded, data, **reading), loaded.outcome
            found = evaluate_rows(loaded, table.columns[""], notes=table.notes, levels=table.levels, **measures)
        rules: dict[str, Any] = {"cost_ratio": measures["cost_ratio"], "recall": recall, "parameter": typed}
        if html is not None or markdown is not None:
            from vrspam.report.pages.evaluation import columns_page, evaluation_page

            if several is None:
                data_name = output.page_name(str(data))
                page = evaluation_page(loaded, found, model_name=Path(model).name, data_name=data_name, **rules)
            else:
                page = columns_page(several, data_name=output.page_name(model), **rules)
            write_page(page, html, markdown)
    if as_json:
        output.print_json(_numbers(found, several, name_measure(outcome)))
        return
    from vrspam.cli import terminal
    from vrspam.report.summaries.evaluation import summary_of_columns, summary_of_evaluation

    if several is None:
        terminal.show_all(summary_of_evaluation(outcome, found, **rules))
    else:
        terminal.show_all(summary_of_columns(several, **rules))
    terminal.show_written(page=html, markdown=markdown)


def _numbers(found: Evaluation, several: Evaluations | None, measure: str) -> dict[str, Any]:
    """All numbers for scripts: flat for a model or one column; for several columns, by column and by pair."""
    if several is None:
        return {**found.flat(), "warnings": output.worries(found.auc, found.notes, measure)}
    each = {
        name: {**one.flat(), "probabilities": one.brier is not None, "warnings": output.worries(None, one.notes)}
        for name, one in several.items()
    }
    if len(each) == 1:
        return next(iter(each.values()))
    return {"columns": each, "pairs": several.comparison.flat()["pairs"]}
