"""Table of LightGBM's parameters with all aliases: supported, ignored or rejected.

A supported parameter maps to a constructor argument of our estimator. An ignored parameter has no
effect, for the reason given. A rejected parameter raises an error unless its value is harmless.
"""

from numbers import Integral, Real

import numpy as np

from algorithms.compat.parameters import Parameter, ParameterTable

READ = """
num_leaves num_leaves num_leaf max_leaves max_leaf max_leaf_nodes
max_depth max_depth
learning_rate learning_rate shrinkage_rate eta
num_iterations n_estimators num_iteration n_iter num_tree num_trees num_round num_rounds nrounds \
num_boost_round max_iter
bin_construct_sample_cnt subsample_for_bin
objective objective objective_type app application loss
min_gain_to_split min_split_gain
min_sum_hessian_in_leaf min_child_weight min_sum_hessian_per_leaf min_sum_hessian min_hessian
min_data_in_leaf min_child_samples min_data_per_leaf min_data min_samples_leaf
bagging_fraction subsample sub_row bagging
bagging_freq subsample_freq
feature_fraction colsample_bytree sub_feature
lambda_l1 reg_alpha l1_regularization
lambda_l2 reg_lambda lambda l2_regularization
seed random_state random_seed
num_threads n_jobs num_thread nthread nthreads
max_bin max_bin max_bins
min_data_in_bin min_data_in_bin
enable_bundle enable_bundle is_enable_bundle bundle
is_enable_sparse is_enable_sparse is_sparse enable_sparse sparse
data_sample_strategy data_sample_strategy
top_rate top_rate
other_rate other_rate
max_delta_step max_delta_step max_tree_output max_leaf_output
path_smooth path_smooth
extra_trees extra_trees extra_tree
monotone_constraints monotone_constraints mc monotone_constraint monotonic_cst
interaction_constraints interaction_constraints
categorical_feature categorical_feature cat_feature categorical_column \
cat_column categorical_features
cat_smooth cat_smooth
cat_l2 cat_l2
max_cat_threshold max_cat_threshold
max_cat_to_onehot max_cat_to_onehot
min_data_per_group min_data_per_group
boost_from_average boost_from_average
early_stopping_round early_stopping_round early_stopping_rounds early_stopping n_iter_no_change
early_stopping_min_delta early_stopping_min_delta
boosting boosting_type boost
drop_rate drop_rate rate_drop
max_drop max_drop
skip_drop skip_drop
uniform_drop uniform_drop
xgboost_dart_mode xgboost_dart_mode
alpha alpha
poisson_max_delta_step poisson_max_delta_step
tweedie_variance_power tweedie_variance_power
fair_c fair_c
scale_pos_weight scale_pos_weight
is_unbalance is_unbalance unbalance unbalanced_sets
linear_tree linear_tree linear_trees
linear_lambda linear_lambda
metric metric metrics metric_types
first_metric_only first_metric_only
verbosity verbosity verbose
use_missing use_missing
zero_as_missing zero_as_missing
max_bin_by_feature max_bin_by_feature
forcedbins_filename forcedbins_filename
bagging_by_query bagging_by_query
feature_contri feature_contri feature_contrib fc fp feature_penalty
feature_fraction_bynode feature_fraction_bynode sub_feature_bynode colsample_bynode
monotone_penalty monotone_penalty monotone_splits_penalty ms_penalty mc_penalty
multi_error_top_k multi_error_top_k
auc_mu_weights auc_mu_weights
pred_early_stop pred_early_stop
pred_early_stop_freq pred_early_stop_freq
pred_early_stop_margin pred_early_stop_margin
"""
READ += (
    "forcedsplits_filename forcedsplits_filename fs forced_splits_filename forced_splits_file"
    " forced_splits\n"
)
NO_EFFECT = {
    "it is about output": "metric_freq=output_freq snapshot_freq=save_period"
    " is_provide_training_metric=training_metric,is_training_metric,train_metric",
    "it is about memory layout and speed": "force_col_wise force_row_wise"
    " histogram_pool_size=hist_pool_size pre_partition=is_pre_partition"
    " two_round=two_round_loading,use_two_round_loading feature_pre_filter",
    "the model is the same for any number of threads and any layout": "deterministic",
    "random_state decides all that is drawn": "data_random_seed=data_seed"
    " bagging_seed=bagging_fraction_seed feature_fraction_seed extra_seed drop_seed objective_seed",
    "gradients are always whole numbers, rounded at random": "use_quantized_grad"
    " num_grad_quant_bins quant_train_renew_leaf stochastic_rounding",
    "the number of classes is that of y": "num_class=num_classes",
    "it is for a method that is not called": "refit_decay_rate",
    "it is for ranking": "lambdarank_truncation_level lambdarank_norm label_gain"
    " lambdarank_position_bias_regularization eval_at=ndcg_eval_at,ndcg_at,map_eval_at,map_at",
    "it is read by LightGBM's command line program": "config=config_file task=task_type"
    " data=train,train_data,train_data_file,data_filename"
    " valid=test,valid_data,valid_data_file,test_data,test_data_file,valid_filenames"
    " output_model=model_output,model_out save_binary=is_save_binary,is_save_binary_file"
    " output_result=predict_result,prediction_result,predict_name,prediction_name,pred_name"
    ",name_pred"
    " header=has_header label_column=label weight_column=weight parser_config_file"
    " group_column=group,group_id,query_column,query,query_id precise_float_parser"
    " convert_model=convert_model_file convert_model_language saved_feature_importance_type",
    "the monotone method is the basic one": "monotone_constraints_method"
    "=monotone_constraining_method,mc_method",
    "it is about machines": "local_listen_port=local_port,port time_out"
    " machine_list_filename=machine_list_file,machine_list,mlist top_k=topk",
    "it is about a GPU": "gpu_platform_id gpu_device_id gpu_device_id_list gpu_use_dp num_gpu",
    "it is an argument of predict": "predict_disable_shape_check"
    " start_iteration_predict num_iteration_predict"
    " predict_raw_score=is_predict_raw_score,predict_rawscore,raw_score"
    " predict_leaf_index=is_predict_leaf_index,leaf_index"
    " predict_contrib=is_predict_contrib,contrib",
}
ONE = (1, 1.0, None)
NONE = (None, "", (), [])
OFF = (False, 0, 0.0, None)
REFUSED = [  # names, harmless values, reason
    ("device_type device", ("cpu", None), "there is no GPU code here"),
    (
        "tree_learner tree tree_type tree_learner_type",
        ("serial", None),
        "training on several machines is DaskHistogramBoostingClassifier's and -Regressor's",
    ),
    ("num_machines num_machine", ONE, "use DaskHistogramBoostingClassifier or -Regressor"),
    ("machines workers nodes", NONE, "use DaskHistogramBoostingClassifier or -Regressor"),
    ("input_model model_input model_in", NONE, "give the model to fit, as init_model"),
    ("cegb_tradeoff", ONE, "features have no cost"),
    ("cegb_penalty_split", OFF, "splits have no cost"),
    ("cegb_penalty_feature_lazy", NONE, "features have no cost"),
    ("cegb_penalty_feature_coupled", NONE, "features have no cost"),
    ("sigmoid", ONE, "the logistic function has its usual slope"),
    ("reg_sqrt", OFF, "take the square root of y before training"),
    (
        "pos_bagging_fraction pos_sub_row pos_subsample pos_bagging",
        ONE,
        "rows of all classes are drawn by bagging_fraction",
    ),
    (
        "neg_bagging_fraction neg_sub_row neg_subsample neg_bagging",
        ONE,
        "rows of all classes are drawn by bagging_fraction",
    ),
    ("ignore_column ignore_feature blacklist", NONE, "leave the columns out of X"),
]


def read_rows():
    """Yield the supported parameters, those that our estimator has as arguments."""
    for line in READ.strip().splitlines():
        name, attribute, *aliases = line.split()
        names = [one for one in (attribute, *aliases) if one != name]
        yield Parameter(name, tuple(dict.fromkeys(names)), attribute)


def ignored_rows():
    """Yield the ignored parameters."""
    for reason, names in NO_EFFECT.items():
        for one in names.split():
            name, _, aliases = one.partition("=")
            alias_names = tuple(filter(None, aliases.split(",")))
            yield Parameter(name, alias_names, ignored=True, reason=reason)


def refused_rows():
    """Yield the rejected parameters."""
    for names, harmless, reason in REFUSED:
        name, *aliases = names.split()
        yield Parameter(name, tuple(aliases), harmless=harmless, reason=reason)


LIGHTGBM = ParameterTable("LightGBM", [*read_rows(), *ignored_rows(), *refused_rows()])
FOR_RANKING = {  # supported by the ranker alone
    *("lambdarank_truncation_level", "lambdarank_norm", "label_gain", "eval_at", "sigmoid"),
    "lambdarank_position_bias_regularization",
}
LIGHTGBM_RANKING = ParameterTable(
    "LightGBM",
    [
        Parameter(row.name, row.aliases, row.name) if row.name in FOR_RANKING else row
        for row in LIGHTGBM.rows
    ],
)
BOOSTING = {"gbrt": "gbdt", "random_forest": "rf"}
FLAGS = (
    "enable_bundle",
    "is_enable_sparse",
    "extra_trees",
    "boost_from_average",
    "uniform_drop",
    "xgboost_dart_mode",
    "is_unbalance",
    "linear_tree",
    "first_metric_only",
    "use_missing",
    "zero_as_missing",
    "bagging_by_query",
    "pred_early_stop",
)


def read_lightgbm_values(params):
    """Convert the parameter values of a resolved estimator from LightGBM's conventions to ours.

    LightGBM accepts an `early_stopping_round` of 0 and empty constraints for None, and 0 and 1 for
    False and True.
    """
    for name in FLAGS:
        value = getattr(params, name)
        if isinstance(value, Integral) and value in (0, 1):
            setattr(params, name, bool(value))
    read_constraints(params)
    if isinstance(params.feature_contri, str):
        params.feature_contri = [one for one in params.feature_contri.split(",") if one]
    check_values(params)
    stop = params.early_stopping_round
    if isinstance(stop, Integral) and stop <= 0:
        params.early_stopping_round = None
    if isinstance(params.subsample_freq, Integral) and params.subsample_freq < 0:
        params.subsample_freq = 0
    params.boosting_type = BOOSTING.get(params.boosting_type, params.boosting_type)
    if params.boosting_type == "goss":
        params.boosting_type, params.data_sample_strategy = "gbdt", "goss"
    if isinstance(params.random_state, np.random.Generator):
        params.random_state = int(params.random_state.integers(2**31 - 1))
    if isinstance(params.categorical_feature, Integral):
        params.categorical_feature = [params.categorical_feature]
    if isinstance(params.categorical_feature, str):
        params.categorical_feature = read_columns(params.categorical_feature)


def check_values(params):
    """Raise ValueError if a parameter that is not a constructor argument has an invalid value."""
    flags = ("use_missing", "zero_as_missing", "bagging_by_query", "pred_early_stop")
    for name in flags:
        value = getattr(params, name)
        if value is not None and not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False, not {value!r}")
    fraction, penalty = params.feature_fraction_bynode, params.monotone_penalty
    if not isinstance(fraction, Real) or not 0.0 < fraction <= 1.0:
        raise ValueError(f"feature_fraction_bynode must be above 0 and at most 1, not {fraction!r}")
    if not isinstance(penalty, Real) or not 0.0 <= penalty < np.inf:
        raise ValueError(f"monotone_penalty must be a number from 0 on, not {penalty!r}")
    for name, least in (("multi_error_top_k", 1), ("pred_early_stop_freq", 1)):
        value = getattr(params, name)
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be a whole number from {least} on, not {value!r}")


def read_constraints(params):
    """Convert constraints from text to lists, and empty ones to None."""
    for name in ("monotone_constraints", "interaction_constraints"):
        value = getattr(params, name)
        if isinstance(value, str):
            value = read_text(value)
        is_none = value is None or (np.iterable(value) and len(value) == 0)
        setattr(params, name, None if is_none else value)


def read_text(text):
    """Parse a list from text such as "1,-1,0" or "[0,1],[2,3]"."""
    groups = text.replace(" ", "").strip("[]").split("],[")
    if "[" in text:
        return [[int(one) for one in group.split(",")] for group in groups]
    return [int(one) for one in text.split(",") if one.strip()]


def read_columns(text):
    """Parse columns from text such as "name:a,b" or "0,3"; "auto" is returned unchanged."""
    if text in ("", "auto"):
        return "auto"
    if text.startswith("name:"):
        return text.removeprefix("name:").split(",")
    return [int(one) if one.strip().isdigit() else one for one in text.split(",")]
