"""Random forest mode, as LightGBM's boosting_type="rf".

Every tree is grown on the gradients at the initial score, on its own sample of rows and features.
The model's score is the initial score plus the mean of the trees. `learning_rate` has no effect.
"""

import numpy as np


class RandomForest:
    """Trainer that grows each round with a `Booster` from the initial scores.

    Parameters
    ----------
    booster : Booster
    """

    def __init__(self, booster):
        self.booster = booster
        self.first = booster.score.copy()

    def boost(self):
        """Add a round of trees; return them."""
        booster = self.booster
        booster.rate = 1.0
        trees = booster.boost()
        booster.score[:] = self.first
        return trees


def average(rounds):
    """Divide the outputs of all trees by the number of rounds, so that their sum is the mean."""
    for trees in rounds:
        for tree in trees:
            for values in tree.outputs:
                np.divide(values, len(rounds), out=values)
