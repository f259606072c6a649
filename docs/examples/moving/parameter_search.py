"""Random search that drops weak candidates early, and stops each model by a callback."""

from scipy.stats import loguniform, randint
from sklearn.datasets import load_wine
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - it enables the next import
from sklearn.model_selection import HalvingRandomSearchCV, train_test_split

import algorithms.compat.lightgbm as lgb

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

search = HalvingRandomSearchCV(
    lgb.LGBMClassifier(min_child_samples=5, verbosity=-1, random_state=0),
    {
        "num_leaves": randint(3, 16),
        "learning_rate": loguniform(0.03, 0.3),
        "colsample_bytree": [0.5, 1.0],
    },
    resource="n_estimators",
    min_resources=3,
    max_resources=12,
    factor=2,
    n_candidates=4,
    cv=2,
    scoring="neg_log_loss",
    random_state=0,
)
search.fit(
    X_train,
    y_train,
    eval_X=X_test,
    eval_y=y_test,
    callbacks=[lgb.early_stopping(4, verbose=False)],
)
accuracy = (search.predict(X_test) == y_test).mean()
print(search.best_params_, f"accuracy {accuracy:.3f}")
