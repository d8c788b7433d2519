"""How the rows of a table are fitted: curves and other maps, straight lines in memory, or straight lines of blocks.

`choose_recipe` decides by the plan and the number of columns; `Recipe.fit` gives the fitted estimator with scores of
held-out rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam import AUCClassifierCV, ClassMoments, ConcordanceRankerCV, HashFolds
from vrspam._utils.blas import blas_threads
from vrspam._utils.findings import Finding, Fix, Note
from vrspam._utils.progress import is_terminal
from vrspam.checks.coded import MOST_COLUMNS
from vrspam.checks.constant import describe_constant
from vrspam.checks.diagnose import diagnose
from vrspam.data.rows import RowSample
from vrspam.data.stream import Stream
from vrspam.data.table import Table
from vrspam.estimators.search import fit_read_columns
from vrspam.features import FeatureMap, LinearFeatures
from vrspam.features.mapped import MAX_FEATURES
from vrspam.features.names import is_plain, named_maps
from vrspam.measures.rows import two_sides
from vrspam.model_selection.held_out import HeldOut
from vrspam.moments.class_moments import spread
from vrspam.penalties.family import PENALTIES
from vrspam.report.words.training import describe_step
from vrspam.solvers import choose_solver
from vrspam.tables.schema import Schema
from vrspam.tool.checking import SAMPLED
from vrspam.tool.folds import check_size, make_folds
from vrspam.tool.plan import TrainPlan
from vrspam.tool.scaling import Scaling

NOTHING_TO_LEARN = "every feature is constant: there is nothing to learn from"
FEW_MAPS = ("standardized", "forest", "boosted")  # which many features do not make slow
MANY_FEATURES = 1_000  # most maps take long beyond
L1_SHARES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)  # of the l1 from which all coefficients are 0


class Fit(NamedTuple):
    """A fitted estimator, the number of rows of each class (negatives first), held-out scores, and findings.

    `table` has the rows, or a sample of those of a stream. `moments` and `scaling` are those of encoded rows, None
    where a map took the columns as they are. `free` is the same search without the directions of columns, where some
    were given.
    """

    table: Table
    estimator: AUCClassifierCV
    counts: Sequence[int]
    held_out: HeldOut
    findings: Sequence[Finding] = ()
    moments: ClassMoments | None = None
    scaling: Scaling | None = None
    free: AUCClassifierCV | None = None


class Recipe(NamedTuple):
    """A plan whose features are named, and whether the table is too wide for most maps (`wide`), or for any."""

    plan: TrainPlan
    wide: bool
    too_wide: bool

    @property
    def straight(self) -> bool:
        """Whether straight lines of encoded rows are all that is fitted."""
        return self.plan.features == "linear" or (self.too_wide and self.plan.features == "auto")

    def fit(self, table: Table | Stream) -> Fit:
        """Fit the rows of a table."""
        if isinstance(table, Stream):
            return fit_blocks(table, self.plan)
        if self.straight:
            return fit_linear(table, self.plan)
        return fit_maps(table, self.plan, FEW_MAPS if self.wide else None)

    def note(self, schema: Schema) -> Note | None:
        """What is said where the number of columns decided; None where it did not."""
        if self.too_wide and self.plan.features == "auto":
            reason = f"curves are made of at most {MAX_FEATURES:,} columns"
            return Note(f"Only a simple model was fitted, because {reason}; probably clearly worse.")
        if not self.wide or self.straight:
            return None
        fitted = "Straight lines alone were fitted" if self.plan.event else "Straight lines and trees were compared"
        return Note(
            f"{fitted}, because there are {schema.n_features:,} features. ",
            Fix("features", "auto"),
            " compares all, slowly.",
        )


def choose_recipe(table: Table | Stream, plan: TrainPlan) -> Recipe:
    """Name the features that a plan leaves open, and say what the number of columns forbids."""
    too_wide = len(table.schema.columns) > MAX_FEATURES
    asks_for_lines = plan.streaming or plan.l1 == "auto" or any(plan.l1)
    wide = plan.features is None and not asks_for_lines and table.schema.n_features > MANY_FEATURES
    if plan.features is None:
        lines_alone = asks_for_lines or (wide and not table.origin.has_names)
        plan = replace(plan, features="linear" if lines_alone else "auto")
    if plan.monotone and plan.features == "linear" and not plan.streaming and not too_wide:
        plan = replace(plan, features="standardized")  # the same lines, column by column
    return Recipe(plan, wide, too_wide)


def fit_maps(table: Table, plan: TrainPlan, few: Sequence[str] | None = None) -> Fit:
    """Fit feature maps of the columns as they are, all that a name stands for or those in `few`; rows are in memory."""
    folds = make_folds(table, plan)
    plan.say(f"choosing the curves and the penalty by {folds.get_n_splits()} folds")
    search = make_search(
        plan,
        getattr(table.rows, "column_names", table.schema.columns),
        l1s=_l1s_of_lines(table, plan) if plan.l1 == "auto" else plan.l1,
        folds=folds,
        features=_maps(plan, table.rows, few),
        random_state=plan.random_state,
    )
    searched = run_in_memory(search, plan, table, table.rows)
    counts = np.bincount(table.positive, minlength=2).tolist()
    return Fit(table, searched.estimator, counts, searched.held_out, free=searched.free)


def _l1s_of_lines(table: Table, plan: TrainPlan) -> Sequence[float]:
    """Candidates for l1 on the scale of standardised columns."""
    straight_lines = LinearFeatures(max_categories=plan.max_categories, random_state=plan.random_state)
    straight_lines.learn(table.rows)
    lines = straight_lines.features_of(table.rows)
    sides = two_sides(table.positive, table.times)
    moments = ClassMoments(classes=[False, True], scatter=False).update(lines, sides)
    return l1_grid(plan, moments)


def _maps(plan: TrainPlan, rows: Any, few: Sequence[str] | None) -> Any:
    """The features of a plan as the estimators take them: maps by name, or the name of straight lines."""
    features = plan.features
    if isinstance(features, FeatureMap):
        maps = {" ".join(repr(features).split()): features}
    elif isinstance(features, str) and not is_plain(features, rows):
        maps = _named_maps(plan, features, few)
    else:
        return features
    if plan.private:
        return {name: feature_map.holding_no_rows() for name, feature_map in maps.items()}
    return maps


def _named_maps(plan: TrainPlan, features: str, few: Sequence[str] | None) -> dict[str, FeatureMap]:
    """The maps that a name stands for; "auto" has none that learn from the target where the target is a time."""
    ranks_times = features == "auto" and plan.event is not None
    maps = {}
    for name, feature_map in named_maps(features, None).items():
        if few is not None and name not in few:
            continue
        if ranks_times and feature_map.supervised:
            continue
        maps[name] = feature_map.set_params(max_categories=plan.max_categories)
    return maps


def fit_linear(table: Table, plan: TrainPlan) -> Fit:
    """Fit straight lines to encoded and standardised rows, all of them in memory."""
    folds = make_folds(table, plan)

    X = table.features()
    moments = ClassMoments(X.shape[1], classes=[False, True], scatter=False)
    moments.update(X, two_sides(table.positive, table.times, table.weights), table.weights)
    scaling, constant = _scaling(table.schema, moments, sparse.issparse(X))
    X = scaling(X)

    stage = f"choosing the penalty by {folds.get_n_splits()} folds"
    slow = choose_solver(X.shape[0], X.shape[1], sparse.issparse(X)) == "products"
    if slow and plan.n_jobs is None:
        words = f"{stage} of {X.shape[1]:,} features, which may take minutes; "
        stage = Note(words, Fix("n_jobs", 2), " computes two folds at a time")
    plan.say(stage)

    search = make_search(
        plan,
        table.schema.feature_names,
        l1s=l1_grid(plan, moments, scaling),
        folds=folds,
        random_state=plan.random_state,
    )
    searched = run_in_memory(search, plan, table, X)
    seen_by_the_doctor = len(table.schema.columns) <= MOST_COLUMNS
    return Fit(
        table,
        searched.estimator,
        np.bincount(table.positive, minlength=2).tolist(),
        searched.held_out,
        findings=() if seen_by_the_doctor else constant,
        moments=moments,
        scaling=scaling,
        free=searched.free,
    )


def fit_blocks(stream: Stream, plan: TrainPlan) -> Fit:
    """Fit straight lines to encoded and standardised rows, block by block, for files larger than memory."""
    plan.say("first reading of the blocks: spread of the features")
    moments = ClassMoments(stream.schema.n_features, classes=[False, True], scatter=False)
    sample = RowSample(SAMPLED, plan.random_state)
    for block in stream.blocks():
        moments.update(block.features(), block.positive, block.weights)
        sample.add(block.rows, block.positive)
    check_size(moments.rows, plan)
    scaling, constant = _scaling(stream.schema, moments, stream.schema.is_mostly_zeros)

    plan.say(f"second and third reading: moments and scores of {plan.n_splits} folds")
    search = make_search(
        plan,
        stream.schema.feature_names,
        l1s=l1_grid(plan, moments, scaling),
        folds=HashFolds(plan.n_splits, plan.random_state),
    )
    table = stream.sampled(sample)
    findings = [*diagnose(table, plan).findings, *constant]
    searched = run_on_blocks(search, plan, ScaledBlocks(stream, scaling))
    return Fit(
        table,
        searched.estimator,
        [int(count) for count in moments.rows],
        searched.held_out,
        findings=findings,
        moments=moments,
        scaling=scaling,
        free=searched.free,
    )


def l1_grid(plan: TrainPlan, moments: ClassMoments, scaling: Scaling | None = None) -> Sequence[float]:
    """Candidates for l1; "auto" spreads them below the value 2pq·max|δ| from which all coefficients are 0."""
    if plan.l1 != "auto":
        return tuple(float(value) for value in plan.l1)
    delta = moments.delta if scaling is None else moments.delta / scaling.deviations
    largest = 2.0 * moments.p * moments.q * float(np.abs(delta).max())
    shares = L1_SHARES[1:] if PENALTIES[plan.penalty].needs_l1 else L1_SHARES
    return tuple(share * largest for share in shares)


def _scaling(schema: Schema, moments: ClassMoments, is_sparse: bool) -> tuple[Scaling, list[Finding]]:
    """How features are standardised, and a finding on those that are constant."""
    constant = spread(moments)[1] == 0.0
    if constant.all():
        raise ValueError(NOTHING_TO_LEARN)
    names = [schema.feature_names[j] for j in np.flatnonzero(constant)]
    return Scaling.of(moments, is_sparse), [describe_constant(names)] if names else []


class Searched(NamedTuple):
    """A fitted search, scores of rows by the models of the other folds, and the same search without directions."""

    estimator: AUCClassifierCV
    held_out: HeldOut
    free: AUCClassifierCV | None


def make_search(
    plan: TrainPlan,
    names: Sequence[str],
    *,
    l1s: Any,
    folds: Any,
    **options: Any,
) -> Any:
    """The estimator that a plan asks for, for columns or features of these names."""
    directions = plan.monotone and [plan.monotone.get(name, 0) for name in names]
    common: dict[str, Any] = {
        "loss": plan.loss,
        "penalty": plan.penalty,
        "selection": plan.selection,
        "n_jobs": plan.n_jobs,
        "l1s": l1s,
        "cv": folds,
        "monotonic_cst": directions,
        **options,
    }
    if plan.event is not None:
        return ConcordanceRankerCV(**common)
    no_probabilities = plan.calibration == "none" or plan.within is not None
    calibration = None if no_probabilities else plan.calibration
    return AUCClassifierCV(calibration=calibration, max_fpr=plan.max_fpr, **common)


def run_in_memory(search: Any, plan: TrainPlan, table: Table, X: Any) -> Searched:
    """Fit a search to features of rows in memory, and once more without directions where columns have some."""
    rows: dict[str, Any] = {"sample_weight": table.relative_weights, "groups": table.groups}
    if table.within is not None:
        rows["strata"] = table.within
    if table.times is None:
        rows["y"] = table.positive
    else:
        rows["y"] = table.times
        rows["event"] = table.positive

    def fit(estimator: Any) -> Any:
        estimator.set_params(verbose=int(is_terminal(sys.stderr)))
        few_rows = table.positive.size <= 5_000  # threads would only wait for each other
        with blas_threads(1 if few_rows else None):
            return fit_read_columns(estimator, X, orders=plan.ordered, in_words=describe_step, **rows)

    fitted = fit(search)
    held_out = fitted.out_of_fold_
    if table.times is not None and held_out.places is not None:
        held_out = held_out._replace(positive=table.positive[held_out.places])
    free = fit(without_directions(search, plan)) if has_directions(plan) else None
    return Searched(fitted, held_out, free)


class ScaledBlocks:
    """The blocks of a stream as encoded and scaled rows, whether each is positive, and weights if there are some."""

    def __init__(self, stream: Stream, scaling: Scaling) -> None:
        self.stream = stream
        self.scaling = scaling

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for block in self.stream.blocks():
            X = self.scaling(block.features())
            yield (X, block.positive) if block.weights is None else (X, block.positive, block.weights)


def run_on_blocks(search: Any, plan: TrainPlan, blocks: ScaledBlocks) -> Searched:
    """Fit a search to the blocks of a stream, and once more without directions where columns have some."""
    fitted = search.fit_stream(blocks)
    free = without_directions(search, plan).fit_stream(blocks) if has_directions(plan) else None
    return Searched(fitted, fitted.held_out_, free)


def has_directions(plan: TrainPlan) -> bool:
    """Whether the score must rise or fall with some column."""
    return bool(plan.monotone) and any(plan.monotone.values())


def without_directions(search: Any, plan: TrainPlan) -> Any:
    """The same search without directions."""
    plan.say("fitting the model again without directions, to tell what they cost")
    return copy(search).set_params(monotonic_cst=None)
