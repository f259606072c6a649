"""Export of a CatBoost model as a TreeEnsemble, read from its JSON format.

X is rounded to float32. A value above a border, or a category equal to the split's category, goes
right. Leaves are float64, and the bias is added last. Symmetric trees are expanded into full trees,
level by level; other trees are read by `model_io.catboost_reader`, for numeric columns only.
Category statistics (CTRs) have no threshold on a column of X, so a model with CTRs cannot be
exported.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import catboost
import numpy as np

from algorithms.model_io import catboost_reader
from algorithms.model_io.errors import ModelFileError
from algorithms.reference._codes import codes_of_labels
from algorithms.reference._errors import not_exportable
from algorithms.reference._nodes import symmetric_nodes
from harness import Missing, Tree, TreeEnsemble

LINKS = {
    "RMSE": "identity",
    "MAE": "identity",
    "Quantile": "identity",
    "Huber": "identity",
    "Poisson": "exp",
    "Tweedie": "exp",
    "Logloss": "sigmoid",
    "CrossEntropy": "sigmoid",
    "MultiClass": "softmax",
    "YetiRank": "identity",
    "PairLogit": "identity",
}
MAX_CODE = 1 << 20  # largest code that is tried; hashes of other values are not found


def export(model):
    """Return a fitted model's trees; raise HarnessError if they cannot be exported."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json")
        saved = json.loads(path.read_text(encoding="utf-8"))
    loss = model.get_all_params()["loss_function"].split(":")[0]
    if loss not in LINKS:
        raise not_exportable(f"the loss {loss} cannot be written as a TreeEnsemble")
    if catboost_reader.TREES not in saved:
        return read_other_trees(model, saved)
    scale, bias = saved["scale_and_bias"]
    features = saved["features_info"]
    feature_map = Features(features)
    trees = [one_tree(t, feature_map, len(bias)) for t in saved["oblivious_trees"]]
    return TreeEnsemble.join(
        trees,
        n_features=len(model.feature_names_),
        weight=np.full(len(trees), float(scale)),
        base=np.array(bias, np.float64),
        base_first=False,
        link=LINKS[loss],
        input_dtype="float32",
        classes=codes_of_labels(model.classes_),
        library="catboost",
        version=catboost.__version__,
        cover_kind="weight",
    )


def read_other_trees(model, saved):
    """Return the trees of a model with ``grow_policy`` Depthwise, Lossguide or Region."""
    try:
        ensemble, _, derived = catboost_reader.read(saved)
    except (ModelFileError, KeyError) as error:
        raise not_exportable(error) from error
    if derived is not None:
        raise not_exportable("it has categorical_features")
    return replace(ensemble, classes=codes_of_labels(model.classes_), version=catboost.__version__)


class Features:
    """The column of X of each feature in a split, and the category code of each hash."""

    def __init__(self, info):
        numeric = info.get("float_features", [])
        self.numeric = {f["feature_index"]: f["flat_feature_index"] for f in numeric}
        self.nan_right = {
            f["flat_feature_index"] for f in numeric if f["nan_value_treatment"] == "AsTrue"
        }
        categorical = info.get("categorical_features", [])
        self.categorical = {f["feature_index"]: f["flat_feature_index"] for f in categorical}
        self.codes = codes_of({h for f in categorical for h in f.get("values", ())})

    def split(self, split):
        """Return column, threshold, default side and category set of one split."""
        if split["split_type"] == "FloatFeature":
            column = self.numeric[split["float_feature_index"]]
            return column, split["border"], column not in self.nan_right, None
        if split["split_type"] != "OneHotFeature":
            kind = split["split_type"]
            raise not_exportable(f"a split on {kind}, a category statistic")
        if split["value"] not in self.codes:
            raise not_exportable("a category's code is unknown")
        code = self.codes[split["value"]]
        column = self.categorical[split["cat_feature_index"]]
        return column, 0.0, code != -1, ([] if code == -1 else [code], False)


def codes_of(hashes):
    """Return the category code of each hash; the smallest one if several share it."""
    code_by_hash = {}
    for code in range(-1, MAX_CODE):
        if len(code_by_hash) == len(hashes):
            break
        value = category_hash(code)
        if value in hashes:
            code_by_hash.setdefault(value, code)
    return code_by_hash


def one_tree(saved, features, width):
    """Return a symmetric tree as a full tree: the children of node i are 2i + 1 and 2i + 2."""
    splits = [features.split(s) for s in saved.get("splits") or []]
    depth = len(splits)
    level, left, right = symmetric_nodes(depth)
    n_inner, n_leaves = len(level), 2**depth
    # CatBoost's first split is the lowest bit of the leaf index.
    order = np.zeros(n_leaves, np.int64)
    for k in range(depth):
        order |= ((np.arange(n_leaves) >> (depth - 1 - k)) & 1) << k
    value = np.full((n_inner + n_leaves, width), np.nan)
    value[n_inner:] = np.reshape(saved["leaf_values"], (n_leaves, width))[order]
    cover = np.zeros(n_inner + n_leaves)
    cover[n_inner:] = np.array(saved["leaf_weights"], np.float64)[order]
    for node in range(n_inner - 1, -1, -1):
        cover[node] = cover[2 * node + 1] + cover[2 * node + 2]

    def column(which, leaf, dtype):
        """Return one field of each node's split, and a constant at the leaves."""
        inner_values = np.array([s[which] for s in splits], dtype)[level]
        return np.concatenate([inner_values, np.full(n_leaves, leaf, dtype)])

    return Tree(
        feature=column(0, -1, np.int32),
        threshold=column(1, 0.0, np.float64),
        left=left,
        right=right,
        value=value,
        default_left=column(2, False, bool),
        missing=np.full(len(value), Missing.NAN, np.uint8),
        cover=cover,
        sets={i: splits[k][3] for i, k in enumerate(level.tolist()) if splits[k][3] is not None},
    )


def category_hash(code):
    """Return CatBoost's hash of a category code: 32 bits of CityHash 1.0 of its decimal digits.

    The result is int32, as in CatBoost. Codes have at most 8 digits, so two branches of CityHash
    suffice.
    """
    text, mask = str(code).encode(), (1 << 64) - 1
    size, k2, k3 = len(text), 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
    if size >= 4:
        first, last = (int.from_bytes(part, "little") for part in (text[:4], text[-4:]))
        digest = _hash_16(size + (first << 3), last)
    else:
        y, z = text[0] + (text[size >> 1] << 8), size + (text[-1] << 2)
        mixed = (y * k2 ^ z * k3) & mask
        digest = (mixed ^ mixed >> 47) * k2 & mask
    return (digest & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


def _hash_16(u, v):
    """Return CityHash's hash of two 64-bit words."""
    mask, k = (1 << 64) - 1, 0x9DDFEA08EB382D69
    a = (u ^ v) * k & mask
    a ^= a >> 47
    b = (v ^ a) * k & mask
    b ^= b >> 47
    return b * k & mask
