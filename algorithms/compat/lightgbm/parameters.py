"""Parameters of `train` and `cv`: names, aliases and the number of rounds."""

from algorithms.compat.lightgbm.messages import LightGBMError, warn
from algorithms.compat.lightgbm_parameters import LIGHTGBM
from algorithms.compat.parameters import is_same
from algorithms.estimator.verbose import say
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS

ROUNDS = "num_iterations"
STOP = "early_stopping_round"
MAX_BIN_LIMIT = MAX_BINS - 1


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
    warn_of_rounds(params)
    count = take(params, ROUNDS, given)
    params[ROUNDS] = count
    if count <= 0:
        raise ValueError(f"Number of boosting rounds must be greater than 0. Got {count}.")
    return count


def warn_of_rounds(params):
    """Warn if different numbers of rounds are given under several names."""
    found = {one: params[one] for one in LIGHTGBM.by_name[ROUNDS].names if one in params}
    if len(set(found.values())) < 2:
        return
    values = ", ".join(f"{name}={value}" for name, value in found.items())
    count = choose(params, ROUNDS, None)
    warn(
        f"Found conflicting values for num_iterations provided via 'params': {values}. "
        f"LightGBM will perform up to {count} boosting rounds. "
        "To be confident in the maximum number of boosting rounds LightGBM will perform and to "
        "suppress this warning, modify 'params' so that only one of those is present."
    )


def drop_aliases(params):
    """Return parameters with one name each, and print which names are ignored.

    None and an empty list mean the default.
    """
    given = {name: value for name, value in params.items() if not is_same(value, [])}
    given = {name: value for name, value in given.items() if value is not None}
    is_silent = int(choose(given, "verbosity", 1)) < 0
    for row in LIGHTGBM.rows:
        used, *others = [name for name in row.names if name in given] or [None]
        for name in others:
            value = given.pop(name)
            if not is_silent:
                say(
                    f"[LightGBM] [Warning] {used} is set={given[used]}, {name}={value} will be "
                    f"ignored. Current value: {used}={given[used]}"
                )
    return given


def check_numbers(params, defaults):
    """Convert numbers that are given as text; raise LightGBMError for other text.

    Parameters
    ----------
    params : dict, changed
    defaults : dict, LightGBM's main name → default
    """
    for name, value in params.items():
        main = LIGHTGBM.by_name[name].name if name in LIGHTGBM.by_name else None
        default = defaults.get(main)
        if not isinstance(value, str) or isinstance(default, bool):
            continue
        if isinstance(default, int | float):
            kind = type(default)
            try:
                params[name] = kind(value)
            except ValueError:
                word = "int" if kind is int else "double"
                message = f'Parameter {main} should be of type {word}, got "{value}"'
                raise LightGBMError(message) from None


def limit_bins(params):
    """Replace a ``max_bin`` above `MAX_BIN_LIMIT` in the parameters, with a warning."""
    for name in LIGHTGBM.by_name["max_bin"].names:
        if isinstance(params.get(name), int) and params[name] > MAX_BIN_LIMIT:
            warn(
                f"{name}={params[name]} is more than {MAX_BIN_LIMIT} bins: {MAX_BIN_LIMIT} are used"
            )
            params[name] = MAX_BIN_LIMIT


def read_params(params):
    """Return the parameters of the estimator: those of training alone are left out."""
    given = drop_aliases(params)
    for name in (ROUNDS, STOP, "early_stopping_min_delta", "verbosity"):
        take(given, name, None)
    return given
