"""`vrspam evaluate`: a model, or columns of scores, on labelled rows that the model has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output, write_page
from vrspam.cli.typed import typed
from vrspam.tool.plan import check_measures

if TYPE_CHECKING:
    from vrspam.tool import Evaluations


@options.with_options(
    "target", "positive", "event", "within", "by", "cost_ratio", "max_fpr", *options.READING, "skip_errors"
)
def evaluate(
    model: Annotated[str, typer.Argument(help="A model that `vrspam train` has written; with --scores the table.")],
    data: Annotated[str | None, typer.Argument(help="With a model: the table. CSV, Parquet, Excel and others.")] = None,
    scores: Annotated[
        list[str] | None,
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
    labels = {name: reading.pop(name) for name in ("target", "positive", "event", "within")}
    measures: dict[str, Any] = {name: reading.pop(name) for name in ("cost_ratio", "max_fpr")}
    measures.update(confidence=confidence, recall=recall)
    if data is None:
        _refuse_without_data(scores, allow_missing)
    else:
        _refuse_with_data(model, scores, folds, labels)
    with errors.misuse():
        if allow_missing is not None:
            reading["allow_missing"] = options.names_in(allow_missing)
        columns = list(options.names_in(scores))
        check_measures(weights, **measures)
    check_output("--html", html, model, data)
    check_output("--markdown", markdown, model, data)

    reading.update(weights=weights, groups=groups, progress=output.err.is_terminal)
    if data is None:
        reading.update(labels, scores=columns, folds=folds)
        _evaluate_columns(model, reading, measures, html, markdown, as_json)
    else:
        _evaluate_model(Path(model), data, reading, measures, html, markdown, as_json)


def _refuse_without_data(scores: Sequence[str] | None, allow_missing: Sequence[str] | None) -> None:
    """Refuse what says nothing about the columns of one table."""
    if scores is None:
        raise errors.Misuse(
            "name the table after the model; or columns of scores of one table with --scores and --target"
        )
    if allow_missing is not None:
        raise errors.Misuse(options.NO_MODEL)


def _refuse_with_data(model: str, scores: Sequence[str] | None, folds: str | None, labels: Mapping[str, Any]) -> None:
    """Refuse what says nothing about a model on new rows."""
    if scores is not None:
        raise errors.Misuse(f"--scores names columns of one table, made by any model: leave {model} or --scores out")
    named = [f"--{name}" for name, value in labels.items() if value is not None]
    if named:
        raise errors.Misuse(f"the model knows its labels: leave {' and '.join(named)} out")
    if folds is not None:
        raise errors.Misuse("--folds is about out-of-fold --scores of one table: for a model and new rows leave it out")


def _evaluate_model(
    path: Path,
    data: str,
    reading: Mapping[str, Any],
    measures: Mapping[str, Any],
    html: Path | None,
    markdown: Path | None,
    as_json: bool,
) -> None:
    from vrspam.report.words.names import name_measure
    from vrspam.tool import load_model
    from vrspam.tool.evaluation import evaluate_rows
    from vrspam.tool.scored_rows import score_rows

    rules = _rules(measures)
    with output.warnings_as_lines():
        model = load_model(path)
        table = score_rows(model, data, **reading)
        evaluation = evaluate_rows(model, table.columns[""], notes=table.notes, levels=table.levels, **measures)
        if html is not None or markdown is not None:
            from vrspam.report.pages.evaluation import evaluation_page

            data_name = output.page_name(data)
            page = evaluation_page(model, evaluation, model_name=path.name, data_name=data_name, **rules)
            write_page(page, html, markdown)
    if as_json:
        warnings = output.worries(evaluation.auc, evaluation.notes, name_measure(model.outcome))
        output.print_json({**evaluation.flat(), "warnings": warnings})
        return
    from vrspam.cli import terminal
    from vrspam.report.summaries.evaluation import summary_of_evaluation

    terminal.show_all(summary_of_evaluation(model.outcome, evaluation, **rules))
    terminal.show_written(page=html, markdown=markdown)


def _evaluate_columns(
    data: str,
    reading: Mapping[str, Any],
    measures: Mapping[str, Any],
    html: Path | None,
    markdown: Path | None,
    as_json: bool,
) -> None:
    from vrspam.tool.evaluation import evaluate_columns
    from vrspam.tool.scores import read_scores

    rules = _rules(measures)
    with output.warnings_as_lines():
        table, outcome = read_scores(data, **reading)
        evaluations = evaluate_columns(table, outcome, **measures)
        if html is not None or markdown is not None:
            from vrspam.report.pages.evaluation import columns_page

            write_page(columns_page(evaluations, data_name=output.page_name(data), **rules), html, markdown)
    if as_json:
        output.print_json(_numbers_of_columns(evaluations))
        return
    from vrspam.cli import terminal
    from vrspam.report.summaries.evaluation import summary_of_columns

    terminal.show_all(summary_of_columns(evaluations, **rules))
    terminal.show_written(page=html, markdown=markdown)


def _rules(measures: Mapping[str, Any]) -> dict[str, Any]:
    """What a page and a summary know of the thresholds that were asked for."""
    return {"cost_ratio": measures["cost_ratio"], "recall": measures["recall"], "parameter": typed}


def _numbers_of_columns(evaluations: Evaluations) -> dict[str, Any]:
    """All numbers for scripts: flat for one column; else by column and by pair."""
    columns = {}
    for name, evaluation in evaluations.items():
        columns[name] = {
            **evaluation.flat(),
            "probabilities": evaluation.brier is not None,
            "warnings": output.worries(None, evaluation.notes),
        }
    if len(columns) == 1:
        return next(iter(columns.values()))
    return {"columns": columns, "pairs": evaluations.comparison.flat()["pairs"]}
