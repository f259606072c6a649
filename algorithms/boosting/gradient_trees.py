"""Regression trees on gradients, all grown on columns that are sorted once."""

from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from algorithms.levelwise.grower import DEEPEST, LevelGrower
from algorithms.levelwise.kernels.level_arrays import Limits
from algorithms.trees.cart import count_features, make_rules
from algorithms.trees.categorical_growth import flag_codes
from algorithms.trees.grower import Target, draw_rows, grow_tree
from algorithms.trees.presorted_table import sort_table, unsorted_table
from algorithms.trees.pruning import prune
from algorithms.trees.target_scale import TargetScale
from algorithms.trees.tree import Tree

DEEPEST_CHOICE = 7  # maximum depth of a full tree from which the best leaves are chosen

SIDES = ("left", "right")


class TreeMaker:
    """Grows a sequence of regression trees on gradients divided by ``scale``.

    Trees grow level by level if all columns are searched. They grow node by node if columns are
    sampled or trees are deep. With ``as_library`` they grow by scikit-learn's rules.

    Parameters
    ----------
    model : DecisionTreeRegressor, unfitted, with the parameters of the trees
    X : (n_rows, n_features) array of numbers, NaN where missing; it must not change
    workers : Workers
    name : name of the ensemble, for error messages
    leaf_penalty : float, γ, in units of the squared error
    l2 : float, λ
    as_library : whether to build exactly scikit-learn's trees
    counts : (n_features,) int64, number of codes of each feature, 0 for a numeric one; None: all
        are numeric. With categorical features trees grow node by node.

    Raises
    ------
    ValueError
        If penalties are set for trees that do not support them.
    """

    def __init__(self, model, X, workers, name, *, leaf_penalty, l2, as_library, counts=None):
        self._model = model
        self._X = X
        self._workers = workers
        self._name = name
        self._leaf_penalty = leaf_penalty
        self._l2 = l2
        self._as_library = as_library
        self._columns = np.arange(X.shape[1])
        self._counts = counts
        self.depth = level_depth(model, X.shape[1]) if counts is None else 0
        self.grower = None
        self.scale = TargetScale()
        if self.depth and not as_library:
            self.grower = LevelGrower(X, workers, name)
        elif leaf_penalty or l2:
            raise ValueError(
                f"leaf_penalty and l2_regularization need max_depth of at most {DEEPEST} "
                f"({DEEPEST_CHOICE} with max_leaf_nodes), all features, no categories, and "
                "parity=None"
            )

    def grow(self, gradient, weight, used, seed):
        """Return a tree, and the leaf of every row, int (n_rows,).

        Parameters
        ----------
        gradient : (n_rows,) float64, contiguous
        weight : (n_rows,) float64, or None
        used : (n_rows,) bool, the training rows, or None
        seed : integer below 2³¹, for the order of features
        """
        target, rules = self._make_rules(gradient, weight, used)
        if self.grower is not None and rules.filtered:
            limits = self._make_limits(rules, weight, used)
            grown = self.grower.grow(target.y, weight, limits, self.depth, used)
            if rules.max_leaf_nodes:
                tree, leaf = choose_leaves(grown, rules.max_leaf_nodes, self._l2)
            else:
                tree, leaf = grown.tree(), grown.leaf
        else:
            tree = self._grow_nodes(target, rules, seed)
            leaf = None
        self.scale.restore(tree)
        if self._model.ccp_alpha > 0.0:
            tree, leaf = prune(tree, self._model.ccp_alpha), None
        return tree, tree.apply(self._rows) if leaf is None else leaf

    @cached_property
    def _rows(self):
        """Return X for prediction by trees: float32, C-contiguous."""
        return np.ascontiguousarray(self._X, np.float32)

    @cached_property
    def _table(self):
        """Return the columns of X, for trees that do not grow by levels."""
        make_table = unsorted_table if self._as_library else sort_table
        table = make_table(self._X, self._workers, self._name)
        if self._counts is not None:
            flag_codes(table, self._counts)
        return table

    def find_limits(self, gradient, weight, used):
        """Return the `Limits` of trees that grow level by level, unscaled and with all leaves.

        None if trees grow in another way; parameters are as in `grow`.
        """
        model = self._model
        if self.grower is None or not self.scale.is_none or model.ccp_alpha > 0.0:
            return None
        _, rules = self._make_rules(gradient, weight, used)
        if rules.max_leaf_nodes or not rules.filtered:
            return None
        return self._make_limits(rules, weight, used)

    def _make_rules(self, gradient, weight, used):
        """Return the scaled `Target` and `Rules` of a tree; parameters are as in `grow`."""
        total = weight
        if used is not None and (self.grower is None or weight is not None):
            total = used.astype(np.float64) if weight is None else weight * used
        target = Target(0, y=gradient, weight=total)
        rules = make_rules(self._model, target, *self._X.shape)
        target, rules = self.scale.apply_to_target(target, rules)
        if not rules.filtered and (self._leaf_penalty or self._l2):
            raise ValueError("leaf_penalty and l2_regularization need weights of 0 or more")
        return target, rules

    def _make_limits(self, rules, weight, used):
        """Return the `Limits` of a tree that grows level by level."""
        count = self._X.shape[0] if used is None else np.count_nonzero(used)
        weighs = float(count) if weight is None else rules.total_weight
        share, penalty = self._model.min_weight_fraction_leaf, 2.0 * self._leaf_penalty / weighs
        return Limits(
            rules.min_samples_split,
            rules.min_samples_leaf,
            share * weighs,
            max(rules.min_impurity_decrease, self.scale.apply_to_impurity(penalty)),
            weighs,
            self._l2,
        )

    def _grow_nodes(self, target, rules, seed):
        """Return a tree grown node by node."""
        if self._as_library:
            from algorithms.parity.sklearn_grower import grow_like_sklearn

            return grow_like_sklearn(self._table.values, self._columns, target, rules, seed)
        rows = draw_rows(self._table, target, self._columns, self._workers, keep=True)
        return grow_tree(self._table, rows, rules, seed, self._workers, self._counts)


def level_depth(model, n_features):
    """Return the depth of level-by-level growth; 0 if trees grow node by node."""
    if count_features(model.max_features, n_features) < n_features:
        return 0
    depth, deepest = model.max_depth, DEEPEST
    if model.max_leaf_nodes is not None:
        longest = model.max_leaf_nodes - 1
        depth, deepest = longest if depth is None else min(depth, longest), DEEPEST_CHOICE
    return depth if depth is not None and depth <= deepest else 0


def choose_leaves(grown, most, l2):
    """Return the tree with at most ``most`` leaves that best-first growth builds, and the leaves.

    The split of a node does not depend on the order of splits. So the splits that improve most are
    taken from a fully grown tree. Nodes are numbered in the order in which they are made.
    """
    left, right = grown.nodes["left"], grown.nodes["right"]
    score = grown.values**2 * (grown.nodes["weight"] + l2)  # s² / (w + λ)
    gain = np.where(left >= 0, score[left] + score[right] - score, 0.0)
    kept, depth, sides = [0], [0], {}
    waiting = [(-gain[0], 0)]
    while waiting and len(sides) < most - 1:
        _, at = heappop(waiting)
        if left[kept[at]] >= 0:
            sides[at] = (len(kept), len(kept) + 1)
            for child in (left[kept[at]], right[kept[at]]):
                heappush(waiting, (-gain[child], len(kept)))
                kept.append(child)
                depth.append(depth[at] + 1)
    nodes = grown.nodes[kept]
    for at in range(len(kept)):
        nodes["left"][at], nodes["right"][at] = sides.get(at, (-1, -1))
        if at not in sides:
            nodes["feature"][at] = nodes["threshold"][at] = -2
            nodes["missing_left"][at] = 0
    tree = Tree(
        nodes,
        grown.values[kept][:, None],
        n_features=grown.n_features,
        is_classifier=False,
        max_depth=max(depth),
    )
    return tree, map_to_kept(grown, kept)[grown.leaf]


def map_to_kept(grown, kept):
    """Return the new number of each node, or of its nearest kept ancestor if it is not kept."""
    number = np.full(len(grown.nodes), -1)
    number[kept] = np.arange(len(kept))
    for node, (left, right) in enumerate(zip(*(grown.nodes[s] for s in SIDES), strict=True)):
        for child in (left, right):
            if child >= 0 and number[child] < 0:
                number[child] = number[node]
    return number
