"""Growth of the trees that CatBoost grows, by its order of summation and its rules for ties."""

from dataclasses import replace

import numpy as np

from algorithms.parity.kernels.catboost_scores import build_float_level, scan_floats
from algorithms.symmetric.grower import SCORES, SymmetricGrower

PACK = 8  # columns with one border in a pack


class CatBoostGrower(SymmetricGrower):
    """Grower with float64 histograms, summed in CatBoost's order.

    Candidates are the columns with several borders, in order, and then packs of columns with one.
    """

    def __init__(self, params, table, n_outputs, workers):
        single = np.flatnonzero(table.n_bins == 2)
        several = np.flatnonzero(table.n_bins > 2)
        self.packs = [single[i : i + PACK] for i in range(0, len(single), PACK)]
        self.several = several
        packed = [pack_bits(table.columns[pack]) for pack in self.packs]
        columns = np.array([*table.columns[several], *packed], np.uint8)
        columns = columns.reshape(-1, table.columns.shape[1])
        self.n_splits = np.array(
            [*(table.n_bins[several] - 1), *(len(pack) for pack in self.packs)], np.int64
        )
        self.is_pack = np.arange(len(columns)) >= len(several)
        self.original = table
        rows = np.ascontiguousarray(columns.T)
        super().__init__(params, replace(table, rows=rows, columns=columns), n_outputs, workers)

    def _make_histograms(self):
        """Allocate the histograms."""
        n_used = len(self.n_splits)
        self.stride = self._find_stride()
        self.features = np.arange(n_used)
        n_slots = 1 << max(self.depth - 1, 0)
        self.planes = np.empty((n_slots, self.n_outputs, 2, n_used * self.stride))

    def _find_stride(self):
        """Return the number of entries of a candidate in a histogram."""
        widths = np.where(self.is_pack, 1 << np.minimum(self.n_splits, PACK), self.n_splits + 1)
        return int(widths.max(initial=1))

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
        kind = SCORES[self.params.score_function]

        def scan(first, last):
            build_float_level(
                self.table.rows, self.g, self.weight, groups.rows, groups.starts, groups.ends,
                n_before, is_true, first, last, self.stride, self.planes,
            )  # fmt: skip
            scan_floats(
                self.planes, leaves, self.n_splits, self.is_pack, first, last, self.stride,
                self.l2, kind, np.empty((2, self.stride)), self.best_score, self.best_bin,
            )  # fmt: skip

        self.workers.share(scan, len(self.features))

    def _best(self, usable, _noise, _seed):
        """Return the column and the bin of the best split."""
        gain = self.best_score[usable] - self.before
        candidate = int(usable[gain.argmax()])
        self.before = self.best_score[candidate]
        return self._split_of(candidate)

    def _split_of(self, candidate):
        """Return the column and the bin of the best split of a candidate."""
        split = int(self.best_bin[candidate])
        if self.is_pack[candidate]:
            pack = self.packs[candidate - len(self.several)]
            return int(pack[split]), 0
        return int(self.several[candidate]), split

    def _column(self, f):
        """Return the bins of a column, uint8 (n_rows,)."""
        return self.original.columns[f]

    def grow(self, g, weight, l2, noise, seed):
        """Return the `GrownTree`; parameters are those of `SymmetricGrower.grow`."""
        self.before = 0.0
        return super().grow(g, weight, l2, noise, seed)

    def _finish(self, splits):
        """Return the `GrownTree` of some splits, by columns of the original table."""
        packed, self.table = self.table, self.original
        grown = super()._finish(splits)
        self.table = packed
        return grown


def pack_bits(columns):
    """Return columns of 0 and 1 as the bits of one column, the first one lowest."""
    bits = np.arange(len(columns), dtype=np.uint8)[:, None]
    return np.bitwise_or.reduce(columns << bits, axis=0)
