"""Cases of XGBoost's own tests that fail on `algorithms.compat.xgboost`, with reasons.

A key is a test's function and, separated by blanks, words of its parameters. Only cases that
create an object of a replaced class, and that the library itself passes, are listed.
"""

LINEAR = "it needs a linear model (gblinear)"
DART = "it needs dart"
RANKING = "it needs a ranking objective"
TARGETS = "it needs several targets"
WORKERS = "it splits the columns between workers of XGBoost's collective"
PRIVATE = "it reads private attributes or tags of XGBoost's estimators"
ERROR = "it expects another error than ours"

FAILURES = {
    "native": {
        "test_early_stopping_save_best_model": LINEAR,
    },
    "estimators": {},
}
