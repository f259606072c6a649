"""Dense blocks of sparse X for a predictor, with the columns used by splits only."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from algorithms.prediction.kernels.sparse_rows import wipe_rows, write_rows
from algorithms.runtime.threads import Workers

VALUES = 1 << 17  # dense values per thread: a second-level cache


def narrowed(ensemble):
    """Return the same ensemble on the columns used by splits or linear leaves, and their positions.

    Returns
    -------
    ensemble : harness.TreeEnsemble
    place : (n_features,) int32, new column of each feature; all unused features share the last
        number
    """
    inner, linear = ensemble.left >= 0, ensemble.linear
    terms = np.empty(0, np.int32) if linear is None else linear.feature
    used = np.unique(np.concatenate([ensemble.feature[inner], terms]))
    place = np.full(ensemble.n_features, len(used), np.int32)
    place[used] = np.arange(len(used))
    feature = np.full(ensemble.n_nodes, -1, np.int32)
    feature[inner] = place[ensemble.feature[inner]]
    linear = None if linear is None else replace(linear, feature=place[linear.feature])
    narrow = replace(ensemble, feature=feature, n_features=width_of(place), linear=linear)
    return narrow, place


def width_of(place):
    """Return the number of columns for given places."""
    return int(place.max(initial=-1)) + 1


class UsedColumns:
    """Dense blocks of rows of CSR X, without duplicate entries, for a predictor.

    Parameters
    ----------
    place : as returned by `narrowed`
    absent : "zero" or "nan", the value of absent entries
    """

    def __init__(self, place, absent):
        self.place, self.width = place, width_of(place)
        self.absent = np.nan if absent == "nan" else 0.0

    @cached_property
    def columns(self):
        """Numbers of the used columns and of an unused one, if there is any; int64 (width,)."""
        return np.argsort(self.place, kind="stable")[: self.width]

    def is_one_block(self, X):
        """Return whether all rows fit in one dense block."""
        return X.shape[0] * self.width <= VALUES

    def lay_out(self, X):
        """Return all rows with the used columns, float64 (n_rows, width), C-contiguous."""
        n_rows = X.shape[0]
        dense = np.empty((n_rows, self.width))
        dense.fill(self.absent)
        values = X.indptr, X.indices, X.data
        write_rows(*values, self.place, dense.reshape(-1), self.width, 1, 0, n_rows)
        return dense

    def each_block(self, X, threads, task, block=1):
        """Call ``task(rows, dense)`` for each block of rows, on several threads.

        Parameters
        ----------
        X : CSR (n_rows, n_columns)
        task : callable, gets a slice of rows and their values, float64 (n · width,), valid during
            the call
        block : number of rows whose values of a column are contiguous; 1 means row-major order
        """
        n_rows, place, width = X.shape[0], self.place, self.width
        step = max(1, min(-(-n_rows // block), VALUES // (width * block))) * block
        at = X.indptr, X.indices

        def walk(first, last):
            dense = np.full(
                step * width, self.absent
            )  # float64, so that the kernels are compiled only once
            for start in range(first * step, min(last * step, n_rows), step):
                workers.check()
                where = place, dense, width, block, start, min(start + step, n_rows)
                write_rows(*at, X.data, *where)
                task(slice(*where[-2:]), dense)
                wipe_rows(*at, self.absent, *where)

        with Workers(threads) as workers:
            workers.share(walk, -(-n_rows // step))
