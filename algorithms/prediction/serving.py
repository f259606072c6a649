"""Fast prediction with a model of any library: `serve` and `Predictor`."""

import numpy as np

from algorithms.prediction.predictor import FastPredictor
from algorithms.runtime.threads import count_threads
from harness import TreeEnsemble

FLOATS = (np.float32, np.float64)


def serve(ensemble, *, n_jobs=None):
    """Return a `Predictor` of the trees of a model.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
        Trees of any library: a fitted estimator's ``ensemble_``, or the result of `trees_of` or
        `read_model`.
    n_jobs : int, optional
        Number of threads; None means one, -1 one per core.

    Raises
    ------
    TypeError
        If it is not a TreeEnsemble.

    Examples
    --------
    >>> serve(read_model("xgboost.json")).predict(X)  # doctest: +SKIP
    """
    if not isinstance(ensemble, TreeEnsemble):
        raise TypeError(
            f"serve takes a TreeEnsemble, not a {type(ensemble).__name__}: give a fitted "
            "estimator's ensemble_, or read the file that a library saved with read_model, or take "
            "the trees out of its model with trees_of"
        )
    return Predictor(ensemble, n_jobs=n_jobs)


class Predictor:
    """Compiled predictor with bitwise the same results as the ensemble.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    n_jobs : int, optional
    """

    def __init__(self, ensemble, *, n_jobs=None):
        self.ensemble = ensemble
        self.threads = count_threads(n_jobs)
        self._walker = FastPredictor(ensemble)
        self._walker.packed  # noqa: B018 - packs the trees now, not at the first prediction

    def raw(self, X):
        """Return scores before the link, (n_rows, n_outputs) in the ensemble's ``sum_dtype``.

        Parameters
        ----------
        X
            Array (n_rows, n_features), NaN or the ensemble's ``missing_value`` where missing:
            float32 and float64 are read without a copy. Or a frame, whose ``category`` columns are
            read as codes, or a sparse matrix.

        Raises
        ------
        HarnessError
            If X has another number of columns than the training data.
        """
        is_plain = type(X) is np.ndarray and X.dtype in FLOATS and np.isnan(self._missing)
        if is_plain and X.shape[1:] == (self._width,):
            return self._walker.raw(np.ascontiguousarray(X), self.threads)
        parts = [self._walker.raw(part, self.threads) for _, part in self.ensemble.chunks(X)]
        none = np.empty((0, self.ensemble.n_outputs), self.ensemble.sum_dtype)
        return np.concatenate(parts) if parts else none

    def predict(self, X):
        """Return float64 values (n_rows,), or probabilities with one column per class."""
        return self.ensemble.from_raw(self.raw(X))

    @property
    def _missing(self):
        return self.ensemble.missing_value

    @property
    def _width(self):
        return self.ensemble.n_features
