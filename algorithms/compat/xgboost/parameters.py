"""Parameters of `train` and `Booster`: text values, aliases and column names."""

import json
import warnings
from numbers import Integral, Real

from sklearn.utils._param_validation import Interval

from algorithms.compat.xgboost.messages import XGBoostError
from algorithms.compat.xgboost_parameters import XGBOOST
from algorithms.newton.params import CONSTRAINTS

UPDATERS = {  # updater → tree method
    "grow_colmaker": "exact",
    "grow_histmaker": "approx",
    "grow_quantile_histmaker": "hist",
}
OBJECTIVES = {"reg:linear": "reg:squarederror"}  # former names
OF_THE_BOOSTER = ("num_class", "eval_metric", "disable_default_eval_metric", "updater")


def read_pairs(params):
    """Return parameters as a dict; several values of ``eval_metric`` become a list.

    Parameters
    ----------
    params : dict, or list of (name, value), or None
    """
    if params is None:
        return {}
    if isinstance(params, dict):
        return dict(params)
    found = dict(params)
    metrics = [value for name, value in params if name == "eval_metric"]
    if len(metrics) > 1:
        found["eval_metric"] = metrics
    return found


def read_params(params, names):
    """Return the parameters of `NativeModel`: dict, its parameter name → value.

    Parameters
    ----------
    params : dict
        Parameters under any of XGBoost's names. Numbers may be given as text.
    names : list of str, the column names; or None

    Raises
    ------
    XGBoostError
        If a value is not supported.
    """
    found, unused = {}, []
    for name, value in params.items():
        row = XGBOOST.by_name.get(name)
        if value is None or name in OF_THE_BOOSTER:
            continue
        if row is None:
            unused.append(name)
            continue
        row.check("Booster", name, value)
        if name == "booster" and value == "gblinear":
            raise XGBoostError("Booster does not support booster='gblinear': the estimators do")
        if row.attribute and row.attribute not in ("callbacks", "early_stopping_rounds"):
            found[row.attribute] = as_number(row.attribute, value)
    if unused:
        listed = ", ".join(f'"{name}"' for name in unused)
        warnings.warn(f"Parameters: {{ {listed} }} are not used.", UserWarning, stacklevel=5)
    updaters = [one for one in str(params.get("updater") or "").split(",") if one in UPDATERS]
    if updaters:
        found["tree_method"] = UPDATERS[updaters[0]]
    for name in ("monotone_constraints", "interaction_constraints"):
        if name in found:
            found[name] = number_columns(found[name], names)
    return found


def as_number(name, value):
    """Return the value of a numeric parameter as a number if it is text, else unchanged."""
    if not isinstance(value, str):
        return value
    kinds = {one.type for one in CONSTRAINTS.get(name, ()) if isinstance(one, Interval)}
    kinds |= {one for one in CONSTRAINTS.get(name, ()) if one in (Integral, Real)}
    kinds |= {Integral} if name == "random_state" else set()
    try:
        return int(value) if Integral in kinds else float(value) if Real in kinds else value
    except ValueError:
        raise XGBoostError(f"Invalid Parameter format for {name}: {value!r}") from None


def number_columns(given, names):
    """Return constraints with column names replaced by column numbers.

    Parameters
    ----------
    given : dict of signs, list of groups, or text
    names : list of str, or None
    """
    if isinstance(given, str) and given.lstrip().startswith("["):
        given = json.loads(given)
    places = {name: at for at, name in enumerate(names or ())}
    if isinstance(given, dict):
        signs = [0] * len(places)
        for name, sign in given.items():
            if name not in places:
                raise XGBoostError(f"monotone_constraints has the unknown column {name!r}")
            signs[places[name]] = sign
        return signs
    if isinstance(given, str) or not any(isinstance(one, list | tuple) for one in given):
        return given
    return [[column_number(one, places) for one in group] for group in given]


def column_number(column, places):
    """Return the number of a column given by its number or name."""
    if isinstance(column, str) and column not in places:
        raise ValueError(f"Constrained features are not a subset of training data: {column!r}")
    return places.get(column, column)
