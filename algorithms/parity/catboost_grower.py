"""Growth of the trees that CatBoost grows, by its order of summation and its rules for ties."""

from dataclasses import replace

import numpy as np

from algorithms.parity.catboost_candidates import StaticCandidates, numeric_sources
from algorithms.parity.catboost_generator import WORDS
from algorithms.parity.kernels.catboost_scores import Noise, build_float_level, scan_candidates
from algorithms.symmetric.grower import SCORES, SymmetricGrower

NO_NOISE = Noise(0.0, np.empty(0, np.uint64), np.empty(0, bool))


class CatBoostGrower(SymmetricGrower):
    """Grower with float64 histograms, summed in CatBoost's order."""

    def __init__(self, params, table, n_outputs, workers):
        self.original = table
        self.static = StaticCandidates(numeric_sources(table), table.rows.shape[0])
        columns = self.static.arrays.columns
        table = replace(table, rows=self.static.rows, columns=columns)
        super().__init__(params, table, n_outputs, workers)
        self.best_score.fill(-np.inf)

    def _make_histograms(self):
        """Allocate the histograms."""
        self._list_features()
        n_slots = 1 << max(self.depth - 1, 0)
        shape = n_slots, self.n_outputs, 2, len(self.static) * self.stride
        self.planes = np.empty(shape)

    def _list_features(self):
        """Set the numbers of the candidates, and the entries of each in a histogram."""
        self.stride = int(self.static.widths.max(initial=1))
        self.features = np.arange(len(self.static))

    def _load(self, g, weight, _seed):
        """Keep the derivatives and weights."""
        self.g, self.weight = g, weight

    def _find_splits(self, rows, usable, noise, seed):
        """Return the splits of a tree."""
        return self._find_splits_by_level(rows, usable, noise, seed)

    def _scan_level(self, groups, _noise, _seed):
        """Build the histograms of a level, and find the best split of each candidate."""
        n_before, leaves = groups.n_leaves // 2, groups.n_leaves
        sizes = groups.ends[:leaves] - groups.starts[:leaves]
        is_true = 2 * int(sizes[n_before:].sum()) <= int(sizes.sum())

        def scan(first, last):
            build_float_level(
                self.static.rows, self.g, self.weight, groups.rows, groups.starts, groups.ends,
                n_before, is_true, first, last, self.stride, self.planes,
            )  # fmt: skip
            self._scan_static(self.planes, leaves, self.static.arrays, NO_NOISE, first, last)

        self.workers.share(scan, len(self.features))

    def _scan_static(self, planes, n_leaves, candidates, noise, first, last):
        """Find the best splits of the candidates first … last − 1.

        Parameters
        ----------
        planes : float64 (n_leaves, n_outputs, 2, n_candidates · stride), histograms
        n_leaves : int
        candidates : Candidates
        noise : Noise
        """
        scan_candidates(
            planes, n_leaves, candidates, first, last, self.stride, self.l2,
            SCORES[self.params.score_function], noise, np.empty(WORDS, np.uint64),
            np.empty((2, self.stride)), self.best_score, self.best_bin,
        )  # fmt: skip

    def _best(self, usable, _noise, _seed):
        """Return the column and the bin of the best split."""
        scores = self._penalized(usable, self.best_score[usable])
        return self._split_of(int(usable[self._choose_gain(usable, scores)]))

    def _choose_gain(self, candidates, scores):
        """Return the place of the candidate whose score rises most."""
        if self.penalties is not None:
            return super()._choose_gain(candidates, scores)
        at = int((scores - self.before).argmax())
        self.before = scores[at]
        return at

    def _columns_of(self, candidates):
        """Return the column of X of each candidate's best split, int64 (n,)."""
        splits = [self.static.split_of(f, int(self.best_bin[f]))[0] for f in candidates.tolist()]
        return np.array([source.feature for source in splits], np.int64)

    def _split_of(self, candidate):
        """Return the column and the bin of the best split of a candidate."""
        source, split = self.static.split_of(candidate, int(self.best_bin[candidate]))
        return source.number, split

    def _column(self, f):
        """Return the bins of a column, uint8 (n_rows,)."""
        return self.original.columns[f]

    def grow(self, g, weight, l2, noise, seed):
        """Return the `GrownTree`; parameters are those of `SymmetricGrower.grow`."""
        self.before = 0.0
        return super().grow(g, weight, l2, noise, seed)

    def _finish(self, splits):
        """Return the `GrownTree` of some splits, by columns of the original table."""
        candidates, self.table = self.table, self.original
        grown = super()._finish(splits)
        self.table = candidates
        return grown
