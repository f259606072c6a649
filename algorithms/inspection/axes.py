"""Axes of matplotlib: import on first use, limits, titles, bars."""

import numpy as np


def import_pyplot():
    """Return `matplotlib.pyplot`; raise ImportError if matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib: install it with `pip install matplotlib`"
        ) from error
    return plt


def check_pair(value, name, error=TypeError):
    """Raise an error unless a value is a tuple of two elements, or None."""
    if value is not None and (not isinstance(value, tuple) or len(value) != 2):
        raise error(f"{name} must be a tuple of 2 elements.")


def make_axes(ax, figsize=None, dpi=None):
    """Return the given axes, or those of a new figure."""
    plt = import_pyplot()
    if ax is not None:
        return ax
    check_pair(figsize, "figsize")
    return plt.subplots(1, 1, figsize=figsize, dpi=dpi)[1]


def finish_axes(ax, texts, limits, default_limits, grid, error=TypeError):
    """Set the limits, texts and grid of axes; return the axes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    texts : (title, xlabel, ylabel), each a str or None
    limits, default_limits : (xlim, ylim); a default is used where the given one is None
    grid : bool
    error : type of the error of invalid limits
    """
    for value, name in zip(limits, ("xlim", "ylim"), strict=True):
        check_pair(value, name, error)
    xlim, ylim = (
        usual if given is None else given
        for given, usual in zip(limits, default_limits, strict=True)
    )
    ax.set_xlim(xlim)
    ax.set_ylim(ylim)
    for text, write in zip(texts, (ax.set_title, ax.set_xlabel, ax.set_ylabel), strict=True):
        if text is not None:
            write(text)
    ax.grid(grid)
    return ax


def draw_bars(ax, labels, values, texts, **options):
    """Draw horizontal bars with labels, and a text at the end of each.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    labels : list of str
    values : list of float
    texts : list of str, or None
    **options : arguments of `matplotlib.axes.Axes.barh`
    """
    at = np.arange(len(values))
    ax.barh(at, values, align="center", **options)
    for y, value, text in zip(at, values, texts or (), strict=False):
        ax.text(value + 1, float(y), text, va="center")
    ax.set_yticks(at)
    ax.set_yticklabels(labels)


def sort_importances(labels, values, max_num_features=None, *, ignore_zero=False):
    """Return the largest importances in ascending order: labels, values."""
    pairs = sorted(zip(labels, values, strict=True), key=lambda pair: pair[1])
    pairs = [pair for pair in pairs if pair[1] > 0] if ignore_zero else pairs
    if max_num_features is not None and max_num_features > 0:
        pairs = pairs[-max_num_features:]
    return [label for label, _ in pairs], [value for _, value in pairs]


def format_number(value, precision):
    """Return a number with ``precision`` decimals, or as it is if that is None."""
    return str(value) if precision is None else f"{value:.{precision}f}"
