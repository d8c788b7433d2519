"""`vrspam evaluate`: a model, or columns of scores, on labelled rows that the model has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output
from vrspam.cli.show_tests import show_tests
from vrspam.cli.typed import typed
from vrspam.tool.plan import check_measures
from vrspam.tool.typed_values import read_names

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation
    from vrspam.model.outcome import Outcome
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
        if html is not None:
            from vrspam.report.pages.evaluation import columns_page, evaluation_page

            page: dict[str, Any] = {"cost_ratio": measures["cost_ratio"], "recall": recall, "parameter": typed}
            if several is None:
                page |= {"model_name": Path(model).name, "data_name": output.page_name(str(data))}
                evaluation_page(loaded, found, **page).write(html)
            else:
                columns_page(several, data_name=output.page_name(model), **page).write(html)
    if as_json:
        output.print_json(_numbers(found, several, name_measure(outcome)))
        return
    if several is not None and len(several) > 1:
        output.show_worries(None, dict.fromkeys(note for each in several.values() for note in each.notes))
        for name, each in several.items():
            output.say(f"{name}:")
            _describe(outcome, each, measures["cost_ratio"], recall, several.columns[name].describe(), short=True)
        how = "jackknife" if outcome.ranks else "DeLong"
        show_tests(several.comparison, name_measure(outcome), f"{how}, paired")
    else:
        made_elsewhere = "" if several is None else next(iter(several.columns.values())).describe()
        _describe(outcome, found, measures["cost_ratio"], recall, made_elsewhere)
    if html is not None:
        output.show_facts([("page", str(html))], 17)


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


def _describe(
    outcome: Outcome,
    evaluation: Evaluation,
    cost_ratio: float | None,
    recall: float,
    column: str = "",
    short: bool = False,
) -> None:
    """Print an evaluation; `column` says how the scores of a column are taken, `short` leaves tables out."""
    from vrspam.report.words.auc import describe_auc
    from vrspam.report.words.groups import describe_unlike
    from vrspam.report.words.names import class_names, describe_balance, describe_ranks, name_measure
    from vrspam.report.words.numbers import describe_measure, describe_numbers
    from vrspam.report.words.probabilities import describe_calibration

    if not short:
        output.show_worries(None if column else evaluation.auc, evaluation.notes, name_measure(outcome))
    facts = [
        ("rows", describe_balance(outcome, evaluation.n, evaluation.positives)),
        *describe_measure(outcome, evaluation).items(),
        ("", describe_auc(evaluation.auc.auc, class_names(outcome) if outcome.ranks else None)),
        *describe_numbers(evaluation).items(),
        *(("", sentence) for sentence in describe_calibration(evaluation.calibration)),
    ]
    if outcome.ranks:
        facts.append(("", describe_ranks(outcome)))
    elif column:
        facts.append(("scores", column))
    output.show_facts(facts, 17)
    if not outcome.ranks:
        output.say("")
        if not short:
            _show_thresholds(evaluation, cost_ratio, recall)
            _show_sensitivity_and_lift(evaluation)
    output.show_facts([("group", text) for text in describe_unlike(evaluation.subgroups)], 17)


def _show_thresholds(evaluation: Evaluation, cost_ratio: float | None, recall: float) -> None:
    """Print what follows from the threshold of each rule, and whether the stored one keeps its promise."""
    from vrspam._utils.texts import share_text
    from vrspam.report.words.thresholds import CALLED, describe_promise, describe_thresholds

    output.tell(CALLED)
    rows = []
    for rule, at in describe_thresholds(evaluation, cost_ratio, recall):
        precision = "-" if at.precision is None else share_text(at.precision)
        shares = share_text(at.sensitivity), share_text(at.specificity), precision, share_text(at.share)
        rows.append([rule, f"{at.threshold:.6g}", *shares])
    output.show_table(["threshold", "score", "sensitivity", "specificity", "precision", "called"], rows, margin=2)
    meaning = "Sensitivity: share of the positives that is called; specificity: share of the negatives that is not; "
    meaning += "precision: share of the called rows that is positive; called: share of all rows."
    output.tell(meaning, margin=2)
    for sentence in describe_promise(evaluation):
        output.tell(sentence)
    output.say("")


def _show_sensitivity_and_lift(evaluation: Evaluation) -> None:
    """Print the sensitivity at each specificity, and the lift of each top share."""
    from vrspam._utils.texts import share_text
    from vrspam.report.words.thresholds import LIFT, SENSITIVITY

    output.tell(SENSITIVITY)
    rows = [[f"{100 * at:g} %", share_text(value)] for at, value in evaluation.sensitivity.items()]
    output.show_table(["specificity", "sensitivity"], rows, texts=(), margin=2)
    output.say("")
    output.tell(LIFT)
    rows = [[f"top {100 * at:g} %", f"{value:.2f}"] for at, value in evaluation.lift.items()]
    output.show_table(["rows", "lift"], rows, texts=(), margin=2)
