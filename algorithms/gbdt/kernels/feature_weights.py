"""Factors of the gains of a leaf's splits, one for each feature.

A factor is the weight of the feature (`feature_contri`) times, for a monotone feature, a penalty of
the leaf's depth d (Auguste, Malory, Smirnov: A better method to enforce monotonic constraints in
regression and classification trees, 2020), with p = `monotone_penalty`:

    1 − p / 2^d           if p ≤ 1
    1 − 2^(p − 1 − d)     if 1 < p < d + 1
    0                     if p ≥ d + 1

As in LightGBM, 10⁻¹⁵ is added, so that such a split is taken if no other feature has a gain.
Factors of features that are not drawn for the leaf (`feature_fraction_bynode`) are 0.
"""

import numpy as np

from algorithms.gbdt.kernels.interaction_groups import may_use
from algorithms.runtime.jit import inner_kernel
from algorithms.runtime.math_functions import hash_of

EPSILON = float(np.float32(1e-15))
BITS = np.uint64(32)


@inner_kernel
def weigh_features(bins, growth, rules, scale, leaf, which):
    """Write the factors of a leaf to ``growth.leaf_weight``; nothing if all leaves have the same.

    Parameters
    ----------
    bins : Bins
    growth : Growth
    rules : Rules
    scale : Scale
    leaf : index of the leaf
    which : 0 for the smaller one of two leaves, 1 for the larger one
    """
    draws = rules.feature_fraction_bynode < 1.0
    if not draws and rules.monotone_penalty == 0.0:
        return
    out = growth.leaf_weight[which]
    penalty = penalty_at(growth.leaves[leaf]["depth"], rules.monotone_penalty)
    for f in range(len(out)):
        out[f] = growth.weight[f] * penalty if bins.monotone[f] else growth.weight[f]
    if draws:
        draw_features(bins, growth, rules, scale, leaf, out)


@inner_kernel
def penalty_at(depth, penalty):
    """Return the factor of gains of monotone features in a leaf, of the formulas above."""
    if penalty >= depth + 1.0:
        return EPSILON
    if penalty <= 1.0:
        return 1.0 - penalty / 2.0**depth + EPSILON
    return 1.0 - 2.0 ** (penalty - 1.0 - depth) + EPSILON


@inner_kernel
def draw_features(bins, growth, rules, scale, leaf, out):
    """Set the factors of the features that are not drawn for a leaf to 0.

    The number of drawn features is a fraction of the tree's, at least 1; they are drawn from those
    that the leaf may use. Each feature in turn is drawn with the probability (features to draw) /
    (features left).
    """
    n_tree, n_left = 0, 0
    for f in range(len(out)):
        if out[f] > 0.0 and bins.count[f] > 1:
            n_tree += 1
            if may_use(growth.groups[leaf], bins.groups[f]):
                n_left += 1
        else:
            out[f] = 0.0
    wanted = min(max(np.int64(rules.feature_fraction_bynode * n_tree + 0.5), 1), n_left)
    seed = scale.seed ^ growth.leaves[leaf]["node"]
    for f in range(len(out)):
        if out[f] == 0.0 or not may_use(growth.groups[leaf], bins.groups[f]):
            continue
        drawn = np.uint64(hash_of(seed, len(out) + f))  # extra trees hash the numbers below
        if (drawn * np.uint64(n_left)) >> BITS < np.uint64(wanted):
            wanted -= 1
        else:
            out[f] = 0.0
        n_left -= 1
