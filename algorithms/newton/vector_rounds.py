"""Boosting rounds of trees whose leaves hold one value for each output (``multi_output_tree``)."""

import numpy as np

from algorithms.estimator.constraints import read_signs
from algorithms.gbdt.input_table import find_categorical
from algorithms.newton.dart import is_dart
from algorithms.newton.kernels.softmax import ROWS, differentiate_softmax
from algorithms.newton.kernels.vector_leaves import add_vectors
from algorithms.newton.objectives import BLOCK, NO_WEIGHT, SOFTMAX, quantile_of
from algorithms.newton.params import is_linear
from algorithms.newton.rounds import Rounds, leaf_rows
from algorithms.newton.several_targets import target_column
from algorithms.newton.tree import NewtonTree, have_vectors


class VectorRounds(Rounds):
    """Boosting rounds on one table, with one tree a round for all outputs.

    Parameters are those of `Rounds`, with a `VectorGrower`.
    """

    def __post_init__(self):
        super().__post_init__()
        self.is_softmax = getattr(self.objective, "kind", None) == SOFTMAX
        if self.is_softmax:
            self.grower.set_shares_h(shares_h=False)

    def differentiate(self):
        """Write the derivatives at the current scores; those of softmax in float32."""
        if not self.is_softmax:
            super().differentiate()
            return
        weight = NO_WEIGHT if self.weight is None else self.weight
        code = np.require(self.y, np.float64, ["C", "W"])  # as the kernel is compiled

        def write(first, last):
            work = np.empty((len(self.score) + 2, ROWS), np.float32)
            given = self.score, code, weight, work, self.g, self.h
            differentiate_softmax(*given, first * BLOCK, min(last * BLOCK, len(code)))

        self.workers.share(write, -(-len(code) // BLOCK))

    def scores_of_trees(self):
        """Return the index of the first score of each tree of a round."""
        return range(1)

    def derivatives(self, _k):
        """Return g and h of all outputs, float32 (n_scores, n_rows)."""
        return self.g, self.h

    def check_derivatives(self):
        """Do nothing: the grower checks the derivatives while it sums their sizes."""

    def grow_one(self, numbers, used):
        """Return a grown and pruned tree; as `Rounds.grow_one`."""
        try:
            return super().grow_one(numbers, used)
        except FloatingPointError as error:
            raise self.not_finite(error) from None

    def add(self, grown, _k, learning_rate):
        """Multiply a tree's values by the learning rate, add it to the scores and return it."""
        nodes, where = grown.nodes, grown.where
        values = grown.values * np.float32(learning_rate)  # η w*
        added = values.astype(np.float64) if where is None else values.astype(np.float64)[where]
        added = np.ascontiguousarray(added.T)

        def add(first, last):
            add_vectors(added, grown.at, first, last, self.score)

        self.workers.share(add, len(self.y))
        self.scale_statistics(nodes)
        return NewtonTree(nodes, values=values)

    def renew(self, grown, _k, used):
        """Set each value of a leaf to the quantile of the residuals of its output."""
        for node, rows in leaf_rows(grown, used):
            weight = None if self.weight is None else self.weight[rows]
            for k, level in enumerate(self.objective.renewed):
                residual = target_column(self.y, k)[rows] - self.score[k, rows]
                grown.values[node, k] = quantile_of(residual, weight, level)


def grows_vectors(params, n_scores):
    """Return whether one tree a round is grown for all scores; False with one score.

    Parameters
    ----------
    params : the estimator
    n_scores : int
    """
    return params.multi_strategy == "multi_output_tree" and n_scores > 1


def check_vector_leaves(model, params, earlier):
    """Raise ValueError if trees with vector leaves do not support a parameter or the data.

    XGBoost 3.2 refuses the same parameters.

    Parameters
    ----------
    model : the estimator, after it has read X
    params : the estimator, with None replaced by defaults
    earlier : list of rounds of a model to continue from
    """
    names = list(getattr(model, "feature_names_in_", []))
    signs = read_signs(params.monotone_constraints, model.n_features_in_, names)
    refused = {
        f"booster={params.booster!r}": is_dart(params) or is_linear(params),
        f"tree_method={params.tree_method!r}": params.tree_method not in ("hist", "auto"),
        "monotone_constraints": bool(signs.any()),
        "categorical columns": find_categorical(model, "auto").any(),
        "a model to continue from whose leaves hold one value": (
            bool(earlier) and not have_vectors(earlier)
        ),
    }
    for what, is_given in refused.items():
        if is_given:
            raise ValueError(f"multi_strategy='multi_output_tree' does not support {what}")
