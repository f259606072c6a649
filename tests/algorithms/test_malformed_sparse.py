"""Tests that sparse matrices with invalid indices are refused wherever rows are read."""

import numpy as np
import pytest
from scipy import sparse

import algorithms
from algorithms import read_model, serve, write_model
from algorithms.estimator.validation import check_array, validate_data
from harness import check_sparse

N_ROWS, WIDTH = 40, 4
X = np.random.default_rng(0).normal(size=(N_ROWS, WIDTH)).astype(np.float32)
Y = (X[:, 0] > 0).astype(int)
DAMAGE = ["too large", "negative", "far", "decreasing", "beyond the end", "wrapping", "short"]
KINDS = [
    "DecisionTree",
    "RandomForest",
    "Bagging",
    "AdaBoost",
    "GradientBoosting",
    "NewtonBoosting",
    "HistogramBoosting",
]


def damaged(how, form="csr"):
    """Return a sparse matrix that is damaged after scipy's checks."""
    result = sparse.csr_matrix(X).asformat(form)
    match how:
        case "too large":
            result.indices[5] = result.shape[1 if form == "csr" else 0]
        case "negative":
            result.indices[5] = -1
        case "far":
            result.indices[5] = 2**31 - 1
        case "decreasing":
            result.indptr[2] = result.indptr[1] - 1
        case "beyond the end":
            result.indptr[-1] = 10 * N_ROWS * WIDTH
        case "wrapping":
            result.indptr[1:3] = 2**31 - 1, -(2**31)
        case "short":
            result.indptr = result.indptr[:-1]
    return result


def refused():
    return pytest.raises(ValueError, match="malformed sparse matrix")


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("how", DAMAGE)
def test_each_kind_of_damage_is_detected(how, form):
    with refused():
        check_sparse(damaged(how, form))
    check_sparse(sparse.csr_matrix(X).asformat(form))


@pytest.mark.parametrize("form", ["coo", "bsr", "lil", "dok", "dia"])
def test_valid_matrices_of_any_format_pass(form):
    check_sparse(sparse.csr_matrix(X).asformat(form))
    check_sparse(sparse.csr_array(X).asformat(form))
    check_sparse(sparse.csr_matrix((0, WIDTH)).asformat(form))
    check_sparse(sparse.coo_array(X[0]))


def test_out_of_bounds_coordinates_are_detected():
    for name in ("row", "col"):
        for value in (-1, N_ROWS, 2**31 - 1):
            result = sparse.coo_matrix(X)
            getattr(result, name)[3] = value
            with refused():
                check_sparse(result)


@pytest.mark.parametrize("how", DAMAGE)
def test_shared_checks_refuse_them(how):
    model = algorithms.DecisionTreeRegressor()
    bad = damaged(how)
    for check in (
        lambda: check_array(bad, accept_sparse=True),
        lambda: validate_data(model, bad, Y, accept_sparse=True),
    ):
        with refused():
            check()


@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_refuses_them_in_fit_and_prediction(kind):
    for suffix in ("Classifier", "Regressor"):
        model = getattr(algorithms, kind + suffix)()
        if "n_estimators" in model.get_params():
            model.set_params(n_estimators=2)
        for how in ("too large", "negative"):
            with refused():
                model.fit(damaged(how), Y)
        model.fit(sparse.csr_matrix(X), Y)
        for name in ("predict", "predict_proba", "apply", "predict_contributions"):
            if hasattr(model, name):
                for how in ("too large", "negative", "decreasing"):
                    with refused():
                        getattr(model, name)(damaged(how))


def test_trees_with_check_input_false_refuse_them_too():
    model = algorithms.DecisionTreeClassifier()
    with refused():
        model.fit(damaged("too large"), Y, check_input=False)
    model.fit(sparse.csc_matrix(X), Y)
    with refused():
        model.predict(damaged("too large"), check_input=False)


@pytest.mark.parametrize("how", DAMAGE)
def test_ensembles_and_predictors_refuse_them(how, tmp_path):
    model = algorithms.NewtonBoostingClassifier(n_estimators=2).fit(X, Y)
    write_model(model.ensemble_, tmp_path / "model.json")
    trees = read_model(tmp_path / "model.json")
    bad = damaged(how)
    for predict in (serve(trees).raw, serve(trees).predict, trees.raw, trees.predict, trees.leaves):
        with refused():
            predict(bad)
