"""Tests of models exchanged with XGBoost and LightGBM: equal predictions, errors of bad files."""

import dataclasses
import json

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from ensembles import WIDTH, random_ensemble, rows_for
from hypothesis import example, given, settings
from hypothesis import strategies as st

from algorithms import HistogramBoostingRegressor, read_model, serve, write_model
from algorithms.model_io import (
    json_format,
    lightgbm_reader,
    lightgbm_writer,
    xgboost_reader,
    xgboost_writer,
)
from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.objectives import LIGHTGBM, XGBOOST, link_of, name_for
from algorithms.model_io.xgboost_writer import base_score
from harness import HarnessError, Missing

NAN_ONLY = (int(Missing.NONE), int(Missing.NAN), int(Missing.NAN_AS_ZERO))
FORMS = [  # what an ensemble of one value a leaf may be
    {"comparison": "<", "input_dtype": "float32", "sum_dtype": "float32"},
    {"comparison": "<=", "input_dtype": "float32"},
    {"outputs": 3, "link": "softmax", "classes": (0, 1, 2)},
    {"link": "sigmoid", "classes": (0, 1), "base_first": False},
]


def missing_right(trees):
    """Return the trees with missing categories on LightGBM's side."""
    asks_set = trees.categories >= 0
    if not asks_set.any():
        return trees
    members_left = trees.members_left[np.where(asks_set, trees.categories, 0)]
    return dataclasses.replace(
        trees,
        default_left=np.where(asks_set, ~members_left, trees.default_left),
        missing=np.where(asks_set, Missing.NAN, trees.missing),
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMS))
@example(39066, FORMS[0])  # no categorical split
@settings(max_examples=25)
def test_lightgbm_predicts_with_any_sum_of_trees(seed, form):
    rng = np.random.default_rng(seed)
    trees = missing_right(random_ensemble(rng, **{**form, "sum_dtype": "float64"}))
    booster = lightgbm.Booster(model_str=lightgbm_writer.write(trees))
    X = rows_for(trees, rng, 300)
    X[np.abs(X) < 1e-34] = 0.0  # LightGBM reads them so
    X[np.isneginf(X)] = np.nan  # x <= −∞ cannot say that nothing goes left
    types = np.array(column_types(trees)) == "c"
    X[:, types] = np.floor(X[:, types])  # LightGBM takes −0.5 for the category 0
    predictions = booster.predict(X, raw_score=True, num_threads=1).reshape(len(X), -1)
    assert np.array_equal(predictions, trees.raw(X))


@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMS[:1] + FORMS[2:]))
@settings(max_examples=25)
def test_xgboost_predicts_with_any_single_precision_sum(seed, form):
    rng = np.random.default_rng(seed)
    trees = random_ensemble(
        rng, tree={"kinds": NAN_ONLY}, **{"input_dtype": "float32", **form, "sum_dtype": "float32"}
    )
    booster = xgboost.Booster(model_file=bytearray(xgboost_writer.write(trees).encode()))
    with np.errstate(over="ignore"):
        X = rows_for(trees, rng, 300).astype(np.float32)
    X[np.isinf(X)] = np.nan  # XGBoost refuses them
    X[:, :] = np.where(np.isnan(X) | (X >= 0), X, -X)  # and negative categories too
    types = column_types(trees)
    data = xgboost.DMatrix(X, feature_types=types, enable_categorical=True, nthread=1)
    predictions = booster.predict(data, output_margin=True).reshape(len(X), -1)
    assert np.array_equal(predictions, trees.raw(X))


def column_types(trees):
    results = set(trees.feature[trees.categories >= 0].tolist())
    return ["c" if f in results else "q" for f in range(WIDTH)]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_own_format_holds_every_field(seed):
    rng = np.random.default_rng(seed)
    trees = random_ensemble(rng, values=3, combination="vote", against=-0.5, temperature=2.0)
    result, about = json_format.read(json.loads(json_format.write(trees, estimator={"a": 1})))
    assert about == {"a": 1}
    for name, array in trees.to_arrays().items():
        assert np.array_equal(
            getattr(result, name, array), array, equal_nan=array.dtype.kind == "f"
        )
    assert str(result.to_arrays()["header"]) == str(trees.to_arrays()["header"])


def trained_by_xgboost(objective="reg:squarederror", **params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, WIDTH))
    y = np.exp(X[:, 0] / 2) if ":" in objective and "logistic" not in objective else X[:, 0] > 0
    y = rng.integers(0, 3, 500) if "num_class" in params else y
    data = xgboost.DMatrix(X, y)
    given = {"objective": objective, "nthread": 1, "max_depth": 4, **params}
    return xgboost.train(given, data, 8), data, X


@pytest.mark.parametrize(
    ("objective", "params"),
    [
        ("reg:squarederror", {}),
        ("reg:absoluteerror", {}),
        ("reg:pseudohubererror", {}),
        ("reg:quantileerror", {"quantile_alpha": 0.3}),
        ("reg:squarederror", {"booster": "dart", "rate_drop": 0.5}),
        ("reg:squarederror", {"num_parallel_tree": 3}),
        ("count:poisson", {}),
        ("reg:gamma", {}),
        ("reg:tweedie", {}),
        ("binary:logistic", {}),
        ("reg:logistic", {"base_score": 0.2}),
        ("multi:softprob", {"num_class": 3}),
    ],
)
def test_xgboost_file_is_read_and_written_back(objective, params, tmp_path):
    booster, data, X = trained_by_xgboost(objective, **params)
    booster.save_model(tmp_path / "theirs.json")
    trees = read_model(tmp_path / "theirs.json")
    margin = booster.predict(data, output_margin=True).reshape(len(X), -1)
    near = 1e-6 if params.get("booster") == "dart" else 0.0  # it subtracts the base of each tree
    np.testing.assert_allclose(trees.raw(X), margin, rtol=near, atol=near)
    write_model(trees, tmp_path / "ours.json", format="xgboost", objective=objective)
    again = xgboost.Booster(model_file=tmp_path / "ours.json")
    np.testing.assert_allclose(again.predict(data), booster.predict(data), rtol=near, atol=near)
    assert json.loads(again.save_config())["learner"]["objective"]["name"] == objective


def test_writing_an_xgboost_model_returns_its_trees(tmp_path):
    booster, _, _ = trained_by_xgboost("binary:logistic")
    theirs = json.loads(booster.save_raw("json"))
    ensemble, _ = xgboost_reader.read(theirs)
    ours = json.loads(xgboost_writer.write(ensemble))
    scores = [
        float(m["learner"]["learner_model_param"].pop("base_score")[1:-1]) for m in (ours, theirs)
    ]
    assert scores[0] == scores[1]
    assert ours["learner"].keys() == theirs["learner"].keys()
    assert ours["learner"]["learner_model_param"] == theirs["learner"]["learner_model_param"]
    assert ours["learner"]["objective"] == theirs["learner"]["objective"]
    result, expected = (m["learner"]["gradient_booster"]["model"] for m in (ours, theirs))
    for one, other in zip(result.pop("trees"), expected.pop("trees"), strict=True):
        assert one.keys() == other.keys()
        assert one["tree_param"] == other["tree_param"]
        for name in other.keys() - {"tree_param"}:
            assert np.array_equal(np.float32(one[name]), np.float32(other[name])), name
    assert result == expected


def test_lightgbm_file_is_read_and_written_back(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, WIDTH))
    X[:, 3] = rng.integers(0, 40, 500)
    params = {"verbose": -1, "num_threads": 1, "min_data_per_group": 1, "zero_as_missing": True}
    data = lightgbm.Dataset(X, X[:, 0] + X[:, 3] % 5, categorical_feature=[3])
    booster = lightgbm.train(params, data, 8)
    booster.save_model(tmp_path / "theirs.txt")
    X[rng.random(X.shape) < 0.2] = np.nan
    X[rng.random(X.shape) < 0.2] = 0.0
    trees = read_model(tmp_path / "theirs.txt")
    assert np.array_equal(trees.raw(X)[:, 0], booster.predict(X))
    write_model(trees, tmp_path / "ours.txt")
    again = lightgbm.Booster(model_file=tmp_path / "ours.txt")
    assert np.array_equal(again.predict(X), booster.predict(X))
    blocks = [(tmp_path / f).read_text().split("\nTree=")[1:] for f in ("theirs.txt", "ours.txt")]
    kept = ("split_feature", "left_child", "right_child", "cat_threshold")
    for theirs, ours in zip(*blocks, strict=True):
        lines = [[x for x in b.split("\n") if x.startswith(kept)] for b in (theirs, ours)]
        assert lines[0] == lines[1]


def test_callable_objective_stores_no_name_and_predicts_raw_scores():
    X = np.random.default_rng(2).normal(size=(300, 2))
    y = X[:, 0]
    params = {"verbose": -1, "num_threads": 1, "objective": lambda p, d: (p - y, np.ones(300))}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y), 5)
    text = booster.model_to_string()
    assert "objective=" not in text.split("tree_sizes")[0]
    assert np.array_equal(lightgbm_reader.read(text)[0].predict(X), booster.predict(X))


def test_category_list_is_assigned_to_the_only_possible_column(tmp_path):
    rng = np.random.default_rng(4)
    grade, code = rng.integers(0, 3, 500), rng.integers(0, 12, 500)
    ordered = pd.Categorical.from_codes(grade, ["low", "mid", "top"], ordered=True)
    frame = pd.DataFrame({"grade": ordered, "code": code})
    data = lightgbm.Dataset(frame, grade + code % 3, categorical_feature=["code"])
    params = {"verbose": -1, "num_threads": 1, "min_data_per_group": 1}
    booster = lightgbm.train(params, data, 5)
    booster.save_model(tmp_path / "model.txt")
    text = (tmp_path / "model.txt").read_text()
    assert 'pandas_categorical:[["low", "mid", "top"]]' in text
    assert lightgbm_reader.read(text)[2] == {"grade": ["low", "mid", "top"]}
    model = HistogramBoostingRegressor().load_model(tmp_path / "model.txt")
    assert np.array_equal(model.predict(frame), booster.predict(frame))


# ------------------------------------------------------------------ objectives and base scores


@given(st.floats(-15, 15, width=32), st.sampled_from(["sigmoid", "exp", "identity", "softmax"]))
def test_base_score_has_the_margin_it_is_computed_from(margin, link):
    result = base_score(np.float32(margin), link)
    assert result is None or xgboost_reader.margin(result, link) == np.float32(margin)
    score = np.float32(1 / (1 + np.exp(-margin))) if link == "sigmoid" else np.float32(0.7)
    if 0 < score < 1:
        assert base_score(xgboost_reader.margin(score, link), link) is not None


@pytest.mark.parametrize("score", ["1E-9", "0E0", "1E0", "9.999999E-1"])
def test_probability_near_0_or_1_has_the_xgboost_margin(score, tmp_path):
    booster, data, X = trained_by_xgboost("binary:logistic")
    document = json.loads(booster.save_raw("json"))
    document["learner"]["learner_model_param"]["base_score"] = f"[{score}]"
    (tmp_path / "model.json").write_text(json.dumps(document))
    again = xgboost.Booster(model_file=tmp_path / "model.json")
    margin = again.predict(data, output_margin=True)
    assert np.array_equal(read_model(tmp_path / "model.json").raw(X)[:, 0], margin)


def test_objectives_are_named_by_their_links():
    trees = random_ensemble(np.random.default_rng(0), link="exp")
    assert name_for(trees, None, XGBOOST) == "count:poisson"
    assert name_for(trees, "gamma", XGBOOST) == "reg:gamma"
    assert name_for(trees, "reg:tweedie", LIGHTGBM) == "tweedie"
    assert name_for(trees, "binary", LIGHTGBM) == "poisson"
    several = random_ensemble(np.random.default_rng(0), outputs=2)
    with pytest.raises(ModelFileError, match="no objective of the library turns 2 scores"):
        name_for(several, None, LIGHTGBM)
    with pytest.raises(ModelFileError, match="the objective 'survival:weibull' is not supported"):
        link_of("survival:weibull", XGBOOST)


# ------------------------------------------------------------------ content unsupported by a format


@pytest.mark.parametrize(
    ("change", "form", "message"),
    [
        ({"combination": "mean"}, "xgboost", "the mean of trees with 1"),
        ({"temperature": 2.0}, "xgboost", "no temperature"),
        ({"temperature": 2.0}, "lightgbm", "no temperature"),
        ({"missing": Missing.ZERO}, "xgboost", "cannot treat zeros"),
        ({"output": "uneven", "base": np.zeros(2)}, "lightgbm", "as many trees for each score"),
        ({"output": "uneven", "base": np.zeros(2)}, "xgboost", "as many trees for each score"),
        ({"set_codes": 1 << 24}, "lightgbm", "code is above"),
        ({"default_left": True}, "lightgbm", "this model sends some left"),
    ],
)
def test_content_unsupported_by_a_format_is_refused(change, form, message, tmp_path):
    rng = np.random.default_rng(5)
    trees = random_ensemble(
        rng, tree={"kinds": (1,), "depth": 6, "sets": "code" in message or "left" in message}
    )
    change = dict(change)
    if change.get("output") == "uneven":
        change["output"] = np.array([0, 0, 0, 0, 0, 1])
        change |= {"link": "softmax", "classes": (0, 1)}
    if "missing" in change:
        change["missing"] = np.full(trees.n_nodes, change["missing"])
    if "set_codes" in change:
        change["set_codes"] = trees.set_codes + change["set_codes"]
    if "default_left" in change:
        change["default_left"] = np.ones(trees.n_nodes, bool)
        change["members_left"] = np.ones(len(trees.members_left), bool)
    trees = dataclasses.replace(trees, **change)
    with pytest.raises(ModelFileError, match=message):
        write_model(trees, tmp_path / "model", format=form)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "b\n", "b\rc"])
def test_names_unsupported_by_lightgbm_text_are_refused(name, tmp_path):
    trees = random_ensemble(np.random.default_rng(3), tree={"sets": False})
    with pytest.raises(ModelFileError, match="cannot store a column named"):
        write_model(trees, tmp_path / "model.txt", names=["a", name, "c", "d"])
    assert list(tmp_path.iterdir()) == []


def test_names_made_equal_by_lightgbm_text_are_refused(tmp_path):
    trees = random_ensemble(np.random.default_rng(3), tree={"sets": False})
    with pytest.raises(ModelFileError, match=r"columns \['a b', 'a_b'\] get the same name"):
        write_model(trees, tmp_path / "model.txt", names=["a b", "c", "a_b", "d"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["harness", "xgboost", "lightgbm"])
def test_number_of_names_must_equal_number_of_columns(form, tmp_path):
    trees = random_ensemble(np.random.default_rng(3), tree={"kinds": NAN_ONLY, "sets": False})
    for count in (WIDTH - 1, WIDTH + 1):
        with pytest.raises(ModelFileError, match=f"has {count} entries, .* is {WIDTH}"):
            write_model(trees, tmp_path / "model", format=form, names=list("abcdef"[:count]))
    assert list(tmp_path.iterdir()) == []


def test_formats_are_chosen_by_suffix(tmp_path):
    trees = random_ensemble(np.random.default_rng(0))
    with pytest.raises(
        ModelFileError, match=r"'.bin' is not the suffix of a format: write to .json"
    ):
        write_model(trees, tmp_path / "model.bin")
    with pytest.raises(ModelFileError, match="format is 'onnx'; harness, xgboost, lightgbm"):
        write_model(trees, tmp_path / "model.bin", format="onnx")
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "none.json")


# ------------------------------------------------------------------ invalid files


DAMAGE = ["9", "-1", "1e308", "NaN", "null", '"a"', "[]", "true", ",0", "{", "\n", "=", " ", "e"]


def xgboost_text():
    return trained_by_xgboost()[0].save_raw("json").decode()


def text_for_lightgbm():
    trees = random_ensemble(np.random.default_rng(3), tree={"sets": False})
    return lightgbm_writer.write(trees)


def refused(text, tmp_path, message):
    path = tmp_path / "model"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ModelFileError, match=f"model cannot be read as a model: .*{message}"):
        read_model(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "malformed"),
        ("tree", "malformed"),
        ("tree\n", "have no end"),
        ("{}", "neither XGBoost's JSON, nor CatBoost's, nor this project's"),
        ("[]", "malformed"),
        ("null", "malformed"),
        (b"\xff\xfe\x00", "malformed"),
        ("[" * 100_000, "malformed"),
        ('{"learner": 3}', "malformed"),
        ('{"format": "tree-harness model", "version": 4}', "version 4; .* upgrade the program"),
        ('{"format": "tree-harness model", "version": 1, "trees": {}}', "malformed"),
    ],
)
def test_file_without_a_model_is_reported(text, message, tmp_path):
    refused(text, tmp_path, message)


@pytest.mark.parametrize("make", [xgboost_text, text_for_lightgbm], ids=["xgboost", "lightgbm"])
def test_incomplete_file_is_reported(make, tmp_path):
    text = make()
    for end in np.linspace(1, len(text) - len(text) // 20, 30).astype(int).tolist():
        if "end of trees" not in text[:end]:  # what follows them is not needed to predict
            refused(text[:end], tmp_path, "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"num_class":"0"', '"num_class":"999999999"', "has 999999999 scores"),
        ('"reg:squarederror"', '"survival:weibull"', "'survival:weibull' is not supported"),
        ('"num_feature":"4","num_target"', '"num_feature":"1","num_target"', "unknown feature"),
        ('"left_children":[1,', '"left_children":[0,', "cycle"),
        (
            '"left_children":[1,',
            '"left_children":[99999,',
            "left_children of a tree has the value 99999",
        ),
        ('"size_leaf_vector":"1"', '"size_leaf_vector":"99999"', "cannot reshape"),
        ('"name":"gbtree"', '"name":"gblinear"', "'gblinear' has no trees"),
        ('"default_left":[', '"default_left":[0,', "different lengths"),
    ],
)
def test_invalid_xgboost_model_is_reported(old, new, message, tmp_path):
    text = xgboost_text()
    assert old in text
    refused(text.replace(old, new, 1), tmp_path, message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("num_leaves=", "num_leaves=9999999999", "leaf values, num_leaves is 9999999999"),
        ("num_leaves=", "num_leaves=-", "leaf values, num_leaves is -"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=999999999", "has 999999999 scores"),
        ("objective=regression", "objective=rank_other", "'rank_other' is not supported"),
        ("objective=regression", "objective=regression sqrt", "square root"),
        ("version=v4", "version=v9", "version 'v9'"),
        ("label_index", "average_output\nlabel_index", "average_output"),
        ("is_linear=0", "is_linear=1", "leaf_const"),
        ("left_child=", "left_child=0 ", "entries of left_child"),
        ("threshold=", "threshold=x", "malformed"),
        ("max_feature_idx=3", "max_feature_idx=0", "names 4"),
    ],
)
def test_invalid_lightgbm_model_is_reported(old, new, message, tmp_path):
    text = text_for_lightgbm()
    assert old in text
    refused(text.replace(old, new, 1), tmp_path, message)


@given(st.integers(0, 2**32 - 1))
def test_damaged_file_is_reported_or_gives_a_valid_model(whole_files, seed):
    rng = np.random.default_rng(seed)
    path, texts = whole_files
    text = list(texts[rng.integers(len(texts))])
    for _ in range(rng.integers(1, 4)):
        i = int(rng.integers(len(text)))
        if rng.random() < 0.3:
            del text[i : i + int(rng.integers(1, 40))]
        text[i : i + int(rng.integers(2))] = str(rng.choice(DAMAGE))
    path.write_text("".join(text))
    try:
        trees = read_model(path)
    except ModelFileError:
        return
    if trees.n_features < 1000:
        with np.errstate(all="ignore"):
            assert len(serve(trees).raw(np.zeros((2, trees.n_features)))) == 2


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    """Return a path to write to, and the texts of models in all formats."""
    trees = random_ensemble(np.random.default_rng(3), n_trees=2, tree={"sets": False, "depth": 2})
    texts = [xgboost_text(), lightgbm_writer.write(trees), json_format.write(trees)]
    return tmp_path_factory.mktemp("damaged") / "model", texts


def test_error_is_our_own_and_a_value_error():
    assert issubclass(ModelFileError, HarnessError)
    assert issubclass(ModelFileError, ValueError)
