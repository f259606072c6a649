"""Continued training of models with categorical columns, and of rankers."""

import pickle

import catboost
import numpy as np
import pandas as pd
import pytest

from algorithms import (
    SymmetricBoostingClassifier,
    SymmetricBoostingRanker,
    SymmetricBoostingRegressor,
)
from algorithms.compat import catboost as ours

rng = np.random.default_rng(0)
N = 600
FRAME = pd.DataFrame(rng.normal(size=(N, 2)).astype(np.float32), columns=["a", "b"])
FRAME["city"] = rng.integers(0, 25, N).astype(str)
FRAME["kind"] = rng.integers(0, 6, N).astype(str)
FRAME["flag"] = rng.integers(0, 2, N).astype(str)
Y = FRAME["a"] + FRAME["city"].astype(int) / 10 * (FRAME["kind"].astype(int) - 2)
Y = Y.to_numpy() + rng.normal(size=N)
LABELS = (Y > 1.0).astype(int)
FIRST, SECOND = slice(0, 350), slice(250, None)
QUERIES, GRADES = np.repeat(np.arange(N // 6), 6), np.clip(np.round(Y), 0.0, 4.0)
FIXED = {"iterations": 12, "depth": 4, "learning_rate": 0.2, "thread_count": 1}
FIXED |= {"bootstrap_type": "No", "random_strength": 0, "has_time": True}
FIXED |= {"cat_features": ["city", "kind", "flag"]}
QUIET = {"logging_level": "Silent", "allow_writing_files": False}
REGRESSION = SymmetricBoostingRegressor, catboost.CatBoostRegressor, Y
BINARY = SymmetricBoostingClassifier, catboost.CatBoostClassifier, LABELS


def continued(kind, y, given, first=None, **more):
    """Return a model of the first rows, and one that continues it on the others."""
    if first is None:
        first = kind(**given).fit(FRAME[FIRST], y[FIRST])
    second = kind(**given, use_best_model=False)
    table = FRAME[SECOND], y[SECOND]  # other rows see ties of borders
    return first, second.fit(FRAME[SECOND], y[SECOND], init_model=first, eval_set=table, **more)


@pytest.mark.parametrize("complexity", [1, 3])
@pytest.mark.parametrize("setting", [REGRESSION, BINARY], ids=["regression", "classes"])
def test_metrics_of_continued_models_are_those_of_catboost(setting, complexity):
    own, library, y = setting
    given = FIXED | {"max_ctr_complexity": complexity, "leaf_estimation_iterations": 1}
    _, model = continued(own, y, given)
    _, wanted = continued(library, y, given | QUIET)
    values = [next(iter(one.evals_result_["validation"].values())) for one in (model, wanted)]
    np.testing.assert_allclose(*values, atol=1e-6)
    assert model.tree_count_ == wanted.tree_count_ == 24


@pytest.mark.parametrize("complexity", [1, 3])
def test_both_models_keep_their_statistics(complexity):
    given = FIXED | {"max_ctr_complexity": complexity}
    first, model = continued(SymmetricBoostingRegressor, Y, given)
    np.testing.assert_array_equal(model._raw(FRAME, 0, 12), first._raw(FRAME))
    error = np.sqrt(np.mean((model.predict(FRAME[SECOND]) - Y[SECOND]) ** 2))
    assert error == pytest.approx(model.evals_result_["validation"]["RMSE"][-1], rel=1e-6)
    unseen = FRAME.assign(city="new", kind="new")
    alone = SymmetricBoostingRegressor(**given).fit(
        FRAME[SECOND], Y[SECOND], baseline=first._raw(FRAME[SECOND])[:, 0]
    )
    for rows in (FRAME, unseen):
        wanted = first._raw(rows) + alone._raw(rows)
        np.testing.assert_allclose(model._raw(rows), wanted, atol=1e-4)  # a float32 baseline
    assert model.get_cat_feature_indices() == [2, 3, 4]


def test_files_and_pickles_are_continued(tmp_path):
    first, wanted = continued(SymmetricBoostingRegressor, Y, FIXED)
    for name, kind in (("own.json", None), ("library.json", "json")):
        first.save_model(tmp_path / name, format=kind)
        _, model = continued(SymmetricBoostingRegressor, Y, FIXED, first=tmp_path / name)
        np.testing.assert_array_equal(model.predict(FRAME), wanted.predict(FRAME))
    _, third = continued(SymmetricBoostingRegressor, Y, FIXED, first=wanted)
    assert third.tree_count_ == 36
    np.testing.assert_array_equal(third._raw(FRAME, 0, 24), wanted._raw(FRAME))
    third.save_model(tmp_path / "third.json")
    loaded = SymmetricBoostingRegressor().load_model(tmp_path / "third.json")
    np.testing.assert_array_equal(loaded.predict(FRAME), third.predict(FRAME))
    again = pickle.loads(pickle.dumps(third))
    np.testing.assert_array_equal(again.predict(FRAME), third.predict(FRAME))
    with pytest.raises(ValueError, match="one table for each kind of statistic"):
        third.save_model(tmp_path / "third.json", format="json")


def test_catboosts_files_are_continued(tmp_path):
    theirs = catboost.CatBoostRegressor(**FIXED, **QUIET).fit(FRAME[FIRST], Y[FIRST])
    theirs.save_model(
        tmp_path / "m.json", "json", pool=catboost.Pool(FRAME, Y, FIXED["cat_features"])
    )
    _, model = continued(SymmetricBoostingRegressor, Y, FIXED, first=tmp_path / "m.json")
    np.testing.assert_allclose(model._raw(FRAME, 0, 12)[:, 0], theirs.predict(FRAME), atol=1e-9)
    drop_in = ours.CatBoostRegressor(**FIXED).fit(FRAME, Y, init_model=str(tmp_path / "m.json"))
    assert drop_in.tree_count_ == 24


def test_rows_without_weight_and_other_categories():
    first, _ = continued(SymmetricBoostingRegressor, Y, FIXED)
    weight = np.ones(N)
    weight[::3] = 0.0
    kept = weight > 0
    models = [
        SymmetricBoostingRegressor(**FIXED).fit(*rows, init_model=first)
        for rows in ((FRAME, Y, weight), (FRAME[kept], Y[kept]))
    ]
    np.testing.assert_array_equal(*(model.predict(FRAME) for model in models))
    moved = FRAME.assign(city="x" + FRAME["city"])  # no city of the first model
    model = SymmetricBoostingRegressor(**FIXED).fit(moved, Y, init_model=first)
    assert np.mean((model.predict(moved) - Y) ** 2) < np.mean((first.predict(moved) - Y) ** 2)
    np.testing.assert_array_equal(model._raw(FRAME, 0, 12), first._raw(FRAME))


def test_other_columns_are_refused():
    numeric = FRAME.assign(city=FRAME["city"].astype(float))
    names = ["kind", "flag"]
    first, _ = continued(SymmetricBoostingRegressor, Y, FIXED)
    other = SymmetricBoostingRegressor(**FIXED | {"cat_features": names}).fit(numeric, Y)
    with pytest.raises(ValueError, match="column 2 is categorical in X, but not in init_model"):
        SymmetricBoostingRegressor(**FIXED).fit(FRAME, Y, init_model=other)
    whole = FRAME.assign(city=FRAME["city"].astype(int))
    with pytest.raises(ValueError, match="column 2 is categorical in init_model, but not in X"):
        SymmetricBoostingRegressor(**FIXED | {"cat_features": names}).fit(
            whole, Y, init_model=first
        )
    with pytest.raises(ValueError, match="parity"):
        SymmetricBoostingRegressor(**FIXED, parity="catboost").fit(FRAME, Y, init_model=first)


@pytest.mark.parametrize("columns", [["a", "b"], list(FRAME)], ids=["numeric", "categories"])
def test_continued_rankers_are_those_of_catboost(columns):
    rows = FRAME[columns]
    given = FIXED | {"loss_function": "PairLogit", "use_best_model": False}
    given["cat_features"] = [name for name in FIXED["cat_features"] if name in columns]
    groups, tables = (
        (QUERIES[FIRST.start : 348], QUERIES),
        ((rows[:348], GRADES[:348]), (rows, GRADES)),
    )
    models = []
    for kind, more in ((SymmetricBoostingRanker, {}), (catboost.CatBoostRanker, QUIET)):
        first = kind(**given | more).fit(*tables[0], group_id=groups[0])
        models.append(kind(**given | more).fit(*tables[1], group_id=groups[1], init_model=first))
    assert models[0].tree_count_ == models[1].tree_count_ == 24
    if len(columns) == 2:
        np.testing.assert_allclose(models[0].predict(rows), models[1].predict(rows), atol=1e-8)
    first = SymmetricBoostingRanker(**given).fit(*tables[0], group_id=groups[0])
    drop_in = ours.CatBoostRanker(**given).fit(*tables[1], group_id=groups[1], init_model=first)
    np.testing.assert_array_equal(drop_in.predict(rows), models[0].predict(rows))


def test_yetirank_is_continued():
    given = {"iterations": 20, "thread_count": 1, "learning_rate": 0.1}
    X = FRAME[["a", "b"]]
    first = SymmetricBoostingRanker(**given).fit(X, GRADES, QUERIES)
    model = SymmetricBoostingRanker(**given).fit(X, GRADES, QUERIES, init_model=first)
    assert model.score(X, GRADES, QUERIES) > first.score(X, GRADES, QUERIES)
    with pytest.raises(ValueError, match="another objective"):
        SymmetricBoostingRanker(**given).fit(
            X, GRADES, QUERIES, init_model=SymmetricBoostingClassifier(**given).fit(X, LABELS)
        )
