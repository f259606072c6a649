"""CatBoost's generator of random numbers."""

import numpy as np

from algorithms.estimator.seeds import draw_seed
from algorithms.parity.kernels.catboost_random import (
    draw_normals,
    draw_numbers,
    draw_reals,
    seed_generator,
    shuffle,
)

WORDS = 4  # uint64 numbers in the state of a generator


class RandomNumbers:
    """CatBoost's generator of random numbers.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed):
        self.state = np.empty(WORDS, np.uint64)
        seed_generator(np.uint64(seed), self.state)

    def numbers(self, count):
        """Return the next numbers, uint64."""
        out = np.empty(count, np.uint64)
        draw_numbers(self.state, out)
        return out

    def reals(self, count):
        """Return the next numbers between 0 and 1, float64."""
        out = np.empty(count)
        draw_reals(self.state, out)
        return out

    def shuffled(self, count):
        """Return the numbers 0 … count − 1 in random order, int64."""
        order = np.arange(count)
        shuffle(self.state, order)
        return order

    def normals(self, count):
        """Return the next normal numbers, float64."""
        out = np.empty(count)
        draw_normals(self.state, out)
        return out


def seed_of_library(random_seed):
    """Return the seed that CatBoost would use; None means 0."""
    if random_seed is None or isinstance(random_seed, (int, np.integer)):
        return int(random_seed or 0)
    return draw_seed(random_seed)
