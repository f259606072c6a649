"""Cases of LightGBM's own tests that fail on `algorithms.compat.lightgbm`, with reasons.

Test file → key of `library_suite.matches_key` → reason. Only cases that create an object that is
replaced, and that the library itself passes, are listed.
"""

OTHER_TREES = "it compares values with the library's own to a tolerance; our trees are not its own"
OF_USER = "2 of 3000 probabilities of a user's objective differ by 1.3 % from the built-in one's"
MISSPELLED = "it gives a parameter that does not exist; here that is an error"
PRIVATE = "it reads a private attribute or method of the library"
DEPRECATED = "it expects a warning that eval_set is deprecated; it is not deprecated here"
PROCESSORS = (
    "it expects the number of processors in the text of the model; our text is the same for any "
    "number"
)

FAILURES = {
    "test_sklearn": {
        "test_lambdarank": OTHER_TREES,
        "test_first_metric_only": OTHER_TREES,
        "test_multiclass_custom_objective": OF_USER,
        "test_nan_handle": "weights that are all 0 are refused",
        "test_verbosity_is_respected_when_using_custom_objective": MISSPELLED,
        "test_metrics": PRIVATE,
        "test_sklearn_tags_should_correctly_reflect_lightgbm_specific_values": PRIVATE,
        "test_default_n_jobs": PROCESSORS,
        "test_negative_n_jobs": PROCESSORS,
        "test_eval_set_deprecation": DEPRECATED,
        "test_eval_X_eval_y_eval_set_equivalence": DEPRECATED,
    },
    "test_engine": {
        "test_regression fair": OTHER_TREES,
        "test_regression poisson": OTHER_TREES,
        "test_weighted_percentile_inside_label_range regression_l1": (
            "the weighted median is interpolated in another way than in LightGBM 4.7"
        ),
        "test_objective_callable_train_regression": OTHER_TREES,
        "test_multiclass_custom_objective": OF_USER,
        "test_verbosity_is_respected_when_using_custom_objective": MISSPELLED,
        "test_get_split_value_histogram": OTHER_TREES,
        "test_early_stopping_for_only_first_metric": OTHER_TREES,
        "test_sample_strategy_with_boosting": OTHER_TREES,
        "test_forced_bins": "it expects splits of the second of two equivalent features",
        "test_init_with_subset": (
            "it expects that training on rows of a binary file cannot be continued; here it can"
        ),
        "test_force_split_with_feature_fraction": (
            "it bounds the error with the features that LightGBM draws; other features are drawn "
            "here"
        ),
        "test_cegb_split_buffer_clean": "features have no cost",
        "test_dataset_update_params": (
            "it expects that bins are fixed, and gives ignore_column, which is refused; here bins "
            "are found in each training"
        ),
    },
}
