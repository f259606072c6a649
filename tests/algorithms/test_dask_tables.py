"""Tests of the inputs of `fit` on a cluster: evaluation sets, shapes, weights."""

import numpy as np
import pandas as pd
import pytest
from dask_kit import LEAVES_SOCKETS, cluster_of
from ranks_kit import digest_of
from scipy import sparse
from sklearn.base import clone

from algorithms import (
    DaskHistogramBoostingClassifier,
    DaskHistogramBoostingRegressor,
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
)
from algorithms.distributed import worker_tasks
from algorithms.distributed.table_parts import inspect_part

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")

pytestmark = LEAVES_SOCKETS
N = 300
PARAMS = {"n_estimators": 3, "random_state": 1, "num_leaves": 7}


@pytest.fixture(scope="module")
def client():
    """Yield the client of a cluster of two threads."""
    with cluster_of(2, processes=False) as cluster, distributed.Client(cluster) as one:
        yield one


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    return X, X[:, 0] + rng.normal(size=N) * 0.3, rng.random(N) + 0.1


def collections(seed=0):
    return [da.from_array(one, chunks=(100, *one.shape[1:])) for one in table(seed)]


def frame(seed=0):
    X, y, weight = table(seed)
    result = pd.DataFrame(X, columns=list("abcd"))
    result["c"] = pd.Categorical(np.random.default_rng(seed).choice(["u", "v", "w"], N))
    return result, pd.Series(np.where(y > 0.0, "yes", "no")), pd.Series(weight)


def test_two_workers_in_one_process_train_together(client):
    X, y, weight = table()
    workers = sorted(client.nthreads())
    for learner in ("data", "feature"):
        model = DaskHistogramBoostingRegressor(workers=workers, tree_learner=learner, **PARAMS)
        model.fit(*collections())
        assert model.communication_["workers"] == 2
        local = HistogramBoostingRegressor(**PARAMS).fit(X, y, weight)
        assert digest_of(model.ensemble_) == digest_of(local.ensemble_)
    assert not worker_tasks.listeners


def test_collections_are_evaluated_like_tables(client):
    X, y, weight = table()
    held, more = collections(1), table(2)
    options = {
        "early_stopping_round": 2,
        "n_estimators": 30,
        "learning_rate": 0.9,
        "random_state": 1,
    }
    local = HistogramBoostingRegressor(**options).fit(
        X,
        y,
        weight,
        eval_set=[table(1)[:2], more[:2]],
        eval_sample_weight=[table(1)[2], None],
    )
    model = DaskHistogramBoostingRegressor(**options).fit(
        *collections(),
        eval_set=[(held[0], held[1][:, None]), more[:2]],
        eval_sample_weight=[held[2], None],
    )
    assert model.evals_result_ == local.evals_result_
    assert model.best_iteration_ == local.best_iteration_ < 28
    assert digest_of(model.ensemble_) == digest_of(local.ensemble_)


def test_evaluation_frames_use_training_categories(client):
    X, y, _ = frame()
    other = [one.iloc[:77] for one in frame(3)]
    other[0] = other[0].assign(c=pd.Categorical(["x", *["w", "u"] * 38]))  # "x" is unknown
    local = HistogramBoostingClassifier(**PARAMS)
    local.fit(X, y, eval_set=[other[:2]], eval_sample_weight=[other[2]])
    held = [dd.from_pandas(one, npartitions=2) for one in other]
    held[0] = held[0].assign(c=held[0]["c"].cat.as_unknown())
    model = DaskHistogramBoostingClassifier(client=client, **PARAMS)
    labels = da.from_array(y.to_numpy(), chunks=100)
    watched = {"eval_set": (held[0], held[1]), "eval_sample_weight": [held[2].to_dask_array()]}
    model.fit(dd.from_pandas(X, npartitions=3), labels, **watched)  # a frame, and an array beside
    assert model.evals_result_ == local.evals_result_
    assert digest_of(model.ensemble_) == digest_of(local.ensemble_)


def test_invalid_evaluation_sets_are_refused_with_a_message(client):
    X, y, weight = collections()
    model = DaskHistogramBoostingRegressor(**PARAMS)
    for wrong in (X, [X], [(X, y, weight)], [[X, y], None]):
        with pytest.raises(TypeError, match=r"eval_set must be a list of \(X, y\)"):
            model.fit(X, y, eval_set=wrong)
    with pytest.raises(TypeError, match="eval_sample_weight must be a list"):
        model.fit(X, y, eval_set=[(X, y)], eval_sample_weight=weight)
    with pytest.raises(ValueError, match="has 2 entries for 1 tables of eval_set"):
        model.fit(X, y, eval_set=[(X, y)], eval_sample_weight=[weight, None])
    with pytest.raises(ValueError, match="Input y of eval_set contains NaN"):
        model.fit(X, y, eval_set=[(X, y * np.nan)])
    failing = X.map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ZeroDivisionError, match="a part of a table"):
        model.fit(X, y, eval_set=[(failing, y)])


def test_negative_class_weights_are_refused(client):
    X, y, _ = collections()
    model = DaskHistogramBoostingClassifier(class_weight={0: -1, 1: 1}, **PARAMS)
    with pytest.raises(ValueError, match="class_weight of 0 is -1; it must be a finite number"):
        model.fit(X, y > 0.0)


def fail(_):
    raise ZeroDivisionError("a part of a table")


def test_y_and_weights_need_one_value_per_row(client):
    X, y, weight = collections()
    model = DaskHistogramBoostingRegressor(**PARAMS)
    with pytest.raises(ValueError, match=r"1d arrays, got one of shape \(300, 2\)"):
        model.fit(X, X[:, :2])
    with pytest.raises(ValueError, match="X has 300 rows, but y or weights have 200"):
        model.fit(X, y, weight[:200])
    with pytest.raises(ValueError, match="at least one non-zero"):
        model.fit(X, y, weight * 0.0)
    one = model.fit(X, y[:, None], da.ones(N, chunks=50))
    local = HistogramBoostingRegressor(**PARAMS).fit(table()[0], table()[1])
    assert digest_of(one.ensemble_) == digest_of(local.ensemble_)


@pytest.mark.parametrize(("names", "key"), [(list("abcd"), "'c'"), (range(4), "2")])
def test_undeclared_category_is_named_with_its_column(names, key):
    X, y, _ = frame()
    X.columns = names
    collection = dd.from_pandas(X, npartitions=1)
    model = DaskHistogramBoostingClassifier()._describe_columns(collection)
    X.isetitem(2, pd.Categorical([None, *["w", "u", "v"] * 99, "u", "u"]))
    assert inspect_part((X, y), model).n_rows == N
    for strange in (pd.Categorical(["u"] * (N - 1) + ["x"]), ["u"] * (N - 1) + ["x"]):
        X.isetitem(2, strange)
        with pytest.raises(ValueError, match=f"column {key} has the category 'x' in a part"):
            inspect_part((X, y), model)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_partitions_are_refused_with_a_message(kind):
    X, y, weight = table()
    model = DaskHistogramBoostingRegressor()._describe_columns(da.from_array(X))
    with pytest.raises(TypeError, match="sparse parts cannot be trained on"):
        inspect_part((kind(X), y, weight), model)


def test_another_fit_discards_facts_of_the_last_table(client):
    X, _, _ = frame()
    _, y, _ = table()
    model = DaskHistogramBoostingRegressor(**PARAMS)
    model.fit(dd.from_pandas(X, npartitions=3), da.from_array(y, chunks=100))
    assert model.feature_names_in_.tolist() == list("abcd")
    model.fit(*collections())
    assert not hasattr(model, "feature_names_in_")
    assert len(model.predict(table()[0])) == N  # with no warning of names


def test_clones_share_the_client(client):
    model = DaskHistogramBoostingRegressor(client=client, num_leaves=5)
    assert clone(model).client is client
    assert clone(model).get_params() == model.get_params()
