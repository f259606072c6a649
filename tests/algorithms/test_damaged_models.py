"""Tests that models with invalid numbers are refused before anything is computed."""

import json
import pickle
import tracemalloc

import numpy as np
import pytest
from ensembles import random_ensemble

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    read_model,
    serve,
)
from algorithms.model_io import json_format, lightgbm_writer, xgboost_writer
from algorithms.model_io.errors import ModelFileError
from algorithms.prediction.predictor import FastPredictor
from algorithms.prediction.shap_values import contributions
from harness import HarnessError, Missing, Tree, TreeEnsemble

PLAIN = (int(Missing.NONE), int(Missing.NAN), int(Missing.NAN_AS_ZERO))
LARGE = (2**31 - 1, 2**31, 2**32 + 1, 2**63 - 1, 2**63, 2**64, -(2**31) - 1, -(2**63) - 1, 10**400)
MANY_FEATURES = 50_000_000
MAX_MEMORY = 1 << 24


def ensemble(**form):
    return random_ensemble(np.random.default_rng(1), **form)


def fields_of(trees):
    arrays = {name: np.array(value) for name, value in trees.to_arrays().items()}
    header = json.loads(str(arrays.pop("header")))
    return arrays | header


def stump(feature=0, sets=None):
    return Tree(
        np.array([feature, -1, -1], np.int32),
        np.zeros(3),
        np.array([1, -1, -1], np.int32),
        np.array([2, -1, -1], np.int32),
        np.arange(3.0)[:, None],
        sets=sets or {},
    )


def chain(depth):
    """Return a tree whose every left child is a leaf."""
    n, inner = 2 * depth + 1, np.arange(2 * depth + 1) % 2 == 0
    inner[-1] = False
    here = np.arange(n)
    return Tree(
        np.where(inner, 0, -1).astype(np.int32),
        -here.astype(float),
        np.where(inner, here + 1, -1).astype(np.int32),
        np.where(inner, here + 2, -1).astype(np.int32),
        np.ones((n, 1)),
    )


def write_damaged(path, form, change):
    """Write a model file of a format with one change; return the path."""
    if form == "lightgbm":
        trees = [stump(sets={0: ([1, 40], True)}), stump(1)]
        path.write_text(change(lightgbm_writer.write(TreeEnsemble.join(trees, n_features=2))))
        return path
    if form == "xgboost":
        options = {"comparison": "<", "input_dtype": "float32", "sum_dtype": "float32"}
        text = xgboost_writer.write(ensemble(tree={"kinds": PLAIN}, **options))
    else:
        text = json_format.write(ensemble())
    document = json.loads(text)
    change(document)
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("value", [v for v in LARGE if abs(v) < 2**64])
@pytest.mark.parametrize("name", ["output", "offsets", "set_indptr", "left", "right", "feature"])
def test_out_of_range_integers_of_a_caller_are_refused(name, value):
    given = fields_of(ensemble())
    for place in (0, len(given[name]) // 2, -1):
        changed = np.array(given[name].tolist(), object)
        changed[place] = value
        for dtype in (np.int64, np.uint64, np.float64):
            with np.errstate(invalid="ignore"):
                try:
                    values = changed.astype(dtype)
                except OverflowError:
                    continue
            if values[place] == given[name][place]:
                continue
            with pytest.raises(HarnessError, match="malformed"):
                TreeEnsemble(**given | {name: values})


@pytest.mark.parametrize("name", ["offsets", "set_indptr"])
def test_bounds_with_overflowing_differences_are_refused(name):
    given = fields_of(ensemble())
    last = given[name][-1]
    half = 2**63 - 1
    wrapping = np.array([0, half, -half, -1, last], np.int64)
    members = {"members_left": np.ones(4, bool)} if name == "set_indptr" else {}
    trees = {} if members else {"weight": np.ones(4), "output": np.zeros(4, np.int32)}
    assert (np.diff(wrapping) > 0).all()
    with pytest.raises(HarnessError, match="malformed"):
        TreeEnsemble(**given | {name: wrapping} | members | trees)


@pytest.mark.parametrize("name", ["temperature", "zero_within", "against", "n_features"])
@pytest.mark.parametrize("value", [10**400, np.inf, np.nan, -(10**400)])
def test_nonfinite_numbers_of_a_caller_are_refused(name, value):
    with pytest.raises(HarnessError, match="malformed"):
        TreeEnsemble(**fields_of(ensemble()) | {name: value})


@pytest.mark.parametrize("classes", [(0, None), (0, "a"), (0, 2**64), 5])
def test_classes_beyond_int64_are_refused(classes):
    with pytest.raises(HarnessError, match="class"):
        TreeEnsemble(**fields_of(ensemble()) | {"classes": classes})


@pytest.mark.parametrize("value", LARGE)
@pytest.mark.parametrize(
    ("form", "where"),
    [
        ("own", ("trees", "output", 0)),
        ("own", ("trees", "offsets", 1)),
        ("own", ("trees", "set_indptr", 1)),
        ("own", ("trees", "n_features")),
        ("own", ("version",)),
        ("xgboost", ("learner", "gradient_booster", "model", "tree_info", 0)),
        *(
            ("xgboost", ("learner", "gradient_booster", "model", "trees", 0, *inside))
            for inside in (
                ("left_children", 0),
                ("right_children", 0),
                ("split_indices", 0),
                ("default_left", 0),
                ("categories_nodes", 0),
                ("categories_segments", 0),
                ("categories_sizes", 0),
                ("categories", 0),
            )
        ),
        ("xgboost", ("learner", "learner_model_param", "num_feature")),
        ("xgboost", ("learner", "learner_model_param", "num_class")),
    ],
)
def test_out_of_range_integers_in_json_are_refused(form, where, value, tmp_path):
    if "split_indices" in where and value == 2**31 - 1:
        pytest.skip("XGBoost marks nodes that pruning cut off by this number")

    def change(document):
        *way, last = where
        for key in way:
            document = document[key]
        if isinstance(document, list) and not document:
            document.append(0)
        document[last] = str(value) if isinstance(document[last], str) else value

    with pytest.raises(ModelFileError):
        read_model(write_damaged(tmp_path / "m.json", form, change))


def changed_field(text, name, value):
    """Return LightGBM's text with the first number of a field replaced."""
    before, _, rest = text.partition(f"\n{name}=")
    line, _, rest = rest.partition("\n")
    return f"{before}\n{name}={' '.join([str(value), *line.split()[1:]])}\n{rest}"


@pytest.mark.parametrize("value", LARGE)
@pytest.mark.parametrize(
    "name",
    [
        "num_leaves",
        "split_feature",
        "decision_type",
        "left_child",
        "right_child",
        "cat_boundaries",
        "cat_threshold",
        "max_feature_idx",
        "num_tree_per_iteration",
    ],
)
def test_out_of_range_integers_in_lightgbm_text_are_refused(name, value, tmp_path):
    if name == "cat_threshold" and 0 <= value < 2**32:
        pytest.skip("a word of a bit set may be that")
    path = write_damaged(tmp_path / "m.txt", "lightgbm", lambda t: changed_field(t, name, value))
    with pytest.raises(ModelFileError):
        read_model(path)


def test_category_set_shared_by_two_nodes_is_refused(tmp_path):
    """Each node has a copy of its set: shared sets would use unbounded memory."""
    trees = TreeEnsemble.join([stump(sets={0: ([1], True)})], n_features=1)
    text = lightgbm_writer.write(trees)
    tree = {
        "num_leaves": "3",
        "num_cat": "1",
        "split_feature": "0 0",
        "split_gain": "1 1",
        "threshold": "0 0",
        "decision_type": "9 9",
        "left_child": "1 -1",
        "right_child": "-3 -2",
        "leaf_value": "1 2 3",
        "leaf_count": "1 1 1",
        "leaf_weight": "1 1 1",
        "internal_value": "0 0",
        "internal_count": "3 2",
        "internal_weight": "3 2",
    }
    for name, value in tree.items():
        before, result, rest = text.partition(f"\n{name}=")
        if result:
            text = f"{before}\n{name}={value}\n{rest.partition(chr(10))[2]}"
    (tmp_path / "m.txt").write_text(text)
    with pytest.raises(ModelFileError, match="same set"):
        read_model(tmp_path / "m.txt")


def peak_of(task):
    """Return the peak memory of a call, and its result or exception."""
    tracemalloc.start()
    try:
        result = task()
    except ModelFileError as error:
        result = error
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak, result


@pytest.mark.parametrize("form", ["own", "xgboost", "lightgbm"])
def test_many_features_need_no_memory_for_names(form, tmp_path):
    def change(document):
        if form == "lightgbm":
            return changed_field(document, "max_feature_idx", MANY_FEATURES)
        if form == "own":
            document["trees"]["n_features"] = MANY_FEATURES
        else:
            document["learner"]["learner_model_param"]["num_feature"] = str(MANY_FEATURES)
            document["learner"]["feature_names"] = []
        return None

    path = write_damaged(tmp_path / "m.json", form, change)
    peak, result = peak_of(lambda: read_model(path))
    assert peak < MAX_MEMORY
    assert isinstance(result, ModelFileError if form == "lightgbm" else TreeEnsemble)
    regressor = HistogramBoostingRegressor()
    peak, result = peak_of(lambda: regressor.load_model(path))
    assert peak < MAX_MEMORY


def test_deep_tree_beside_many_stumps_needs_memory_of_its_size():
    n_stumps, depth = 20_000, 5_000  # a table of trees × depths would take 800 MB
    trees = TreeEnsemble.join([chain(depth), *[stump()] * n_stumps], n_features=1)
    walker = FastPredictor(trees)
    peak, _ = peak_of(lambda: walker.packed)
    assert peak < 1 << 26
    X = np.array([[-1.5], [0.5], [-1e9]])
    assert np.array_equal(walker.raw(X), trees.raw(X))


def test_paths_of_a_tree_do_not_depend_on_other_trees():
    forest = [random_ensemble(np.random.default_rng(seed)) for seed in range(4)]
    for trees in forest:
        whole = FastPredictor(trees).packed.paths
        for t in range(trees.n_trees):
            alone = TreeEnsemble.join(
                [trees.tree(t)], n_features=trees.n_features, base=np.zeros(trees.n_outputs)
            )
            assert np.array_equal(FastPredictor(alone).packed.paths[0], whole[t])


def test_contributions_of_too_deep_trees_are_refused():
    depth = 6_000
    tree = chain(depth)
    asks = tree.feature >= 0
    feature = np.full(len(tree), -1, np.int32)
    feature[asks] = np.arange(depth)
    cover = np.linspace(2.0, 1.0, len(tree))
    deep = Tree(feature, tree.threshold, tree.left, tree.right, tree.value, cover=cover)
    trees = TreeEnsemble.join([deep], n_features=depth)
    with pytest.raises(ValueError, match="too much memory"):
        contributions(trees, np.zeros((1, depth)))


def test_text_in_a_list_of_numbers_needs_no_room_for_each(tmp_path):
    def change(document):
        document["trees"]["gain"] = ["NaN"] * 5000 + ["x" * 20_000]

    path = write_damaged(tmp_path / "m.json", "own", change)
    peak, result = peak_of(lambda: read_model(path))
    assert isinstance(result, ModelFileError)
    assert peak < MAX_MEMORY


def saved(kind, path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    kind(n_estimators=2).fit(X, np.array(["a", "b"])[(X[:, 0] > 0).astype(int)]).save_model(
        path, format="harness"
    )
    return json.loads(path.read_text()), X


@pytest.mark.parametrize("kind", [HistogramBoostingClassifier, NewtonBoostingClassifier])
@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("labels", "values"), ["a", None]),
        (("labels", "values"), ["a", "a"]),
        (("labels", "values"), ["a", ["b"]]),
        (("labels", "values"), ["a"]),
        (("labels", "dtype"), "<i1"),
        (("labels", "dtype"), 7),
        (("labels", "dtype"), "M8"),
        (("labels",), {"dtype": "<i1", "values": [0, 300]}),
        (("labels",), {"dtype": "<i8", "values": [0, 2**63]}),
        (("labels",), {"dtype": "<f8", "values": [0.0, 10**400]}),
        (("labels",), {"dtype": "?", "values": [0, 5]}),
        (("params", "parity"), -1),
        (("params", "n_estimators"), 2**63),
        (("params", "n_jobs"), "many"),
        (("facts",), {"best_iteration": "x", "best_iteration_": "x"}),
        (("facts",), {"evals_result_": 3, "_history": 3}),
        (("facts",), {"_stopped": 2**63, "n_iter_": None}),
        (("columns",), [1, 2, 3]),
        (("categories",), {"a": [[1], [2]]}),
        (("categories",), {"a": [1, 1]}),
    ],
)
def test_estimator_section_of_a_file_is_read_or_refused(kind, where, value, tmp_path):
    path = tmp_path / "m.json"
    document, X = saved(kind, path)
    inside = document["estimator"]
    for key in where[:-1]:
        inside = inside[key]
    inside[where[-1]] = value
    path.write_text(json.dumps(document))
    model = kind()
    if where == ("params", "n_estimators"):  # of no use for predictions
        assert len(model.load_model(path).predict(X)) == len(X)
        return
    with pytest.raises(ModelFileError):
        model.load_model(path)


def test_serving_accepts_the_largest_int32_feature():
    most = 2**30 - 1
    assert TreeEnsemble.join([stump()], n_features=most).n_features == most
    for n_features in (most + 1, 2**31, 2**63, -1):
        with pytest.raises(HarnessError, match="n_features"):
            TreeEnsemble.join([stump()], n_features=n_features)
    assert serve(TreeEnsemble.join([stump()], n_features=1)).raw(np.array([[1.0]])) == 2.0


def test_pickle_of_the_old_layout_ends_in_one_clear_error():
    old = b"calgorithms._common.hist.model\nModel\n."  # protocol 0: a class by module and name
    with pytest.raises(ImportError, match=r"older version of this package.*save_model\(path\)"):
        pickle.loads(old)
