"""Row and feature sampling of bagged models, with scikit-learn's random draws."""

from numbers import Integral
from warnings import warn

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

SEEDS = 2**31 - 1
FEW = 10  # sample size below which scikit-learn warns


def count_rows(wanted, n_rows, weight, bootstrap):
    """Return the number of rows that a model draws.

    Parameters
    ----------
    wanted : int, float or None, ``max_samples``
    n_rows : int
    weight : (n_rows,) array or None
        With weights, a fraction in ``wanted`` refers to the total weight.
    bootstrap : bool, whether rows are drawn with replacement

    Raises
    ------
    ValueError
        If more rows are wanted than have a positive weight, without replacement.
    """
    if not bootstrap and weight is not None:
        n_rows = np.count_nonzero(weight)  # rows of weight 0 cannot be drawn
    if wanted is None or isinstance(wanted, Integral):
        drawn = n_rows if wanted is None else int(wanted)
    else:
        total = n_rows if weight is None else weight.sum()
        drawn = max(int(wanted * total), 1)
        if drawn < max(FEW, n_rows ** (1 / 3)):
            what = "number of samples is" if weight is None else "total sum of sample weights is"
            warn(
                f"Using the fractional value max_samples={wanted} when the {what} {total} results "
                f"in a low number ({drawn}) of bootstrap samples. We recommend passing "
                "`max_samples` as an integer instead.",
                stacklevel=4,
            )
    if not bootstrap and drawn > n_rows:
        raise ValueError(
            f"Effective max_samples={drawn} must be <= n_samples={n_rows} to be able to sample "
            "without replacement."
        )
    return drawn


def count_columns(wanted, n_columns):
    """Return the number of features that a model draws."""
    if not isinstance(wanted, Integral):
        return max(1, int(wanted * n_columns))
    if wanted > n_columns:
        raise ValueError("max_features must be <= n_features")
    return int(wanted)


def draw(random, with_replacement, population, count):
    """Return random integers below ``population``, int64 (count,)."""
    if with_replacement:
        return random.randint(0, population, count)
    return sample_without_replacement(population, count, random_state=random)


def reseed(random, seed):
    """Return a RandomState seeded as ``check_random_state(seed)``, for an integer seed.

    Parameters
    ----------
    random : RandomState or None
        It is seeded again, which is faster than making a new one. None makes one.
    """
    if random is None:
        return check_random_state(seed)
    random.seed(seed)
    return random


def draw_tree_seed(random):
    """Return the seed of a tree's own random stream."""
    return random.randint(0, SEEDS)


def seeded_clones(model, seeds):
    """Return a copy of a model for each seed, with random states drawn from the seed."""
    names = sorted(n for n in model.get_params() if n.split("__")[-1] == "random_state")
    copies = []
    for seed in seeds:
        random = check_random_state(seed)
        states = {name: random.randint(SEEDS) for name in names}
        copy = clone(model)
        if names == ["random_state"]:
            copy.random_state = states["random_state"]  # set_params takes longer than a small tree
        else:
            copy.set_params(**states)
        copies.append(copy)
    return copies
