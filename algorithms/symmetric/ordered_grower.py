"""Growth of a symmetric tree on the segments of a permutation."""

import numpy as np

from algorithms.symmetric.grower import (
    SCORES,
    SymmetricGrower,
    quantiles_of,
)
from algorithms.symmetric.kernels.segment_scores import (
    FLOATS,
    NO_PARTS,
    Candidates,
    LeafRows,
    Scoring,
    SegmentRows,
    scan_segments,
)

FEW_HISTOGRAMS = 640  # leaves × scores × segments below which histograms are kept, as in CatBoost
MAX_KEPT = 1 << 27  # numbers in kept histograms


class SegmentScan:
    """Histograms and best splits of some candidates.

    A histogram is summed by one thread in the order of the rows, so the result does not depend on
    the number of threads.

    Parameters
    ----------
    widths : int64 (n_candidates,), bins of each candidate
    grower : SegmentHistograms
    """

    def __init__(self, widths, grower):
        self.grower = grower
        n_segments, n_outputs = len(grower.segment_l2), grower.n_outputs
        count, n_slots = (1 << grower.depth) * n_outputs * n_segments, 1 << (grower.depth - 1)
        self.stride = int(widths.max(initial=1))
        last = len(widths), 4, self.stride
        kept = n_slots, n_segments, n_outputs, *last
        self.keeps = count < FEW_HISTOGRAMS and np.prod(kept, dtype=float) < grower.most_kept
        self.planes = np.empty(kept if self.keeps else (1, 1, 1, *last))
        self.best_score = np.empty(len(widths))
        self.best_split = np.empty(len(widths), np.int64)
        self.is_new = True

    def scan(self, candidates, groups, scoring, span):
        """Build the histograms of a level, and find the best split of each candidate.

        Parameters
        ----------
        candidates : Candidates
        groups : RowGroups
        scoring : (kind, quantiles of the noise, seed)
        span : range of candidates
        """
        leaves, half = groups.n_leaves, groups.n_leaves // 2
        sizes = groups.ends[:leaves] - groups.starts[:leaves]
        side = int(2 * int(sizes[half:].sum()) <= int(sizes.sum()))
        side = side if self.keeps and half and not self.is_new else -1
        leaf_rows = LeafRows(groups.rows, groups.starts, groups.ends)
        scan_segments(
            candidates, leaf_rows, self.grower.segment_rows, Scoring(*scoring, self.stride),
            leaves, side, self.planes, *span, np.empty((2, self.stride)), self.best_score,
            self.best_split,
        )  # fmt: skip


class SegmentHistograms:
    """Mixin of growers: float64 histograms of segments.

    `start_tree` must be called before `grow`.
    """

    most_kept = MAX_KEPT
    segment_scan = None

    def _make_histograms(self):
        """Leave the allocation to `start_tree`: the size depends on the number of segments."""

    def start_tree(self, number, fold, l2):
        """Set the fold on which the next tree is grown.

        Parameters
        ----------
        number : int, number of the fold
        fold : Fold
        l2 : float64 (n_segments,), λ′ of each body
        """
        self.fold_number, self.fold, self.segment_l2 = number, fold, l2
        self.static_candidates = self._candidates()
        if self.segment_scan is None:
            self.segment_scan = SegmentScan(self._widths(), self)

    def _candidates(self):
        """Return the `Candidates` of this fold that are the same at all levels."""
        return numeric_candidates(self.table.columns, self.n_bins - 1)

    def _widths(self):
        """Return the number of bins of each static candidate, int64."""
        return self.static_candidates.n_splits + 1

    def leaves_in(self, grown, _number):
        """Return the leaf of each row in a fold, uint16 (n_rows,): the same one in all folds."""
        return grown.leaf_of

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
        usable = self.draw_features(seed)
        if not len(usable):
            return self._finish([])
        return self._finish(self._find_splits_by_level(self.fold.order.copy(), usable, noise, seed))

    def _scan_level(self, groups, noise, seed):
        """Build the histograms of a level, and find the best split of each candidate."""
        scoring = SCORES[self.params.score_function], quantiles_of(noise), np.uint32(seed)

        def scan(first, last):
            self.segment_scan.scan(self.static_candidates, groups, scoring, (first, last))

        self.workers.share(scan, len(self.static_candidates.n_splits))
        self.segment_scan.is_new = False
        self.best_score, self.best_bin = self.segment_scan.best_score, self.segment_scan.best_split


class OrderedGrower(SegmentHistograms, SymmetricGrower):
    """Grower of ordered boosting without parity."""


def numeric_candidates(columns, n_splits):
    """Return the `Candidates` of columns with borders.

    Parameters
    ----------
    columns : uint8 (n_candidates, n_rows), bins
    n_splits : int64 (n_candidates,)
    """
    kinds, masks = np.full(len(n_splits), FLOATS, np.int8), np.ones(len(n_splits), np.int64)
    return Candidates(columns, n_splits, kinds, masks, NO_PARTS)
