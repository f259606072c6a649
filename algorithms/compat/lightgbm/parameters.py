"""Parameters of `train` and `cv`: names, aliases and the number of rounds."""

from algorithms.compat.lightgbm.messages import warn
from algorithms.compat.lightgbm_parameters import LIGHTGBM

ROUNDS = "num_iterations"
STOP = "early_stopping_round"


def choose(params, name, default):
    """Return the value of a parameter under the name of highest precedence.

    Parameters
    ----------
    params : dict
    name : str, LightGBM's main name
    default : value if none of its names is given
    """
    for one in LIGHTGBM.by_name[name].names:
        if one in params:
            return params[one]
    return default


def take(params, name, default):
    """Return the value of a parameter, and remove all of its names."""
    value = choose(params, name, default)
    for one in LIGHTGBM.by_name[name].names:
        params.pop(one, None)
    return value


def take_rounds_count(params, given):
    """Return the number of rounds, and put it into the parameters under the main name.

    Raises
    ------
    ValueError
        If it is not above 0.
    """
    found = {one: params[one] for one in LIGHTGBM.by_name[ROUNDS].names if one in params}
    count = take(params, ROUNDS, given)
    params[ROUNDS] = count
    if len(set(found.values())) > 1:
        values = ", ".join(f"{name}={value}" for name, value in found.items())
        warn(
            f"Found conflicting values for num_iterations provided via 'params': {values}. "
            f"LightGBM will perform up to {count} boosting rounds. "
            "To be confident in the maximum number of boosting rounds LightGBM will perform and to "
            "suppress this warning, modify 'params' so that only one of those is present."
        )
    if count <= 0:
        raise ValueError(f"Number of boosting rounds must be greater than 0. Got {count}.")
    return count


def read_params(params):
    """Return the parameters of the estimator: those of training alone are left out."""
    given = {name: value for name, value in params.items() if value is not None}
    for name in (ROUNDS, STOP, "early_stopping_min_delta", "verbosity"):
        take(given, name, None)
    return given
