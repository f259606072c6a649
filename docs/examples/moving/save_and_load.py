"""Saved models: LightGBM's text format, pickle, and a table of all nodes."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

import algorithms.compat.lightgbm as lgb

X, y = load_wine(return_X_y=True, as_frame=True)
model = lgb.LGBMClassifier(n_estimators=10, num_leaves=5, verbosity=-1).fit(X, y)
expected = model.predict_proba(X)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "wine.txt"
    model.booster_.save_model(path)
    print(f"{path.stat().st_size} bytes; first lines: {path.read_text().splitlines()[:3]}")
    booster = lgb.Booster(model_file=path)

np.testing.assert_allclose(booster.predict(X), expected)
np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)

nodes = booster.trees_to_dataframe()
print(f"{booster.num_trees()} trees, {len(nodes)} nodes")
print(nodes.groupby("split_feature").split_gain.sum().nlargest(3).round(1).to_string())
print("first tree:", booster.dump_model()["tree_info"][0]["tree_structure"]["split_feature"])
