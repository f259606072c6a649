"""Seeds of the boosters that answer to XGBoost and LightGBM, whose defaults are deterministic."""

from sklearn.utils import check_random_state

SEEDS = 2**31 - 1
DEFAULT = 0  # of XGBoost; LightGBM's defaults are fixed numbers as well


def draw_seed(random_state):
    """Return the seed of a training, an integer below 2³¹ − 1.

    Parameters
    ----------
    random_state : int, RandomState or None
        None is 0: as in the libraries, two trainings with default parameters give one model.
    """
    given = DEFAULT if random_state is None else random_state
    return int(check_random_state(given).randint(SEEDS))
