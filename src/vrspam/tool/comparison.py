"""Two models on the same labelled rows: which ranks better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam._utils.warnings import UnseenValues, warn
from vrspam.data import DataError
from vrspam.metrics import DeLongTest, delong_test, partial_auc_test
from vrspam.tool.evaluation import score_rows
from vrspam.tool.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Comparison(NamedTuple):
    """A paired test of two models, and the rows that it rests on.

    Attributes
    ----------
    test : DeLongTest
        First model minus second.
    positive : boolean array of n
    scores : pair of arrays of n

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import delong_test
    >>> from vrspam.tool import Comparison
    >>> positive, a, b = np.arange(8) > 3, np.arange(8.0), np.array([5.0, 2, 3, 6, 4, 1, 7, 8])
    >>> test, _, _ = comparison = Comparison(delong_test(positive, a, b), positive, (a, b))  # as from `compare`
    >>> test.auc_a, test.auc_b, comparison.partial_test(0.5).auc_a
    (1.0, 0.625, 1.0)
    """

    test: DeLongTest
    positive: np.ndarray
    scores: tuple[np.ndarray, np.ndarray]

    def partial_test(self, max_fpr: float) -> DeLongTest:
        """The paired test of the partial AUCs up to a false-positive rate, standardised."""
        return partial_auc_test(self.positive, *self.scores, max_fpr=max_fpr, confidence=self.test.confidence)


def compare(
    model_a: Model, model_b: Model, path: Any, *, confidence: float = 0.95, skip_errors: bool = False, **reading: Any
) -> Comparison:
    """Test whether one model ranks the same rows better than another, by DeLong's paired test.

    A warning names values that training has not seen.

    Parameters
    ----------
    model_a, model_b : Model
        Trained for the same target; they may use different columns of the file.
    path : path, directory, pattern or list of paths
        A labelled file, see `score_file`.
    confidence : float in (0, 1), default=0.95
        Of the interval of the difference between the AUCs.
    skip_errors : bool, default=False
        Leave out rows that cannot be read, instead of refusing the file.
    **reading
        As in `score_file`.

    Returns
    -------
    Comparison
        `test`, `positive` and `scores`, which can be unpacked; `partial_test(max_fpr)` compares the partial AUCs.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import compare, train
    >>> path, new = (f"{tempfile.mkdtemp()}/cells.csv" for _ in range(2))
    >>> cells = load_breast_cancer(as_frame=True).frame[["mean radius", "mean texture", "target"]]
    >>> cells[::2].to_csv(path, index=False), cells[1::2].to_csv(new, index=False)
    (None, None)
    >>> models = [train(path, "target", features="linear", drop=[f"mean {name}"]) for name in ("texture", "radius")]
    >>> test = compare(*models, new).test
    >>> print(f"radius alone {test.auc_a:.2f}, texture alone {test.auc_b:.2f}, different: {test.p_value < 0.05}")
    radius alone 0.9..., texture alone 0.7..., different: True
    """
    found = [score_rows(model, path, skip_errors=skip_errors, **reading) for model in (model_a, model_b)]
    (labels_a, a), (labels_b, b) = ((rows.positive, rows.scores) for rows in found)
    if not np.array_equal(labels_a, labels_b):
        raise DataError(
            "the two models do not agree on which rows are positive: they were trained for different labels"
            + (", or skipped different rows" if skip_errors else "")
        )
    if notes := tuple(dict.fromkeys(note for rows in found for note in rows.notes)):
        warn(UnseenValues(notes))
    return Comparison(delong_test(labels_a, a, b, confidence=confidence), labels_a, (a, b))


def comparison_picture(positive: np.ndarray, scores: Mapping[str, np.ndarray], max_fpr: float | None = None) -> Figure:
    """Both ROC curves, and both curves of precision and recall."""
    from vrspam.plotting import plot_precision_recall, plot_roc
    from vrspam.plotting.style import new_figure

    figure, axes = new_figure(1, 2, (10.4, 4.9))
    plot_roc(positive, scores, max_fpr=max_fpr, ax=axes[0, 0])
    plot_precision_recall(positive, scores, ax=axes[0, 1])
    return figure
