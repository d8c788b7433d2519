"""`vrspam evaluate`: a model, or columns of scores, on labelled rows that the model has not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from vrspam._utils.extras import require
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output, write_page
from vrspam.cli.typed import typed
from vrspam.tool.plan import check_measures
from vrspam.tool.typed_values import read_names

if TYPE_CHECKING:
    from vrspam.report.blocks import Shown
    from vrspam.report.page import Page
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
    reading |= {"weights": weights, "groups": groups, "progress": output.err.is_terminal}
    with output.warnings_as_lines():
        if data is None:
            evaluated = _evaluate_columns(model, columns, measures, folds=folds, **asked, **reading)
        else:
            evaluated = _evaluate_model(Path(model), data, measures, **reading)
        if html is not None or markdown is not None:
            write_page(evaluated.page(), html, markdown)
    if as_json:
        output.print_json(evaluated.numbers)
        return
    from vrspam.cli import terminal

    terminal.show_all(evaluated.blocks())
    terminal.show_written(page=html, markdown=markdown)


class _Evaluated(NamedTuple):
    """An evaluation as it is shown: a page, what is printed, and numbers for scripts."""

    page: Callable[[], Page]
    blocks: Callable[[], list[Shown]]
    numbers: dict[str, Any]


def _evaluate_model(model: Path, data: str, measures: Mapping[str, Any], **reading: Any) -> _Evaluated:
    """Evaluate a model on the rows of a file."""
    from vrspam.report.pages.evaluation import evaluation_page
    from vrspam.report.summaries.evaluation import summary_of_evaluation
    from vrspam.report.words.names import name_measure
    from vrspam.tool import load_model
    from vrspam.tool.evaluation import evaluate_rows
    from vrspam.tool.scored_rows import score_rows

    loaded = load_model(model)
    table = score_rows(loaded, data, **reading)
    evaluation = evaluate_rows(loaded, table.columns[""], notes=table.notes, levels=table.levels, **measures)
    rules: dict[str, Any] = {"cost_ratio": measures["cost_ratio"], "recall": measures["recall"], "parameter": typed}
    names: dict[str, Any] = {"model_name": model.name, "data_name": output.page_name(data)}
    warnings = output.worries(evaluation.auc, evaluation.notes, name_measure(loaded.outcome))
    return _Evaluated(
        page=partial(evaluation_page, loaded, evaluation, **names, **rules),
        blocks=partial(summary_of_evaluation, loaded.outcome, evaluation, **rules),
        numbers={**evaluation.flat(), "warnings": warnings},
    )


def _evaluate_columns(data: str, columns: list[str], measures: Mapping[str, Any], **reading: Any) -> _Evaluated:
    """Evaluate columns of scores of a table."""
    from vrspam.report.pages.evaluation import columns_page
    from vrspam.report.summaries.evaluation import summary_of_columns
    from vrspam.tool.evaluation import evaluate_columns
    from vrspam.tool.scores import read_scores

    table, outcome = read_scores(data, scores=columns, **reading)
    several = evaluate_columns(table, outcome, **measures)
    rules: dict[str, Any] = {"cost_ratio": measures["cost_ratio"], "recall": measures["recall"], "parameter": typed}
    return _Evaluated(
        page=partial(columns_page, several, data_name=output.page_name(data), **rules),
        blocks=partial(summary_of_columns, several, **rules),
        numbers=_numbers_of_columns(several),
    )


def _numbers_of_columns(several: Evaluations) -> dict[str, Any]:
    """All numbers of columns: flat for one, and else by column and by pair."""
    of_columns = {}
    for name, evaluation in several.items():
        of_columns[name] = {
            **evaluation.flat(),
            "probabilities": evaluation.brier is not None,
            "warnings": output.worries(None, evaluation.notes),
        }
    if len(of_columns) == 1:
        return next(iter(of_columns.values()))
    return {"columns": of_columns, "pairs": several.comparison.flat()["pairs"]}
