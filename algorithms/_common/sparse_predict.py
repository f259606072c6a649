"""Rows of sparse X for a predictor: of the columns alone that some node asks for."""

from dataclasses import replace

import numpy as np

from algorithms._common.threads import Workers
from algorithms._kernels.sparse_rows import wipe_rows, write_rows

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
    return replace(ensemble, feature=feature, n_features=len(asked) + 1), place


def each_block(X, place, absent, threads, task):
    """Call ``task(rows, dense)`` for blocks of rows, side by side.

    Parameters
    ----------
    X : CSR (n_rows, n_columns), without entries that stand twice
    place : of `narrowed`
    absent : what an entry that X omits stands for
    task : callable, given a slice of rows and these rows, float64 and C-contiguous, its to read
        until it ends
    """
    n_rows, width = X.shape[0], int(place.max(initial=-1)) + 1
    step = max(1, min(n_rows, VALUES // width))
    at = X.indptr, X.indices

    def walk(first, last):
        dense = np.full((step, width), absent, np.float64)  # else the walks are compiled twice
        for start in range(first * step, min(last * step, n_rows), step):
            end = min(start + step, n_rows)
            write_rows(*at, X.data, place, dense, start, end)
            task(slice(start, end), dense[: end - start])
            wipe_rows(*at, absent, place, dense, start, end)

    with Workers(threads) as workers:
        workers.share(walk, -(-n_rows // step))
