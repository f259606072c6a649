"""An objective and a metric of one's own: overestimates cost three times as much."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import algorithms.compat.lightgbm as lgb

COST = 3.0
X, y = load_diabetes(return_X_y=True)
X_train, X_valid, y_train, y_valid = train_test_split(X, y, random_state=0)


def asymmetric_objective(y_true, y_pred):
    """Return the first and second derivatives of the loss."""
    slope = np.where(y_pred > y_true, COST, 1.0)
    return 2.0 * slope * (y_pred - y_true), 2.0 * slope


def asymmetric_loss(y_true, y_pred):
    """Return the name, the value and whether higher is better."""
    slope = np.where(y_pred > y_true, COST, 1.0)
    return "asymmetric", np.mean(slope * (y_pred - y_true) ** 2), False


model = lgb.LGBMRegressor(
    objective=asymmetric_objective, n_estimators=60, num_leaves=7, metric="None", verbosity=-1
)
model.fit(
    X_train,
    y_train,
    eval_set=[(X_valid, y_valid)],
    eval_metric=asymmetric_loss,
    callbacks=[lgb.early_stopping(10, verbose=False)],
)
over = (model.predict(X_valid) > y_valid).mean()
print(f"{model.best_iteration_} rounds, loss {model.best_score_['valid_0']['asymmetric']:.0f}")
print(f"{over:.0%} of the predictions are too high")
