"""Growth of trees with ``grow_policy`` Depthwise and Lossguide on tables with categorical columns.

The candidates of each leaf are the numeric columns, the one-hot columns and the target statistics
of single columns. As in CatBoost, such trees have no combinations of columns.
"""

import numpy as np

from algorithms.gbdt.sampling import seed_of
from algorithms.symmetric.category_grower import PERMUTATION, CategoryGrower
from algorithms.symmetric.feature_penalties import columns_of_split
from algorithms.symmetric.leafwise_grower import LeafwiseGrower, follow_nodes
from algorithms.symmetric.tree_split import GrownCategoricalNodes


class CategoricalNodes:
    """Mixin of leaf-wise growers whose nodes are numbers of ``self.splits``, a list of TreeSplit.

    A statistic counts as used when a leaf is split by it, not when the split is found.
    """

    splits = ()  # if no column is usable

    def _split(self, leaf):
        """Split a leaf; return its children."""
        self._mark_used(self.splits[leaf.split[0]])
        return super()._split(leaf)

    def _columns_of_split(self, f):
        """Return the columns of X of a split."""
        return columns_of_split(self.splits[f])

    def _add_split(self, split):
        """Add a `TreeSplit` of this tree; return its number and its bin."""
        self.splits.append(split)
        return len(self.splits) - 1, split.bin

    def _finish(self, nodes):
        """Return the `GrownCategoricalNodes` of some nodes."""
        grown = super()._finish(nodes)
        leaf_of = self._assign_rows(grown)
        return GrownCategoricalNodes(grown.nodes, leaf_of, self.splits)

    def _assign_rows(self, grown):
        """Return the leaf of each row in the model, uint16 (n_rows,)."""
        return grown.leaf_of


class LeafwiseCategoryGrower(CategoricalNodes, LeafwiseGrower, CategoryGrower):
    """Grower with exact integer histograms; parameters are those of `CategoryGrower`."""

    def _find_splits(self, rows, usable, noise, seed):
        """Return the nodes of a tree, list of [split, bin, left child, right child]."""
        self.permutation = seed_of(seed, PERMUTATION) % max(len(self.tables) - 1, 1)
        self.table, self.splits = self.tables[self.permutation], []
        return super()._find_splits(rows, usable, noise, seed)

    def _column(self, f):
        """Return the bins of a split's column, uint8 (n_rows,)."""
        return self.splits[f].column

    def _choose(self, scores, unsplit):
        """Return the best split of a leaf and its gain; parameters are those of the base class."""
        factors = self._model_size_factors(self.levels[self.usable], self.is_exempt[self.usable])
        gains = self._penalized(self.usable, scores) * factors - unsplit
        at = int(self._weighted(self.usable, gains).argmax())
        f = int(self.usable[at])
        split = self.make_split(f, int(self.best_bin[f]), self.table.columns[f])
        return self._add_split(split), float(gains[at])

    def _assign_rows(self, grown):
        """Return the leaf of each row by the statistics of the last permutation."""
        last = len(self.tables) - 1
        if not len(grown.nodes) or self.permutation == last:
            return grown.leaf_of
        leaf_of = np.empty_like(grown.leaf_of)

        def column_of(number):
            return self._leaf_column(self.splits[number], last)

        follow_nodes(grown.nodes.tolist(), column_of, np.arange(len(leaf_of)), leaf_of)
        return leaf_of
