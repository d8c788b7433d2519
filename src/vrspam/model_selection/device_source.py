"""Folds of rows on a device, as cross-validation takes them: moments, scores and held-out rows stay there."""

from vrspam._utils import array_api
from vrspam.model_selection.device_folds import DeviceFolds
from vrspam.model_selection.folds import Split
from vrspam.model_selection.sources import KEPT_BYTES, RowsInMemory
from vrspam.moments import ClassMoments
from vrspam.pairs import SQUARED
from vrspam.solvers import SolverName


class RowsOnDevice(RowsInMemory):
    """Folds that partition all rows on a device: moments, scores and held-out rows stay there."""

    mapped, on_device, loss, _adds = False, True, SQUARED, True
    solver: SolverName = "moments"
    _in_turn, _block_bytes = True, array_api.BLOCK_BYTES

    def __init__(self, folds: DeviceFolds):
        self.folds, self.n_folds = folds, folds.n_folds
        self.rows, self.like, self.is_positive = folds.rows, folds.rows.X, folds.positive
        d, every = self.like.shape[1], list(range(self.n_folds))
        self.splits = [Split(folds.order, folds.held_out(fold)) for fold in every]
        self._validation = []
        if self.n_folds * 16 * d * d <= KEPT_BYTES:
            parts = folds.moments([[fold] for fold in every])
            self._validation = [*parts]
            self._total = sum(parts[1:], parts[0])
        else:
            (self._total,) = folds.moments([every])
        self.total = self._total

    def training_moments(self, fold: int) -> ClassMoments:
        """The moments of all rows minus those of the rows that the fold holds out."""
        (held_out,) = self._validation[fold : fold + 1] or self.folds.moments([[fold]])
        moments: ClassMoments = self._total - held_out
        if moments.has_cancelled:
            (moments,) = self.folds.moments([[other for other in range(self.n_folds) if other != fold]])
        return moments
