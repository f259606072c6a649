"""Predict with any `harness.TreeEnsemble` whose rules a fast walk can hold."""

import numpy as np

from algorithms._common.threads import Workers
from algorithms._kernels.hist_predict import (
    BLOCK,
    IS_SET,
    MEMBERS_LEFT,
    MISSING_LEFT,
    STEP,
    add_trees,
)

NAN = 1  # harness.Missing.NAN
FEW_STEPS = 1 << 17  # rows × trees below which threads cost more than they bring


class FastPredictor:
    """The trees of an ensemble, packed for the walk.

    Raises
    ------
    ValueError
        Where the ensemble reads values by rules that the walk does not have: zeros as missing
        ones, sums in float32, or members that vote.
    """

    def __init__(self, ensemble):
        odd = ensemble.combination != "sum" or ensemble.sum_dtype != "float64"
        if odd or ensemble.zero_within or (ensemble.missing > NAN).any():
            raise ValueError("these trees are not walked fast: use the ensemble's own predict")
        self.base = ensemble.base
        self.roots = ensemble.offsets[:-1].astype(np.int64)
        self.values = np.ascontiguousarray(ensemble.value)
        self.weight = ensemble.weight
        self.output = ensemble.output.astype(np.int64)
        self.dtype = np.dtype(ensemble.input_dtype)
        self.steps, self.bits = pack_steps(ensemble)

    def raw(self, X, threads=1, trees=slice(None)):
        """Return the raw scores, float64 (n_rows, n_scores).

        Parameters
        ----------
        X : (n_rows, n_features) float array, C-contiguous, NaN where missing
        threads : int
        trees : slice of trees to add up
        """
        out = np.empty((X.shape[0], len(self.base)))
        out[:] = self.base
        self.add(X, out, threads, trees)
        return out

    def add(self, X, out, threads=1, trees=slice(None)):
        """Add the scores of some trees to ``out``."""
        roots, weight, output = self.roots[trees], self.weight[trees], self.output[trees]
        n_rows = X.shape[0]
        if n_rows * len(roots) < FEW_STEPS:
            threads = 1

        def share(first, last):
            at = np.empty(BLOCK, np.int64)
            stop = min(last * BLOCK, n_rows)
            add_trees(
                self.steps,
                self.bits,
                roots,
                self.values,
                weight,
                output,
                X,
                at,
                out,
                first * BLOCK,
                stop,
            )

        with Workers(threads) as workers:
            workers.share(share, -(-n_rows // BLOCK))


def pack_steps(ensemble):
    """Return an ensemble's nodes as STEP, and the words of its category sets."""
    inner = ensemble.left >= 0
    here = np.arange(ensemble.n_nodes)
    steps = np.zeros(ensemble.n_nodes, STEP)
    most = ensemble.threshold  # x < t where x is at most the number before t
    most = np.nextafter(most, -np.inf) if ensemble.comparison == "<" else most
    steps["threshold"] = np.where(inner, most, np.inf)
    steps["feature"] = np.where(inner, ensemble.feature, 0)
    steps["left"] = np.where(inner, ensemble.left, here)
    steps["right"] = np.where(inner, ensemble.right, here)
    to_left = ensemble.default_left & (ensemble.missing == NAN)
    steps["kind"] = MISSING_LEFT * to_left
    words, total = [], 0
    for node in np.flatnonzero(ensemble.categories >= 0):
        k = ensemble.categories[node]
        codes = ensemble.set_codes[ensemble.set_indptr[k] : ensemble.set_indptr[k + 1]]
        own = np.zeros(int(codes.max(initial=-1)) // 64 + 1, np.uint64)
        np.bitwise_or.at(own, codes // 64, np.uint64(1) << (codes % 64).astype(np.uint64))
        steps["threshold"][node], steps["words"][node] = total, len(own)
        steps["kind"][node] |= IS_SET + MEMBERS_LEFT * bool(ensemble.members_left[k])
        words.append(own)
        total += len(own)
    return steps, np.concatenate([*words, np.empty(0, np.uint64)])
