"""Writer of LightGBM's text model format, version 4.

LightGBM evaluates ``x <= threshold`` in float64; every numeric split can be converted to this form.
The base score is added to the trees, as in LightGBM. Only values within 1e-35 of 0, which LightGBM
reads as 0, may go to another side than in the original model.
"""

import json
from collections import Counter

import numpy as np

from algorithms.model_io.errors import ModelFileError, check_name
from algorithms.model_io.lightgbm_reader import (
    CATEGORICAL,
    CATEGORY_COLUMNS,
    COLUMN_NAMES,
    DEFAULT_LEFT,
    default_names,
)
from algorithms.model_io.objectives import LIGHTGBM, name_for
from algorithms.model_io.summed_trees import base_in_trees, plain_sum, require_sum
from algorithms.prediction.category_values import codes_of
from harness import Missing

BITS_OF_KIND = {Missing.NONE: 8, Missing.NAN: 8, Missing.ZERO: 4, Missing.NAN_AS_ZERO: 0}
PARAMETERS = {  # scikit-learn's name → LightGBM's
    "n_estimators": "num_iterations",
    "learning_rate": "learning_rate",
    "num_leaves": "num_leaves",
    "max_depth": "max_depth",
    "min_child_samples": "min_data_in_leaf",
    "min_child_weight": "min_sum_hessian_in_leaf",
    "min_split_gain": "min_gain_to_split",
    "reg_alpha": "lambda_l1",
    "reg_lambda": "lambda_l2",
    "subsample": "bagging_fraction",
    "subsample_freq": "bagging_freq",
    "colsample_bytree": "feature_fraction",
    "max_bin": "max_bin",
}
WORD = 32
SHORT = 1e15  # smaller integers are written without a decimal point


def write(ensemble, *, objective=None, names=None, params=None, categories=None):
    """Return the text of a model.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    objective : str, optional
        Name in LightGBM or XGBoost; by default the usual objective of the link.
    names : list of str, optional
        Column names; a blank is written as "_", as LightGBM does, and an extra line of our own
        stores the original names.
    params : dict, optional
        Parameters of the estimator; those in ``PARAMETERS`` are written to the parameter block.
    categories : dict or list, optional
        Column name → categories of the training frame; or only the lists of categories, in the
        order of the categorical columns.

    Raises
    ------
    ModelFileError
        If LightGBM's format cannot store the model.
    """
    require_sum(ensemble, may_be_linear=True)
    if not np.isnan(ensemble.missing_value):
        raise ModelFileError(
            f"{ensemble.missing_value} is read as a missing value; LightGBM's format cannot "
            "store that: use another format"
        )
    name = name_for(ensemble, objective, LIGHTGBM)
    ensemble = base_in_trees(ensemble)
    plain = plain_sum(ensemble, members_left=True)
    is_categorical = ensemble.categories >= 0
    if (is_categorical & plain.nan_left).any():
        raise ModelFileError("LightGBM sends missing categories right; this model sends some left")
    blocks = [tree_text(plain, t, k) for k, t in enumerate(plain.rounds.ravel().tolist())]
    names = names or default_names(ensemble.n_features)
    infos, about, lists = category_lines(plain, names, categories or {})
    given, names = [str(name) for name in names], written_names(names)
    if given != names:  # LightGBM ignores this line, and drops it when it saves the model
        about = [*about, f"{COLUMN_NAMES}={json.dumps(given)}"]
    width = ensemble.n_outputs
    head = [
        "tree",
        "version=v4",
        f"num_class={width}",
        f"num_tree_per_iteration={width}",
        "label_index=0",
        f"max_feature_idx={ensemble.n_features - 1}",
        f"objective={objective_line(name, ensemble)}",
        f"feature_names={' '.join(names)}",
        f"feature_infos={' '.join(infos)}",
        *about,
        f"tree_sizes={' '.join(str(len(b.encode())) for b in blocks)}",
        "",
    ]
    tail = ["end of trees", "", *importances(ensemble, names), "", "parameters:"]
    tail += parameter_lines(name, params or {})
    tail += [] if ensemble.linear is None else ["[linear_tree: 1]"]
    tail += ["end of parameters", "", f"pandas_categorical:{json.dumps(lists or None)}"]
    return "\n".join([*head, "".join(blocks) + "\n".join(tail), ""])


def parameter_lines(objective, params):
    """Return the lines of the parameter block; predictions do not depend on them."""
    lines = ["[boosting: gbdt]", f"[objective: {objective}]"]
    for name, library_name in PARAMETERS.items():
        if isinstance(params.get(name), int | float):
            lines.append(f"[{library_name}: {text_of(params[name])}]")
    return lines


def category_lines(plain, names, categories):
    """Return the column infos, the line of categorical columns if any, and their categories."""
    if isinstance(categories, list):  # any numeric column may have one of the lists
        infos = feature_infos(plain, [None] * len(names))
        return ["none" if i.startswith("[") else i for i in infos], [], categories
    column_categories = [categories.get(name) for name in names]
    places = [str(place) for place, known in enumerate(column_categories) if known is not None]
    about = [f"{CATEGORY_COLUMNS}={' '.join(places)}"] if places else []
    return (
        feature_infos(plain, column_categories),
        about,
        [known for known in column_categories if known is not None],
    )


def written_names(names):
    """Return the column names as written to the file; raise ModelFileError if two are equal."""
    new_names = [written(str(name)) for name in names]
    counts = Counter(new_names)
    twice = [str(name) for name, new in zip(names, new_names, strict=True) if counts[new] > 1]
    if twice:
        raise ModelFileError(
            f"LightGBM's format writes blanks in names as '_', so the columns {twice} get the "
            "same name: rename them"
        )
    return new_names


def written(name):
    """Return a column name as written to the file."""
    check_name(name, "LightGBM's format")
    if not name or "\n" in name or "\r" in name:
        raise ModelFileError(f"LightGBM's format cannot store a column named {name!r}: rename it")
    return name.replace(" ", "_")


def objective_line(name, e):
    """Return the objective with the parameters of its link."""
    parts = [name]
    if name.startswith("multiclass"):
        parts.append(f"num_class:{e.n_outputs}")
    if name in ("binary", "multiclassova"):
        parts.append(f"sigmoid:{text_of(1.0 / e.temperature)}")
    elif e.temperature != 1.0:
        raise ModelFileError(f"LightGBM's {name} has no temperature")
    return " ".join(parts)


def feature_infos(plain, column_categories):
    """Return LightGBM's info of each column: none, the range, or the categories.

    ``column_categories`` has the categories of each column, or None.
    """
    e = plain.ensemble
    infos = ["none"] * e.n_features
    inner = e.left >= 0
    numeric = inner & (e.categories < 0) & np.isfinite(plain.ends)
    for f in np.unique(e.feature[numeric]).tolist():
        ends = plain.ends[numeric & (e.feature == f)]
        infos[f] = f"[{text_of(ends.min())}:{text_of(ends.max())}]"
    for f in np.unique(e.feature[e.categories >= 0]).tolist():
        sets = e.categories[(e.feature == f) & (e.categories >= 0)].tolist()
        codes = np.unique(np.concatenate([codes_of(e, k) for k in sets]))
        infos[f] = ":".join(str(c) for c in codes.tolist()) or "0"
    for f, codes in enumerate(column_categories):
        if codes is not None:
            infos[f] = ":".join(str(c) for c in range(len(codes))) or "none"
    return infos


def importances(e, names):
    """Return the lines of the split counts of the columns, largest first."""
    counts = np.bincount(e.feature[e.left >= 0], minlength=e.n_features)
    order = np.argsort(-counts, kind="stable")
    return ["feature_importances:", *(f"{names[f]}={counts[f]}" for f in order if counts[f])]


def tree_text(plain, t, place):
    """Return the block of one tree."""
    e = plain.ensemble
    nodes = np.arange(e.offsets[t], e.offsets[t + 1])
    is_leaf = e.left[nodes] < 0
    inner, leaves = nodes[~is_leaf], nodes[is_leaf]
    number = np.empty(len(nodes), np.int64)
    number[~is_leaf] = np.arange(len(inner))
    number[is_leaf] = ~np.arange(len(leaves))
    is_categorical = e.categories[inner] >= 0
    sets = [words_of(codes_of(e, k)) for k in e.categories[inner[is_categorical]].tolist()]
    ends = np.nan_to_num(plain.ends[inner], nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    ends[is_categorical] = np.arange(len(sets))
    kinds = np.array([BITS_OF_KIND[Missing(kind)] for kind in e.missing[inner].tolist()], int)
    is_zero = e.missing[inner] == Missing.ZERO
    to_left = np.where(is_zero, e.default_left[inner], plain.nan_left[inner])
    decision = np.where(is_categorical, CATEGORICAL, kinds + DEFAULT_LEFT * to_left)
    cover = np.nan_to_num(e.cover)
    lines = {
        "num_leaves": [len(leaves)],
        "num_cat": [len(sets)],
        "split_feature": e.feature[inner],
        "split_gain": np.nan_to_num(e.gain[inner]),
        "threshold": ends,
        "decision_type": decision,
        "left_child": number[plain.left[inner] - nodes[0]],
        "right_child": number[plain.right[inner] - nodes[0]],
        "leaf_value": plain.value[leaves, 0],
        "leaf_weight": cover[leaves],
        "leaf_count": np.round(cover[leaves]).astype(np.int64),
        "internal_value": np.nan_to_num(plain.value[inner, 0]),
        "internal_weight": cover[inner],
        "internal_count": np.round(cover[inner]).astype(np.int64),
    }
    if sets:
        lines["cat_boundaries"] = np.cumsum([0, *(len(words) for words in sets)])
        lines["cat_threshold"] = np.concatenate(sets)
    lines |= linear_lines(plain, leaves) | {"shrinkage": [1]}
    body = [f"{name}={' '.join(text_of(v) for v in values)}" for name, values in lines.items()]
    return "\n".join([f"Tree={place}", *body, "", "", ""])


def linear_lines(plain, leaves):
    """Return the lines of linear leaves, the nodes ``leaves``; in LightGBM's order."""
    linear = plain.linear
    if linear is None:
        return {"is_linear": [0]}
    first, last = linear.start[leaves], linear.start[leaves + 1]
    terms = [np.arange(*span) for span in zip(first.tolist(), last.tolist(), strict=True)]
    terms = np.concatenate([np.empty(0, np.int64), *terms])
    return {
        "is_linear": [1],
        "leaf_const": linear.constant[leaves],
        "num_features": last - first,
        "leaf_features": linear.feature[terms],
        "leaf_coeff": linear.coefficient[terms],
    }


def words_of(codes):
    """Return the bit set of codes as 32-bit words, at least one."""
    words = np.zeros(int(codes.max(initial=0)) // WORD + 1, np.uint32)
    np.bitwise_or.at(words, codes // WORD, np.uint32(1) << (codes % WORD).astype(np.uint32))
    return words


def text_of(value):
    """Return a number as text with all digits; integers without a decimal point."""
    value = value.item() if isinstance(value, np.generic) else value
    whole = isinstance(value, float) and value.is_integer() and abs(value) < SHORT
    return repr(int(value)) if whole else repr(value)
