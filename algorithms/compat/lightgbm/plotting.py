"""LightGBM's plotting functions, in matplotlib only."""

from algorithms.compat.lightgbm.booster import Booster
from algorithms.compat.lightgbm.estimators import LGBMModel
from algorithms.compat.lightgbm.messages import warn
from algorithms.inspection import plotting
from algorithms.inspection.axes import check_pair, finish_axes, make_axes

RECORD_FIRST = (
    "booster must be dict or LGBMModel. To use plot_metric with Booster type, first record the "
    "metrics using record_evaluation callback then pass that to plot_metric as argument `booster`"
)


def booster_of(model):
    """Return the `Booster` of a model; raise TypeError if it is not a model of this module."""
    if isinstance(model, LGBMModel):
        return model.booster_
    if isinstance(model, Booster):
        return model
    raise TypeError("booster must be Booster or LGBMModel.")


def plot_importance(
    booster,
    ax=None,
    height=0.2,
    xlim=None,
    ylim=None,
    title="Feature importance",
    xlabel="Feature importance",
    ylabel="Features",
    importance_type="auto",
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
    booster : Booster or LGBMModel
    importance_type : {"auto", "split", "gain"}, default="auto"
        "auto" uses that of the estimator; of a Booster, "split".

    The other parameters are those of `algorithms.plot_importance`.
    """
    if importance_type == "auto":
        importance_type = getattr(booster, "importance_type", "split")
    model = booster_of(booster)
    values = model.feature_importance(importance_type=importance_type)
    names = model.feature_name()
    shown = {"max_num_features": max_num_features, "ignore_zero": ignore_zero}
    texts = {"title": title, "xlabel": xlabel, "ylabel": ylabel, "precision": precision}
    figure = {"ax": ax, "xlim": xlim, "ylim": ylim, "figsize": figsize, "dpi": dpi, "grid": grid}
    options = {**shown, **texts, **figure, "height": height, **kwargs}
    return plotting.plot_importances(names, values, importance_type=importance_type, **options)


def plot_split_value_histogram(
    booster,
    feature,
    bins=None,
    ax=None,
    width_coef=0.8,
    xlim=None,
    ylim=None,
    title="Split value histogram for feature with @index/name@ @feature@",
    xlabel="Feature split value",
    ylabel="Count",
    figsize=None,
    dpi=None,
    grid=True,
    **kwargs,
):
    """Plot the histogram of a feature's thresholds.

    Parameters
    ----------
    booster : Booster or LGBMModel
    feature : int or str
    bins : int, str or None, default=None
        As in `Booster.get_split_value_histogram`.
    ax : matplotlib.axes.Axes, default=None
        None makes a new figure.
    width_coef : float, default=0.8
        Share of a bin that its bar fills.
    xlim, ylim : (float, float), default=None
    title, xlabel, ylabel : str or None
        "@feature@" and "@index/name@" in ``title`` are replaced.
    figsize : (float, float), default=None
    dpi : float, default=None
    grid : bool, default=True
    **kwargs
        Arguments of `matplotlib.axes.Axes.bar`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    counts, edges = booster_of(booster).get_split_value_histogram(feature, bins=bins)
    if not counts.any():
        raise ValueError(
            f"Cannot plot split value histogram, because feature {feature} was not used in "
            "splitting"
        )
    check_pair(figsize, "figsize")
    ax = make_axes(ax, figsize, dpi)
    width = width_coef * (edges[1] - edges[0])
    ax.bar((edges[:-1] + edges[1:]) / 2, counts, align="center", width=width, **kwargs)
    ax.yaxis.get_major_locator().set_params(integer=True)
    margin = 0.2 * (edges[-1] - edges[0])
    usual = (edges[0] - margin, edges[-1] + margin), (0, counts.max() * 1.1)
    if title is not None:
        kind = "name" if isinstance(feature, str) else "index"
        title = title.replace("@feature@", str(feature)).replace("@index/name@", kind)
    return finish_axes(ax, (title, xlabel, ylabel), (xlim, ylim), usual, grid)


def plot_metric(
    booster,
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
    booster : dict or LGBMModel
        Results recorded by `record_evaluation`, or a fitted estimator.

    The other parameters are those of `algorithms.plot_metric`.
    """
    if isinstance(booster, Booster):
        raise TypeError(RECORD_FIRST)
    if not isinstance(booster, (dict, LGBMModel)):
        raise TypeError("booster must be dict or LGBMModel.")
    results = plotting.evaluation_results(booster)
    if metric is None and any(len(metrics) > 1 for metrics in results.values()):
        warn("More than one metric available, picking one to plot.")
    names = {"title": title, "xlabel": xlabel, "ylabel": ylabel}
    figure = {"xlim": xlim, "ylim": ylim, "figsize": figsize, "dpi": dpi, "grid": grid}
    return plotting.plot_metric(results, metric, dataset_names, ax, **names, **figure)


def plot_tree(
    booster,
    ax=None,
    tree_index=0,
    figsize=None,
    dpi=None,
    show_info=None,
    precision=3,
    orientation="horizontal",
    example_case=None,
    max_category_values=10,
    **kwargs,  # noqa: ARG001 - they have no effect
):
    """Draw a tree; Graphviz is not needed.

    Parameters
    ----------
    booster : Booster or LGBMModel
    **kwargs
        Arguments of Graphviz. They have no effect.

    The other parameters are those of `algorithms.plot_tree`.
    """
    model = booster_of(booster)
    if example_case is not None:
        example_case = model._named_as_in_training(example_case, validate=False)  # noqa: SLF001
    return plotting.plot_tree(
        model._as_written(),  # noqa: SLF001 - its own part
        ax,
        tree_index,
        figsize,
        dpi,
        show_info,
        precision,
        orientation,
        example_case,
        max_category_values,
    )
