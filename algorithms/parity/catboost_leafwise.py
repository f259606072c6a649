"""Growth of CatBoost's trees with ``grow_policy`` Depthwise and Lossguide.

Of two children that may be split, the smaller one is summed and the other one is the difference to
their parent. With several scores both are summed. The score of a leaf without a split comes from
blocks of rows; their size is that of CatBoost on one thread.
"""

import numpy as np

from algorithms.parity.catboost_grower import NO_NOISE, CatBoostGrower
from algorithms.parity.kernels.catboost_scores import build_float_level
from algorithms.symmetric.grower import SCORES
from algorithms.symmetric.leafwise_grower import LeafwiseGrower, leaf_score

MIN_BLOCK = 1000  # rows of a block


class CatBoostLeafwiseGrower(LeafwiseGrower, CatBoostGrower):
    """Grower with float64 histograms, summed in CatBoost's order."""

    dtype = np.float64

    def _make_histograms(self):
        """Set the shape of the histograms."""
        self._list_features()
        self.plane_shape = 1, self.n_outputs, 2, len(self.static) * self.stride

    @property
    def keeps_histograms(self):
        """Whether the histograms of leaves are kept for subtraction: with one score."""
        return self.n_outputs == 1

    def _split_of(self, candidate):
        """Return the column and the bin of the best split of a candidate."""
        return super(LeafwiseGrower, self)._split_of(candidate)

    def _build_features(self, leaf, ends, first, last):
        """Build the histogram of a leaf for the candidates first … last − 1."""
        build_float_level(
            self.static.rows, self.g, self.weight, leaf.rows, np.zeros(1, np.int64), ends, 0, False,
            first, last, self.stride, leaf.planes,
        )  # fmt: skip

    def _scan(self, planes, _seed, first, last):
        """Find the best split of the candidates first … last − 1 of a leaf."""
        self._scan_static(planes, 1, self.static.arrays, NO_NOISE, first, last)

    def _score_unsplit(self, leaf):
        """Return the score of a leaf without a split; the derivatives of all scores are added."""
        block = max(-(-len(leaf.rows) // 2), MIN_BLOCK)
        sums = np.zeros(2)
        for first in range(0, len(leaf.rows), block):
            rows = leaf.rows[first : first + block]
            g = np.cumsum(self.g[:, rows])[-1]
            w = np.cumsum(self.weight[rows], dtype=np.float64)[-1] if len(self.weight) else 0.0
            sums += g, w if len(self.weight) else len(rows)
        return leaf_score(sums[None], self.l2, SCORES[self.params.score_function])
