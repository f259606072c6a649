"""Cases of LightGBM's and XGBoost's own tests that fail on our classes, with reasons.

A key is a test's function and, separated by blanks, words of its parameters. Only cases that
create an estimator, and that the library itself passes, are listed.
"""

OTHER_TREES = "it compares values with the library's own to a tolerance; our trees are not its own"
PRIVATE = "it reads a private attribute, or the parameters that the library's model text lists"
OWN_NAME = "it matches an error's text, in which our class has its own name"
OWN_ERROR = "it expects an exception or a warning of the library's own type"
SIGNATURE = "it compares the constructor's arguments with a list; ours has more of them"
ENSEMBLES = "it needs num_parallel_tree or other trees that are missing here"

FAILURES = {
    "lightgbm": {
        "test_binary_classification_with_custom_objective": (
            "predict_proba of a classifier with an objective of the user's is a probability here"
        ),
        "test_estimators_all_have_the_same_kwargs_and_defaults": SIGNATURE,
        "test_subclassing_get_params_works": SIGNATURE,
        "test_parameter_aliases_are_handled_correctly": PRIVATE,
        "test_negative_n_jobs": PRIVATE,
        "test_default_n_jobs": PRIVATE,
        "test_sklearn_tags_should_correctly_reflect_lightgbm_specific_values": PRIVATE,
        "test_pandas_categorical": OTHER_TREES,
        "test_predict": OTHER_TREES,
        "test_multiclass_custom_objective": OTHER_TREES,
        "test_first_metric_only": OTHER_TREES,
        "test_predict_with_params_from_init": "pred_early_stop is ignored: all trees predict",
        "test_nan_handle": "weights that are all 0 are refused",
        "test_verbosity_is_respected_when_using_custom_objective": (
            "it gives a parameter that does not exist; here that is an error"
        ),
        "test_fit_only_raises_num_rounds_warning_when_expected": OWN_ERROR,
        "test_validate_features": OWN_ERROR,
        "test_eval_set_deprecation": OWN_ERROR,
        "test_eval_X_eval_y_eval_set_equivalence": OWN_ERROR,
        "test_predict_rejects_inputs_with_incorrect_number_of_features": OWN_NAME,
    },
    "xgboost": {
        "test_num_parallel_tree": ENSEMBLES,
        "test_feature_weights": ENSEMBLES,
        "test_parameters_access": PRIVATE,
    },
}
