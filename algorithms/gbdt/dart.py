"""DART: rounds that leave some of the earlier trees out while they are grown.

Rashmi, Gilad-Bachrach: DART: dropouts meet multiple additive regression trees. AISTATS 2015. The
parameters, and how they work together, are LightGBM's.

A round drops k of the earlier rounds, with probability `drop_rate` each (at most `max_drop`; none
at all with probability `skip_drop`), heavier ones rather unless `uniform_drop`. It is trained
on the scores F − Σ_dropped, with a step of η / (k + 1); then the dropped rounds weigh k / (k + 1)
of what they did, so that the sum stays about where it was:

    F ← F − Σ_dropped + η/(k + 1) tree + k/(k + 1) Σ_dropped

XGBoost's way (`xgboost_dart_mode`) has η / (k + η) and k / (k + η) instead.
"""

import numpy as np

from algorithms.gbdt.boosting import DROPS
from algorithms.gbdt.model import join_trees
from algorithms.gbdt.sampling import ALL, hash_numbers, seed_of
from algorithms.prediction.predictor import FastPredictor


class Dart:
    """Grows rounds with a `Booster`, and drops.

    Parameters
    ----------
    booster : Booster
    X : (n_rows, n_features), as the booster's grower has it in bins
    """

    def __init__(self, booster, X):
        self.booster, self.X = booster, X
        self.weight = []  # of each round

    def boost(self):
        """Add a round of trees; return them."""
        booster = self.booster
        rate, by_rate = booster.params.learning_rate, booster.params.xgboost_dart_mode
        dropped = self.draw()
        k = len(dropped)
        lost = self.scores_of(dropped)
        booster.score -= lost
        more = rate if by_rate and k else 1.0  # what joins k in the denominator
        booster.rate = rate / (k + more)
        trees = booster.boost()
        kept = k / (k + more)
        for number in dropped:
            self.weight[number] *= kept
            for tree in booster.rounds[number]:
                tree.nodes["value"] *= kept
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
        """Return what some rounds add to the scores, float64 (n_scores, n_rows)."""
        booster = self.booster
        if not rounds:
            return np.zeros((len(booster.score), 1))
        trees = [booster.rounds[number] for number in rounds]
        binner, none = booster.grower.binner, np.zeros(len(booster.score))
        return FastPredictor(join_trees(trees, binner, none)).raw(self.X, booster.workers.threads).T
