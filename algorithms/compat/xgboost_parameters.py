"""Table of XGBoost's parameters with all aliases: supported, ignored or rejected."""

from numbers import Integral

import numpy as np

from algorithms.compat.parameters import Parameter, ParameterTable

ALIASES = {  # our argument → the other names of XGBoost
    "learning_rate": "eta",
    "gamma": "min_split_loss",
    "reg_lambda": "lambda",
    "reg_alpha": "alpha",
    "n_jobs": "nthread",
    "random_state": "seed",
}
NO_EFFECT = {
    "it is about output": "silent debug_synchronize verbose disable_default_eval_metric",
    "it is about memory and speed": "max_cached_hist_node extmem_single_page predictor"
    " single_precision_histogram enable_experimental_json_serialization sparse_threshold"
    " use_rmm ref_resource_aware sketch_ratio",
    "random_state decides all that is drawn": "seed_per_iteration deterministic_histogram",
    "labels may be of any kind": "use_label_encoder",
    "the number of classes is that of y": "num_class",
    "it is for linear models": "feature_selector top_k",
    "it is about a GPU": "gpu_id",
}
RANKING = """
lambdarank_pair_method lambdarank_num_pair_per_sample lambdarank_normalization
lambdarank_score_normalization lambdarank_unbiased lambdarank_bias_norm ndcg_exp_gain
"""
REFUSED = [  # name, harmless values, reason
    ("device", ("cpu", None), "there is no GPU code here"),
    ("multi_strategy", ("one_output_per_tree", None), "leaves hold one value"),
    ("sampling_method", ("uniform", None), "rows are drawn with equal chances"),
    ("feature_types", (None,), "types are those of a frame's columns"),
    ("process_type", ("default", None), "trees are not updated"),
    ("updater", (None, ""), "tree_method says how trees are grown"),
    ("refresh_leaf", (1, True, None), "trees are not updated"),
    ("dsplit", ("row", "auto", None), "training runs on one machine"),
]
ATTRIBUTES = """
n_estimators max_depth max_leaves max_bin grow_policy tree_method objective min_child_weight
max_delta_step subsample colsample_bytree colsample_bylevel colsample_bynode scale_pos_weight
base_score missing monotone_constraints interaction_constraints importance_type max_cat_to_onehot
max_cat_threshold eval_metric early_stopping_rounds huber_slope quantile_alpha
tweedie_variance_power num_parallel_tree callbacks enable_categorical validate_parameters verbosity
booster feature_weights sample_type normalize_type rate_drop one_drop skip_drop
aft_loss_distribution aft_loss_distribution_scale expectile_alpha
"""


def rows(*, for_ranking=False):
    """Yield all parameters of the table.

    Parameters
    ----------
    for_ranking : bool
        Whether the parameters of ranking are attributes of the estimator. Otherwise they have no
        effect there.
    """
    for name, alias in ALIASES.items():
        yield Parameter(name, (alias,), attribute=name)
    for name in ATTRIBUTES.split():
        yield Parameter(name, attribute=name)
    for reason, names in NO_EFFECT.items():
        for name in names.split():
            yield Parameter(name, ignored=True, reason=reason)
    for name in RANKING.split():
        if for_ranking:
            yield Parameter(name, attribute=name)
        else:
            yield Parameter(name, ignored=True, reason="it is for ranking")
    for name, harmless, reason in REFUSED:
        yield Parameter(name, harmless=harmless, reason=reason)


XGBOOST = ParameterTable("XGBoost", rows())
XGBOOST_RANKING = ParameterTable("XGBoost", rows(for_ranking=True))


def read_xgboost_values(params):
    """Convert the parameter values of a resolved estimator from XGBoost's conventions to ours."""
    if isinstance(params.random_state, np.random.Generator):
        params.random_state = int(params.random_state.integers(2**31 - 1))
    stop = params.early_stopping_rounds
    if isinstance(stop, Integral) and stop <= 0:
        params.early_stopping_rounds = None
    signs = params.monotone_constraints
    if signs is not None and len(signs) == 0:
        params.monotone_constraints = None
