"""Tests of the histogram boosters on a cluster of real processes: models, faults, predictions."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from dask_kit import LEAVES_SOCKETS, cluster_of
from ranks_kit import digest_of
from sklearn.base import clone

from algorithms import (
    DaskHistogramBoostingClassifier,
    DaskHistogramBoostingRegressor,
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
)
from algorithms.distributed import base_dask, placement, worker_tasks
from algorithms.distributed.table_parts import inspect_part
from algorithms.distributed.worker_check import WorkerLostError

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
dd = pytest.importorskip("dask.dataframe", reason="the extra 'dask' is not installed")

pytestmark = [
    *LEAVES_SOCKETS,
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
]
N = 600
WITHIN = 30.0  # seconds from a worker's end to the error, far below the patience of 300 s


@pytest.fixture(scope="module")
def client():
    """Yield the client of a cluster of four processes."""
    with cluster_of(4) as cluster, distributed.Client(cluster) as one:
        yield one


def workers_of(client, count):
    client.wait_for_workers(4)
    return sorted(client.nthreads())[:count]


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=N) * 0.3
    return X, y, rng.random(N) + 0.1


PARTS = [(150, 150, 150, 150), (1, 0, 399, 200), (60,) * 10]


@pytest.mark.parametrize(
    ("count", "learner"),
    [(1, "data"), (2, "data"), (3, "data"), (4, "data"), (3, "feature"), (3, "voting")],
)
def test_model_equals_local_model(client, count, learner):
    X, y, weight = table()
    params = {"n_estimators": 3, "random_state": 1, "num_leaves": 7}
    expected = digest_of(HistogramBoostingRegressor(**params).fit(X, y, weight).ensemble_)
    options = {"workers": workers_of(client, count), "tree_learner": learner}
    model = DaskHistogramBoostingRegressor(**options, **params)
    for chunks in PARTS:
        arrays = [da.from_array(X, chunks=(chunks, 5))]
        arrays += [da.from_array(one, chunks=chunks) for one in (y, weight)]
        assert digest_of(model.fit(*arrays).ensemble_) == expected
        assert model.communication_["workers"] == min(count, sum(n > 0 for n in chunks) + 1, count)
    sent = model.communication_["sent"]
    assert ("histograms" in sent) == (learner != "feature" and count > 1)


def test_frames_with_categories_labels_and_a_class_missing_in_partitions(client):
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["c"] = pd.Categorical(np.random.default_rng(1).choice(["u", "v", "w"], N))
    labels = pd.Series(np.select([np.arange(N) > 550, y > 0], ["rare", "yes"], "no"))
    params = {"n_estimators": 2, "random_state": 1, "class_weight": "balanced"}
    local = HistogramBoostingClassifier(**params).fit(frame, labels)
    collection = dd.from_pandas(frame, npartitions=5)
    model = DaskHistogramBoostingClassifier(client=client, **params)
    model.fit(collection, dd.from_pandas(labels, npartitions=5))
    assert digest_of(model.ensemble_) == digest_of(local.ensemble_)
    assert model.classes_.tolist() == ["no", "rare", "yes"]
    assert model.feature_names_in_.tolist() == list("abcde")
    proba = model.predict_proba(collection).compute()
    assert proba.columns.tolist() == ["no", "rare", "yes"]
    assert np.array_equal(proba.to_numpy(), local.predict_proba(frame))
    assert model.predict(collection).compute().tolist() == local.predict(frame).tolist()
    assert np.array_equal(model.predict(frame), local.predict(frame))
    assert type(model.to_local()) is HistogramBoostingClassifier
    assert np.array_equal(model.to_local().predict_proba(frame), local.predict_proba(frame))


def test_arrays_are_predicted_blockwise(client):
    X, y, _ = table()
    model = DaskHistogramBoostingRegressor(n_estimators=2, random_state=1)
    rows = da.from_array(X, chunks=(200, 3))
    model.fit(rows, da.from_array(y, chunks=77))
    predictions = model.predict(rows)
    assert predictions.chunks == ((200, 200, 200),)
    assert np.array_equal(predictions.compute(), model.to_local().predict(X))


def test_evaluation_set_controls_early_stopping(client):
    X, y, _ = table()
    params = {"n_estimators": 50, "learning_rate": 0.7, "early_stopping_round": 2}
    held = [(X[:100], y[:100])]
    X, y = X[100:], y[100:]
    local = HistogramBoostingRegressor(random_state=0, **params).fit(X, y, eval_set=held)
    model = DaskHistogramBoostingRegressor(random_state=0, **params)
    model.fit(da.from_array(X, chunks=(250, 5)), da.from_array(y, chunks=250), eval_set=held)
    assert model.best_iteration_ == local.best_iteration_ < 48
    assert model.evals_result_ == local.evals_result_
    assert digest_of(model.ensemble_) == digest_of(local.ensemble_)


def collections():
    X, y, _ = table()
    return da.from_array(X, chunks=(150, 5)), da.from_array(y, chunks=150)


def is_training():
    return any(listener[2] is not None for listener in worker_tasks.listeners.values())


def has_grown():
    """Return True if a rank has finished some rounds, of six splits and twelve messages each."""
    return any(
        listener[2] and listener[2].calls["histograms"] > 40
        for listener in worker_tasks.listeners.values()
    )


def kill_in_training(client, address, how=signal.SIGKILL):
    """Kill or stop a worker some rounds after its training begins; return the time."""
    until = time.monotonic() + 60.0
    while not client.run(has_grown, workers=[address])[address]:
        assert time.monotonic() < until, "no training has begun"
        time.sleep(0.02)
    os.kill(client.run(os.getpid, workers=[address])[address], how)
    return time.monotonic()


def test_lost_worker_ends_training_at_once_and_another_fit_resumes(client):
    X, y, _ = table()
    addresses = workers_of(client, 3)
    params = {"n_estimators": 300, "random_state": 1, "num_leaves": 7}
    model = DaskHistogramBoostingRegressor(workers=addresses, **params)
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill_in_training, client, addresses[1])
        with pytest.raises(WorkerLostError, match=r"rank \d\) is gone.*resume=True") as lost:
            model.fit(*collections())
        assert time.monotonic() - killed.result() < WITHIN
    assert 0 < len(lost.value.rounds) < 300
    assert not hasattr(model, "ensemble_")
    model.set_params(workers=workers_of(client, 2)).fit(*collections(), resume=True)
    local = HistogramBoostingRegressor(**params).fit(X, y)
    assert digest_of(model.ensemble_) == digest_of(local.ensemble_)


@pytest.mark.slow
def test_hanging_worker_is_given_up_and_another_fit_resumes(client, monkeypatch):
    monkeypatch.setattr(placement, "GRACE", 1.0)
    monkeypatch.setattr(placement, "CLOSING", 0.5)
    X, y, _ = table()
    addresses = workers_of(client, 3)
    pid = client.run(os.getpid, workers=addresses[:1])[addresses[0]]
    params = {"n_estimators": 300, "random_state": 1, "num_leaves": 7}
    model = DaskHistogramBoostingRegressor(workers=addresses, patience=1.0, **params)
    args = client, addresses[0], signal.SIGSTOP
    stopper = threading.Thread(target=kill_in_training, args=args)
    stopper.start()
    try:
        with pytest.raises(WorkerLostError, match=r"\(rank 0\) does not answer") as lost:
            model.fit(*collections())
    finally:
        stopper.join()
        os.kill(pid, signal.SIGCONT)
    assert len(lost.value.rounds) < 300
    model.fit(*collections(), resume=True)
    local = HistogramBoostingRegressor(**params).fit(X, y)
    assert digest_of(model.ensemble_) == digest_of(local.ensemble_)


def test_resume_needs_an_init_model_and_the_same_rows(client, monkeypatch):
    model = DaskHistogramBoostingRegressor(n_estimators=2, random_state=1)
    with pytest.raises(ValueError, match="this estimator has no interrupted fit"):
        model.fit(*collections(), resume=True)
    monkeypatch.setattr(base_dask, "train_on", lose)
    with pytest.raises(WorkerLostError):
        model.fit(*collections())
    X, y = collections()
    with pytest.raises(ValueError, match="differ from the last fit"):
        model.fit(X + 1e-9, y, resume=True)  # as many rows, and of the same kind
    with pytest.raises(ValueError, match="differ from the last fit"):
        clone_of(model, num_leaves=5).fit(X, y, resume=True)
    with pytest.raises(WorkerLostError):
        model.fit(X, y, resume=True)


def rank_arguments(model, n_features=2):
    """Return the arguments that ranks get for training on one small partition, and the key."""
    X, y = np.zeros((3, n_features)), np.arange(3.0)
    local = model._describe_columns(da.from_array(X))
    facts = [inspect_part((X, y), local)]
    message, _ = model._prepare(local, facts, None, None, None)
    return message, model._key(message, facts)


def test_resume_needs_equal_estimator_and_long_parameters():
    signs = np.zeros(2000, int)
    other = signs.copy()
    other[1000] = 1  # where the text of an array has an ellipsis
    model = DaskHistogramBoostingRegressor(random_state=1, monotone_constraints=signs)
    message, key = rank_arguments(model, 2000)
    model._unfinished = (key, message.seed, [])
    for change in ({"tree_learner": "voting"}, {"top_k": 5}, {"monotone_constraints": other}):
        changed = clone_of(model, **change)
        with pytest.raises(ValueError, match="differ from the last fit"):
            changed._resume(*rank_arguments(changed, 2000))
    model._resume(*rank_arguments(model, 2000))


def test_resume_with_fewer_rounds_keeps_only_those():
    model = DaskHistogramBoostingRegressor(n_estimators=3, random_state=1)
    message, key = rank_arguments(model)
    model._unfinished = (key, message.seed, ["first", "second", "third"])
    message, key = rank_arguments(model.set_params(n_estimators=2))
    model._resume(message, key)
    assert message.rounds == ["first", "second"]


def test_parameters_may_be_numpy_numbers():
    options = {"top_k": np.int64(5), "num_leaves": np.int64(7)}
    plain = DaskHistogramBoostingRegressor(random_state=1, top_k=5, num_leaves=7)
    result = DaskHistogramBoostingRegressor(random_state=1, **options)
    assert rank_arguments(result)[1] == rank_arguments(plain)[1]


def lose(*_):
    raise WorkerLostError("lost")


def clone_of(model, **params):
    other = clone(model).set_params(**params)
    other._unfinished = model._unfinished
    return other


def test_lost_cluster_is_reported():
    with cluster_of(1) as own, distributed.Client(own, timeout="3s") as client:
        model = DaskHistogramBoostingRegressor(n_estimators=10_000, client=client)
        X, y = collections()
        (address,) = client.nthreads()

        def close():
            while not client.run(is_training)[address]:
                time.sleep(0.05)
            own.close()

        closer = threading.Thread(target=close)
        closer.start()
        with pytest.raises(WorkerLostError, match=r"is gone"):  # the worker that is missing first
            model.fit(X, y)
        closer.join()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"parity": "lightgbm"}, "parity"),
        ({"boosting_type": "dart"}, "dart"),
        ({"max_conflict_rate": 0.1}, "max_conflict_rate"),
        ({"fs": "splits.json"}, "fs is not supported on Dask"),
        ({"objective": "quantile"}, "quantile"),
        ({"objective": lambda y, score: (score, score)}, "callable"),
        ({"early_stopping_round": 1}, "eval_set"),
        ({"tree_learner": "other"}, "tree_learner"),
        ({"top_k": 0}, "top_k"),
        ({"patience": np.inf}, "patience"),
    ],
)
def test_unsupported_options_are_refused(client, params, message):
    with pytest.raises(ValueError, match=message):
        DaskHistogramBoostingRegressor(**params).fit(*collections())


def test_parameters_of_output_have_no_effect(client):
    params = {"n_estimators": 2, "random_state": 1}
    plain = DaskHistogramBoostingRegressor(**params).fit(*collections())
    for name in ("verbose", "verbosity"):
        model = DaskHistogramBoostingRegressor(
            **params, **{name: -1}, metric_freq=5, two_round=True
        )
        model.fit(*collections())
        assert digest_of(model.ensemble_) == digest_of(plain.ensemble_)
        assert model.get_params()[name] == model.to_local().get_params()[name] == -1


def test_invalid_tables_are_refused_with_a_message(client):
    X, y = collections()
    model = DaskHistogramBoostingRegressor(n_estimators=2)
    with pytest.raises(TypeError, match="must all be Dask collections, not ndarray"):
        model.fit(X, table()[1])
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.fit(X, y * np.nan)
    with pytest.raises(ValueError, match="positive sum"):
        clone(model).set_params(objective="poisson").fit(X, y - 100.0)
    with pytest.raises(ValueError, match="one class"):
        DaskHistogramBoostingClassifier().fit(X, (y * 0).astype(int))


def test_parameters_extend_those_of_the_local_model():
    names = {"client", "tree_learner", "top_k", "workers", "patience"}
    local = HistogramBoostingRegressor(max_bin=63).get_params()
    result = DaskHistogramBoostingRegressor(max_bin=63, workers=["a"]).get_params()
    assert {name: result[name] for name in local} == local
    assert result.keys() - local.keys() == names
    assert clone(DaskHistogramBoostingRegressor(num_leaves=5)).num_leaves == 5
