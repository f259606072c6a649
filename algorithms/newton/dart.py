"""DART boosting under XGBoost's names: each round is trained without some of the earlier trees.

Rashmi, Gilad-Bachrach: DART: dropouts meet multiple additive regression trees. AISTATS 2015.
`gbdt/dart.py` has LightGBM's form, which drops rounds; XGBoost drops single trees.

Each earlier tree is dropped with probability `rate_drop`; with ``sample_type="weighted"`` the
probability is proportional to the tree's weight. With probability `skip_drop` a round drops none.
With `one_drop` it drops at least one unless it is skipped. The n new trees of a round are grown on
the scores F − Σ_dropped. With k dropped trees and ε = η / n, the trees' weights change:

    normalize_type    dropped trees      new trees
    "tree"            × k / (k + ε)      1 / (k + ε)
    "forest"          × 1 / (1 + ε)      1 / (1 + ε)

New trees of a round that drops none have the weight 1. Leaf values are stored multiplied by the
weights, so a model file holds usual trees.
"""

from dataclasses import dataclass, field

import numpy as np

from algorithms.gbdt.sampling import ALL, hash_numbers, seed_of
from algorithms.newton.model import outputs_of
from algorithms.newton.rounds import Rounds
from algorithms.newton.tree import NewtonTree
from algorithms.prediction.predictor import FastPredictor

DROPS = 11  # salt of the seed
DEFAULTS = {
    "rate_drop": 0.0,
    "skip_drop": 0.0,
    "one_drop": False,
    "sample_type": "uniform",
    "normalize_type": "tree",
}


def is_dart(params):
    """Return whether rounds drop some of the earlier trees."""
    return params.booster == "dart"


@dataclass
class DartRounds(Rounds):
    """Boosting rounds of which each drops some of the earlier trees; see `Rounds`.

    Parameters
    ----------
    X : (n_rows, n_features), training rows as the trees read them
    join : callable (trees, outputs) → harness.TreeEnsemble whose base scores are 0
    """

    X: object = None
    join: object = None
    weights: list = field(init=False)  # weight of each tree; 1 for those of an earlier model
    new_weight: float = field(init=False, default=1.0)
    changes: list = field(init=False, default_factory=list)  # see `rescale`

    def __post_init__(self):
        super().__post_init__()
        self.weights = [1.0 for trees in self.done for _ in trees]
        self.settings = {name: value_of(self.params, name) for name in DEFAULTS}

    def boost(self):
        """Grow one round of trees and change the weights of the dropped ones; return the trees."""
        dropped = self.draw()
        n_new = len(self.score) * (self.params.num_parallel_tree or 1)
        step, kind = self.params.learning_rate / n_new, self.settings["normalize_type"]
        factor, self.new_weight = weight_factors(kind, len(dropped), step)
        lost = self.scores_of(dropped)
        self.score -= lost
        trees = super().boost()
        self.changes = self.rescale(dropped, factor)
        self.score += factor * lost
        self.weights += [self.new_weight] * len(trees)
        return trees

    def add(self, grown, k, learning_rate):
        """Multiply a tree's values by η and its weight, add it to the scores and return it."""
        return super().add(grown, k, learning_rate * self.new_weight)

    def draw(self):
        """Return the numbers of the dropped trees, ascending."""
        given, n_trees = self.settings, len(self.weights)
        drawn = hash_numbers(seed_of(self.seed, len(self.done), DROPS), n_trees + 2) / ALL
        if not n_trees or drawn[n_trees] < given["skip_drop"]:
            return []
        share = np.ones(n_trees)
        if given["sample_type"] == "weighted":
            share = np.array(self.weights) / np.mean(self.weights)
        dropped = np.flatnonzero(drawn[:n_trees] < given["rate_drop"] * share).tolist()
        if not dropped and given["one_drop"]:
            ends = np.cumsum(share)
            place = np.searchsorted(ends, drawn[n_trees + 1] * ends[-1], side="right")
            dropped = [min(int(place), n_trees - 1)]
        return dropped

    def locate(self, numbers):
        """Return the round, the place in it and the score of each tree, a list of tuples."""
        starts = np.cumsum([0] + [len(trees) for trees in self.done])
        rounds = np.searchsorted(starts, numbers, side="right") - 1
        outputs = outputs_of(self.done, len(self.score))
        return [
            (r, number - int(starts[r]), int(outputs[number]))
            for number, r in zip(numbers, rounds.tolist(), strict=True)
        ]

    def scores_of(self, numbers):
        """Return the sum of the given trees' predictions, float64 (n_scores, n_rows)."""
        found = np.zeros(self.score.shape[::-1])
        if numbers:
            places = self.locate(numbers)
            trees, outputs = [self.done[r][i] for r, i, _ in places], [k for *_, k in places]
            joined = self.join(trees, np.array(outputs))
            FastPredictor(joined).add(self.X, found, self.workers.threads)
        return found.T

    def rescale(self, numbers, factor):
        """Multiply the values and weights of trees by a factor.

        Returns
        -------
        list of (NewtonTree, int) : trees that hold the change of the values, and their scores
        """
        changes = []
        for number, (r, i, k) in zip(numbers, self.locate(numbers), strict=True):
            tree, trees = self.done[r][i], list(self.done[r])
            trees[i] = multiplied(tree, factor)  # the model continued from keeps its own trees
            self.done[r] = trees
            self.weights[number] *= factor
            changes.append((multiplied(tree, factor - 1.0), k))
        return changes

    def change(self):
        """Return the change of the scores by the last round, a `harness.TreeEnsemble`."""
        new = self.done[-1]
        trees = [*new, *(tree for tree, _ in self.changes)]
        outputs = [*outputs_of([new], len(self.score)), *(k for _, k in self.changes)]
        return self.join(trees, np.array(outputs))


def value_of(params, name):
    """Return a parameter of dart, or its default if it is not given."""
    value = getattr(params, name, None)
    return DEFAULTS[name] if value is None else value


def weight_factors(kind, n_dropped, step):
    """Return the factor of the dropped trees' weights, and the weight of the new trees.

    Parameters
    ----------
    kind : "tree" or "forest"
    n_dropped : int
    step : float, ε
    """
    if not n_dropped:
        return 1.0, 1.0
    if kind == "forest":
        return 1.0 / (1.0 + step), 1.0 / (1.0 + step)
    return n_dropped / (n_dropped + step), 1.0 / (n_dropped + step)


def multiplied(tree, factor):
    """Return a `NewtonTree` whose values are multiplied by a factor."""
    nodes = tree.nodes.copy()
    nodes["value"] = (nodes["value"].astype(np.float64) * factor).astype(np.float32)
    return NewtonTree(nodes, tree.sets)
