"""Table of CatBoost's parameters with all synonyms: supported, ignored or rejected."""

from algorithms.compat.parameters import Parameter, ParameterTable

ALIASES = {  # our argument, CatBoost's main name → the synonyms
    "iterations": "n_estimators num_boost_round num_trees",
    "learning_rate": "eta",
    "depth": "max_depth",
    "l2_leaf_reg": "reg_lambda",
    "random_seed": "random_state",
    "border_count": "max_bin",
    "rsm": "colsample_bylevel",
    "loss_function": "objective",
    "max_leaves": "num_leaves",
    "min_data_in_leaf": "min_child_samples",
    "custom_metric": "custom_loss",
    "thread_count": "n_jobs",  # ours; CatBoost knows thread_count alone
}
ATTRIBUTES = """
feature_border_type nan_mode random_strength bootstrap_type subsample bagging_temperature mvs_reg
score_function leaf_estimation_method leaf_estimation_iterations leaf_estimation_backtracking
boost_from_average eval_metric early_stopping_rounds od_type od_wait od_pval use_best_model
best_model_min_trees class_weights auto_class_weights scale_pos_weight verbose
metric_period parity boosting_type has_time approx_on_full_history fold_len_multiplier
fold_permutation_block cat_features one_hot_max_size max_ctr_complexity simple_ctr
combinations_ctr ctr_target_border_count model_size_reg monotone_constraints grow_policy
ignored_features class_names eval_fraction
feature_weights first_feature_use_penalties per_object_feature_penalties penalties_coefficient
model_shrink_rate model_shrink_mode langevin diffusion_temperature posterior_sampling
save_snapshot snapshot_file snapshot_interval
"""
NO_EFFECT = {
    "it is about output": "logging_level silent verbose_eval train_dir allow_writing_files name"
    " train_final_model metadata",
    "it is about memory and speed": "used_ram_limit gpu_ram_part pinned_memory_size"
    " dev_score_calc_obj_block_size dev_efb_max_buckets gpu_cat_features_storage data_partition",
    "the number of classes is that of y": "classes_count",
    "constant targets are allowed": "allow_const_label",
    "all levels are kept": "store_all_simple_ctr",
    "it is about the library's files": "final_ctr_computation_mode",
    "labels decide the classes": "target_border",
}
ENCODE_TEXT = (
    "turn text columns into numbers first, for example by scikit-learn's TfidfVectorizer, and give "
    "them in place of the text"
)
REFUSED = [  # name, synonyms, harmless values, reason
    ("task_type", "", ("CPU", None), "there is no GPU code here"),
    ("devices", "device_config", (None,), "there is no GPU code here"),
    ("per_feature_ctr", "", (None,), "all columns have the statistics of simple_ctr"),
    ("ctr_description", "", (None,), "give simple_ctr and combinations_ctr"),
    ("ctr_border_count", "", (15, None), "give CtrBorderCount in simple_ctr"),
    ("counter_calc_method", "", ("SkipTest", None), "Counter counts the training rows"),
    ("ctr_leaf_count_limit", "", (None,), "all levels are kept"),
    ("ctr_history_unit", "", ("Sample", None), "each row counts"),
    ("text_features", "", (None,), ENCODE_TEXT),
    ("embedding_features", "", (None,), "give their values as columns"),
    ("tokenizers", "", (None,), ENCODE_TEXT),
    ("dictionaries", "", (None,), ENCODE_TEXT),
    ("feature_calcers", "", (None,), ENCODE_TEXT),
    ("text_processing", "", (None,), ENCODE_TEXT),
    ("sampling_frequency", "", ("PerTree", None), "rows are drawn for each tree"),
    ("sampling_unit", "", ("Object", None), "rows are drawn one by one"),
    ("random_score_type", "", ("NormalWithModelSizeDecrease", None), "the noise is normal"),
    ("sparse_features_conflict_fraction", "", (0, 0.0, None), "columns are not bundled"),
    ("per_float_feature_quantization", "", (None,), "all columns have border_count borders"),
    ("input_borders", "", (None,), "borders are chosen in training"),
    ("output_borders", "", (None,), "the trees contain their borders"),
    ("callback", "", (None,), "give callbacks to fit"),
    ("fixed_binary_splits", "", (None,), "splits are chosen in training"),
]


def rows():
    """Yield all parameters of the table."""
    for name, synonyms in ALIASES.items():
        yield Parameter(name, tuple(synonyms.split()), attribute=name)
    for name in ATTRIBUTES.split():
        yield Parameter(name, attribute=name)
    for reason, names in NO_EFFECT.items():
        for name in names.split():
            yield Parameter(name, ignored=True, reason=reason)
    for name, synonyms, harmless, reason in REFUSED:
        yield Parameter(name, tuple(synonyms.split()), harmless=harmless, reason=reason)


CATBOOST = ParameterTable("CatBoost", rows())
