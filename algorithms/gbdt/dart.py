"""DART boosting: each round is trained without some of the earlier rounds.

Rashmi, Gilad-Bachrach: DART: dropouts meet multiple additive regression trees. AISTATS 2015. The
parameters and their interaction are LightGBM's.

A round drops k of the earlier rounds, each with probability `drop_rate` (at most `max_drop`; none
with probability `skip_drop`). Unless `uniform_drop`, the probability is proportional to the weight
of a round. The new round is trained on the scores F − Σ_dropped with a step of η / (k + 1). Then
the weights of the dropped rounds are multiplied by k / (k + 1), which roughly preserves the sum:

    F ← F − Σ_dropped + η/(k + 1) tree + k/(k + 1) Σ_dropped

With `xgboost_dart_mode` the factors are η / (k + η) and k / (k + η).
"""

import numpy as np

from algorithms.gbdt.boosting import DROPS
from algorithms.gbdt.model import join_trees
from algorithms.gbdt.sampling import ALL, hash_numbers, seed_of
from algorithms.prediction.predictor import FastPredictor


class Dart:
    """Trainer that grows rounds with a `Booster` and drops earlier rounds.

    Parameters
    ----------
    booster : Booster
    X : (n_rows, n_features), the rows that the booster's grower has binned
    """

    def __init__(self, booster, X):
        self.booster, self.X = booster, X
        self.weight = []  # weight of each round

    def boost(self):
        """Add a round of trees; return them."""
        booster = self.booster
        rate, by_rate = booster.params.learning_rate, booster.params.xgboost_dart_mode
        dropped = self.draw()
        k = len(dropped)
        lost = self.scores_of(dropped)
        booster.score -= lost
        more = rate if by_rate and k else 1.0  # added to k in the denominator
        booster.rate = rate / (k + more)
        trees = booster.boost()
        kept = k / (k + more)
        for number in dropped:
            self.weight[number] *= kept
            for tree in booster.rounds[number]:
                tree.scale(kept)
        self.weight.append(booster.rate)
        booster.score += kept * lost
        return trees

    def draw(self):
        """Return the rounds to drop, ascending."""
        booster, count = self.booster, len(self.weight)
        p = booster.params
        drawn = hash_numbers(seed_of(booster.seed, booster.first + count, DROPS), count + 1) / ALL
        if not count or drawn[count] < p.skip_drop:
            return []
        chance = np.full(count, p.drop_rate)
        if p.max_drop > 0:
            chance = np.minimum(chance, p.max_drop / count)
        if not p.uniform_drop:
            chance *= np.array(self.weight) / np.mean(self.weight)
        dropped = np.flatnonzero(drawn[:count] < chance)
        return dropped[: p.max_drop if p.max_drop > 0 else None].tolist()

    def scores_of(self, rounds):
        """Return the sum of the given rounds' predictions, float64 (n_scores, n_rows)."""
        booster = self.booster
        if not rounds:
            return np.zeros((len(booster.score), 1))
        trees = [booster.rounds[number] for number in rounds]
        binner, none = booster.grower.binner, np.zeros(len(booster.score))
        return FastPredictor(join_trees(trees, binner, none)).raw(self.X, booster.workers.threads).T
