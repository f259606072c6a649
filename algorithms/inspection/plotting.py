"""Plots of fitted models in matplotlib: importances, metrics of training, and trees.

matplotlib is imported when a plot is made.
"""

import numpy as np

from algorithms.inspection.axes import (
    draw_bars,
    finish_axes,
    format_number,
    make_axes,
    sort_importances,
)
from algorithms.inspection.tree_drawing import TreeStyle, TreeTexts, draw_tree, path_to_leaf
from algorithms.inspection.tree_models import read_model_trees

ABSENT = "No non-zero feature importances found. The model may have no splits. "
ABSENT += "Use ignore_zero=False to show all features."


def plot_importance(
    model,
    ax=None,
    height=0.2,
    xlim=None,
    ylim=None,
    title="Feature importance",
    xlabel="Feature importance",
    ylabel="Features",
    importance_type="split",
    max_num_features=None,
    ignore_zero=True,
    figsize=None,
    dpi=None,
    grid=True,
    precision=3,
    **kwargs,
):
    """Plot the importances of a model's features as horizontal bars.

    Parameters
    ----------
    model : object
        A fitted estimator or Booster of this package, a fitted model of scikit-learn, LightGBM,
        XGBoost or CatBoost, or a `harness.TreeEnsemble`.
    ax : matplotlib.axes.Axes, default=None
        None makes a new figure.
    height : float, default=0.2
        Height of a bar.
    xlim, ylim : (float, float), default=None
    title, xlabel, ylabel : str or None
        "@importance_type@" in ``xlabel`` is replaced by the type.
    importance_type : {"split", "gain"}, default="split"
        "split" counts splits, "gain" sums their gains.
    max_num_features : int, default=None
        Number of features shown. None shows all.
    ignore_zero : bool, default=True
        Whether features without splits are left out.
    figsize : (float, float), default=None
    dpi : float, default=None
    grid : bool, default=True
    precision : int, default=3
        Decimals of gains; None shows all.
    **kwargs
        Arguments of `matplotlib.axes.Axes.barh`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If there is no importance to show, or gains are unknown.
    """
    found = read_model_trees(model)
    names, values = found.feature_names(), importances(found, importance_type)
    shown = {"max_num_features": max_num_features, "ignore_zero": ignore_zero}
    texts = {"title": title, "xlabel": xlabel, "ylabel": ylabel, "precision": precision}
    figure = {"ax": ax, "xlim": xlim, "ylim": ylim, "figsize": figsize, "dpi": dpi, "grid": grid}
    options = {**shown, **texts, **figure, "height": height, **kwargs}
    return plot_importances(names, values, importance_type=importance_type, **options)


def importances(model, importance_type):
    """Return the importance of each feature of a `TreeModel`: int64 or float64 (n_features,)."""
    if importance_type not in ("split", "gain"):
        raise ValueError(f"importance_type must be 'split' or 'gain', not {importance_type!r}")
    trees = model.ensemble
    inner = trees.left >= 0
    if importance_type == "split":
        found = np.bincount(trees.feature[inner], minlength=trees.n_features)
    else:
        if np.isnan(trees.gain[inner]).any():
            raise ValueError("the gains of these trees are unknown: use importance_type='split'")
        found = np.bincount(trees.feature[inner], trees.gain[inner], trees.n_features)
    return found if model.mixing is None else model.mixing @ found


def plot_importances(
    names,
    values,
    *,
    importance_type,
    ax=None,
    xlim=None,
    ylim=None,
    title=None,
    xlabel=None,
    ylabel=None,
    max_num_features=None,
    ignore_zero=True,
    figsize=None,
    dpi=None,
    grid=True,
    precision=3,
    **bars,
):
    """Plot named importances as horizontal bars.

    Parameters
    ----------
    names : list of str, names of the features
    values : array (n_features,), their importances
    **bars
        ``height`` and the other arguments of `matplotlib.axes.Axes.barh`.

    The other parameters are those of `plot_importance`.
    """
    if not len(values):
        raise ValueError("Booster's feature_importance is empty.")
    names, values = sort_importances(names, values, max_num_features, ignore_zero=ignore_zero)
    if not names:
        raise ValueError(ABSENT)
    ax = make_axes(ax, figsize, dpi)
    is_gain = importance_type == "gain"
    ends = [format_number(one, precision) if is_gain else str(one) for one in values]
    draw_bars(ax, names, values, ends, **bars)
    if xlabel is not None:
        xlabel = xlabel.replace("@importance_type@", importance_type)
    usual = (0, max(values) * 1.1 or 1.0), (-1, len(values))
    return finish_axes(ax, (title, xlabel, ylabel), (xlim, ylim), usual, grid)


def plot_metric(
    model,
    metric=None,
    dataset_names=None,
    ax=None,
    xlim=None,
    ylim=None,
    title="Metric during training",
    xlabel="Iterations",
    ylabel="@metric@",
    figsize=None,
    dpi=None,
    grid=True,
):
    """Plot a metric of the evaluation sets during training.

    Parameters
    ----------
    model : dict or fitted estimator
        Results of evaluation, set → metric → list, as `record_evaluation` and ``evals_result``
        fill them; or an estimator that was fitted with evaluation sets.
    metric : str, default=None
        None uses the last metric of the first set.
    dataset_names : list of str, default=None
        Names of the sets. None shows all.
    ax : matplotlib.axes.Axes, default=None
        None makes a new figure.
    xlim, ylim : (float, float), default=None
    title, xlabel, ylabel : str or None
        "@metric@" in ``ylabel`` is replaced by the name of the metric.
    figsize : (float, float), default=None
    dpi : float, default=None
    grid : bool, default=True

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If it is neither a dict nor an estimator with evaluation results.
    ValueError
        If there are no results, or ``dataset_names`` is empty.
    KeyError
        If the metric or a set does not exist.
    """
    results = evaluation_results(model)
    if not results:
        raise ValueError("eval results cannot be empty.")
    if dataset_names is None:
        dataset_names = list(results)
    elif not isinstance(dataset_names, list | tuple | set) or not dataset_names:
        raise ValueError("dataset_names should be iterable and cannot be empty")
    dataset_names = list(dataset_names)
    known = results[dataset_names[0]]
    metric = list(known)[-1] if metric is None else metric
    if metric not in known:
        raise KeyError("No given metric in eval results.")
    curves = {name: results[name][metric] for name in dataset_names}
    ax = make_axes(ax, figsize, dpi)
    for name, values in curves.items():
        ax.plot(range(len(values)), values, label=name)
    ax.legend(loc="best")
    lowest, highest = (pick(map(pick, curves.values())) for pick in (min, max))
    margin = 0.2 * (highest - lowest) or 0.2 * abs(highest) or 1.0
    n_rounds = max(map(len, curves.values()))
    usual = (0, max(n_rounds, 1)), (lowest - margin, highest + margin)
    ylabel = None if ylabel is None else ylabel.replace("@metric@", metric)
    return finish_axes(ax, (title, xlabel, ylabel), (xlim, ylim), usual, grid)


def evaluation_results(model):
    """Return the results of evaluation of an estimator, dict; a dict is returned as it is."""
    if isinstance(model, dict):
        return model
    for name in ("evals_result_", "evals_result", "get_evals_result"):
        found = getattr(model, name, None)
        if found is not None:
            return found() if callable(found) else found
    raise TypeError(
        f"a dict of results or a fitted estimator with evaluation sets is needed, not "
        f"{type(model).__name__}"
    )


def plot_tree(
    model,
    ax=None,
    tree_index=0,
    figsize=None,
    dpi=None,
    show_info=None,
    precision=3,
    orientation="horizontal",
    example_case=None,
    max_category_values=10,
    feature_names=None,
):
    """Draw a tree of a model.

    Parameters
    ----------
    model : as in `plot_importance`
    ax : matplotlib.axes.Axes, default=None
        None makes a new figure.
    tree_index : int, default=0
    figsize : (float, float), default=None
        None depends on the number of leaves and levels.
    dpi : float, default=None
    show_info : list of str, default=None
        Among "split_gain", "internal_value", "internal_weight", "internal_count", "leaf_count",
        "leaf_weight" and "data_percentage". Counts and weights are the covers of the nodes.
    precision : int, default=3
        Decimals of numbers; None shows all.
    orientation : {"horizontal", "vertical"}, default="horizontal"
    example_case : one row of X, default=None
        Its path is drawn in blue.
    max_category_values : int, default=10
        Largest number of categories of a split that are all shown.
    feature_names : list of str, default=None
        None uses those of training, or Column_0, Column_1 and so on.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    IndexError
        If there is no such tree.
    ValueError
        If an option is unknown, or ``example_case`` is not one row.
    """
    found = read_model_trees(model)
    style = TreeStyle(tuple(show_info or ()), precision, orientation, max_category_values)
    texts = tree_texts(found, tree_index, feature_names, style)
    path = set() if example_case is None else example_path(found, tree_index, example_case)
    return draw_tree(texts, ax, figsize, dpi, path)


def tree_texts(model, tree_index, feature_names, style):
    """Return the `TreeTexts` of a tree of a `TreeModel`."""
    trees = model.ensemble
    if not 0 <= tree_index < trees.n_trees:
        raise IndexError("tree_index is out of range.")
    names = list(model.feature_names() if feature_names is None else feature_names)
    if len(names) < model.n_features:
        raise ValueError(f"feature_names must have {model.n_features} elements, not {len(names)}")
    names += [f"derived_{number}" for number in range(trees.n_features - len(names))]
    return TreeTexts(trees, tree_index, names, style)


def example_path(model, tree_index, row):
    """Return the nodes on the path of a row in a tree, set of int."""
    shape = getattr(row, "shape", ())
    if len(shape) != 2:
        raise ValueError("example_case must be a numpy 2-D array or a pandas DataFrame")
    if shape[0] != 1:
        raise ValueError("example_case must have a single row.")
    leaves = model.ensemble.leaves(model.read_rows(row))
    return path_to_leaf(model.ensemble, tree_index, leaves[0, tree_index])
