"""Seeds of the XGBoost- and LightGBM-compatible boosters, whose defaults are deterministic."""

from sklearn.utils import check_random_state

SEEDS = 2**31 - 1
DEFAULT = 0  # as in XGBoost; LightGBM's default seeds are fixed, too


def draw_seed(random_state):
    """Return the seed of a fit, an integer below 2³¹ − 1.

    Parameters
    ----------
    random_state : int, RandomState or None
        None means 0: as in the libraries, two fits with default parameters give the same model.
    """
    given = DEFAULT if random_state is None else random_state
    return int(check_random_state(given).randint(SEEDS))
