"""Depthwise and Lossguide trees with CatBoost's random numbers.

Columns are drawn for each level of a Depthwise tree, even below its last split, and for each pair
of leaves of a Lossguide tree. A seed and normal numbers are drawn for each leaf; of two siblings
first for the one whose histogram is summed.
"""

from algorithms.parity.catboost_leafwise import CatBoostLeafwiseGrower
from algorithms.parity.catboost_random import SampledLevels
from algorithms.symmetric.leafwise_grower import MIN_GAIN, ONE_SCAN


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
            self._draw_candidates()
        return self._finish(self._find_splits(rows, None, noise, None))

    def _grow_by_level(self, root):
        """Split all leaves, level by level."""
        level = [root]
        for depth in range(1, self.depth + 1):
            self.workers.check()
            if depth < self.depth:
                self._draw_candidates()
            pairs = [(one, *self._split(one)) for one in level if one.gain >= MIN_GAIN]
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
            self._draw_candidates()
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
        seed, drawn = self.random.numbers(1)[0], self.drawn_numbers
        if not len(drawn):
            return
        noise = self._noise_of(seed)

        def scan(first, last):
            self._scan_static(leaf.planes, 1, self.drawn, noise, first, last)

        self._share(ONE_SCAN * len(self.features), scan)
        scores = self._penalized(drawn, self.best_score[drawn])
        scores = scores + self.random.normals(len(drawn)) * self.noise
        gains = scores - self._score_unsplit(leaf)
        at = int(self._weighted(drawn, gains).argmax())
        leaf.split, leaf.gain = self._split_of(int(drawn[at])), float(gains[at])
        if not self.keeps_histograms:
            leaf.planes = None
