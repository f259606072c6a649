"""Cases of XGBoost's own tests that fail on `algorithms.compat.xgboost`, with reasons.

A key is a test's function, with its module or class if others have it too, and, separated by
blanks, words of its parameters. Only cases that
create an object of a replaced class, and that the library itself passes, are listed.
"""

LINEAR = "it needs a linear model (gblinear)"
TARGETS = "it needs several targets"
WORKERS = "it splits the columns between workers of XGBoost's collective"
ROUNDING = "gradients are rounded by the number of the round, which starts again with a margin"
PRIVATE = "it reads private attributes, tags or links of XGBoost's estimators"

FAILURES = {
    "native": {
        "test_early_stopping_save_best_model": LINEAR,
    },
    "estimators": {
        "test_best_iteration": "it needs dart",
        "test_feature_importances_weight": LINEAR,
        "test_sklearn_api": LINEAR,
        "test_RFECV": LINEAR,
        "test_intercept": LINEAR,
        "test_parameters_access": "it expects that load_model forgets the parameters",
        "test_validation_weights": "XGBModel is a regressor; it cannot be trained as a classifier",
        "test_parameter_validation": "estimators refuse a parameter that does not exist",
        "test_boost_from_prediction exact": TARGETS,
        "test_boost_from_prediction hist": ROUNDING,
        "test_boost_from_prediction approx": ROUNDING,
        "test_multilabel_classification": TARGETS,
        "test_regressor": TARGETS,
        "test_data_initialization": "it counts DMatrix objects; fit of an estimator makes none",
        "test_with_sklearn::test_categorical": "estimators do not take feature_types of an array",
        "test_mixed_metrics": "it expects that several metrics of the user are refused",
        "test_fit_none": "it matches the texts of other errors",
        "test_tags": PRIVATE,
        "test_sklearn_tags": PRIVATE,
        "test_doc_link": PRIVATE,
        "test_apply_method": "enable_categorical is checked in training only",
        "test_precision_score": "set_params of a fitted estimator does not change its Booster",
        "test_recoding": "a Booster has no get_categories",
        "test_classififer": "the file of an estimator names the columns in an attribute, too",
        "test_pandas_column_split": WORKERS,
        "test_pandas_categorical_column_split": WORKERS,
        "test_pandas_label_column_split": WORKERS,
        "test_pandas_weight_column_split": WORKERS,
        "TestArrowTableColumnSplit::test_arrow_table": WORKERS,
    },
}
