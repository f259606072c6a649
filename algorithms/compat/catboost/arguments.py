"""Arguments and methods of CatBoost that are ignored or refused, and names of metrics."""

from algorithms.compat.catboost.pool import CatBoostError
from algorithms.compat.catboost_parameters import ENCODE_TEXT

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
HIGHER_IS_BETTER = (
    *("Accuracy", "AUC", "R2", "NDCG", "MAP", "F1", "Precision", "Recall", "TotalF1", "MCC"),
    "BalancedAccuracy",
)
REFUSED_METHODS = {  # method → what to do instead
    "compare": "call eval_metrics of both models",
    "plot_tree": "save_model(path, format='json') writes the trees",
    "plot_predictions": "call predict on changed rows",
    "plot_partial_dependence": "use sklearn.inspection.PartialDependenceDisplay",
    "get_object_importance": "there is no other method here",
    "get_test_eval": "call predict on the evaluation set",
    "get_test_evals": "call predict on the evaluation sets",
    "save_borders": "save_model(path, format='json') writes the borders",
    "set_scale_and_bias": "scale the predictions",
    "get_metadata": "write notes beside the file of the model",
}


def is_higher_better(metric):
    """Return whether larger values of a metric such as "NDCG:top=5" are better."""
    return metric.partition(":")[0] in HIGHER_IS_BETTER


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
            shown = f"{name}={value!r:.80}: {ENCODE_TEXT}" if name == "text_features" else name
            raise CatBoostError(f"the argument is not supported: {shown}")
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
