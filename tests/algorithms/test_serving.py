"""Tests that the fast predictor equals `TreeEnsemble.raw` bitwise."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import xgboost
from ensembles import CODES, WIDTH, random_ensemble, rows_for
from hypothesis import given, settings
from hypothesis import strategies as st
from prediction_paths import assert_paths_agree, categorical_stumps
from scipy import sparse
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor, RandomForestClassifier

from algorithms import read_model, serve, write_model
from algorithms.prediction import categorical_splits, packing
from algorithms.prediction import predictor as hist_predict
from algorithms.prediction.node_rules import ends_left
from algorithms.prediction.predictor import FastPredictor
from algorithms.prediction.shap_values import contributions
from algorithms.reference._export_sklearn import export
from harness import HarnessError, Missing, Tree, TreeEnsemble

DTYPES = ["float32", "float64"]
SHAPES = [
    {"outputs": 1},
    {"outputs": 3, "link": "softmax"},
    {"values": 3, "combination": "mean"},
    {"values": 3, "combination": "vote", "against": -0.5},
    {"combination": "median"},
    {"base_first": False, "link": "exp"},
]


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(SHAPES),
    st.sampled_from(["<", "<="]),
    st.sampled_from(DTYPES),
    st.sampled_from(DTYPES),
    st.sampled_from([0.0, 1e-35]),
)
def test_any_ensemble_predicts_like_its_tree_walk(seed, shape, comparison, read, summed, zero):
    rng = np.random.default_rng(seed)
    rules = {"comparison": comparison, "input_dtype": read, "sum_dtype": summed}
    trees = random_ensemble(rng, **shape, **rules, zero_within=zero)
    X = rows_for(trees, rng)
    assert_paths_agree(trees, X)
    with np.errstate(over="ignore"):
        assert_paths_agree(trees, X.astype(np.float32))
    assert_paths_agree(trees, X[:1])


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(SHAPES),
    st.integers(1, 300),
    st.integers(0, 30),
    st.booleans(),
    st.sampled_from(["<", "<="]),
    st.sampled_from(DTYPES),
    st.sampled_from([0.0, 1e-35]),
)
def test_numeric_ensembles_predict_like_their_tree_walk(
    seed, shape, n_rows, depth, has_gaps, comparison, read, zero
):
    rng = np.random.default_rng(seed)
    kinds = (Missing.NONE, Missing.NAN, Missing.NAN_AS_ZERO)
    tree = {"kinds": kinds, "sets": False, "depth": depth}
    rules = {"comparison": comparison, "input_dtype": read, "zero_within": zero}
    trees = random_ensemble(rng, n_trees=3, tree=tree, **shape, **rules)
    X = rows_for(trees, rng, n_rows)
    X = X if has_gaps else np.nan_to_num(X)
    assert FastPredictor(trees).packed.categorical is None
    assert_paths_agree(trees, X)
    with np.errstate(over="ignore"):
        assert_paths_agree(trees, X.astype(np.float32))


def test_long_chain_of_splits_and_a_wide_table():
    rng = np.random.default_rng(5)
    n = 90  # inner nodes, each of which has a leaf on its left
    inner = np.arange(n)
    tree = Tree(
        feature=np.append(rng.integers(0, 60, n), [-1] * (n + 1)),
        threshold=np.append(rng.normal(-1.5, 1, n), np.zeros(n + 1)),
        left=np.append(n + inner, [-1] * (n + 1)),
        right=np.append(np.append(inner[1:], 2 * n), [-1] * (n + 1)),
        value=rng.normal(size=(2 * n + 1, 1)),
        default_left=np.append(rng.random(n) < 0.2, [False] * (n + 1)),
        missing=np.full(2 * n + 1, Missing.NAN),
    )
    trees = TreeEnsemble.join([tree, tree], n_features=60)
    assert not FastPredictor(trees)._masks.fits
    X = rng.normal(size=(300, 60))
    assert_paths_agree(trees, X)
    X[rng.random(X.shape) < 0.01] = np.nan
    assert_paths_agree(trees, X)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["<", "<="]),
    st.sampled_from(DTYPES),
    st.sampled_from([0.0, 1e-35]),
)
def test_last_value_that_goes_left_reproduces_every_comparison_rule(seed, comparison, read, zero):
    rng = np.random.default_rng(seed)
    tree = {"kinds": (0,), "sets": False}
    rules = {"comparison": comparison, "input_dtype": read, "zero_within": zero}
    trees = random_ensemble(rng, tree=tree, **rules)
    ends = ends_left(trees)
    plain = {"threshold": np.nan_to_num(ends, nan=-np.inf, posinf=np.inf, neginf=-np.inf)}
    plain |= {"comparison": "<=", "input_dtype": "float64", "zero_within": 0.0}
    X = rows_for(trees, rng)
    X[np.isneginf(X)] = np.nan  # x <= −∞ cannot say that nothing goes left
    assert np.array_equal(dataclasses.replace(trees, **plain).leaves(X), trees.leaves(X))


def test_frames_sparse_and_unusual_arrays_are_read():
    rng = np.random.default_rng(0)
    trees = random_ensemble(rng, absent="nan")
    X = rows_for(trees, rng, 50)
    X[:, 0] = rng.integers(-1, CODES, 50)
    expected = trees.raw(X)
    predictor = serve(trees, n_jobs=2)
    assert np.array_equal(predictor.raw(np.asfortranarray(X)), expected)
    assert np.array_equal(predictor.raw(X[::2]), expected[::2])
    frame = pd.DataFrame(X).add_prefix("c")
    frame["c0"] = pd.Categorical.from_codes(X[:, 0].astype(int), categories=range(CODES))
    assert np.array_equal(predictor.raw(frame), trees.raw(frame))
    listed = sparse.csr_array(np.where(np.isfinite(X), X, 0.0))
    assert np.array_equal(predictor.raw(listed), trees.raw(listed))
    whole = rng.integers(-2, CODES, (20, WIDTH))
    assert np.array_equal(predictor.raw(whole), trees.raw(whole))
    assert predictor.raw(X[:0]).shape == (0, 1)


@pytest.mark.parametrize("X", [np.zeros((3, WIDTH + 1)), np.zeros((3, WIDTH - 1), np.float32)])
def test_wrong_number_of_columns_is_an_error(X):
    with pytest.raises(HarnessError, match="the trees know 4"):
        serve(random_ensemble(np.random.default_rng(0))).raw(X)


@pytest.mark.parametrize("X", [np.zeros(WIDTH), [0.0] * WIDTH, np.zeros((2, 2, WIDTH)), 1.0])
def test_input_that_is_no_table_is_an_error(X):
    trees = random_ensemble(np.random.default_rng(0))
    for predict in (serve(trees).predict, trees.predict, trees.leaves):
        with pytest.raises(HarnessError, match=r"give one row as X.reshape\(1, -1\)"):
            predict(X)


def test_rows_in_a_list_are_read():
    trees = random_ensemble(np.random.default_rng(0), absent="nan")
    rows = [[0.5] * WIDTH, [1.5] * WIDTH]
    assert np.array_equal(serve(trees).predict(rows), trees.predict(np.array(rows)))


def test_models_without_trees_or_splits():
    trees = TreeEnsemble.join([], n_features=2, base=np.array([0.5, -1.0]))
    assert serve(trees).raw(np.zeros((3, 2))).tolist() == [[0.5, -1.0]] * 3
    assert_paths_agree(
        random_ensemble(np.random.default_rng(0), tree={"depth": 0}), np.zeros((3, WIDTH))
    )


def test_result_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(hist_predict, "FEW_STEPS", 0)
    rng = np.random.default_rng(1)
    trees = random_ensemble(rng, n_trees=20, sum_dtype="float32")
    X = rows_for(trees, rng, 1000)
    one, three = (serve(trees, n_jobs=n).raw(X) for n in (1, 3))
    assert np.array_equal(one, three)


def test_scikit_learn_forests_and_votes_can_be_served():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, WIDTH))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int) + (X[:, 1] > 1)
    for model in (RandomForestClassifier(5, max_depth=4), AdaBoostClassifier(n_estimators=5)):
        trees = export(model.fit(X, y))
        assert np.array_equal(serve(trees).predict(X), trees.predict(X))
        np.testing.assert_allclose(serve(trees).predict(X), model.predict_proba(X), rtol=1e-12)
    model = AdaBoostRegressor(n_estimators=5).fit(X, X[:, 0])
    assert np.array_equal(serve(export(model)).predict(X), model.predict(X))


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(SHAPES[:4]),
    st.sampled_from(DTYPES),
    st.sampled_from([0.0, 1e-35]),
)
@settings(max_examples=40)
def test_renumbered_codes_predict_like_the_tree_walk(seed, shape, read, zero):
    rng = np.random.default_rng(seed)
    trees = random_ensemble(rng, **shape, input_dtype=read, zero_within=zero)
    X = rows_for(trees, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "MANY_WORDS", 0)
        assert FastPredictor(trees).packed.numbers is not None or not len(trees.members_left)
        assert_paths_agree(trees, X)
        with np.errstate(over="ignore"):
            assert_paths_agree(trees, X.astype(np.float32))
        if shape.get("combination", "sum") != "vote":
            numbered = contributions(trees, X[:20])
    if shape.get("combination", "sum") != "vote":
        assert np.array_equal(numbered, contributions(trees, X[:20]))


def test_large_codes_need_no_more_memory():
    codes = np.random.default_rng(7).choice(2**31 - 1, 50, replace=False)
    trees = categorical_stumps(40, codes)
    walker = FastPredictor(trees)
    assert len(walker.packed.categorical.bits) <= 3 * 40
    unusual = [0.0, -0.0, -0.5, -3.0, 2.0**31, 1e300, np.inf, -np.inf, np.nan, 5.0]
    X = np.random.default_rng(8).choice([*codes, *(codes + 0.5), *(codes + 1), *unusual], (500, 2))
    assert_paths_agree(trees, X)
    assert_paths_agree(trees, sparse.csr_array(np.nan_to_num(X)))


def test_codes_of_the_same_sets_share_a_number():
    common = np.arange(100, 60_000)
    trees = categorical_stumps(200, np.arange(100), common)
    walker = FastPredictor(trees)
    assert len(walker.packed.categorical.bits) <= 4 * 200
    assert_paths_agree(trees, np.random.default_rng(9).integers(-1, 60_010, (300, 2)).astype(float))


def test_set_used_by_two_columns_is_numbered_for_each(monkeypatch):
    monkeypatch.setattr(packing, "MANY_WORDS", 0)
    trees = categorical_stumps(4, np.arange(50))
    trees = dataclasses.replace(trees, categories=np.where(trees.categories >= 0, 1, -1))
    assert FastPredictor(trees).packed.categorical.fits
    assert_paths_agree(trees, np.random.default_rng(10).integers(0, 60, (300, 2)).astype(float))


def test_set_shared_by_many_nodes_is_stored_once(monkeypatch):
    monkeypatch.setattr(categorical_splits, "MAX_WORDS", 10)
    trees = categorical_stumps(4, np.arange(50))
    assert not FastPredictor(trees).packed.categorical.fits
    assert_paths_agree(trees, np.random.default_rng(10).integers(0, 60, (300, 2)).astype(float))


def test_model_file_can_be_served(tmp_path):
    rng = np.random.default_rng(4)
    trees = random_ensemble(rng)
    write_model(trees, tmp_path / "model.json")
    X = rows_for(trees, rng)
    assert np.array_equal(serve(read_model(tmp_path / "model.json")).predict(X), trees.predict(X))


def test_all_trees_of_a_library_file_predict_like_its_booster(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=400)
    theirs = xgboost.XGBRegressor(n_estimators=60, early_stopping_rounds=3, n_jobs=1)
    theirs.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    theirs.save_model(tmp_path / "model.json")
    served = serve(read_model(tmp_path / "model.json")).predict(X)
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    assert np.array_equal(served.astype(np.float32), booster.predict(xgboost.DMatrix(X)))
    assert not np.array_equal(served.astype(np.float32), theirs.predict(X))


def test_input_that_is_no_ensemble_is_refused_with_advice(tmp_path):
    path = tmp_path / "model.json"
    for model in (RandomForestClassifier(), str(path), path):
        message = f"not a {type(model).__name__}: give a fitted estimator's ensemble_, or "
        with pytest.raises(
            TypeError, match=f"serve takes a TreeEnsemble, {message}read the file.*trees_of"
        ):
            serve(model)
        with pytest.raises(
            TypeError, match=f"write_model writes a TreeEnsemble, {message}call its"
        ):
            write_model(model, path)
    assert not path.exists()
