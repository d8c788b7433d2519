"""Cross-validation of a whole grid over blocks of rows: one pass for moments of the folds, one for their scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import _fit_context

from vrspam import metrics
from vrspam._utils import array_api
from vrspam._utils.messages import Parameter, WordedError
from vrspam.estimators.base import AUCClassifierBase, Rows
from vrspam.estimators.chunks import MOMENTS_MAX_FEATURES, RowBlocks, add_block
from vrspam.estimators.folds import HashFolds
from vrspam.estimators.grid_search import FoldProblem, GridScores, over_folds
from vrspam.estimators.map_search import Candidate
from vrspam.model_selection.selection import Choice, SelectionRule
from vrspam.moments import ClassMoments
from vrspam.objective import Objective
from vrspam.solvers.grid import GridSolution, auto_l2s, check_grid_axis, solve_grid


def hash_folds(cv: Any, random_state: Any) -> HashFolds:
    """The folds of a stream: `cv` is their number, or says more."""
    if isinstance(cv, HashFolds):
        return cv
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer):
        raise ValueError(
            "Rows that come in blocks are split by their hash: cv must be a number of folds or a HashFolds, "
            f"got {cv!r}."
        )
    if random_state is not None and not isinstance(random_state, int | np.integer):
        raise ValueError("Rows that come in blocks are split by their hash: random_state must be None or an integer.")
    return HashFolds(int(cv), 0 if random_state is None else int(random_state))


def add_to_folds(moments: list[ClassMoments], rows: Rows, number: int, folds: HashFolds) -> None:
    """Take a block into the moments of the folds of its rows."""
    if array_api.device_namespace(rows.X) is not None:
        raise ValueError(
            "Cross-validation of blocks hashes and scores rows on the host: give blocks of NumPy arrays, or all rows "
            "at once to fit."
        )
    if rows.X.shape[1] > MOMENTS_MAX_FEATURES:
        raise ValueError(
            f"Cross-validation of blocks keeps {2 * folds.n_splits + 2} matrices of {rows.X.shape[1]} × "
            f"{rows.X.shape[1]}: with more than {MOMENTS_MAX_FEATURES:,} features use AUCClassifier at a few l2."
        )
    fold = folds.fold_of(rows.X)
    for side, part in enumerate(moments):
        index = np.flatnonzero(fold == side)
        if index.size:
            add_block(part, rows, number, index, precise=True)


class HeldOut(NamedTuple):
    """Validation rows: scores by a model of the other folds, and how many rows each stands for."""

    positive: np.ndarray
    scores: np.ndarray
    fold: np.ndarray
    weights: np.ndarray


class ValidationScores:
    """Scores of validation rows at all points of a grid: of all rows, or of a random part of each class.

    A row's hash decides: of each class the `most` rows with the smallest hashes are kept, so memory is bounded and
    neither the order of rows nor their blocks matter. AUC does not depend on the shares of the classes, so a
    sample of each estimates it without bias.
    """

    def __init__(self, most: int):
        self.most = most
        self.seen = [0, 0]
        self._parts: list[list[tuple]] = [[], []]

    @classmethod
    def of(cls, rows: Rows, positive_label, coefs: np.ndarray, folds: HashFolds, most: int) -> ValidationScores:
        """Of one block: each row by the coefficients (folds, points, features) of its own fold."""
        hashes = folds.hashes(rows.X)
        fold = folds.fold_of_hashes(hashes)
        scores = np.empty((rows.X.shape[0], coefs.shape[1]))
        for side in range(folds.n_splits):
            index = np.flatnonzero(fold == side)
            scores[index] = rows.X[index] @ coefs[side].T
        weights = np.ones(fold.size) if rows.weights is None else rows.weights
        new = cls(most)
        for side, member in enumerate((rows.y != positive_label, rows.y == positive_label)):
            index = np.flatnonzero(member & (weights > 0))
            new.seen[side] = index.size
            new._parts[side].append((hashes[index], fold[index], weights[index], scores[index]))
            new._trim(side, most)
        return new

    def add(self, other: ValidationScores) -> ValidationScores:
        """Take in the scores of other rows."""
        for side in (0, 1):
            self.seen[side] += other.seen[side]
            self._parts[side].extend(other._parts[side])
            self._trim(side, 2 * self.most)
        return self

    def _trim(self, side: int, limit: int) -> None:
        if sum(part[0].size for part in self._parts[side]) > limit:
            joined = [np.concatenate(column) for column in zip(*self._parts[side], strict=True)]
            kept = np.argpartition(joined[0], self.most - 1)[: self.most]
            self._parts[side] = [tuple(column[kept] for column in joined)]

    def auc(self, n_folds: int) -> np.ndarray:
        """AUC of each point on each fold, shape (points, folds)."""
        for side in (0, 1):
            self._trim(side, self.most)
        below, above = ([np.concatenate(column) for column in zip(*parts, strict=True)] for parts in self._parts)
        aucs = []
        for number in range(n_folds):
            down, up = below[1] == number, above[1] == number
            positive = np.repeat([False, True], [down.sum(), up.sum()])
            scores = np.concatenate([below[3][down], above[3][up]])
            weights = np.concatenate([below[2][down], above[2][up]])
            aucs.append(metrics.roc_auc_columns(positive, scores, None if np.all(weights == 1.0) else weights))
        return np.stack(aucs, axis=1)

    def at(self, point: int, intercepts: np.ndarray) -> HeldOut:
        """The scores at one point of the grid, plus the intercept of each fold's model."""
        sides = []
        for side in (0, 1):
            self._trim(side, self.most)
            _, fold, weights, scores = (np.concatenate(column) for column in zip(*self._parts[side], strict=True))
            sampled = self.seen[side] / fold.size
            sides.append((np.full(fold.size, side == 1), scores[:, point] + intercepts[fold], fold, weights * sampled))
        return HeldOut(*(np.concatenate(column) for column in zip(*sides, strict=True)))


class BlockScores(NamedTuple):
    """What cross-validation over blocks gave: the grid, the validation scores, (folds, points) intercepts."""

    grid: GridScores
    validation: ValidationScores
    intercepts: np.ndarray

    def held_out(self, choice: Choice) -> HeldOut:
        """The validation scores at the chosen point."""
        point = int(np.ravel_multi_index(choice.index, self.grid.auc.shape[:2]))
        return self.validation.at(point, self.intercepts[:, point])


def cross_validate(
    estimator, moments: list[ClassMoments], score: Callable[[np.ndarray, Any], ValidationScores]
) -> BlockScores:
    """Scores of the estimator's grid: `moments` of each fold, `score(coefs, positive label)` of all blocks."""
    for number, fold in enumerate(moments):
        if not fold.complete:
            raise WordedError(
                "Fold {number} has rows of {count} classes, and needs both: use fewer folds ({folds}), "
                "or another seed ({seed}).",
                number=number,
                count=int(np.count_nonzero(fold.weights)) if fold.classes.size else 0,
                folds=Parameter("n_splits"),
                seed=Parameter("seed"),
            )
    total = sum(moments[1:], moments[0])
    l1s = check_grid_axis("l1s", estimator.l1s)
    l2s = auto_l2s(total) if isinstance(estimator.l2s, str) else check_grid_axis("l2s", estimator.l2s)

    def one_fold(number: int) -> tuple[GridSolution, np.ndarray]:
        others = [fold for other, fold in enumerate(moments) if other != number]
        training = sum(others[1:], others[0])
        objective = Objective.from_moments(training, 0.0)
        grid = solve_grid(objective, l2s, l1s, tol=estimator.tol, max_iter=estimator.max_iter)
        return grid, -grid.coefs.reshape(l2s.size * l1s.size, -1) @ training.means.sum(axis=0) / 2.0

    problem = FoldProblem.from_moments(len(moments), total.means.shape[1], l1s)
    grids, intercepts = zip(*over_folds(one_fold, problem, estimator.n_jobs), strict=True)
    coefs = np.stack([grid.coefs.reshape(l2s.size * l1s.size, -1) for grid in grids])
    scored = score(coefs, total.classes[1])
    grid_scores = GridScores(
        l2s,
        l1s,
        scored.auc(len(moments)).reshape(l2s.size, l1s.size, len(moments)),
        np.stack([grid.gaps for grid in grids], axis=2),
        np.stack([grid.converged for grid in grids], axis=2),
        None,
        total,
    )
    return BlockScores(grid_scores, scored, np.stack(intercepts))


class CVByBlocks(AUCClassifierBase):
    """`fit_stream` of `AUCClassifierCV`."""

    cv: Any
    features: Any
    selection: SelectionRule
    random_state: Any
    features_: Any
    held_out_: HeldOut
    n_features_in_: int
    _conclude: Callable
    _refit: Callable
    _advise: Callable

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_stream(self, chunks, *, validation_rows: int = 200_000, progress: bool = False):
        """Choose the penalties and fit them on rows that come block by block, in memory independent of their number.

        The blocks are read twice: for the moments of each fold, then for the scores of the validation rows at all
        points of the grid. Which fold a row is in follows from its content (`vrspam.HashFolds`), so `cv` must be a
        number of folds or a `HashFolds`; the result is that of `fit` with this splitter. Of long streams the AUC is
        taken on the `validation_rows` rows of each class with the smallest hashes, a random sample: its standard
        error is at most 0.5 / √(rows of the rarer class in a fold), and the same rows rank all points of the grid.
        Moments and coefficients always use all rows. `held_out_` keeps the scores of the validation rows at the
        chosen point (positive, scores, fold, weights): for intervals, and for calibration.

        Parameters
        ----------
        chunks : iterable of (X, y) or (X, y, sample_weight)
            Blocks of rows, dense or sparse, that can be gone through twice: a list, `vrspam.data.read_chunks`.
        validation_rows : int, default=200_000
            Most validation rows of each class. Their scores take up to 32 bytes a row and point of the grid.
        progress : bool, default=False
            Show rows per second and the time left on the standard error stream.

        Returns
        -------
        self
            Unchanged if any block is refused.

        Examples
        --------
        >>> import numpy as np
        >>> from vrspam import AUCClassifierCV, HashFolds
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((1000, 3))
        >>> y = (X[:, 0] + rng.standard_normal(1000) > 1).astype(int)
        >>> blocks = [(X[a : a + 100], y[a : a + 100]) for a in range(0, 1000, 100)]
        >>> streamed, whole = AUCClassifierCV().fit_stream(blocks), AUCClassifierCV(cv=HashFolds(5)).fit(X, y)
        >>> np.allclose(streamed.l2_, whole.l2_), np.allclose(streamed.coef_, whole.coef_)
        (True, True)
        """
        folds = self._check_blocks(validation_rows)
        blocks = RowBlocks(self, chunks, progress)
        if blocks.one_shot:
            raise ValueError(
                "Cross-validation reads the stream twice: give chunks that can be gone through again (a list, "
                "vrspam.data.read_chunks), not an iterator."
            )
        moments = [ClassMoments() for _ in range(folds.n_splits)]
        for number, rows in enumerate(blocks):
            add_to_folds(moments, rows, number, folds)

        def score(coefs: np.ndarray, positive_label) -> ValidationScores:
            total = ValidationScores(validation_rows)
            for rows in blocks:
                total.add(ValidationScores.of(rows, positive_label, coefs, folds, validation_rows))
            return total

        return self._fit_folds(moments, score)

    def _check_blocks(self, validation_rows: int) -> HashFolds:
        if not (isinstance(self.features, str) and self.features == "linear"):
            raise ValueError("Rows that come in blocks are taken as they are: it needs features='linear'.")
        if validation_rows < 1:
            raise ValueError(f"validation_rows must be at least 1, got {validation_rows}.")
        return hash_folds(self.cv, self.random_state)

    def _fit_folds(self, moments: list[ClassMoments], score: Callable[[np.ndarray, Any], ValidationScores]):
        """Cross-validate, select, and solve on all rows."""
        blocks = cross_validate(self, moments, score)
        scores = blocks.grid
        total = scores.moments
        assert total is not None
        choice = scores.select(self.selection)
        nothing = Rows(np.empty((0, int(total.n_features or 0))), np.empty(0), None)
        self._conclude([Candidate("linear", nothing, scores, choice)], 0, choice, 1.0 / len(moments))
        self.held_out_ = blocks.held_out(choice)
        self.features_ = None
        self._refit(choice, nothing, total.classes, total)
        self.n_features_in_ = int(total.n_features or 0)
        self.__dict__.pop("feature_names_in_", None)
        self._advise(choice)
        return self
