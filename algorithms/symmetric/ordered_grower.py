"""Growth of a symmetric tree on the segments of a permutation."""

import numpy as np

from algorithms.symmetric.grower import (
    SCORES,
    SymmetricGrower,
    quantiles_of,
)
from algorithms.symmetric.kernels.segment_scores import (
    Candidates,
    LeafRows,
    Scoring,
    SegmentRows,
    scan_segments,
)

FEW_HISTOGRAMS = 640  # leaves × scores × segments below which histograms are kept, as in CatBoost
MOST_KEPT = 1 << 27  # numbers in kept histograms


class SegmentHistograms:
    """Mixin of growers: float64 histograms of segments.

    A histogram is summed by one thread in the order of the rows, so the result does not depend on
    the number of threads. `start_tree` must be called before `grow`.
    """

    most_kept = MOST_KEPT

    def _make_histograms(self):
        """Leave the allocation to `start_tree`: the size depends on the number of segments."""
        self.planes = None

    def start_tree(self, fold, l2):
        """Set the fold on which the next tree is grown.

        Parameters
        ----------
        fold : Fold
        l2 : float64 (n_segments,), λ′ of each body
        """
        self.fold, self.segment_l2 = fold, l2
        if self.planes is None:
            self._make_planes(len(l2))

    def _make_planes(self, n_segments):
        """Allocate the histograms."""
        count, n_slots = (1 << self.depth) * self.n_outputs * n_segments, 1 << (self.depth - 1)
        columns, n_splits, is_pack = self._candidates()
        widths = np.where(is_pack, 1 << np.minimum(n_splits, 8), n_splits + 1)
        self.stride = int(widths.max(initial=1))
        self.candidates = Candidates(columns, n_splits, is_pack)
        last = len(columns), 4, self.stride
        kept = n_slots, n_segments, self.n_outputs, *last
        self.keeps = count < FEW_HISTOGRAMS and np.prod(kept, dtype=float) < self.most_kept
        self.planes = np.empty(kept if self.keeps else (1, 1, 1, *last))

    def _candidates(self):
        """Return the columns, their numbers of splits, and whether they are packs."""
        n_splits = self.n_bins - 1
        return self.table.columns, n_splits, np.zeros(len(n_splits), bool)

    def grow(self, g, weight, _l2, noise, seed):
        """Return the `GrownTree` for derivatives of −loss.

        Parameters
        ----------
        g : float64 (n_scores, n_entries), times the weights
        weight : float32 (n_entries,), or (0,) if all are 1
        noise : float, standard deviation of the noise of a score
        seed : int
        """
        self.segment_rows = SegmentRows(
            self.fold.position, self.fold.segments, self.segment_l2, g, weight
        )
        usable = self._draw_features(seed)
        if not len(usable):
            return self._finish([])
        return self._finish(self._find_splits_by_level(self.fold.order.copy(), usable, noise, seed))

    def _scan_level(self, groups, noise, seed):
        """Build the histograms of a level, and find the best split of each candidate."""
        leaves, half = groups.n_leaves, groups.n_leaves // 2
        sizes = groups.ends[:leaves] - groups.starts[:leaves]
        side = int(2 * int(sizes[half:].sum()) <= int(sizes.sum()))
        side = side if self.keeps and half else -1
        leaf_rows = LeafRows(groups.rows, groups.starts, groups.ends)
        kind = SCORES[self.params.score_function]
        scoring = Scoring(kind, quantiles_of(noise), np.uint32(seed), self.stride)

        def scan(first, last):
            scan_segments(
                self.candidates, leaf_rows, self.segment_rows, scoring, leaves, side, self.planes,
                first, last, np.empty((2, self.stride)), self.best_score, self.best_bin,
            )  # fmt: skip

        self.workers.share(scan, len(self.features))


class OrderedGrower(SegmentHistograms, SymmetricGrower):
    """Grower of ordered boosting without parity."""
