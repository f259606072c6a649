"""Tests of `algorithms.compat.xgboost`: DMatrix, train, cv, Booster, callbacks and estimators."""

import copy
import itertools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy import sparse

import algorithms.compat.xgboost as xgb
from algorithms import NewtonBoostingClassifier
from algorithms.newton.ranking_objectives import RankingObjective, RankingSettings
from algorithms.runtime.threads import Workers

PARAMS = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[::7, 1] = np.nan
    return X, (X[:, 0] + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=n) > 0.5).astype(np.float32)


X, Y = table()
X_VALID, Y_VALID = table(100, 1)
DATA, VALID = xgb.DMatrix(X, Y), xgb.DMatrix(X_VALID, Y_VALID)


def train(params=PARAMS, rounds=5, data=DATA, **options):
    return xgb.train(params, data, rounds, verbose_eval=False, **options)


def test_train_grows_the_trees_of_the_estimator():
    booster = train({**PARAMS, "eta": "0.2", "lambda": 2.0})
    options = {"max_depth": 3, "n_jobs": 1, "learning_rate": 0.2, "reg_lambda": 2.0}
    model = NewtonBoostingClassifier(n_estimators=5, **options).fit(X, Y)
    found = booster.predict(VALID)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, model.predict_proba(X_VALID)[:, 1], rtol=1e-5)
    from_sparse = xgb.DMatrix(sparse.csr_matrix(np.nan_to_num(X)), Y)
    assert train(data=from_sparse).num_boosted_rounds() == 5


@pytest.mark.parametrize("suffix", ["json", "ubj"])
@pytest.mark.parametrize(
    "params",
    [
        PARAMS,
        {"objective": "multi:softmax", "num_class": 3, "num_parallel_tree": 2, "subsample": 0.7},
        {"objective": "count:poisson"},
    ],
)
def test_xgboost_reads_the_file_and_predicts_the_same(tmp_path, suffix, params):
    y = np.digitize(X[:, 0], [-0.5, 0.5]) if "num_class" in params else Y
    booster = train(params, data=xgb.DMatrix(X, y, feature_names=list("abcd")))
    booster.set_attr(note="kept")
    path = tmp_path / f"model.{suffix}"
    booster.save_model(path)
    theirs = xgboost.Booster(model_file=path)
    rows = X_VALID, list("abcd")
    expected = booster.predict(xgb.DMatrix(rows[0], feature_names=rows[1]))
    given = xgboost.DMatrix(rows[0], feature_names=rows[1])
    np.testing.assert_allclose(theirs.predict(given), expected, rtol=1e-6)
    assert theirs.num_boosted_rounds() == booster.num_boosted_rounds() == 5
    theirs.save_model(path)
    again = xgb.Booster(model_file=path)
    data = xgb.DMatrix(rows[0], feature_names=rows[1])
    assert np.array_equal(again.predict(data), expected)
    assert again.attributes() == {"note": "kept"}
    assert again.get_dump() == booster.get_dump()


def test_categories_survive_a_binary_file(tmp_path):
    frame = pd.DataFrame({"a": pd.Categorical(list("xyzx") * 50), "b": X[:, 0]})
    y = (frame["a"] == "z").to_numpy() + X[:, 0] / 9
    data = xgb.DMatrix(frame, y, enable_categorical=True)
    booster = train({"max_depth": 3}, data=data)
    booster.save_model(tmp_path / "model.ubj")
    theirs = xgboost.Booster(model_file=tmp_path / "model.ubj")
    found = theirs.predict(xgboost.DMatrix(frame, enable_categorical=True))
    np.testing.assert_allclose(found, booster.predict(data), rtol=1e-6)
    codes = np.column_stack([frame["a"].cat.codes, X[:, 0]])
    coded = xgb.DMatrix(codes, y, feature_types=["c", "q"], feature_names=["a", "b"])
    assert np.array_equal(train({"max_depth": 3}, data=coded).predict(coded), booster.predict(data))
    with pytest.raises(ValueError, match="enable_categorical"):
        xgb.DMatrix(frame, y)


@pytest.mark.parametrize("tree_method", ["hist", "exact"])
def test_continued_training_grows_the_same_trees(tmp_path, tree_method):
    params = {**PARAMS, "tree_method": tree_method}
    whole = train(params, 8)
    first = train(params, 3)
    first.save_model(tmp_path / "model.ubj")
    for earlier in (first, tmp_path / "model.ubj", first.save_raw()):
        more = train(params, 5, xgb_model=earlier)
        assert more.get_dump(with_stats=True) == whole.get_dump(with_stats=True)
    assert first.num_boosted_rounds() == 3


def test_untrained_model_predicts_one_half(tmp_path):
    booster = train(rounds=0)
    assert booster.predict(VALID).tolist() == [0.5] * 100
    booster.save_model(tmp_path / "model.json")
    again = train(xgb_model=tmp_path / "model.json")
    assert np.array_equal(again.predict(VALID), train().predict(VALID))


def logistic(score, data):
    p = 1.0 / (1.0 + np.exp(-score))
    return p - data.get_label(), p * (1.0 - p)


def test_own_objective_and_metric():
    seen = {}

    def metric(prediction, data):
        seen[data.num_row()] = prediction
        return "low", float(prediction.min())

    given = {"evals": [(VALID, "v")], "custom_metric": metric, "evals_result": {}}
    booster = train({**PARAMS, "base_score": 0.5}, obj=logistic, **given)
    margin = booster.predict(VALID, output_margin=True)
    np.testing.assert_allclose(seen[100], margin, rtol=1e-5)
    assert given["evals_result"]["v"]["low"][-1] == pytest.approx(margin.min(), rel=1e-5)
    plain = train({**PARAMS, "base_score": 0.5}, **given)
    np.testing.assert_allclose(seen[100], plain.predict(VALID), rtol=1e-5)
    np.testing.assert_allclose(plain.predict(VALID), booster.predict(VALID), rtol=1e-4)
    by_hand = xgb.Booster({**PARAMS, "base_score": 0.5}, [DATA])
    for _ in range(5):
        g, h = logistic(by_hand.predict(DATA, output_margin=True), DATA)
        by_hand.boost(DATA, grad=g, hess=h)
    np.testing.assert_allclose(by_hand.predict(VALID), booster.predict(VALID), rtol=1e-5)


def test_early_stopping_keeps_the_best_rounds(capsys):
    history = {}
    given = {"evals": [(DATA, "t"), (VALID, "v")], "evals_result": history}
    booster = xgb.train(
        {**PARAMS, "eval_metric": ["auc", "logloss"], "eta": 1.0},
        DATA,
        100,
        early_stopping_rounds=3,
        verbose_eval=2,
        **given,
    )
    losses = history["v"]["logloss"]
    best = int(np.argmin(losses))
    assert booster.best_iteration == best == len(losses) - 4
    assert booster.best_score == min(losses)
    p = booster.predict(VALID, iteration_range=(0, best + 1)).astype(np.float64)
    expected = -np.mean(Y_VALID * np.log(p) + (1 - Y_VALID) * np.log(1 - p))
    assert losses[best] == pytest.approx(expected, rel=1e-5)
    assert f"[0]\tt-auc:{history['t']['auc'][0]:.5f}\tt-logloss:" in capsys.readouterr().out
    stop = xgb.callback.EarlyStopping(rounds=3, save_best=True, data_name="v")
    params = {**PARAMS, "eval_metric": "logloss", "eta": 1.0}
    kept = train(params, 100, callbacks=[stop], evals=[(VALID, "v")])
    assert kept.num_boosted_rounds() == kept.best_iteration + 1 == best + 1
    assert np.array_equal(kept.predict(VALID), booster[: best + 1].predict(VALID))
    with pytest.raises(AttributeError, match="early stopping is used"):
        _ = train().best_iteration


def test_callbacks_change_the_learning_rate_and_save_models(tmp_path):
    rates = xgb.callback.LearningRateScheduler([0.0] * 5)
    saves = xgb.callback.TrainingCheckPoint(tmp_path, interval=1)
    history = {}
    booster = train(callbacks=[rates, saves], evals=[(VALID, "v")], evals_result=history)
    losses = history["v"]["logloss"]
    assert losses[0] == losses[4]
    assert np.array_equal(booster.predict(VALID), train(rounds=1).predict(VALID))
    written = {f"model_{number}.ubj" for number in (1, 2, 3, 4)}
    assert {path.name for path in tmp_path.iterdir()} == written
    assert xgb.Booster(model_file=tmp_path / "model_2.ubj").num_boosted_rounds() == 3


def test_cv_averages_over_folds():
    folds = [(np.arange(100, 200), np.arange(100)), (np.arange(100), np.arange(100, 200))]
    params = {**PARAMS, "eval_metric": "error"}
    found = xgb.cv(params, DATA, 3, folds=folds)
    assert list(found) == [f"{t}-error-{m}" for t in ("train", "test") for m in ("mean", "std")]
    errors = []
    for rows, held in folds:
        p = train(params, 3, data=DATA.slice(rows)).predict(DATA.slice(held))
        errors.append(np.mean((p > 0.5) != Y[held]))
    assert found["test-error-mean"].iloc[-1] == pytest.approx(np.mean(errors))
    assert found["test-error-std"].iloc[-1] == pytest.approx(np.std(errors))
    stopped = xgb.cv({**params, "eta": 1.0}, DATA, 40, nfold=3, early_stopping_rounds=2, seed=1)
    assert stopped["test-error-mean"].idxmin() == len(stopped) - 1 < 37


def test_predictions_of_every_kind():
    booster = train({"objective": "multi:softprob", "num_class": 3}, 4,
                    data=xgb.DMatrix(X, np.digitize(X[:, 0], [-0.5, 0.5])))  # fmt: skip
    margin = booster.predict(VALID, output_margin=True)
    parts = booster.predict(VALID, pred_contribs=True)
    assert parts.shape == (100, 3, 5)
    np.testing.assert_allclose(parts.sum(axis=2), margin, atol=1e-5)
    pairs = booster.predict(VALID, pred_interactions=True)
    assert pairs.shape == (100, 3, 5, 5)
    np.testing.assert_allclose(pairs.sum(axis=3), parts, atol=1e-5)
    leaves = booster.predict(VALID, pred_leaf=True)
    assert leaves.shape == (100, 12)
    assert booster.predict(VALID, pred_leaf=True, strict_shape=True).shape == (100, 4, 3, 1)
    first, rest = booster[:1], booster[1:]
    base = booster.predict(VALID, output_margin=True, iteration_range=(0, 1))
    assert np.array_equal(first.predict(VALID, output_margin=True), base)
    start = xgb.DMatrix(X_VALID, base_margin=base)
    found = rest.predict(start, output_margin=True)
    np.testing.assert_allclose(found, margin, rtol=1e-5, atol=1e-6)
    assert np.array_equal(booster.inplace_predict(X_VALID), booster.predict(VALID))
    for made in (pickle.loads(pickle.dumps(booster)), copy.deepcopy(booster), booster.copy()):
        assert np.array_equal(made.predict(VALID), booster.predict(VALID))
    binary = train()
    assert binary.predict(VALID, strict_shape=True).shape == (100, 1)


def test_dump_and_importances_use_given_names(tmp_path):
    booster = train()
    frame = booster.trees_to_dataframe()
    assert booster.get_fscore() == dict(frame["Feature"][frame["Feature"] != "Leaf"].value_counts())
    (tmp_path / "map.txt").write_text("".join(f"{k} name{k} q\n" for k in range(4)))
    assert "name0" in "".join(booster.get_dump(tmp_path / "map.txt"))
    booster.dump_model(tmp_path / "dump.json", dump_format="json")
    assert len(json.loads((tmp_path / "dump.json").read_text())) == 5
    booster.feature_names = ["only"]
    with pytest.raises(ValueError, match="1 feature names for 4 features"):
        booster.get_fscore()


def test_matrix_keeps_its_fields(tmp_path):
    data = xgb.DMatrix(X, Y, weight=Y + 1, missing=X[0, 0], feature_names=list("abcd"))
    assert data.num_nonmissing() == np.isfinite(X).sum() - 1
    data.save_binary(tmp_path / "rows.bin")
    again = xgb.DMatrix(str(tmp_path / "rows.bin"))
    assert again.feature_names == list("abcd")
    assert np.array_equal(again.get_weight(), Y + 1)
    assert (again.get_data() != data.get_data()).nnz == 0
    part = data.slice([3, 1])
    assert part.get_label().tolist() == Y[[3, 1]].tolist()
    (tmp_path / "rows.txt").write_text("1 0:0.5 2:1.5\n0 1:2\n")
    text = xgb.DMatrix(f"{tmp_path / 'rows.txt'}?format=libsvm")
    assert (text.num_row(), text.num_col(), text.num_nonmissing()) == (2, 3, 3)
    ranked = xgb.DMatrix(X[:5], Y[:5], qid=[1, 1, 4, 4, 4])
    assert ranked.get_group().tolist() == [2, 3]
    assert ranked.get_uint_info("group_ptr").tolist() == [0, 2, 5]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"eta": -1}, "learning_rate"),
        ({"objective": "reg:none"}, "Unknown objective function"),
        ({"objective": "multi:softmax"}, "num_class"),
        ({"booster": "gblinear"}, "does not support booster"),
        ({"max_depth": "deep"}, "Invalid Parameter format"),
        ({"eval_metric": "none"}, "unknown eval_metric"),
    ],
)
def test_wrong_parameters_raise_the_librarys_error(params, message):
    with pytest.raises(xgb.XGBoostError, match=message):
        train(params, evals=[(VALID, "v")])


def test_wrong_data_are_refused():
    with pytest.warns(UserWarning, match='"max_dept" } are not used'):
        train({"max_dept": 3}, 1)
    with pytest.raises(TypeError, match="Expecting data to be a DMatrix"):
        train().predict(X)
    with pytest.raises(ValueError, match="Feature shape mismatch, expected: 4, got 2"):
        train().predict(xgb.DMatrix(X[:, :2]))
    named = train(data=xgb.DMatrix(X, Y, feature_names=list("abcd")))
    with pytest.raises(ValueError, match="feature_names mismatch"):
        named.predict(xgb.DMatrix(X, feature_names=list("abdc")))
    with pytest.raises(xgb.XGBoostError, match="contains `inf`"):
        xgb.DMatrix([[np.inf, 1.0]])
    with pytest.raises(xgb.XGBoostError, match="Label contains NaN"):
        xgb.DMatrix(X, np.where(Y > 0, np.nan, 0.0))
    with pytest.raises(IndexError):
        _ = train()[3:9]


def test_parameters_change_between_rounds():
    booster = xgb.Booster(PARAMS, [DATA])
    for depth in (1, 2):
        booster.set_param({"max_depth": depth})
        booster.update(DATA)
    assert [tree.count("leaf") for tree in booster.get_dump()] == [2, 3]


def test_estimators_have_the_librarys_defaults_and_a_booster(tmp_path):
    theirs, ours = xgboost.XGBClassifier().get_params(), xgb.XGBClassifier().get_params()
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs, nan_ok=True)
    model = xgb.XGBClassifier(n_estimators=40, learning_rate=1.0, early_stopping_rounds=3)
    model.fit(X, Y, eval_set=[(X_VALID, Y_VALID)], verbose=False)
    booster = model.get_booster()
    assert len(booster.get_dump()) == booster.best_iteration + 4
    used = booster.predict(VALID, iteration_range=(0, model.best_iteration + 1))
    np.testing.assert_allclose(used, model.predict_proba(X_VALID)[:, 1], rtol=1e-6)
    model.save_model(tmp_path / "model.ubj")
    again = xgb.XGBClassifier()
    again.load_model(tmp_path / "model.ubj")
    assert np.array_equal(again.predict_proba(X_VALID), model.predict_proba(X_VALID))
    with pytest.warns(FutureWarning, match="Pass `objective` as keyword"):
        assert xgb.XGBRegressor("reg:gamma").objective == "reg:gamma"


def test_random_forest_is_one_round_of_parallel_trees():
    forest = xgb.XGBRFRegressor(n_estimators=12, max_depth=3, random_state=1).fit(X, Y)
    booster = forest.get_booster()
    assert (booster.num_boosted_rounds(), len(booster.get_dump())) == (1, 12)
    margins = [booster.predict(VALID), forest.predict(X_VALID)]
    np.testing.assert_allclose(*margins, rtol=1e-6)
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    classifier = xgb.XGBRFClassifier(n_estimators=6, random_state=1).fit(X, labels)
    assert classifier.ensemble_.n_trees == 18
    assert classifier.score(X, labels) > 0.9
    with pytest.raises(NotImplementedError, match="early_stopping_rounds"):
        forest.set_params(early_stopping_rounds=3).fit(X, Y)


def test_config_restores_the_parameters():
    booster = train({**PARAMS, "eta": 0.1, "lambda": 3.0, "interaction_constraints": [[0, 1]]})
    other = xgb.Booster()
    other.load_config(booster.save_config())
    other.update(DATA)
    assert other.get_dump() == booster[:1].get_dump()
    stored = json.loads(booster.save_config())["learner"]
    assert json.loads(stored["learner_model_param"]["base_score"]) == [pytest.approx(Y.mean())]
    assert isinstance(xgb.XGBClassifier(), xgb.XGBModel)


def test_estimator_continues_from_its_own_scores():
    whole = xgb.XGBRegressor(n_estimators=6, tree_method="exact").fit(X, X[:, 0])
    options = {"n_estimators": 3, "tree_method": "exact"}
    first = xgb.XGBRegressor(**options).fit(X, X[:, 0])
    margin = first.predict(X, output_margin=True)
    more = xgb.XGBRegressor(**options).fit(X, X[:, 0], base_margin=margin)
    assert np.array_equal(more.predict(X, base_margin=margin), whole.predict(X))


N_QUERIES = 12
BOUNDS = np.arange(0, 201, 200 // N_QUERIES)[: N_QUERIES + 1]
RELEVANCE = np.digitize(X[: BOUNDS[-1], 0] + np.sin(np.arange(BOUNDS[-1])), [-0.5, 0.5, 1.5])


def average_precision(labels):
    ranks = np.flatnonzero(labels) + 1.0
    return (np.arange(1, len(ranks) + 1) / ranks).mean()


def swapped(labels, i, j):
    labels = labels.copy()
    labels[[i, j]] = labels[[j, i]]
    return labels


def pair_weights(name, labels, level):
    """Return δ of all pairs of ranks, from the definition of the metric."""
    n = len(labels)
    gains, discounts = np.exp2(labels) - 1.0, 1.0 / np.log2(np.arange(n) + 2.0)
    best = (np.sort(gains)[::-1] * discounts)[:level].sum()
    found = np.ones((n, n))
    for i in range(n):
        for j in range(n):
            if name == "rank:ndcg":
                found[i, j] = abs((gains[i] - gains[j]) * (discounts[i] - discounts[j])) / best
            elif name == "rank:map" and labels[i] != labels[j]:
                other = average_precision(swapped(labels, i, j))
                found[i, j] = abs(average_precision(labels) - other)
    return found


def expected_derivatives(name, score, labels, level):
    """Return g and h of a query by the formulas of `newton.kernels.ranking`."""
    order = np.argsort(-score, kind="stable")
    s, y, n = score[order], labels[order].astype(float), len(score)
    delta, total = pair_weights(name, y, level), 0.0
    g, h = np.zeros(n), np.zeros(n)
    for i in range(min(level, n - 1)):
        for j in range(i + 1, n):
            if y[i] != y[j]:
                high, low = (i, j) if y[i] > y[j] else (j, i)
                gap = s[high] - s[low]
                d = delta[i, j] / (0.01 + abs(gap) if s[0] != s[-1] else 1.0)
                p = 1.0 / (1.0 + np.exp(-gap))
                g[high] += (p - 1.0) * d
                g[low] -= (p - 1.0) * d
                h[[high, low]] += 2.0 * p * (1.0 - p) * d
                total -= 2.0 * (p - 1.0) * d
    scale = np.log2(1.0 + total) / total if total else 1.0
    back = np.argsort(order)
    return g[back] * scale, h[back] * scale


@pytest.mark.parametrize("name", ["rank:ndcg", "rank:pairwise", "rank:map"])
def test_ranking_derivatives_equal_their_definition(name):
    level, n = 5, BOUNDS[-1]
    labels = (RELEVANCE > 1) * 1.0 if name == "rank:map" else RELEVANCE.astype(float)
    settings = RankingSettings(level)
    objective = RankingObjective(name, settings, labels, BOUNDS)
    g, h = np.empty((2, 1, n), np.float32)
    for score in (np.zeros(n), np.round(X[:n, 2], 1).astype(np.float64)):
        objective.differentiate(score[None], labels, None, g, h, Workers(1))
        for first, last in itertools.pairwise(BOUNDS):
            rows = slice(first, last)
            expected = expected_derivatives(name, score[rows], labels[rows], level)
            np.testing.assert_allclose(g[0, rows], expected[0], rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(h[0, rows], expected[1], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("metric", ["ndcg", "ndcg@3", "ndcg@3-", "map@4", "map@2-", "pre@3"])
def test_ranking_metric_equals_xgboosts(metric):
    labels = RELEVANCE > 1 if metric[:3] in ("map", "pre") else RELEVANCE
    labels = labels * (np.arange(BOUNDS[-1]) >= BOUNDS[2])  # two queries without relevant rows
    params = {"objective": "rank:pairwise", "eval_metric": metric, "max_depth": 2, "nthread": 1}
    found = {}
    # in XGBoost a query without relevant rows counts as 1 for NDCG, whatever its weight
    weight = None if metric in ("ndcg", "ndcg@3") else np.arange(1, 13)
    theirs, ours = (
        module.DMatrix(X[: BOUNDS[-1]], labels, group=np.diff(BOUNDS), weight=weight)
        for module in (xgboost, xgb)
    )
    model = xgboost.train(params, theirs, 3, evals=[(theirs, "t")], evals_result=found,
                          verbose_eval=False)  # fmt: skip
    loaded = xgb.Booster(params, model_file=model.save_raw("json"))
    assert loaded.evaluate([(ours, "t")])[0][2] == pytest.approx(found["t"][metric][-1], abs=1e-6)


@pytest.mark.parametrize("name", ["rank:ndcg", "rank:pairwise", "rank:map"])
def test_ranking_is_as_good_as_xgboosts(name, tmp_path):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(600, 4))
    signal = rows[:, 0] + rows[:, 1] + rng.normal(size=600) / 2
    labels = signal > 1 if name == "rank:map" else np.digitize(signal, [0, 1, 2])
    qid = np.repeat(np.arange(30), 20)
    params = {"n_estimators": 20, "max_depth": 3, "objective": name, "n_jobs": 1}
    scores = []
    for module in (xgboost, xgb):
        model = module.XGBRanker(eval_metric="ndcg@5", **params)
        model.fit(rows[:400], labels[:400], qid=qid[:400],
                  eval_set=[(rows[400:], labels[400:])], eval_qid=[qid[400:]],
                  verbose=False)  # fmt: skip
        scores.append(model.evals_result()["validation_0"]["ndcg@5"][-1])
    assert scores[1] > scores[0] - 0.04
    model.save_model(tmp_path / "model.json")
    theirs = xgboost.Booster(model_file=tmp_path / "model.json")
    np.testing.assert_allclose(
        theirs.predict(xgboost.DMatrix(rows)), model.predict(rows), rtol=1e-5
    )
    with pytest.raises(ValueError, match="Either `group` or `qid`"):
        model.fit(rows, labels)
    frame = pd.DataFrame(rows).assign(qid=qid)
    model.fit(frame[:400], labels[:400])
    assert model.score(frame[400:], labels[400:]) == pytest.approx(scores[1])


def test_estimators_take_a_series_and_refuse_other_tasks(tmp_path):
    column = pd.Series(X[:, 0], name="only")
    model = xgb.XGBClassifier(n_estimators=3).fit(column, Y, eval_set=[(column, Y)], verbose=False)
    losses = model.evals_result()["validation_0"]["logloss"]
    assert losses == sorted(losses, reverse=True)
    with pytest.raises(ValueError, match="feature_names mismatch"):
        model.predict(column.rename("other").to_frame())
    model.save_model(tmp_path / "model.json")
    with pytest.raises(TypeError, match="predicts classes"):
        xgb.XGBRegressor().load_model(tmp_path / "model.json")
    forest = xgb.XGBRFRegressor(n_estimators=4).fit(X, Y)
    config = json.loads(forest.get_booster().save_config())["learner"]["gradient_booster"]
    assert config["gbtree_model_param"] == {"num_parallel_tree": "4", "num_trees": "4"}


@pytest.mark.parametrize("damage", [{"tree_info": []}, {"trees": "cycle"}])
def test_a_file_whose_trees_are_damaged_is_an_xgboost_error(damage):
    document = json.loads(bytes(train().save_raw(raw_format="json")))
    model = document["learner"]["gradient_booster"]["model"]
    if "trees" in damage:
        model["trees"][0]["left_children"][0] = model["trees"][0]["right_children"][0]
    else:
        model.update(damage)
    with pytest.raises(xgb.XGBoostError, match="cannot be read"):
        xgb.Booster().load_model(bytearray(json.dumps(document).encode()))


def test_errors_name_the_booster_instead_of_its_estimator():
    with pytest.raises(xgb.XGBoostError, match="of Booster must be"):
        train({**PARAMS, "max_depth": -1})
    with pytest.raises(xgb.XGBoostError) as caught:
        train(data=xgb.DMatrix(X[:0], Y[:0]))
    assert "NativeModel" not in str(caught.value)


def test_interactions_equal_those_of_xgboost(tmp_path):
    booster = train()
    booster.save_model(tmp_path / "model.json")
    theirs = xgboost.Booster(model_file=tmp_path / "model.json")
    margin = np.linspace(-1, 1, 100)
    ours = booster.predict(xgb.DMatrix(X_VALID, base_margin=margin), pred_interactions=True)
    rows = xgboost.DMatrix(X_VALID, base_margin=margin)
    expected = theirs.predict(rows, pred_interactions=True)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, expected, atol=2e-6)
    strict = booster.predict(VALID, pred_interactions=True, strict_shape=True)
    assert strict.shape == (100, 1, 5, 5)
    with pytest.raises(ValueError, match="One type of prediction"):
        booster.predict(VALID, pred_contribs=True, pred_interactions=True)
