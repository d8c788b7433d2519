"""Facts about how a model was trained: what its file keeps beside the score, and pages show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from vrspam._utils.findings import Note


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """The training rows as the terms of the score see them.

    The terms are the features of straight lines; of any other score what each column adds, where columns add something
    on their own, and what columns add together, where they do.
    """

    means: np.ndarray  # (2, terms): class means of each term: others first, then positives
    deviations: np.ndarray  # (terms,): standard deviations of features (1 for a constant one); 1 for other terms

    def check(self) -> None:
        """Refuse numbers that do not fit together, as a file may hold them."""
        n_terms = self.deviations.size
        if self.deviations.shape != (n_terms,) or self.means.shape != (2, n_terms):
            raise ValueError(f"class means of shape {self.means.shape} do not fit {n_terms} deviations")
        if (self.deviations <= 0.0).any():
            raise ValueError("deviations must be positive")


@dataclass(frozen=True, kw_only=True)
class CandidateFacts:
    """A kind of features that was compared: the best point of its grid, how it did, and what became of it."""

    features: str
    n_features: int
    l2: float | None  # None where trees have no penalty
    l1: float | None
    auc: float
    score: float | None = None  # mean over the folds of another measure, if that one chose
    standard_error: float
    chosen: bool
    weight: float  # in the blend
    gap: float | None = None
    rows: int  # that it was compared on

    def check(self) -> None:
        """Refuse sizes below 0, as a file may hold them."""
        if min(self.n_features, self.rows) < 0:
            raise ValueError("a candidate has less than no features or rows")

    def to_dict(self) -> dict[str, Any]:
        """Its fields by name, without those that have no value."""
        values = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class MeasuredAUC:
    """An AUC with the ends of its 95 % interval; None for what cannot be known."""

    auc: float | None
    low: float | None
    high: float | None

    def to_dict(self, name: str) -> dict[str, float | None]:
        """The AUC under a name, and the ends of its interval."""
        return {name: self.auc, f"{name}_low": self.low, f"{name}_high": self.high}


@dataclass(frozen=True)
class PartialAUC:
    """The AUC of the folds up to a rate of false positives."""

    max_fpr: float
    measured: MeasuredAUC


@dataclass(frozen=True)
class Certificate:
    """How far the fit is at most from the optimum, also as a share of the objective of a model that does nothing.

    Where the penalty is not convex, it is how far the gradient is from 0. None: that is not known.
    """

    measure: Literal["gap", "stationarity"]
    reached: float | None
    relative: float | None

    def to_dict(self) -> dict[str, float | None]:
        """Both numbers by name."""
        return {self.measure: self.reached, f"relative_{self.measure}": self.relative}


@dataclass(frozen=True, kw_only=True)
class TrainingFacts:
    """How a model was trained.

    Attributes
    ----------
    data : tuple of str
        Names of the files.
    rows, positives : int
        How many rows were learnt from.
    columns, features, nonzero : int
        How many columns the score takes, how many features were made of them, and how many of these it uses.
    rows_held : int
        How many rows of the table are parts of the model, as landmarks of kernels and trees.
    map : str
        The kind of features: "linear", "additive", "kernel", ..., or "stacked" for a blend.
    selection : tuple of CandidateFacts
        What was compared.
    loss, penalty : str
    l2, l1 : float
    folds : int
    cv_auc, corrected_auc : MeasuredAUC
        The AUC of the folds, and the AUC to expect of new rows: corrected for the choice of the model.
    partial_auc : PartialAUC or None
        The part of the ROC curve that the model was chosen by, if it was.
    objective : float or None
        None for a blend.
    certificate : Certificate
    warnings : tuple of str
        What was noticed about the table and the fit: texts, of which some are findings.
    of_columns : ColumnFacts
    monotone : mapping of str to {-1, 0, 1}
        The directions that were asked for.
    unconstrained_auc : float or None
        The AUC to expect without these directions.
    independent_auc : float or None
        The AUC of folds that tear groups of rows apart.
    """

    data: tuple[str, ...]
    rows: int
    positives: int
    columns: int
    features: int
    rows_held: int
    map: str
    selection: tuple[CandidateFacts, ...]
    nonzero: int
    loss: str
    l2: float
    l1: float
    penalty: str
    folds: int
    cv_auc: MeasuredAUC
    partial_auc: PartialAUC | None = None
    corrected_auc: MeasuredAUC
    objective: float | None = None
    certificate: Certificate
    warnings: tuple[str | Note, ...] = ()
    of_columns: ColumnFacts
    monotone: Mapping[str, int] = field(default_factory=dict)
    unconstrained_auc: float | None = None
    independent_auc: float | None = None

    def check(self) -> None:
        """Refuse sizes below 0, and directions that are none."""
        sizes = (self.rows, self.positives, self.columns, self.features, self.rows_held, self.nonzero, self.folds)
        if min(sizes) < 0:
            raise ValueError("a number of rows, columns, features or folds is less than 0")
        for name, direction in self.monotone.items():
            if direction not in (-1, 0, 1):
                raise ValueError(f"the direction {direction} of {name!r} is not -1, 0 or 1")

    def to_dict(self) -> dict[str, Any]:
        """The facts by name, as `Model.training` has them; without those about columns."""
        facts: dict[str, Any] = {
            "data": list(self.data),
            "rows": self.rows,
            "positives": self.positives,
            "columns": self.columns,
            "features": self.features,
            "rows_held": self.rows_held,
            "map": self.map,
            "selection": [candidate.to_dict() for candidate in self.selection],
            "nonzero": self.nonzero,
            "loss": self.loss,
            "l2": self.l2,
            "l1": self.l1,
            "penalty": self.penalty,
            "folds": self.folds,
        }
        facts.update(self.cv_auc.to_dict("cv_auc"))
        if self.partial_auc is not None:
            facts["max_fpr"] = self.partial_auc.max_fpr
            facts.update(self.partial_auc.measured.to_dict("cv_partial_auc"))
        facts.update(self.corrected_auc.to_dict("corrected_auc"))
        if self.objective is not None:
            facts["objective"] = self.objective
        facts.update(self.certificate.to_dict())
        facts["warnings"] = list(self.warnings)
        if self.monotone:
            facts["monotone"] = dict(self.monotone)
        if self.unconstrained_auc is not None:
            facts["unconstrained_auc"] = self.unconstrained_auc
        if self.independent_auc is not None:
            facts["independent_auc"] = self.independent_auc
        return facts
