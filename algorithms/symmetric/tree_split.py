"""Splits of a tree by numeric or derived columns, before the tree is stored."""

from dataclasses import dataclass

import numpy as np

from algorithms.symmetric.derived_columns import Indicator
from algorithms.symmetric.grower import GrownTree
from algorithms.symmetric.leafwise_grower import GrownNodes
from algorithms.symmetric.target_statistics import Statistic


@dataclass(frozen=True)
class TreeSplit:
    """One split: bins of ``column`` above ``bin`` are on the true side."""

    column: np.ndarray | None  # uint8 (n_rows,); None in batches of rounds
    bin: int
    feature: object = None  # Indicator or Statistic; None for a numeric column
    numeric: tuple | None = None  # (column of X, border, whether missing values lie above)

    @property
    def is_indicator(self):
        """Whether it is a one-hot split."""
        return isinstance(self.feature, Indicator)

    @property
    def is_statistic(self):
        """Whether it is a split of a target statistic."""
        return isinstance(self.feature, Statistic)


def describe_splits(splits, table):
    """Return the column, the border and the side of missing values of each split.

    New derived columns of the table are numbered. The result is as in `GrownTree.describe`.

    Parameters
    ----------
    splits : list of TreeSplit
    table : CategoricalTable
    """
    described = []
    for split in splits:
        if split.numeric is not None:
            described.append(split.numeric)
        else:
            number = table.derived.number(split.feature)
            described.append((number, split.feature.border(split.bin), False))
    features, borders, nan_right = zip(*described, strict=True) if described else ((),) * 3
    return np.array(features, np.int64), np.array(borders, np.float32), np.array(nan_right, bool)


@dataclass(frozen=True)
class GrownCategoricalTree(GrownTree):
    """Splits by numeric and derived columns; ``features`` are 0 … depth − 1."""

    splits: list  # of TreeSplit

    def describe(self, table):
        """Return the column, the border and the side of missing values of each split.

        Parameters
        ----------
        table : CategoricalTable
        """
        return describe_splits(self.splits, table)


@dataclass(frozen=True)
class GrownCategoricalNodes(GrownNodes):
    """Nodes that split by numeric and derived columns; features are numbers of ``splits``."""

    splits: list  # of TreeSplit

    def describe(self, table):
        """Return the column, the border and the side of missing values of each node.

        Parameters
        ----------
        table : CategoricalTable
        """
        return describe_splits([self.splits[f] for f in self.nodes[:, 0]], table)
