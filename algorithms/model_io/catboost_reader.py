"""Reader of CatBoost's JSON model format.

X is rounded to float32. A value above a border sets the bit of the split. The first split of a tree
is the lowest bit of the leaf's index. Leaves are float64 and summed in the order of the trees; the
bias is added last. CatBoost reads a split by its number among all borders (`split_index`), and so
does this reader.
"""

import numpy as np

from algorithms.model_io.catboost_categories import (
    FLOAT,
    ONE_HOT,
    STATISTIC,
    CategoricalFeatures,
)
from algorithms.model_io.catboost_nodes import read_tree
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.full_trees import leaf_order, node_weights
from algorithms.model_io.limits import MAX_FEATURES, MAX_OUTPUTS, check_features, integers
from harness import Missing, Tree, TreeEnsemble

TREES, NODES, FEATURES = "oblivious_trees", "trees", "features_info"
MAX_DEPTH = 16  # CatBoost's limit
LINKS = {
    "RMSE": "identity",
    "MAE": "identity",
    "MAPE": "identity",
    "Quantile": "identity",
    "Huber": "identity",
    "Expectile": "identity",
    "LogCosh": "identity",
    "YetiRank": "identity",
    "PairLogit": "identity",
    "Poisson": "exp",
    "Tweedie": "exp",
    "Logloss": "sigmoid",
    "CrossEntropy": "sigmoid",
    "MultiClass": "softmax",
}
LABEL_TYPES = {"Integer": (int, "<i8"), "Float": (float, "<f8"), "String": (str, "U")}
OTHER_FEATURES = ("text_features", "embedding_features")


def is_catboost(document):
    """Return whether a JSON document looks like a model of CatBoost."""
    return FEATURES in document or TREES in document


def read(document):
    """Return the trees of a model, its column names, and its derived columns.

    Parameters
    ----------
    document : dict

    Returns
    -------
    ensemble : harness.TreeEnsemble
    names : list of str, or None
    derived : dict, the columns derived from categorical ones, as JSON values; or None

    Raises
    ------
    ModelFileError
        If the model has text or embedding columns, or an unknown loss. Malformed data raises
        KeyError, TypeError, ValueError or IndexError.
    """
    info = document[FEATURES]
    for name in OTHER_FEATURES:
        if info.get(name):
            raise ModelFileError(f"it has {name}; only numeric and categorical columns can be read")
    if TREES not in document and NODES not in document:
        raise ModelFileError("it has no trees")
    name = loss_of(document).partition(":")[0]
    if name not in LINKS:
        raise ModelFileError(f"the loss_function {name!r} is not supported")
    scale, bias = document.get("scale_and_bias", (1.0, [0.0]))
    bias = np.array(bias, np.float64, ndmin=1)
    if bias.ndim != 1 or not 1 <= len(bias) <= MAX_OUTPUTS:
        raise ModelFileError("its bias is not a list of numbers")
    features, derived = read_features(document)
    read_one = one_tree if TREES in document else read_tree
    saved = document.get(TREES, document.get(NODES)) or []
    trees = [read_one(tree, features, len(bias), float(scale)) for tree in saved]
    leaves = [tree.value[tree.feature < 0] for tree in trees]
    if not all(np.isfinite(values).all() for values in [bias, *leaves]):
        raise ModelFileError("its bias or a leaf value is infinite or missing")
    labels = labels_of(document)
    n_classes = len(labels["values"]) if labels else 2 if name == "Logloss" else 0
    if n_classes and n_classes != max(len(bias), 2):
        raise ModelFileError(f"it has {n_classes} classes but {len(bias)} scores per row")
    if LINKS[name] == "softmax" and not n_classes:
        n_classes = len(bias)
    ensemble = TreeEnsemble.join(
        trees,
        n_features=features.count,
        base=bias,
        base_first=False,
        link=LINKS[name],
        input_dtype="float32",
        classes=tuple(range(n_classes)),
        library="catboost",
        version="",
        cover_kind="weight",
    )
    return ensemble, features.names, derived


def read_features(document):
    """Return the `NumericFeatures` of a file, and its derived columns as JSON values or None."""
    info = document[FEATURES]
    features = NumericFeatures(info.get("float_features") or [])
    saved = info.get("categorical_features") or []
    if not saved:
        if info.get("ctrs"):
            raise ModelFileError("it has ctrs but no categorical_features")
        return features, None
    categorical = CategoricalFeatures(document, features)
    features.add_categorical(categorical, [one.get("feature_id") for one in saved])
    n_features = features.count - len(categorical.features)
    return features, categorical.describe(n_features)


def loss_of(document):
    """Return the loss, such as "Quantile:alpha=0.9"; raise ModelFileError if it is not stored."""
    try:
        loss = document["model_info"]["params"]["loss_function"]
        name, given = loss["type"], loss.get("params") or {}
        options = [f"{key}={given[key]}" for key in given if not key.startswith("__")]
    except (KeyError, TypeError, AttributeError):
        raise ModelFileError("its loss_function is not stored") from None
    if not isinstance(name, str):
        raise ModelFileError("the name of its loss_function is not text")
    return f"{name}:{';'.join(options)}" if options else name


def labels_of(document):
    """Return the class labels as our formats store them: dtype and values; or None."""
    about = document["model_info"].get("class_params") or {}
    values = about.get("class_names")
    if not values:
        return None
    kind, dtype = LABEL_TYPES.get(about.get("class_label_type"), (None, None))
    if kind is None:
        raise ModelFileError(f"class labels of type {about.get('class_label_type')!r:.40}")
    values = [float(value) if kind is float else value for value in values]
    if any(type(value) is not kind for value in values):
        raise ModelFileError("the class labels do not have the type that the file declares")
    if kind is int:
        integers(values, -(2**63), 2**63 - 1, "class_names")
    return {"dtype": dtype, "values": values}


def attribute_of(document, name):
    """Return an attribute of the model, or None."""
    return document.get("model_info", {}).get(name)


class NumericFeatures:
    """Columns and borders of a model.

    Parameters
    ----------
    saved : list of dict, `float_features` of a file
    """

    def __init__(self, saved):
        columns = [one["flat_feature_index"] for one in saved]
        self.columns = integers(columns, 0, MAX_FEATURES - 1, "flat_feature_index")
        self.indices = [one.get("feature_index") for one in saved]
        if len(set(columns)) < len(columns):
            raise ModelFileError("two features have the same flat_feature_index")
        self.count = check_features(int(self.columns.max(initial=-1)) + 1, None)
        borders = [np.array(one["borders"] or [], np.float32) for one in saved]
        if any(own.ndim != 1 or np.isnan(own).any() for own in borders):
            raise ModelFileError("the borders of a feature are not a list of numbers")
        self.borders = np.concatenate([np.empty(0, np.float32), *borders])
        self.types = np.full(len(self.borders), FLOAT, dtype=object)
        self.feature_of = np.repeat(np.arange(len(saved)), [len(own) for own in borders])
        self.nan_right = np.array(
            [bool(one["has_nans"]) and one["nan_value_treatment"] == "AsTrue" for one in saved],
            bool,
        )
        ids = [one.get("feature_id") for one in saved]
        self.ids = dict(zip(self.columns.tolist(), ids, strict=True))

    @property
    def names(self):
        """Column names in order, list of str; None if not all columns have one."""
        if len(self.ids) < self.count or not all(isinstance(one, str) for one in self.ids.values()):
            return None
        names = [self.ids[column] for column in range(self.count)]
        return names if names and all(names) else None

    def add_categorical(self, categorical, ids):
        """Add the categorical columns and those derived from them.

        Parameters
        ----------
        categorical : CategoricalFeatures
        ids : list of str, names of the categorical columns in the order of the file
        """
        n_derived, n_known = len(categorical.features), len(self.columns)
        first = max(self.count, categorical.columns[-1] + 1)
        self.count = check_features(first + n_derived, None)
        self.ids.update(zip(categorical.column_of.values(), ids, strict=True))
        self.ids.update({first + i: f"derived {i}" for i in range(n_derived)})
        borders = [np.array(own, np.float32) for own in categorical.borders]
        if any(own.ndim != 1 or np.isnan(own).any() for own in borders):
            raise ModelFileError("the borders of a statistic are not a list of numbers")
        sizes = [len(own) for own in borders]
        n_indicators = categorical.n_indicators
        types = [ONE_HOT] * n_indicators + [STATISTIC] * sum(sizes[n_indicators:])
        self.types = np.append(self.types, np.array(types, object))
        self.columns = np.append(self.columns, np.arange(first, self.count))
        self.borders = np.concatenate([self.borders, *borders])
        self.feature_of = np.append(
            self.feature_of, np.repeat(n_known + np.arange(n_derived), sizes)
        )
        self.nan_right = np.append(self.nan_right, np.zeros(n_derived, bool))

    def read_numbers(self, splits):
        """Return the numbers of splits of a tree, int64.

        Parameters
        ----------
        splits : list of dict
        """
        numbers = [split["split_index"] for split in splits]
        numbers = integers(numbers, 0, len(self.borders) - 1, "split_index")
        types = [split.get("split_type", FLOAT) for split in splits]
        if types != self.types[numbers].tolist():
            raise ModelFileError("a split has another split_type than its split_index")
        return numbers


def one_tree(saved, features, n_scores, scale):
    """Return a symmetric tree as a full tree: the children of node i are 2i + 1 and 2i + 2.

    Parameters
    ----------
    saved : dict, a tree of the file
    features : NumericFeatures
    n_scores : int
    scale : float, factor of the leaf values
    """
    splits = saved.get("splits") or []
    depth = len(splits)
    if depth > MAX_DEPTH:
        raise ModelFileError(f"a tree has {depth} splits; at most {MAX_DEPTH} are possible")
    numbers = features.read_numbers(splits)
    n_leaves = 1 << depth
    order = leaf_order(depth)
    values = np.array(saved["leaf_values"], np.float64)
    if values.shape != (n_leaves * n_scores,):
        raise ModelFileError(f"a tree of {n_leaves} leaves has {values.size} leaf values")
    value = np.full((2 * n_leaves - 1, n_scores), np.nan)
    value[n_leaves - 1 :] = values.reshape(n_leaves, n_scores)[order] * scale
    level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    feature = features.feature_of[numbers][level]
    inner, leaf = np.arange(n_leaves - 1), np.full(n_leaves, -1)
    return Tree(
        feature=np.append(features.columns[feature], leaf).astype(np.int32),
        threshold=np.append(features.borders[numbers][level], np.zeros(n_leaves)),
        left=np.append(2 * inner + 1, leaf).astype(np.int32),
        right=np.append(2 * inner + 2, leaf).astype(np.int32),
        value=value,
        default_left=np.append(~features.nan_right[feature], np.zeros(n_leaves, bool)),
        missing=np.full(len(value), Missing.NAN, np.uint8),
        cover=covers(saved.get("leaf_weights"), order),
    )


def covers(weights, order):
    """Return the weight of each node, or None if the file has none.

    Parameters
    ----------
    weights : list of numbers, in the order of the leaves' indices; or None
    order : int64 (n_leaves,), index of each leaf from left to right
    """
    if not weights:
        return None
    weights = np.array(weights, np.float64)
    if weights.shape != order.shape:
        raise ModelFileError(f"a tree of {len(order)} leaves has {weights.size} leaf weights")
    return node_weights(weights[order])
