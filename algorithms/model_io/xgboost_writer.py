"""Writer of XGBoost's JSON model format.

XGBoost rounds X to float32 and evaluates ``x < threshold``. The threshold is the float32 after the
largest one that goes left, so float32 rows go exactly as in the original model. Leaf values are
rounded to float32 and summed in float32.
"""

import json

import numpy as np

from algorithms.model_io import xgboost_categories
from algorithms.model_io.errors import ModelFileError, check_name
from algorithms.model_io.objectives import MANY, XGBOOST, name_for
from algorithms.model_io.summed_trees import base_in_trees, plain_sum, require_sum
from algorithms.model_io.xgboost_reader import level_order, margin
from algorithms.prediction.category_values import codes_of
from algorithms.prediction.node_rules import after, last_single
from harness import Missing

NO_PARENT = 2**31 - 1
VERSION = [3, 2, 0]  # version of the format that is written
NEAR = 8  # number of float32 steps searched for a base score
AFT_SCALE = {"aft_loss_distribution_scale": "1"}
DETAILS = {  # parameters that XGBoost needs to load an objective
    "reg:absoluteerror": {},
    **{f"rank:{name}": {"lambdarank_param": {}} for name in ("ndcg", "pairwise", "map")},
    "reg:pseudohubererror": {"pseudo_huber_param": {"huber_slope": "1"}},
    "reg:quantileerror": {"quantile_loss_param": {"quantile_alpha": "[5E-1]"}},
    "count:poisson": {"poisson_regression_param": {"max_delta_step": "0.7"}},
    "survival:cox": {},
    "binary:hinge": {},
    "survival:aft": {"aft_loss_param": {"aft_loss_distribution": "normal", **AFT_SCALE}},
    "reg:tweedie": {"tweedie_regression_param": {"tweedie_variance_power": "1.5"}},
}
USUAL = {"reg_loss_param": {"scale_pos_weight": "1"}}


def write(ensemble, *, objective=None, names=None, attributes=None, categories=None, n_parallel=1):
    """Return the JSON text of a model.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    objective : str, optional
        Name in XGBoost or LightGBM; by default the usual objective of the link.
    names : list of str, optional
        Column names.
    attributes : dict of str to str, optional
        Attributes that XGBoost stores with the model but does not use.
    categories : dict, optional
        Column index → pd.Index of its categories, in the order of their codes.
    n_parallel : int
        Number of trees of a score in each round.

    Raises
    ------
    ModelFileError
        If XGBoost's format cannot store the model.
    """
    require_sum(ensemble)
    if ensemble.temperature != 1.0:
        raise ModelFileError("XGBoost has no temperature, by which scores are divided")
    if (ensemble.missing == Missing.ZERO).any():
        raise ModelFileError("XGBoost cannot treat zeros as missing values")
    for column in names or []:
        check_name(str(column), "XGBoost's format")
    name = name_for(ensemble, objective, XGBOOST)
    scores = base_scores(ensemble)
    if scores is None:
        ensemble = base_in_trees(ensemble)
        scores = base_scores(ensemble)
    outputs, categories = ensemble.n_outputs, categories or {}
    kinds = ["c" if j in categories else "float" for j in range(ensemble.n_features)]
    model = model_of(ensemble, n_parallel)
    model["cats"] = xgboost_categories.write(categories, ensemble.n_features)
    many = name in MANY
    learner = {
        "attributes": attributes or {},
        "feature_names": [str(n) for n in names or []],
        "feature_types": kinds if categories else [],
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {
            "base_score": f"[{','.join(str(s) for s in scores)}]",
            "boost_from_average": "1",
            "num_class": str(outputs if many else 0),
            "num_feature": str(ensemble.n_features),
            "num_target": str(1 if many else outputs),
        },
        "objective": {"name": name, **details(name, outputs)},
    }
    return json.dumps({"learner": learner, "version": VERSION}, separators=(",", ":"))


def details(name, outputs):
    """Return the parameters of an objective; predictions do not depend on them."""
    if name == "reg:expectileerror":
        levels = (np.arange(outputs) + 1.0) / (outputs + 1.0)
        return {"expectile_loss_param": {"expectile_alpha": json.dumps(levels.tolist())}}
    if name in MANY:
        return {"softmax_multiclass_param": {"num_class": str(outputs)}}
    return DETAILS.get(name, USUAL)


def base_scores(ensemble):
    """Return the float32 scores whose margins equal the base, or None if there are none."""
    if not ensemble.base_first and ensemble.base.any():
        return None
    if ensemble.link == "ascending":  # read back to the precision of float32
        return list(ensemble.from_raw(ensemble.base[None])[0].astype(np.float32))
    scores = [base_score(np.float32(b), ensemble.link) for b in ensemble.base.tolist()]
    return None if None in scores else scores


def base_score(wanted, link):
    """Return the float32 whose margin is bitwise the wanted one, or None."""
    if link not in ("sigmoid", "exp"):
        return wanted
    with np.errstate(over="ignore"):
        power = np.exp(np.float64(wanted if link == "exp" else -wanted))
    score = np.float32(power if link == "exp" else 1.0 / (1.0 + power))
    up = down = score
    for _ in range(NEAR):
        for near in (up, down):
            if 0 < near < (1 if link == "sigmoid" else np.inf) and margin(near, link) == wanted:
                return near
        up, down = np.nextafter(up, np.float32(np.inf)), np.nextafter(down, np.float32(0))
    return None


def model_of(ensemble, n_parallel=1):
    """Return the trees in the format of XGBoost's gbtree; see `write`."""
    plain = plain_sum(ensemble, members_left=False)
    count, outputs = plain.rounds.shape
    n_parallel = n_parallel if count % n_parallel == 0 else 1  # a base score may be a last round
    rounds, width = count // n_parallel, outputs * n_parallel
    order = plain.rounds.reshape(rounds, n_parallel, outputs).transpose(0, 2, 1).ravel().tolist()
    threshold = first_right(plain.ends)
    threshold[ensemble.categories >= 0] = np.inf  # with an empty set all rows go left
    value = np.where(ensemble.left < 0, plain.value, np.nan_to_num(plain.value))
    numbers = {
        "value": singles(value),
        "condition": singles(np.where(ensemble.left < 0, value, threshold)),
        "gain": singles(np.nan_to_num(ensemble.gain)),
        "cover": singles(np.nan_to_num(ensemble.cover)),
    }
    return {
        "gbtree_model_param": {
            "num_parallel_tree": str(n_parallel),
            "num_trees": str(len(order)),
        },
        "iteration_indptr": list(range(0, rounds * width + 1, width)),
        "tree_info": np.repeat(np.arange(outputs), n_parallel).tolist() * rounds,
        "trees": [tree_of(plain, numbers, t, place) for place, t in enumerate(order)],
    }


def first_right(ends):
    """Return the smallest float32 t above each end: ``x <= end`` equals ``x < t``."""
    nothing = np.isnan(ends)
    last = last_single(np.where(nothing, -np.inf, ends))
    return np.where(
        nothing, -np.inf, after(last) + np.float32(0)
    )  # + 0 turns a negative zero into zero


def singles(values):
    """Return float64 values rounded to float32, with the shortest decimal text."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    return rounded.astype("U32").astype(np.float64)


def tree_of(plain, numbers, t, place):
    """Return one tree in level order: XGBoost needs adjacent siblings."""
    e = plain.ensemble
    start, end = (int(o) for o in e.offsets[t : t + 2])
    inner = e.left[start:end] >= 0
    left, right = (np.where(inner, s[start:end] - start, -1) for s in (plain.left, plain.right))
    order = level_order(left, right)
    number = np.full(len(order) + 1, -1)
    number[order] = np.arange(len(order))
    inner, at = inner[order], order + start
    children = {"left": number[left[order]], "right": number[right[order]]}
    parents = np.full(len(order), NO_PARENT)
    for side in children.values():
        parents[side[inner]] = np.flatnonzero(inner)
    number_of_codes = np.append(np.diff(e.set_indptr), 0)
    is_categorical = (e.categories[at] >= 0) & (number_of_codes[e.categories[at]] > 0)
    sets = [codes_of(e, k).tolist() for k in e.categories[at[is_categorical]].tolist()]
    sizes = [len(codes) for codes in sets]
    return {
        "base_weights": numbers["value"][at].tolist(),
        "categories": [code for codes in sets for code in codes],
        "categories_nodes": np.flatnonzero(is_categorical).tolist(),
        "categories_segments": np.cumsum([0, *sizes])[:-1].tolist(),
        "categories_sizes": sizes,
        "default_left": (plain.nan_left[at] & inner).astype(int).tolist(),
        "id": place,
        "left_children": children["left"].tolist(),
        "loss_changes": numbers["gain"][at].tolist(),
        "parents": parents.tolist(),
        "right_children": children["right"].tolist(),
        "split_conditions": np.where(is_categorical, 0.0, numbers["condition"][at]).tolist(),
        "split_indices": np.where(inner, e.feature[at], 0).tolist(),
        "split_type": is_categorical.astype(int).tolist(),
        "sum_hessian": numbers["cover"][at].tolist(),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(e.n_features),
            "num_nodes": str(len(order)),
            "size_leaf_vector": "1",
        },
    }
