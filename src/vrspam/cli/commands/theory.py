"""`vrspam theory`: the constants and rates of the paper for a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam._utils.findings import Finding
from vrspam.cli import errors, options, output
from vrspam.cli.typed import typed
from vrspam.tool.options import PANELS, positive_number, share
from vrspam.tool.plan import check_option


@options.with_options(
    *(
        "target",
        "positive",
        "drop",
        "include",
        "categorical",
        "max_categories",
        "dates",
        *options.READING,
        "skip_errors",
    ),
    panels=PANELS,
)
def theory(
    data: options.Data,
    l2: Annotated[
        float | None, typer.Option(help="The penalty, the paper's β; by default that of AUCClassifier.")
    ] = None,
    theta: Annotated[float, typer.Option(help="Step size, as a fraction of the largest proven one.")] = 0.5,
    epsilon: Annotated[float, typer.Option(help="Accuracy to reach, relative to the start.")] = 1e-6,
    raw: Annotated[bool, typer.Option("--raw", help="Do not standardise the features.", metavar="")] = False,
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Compute the constants and rates of the paper for a file: as printed, sharpened, and from the rows themselves.

    Example:  vrspam theory patients.csv --target sick --theta 0.5
    """
    require("data", "pyarrow")
    with errors.misuse():
        check_option("theta", theta, share)
        check_option("epsilon", epsilon, share)
        check_option("l2", l2, positive_number)
    plan = options.plan_of(data, given)
    from scipy.sparse import issparse

    from vrspam import AUCClassifier, ClassMoments
    from vrspam.checks.diagnose import merged
    from vrspam.checks.unlabelled import describe_unlabelled
    from vrspam.cli import terminal
    from vrspam.data.open import open_table
    from vrspam.paper.rates import describe
    from vrspam.report.first_screen import worries
    from vrspam.tool.request import table_request
    from vrspam.tool.scaling import Scaling

    with output.warnings_as_lines():
        table = open_table(data, table_request(plan))
        labels = table.positive
        findings: list[Finding] = [*table.findings]
        if table.origin.unlabelled:
            findings.append(describe_unlabelled(table.origin.unlabelled, labels.size))
        terminal.show(worries(merged(findings), typed))
        X = table.features()
        if not raw:
            moments = ClassMoments(X.shape[1], classes=[False, True], scatter=False).update(X, labels)
            X = Scaling.of(moments, issparse(X))(X)
        fitted = AUCClassifier("auto" if l2 is None else l2).fit(X, labels)
        coef = fitted.coef_[0] if fitted.coef_.any() else None
        described = describe(X, labels, fitted.l2_, theta=theta, epsilon=epsilon, coef=coef)
    if as_json:
        output.print_json({name: None if value != value else value for name, value in described.items()})
    else:
        for line in str(described).split("\n"):
            output.say(line)
