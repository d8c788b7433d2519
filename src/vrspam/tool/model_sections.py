"""What pages say about a model: what it looks at, which columns interact, how it was made."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version

import numpy as np

from vrspam import __version__
from vrspam._utils.messages import Parameter, worded
from vrspam.report import Block, Bullets, Cell, Code, Drawing, Facts, Folded, Grid, Page, Table, Text
from vrspam.report.columns import bars, column_picture, common_range, heat_map
from vrspam.tool.explanation import (
    NOT_CORRECTED,
    OWN_PENALTIES,
    describe_accuracy,
    describe_candidate,
    describe_curves,
    describe_model,
    describe_pairs,
    describe_part,
    describe_size,
    describe_together,
    expected_auc,
    explain,
    find_strongest,
    sum_by_column,
)
from vrspam.tool.model import Model

MOST_FEATURES = 20
MOST_CURVES = 24
FIRST_CURVES = 12  # the others are folded
MOST_PAIRS = 6
FEW_REMARKS = 2
PARTIAL_FACTS = {"max_fpr", "cv_partial_auc", "cv_partial_auc_low", "cv_partial_auc_high"}
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
ShowParameter = Callable[[Parameter], str]


def add_model(page: Page, model: Model) -> None:
    """Add what the model looks at, and which columns interact."""
    page.add(
        "What the model looks at",
        Text(describe_curves(model)),
        *_together(model),
        *_curves(model),
        *_feature_table(model),
    )
    if parts := _interactions(model):
        page.add("Which columns interact", *parts)


def add_origin(
    page: Page,
    model: Model,
    parameter: ShowParameter = str,
    *,
    more: Mapping[str, str] | None = None,
    notes: bool = True,
    command: str = "",
) -> None:
    """Add how the model was made; `more` are facts that come first, `notes` what the training noticed."""
    again: list[Block] = [Text("The command to do it again:"), Code(command)] if command else []
    facts = {**(more or {}), **training_facts(model)}
    noticed = _notes(model, parameter) if notes else []
    page.add("How it was made", Facts(facts), *selection_table(model), *noticed, *again)


def _curves(model: Model) -> list[Block]:
    """Bars of the importances, and the curves of the columns, the most important first."""
    found = [item for item in find_strongest(model, MOST_FEATURES) if np.isfinite(item[1])]
    blocks: list[Block] = []
    spoken = f"Picture: what the model looks at, {describe_size(model)}."
    strengths = [bars(found, _size_label(model), "What matters most", spoken=spoken)] if found else []
    if model.shapes is None:
        return [Grid([*strengths, _effects_table(model)], "large")]
    shapes = sorted(model.shapes.columns, key=lambda shape: -shape.importance)
    shown = [shape for shape in shapes if shape.importance > 0.0] or shapes
    ends = common_range(shown)
    names = [f"column {shape.name}" if shape.name.isdigit() else shape.name for shape in shown[:MOST_CURVES]]
    drawn: list[Drawing] = [
        column_picture(shape._replace(name=name), ends) for shape, name in zip(shown, names, strict=False)
    ]
    blocks += [Grid([*strengths, *drawn[:FIRST_CURVES]])]
    if drawn[FIRST_CURVES:]:
        more = len(drawn) - FIRST_CURVES
        blocks.append(Folded(f"{more} more column{'s' if more != 1 else ''}", [Grid(drawn[FIRST_CURVES:])]))
    if (rest := len(shown) - MOST_CURVES) > 0:
        words = "columns that matter less are" if rest != 1 else "column that matters less is"
        blocks.append(Text(f"{rest:,} {words} not drawn.", soft=True))
    return blocks


def _together(model: Model) -> list[Block]:
    """Which columns move together; many remarks are folded."""
    remarks = describe_together(model)
    if len(remarks) <= FEW_REMARKS:
        return [Text(remark) for remark in remarks]
    return [Folded(f"{len(remarks)} groups of columns move together: read their curves as sums", [Bullets(remarks)])]


def _size_label(model: Model) -> str:
    """What the bars of a model are, in few words."""
    if model.features is None:
        return "change for one standard deviation"
    return "spread of what the column adds" if model.shapes is not None else "part of the difference of the classes"


def _feature_table(model: Model) -> list[Block]:
    """What the numbers are, and the numbers themselves where curves are shown in their place."""
    words = "One deviation: change of the score when the feature rises by one standard deviation."
    if model.features is not None:
        words = "Spread: standard deviation of what the column adds to the score, both classes weighing the same."
    below = Text(f"{words} Share: part of the difference between the mean scores of the classes.", soft=True)
    if model.shapes is None:
        return [below]
    table = _effects_table(model)
    return [below, Folded(f"{table.caption} as numbers", [table])]


def _effects_table(model: Model) -> Table:
    effects = explain(model)
    shares = dict(sum_by_column(effects))
    what, names = "features", ["feature", "coefficient", "one deviation", "share", "share of its column"]
    if model.features is not None:
        what, names = "columns", ["column", "spread", "share"]
    rows: list[list[Cell | str]] = []
    for effect in effects[:MOST_FEATURES]:
        row: list[Cell | str] = [effect.feature]
        if effect.coefficient is not None and effect.effect is not None:
            row += [Cell(f"{effect.coefficient:.4g}", effect.coefficient), number_cell(effect.effect, sign=True)]
            row += [Cell(f"{share:.1%}", share) for share in (effect.share, shares[effect.column])]
        else:
            row += ["" if effect.importance is None else number_cell(effect.importance)]
            row += [Cell(f"{effect.share:.1%}", effect.share)]
        rows.append(row)
    more = f"The first {MOST_FEATURES} of {len(effects):,} {what}" if len(effects) > MOST_FEATURES else f"All {what}"
    return Table(names, rows, more)


def _interactions(model: Model) -> list[Block]:
    """Pairs of columns that interact, where the score is not a sum of curves."""
    shapes = model.shapes
    if shapes is None or shapes.interactions is None or not shapes.whole or len(shapes.columns) < 2:
        return []
    words = (
        f"Interactions, what no sum of curves can say, make up {100 * shapes.share:.1f} % of the variance of the score."
        " In them no function of a single column is left."
    )
    if not shapes.pairs:
        return [Text(f"{words} No pair of columns stands out.")]
    shown = shapes.pairs[:MOST_PAIRS]
    largest = max(float(np.abs(pair.values[np.isfinite(pair.values)]).max(initial=0.0)) for pair in shown) or 1.0
    rows: list[list[Cell | str]] = [[name, Cell(f"{share:.1%}", share)] for name, share in describe_pairs(model)]
    legend = (
        "Picture: interactions. The mean of what they add to the score over the rows in each cell: orange adds, blue "
        f"takes away, the strongest cell {largest:.2f}; cells of fewer than three rows are grey. Each bin of numbers "
        "holds about as many rows."
    )
    return [
        Text(words),
        Text(legend, soft=True),
        Grid([heat_map(pair, largest) for pair in shown]),
        Folded("All pairs as numbers", [Table(["columns", "share"], rows, "Share: part of the variance of the score")]),
    ]


def selection_table(model: Model) -> list[Block]:
    """The feature maps that were compared, if there were several."""
    tried = model.training.get("selection", ())
    if len(tried) < 2:
        return []
    rows: list[list[Cell | str]] = [
        [
            describe_candidate(row["features"]),
            Cell(f"{row['n_features']:,}", row["n_features"]),
            Cell(f"{row.get('score', row['auc']):.4f} ± {row['standard_error']:.4f}", row.get("score", row["auc"])),
            describe_part(row, model.training.get("rows", 0)),
        ]
        for row in tried
    ]
    measure = "partial AUC" if "score" in tried[0] else "AUC"
    return [
        Table(
            ["model", "features", f"{measure} of the folds", "taken"],
            rows,
            f"Models compared: mean {measure} ± standard error. Width: how far apart two rows may lie and still count "
            "as alike; depth: how often a tree asks",
        )
    ]


def training_facts(model: Model) -> dict[str, str]:
    """How the model came about, as far as it says so itself."""
    facts, words = model.training, {}
    if "data" in facts:
        words["trained on"] = ", ".join(facts["data"])
    if facts.keys() >= {"rows", "positives"}:
        words["rows"] = f"{facts['rows']:,}, {facts['positives']:,} positive"
    words["model"] = describe_model(model)
    if (found := expected_auc(model)) is not None:
        words["cross-validated AUC"] = f"{found.auc:.4f} ({found.low:.4f} to {found.high:.4f}), {found.remark}"
    if facts.keys() >= PARTIAL_FACTS:
        interval = f"{facts['cv_partial_auc_low']:.4f} to {facts['cv_partial_auc_high']:.4f}"
        part = f"up to {100 * facts['max_fpr']:g} % false positives"
        words["cross-validated partial AUC"] = f"{facts['cv_partial_auc']:.4f} ({interval}), {part}; {NOT_CORRECTED}"
    if facts.get("loss", "squared") != "squared":
        words["loss"] = facts["loss"]
    if facts.get("map") == "stacked":
        words["penalty"] = OWN_PENALTIES
    elif facts.keys() >= {"l2", "l1"}:
        kind = "" if facts.get("penalty", "elasticnet") == "elasticnet" else f"{facts['penalty']}, "
        words["penalty"] = f"{kind}l2 = {facts['l2']:.3g} against large coefficients, l1 = {facts['l1']:.3g} for zeros"
    if (accuracy := describe_accuracy(facts)) is not None:
        meaning = "; no other coefficients have a training objective that is smaller by more than this part of it"
        words["certificate"] = accuracy + (meaning if "relative_gap" in facts else "")
    words["calibration"] = "none" if model.calibration is None else model.calibration.method
    words["page written by"] = f"vrspam {__version__}"
    return words


def versions() -> str:
    """Versions of Python and of the packages that compute."""
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)])


def _notes(model: Model, parameter: ShowParameter) -> list[Block]:
    notes = worded_notes(model, parameter)
    return [Text("Noticed in training:"), Bullets(notes)] if notes else []


def worded_notes(model: Model, parameter: ShowParameter) -> list[str]:
    """What the training noticed about the data, in the reader's terms."""
    return [worded(note, parameter) for note in model.training.get("warnings", ())]


def number_cell(value: float, *, sign: bool = False) -> Cell:
    """A number in a table."""
    return Cell(f"{value:{'+' if sign else ''}.4{'f' if abs(value) < 1e4 else 'g'}}", value)
