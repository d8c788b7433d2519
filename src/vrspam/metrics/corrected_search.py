"""The corrected AUC of a search of scikit-learn: its candidates are fitted again in the folds of the search."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from vrspam._utils.progress import StepProgress
from vrspam._utils.warnings import warn
from vrspam.metrics.correction import (
    CorrectedAUC,
    checked_splits,
    corrected_best,
    draw_sample,
    shared_rows,
    stable_share,
)
from vrspam.metrics.folds import fold_parts
from vrspam.metrics.roc import checked_weights, positive_rows


def corrected_auc_of(
    search: Any,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> CorrectedAUC:
    """The AUC to expect of the best model of a search, corrected for the choice.

    All candidates are fitted again on the folds, because a search keeps no scores of rows; the one with the highest
    mean AUC is the best. The interval allows for how much the models of different folds agree on the same rows.

    Parameters
    ----------
    search : fitted GridSearchCV or RandomizedSearchCV, or list of estimators
        A search gives its candidates, its folds and its `n_jobs`.
    X : rows, as the estimators take them
    y : array of n labels
        As in :func:`roc_auc`.
    cv : int, splitter or splits, optional
        Folds that hold each row out once; by default those of the search, five for a list.
    groups : array of n labels, optional
        Rows that belong together: `cv` must keep them together, as GroupKFold does.
    sample_weight : array of n numbers, optional
        How much each row counts, in `fit` and in the AUC.
    n_jobs : int, optional
        The number of fits at the same time, as in joblib.
    progress : bool, default=False
        Show what is done and the time left, on the standard error stream.

    Returns
    -------
    CorrectedAUC

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam.metrics import corrected_auc_of
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> search = GridSearchCV(model, {"logisticregression__C": [0.01, 0.1, 1.0]}, scoring="roc_auc").fit(X, y)
    >>> found = corrected_auc_of(search, X, y)
    >>> print(f"expect {found.auc:.3f}, 95 % interval {found.low:.2f} to {found.high:.2f}")
    expect 0.995, 95 % interval 0.98 to 1.00
    """
    models, cv, n_jobs = _candidates(search, cv, n_jobs)
    positive = positive_rows(y, at_least=2)
    weight = None if sample_weight is None else checked_weights(sample_weight, positive.size)
    splits = checked_splits(check_cv(cv, y, classifier=True).split(X, y, groups), positive.size)
    fold = np.full(positive.size, -1)
    for number, (_, held_out) in enumerate(splits):
        fold[held_out] = number
    if sum(held_out.size for _, held_out in splits) != positive.size or fold.min() < 0:
        raise ValueError("cv must hold each row out exactly once: use StratifiedKFold, or GroupKFold with groups.")

    parts = fold_parts(fold, positive, weight, groups)
    sizes = [positive.size - part.size for part in parts]
    sample = draw_sample(parts, sizes, positive, weight, groups, len(models), seed=0)
    labels = np.asarray(y)
    tasks = [(j, k) for j in range(len(models)) for k in range(len(splits))]
    fits = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_fit_one)(j, k, models[j], X, labels, weight, *splits[k], sample.rows) for j, k in tasks
    )
    scores = np.empty((positive.size, len(models)))
    by_all = np.empty((len(models), sample.rows.size, len(splits)))  # of the rows of the sample, by all folds
    with StepProgress("models") if progress else nullcontext() as line:
        if line is not None:
            line.start(len(tasks))
        for j, k, of_fold, of_sample in fits:
            scores[splits[k][1], j] = of_fold
            by_all[j, :, k] = of_sample
            if line is not None:
                line.tell(f"model {j + 1} of {len(models)}")

    common = shared_rows(splits, positive.size)
    return corrected_best(
        sample, scores, positive, parts, weight, groups, lambda best: stable_share(by_all[best], common, sample)
    )


def _candidates(search: Any, cv: Any, n_jobs: int | None) -> tuple[list[Any], Any, int | None]:
    """The models of a search, or of a list, unfitted; the folds; how many are fitted at the same time."""
    if isinstance(search, Sequence):
        if not search:
            raise ValueError("give at least one estimator.")
        return [clone(model) for model in search], 5 if cv is None else cv, n_jobs
    if not hasattr(search, "cv_results_"):
        kind = type(search).__name__
        raise ValueError(f"{kind} is not a fitted search: fit a GridSearchCV or RandomizedSearchCV, or give a list.")
    measure_name = search.scoring if isinstance(search.refit, bool) else search.refit
    if measure_name != "roc_auc":
        measure = "the score of the estimator" if measure_name is None else repr(measure_name)
        warn(f"The search chose by {measure}; here the model with the best AUC is chosen. Use scoring='roc_auc'.")
    models = [
        clone(search.estimator).set_params(**clone(parameters, safe=False))
        for parameters in search.cv_results_["params"]
    ]
    return models, search.cv if cv is None else cv, search.n_jobs if n_jobs is None else n_jobs


def _fit_one(
    j: int, k: int, model: Any, X: Any, y: NDArray, weight: NDArray | None, train: NDArray, test: NDArray, some: NDArray
) -> tuple[int, int, NDArray, NDArray]:
    """Model j fitted without fold k: its scores of the rows of that fold, and of `some` rows of all folds."""
    weight_argument = {} if weight is None else {"sample_weight": weight[train]}
    fitted = clone(model).fit(_take(X, train), y[train], **weight_argument)
    return j, k, _scores(fitted, _take(X, test)), _scores(fitted, _take(X, some))


def _take(X: Any, rows: NDArray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]


def _scores(model: Any, X: Any) -> NDArray:
    """Decision values, or probabilities of the larger label."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    return np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1]
