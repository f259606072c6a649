"""XGBoost's plotting functions, in matplotlib only."""

from algorithms.inspection.axes import (
    draw_bars,
    finish_axes,
    import_pyplot,
    make_axes,
    sort_importances,
)
from algorithms.inspection.plotting import tree_texts
from algorithms.inspection.tree_drawing import TreeStyle, draw_tree
from algorithms.inspection.tree_models import read_model_trees
from algorithms.newton.xgboost_booster import NewtonBooster

EMPTY = "Booster.get_score() results in empty.  "
EMPTY += "This maybe caused by having all trees as decision dumps."


def booster_of(model):
    """Return the Booster of a model; raise ValueError if it is not a model of this module."""
    if hasattr(model, "get_booster"):
        return model.get_booster()
    if isinstance(model, NewtonBooster):
        return model
    raise ValueError("tree must be Booster, XGBModel or dict instance")


def plot_importance(
    booster,
    *,
    ax=None,
    height=0.2,
    xlim=None,
    ylim=None,
    title="Feature importance",
    xlabel="Importance score",
    ylabel="Features",
    fmap="",
    importance_type="weight",
    max_num_features=None,
    grid=True,
    show_values=True,
    values_format="{v}",
    **kwargs,
):
    """Plot the importances of a model's features as horizontal bars.

    Parameters
    ----------
    booster : Booster, XGBModel or dict
        A dict has the importance of each feature, as `Booster.get_score` returns it.
    ax : matplotlib.axes.Axes, default=None
        None makes a new figure.
    height : float, default=0.2
        Height of a bar.
    xlim, ylim : (float, float), default=None
    title, xlabel, ylabel : str or None
    fmap : path, default=""
        Feature map with the names.
    importance_type : str, default="weight"
        As in `Booster.get_score`.
    max_num_features : int, default=None
        Number of features shown. None shows all.
    grid : bool, default=True
    show_values : bool, default=True
        Whether the value is written at each bar.
    values_format : str, default="{v}"
        Format of the values; "v" is the value.
    **kwargs
        Arguments of `matplotlib.axes.Axes.barh`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import_pyplot()
    found = booster
    if not isinstance(booster, dict):
        found = booster_of(booster).get_score(fmap=fmap, importance_type=importance_type)
    if not found:
        raise ValueError(EMPTY)
    labels, values = sort_importances(list(found), found.values(), max_num_features)
    ax = make_axes(ax)
    texts = [values_format.format(v=value) for value in values] if show_values else None
    draw_bars(ax, labels, values, texts, height=height, **kwargs)
    usual = (0, max(values) * 1.1), (-1, len(values))
    return finish_axes(ax, (title, xlabel, ylabel), (xlim, ylim), usual, grid, ValueError)


def plot_tree(
    booster,
    *,
    fmap="",
    num_trees=None,
    rankdir=None,
    ax=None,
    with_stats=False,
    tree_idx=0,
    yes_color="black",
    no_color="black",
    **kwargs,  # noqa: ARG001 - they have no effect
):
    """Draw a tree; Graphviz is not needed.

    Parameters
    ----------
    booster : Booster or XGBModel
    fmap : path, default=""
        Feature map with the names.
    num_trees : int, default=None
        Former name of ``tree_idx``.
    rankdir : {"TB", "LR"}, default=None
        "LR" draws from left to right, other values from top to bottom.
    ax : matplotlib.axes.Axes, default=None
        None makes a new figure.
    with_stats : bool, default=False
        Whether to show gains and covers.
    tree_idx : int, default=0
    yes_color, no_color : str, default="black"
        Colors of the edges.
    **kwargs
        Other arguments of Graphviz. They have no effect.

    Returns
    -------
    matplotlib.axes.Axes
    """
    model = booster_of(booster)
    stats = ("split_gain", "internal_weight", "leaf_weight") if with_stats else ()
    style = TreeStyle(
        stats,
        orientation="horizontal" if rankdir == "LR" else "vertical",
        edge_colors=(yes_color, no_color),
    )
    names = model._names(fmap)  # noqa: SLF001 - its own part
    number = tree_idx if num_trees is None else num_trees
    return draw_tree(tree_texts(read_model_trees(model), number, names, style), ax)
