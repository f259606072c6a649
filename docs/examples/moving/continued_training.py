"""Continued training: new rows arrive, and the model gets more rounds or new leaf values."""

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss

import algorithms.compat.lightgbm as lgb

X, y = load_breast_cancer(return_X_y=True)
first, second, test = slice(0, 250), slice(250, 450), slice(450, None)
params = {"objective": "binary", "num_leaves": 7, "verbosity": -1, "seed": 0}


def loss(booster):
    """Return the log loss of the test rows."""
    return log_loss(y[test], booster.predict(X[test]))


old = lgb.train(params, lgb.Dataset(X[first], label=y[first]), num_boost_round=15)
print(f"{old.num_trees()} trees on the first rows: {loss(old):.3f}")

more = lgb.train(
    params,
    lgb.Dataset(X[second], label=y[second]),
    num_boost_round=15,
    init_model=old,
    callbacks=[lgb.reset_parameter(learning_rate=lambda number: 0.1 * 0.95**number)],
)
print(f"{more.num_trees()} trees, the last 15 on new rows: {loss(more):.3f}")

refitted = old.refit(X[second], y[second], decay_rate=0.5)
print(f"the old {refitted.num_trees()} trees with leaves of new rows: {loss(refitted):.3f}")
