"""Depthwise and Lossguide trees with CatBoost's random numbers.

Columns are drawn for each level of a Depthwise tree, even below its last split, and for each pair
of leaves of a Lossguide tree. A seed and normal numbers are drawn for each leaf; of two siblings
first for the one whose histogram is summed.
"""

import numpy as np

from algorithms.parity.catboost_leafwise import CatBoostLeafwiseGrower
from algorithms.parity.catboost_random import WORDS, SampledLevels
from algorithms.parity.kernels.catboost_scores import scan_noisy_floats
from algorithms.symmetric.grower import SCORES
from algorithms.symmetric.leafwise_grower import LEAST_GAIN, ONE_SCAN


class SampledCatBoostLeafwiseGrower(SampledLevels, CatBoostLeafwiseGrower):
    """Grower of CatBoost's trees that are not symmetric, with sampled rows and noise."""

    @property
    def keeps_histograms(self):
        """Whether the histograms of leaves are kept for subtraction."""
        return self.n_outputs == 1 and self.params.rsm == 1.0

    @property
    def is_by_level(self):
        """Whether all leaves of a level are split together."""
        return self.params.grow_policy == "Depthwise"

    def grow_sample(self, g, weight, rows, l2, noise):
        """Return the `GrownNodes`; parameters are those of `SampledCatBoostGrower.grow_sample`."""
        self._load(g, weight, None)
        self.l2 = l2
        if self.is_by_level or len(rows) >= self.params.min_data_in_leaf:
            self.masks = self._draw_masks()
        return self._finish(self._find_splits(rows, None, noise, None))

    def _grow_by_level(self, root):
        """Split all leaves, level by level."""
        level = [root]
        for depth in range(1, self.depth + 1):
            self.workers.check()
            if depth < self.depth:
                self.masks = self._draw_masks()
            pairs = [(one, *self._split(one)) for one in level if one.gain >= LEAST_GAIN]
            level = []
            for parent, *children in pairs:
                self._search(parent, *children)
                level += children

    def _evaluate(self, parent, left, right):
        """Find the best splits of both children of a node, and yield them."""
        self._search(parent, left, right)
        yield left, right

    def _search(self, parent, left, right):
        """Find the best split of both children of a node."""
        planes, parent.planes = parent.planes, None
        open_leaves = [one for one in (left, right) if self._may_split(one)]
        if open_leaves and not self.is_by_level:
            self.masks = self._draw_masks()
        is_subtracted = len(open_leaves) == 2 and planes is not None
        if is_subtracted and len(left.rows) > len(right.rows):
            open_leaves.reverse()
        for number, leaf in enumerate(open_leaves):
            if is_subtracted and number == 1:
                planes -= open_leaves[0].planes
                leaf.planes = planes
            else:
                self._build_histogram(leaf)
            self._find_best_split(leaf)

    def _find_best_split(self, leaf):
        """Find the best split of a leaf and its gain."""
        self.searches += 1
        seeds, usable = self._draw_seeds(self.masks), np.flatnonzero(self.masks)
        if not len(usable):
            return
        kind = SCORES[self.params.score_function]

        def scan(first, last):
            scan_noisy_floats(
                leaf.planes, 1, self.n_splits, self.is_pack, self.masks, first, last, self.stride,
                self.l2, kind, self.noise, seeds, np.empty(WORDS, np.uint64),
                np.empty((2, self.stride)), self.best_score, self.best_bin,
            )  # fmt: skip

        self._share(ONE_SCAN * len(self.features), scan)
        scores = self.best_score[usable] + self.random.normals(len(usable)) * self.noise
        gains = scores - self._score_unsplit(leaf)
        at = int(gains.argmax())
        leaf.split, leaf.gain = self._split_of(int(usable[at])), float(gains[at])
        if not self.keeps_histograms:
            leaf.planes = None
