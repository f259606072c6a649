"""Reader of LightGBM's text model format.

All numbers are float64 and ``x <= threshold`` goes left. ``decision_type`` of a node is a bit set:
1 categorical, 2 missing values go left; the bits from bit 2 on are the missing type: 0 none (NaN is
read as zero), 1 zero, 2 NaN. Categories listed in a node go left, all others and NaN go right.
"""

import json

import numpy as np

from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.limits import MAX_CODES, check_features, check_outputs, integers
from algorithms.model_io.objectives import LIGHTGBM, link_of
from harness import LinearLeaves, Missing, Tree, TreeEnsemble

FIRST_LINE = "tree\n"
CATEGORICAL, DEFAULT_LEFT = 1, 2
ZERO_THRESHOLD = float(np.float32(1e-35))  # LightGBM drops smaller values before it predicts a row
KINDS = np.array([Missing.NAN_AS_ZERO, Missing.ZERO, Missing.NAN], np.uint8)
VERSIONS = ("v3", "v4")
MAX_DECISION = 2 << 2 | CATEGORICAL | DEFAULT_LEFT
MAX_WORD = (1 << 32) - 1  # one 32-bit word of a bit set
CATEGORY_COLUMNS = (
    "category_columns"  # our files: indices of the columns whose categories are listed
)
COLUMN_NAMES = "column_names"  # our files: the original names, if LightGBM's differ
TREES_END = "\nend of trees"


def read(text):
    """Return the `harness.TreeEnsemble` of a model, its column names and its categories.

    Parameters
    ----------
    text : str, as written by LightGBM 3 and 4

    Returns
    -------
    ensemble, list of names or None, and `categories_of` the training frame

    Raises
    ------
    ModelFileError
        If the model is not supported: averaged (rf), an unknown objective.
        Malformed text raises KeyError, TypeError, ValueError or IndexError.
    """
    trees, ended, rest = text.partition(TREES_END)
    if not ended:
        raise ModelFileError("its trees have no end: the file is incomplete")
    head, *blocks = trees.split("\nTree=")
    about = fields(head)
    if about["version"] not in VERSIONS:
        known = " and ".join(VERSIONS)
        raise ModelFileError(f"it has version {about['version']!r}; {known} are supported")
    if "average_output" in head.split("\n"):
        raise ModelFileError(
            "it is a LightGBM random forest (average_output), which is not supported"
        )
    objective, *options = about.get(
        "objective", "regression"
    ).split()  # absent if the objective was a function
    if "sqrt" in options:
        raise ModelFileError("its target is a square root (reg_sqrt), which is not supported")
    width = int(about["num_tree_per_iteration"])
    check_outputs(width, len(blocks))
    link = link_of(objective, LIGHTGBM)
    sigmoid = dict(o.split(":") for o in options if ":" in o).get("sigmoid", "1")
    n_classes = 2 if objective == "binary" else width if width > 1 else 0
    names = about["feature_names"].split(" ")
    n_features = check_features(int(about["max_feature_idx"]) + 1, names)
    ensemble = TreeEnsemble.join(
        [one_tree(fields(block), n_features) for block in blocks],
        n_features=n_features,
        output=np.arange(len(blocks)) % width,
        base=np.zeros(width),
        link=link,
        temperature=1.0 / float(sigmoid),
        zero_within=ZERO_THRESHOLD,
        classes=tuple(range(n_classes)),
        library="lightgbm",
        version=about["version"],
        cover_kind="rows",
    )
    if COLUMN_NAMES in about:
        names = names_of(json.loads(about[COLUMN_NAMES]), len(names))
    categories = categories_of(about, names, lists_of(rest))
    return ensemble, None if names == default_names(n_features) else names, categories


def objective_of(text):
    """Return the name of a model's objective, or None if it was a function."""
    return fields(text).get("objective", "").split(" ")[0] or None


def default_names(n_features):
    """Return LightGBM's default names of unnamed columns."""
    return [default_name(f) for f in range(n_features)]


def default_name(place):
    """Return LightGBM's default name of an unnamed column."""
    return f"Column_{place}"


def names_of(names, n_features):
    """Return the original column names; raise ModelFileError if they are invalid."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelFileError(f"its {COLUMN_NAMES} is not a list of texts")
    if len(names) != n_features:
        raise ModelFileError(
            f"it has {n_features} column names, but {len(names)} in {COLUMN_NAMES}"
        )
    return names


def fields(block):
    """Return the ``name=value`` lines of a block, up to its first empty line."""
    lines = block.split("\n\n", 1)[0].split("\n")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def lists_of(rest):
    """Return the lists of categories that follow the trees, [] if there are none."""
    _, separator, line = rest.rpartition(
        "\npandas_categorical:"
    )  # the last match: a column may have this name
    lists = (json.loads(line.split("\n", 1)[0]) if separator else None) or []
    if not isinstance(lists, list) or not all(isinstance(item, list) for item in lists):
        raise ModelFileError("its categories are not lists")
    return lists


def categories_of(about, names, lists):
    """Return column name → categories, or only the lists if their columns are ambiguous.

    LightGBM lists the categories of a frame's columns in order, without column names, including
    ordered categories, which are split as numbers, and constant columns. The columns are known if
    only one assignment of the lists to columns is possible.
    """
    infos = about["feature_infos"].split(" ")
    if len(infos) != len(names):
        raise ModelFileError(f"it describes {len(infos)} columns and names {len(names)}")
    if CATEGORY_COLUMNS in about:
        places = integers(
            about[CATEGORY_COLUMNS].split(), 0, len(names) - 1, CATEGORY_COLUMNS
        ).tolist()
    else:
        last = len(names) - 1
        places = first_places(infos, lists)
        backwards = first_places(infos[::-1], lists[::-1])
        if len(places) < len(lists) or places != [last - place for place in backwards][::-1]:
            return lists
    return {names[place]: own for place, own in zip(places, lists, strict=True)}


def first_places(infos, lists):
    """Return the first columns that fit the lists in order; fewer if some list does not fit."""
    places = []
    for place, info in enumerate(infos):
        if len(places) < len(lists) and can_be_codes(info, len(lists[len(places)])):
            places.append(place)
    return places


def can_be_codes(info, count):
    """Return whether a column can have the codes of ``count`` categories.

    Parameters
    ----------
    info : str, "none", the range of numbers as "[0:2.5]", or codes as "2:0:1"
    count : int
    """
    if info == "none":
        return True
    values = [float(value) for value in info.strip("[]").split(":")]
    if not info.startswith("["):
        return max(values) < max(1, count)
    return all(value.is_integer() and 0 <= value < count for value in values)


def one_tree(t, n_features):
    """Return one tree: inner nodes first, in LightGBM's order, then the leaves.

    Parameters
    ----------
    t : dict, name → text, the fields of the tree
    n_features : int
    """
    leaf_value = numbers(t["leaf_value"])
    n_leaves = int(t["num_leaves"])
    if n_leaves < 1 or len(leaf_value) != n_leaves:
        raise ModelFileError(f"a tree has {len(leaf_value)} leaf values, num_leaves is {n_leaves}")
    n_inner = n_leaves - 1

    def column(inner, leaf, fill=0.0):
        """Return the values of inner nodes and leaves, from the fields of these names."""
        values = np.full(n_inner + n_leaves, fill)
        if inner and n_inner:
            values[:n_inner] = check_count(n_inner, numbers(t[inner]), inner)
        if leaf and t.get(leaf):  # a tree of one leaf has no leaf_count
            values[n_inner:] = check_count(n_leaves, numbers(t[leaf]), leaf)
        return values

    def whole(name, low, high, fill):
        """Return the integers of inner nodes; leaves have ``fill``."""
        values = np.full(n_inner + n_leaves, fill, np.int64)
        if n_inner:
            given = integers(t[name].split(), low, high, f"{name} of a tree")
            values[:n_inner] = check_count(n_inner, given, name)
        return values

    decision = whole("decision_type", 0, MAX_DECISION, 0)
    children = {}
    for side in ("left_child", "right_child"):
        child = whole(side, -n_leaves, n_inner - 1, 0)
        child = np.where(child < 0, n_inner + ~child, child)  # a leaf is stored as ~number
        children[side] = np.where(np.arange(len(child)) < n_inner, child, -1)
    inner = np.arange(len(decision)) < n_inner
    return Tree(
        feature=whole("split_feature", 0, n_features - 1, -1),
        threshold=column("threshold", None),
        left=children["left_child"],
        right=children["right_child"],
        value=column("internal_value", "leaf_value")[:, None],
        default_left=inner & (decision & DEFAULT_LEFT > 0) & (decision & CATEGORICAL == 0),
        missing=np.where(decision & CATEGORICAL, Missing.NAN, KINDS[decision >> 2]),
        gain=column("split_gain", None),
        cover=column("internal_count", "leaf_count"),
        sets=category_sets(t, decision),
        linear=linear_leaves(t, n_inner, n_leaves, n_features),
    )


def linear_leaves(t, n_inner, n_leaves, n_features):
    """Return the `harness.LinearLeaves` of a tree, or None if its leaves are constant."""
    if t.get("is_linear", "0") == "0":
        return None
    constant = np.zeros(n_inner + n_leaves)
    constant[n_inner:] = check_count(n_leaves, numbers(t["leaf_const"]), "leaf_const")
    counts = integers(t["num_features"].split(), 0, n_features, "num_features")
    check_count(n_leaves, counts, "num_features")
    n_terms = int(counts.sum())
    feature = integers(t["leaf_features"].split(), 0, n_features - 1, "leaf_features of a tree")
    check_count(n_terms, feature, "leaf_features")
    coefficient = check_count(n_terms, numbers(t["leaf_coeff"]), "leaf_coeff")
    sizes = np.concatenate([[0], np.zeros(n_inner, np.int64), counts])
    return LinearLeaves(constant, np.cumsum(sizes), feature, coefficient)


def check_count(wanted, values, name):
    """Return the values; raise ModelFileError if their number is wrong."""
    if len(values) != wanted:
        raise ModelFileError(f"a tree has {len(values)} entries of {name}, not {wanted}")
    return values


def category_sets(t, decision):
    """Return the categories that go left at each categorical split."""
    nodes = np.flatnonzero(decision & CATEGORICAL).tolist()
    if not nodes:
        return {}
    words = integers(t["cat_threshold"].split(), 0, MAX_WORD, "cat_threshold").astype("<u4")
    bounds = integers(t["cat_boundaries"].split(), 0, len(words), "cat_boundaries")
    if (bounds[1:] < bounds[:-1]).any() or (bounds[1:] > bounds[:-1] + MAX_CODES // 32).any():
        raise ModelFileError(
            "cat_boundaries are not ascending, or a set of categories is too large"
        )
    thresholds = t["threshold"].split()
    numbers_of_sets = [int(float(thresholds[node])) for node in nodes]
    integers(numbers_of_sets, 0, len(bounds) - 2, "the threshold of a categorical split")
    if len(set(numbers_of_sets)) < len(nodes):
        raise ModelFileError("two nodes of a tree refer to the same set of categories")
    sets = {}
    for node, number in zip(nodes, numbers_of_sets, strict=True):
        bitset = words[bounds[number] : bounds[number + 1]]
        sets[node] = (np.flatnonzero(np.unpackbits(bitset.view(np.uint8), bitorder="little")), True)
    return sets


def numbers(text):
    """Return a line of numbers as a float64 array."""
    return np.array(text.split(), np.float64)
