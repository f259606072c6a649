"""Writer of CatBoost's JSON model format.

CatBoost rounds X to float32 and compares ``x > border``; it adds the bias last. Its JSON reader
(rapidjson without full precision) computes a number as digits · 10^exponent in float64. That misses
the last bit of many numbers in their usual text, so `exact_text` searches for a text that both this
computation and a correct reader give the same number.
"""

import json
import math

import numpy as np

from algorithms.model_io.catboost_categories import FLOAT, CategoricalSplits
from algorithms.model_io.catboost_reader import LINKS, MAX_DEPTH, NODES, TREES
from algorithms.model_io.errors import ModelFileError, check_name
from algorithms.model_io.full_trees import leaf_order
from algorithms.model_io.summed_trees import refuse_linear
from algorithms.prediction.node_rules import last_single
from harness import Missing

USUAL = {"identity": "RMSE", "exp": "Poisson", "sigmoid": "Logloss", "softmax": "MultiClass"}
LABEL_TYPES = {
    "b": "String",
    "i": "Integer",
    "u": "Integer",
    "f": "Float",
    "U": "String",
    "O": "String",
}
DIGITS, TRIED = 16, 40  # digits of a number's first text, and number of exponents
MAX_EXPONENT = 308  # of a power of ten in float64
PARTS = 8  # of half the distance to the next number
STEPS = sorted(range(1 - PARTS, PARTS), key=abs)
NEEDS_PARAMETER = ("Quantile", "Huber", "Expectile", "Tweedie")


def write(ensemble, *, objective=None, names=None, attributes=None, labels=None, derived=None):
    """Return the JSON text of a model.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    objective : str, optional
        CatBoost's loss_function; by default the usual one of the link.
    names : list of str, optional
        Column names.
    attributes : dict of str to str, optional
        Attributes that CatBoost stores with the model but does not use.
    labels : array (n_classes,), optional
        Class labels; 0, 1, … by default.
    derived : dict, optional
        JSON values of the columns derived from categorical ones, with hashes of the levels.

    Raises
    ------
    ModelFileError
        If CatBoost's format cannot store the model.
    """
    refuse_linear(ensemble)
    check_rules(ensemble)
    for column in names or []:
        check_name(str(column), "CatBoost's format")
    numbers_of_trees = range(ensemble.n_trees)
    trees = [read_levels(ensemble, t) for t in numbers_of_trees]
    is_symmetric = all(tree is not None for tree in trees)
    if not is_symmetric:
        trees = [read_nodes(ensemble, t) for t in numbers_of_trees]
    describe = describe_tree if is_symmetric else describe_nodes
    info, data, splits = describe_features(ensemble, trees, names, derived)
    params = {"loss_function": describe_loss(ensemble, objective)}
    params["flat_params"] = {"loss_function": params["loss_function"]["type"]}
    base = np.where(ensemble.base == 0.0, 0.0, ensemble.base)
    about = {"params": params, "output_options": "{}", **(attributes or {})}
    if ensemble.classes:
        about["class_params"] = describe_classes(ensemble, labels)
    if not all(np.isfinite(tree[3]).all() for tree in trees) or not np.isfinite(base).all():
        raise ModelFileError("CatBoost's format has no infinite or missing leaf values")
    parts = {
        "features_info": to_text(info),
        "model_info": to_text(about),
        "scale_and_bias": f"[1,{number_list(base)}]",
        TREES if is_symmetric else NODES: f"[{','.join(describe(own, splits) for own in trees)}]",
    }
    if data:
        parts["ctr_data"] = to_text(data)
    return "{" + ",".join(f'"{name}":{text}' for name, text in parts.items()) + "}"


def to_text(value):
    """Return a value as JSON; raise ModelFileError if a border is infinite."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise ModelFileError("CatBoost's format has no infinite borders") from None


def number_list(values):
    """Return a list of float64 numbers as JSON."""
    return f"[{','.join(exact_text(value) for value in values.tolist())}]"


def exact_text(value):
    """Return a text of a number that CatBoost's reader reads exactly.

    It has whole digits and a negative exponent. Digits that a correct reader rounds to ``value``
    are tried for several exponents. If none fits, the usual text is returned.
    """
    if value.is_integer():
        return repr(value)
    is_negative, size = value < 0.0, abs(value)
    top, bottom = size.as_integer_ratio()
    half_top, half_bottom = (math.ulp(size) / 2.0).as_integer_ratio()
    first = max(DIGITS - math.frexp(value)[1] * 3 // 10, 0)  # log10(2) is about 3 / 10
    for k in range(first, min(first + TRIED, MAX_EXPONENT + 1)):
        power = 10**k
        middle, half = top * power // bottom, half_top * power // half_bottom
        for step in STEPS:
            digits = str(middle + half * step // PARTS)
            text = f"{'-' * is_negative}{digits}e-{k}"
            read = read_digits(digits, is_negative=is_negative) / float(power)
            if read == size and float(text) == value:
                return text
    return repr(value)


def read_digits(digits, *, is_negative):
    """Return the float64 of whole digits as CatBoost's reader computes it.

    It keeps an integer as long as the next digit fits into 64 bits.
    """
    limit = (1 << (63 if is_negative else 64)) // 10
    count = next((i for i in range(18, len(digits)) if int(digits[:i]) >= limit), len(digits))
    number = float(int(digits[:count]))
    for digit in digits[count:]:
        number = number * 10.0 + int(digit)
    return number


def check_rules(e):
    """Raise ModelFileError if an ensemble does not predict as CatBoost does."""
    rules = e.comparison, e.combination, e.input_dtype, str(e.sum_dtype)
    has_order = not e.base_first or not e.base.any()
    is_plain = not len(e.set_codes) and not (e.categories >= 0).any() and not e.zero_within
    inner = e.left >= 0
    is_plain &= bool((e.missing[inner] == Missing.NAN).all()) and np.isnan(e.missing_value)
    is_plain &= e.temperature == 1.0 and not e.output.any() and e.value.shape[1] == e.n_outputs
    if rules != ("<=", "sum", "float32", "float64") or not has_order or not is_plain:
        raise ModelFileError(
            "CatBoost's format stores sums of trees of numeric columns that are compared "
            "as float32 by x <= border; this model has other rules"
        )


def read_levels(e, t):
    """Return a symmetric tree: features, borders, whether NaN goes left, values and weights.

    The values and weights are those of the leaves, in the order of their indices. The result is
    None if the tree is not symmetric.
    """
    level, splits = np.array([e.offsets[t]]), []
    while e.left[level[0]] >= 0:
        rules = e.feature[level], e.threshold[level], e.default_left[level]
        if (e.left[level] < 0).any() or any((rule != rule[0]).any() for rule in rules):
            return None
        splits.append(tuple(rule[0] for rule in rules))
        if len(splits) > MAX_DEPTH:
            return None
        level = np.column_stack([e.left[level], e.right[level]]).ravel()
    if (e.left[level] >= 0).any():
        return None
    order = leaf_order(len(splits))
    values, weights = np.empty((len(level), e.n_outputs)), np.empty(len(level))
    values[order], weights[order] = e.weight[t] * e.value[level], e.cover[level]
    features, borders, nan_left = ([s[i] for s in splits] for i in range(3))
    return (
        np.array(features, np.int64),
        last_single(np.array(borders, np.float64)) + np.float32(0.0),  # no negative zero
        np.array(nan_left, bool),
        values,
        weights,
    )


def read_nodes(e, t):
    """Return a tree by nodes: the same as `read_levels`, and left and right children.

    Children are numbered within the tree; those of leaves are −1. The entries of a leaf in
    features, borders and sides have no meaning.
    """
    span = slice(e.offsets[t], e.offsets[t + 1])
    left, right = (
        np.where(own < 0, -1, own - e.offsets[t]) for own in (e.left[span], e.right[span])
    )
    return (
        e.feature[span].astype(np.int64),
        last_single(e.threshold[span]) + np.float32(0.0),  # no negative zero
        e.default_left[span],
        np.where((left < 0)[:, None], e.weight[t] * e.value[span], 0.0),
        e.cover[span],
        left,
        right,
    )


def describe_features(e, trees, names, derived):
    """Return the entries of a file that describe the columns, and its splits.

    Returns
    -------
    info : dict, `features_info`
    data : dict, `ctr_data`
    splits : dict, (column, border) → split of the file
    """
    if derived is None:
        index = {column: column for column in range(e.n_features)}
        borders, sides = collect_borders(trees, index)
        saved, splits = describe_columns(index, borders, sides, names)
        return {"float_features": saved}, {}, splits
    categorical = CategoricalSplits(derived, e.n_features)
    borders, sides = collect_borders(trees, categorical.float_index)
    for column, border, right in categorical.numeric_parts():
        borders[column].add(border)
        sides[column].add(not right)
    for features, own, *_ in trees:
        for column, border in zip(features.tolist(), own.tolist(), strict=True):
            if column >= categorical.n_features:
                categorical.add(column, border)
    saved, splits = describe_columns(categorical.float_index, borders, sides, names)
    info, data, others = categorical.describe(len(splits), names)
    return {"float_features": saved, **info}, data, {**splits, **others}


def collect_borders(trees, columns):
    """Return the borders of numeric columns, and whether missing values are on the left.

    Parameters
    ----------
    trees : list of tuples, as `read_levels` or `read_nodes` returns them
    columns : iterable of int, the numeric columns

    Returns
    -------
    borders : dict, column → set of float
    sides : dict, column → set of bool, of all splits
    """
    borders, sides = ({column: set() for column in columns} for _ in range(2))
    for features, own, is_left, *_ in trees:
        for column, border, left in zip(features.tolist(), own.tolist(), is_left, strict=True):
            if column in borders:
                borders[column].add(border)
                sides[column].add(bool(left))
    return borders, sides


def describe_columns(index, borders, sides, names):
    """Return the numeric columns of the file, and their splits.

    Parameters
    ----------
    index : dict, column → number among the numeric columns
    borders, sides : as `collect_borders` returns them
    names : list of str, names of all columns; or None
    """
    if any(len(own) == 2 for own in sides.values()):
        raise ModelFileError(
            "in CatBoost's format missing values of a column are on one side of all splits"
        )
    saved, splits = [], {}
    for column, number in index.items():
        for border in sorted(borders[column]):
            splits[column, border] = {
                "border": border,
                "float_feature_index": number,
                "split_index": len(splits),
                "split_type": FLOAT,
            }
        saved.append(describe_column(borders[column], sides[column], (number, column), names))
    return saved, splits


def describe_column(borders, sides, places, names):
    """Return a numeric column of the file.

    Parameters
    ----------
    borders : set of float
    sides : set of bool, whether missing values are on the left of a split
    places : (int, int), number among the numeric columns and among all
    names : list of str, names of all columns; or None
    """
    treatment = {(): "AsIs", (False,): "AsTrue", (True,): "AsFalse"}[tuple(sides)]
    return {
        "borders": sorted(borders),
        "feature_id": str(names[places[1]]) if names else "",
        "feature_index": places[0],
        "flat_feature_index": places[1],
        "has_nans": treatment != "AsIs",
        "nan_value_treatment": treatment,
    }


def describe_tree(tree, splits):
    """Return a tree of the file as JSON.

    Parameters
    ----------
    tree : tuple, as `read_levels` returns it
    splits : dict, (column, border) → split of the file
    """
    features, borders, _, values, weights = tree
    pairs = zip(features.tolist(), borders.tolist(), strict=True)
    saved = {"splits": [splits[pair] for pair in pairs] or None}
    if np.isfinite(weights).all():
        saved["leaf_weights"] = weights.tolist()
    return f'{{"leaf_values":{number_list(values.ravel())},{to_text(saved)[1:]}'


def describe_nodes(tree, splits):
    """Return a tree of nested nodes as JSON.

    Parameters
    ----------
    tree : tuple, as `read_nodes` returns it
    splits : dict, (column, border) → split of the file
    """
    features, borders, _, values, weights, left, right = tree
    has_weights = np.isfinite(weights).all()
    texts = [""] * len(features)
    for node in range(len(texts) - 1, -1, -1):  # children before their parents
        if left[node] < 0:
            own = values[node]
            value = exact_text(float(own[0])) if len(own) == 1 else number_list(own)
            weight = f',"weight":{float(weights[node])!r}' if has_weights else ""
            texts[node] = f'{{"value":{value}{weight}}}'
        else:
            split = splits[int(features[node]), float(borders[node])]
            sides = texts[left[node]], texts[right[node]]
            texts[node] = '{{"left":{},"right":{},"split":{}}}'.format(*sides, to_text(split))
    return texts[0]


def describe_loss(e, objective):
    """Return the loss_function of the file; raise ModelFileError if there is none."""
    name, _, options = (objective or USUAL.get(e.link, "")).partition(":")
    if LINKS.get(name) != e.link or (name in NEEDS_PARAMETER and not options):
        name, options = USUAL.get(e.link, ""), ""
    n_classes = len(e.classes)
    fits = {"RMSE": 0, "Poisson": 0, "Logloss": 2, "CrossEntropy": n_classes}.get(name)
    if not name or (fits is not None and fits != n_classes):
        raise ModelFileError(
            f"CatBoost has no loss that turns {e.n_outputs} scores with {e.link} into "
            f"{n_classes} classes"
        )
    params = dict(one.split("=", 1) for one in options.split(";") if "=" in one)
    return {"params": params, "type": name}


def describe_classes(e, labels):
    """Return the class_params of the file."""
    labels = np.arange(len(e.classes)) if labels is None else np.asarray(labels)
    kind = LABEL_TYPES.get(labels.dtype.kind)
    values = [str(one) for one in labels] if labels.dtype.kind == "b" else labels.tolist()
    if kind is None or (kind == "String" and not all(isinstance(one, str) for one in values)):
        raise ModelFileError(f"CatBoost's format cannot store class labels of type {labels.dtype}")
    return {
        "class_label_type": kind,
        "class_names": values,
        "class_to_label": list(range(len(values))),
        "classes_count": 0,
    }
