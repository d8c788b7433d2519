"""`vrspam evaluate` and `vrspam compare`: models on labelled rows that they have not seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.messages import require
from vrspam.cli import app
from vrspam.cli.typed import typed
from vrspam.tool.plan import check_measures, read_names

NO_MODEL = "--allow-missing is about the columns of a model: leave it out"

if TYPE_CHECKING:
    from vrspam.measures.compare import Comparison
    from vrspam.measures.measure import Evaluation
    from vrspam.measures.outcome import Outcome
    from vrspam.tool import Evaluations


@app.with_options("target", "positive", "event", "within", "by", "cost_ratio", "max_fpr", *app.READING, "skip_errors")
def evaluate(
    model: Annotated[str, typer.Argument(help="A model that `vrspam train` has written; with --scores the table.")],
    data: Annotated[str | None, typer.Argument(help="With a model: the table. CSV, Parquet, Excel and others.")] = None,
    scores: Annotated[
        str | None,
        typer.Option(help="Columns of scores that any model has made; commas separate them.", metavar="<names>"),
    ] = None,
    html: app.HtmlOut = None,
    confidence: app.Confidence = 0.95,
    recall: Annotated[
        float, typer.Option(help="Adds the highest threshold that finds this share of the positives.")
    ] = 0.9,
    weights: app.Weights = None,
    groups: app.Groups = None,
    folds: Annotated[
        str | None,
        typer.Option(help="With out-of-fold --scores: the column with the fold of each row.", metavar="<column>"),
    ] = None,
    allow_missing: app.AllowMissing = None,
    as_json: app.AsJson = False,
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
    reading = app.read_options(given)
    asked = {name: reading.pop(name) for name in ("target", "positive", "event", "within")}
    if data is not None and scores is not None:
        raise app.Misuse(f"--scores names columns of one table, made by any model: leave {model} or --scores out")
    if data is None and scores is None:
        raise app.Misuse("name the table after the model; or columns of scores of one table with --scores and --target")
    if data is not None and (named := [f"--{name}" for name, value in asked.items() if value is not None]):
        raise app.Misuse(f"the model knows its labels: leave {' and '.join(named)} out")
    if data is not None and folds is not None:
        raise app.Misuse("--folds is about out-of-fold --scores of one table: for a model and new rows leave it out")
    if scores is not None and allow_missing is not None:
        raise app.Misuse(NO_MODEL)
    measures = {name: reading.pop(name) for name in ("cost_ratio", "max_fpr")}
    measures |= {"confidence": confidence, "recall": recall}
    with app.misuse():
        if allow_missing is not None:
            reading["allow_missing"] = read_names(allow_missing)
        columns = [] if scores is None else list(read_names(scores))
        check_measures(weights, **measures)
    app.check_output("--html", html, model, data)
    from vrspam.report.words.names import name_measure
    from vrspam.tool import load_model
    from vrspam.tool.evaluation import evaluate_columns, evaluate_rows
    from vrspam.tool.scored_rows import score_rows
    from vrspam.tool.scores import read_scores

    reading |= {"weights": weights, "groups": groups, "progress": app.err.is_terminal}
    several: Evaluations | None = None
    with app.warnings_as_lines():
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
                page |= {"model_name": Path(model).name, "data_name": app.page_name(str(data))}
                evaluation_page(loaded, found, **page).write(html)
            else:
                columns_page(several, data_name=app.page_name(model), **page).write(html)
    if as_json:
        app.print_json(_numbers(found, several, name_measure(outcome)))
        return
    if several is not None and len(several) > 1:
        app.show_worries(None, dict.fromkeys(note for each in several.values() for note in each.notes))
        for name, each in several.items():
            app.say(f"{name}:")
            _describe(outcome, each, measures["cost_ratio"], recall, several.columns[name].describe(), short=True)
        how = "jackknife" if outcome.ranks else "DeLong"
        _describe_tests(several.comparison, name_measure(outcome), f"{how}, paired")
    else:
        made_elsewhere = "" if several is None else next(iter(several.columns.values())).describe()
        _describe(outcome, found, measures["cost_ratio"], recall, made_elsewhere)
    if html is not None:
        app.show_facts([("page", str(html))], 17)


def _numbers(found: Evaluation, several: Evaluations | None, measure: str) -> dict[str, Any]:
    """All numbers for scripts: flat for a model or one column; for several columns, by column and by pair."""
    if several is None:
        return {**found.flat(), "warnings": app.worries(found.auc, found.notes, measure)}
    each = {
        name: {**one.flat(), "probabilities": one.brier is not None, "warnings": app.worries(None, one.notes)}
        for name, one in several.items()
    }
    if len(each) == 1:
        return next(iter(each.values()))
    return {"columns": each, "pairs": several.comparison.flat()["pairs"]}


@app.with_options("target", "positive", "max_fpr", *app.READING, "skip_errors")
def compare(
    models: Annotated[
        list[str],
        typer.Argument(help="Two or more: model files, or column:NAME for columns of scores of the table."),
    ],
    data: app.Data,
    picture: app.Picture = None,
    html: app.HtmlOut = None,
    confidence: app.Confidence = 0.95,
    weights: app.Weights = None,
    groups: app.Groups = None,
    allow_missing: app.AllowMissing = None,
    as_json: app.AsJson = False,
    **given: Any,
) -> None:
    """Test whether one model ranks the same rows better than another: DeLong's paired test.

    With --max-fpr also the paired test of their partial AUCs.

    More than two are compared in pairs, with p-values adjusted for their number.

    Example:  vrspam compare old.json new.json new-patients.csv --picture both.png

    Example:  vrspam compare old.json column:catboost new-patients.csv

    Example:  vrspam compare column:catboost column:xgboost scored.csv --target sick
    """
    require("data", "pyarrow")
    reading = app.read_options(given)
    files = [one for one in models if not one.startswith("column:")]
    max_fpr = reading.pop("max_fpr")
    with app.misuse():
        if allow_missing is not None and not files:
            raise app.Misuse(NO_MODEL)
        if allow_missing is not None:
            reading["allow_missing"] = read_names(allow_missing)
        if len(models) < 2:
            raise app.Misuse("name two models or columns (column:NAME) at least, and then the table")
        check_measures(confidence=confidence)
    app.check_output("--picture", picture, *files, data)
    app.check_output("--html", html, *files, data)
    from vrspam.report.words.names import name_measure
    from vrspam.tool import compare as compare_models
    from vrspam.tool import load_model
    from vrspam.tool.evaluation import check_ranks

    short = [Path(name).name for name in files]
    names = {name: name if short.count(Path(name).name) > files.count(name) else Path(name).name for name in files}
    with app.warnings_as_lines():
        loaded = {name: load_model(Path(name)) for name in files}
        ranks = any(model.ranks for model in loaded.values())
        measure = name_measure(loaded[files[0]].outcome) if files else "AUC"
        if picture is not None and ranks:
            raise app.Misuse(f"--picture draws ROC curves, which models of this {measure} do not have: leave it out")
        with app.misuse():
            for model in loaded.values():
                check_ranks(model.outcome, max_fpr=max_fpr)
        reading |= {"confidence": confidence, "weights": weights, "groups": groups}
        reading["names"] = [names.get(name, name.removeprefix("column:")) for name in models]
        found = compare_models(*(loaded.get(name, name) for name in models), path=data, **reading)
    if picture is not None:
        from vrspam.plotting.style import save_figure
        from vrspam.tool.scores import comparison_picture

        drawn = dict(zip(found.names, found.scores, strict=True))
        save_figure(comparison_picture(found.positive, drawn, max_fpr), picture)
    partial = () if max_fpr is None else found.partial_pairs(max_fpr)
    if html is not None:
        from vrspam.report.pages.comparison import comparison_page

        more: dict[str, Any] = {"partial": partial, "max_fpr": max_fpr, "measure": measure}
        comparison_page(found, data_name=app.page_name(data), **more).write(html)
    if as_json:
        return app.print_json(_comparison_numbers(found, partial, max_fpr))
    how = "jackknife" if ranks else "DeLong"
    counted = f"{found.positive.size:,} rows"
    if (groups_of := found.beside["groups"]) is not None:
        counted += f" in {len(set(groups_of.tolist())):,} groups"
    _describe_tests(found, measure, f"{how}, paired, {counted}")
    if max_fpr is not None:
        part = f"up to {100 * max_fpr:g} % false positives, standardised; paired"
        _describe_tests(replace(found, pairs=partial, intervals=()), "partial AUC", part)
    for path in (picture, html):
        if path is not None:
            app.say(str(path))


def _comparison_numbers(found: Comparison, partial: Any, max_fpr: float | None) -> dict[str, Any]:
    """The numbers of a comparison: flat for one pair, a list for several."""
    from vrspam.measures.compare import flat_pairs

    values: dict[str, Any] = {"n": found.positive.size, "positives": int(found.positive.sum())}
    values |= {} if max_fpr is None else {"max_fpr": max_fpr}
    for prefix, pairs in (("", flat_pairs(found.pairs)), ("partial_", flat_pairs(partial))):
        if len(pairs) > 1:
            values[f"{prefix}pairs"] = pairs
        elif pairs:  # flat, without the names
            left_out = ("a", "b", "adjusted_p", "confidence" if prefix else "")
            values |= {f"{prefix}{key}": value for key, value in pairs[0].items() if key not in left_out}
    return values


def _describe_tests(comparison: Comparison, measure: str, how: str) -> None:
    """Print the AUCs, the test of each pair, and what follows from them."""
    from vrspam._utils.texts import auc_text
    from vrspam.report.words.comparisons import aucs_of, describe_tests

    pairs = comparison.pairs
    aucs = aucs_of(pairs)
    app.show_facts([(name, f"{measure} {auc_text(auc, 4)}") for name, auc in aucs.items()], max(map(len, aucs)))
    for a, b, test, adjusted_p in pairs:
        interval = f"{100 * test.confidence:g} % interval {test.low:+.4f} to {test.high:+.4f}"
        difference = f"difference {test.difference:+.4f}, {interval}, z = {test.z:.3f}, p = {test.p_value:.3g}"
        if len(pairs) > 1:
            difference = f"{a} minus {b}: {difference}, adjusted p = {adjusted_p:.3g}"
        app.tell(f"{difference} ({how})")
    app.tell(describe_tests(pairs, measure))


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
        app.show_worries(None if column else evaluation.auc, evaluation.notes, name_measure(outcome))
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
    app.show_facts(facts, 17)
    if not outcome.ranks:
        app.say("")
        if not short:
            _show_thresholds(evaluation, cost_ratio, recall)
            _show_sensitivity_and_lift(evaluation)
    app.show_facts([("group", text) for text in describe_unlike(evaluation.subgroups)], 17)


def _show_thresholds(evaluation: Evaluation, cost_ratio: float | None, recall: float) -> None:
    """Print what follows from the threshold of each rule, and whether the stored one keeps its promise."""
    from vrspam._utils.texts import share_text
    from vrspam.report.words.thresholds import CALLED, describe_promise, describe_thresholds

    app.tell(CALLED)
    rows = []
    for rule, at in describe_thresholds(evaluation, cost_ratio, recall):
        precision = "-" if at.precision is None else share_text(at.precision)
        shares = share_text(at.sensitivity), share_text(at.specificity), precision, share_text(at.share)
        rows.append([rule, f"{at.threshold:.6g}", *shares])
    app.show_table(["threshold", "score", "sensitivity", "specificity", "precision", "called"], rows, margin=2)
    meaning = "Sensitivity: share of the positives that is called; specificity: share of the negatives that is not; "
    meaning += "precision: share of the called rows that is positive; called: share of all rows."
    app.tell(meaning, margin=2)
    for sentence in describe_promise(evaluation):
        app.tell(sentence)
    app.say("")


def _show_sensitivity_and_lift(evaluation: Evaluation) -> None:
    """Print the sensitivity at each specificity, and the lift of each top share."""
    from vrspam._utils.texts import share_text
    from vrspam.report.words.thresholds import LIFT, SENSITIVITY

    app.tell(SENSITIVITY)
    rows = [[f"{100 * at:g} %", share_text(value)] for at, value in evaluation.sensitivity.items()]
    app.show_table(["specificity", "sensitivity"], rows, texts=(), margin=2)
    app.say("")
    app.tell(LIFT)
    rows = [[f"top {100 * at:g} %", f"{value:.2f}"] for at, value in evaluation.lift.items()]
    app.show_table(["rows", "lift"], rows, texts=(), margin=2)
