"""Block of parameters in LightGBM's model text: all parameters, with their values.

Each line is ``[name: value]``. Booleans are 0 and 1, lists are separated by commas.
"""

import json

from algorithms.compat.lightgbm.parameters import choose
from algorithms.compat.lightgbm_parameters import BOOSTING, LIGHTGBM
from algorithms.estimator.verbose import say
from algorithms.gbdt.metrics import standard_name
from algorithms.gbdt.objectives import ALIASES
from algorithms.gbdt.ranking_objectives import ALIASES as RANKING_ALIASES

DEFAULTS = {
    "boosting": "gbdt",
    "objective": "regression",
    "metric": [],
    "tree_learner": "serial",
    "device_type": "cpu",
    "data": "",
    "valid": "",
    "num_iterations": 100,
    "learning_rate": 0.1,
    "num_leaves": 31,
    "num_threads": 0,
    "seed": 0,
    "deterministic": False,
    "force_col_wise": False,
    "force_row_wise": False,
    "histogram_pool_size": -1.0,
    "max_depth": -1,
    "min_data_in_leaf": 20,
    "min_sum_hessian_in_leaf": 1e-3,
    "bagging_fraction": 1.0,
    "pos_bagging_fraction": 1.0,
    "neg_bagging_fraction": 1.0,
    "bagging_freq": 0,
    "bagging_seed": 3,
    "bagging_by_query": False,
    "feature_fraction": 1.0,
    "feature_fraction_bynode": 1.0,
    "feature_fraction_seed": 2,
    "extra_trees": False,
    "extra_seed": 6,
    "early_stopping_round": 0,
    "early_stopping_min_delta": 0.0,
    "first_metric_only": False,
    "max_delta_step": 0.0,
    "lambda_l1": 0.0,
    "lambda_l2": 0.0,
    "linear_lambda": 0.0,
    "min_gain_to_split": 0.0,
    "drop_rate": 0.1,
    "max_drop": 50,
    "skip_drop": 0.5,
    "xgboost_dart_mode": False,
    "uniform_drop": False,
    "drop_seed": 4,
    "data_sample_strategy": "bagging",
    "top_rate": 0.2,
    "other_rate": 0.1,
    "min_data_per_group": 100,
    "max_cat_threshold": 32,
    "cat_l2": 10.0,
    "cat_smooth": 10.0,
    "max_cat_to_onehot": 4,
    "top_k": 20,
    "monotone_constraints": [],
    "monotone_constraints_method": "basic",
    "monotone_penalty": 0.0,
    "feature_contri": [],
    "forcedsplits_filename": "",
    "refit_decay_rate": 0.9,
    "cegb_tradeoff": 1.0,
    "cegb_penalty_split": 0.0,
    "cegb_penalty_feature_lazy": [],
    "cegb_penalty_feature_coupled": [],
    "path_smooth": 0.0,
    "interaction_constraints": [],
    "verbosity": 1,
    "saved_feature_importance_type": 0,
    "use_quantized_grad": False,
    "num_grad_quant_bins": 4,
    "quant_train_renew_leaf": False,
    "stochastic_rounding": True,
    "linear_tree": False,
    "max_bin": 255,
    "max_bin_by_feature": [],
    "min_data_in_bin": 3,
    "bin_construct_sample_cnt": 200000,
    "data_random_seed": 1,
    "is_enable_sparse": True,
    "enable_bundle": True,
    "use_missing": True,
    "zero_as_missing": False,
    "feature_pre_filter": True,
    "pre_partition": False,
    "two_round": False,
    "header": False,
    "label_column": "",
    "weight_column": "",
    "group_column": "",
    "ignore_column": "",
    "categorical_feature": [],
    "forcedbins_filename": "",
    "precise_float_parser": False,
    "parser_config_file": "",
    "objective_seed": 5,
    "num_class": 1,
    "is_unbalance": False,
    "scale_pos_weight": 1.0,
    "sigmoid": 1.0,
    "boost_from_average": True,
    "reg_sqrt": False,
    "alpha": 0.9,
    "fair_c": 1.0,
    "poisson_max_delta_step": 0.7,
    "tweedie_variance_power": 1.5,
    "lambdarank_truncation_level": 30,
    "lambdarank_norm": True,
    "label_gain": [],
    "lambdarank_position_bias_regularization": 0.0,
    "eval_at": [],
    "multi_error_top_k": 1,
    "auc_mu_weights": [],
    "num_machines": 1,
    "local_listen_port": 12400,
    "time_out": 120,
    "machine_list_filename": "",
    "machines": "",
    "gpu_platform_id": -1,
    "gpu_device_id": -1,
    "gpu_device_id_list": "",
    "gpu_use_dp": False,
    "num_gpu": 1,
}
SEEDS = (  # in the order in which LightGBM draws them from the parameter "seed"
    *("data_random_seed", "bagging_seed", "drop_seed"),
    *("feature_fraction_seed", "objective_seed", "extra_seed"),
)
FIRST, LAST = "parameters:", "end of parameters"


def read_values(params, categorical=()):
    """Return all parameters of LightGBM: dict, main name → value.

    Parameters
    ----------
    params : dict, under any of LightGBM's names
    categorical : list of int, positions of the categorical columns
    """
    values = {}
    for name, default in DEFAULTS.items():
        value = choose(params, name, None) if name in LIGHTGBM.by_name else None
        values[name] = default if value is None or callable(value) else value
    values["boosting"] = BOOSTING.get(values["boosting"], values["boosting"])
    objective = str(values["objective"])
    objective = RANKING_ALIASES.get(objective, ALIASES.get(objective, objective))
    values["objective"] = objective or DEFAULTS["objective"]
    metrics = values["metric"]
    metrics = metrics.split(",") if isinstance(metrics, str) else list(metrics)
    named = [standard_name(one.strip()) for one in metrics if isinstance(one, str) and one]
    values["metric"] = named or [standard_name(values["objective"])]
    values["categorical_feature"] = list(categorical)
    if choose(params, "seed", None) is not None:
        drawn = draw_seeds(int(values["seed"])) if isinstance(values["seed"], int) else {}
        given = {name for name in SEEDS if choose(params, name, None) is not None}
        values |= {name: seed for name, seed in drawn.items() if name not in given}
    return values


def draw_seeds(seed):
    """Return the seeds that LightGBM draws from one seed: name → seed."""
    state, drawn = seed & 0xFFFFFFFF, {}
    for name in SEEDS:
        state = (214013 * state + 2531011) & 0xFFFFFFFF
        drawn[name] = ((state >> 16) & 0x7FFF) % 32767
    return drawn


def format_value(value):
    """Return a value as LightGBM writes it."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, str):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple | set):
        nested = any(isinstance(one, list | tuple) for one in value)
        parts = [f"[{format_value(one)}]" if nested else format_value(one) for one in value]
        return ",".join(parts)
    return str(value)


def parameter_block(params, categorical=()):
    """Return the lines of the block of parameters, list of str.

    Parameters
    ----------
    params, categorical : as in `read_values`
    """
    values = read_values(params, categorical)
    lines = []
    for name, default in DEFAULTS.items():
        value = bool(values[name]) if isinstance(default, bool) else values[name]
        lines.append(f"[{name}: {format_value(value)}]")
    return [FIRST, *lines, LAST]


def with_parameters(text, params, categorical=()):
    """Return a model's text with its parameter block replaced by the block of all parameters."""
    head, _, rest = text.partition(f"\n{FIRST}\n")
    tail = rest.partition(f"\n{LAST}\n")[2]
    block = "\n".join(parameter_block(params, categorical))
    return f"{head}\n{block}\n{tail}"


def parse_parameters(text):
    """Return the parameters of a model's text: name → value of the parameter's type."""
    block = text.partition(f"\n{FIRST}\n")[2].partition(f"\n{LAST}")[0]
    params = {}
    for line in block.splitlines():
        name, _, value = line.strip().strip("[").removesuffix("]").partition(": ")
        if name in DEFAULTS:
            params[name] = parse_value(value, DEFAULTS[name])
        elif name:
            say(
                f"[LightGBM] [Warning] Ignoring unrecognized parameter '{name}' found in model "
                "string."
            )
    return params


def parse_value(text, default):
    """Return the value of a text, with the type of its default."""
    if isinstance(default, bool):
        return text == "1"
    if isinstance(default, int | float):
        return type(default)(float(text)) if isinstance(default, int) else float(text)
    if isinstance(default, str):
        return text
    if not text:
        return []
    if "[" in text or all(is_number(one) for one in text.split(",")):
        return json.loads(f"[{text}]")
    return text.split(",")


def is_number(text):
    """Return True if a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
