"""Rows of sparse X for a predictor: of the columns alone that some node asks for."""

from dataclasses import replace

import numpy as np

from algorithms.prediction.kernels.sparse_rows import wipe_rows, write_rows
from algorithms.runtime.threads import Workers

VALUES = 1 << 17  # that are dense at once, for each thread: a second-level cache


def narrowed(ensemble):
    """Return an ensemble that asks the same of fewer columns, and where these are.

    Returns
    -------
    ensemble : harness.TreeEnsemble
    place : (n_features,) int32, which of its columns each one is; all that no node asks for are
        the last
    """
    inner = ensemble.left >= 0
    asked = np.unique(ensemble.feature[inner])
    place = np.full(ensemble.n_features, len(asked), np.int32)
    place[asked] = np.arange(len(asked))
    feature = np.full(ensemble.n_nodes, -1, np.int32)
    feature[inner] = place[ensemble.feature[inner]]
    return replace(ensemble, feature=feature, n_features=width_of(place)), place


def width_of(place):
    """Return how many columns there are where each feature has a place."""
    return int(place.max(initial=-1)) + 1


class AskedColumns:
    """Lays out rows of CSR X, without entries that stand twice, for a predictor.

    Parameters
    ----------
    place : of `narrowed`
    absent : "zero" or "nan", what entries that X omits stand for
    """

    def __init__(self, place, absent):
        self.place, self.width = place, width_of(place)
        self.absent = np.nan if absent == "nan" else 0.0

    def is_one_block(self, X):
        """Return whether all rows are few enough to be dense at once."""
        return X.shape[0] * self.width <= VALUES

    def lay_out(self, X):
        """Return all rows, of the asked columns, float64 (n_rows, width), C-contiguous."""
        n_rows = X.shape[0]
        dense = np.empty((n_rows, self.width))
        dense.fill(self.absent)
        values = X.indptr, X.indices, X.data
        write_rows(*values, self.place, dense.reshape(-1), self.width, 1, 0, n_rows)
        return dense

    def each_block(self, X, threads, task, block=1):
        """Call ``task(rows, laid)`` for some rows after the other, side by side.

        Parameters
        ----------
        X : CSR (n_rows, n_columns)
        task : callable, given a slice of rows and these rows, float64 (n · width,), its to read
            until it ends
        block : of how many rows each column's values lie together; 1: rows lie one by one
        """
        n_rows, place, width = X.shape[0], self.place, self.width
        step = max(1, min(-(-n_rows // block), VALUES // (width * block))) * block
        at = X.indptr, X.indices

        def walk(first, last):
            laid = np.full(step * width, self.absent)  # float64: else walks compile twice
            for start in range(first * step, min(last * step, n_rows), step):
                workers.check()
                where = place, laid, width, block, start, min(start + step, n_rows)
                write_rows(*at, X.data, *where)
                task(slice(*where[-2:]), laid)
                wipe_rows(*at, self.absent, *where)

        with Workers(threads) as workers:
            workers.share(walk, -(-n_rows // step))
