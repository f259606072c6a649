"""Tests of unusual column names in each model file format: kept or refused."""

import numpy as np
import pandas as pd
import pytest

from algorithms import HistogramBoostingRegressor, NewtonBoostingRegressor
from algorithms.model_io.errors import ModelFileError

KEPT = [
    "é",
    "面积",
    "🏠",
    'a"b',
    "a\\b",
    "a\tb",
    "a=b",
    "a:b",
    "a[0]",
    "a<b",
    "a,b",
    "{}",
    "a\x85b",
]
KEPT += [
    "\u2028",
    "\x0b",
    "\x1c",
    "\xa0",
    "\ufeff",
    "e\u0301",
    "\u202e",
    "\x7f",
    "none",
    "1",
    "a_b",
]
KEPT += [
    "none",
    "a_b",
    "Tree=0",
    "end_of_trees",
    "pandas_categorical:null",
    "tree_sizes=1",
    "Column_1",
]
KEPT += ["x" * 999, " ", " a", "a ", "a b", "end of trees", "end of parameters"]
REFUSED = {"lightgbm": ["", "a\nb", "a\rb", "a\0b", "a\ud800"], "xgboost": ["a\0b", "a\ud800"]}
FORMS = ["harness", "xgboost", "lightgbm"]


def trained(kind, name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=pd.Index([name, "plain"], dtype=object))
    X["kind"] = pd.Categorical(np.where(rng.random(80) < 0.5, "a", "b"))
    y = X[name] + X["plain"] + (X["kind"] == "a")
    return kind(n_estimators=2, random_state=0).fit(X, y), X


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [HistogramBoostingRegressor, NewtonBoostingRegressor])
def test_names_are_kept_or_refused(kind, form, tmp_path):
    if kind is NewtonBoostingRegressor and form == "lightgbm":
        form = "harness"  # it does not read LightGBM's text
    path = tmp_path / "model"
    names = {"a\0b", "a\ud800", "", "a\nb", "a\rb"}
    for name in [*KEPT, *names - set(REFUSED.get(form, []))]:
        model, X = trained(kind, name)
        model.save_model(path, format=form)
        loaded = kind().load_model(path)
        assert loaded.feature_names_in_.tolist() == [name, "plain", "kind"]
        np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-5)


@pytest.mark.parametrize(("form", "name"), [(f, n) for f, all_ in REFUSED.items() for n in all_])
def test_names_unsupported_by_a_format_are_refused(form, name, tmp_path):
    model, _ = trained(HistogramBoostingRegressor, name)
    with pytest.raises(ModelFileError, match="cannot store a column named"):
        model.save_model(tmp_path / "model", format=form)


@pytest.mark.parametrize("message", ['["a"]', "3", "[1, 2, 3]"])
def test_damaged_line_of_names_is_refused(message, tmp_path):
    model, _ = trained(HistogramBoostingRegressor, "a b")
    path = tmp_path / "model.txt"
    model.save_model(path)
    lines = path.read_text(encoding="utf-8").split("\n")
    damaged = [
        f"column_names={message}" if line.startswith("column_names=") else line for line in lines
    ]
    assert damaged != lines
    path.write_text("\n".join(damaged), encoding="utf-8")
    with pytest.raises(ModelFileError, match="column_names"):
        HistogramBoostingRegressor().load_model(path)
