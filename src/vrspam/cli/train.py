"""`vrspam train`, `report`, `check` and `rows`: from a file to a model, to a page, and to what is wrong or lacking."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.findings import Fix, text_of
from vrspam._utils.messages import require
from vrspam.cli import app
from vrspam.cli.typed import typed
from vrspam.tool.plan import CHECKED, OPTIONS, PAGE, PANELS, ROWS, options_of

if TYPE_CHECKING:
    from vrspam.tool import Model, Report


@app.with_options(*options_of("train"), panels=PANELS)
def train(
    context: typer.Context,
    data: app.Data,
    model: Annotated[Path, typer.Option(help="The file to write the model to.")] = Path("model.json"),
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            help="Write the page of `vrspam report`: each row is scored by a model trained without it.",
            rich_help_panel=PAGE,
        ),
    ] = None,
    as_json: app.AsJson = False,
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
    app.check_output("--model", model, data)
    app.check_output("--html", html, data, model)
    if html is None:
        for name, option in OPTIONS.items():
            source = context.get_parameter_source(name)
            if option.panel == PAGE and source is not None and source.name == "COMMANDLINE":
                raise app.Misuse(f"{option.flag} is about the report: name its file with --html")
    plan = app.plan_of(data, given)
    from vrspam.tool.modelfile import save_model
    from vrspam.tool.training import fit_file

    with app.warnings_as_lines():
        if html is None:
            trained, opened, *_ = fit_file(data, plan)
            save_model(trained, model, opened.first_rows())
        else:
            from vrspam.tool.report import make_report

            found = make_report(data, plan=replace(plan, rows=0) if plan.private else plan)
            trained = found.model
            save_model(trained, model)
            write_report(found, html, data, context)
    if as_json:
        from vrspam.report.words.auc import expected_auc
        from vrspam.report.words.names import name_measure

        notes = trained.training["warnings"]
        doubts = app.worries(expected_auc(trained), notes, name_measure(trained.outcome))
        chosen = None if trained.threshold is None else vars(trained.threshold)
        facts = {"threshold": chosen, **trained.training, "warnings": doubts, "findings": app.findings(notes)}
        app.print_json({"model": str(model), "positive": trained.positive, **facts})
    else:
        _describe(trained, model)
        if html is not None:
            app.say(f"report               {html}")


def write_report(report: Report, html: Path, data: str, context: typer.Context) -> None:
    """Write the page, with the command that makes it again."""
    from vrspam.report.pages.report import report_page

    command = shlex.join(["vrspam", *context.obj])
    report_page(report, data_name=app.page_name(data), parameter=typed, command=command).write(html)


def _describe(model: Model, path: Path) -> None:
    from vrspam._utils.texts import auc_text, interval_text
    from vrspam.model.drawing import find_strongest
    from vrspam.report.words.auc import NOT_CORRECTED, describe_auc, expected_auc, other_aucs
    from vrspam.report.words.model import describe_size
    from vrspam.report.words.names import class_names, describe_balance, name_measure
    from vrspam.report.words.training import describe_candidate, describe_result, describe_rows_held, training_facts

    facts = model.training
    expected = expected_auc(model)
    app.show_worries(expected, facts["warnings"], name_measure(model.outcome))
    shown = [("rows", describe_balance(model.outcome, facts["rows"], facts["positives"]))]
    if expected is not None:
        interval = f"95 % interval {interval_text(expected.low, expected.high, 4)} ({facts['folds']} folds)"
        meaning = describe_auc(expected.auc, class_names(model.outcome) if model.ranks else None)
        shown.append((f"{name_measure(model.outcome)} to expect", f"{auc_text(expected.auc, 4)}, {interval}"))
        shown += [("", expected.remark), ("", meaning)]
        shown += other_aucs(model).items()
    if "max_fpr" in facts:
        interval = interval_text(facts["cv_partial_auc_low"], facts["cv_partial_auc_high"], 4)
        interval += f" (up to {100 * facts['max_fpr']:g} % false positives, standardised)"
        shown.append(("partial AUC", f"{auc_text(facts['cv_partial_auc'], 4)}, 95 % interval {interval}"))
        shown.append(("", NOT_CORRECTED))
    told = training_facts(model)
    shown += [(name, told[name]) for name in ("threshold", "model", "loss", "penalty", "fit") if name in told]
    app.show_facts(shown)
    app.say("")
    what = "features" if model.features is None else "columns"
    app.tell(f"strongest {what}: {describe_size(model)}")
    sign = "+" if model.shapes is None else ""
    found = find_strongest(model, 10)
    app.show_table([what[:-1], "size"], [[feature, f"{effect:{sign}.4f}"] for feature, effect in found], margin=2)
    if len(facts["selection"]) > 1:
        measure = "partial AUC" if "max_fpr" in facts else name_measure(model.outcome)
        app.say("")
        app.tell(f"models compared: mean {measure} of the folds ± standard error")
        candidates = [(describe_candidate(row["features"]), row) for row in facts["selection"]]
        rows = [[name, *describe_result(row, facts["rows"])] for name, row in candidates]
        app.show_table(["model", measure, "taken"], rows, texts=(0, 2), margin=2)
    app.say("")
    written = [("written to", str(path))]
    if facts["rows_held"]:
        written.append(("", describe_rows_held(facts["rows_held"])))
    app.show_facts(written)


@app.with_options(*options_of("report"), panels=PANELS)
def report(
    context: typer.Context,
    data: app.Data,
    html: Annotated[Path, typer.Option(help="The page to write.", rich_help_panel=PAGE)] = Path("report.html"),
    as_json: app.AsJson = False,
    **given: Any,
) -> None:
    """Make one page of a table: what predicts the target, how well, and which threshold to take.

    The page needs no other file and no network, and can be mailed.
    A model is trained as by `vrspam train`; every row is scored by a model that was trained without it.
    The reader moves a threshold and sees what follows from it.

    Example:  vrspam report patients.csv --target sick --html report.html

    Example:  vrspam report patients.csv --target sick --by sex,clinic --cost-ratio 10

    Example:  vrspam report visits.xlsx --target readmitted --groups patient --holdout 0.3
    """
    if given["target"] is None and (Path(data) / "rows").is_dir():  # results of experiments (`vrspam.paper.run.ROWS`)
        from vrspam.cli.paper import publish

        publish(Path(data), as_json)
        return app.warn(f"note: results of experiments are now published by  vrspam publish {data}")
    require("data", "pyarrow")
    app.check_output("--html", html, data)
    plan = app.plan_of(data, given)
    from vrspam.tool.report import make_report

    with app.warnings_as_lines():
        found = make_report(data, plan=plan)
        write_report(found, html, data, context)
    from vrspam._utils.texts import auc_text, interval_text
    from vrspam.report.words.auc import other_aucs
    from vrspam.report.words.comparisons import describe_beside
    from vrspam.report.words.groups import UNLIKE
    from vrspam.report.words.names import name_measure

    measure = name_measure(found.model.outcome)
    if as_json:
        return app.print_json(_numbers(found, html, measure))
    expected, evaluation = found.expected, found.evaluation
    how = "kept from the training" if found.folds is None else f"{found.folds} folds"
    on = "of these rows" if found.folds is None else "to expect on new rows"
    app.show_worries(expected, found.model.training["warnings"], measure)
    interval = f"95 % interval {interval_text(expected.low, expected.high, 4)}"
    app.say(f"{measure:8} {auc_text(expected.auc, 4)} {on}, {interval}")
    app.say(f"         {expected.remark}")
    for name, other in other_aucs(found.model, found.folds is None).items():
        app.say(f"         {name} {other}")
    share = f", of which {evaluation.positives:,} positive ({evaluation.positives / evaluation.n:.2%})"
    app.say(f"scored   {evaluation.n:,} rows ({how}){'' if 'order' in found.model.training else share}")
    for group in found.groups:
        if group.ranked_differently or group.predicted_wrongly:
            app.say(f"group    {group.column} = {group.name} {UNLIKE}")
    if (beside := found.beside) is not None:
        for name, one in zip(beside.names, beside.intervals, strict=True):
            ends = interval_text(one.low, one.high, 4)
            app.say(f"beside   {name}: {measure} {auc_text(one.auc, 4)}, 95 % interval {ends}")
        for text in describe_beside(beside, measure, evaluation.groups is not None):
            app.say(f"         {text}")
        app.show_worries(None, beside.notes)
    app.say(f"page     {html}")


def _numbers(found: Report, html: Path, measure: str) -> dict[str, object]:
    """All numbers of the page under flat keys, for scripts."""
    expected, facts = found.expected, found.model.training
    return {
        "page": str(html),
        "expected_auc": expected.auc,
        "expected_auc_low": expected.low if expected.low == expected.low else None,
        "expected_auc_high": expected.high if expected.high == expected.high else None,
        "judged_by": "holdout" if found.folds is None else "cross-validation",
        **found.evaluation.flat(),
        "groups": [group.flat() for group in found.groups],
        "left_out": list(found.left_out),
        **({} if found.beside is None else {"beside": found.beside.flat()}),
        **({"grouped_by": facts["groups"]} if "groups" in facts else {}),
        **{name: facts[name] for name in ("independent_auc", "unconstrained_auc") if name in facts},
        "warnings": app.worries(found.expected, facts["warnings"], measure),
        "findings": app.findings(facts["warnings"]),
    }


@app.with_options(*CHECKED, panels=PANELS)
def check(data: app.Data, as_json: app.AsJson = False, **given: Any) -> None:
    """Look at a table for what fools people: repeated rows, leaks, missing labels, codes, drift.

    Each finding has a severity, a code, a sentence and what mends it; docs/doctor.md explains the codes.
    The exit code is 0 if nothing is severe, 1 if something is, and 2 if the table cannot be read.

    Example:  vrspam check patients.csv --target sick

    Example:  vrspam check visits.xlsx --target readmitted --ignore order,missing-values
    """
    require("data", "pyarrow")
    plan = app.plan_of(data, given)
    from vrspam.tool.checking import check as look

    try:
        with app.warnings_as_lines():
            found = look(data, plan=plan)
    except (ValueError, OSError) as error:  # 1 says that something is severe
        raise app.Misuse(text_of(error, typed)) from error
    severe = any(one.severity == "severe" for one in found)
    if as_json:
        app.print_json({"findings": app.findings(found), "severe": severe})
    else:
        if not found:
            app.say("nothing was found that might fool you")
        for one in found:
            [line] = app.worries(None, [one], marked=True)
            app.tell(line)
            if one.fix is not None and one.severity != "note":
                fix, several = one.fix, isinstance(one.fix.value, list | tuple)
                asked = {name: value for name in CHECKED if (value := getattr(plan, name)) != OPTIONS[name].default}
                if fix.option == "time":  # which cannot be combined with groups
                    asked.pop("groups", None)
                asked[fix.option] = [*asked.get(fix.option, ()), *fix.value] if several else fix.value
                options = [typed(Fix(name, value)) for name, value in asked.items()]
                app.tell(" ".join([shlex.join(["vrspam", "report", data]), *options]), app.INDENT)
    raise typer.Exit(int(severe))


@app.with_options(*ROWS, panels=PANELS)
def rows(
    data: app.Data,
    html: app.HtmlOut = None,
    width: Annotated[
        float | None, typer.Option(help="Tell how many rows make a 95 % interval of the AUC this wide, as in 0.05.")
    ] = None,
    difference: Annotated[
        float | None, typer.Option(help="Tell how many rows show that another AUC is larger by this, as in 0.02.")
    ] = None,
    power: Annotated[float, typer.Option(help="Probability that these rows show it.")] = 0.8,
    as_json: app.AsJson = False,
    **given: Any,
) -> None:
    """Tell what more rows would bring: the AUC of parts of a table, extrapolated to four times its rows.

    The model has smooth curves, or straight lines with --features linear.

    Example:  vrspam rows patients.csv --target sick

    Example:  vrspam rows visits.xlsx --target readmitted --groups patient --difference 0.02 --html rows.html
    """
    require("data", "pyarrow")
    plan = app.plan_of(data, given)
    app.check_output("--html", html, data)
    from vrspam._utils.texts import auc_text, interval_text
    from vrspam.report.words.more_rows import AS_MANY, describe_gain, describe_needed
    from vrspam.tool.learning import check_wishes
    from vrspam.tool.learning import rows as look

    wishes: dict[str, Any] = {"width": width, "difference": difference, "power": power}
    with app.misuse():
        check_wishes(plan, **wishes)
    with app.warnings_as_lines():
        found = look(data, plan=plan, **wishes)
    asked = describe_needed(found, **wishes)
    if html is not None:
        from vrspam.report.pages.rows import rows_page

        rows_page(found, data_name=app.page_name(data), asked=asked, parameter=typed).write(html)
    if as_json:
        app.print_json({**found.flat(), "warnings": app.worries(None, found.notes)})
        return
    app.show_worries(None, found.notes)
    app.say(f"{found.curve.total:,} rows, of which {found.positives:,} positive")
    app.tell(describe_gain(found.curve, found.lines))
    shown = []
    for name, times in AS_MANY.items():
        count, at = times * found.curve.total, found.curve.at(times * found.curve.total)
        shown.append([name, f"{count:,}", auc_text(at.value), interval_text(at.low, at.high)])
    app.show_table(["rows", "how many", "AUC", "90 % band"], shown, margin=2)
    for sentence in asked:
        app.tell(sentence)
    if html is not None:
        app.show_facts([("page", str(html))], 4)
