"""Number of rounds by cross-validation with early stopping."""

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import algorithms.compat.lightgbm as lgb

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

params = {
    "objective": "binary",
    "metric": ["binary_logloss", "auc"],
    "num_leaves": 7,
    "learning_rate": 0.2,
    "verbosity": -1,
    "seed": 0,
}
train_set = lgb.Dataset(X_train, label=y_train)
history = lgb.cv(
    params,
    train_set,
    num_boost_round=60,
    nfold=3,
    stratified=True,
    seed=0,
    callbacks=[lgb.early_stopping(5, first_metric_only=True, verbose=False)],
)
n_rounds = len(history["valid binary_logloss-mean"])
print(f"{n_rounds} rounds, AUC of the folds {history['valid auc-mean'][-1]:.3f}")

booster = lgb.train(params, train_set, num_boost_round=n_rounds)
auc = roc_auc_score(y_test, booster.predict(X_test))
print(f"AUC of the test rows {auc:.3f}")
