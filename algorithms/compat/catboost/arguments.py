"""Arguments and methods of CatBoost that are ignored or refused, and names of metrics."""

from algorithms.compat.catboost.pool import CatBoostError, describe_argument
from algorithms.symmetric.metrics import OF_CLASSES, OF_VALUES, list_metrics

HARMLESS_ARGUMENTS = """
logging_level silent verbose_eval plot plot_file metric_period thread_count verbose log_cout
log_cerr task_type tmp_dir max_cat_features_on_plot
"""
OTHER_ARGUMENTS = """
text_features embedding_features graph baseline column_description init_model pairs
export_parameters fstr_type shap_mode model_output interaction_indices shap_calc_type
reference_data grouping features_tags_for_select num_features_tags_to_select
"""
NO_EFFECT = frozenset(HARMLESS_ARGUMENTS.split())
UNSUPPORTED = frozenset(OTHER_ARGUMENTS.split())
SNAPSHOTS = ("save_snapshot", "snapshot_file", "snapshot_interval")  # parameters that fit takes
HIGHER_IS_BETTER = {"NDCG", "MAP"} | {
    name for name, (_, higher) in (OF_CLASSES | OF_VALUES).items() if higher
}
REFUSED_METHODS = {  # method → what to do instead
    "compare": "call eval_metrics of both models",
    "plot_tree": "save_model(path, format='json') writes the trees",
    "plot_predictions": "call predict on changed rows",
    "plot_partial_dependence": "use sklearn.inspection.PartialDependenceDisplay",
    "get_object_importance": "not available",
    "get_test_eval": "call predict on the evaluation set",
    "get_test_evals": "call predict on the evaluation sets",
    "save_borders": "save_model(path, format='json') writes the borders",
    "set_scale_and_bias": "scale the predictions",
    "get_metadata": "write notes beside the file of the model",
}


def is_higher_better(name, estimator):
    """Return whether larger values of a metric are better.

    Parameters
    ----------
    name : str, such as "NDCG:top=5", or the name of a metric of the user
    estimator : the estimator, whose parameters may have metrics of the user
    """
    params = estimator._resolved()  # noqa: SLF001 - our estimator
    for one in (params.eval_metric, *list_metrics(params.custom_metric)):
        if getattr(one, "__name__", type(one).__name__) == name:
            return hasattr(one, "is_max_optimal") and bool(one.is_max_optimal())
    return name.partition(":")[0] in HIGHER_IS_BETTER


def check_others(given):
    """Check the other arguments of a method.

    Parameters
    ----------
    given : dict, name → value

    Raises
    ------
    CatBoostError
        If an argument that is not supported is not None.
    TypeError
        If CatBoost has no such argument.
    """
    for name, value in given.items():
        if name in NO_EFFECT or (name in UNSUPPORTED and value is None):
            continue
        if name in UNSUPPORTED:
            raise CatBoostError(f"the argument is not supported: {describe_argument(name, value)}")
        raise TypeError(f"there is no argument {name!r}")


def refused_method(name):
    """Return a method that raises CatBoostError and says what to do instead."""

    def method(self, *_args, **_others):
        raise CatBoostError(
            f"{type(self).__name__}.{name} is not supported: {REFUSED_METHODS[name]}"
        )

    method.__name__ = name
    method.__doc__ = f"Raise CatBoostError: {REFUSED_METHODS[name]}."
    return method
