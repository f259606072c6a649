"""Drawing of one tree of an ensemble in matplotlib."""

from dataclasses import dataclass, field

import numpy as np

from algorithms.compat.views import leaf_numbers
from algorithms.inspection.axes import format_number, make_axes

SPLIT_INFO = ("split_gain", "internal_value", "internal_weight", "internal_count")
LEAF_INFO = ("leaf_count", "leaf_weight")
INFO = (*SPLIT_INFO, *LEAF_INFO, "data_percentage")
SIGNS = {"<=": "≤", "<": "<"}
BOX = {"boxstyle": "round,pad=0.3", "facecolor": "white"}
INCHES = 1.6, 0.55  # of a level and of a leaf, horizontal


@dataclass(frozen=True)
class TreeStyle:
    """Options of a drawing.

    Attributes
    ----------
    show_info
        Names among `INFO`.
    precision
        Decimals of numbers; None shows all.
    orientation
        "horizontal" or "vertical".
    max_categories
        Largest number of categories of a split that are all shown.
    edge_colors
        Colors of the edges to the left and to the right.
    """

    show_info: tuple = ()
    precision: int | None = 3
    orientation: str = "horizontal"
    max_categories: int = 10
    edge_colors: tuple = field(default=("black", "black"))

    def __post_init__(self):
        unknown = set(self.show_info) - set(INFO)
        if unknown:
            raise ValueError(f"show_info has {sorted(unknown)}; known are {', '.join(INFO)}")
        if self.orientation not in ("horizontal", "vertical"):
            raise ValueError(
                f"orientation must be 'horizontal' or 'vertical', not {self.orientation!r}"
            )


class TreeTexts:
    """Texts of the nodes of a tree.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    tree : int
    names : list of str, of the features
    style : TreeStyle
    """

    def __init__(self, ensemble, tree, names, style):
        self.trees, self.tree, self.names, self.style = ensemble, tree, names, style
        self.first = ensemble.offsets[tree]
        self.leaf_numbers = leaf_numbers(ensemble)

    def number(self, value):
        """Return a number as text."""
        return format_number(float(value), self.style.precision)

    def condition(self, node):
        """Return the condition of a split."""
        trees, name = self.trees, self.names[self.trees.feature[node]]
        chosen = trees.categories[node]
        if chosen < 0:
            return f"{name} {SIGNS[trees.comparison]} {self.number(trees.threshold[node])}"
        codes = trees.set_codes[trees.set_indptr[chosen] : trees.set_indptr[chosen + 1]]
        shown = [str(code) for code in codes]
        if len(shown) > self.style.max_categories:
            shown = [*shown[:2], "…", shown[-1]]
        word = "in" if trees.members_left[chosen] else "not in"
        return f"{name} {word} {{{', '.join(shown)}}}"

    def value(self, node):
        """Return the values of a node as text; without own values, the means of its leaves."""
        trees = self.trees
        value = trees.value[node] * trees.weight[self.tree]
        if trees.left[node] >= 0 and np.isnan(value).any():
            value = self.mean(node) * trees.weight[self.tree]
        return ", ".join(self.number(one) for one in value)

    def mean(self, node):
        """Return the mean value of the leaves below a node, weighted by their covers."""
        trees = self.trees
        left, right = trees.left[node], trees.right[node]
        if left < 0:
            return trees.value[node]
        cover = trees.cover[[left, right]]
        cover = cover if cover.sum() > 0 else np.ones(2)
        return np.average([self.mean(left), self.mean(right)], axis=0, weights=cover)

    def lines(self, node):
        """Return the lines of text of a node."""
        trees, show = self.trees, self.style.show_info
        is_leaf = trees.left[node] < 0
        if is_leaf:
            lines = [f"leaf {self.leaf_numbers[node]}: {self.value(node)}"]
        else:
            lines = [self.condition(node)]
        for name in show:
            if name in (SPLIT_INFO if is_leaf else LEAF_INFO):
                continue
            lines.append(self.info(node, name))
        return lines

    def info(self, node, name):
        """Return a line of information about a node."""
        trees, kind = self.trees, name.rpartition("_")[2]
        if name == "split_gain":
            return f"{kind}: {self.number(trees.gain[node])}"
        if name == "internal_value":
            return f"{kind}: {self.value(node)}"
        if name == "data_percentage":
            share = trees.cover[node] / trees.cover[self.first]
            return f"{100 * share:.2f}% of data"
        cover = trees.cover[node]
        return f"{kind}: {int(cover) if kind == 'count' else self.number(cover)}"


def draw_tree(texts, ax, figsize=None, dpi=None, path=frozenset()):
    """Draw a tree; return the axes.

    Parameters
    ----------
    texts : TreeTexts
    ax : matplotlib.axes.Axes or None
    figsize, dpi : of a new figure
    path : set of nodes that are drawn in blue
    """
    trees, style = texts.trees, texts.style
    depth, across = place_nodes(trees, texts.tree)
    is_horizontal = style.orientation == "horizontal"
    if figsize is None:
        size = INCHES[0] * (max(depth.values()) + 1), INCHES[1] * (max(across.values()) + 1)
        size = size if is_horizontal else (size[1] * 2.5, size[0] * 0.6)
        figsize = max(size[0], 3.0), max(size[1], 2.0)
    ax = make_axes(ax, figsize, dpi)

    def at(node):
        return (depth[node], -across[node]) if is_horizontal else (across[node], -depth[node])

    for node in depth:
        color = "blue" if node in path else "black"
        if trees.left[node] >= 0:
            draw_edges(ax, texts, node, at, path)
        box = {**BOX, "edgecolor": color, "linewidth": 2.5 if node in path else 1.0}
        text = "\n".join(texts.lines(node))
        ax.text(*at(node), text, ha="center", va="center", fontsize=8, bbox=box, zorder=3)
    places = np.array([at(node) for node in depth])
    ax.set_xlim(places[:, 0].min() - 0.6, places[:, 0].max() + 0.6)
    ax.set_ylim(places[:, 1].min() - 0.6, places[:, 1].max() + 0.6)
    ax.axis("off")
    return ax


def draw_edges(ax, texts, node, at, path):
    """Draw the lines from a node to its children, "yes" to the left one."""
    trees = texts.trees
    children = (trees.left[node], trees.right[node])
    for child, word, color in zip(children, ("yes", "no"), texts.style.edge_colors, strict=True):
        is_marked = child in path
        (x0, y0), (x1, y1) = at(node), at(child)
        line = {"color": "blue" if is_marked else color, "linewidth": 2.5 if is_marked else 1.0}
        ax.plot([x0, x1], [y0, y1], zorder=1, **line)
        middle = {"ha": "center", "va": "center", "fontsize": 7, "zorder": 2}
        ax.text((x0 + x1) / 2, (y0 + y1) / 2, word, **middle)


def place_nodes(trees, tree):
    """Return the depth of each node of a tree, and its place across: two dicts.

    Leaves are at 0, 1, 2 and so on; another node is in the middle of its children.
    """
    first, last = trees.offsets[tree], trees.offsets[tree + 1]
    depth = {int(first): 0}
    order, waiting = [], [int(first)]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if trees.left[node] >= 0:
            children = int(trees.left[node]), int(trees.right[node])
            depth |= dict.fromkeys(children, depth[node] + 1)
            waiting += reversed(children)
    leaves = [node for node in order if trees.left[node] < 0]
    across = {node: float(number) for number, node in enumerate(leaves)}
    for node in range(int(last) - 1, int(first) - 1, -1):
        if node not in across:
            across[node] = (across[int(trees.left[node])] + across[int(trees.right[node])]) / 2
    return depth, across


def path_to_leaf(trees, tree, leaf):
    """Return the nodes from the root of a tree to a leaf, set of int."""
    nodes = range(int(trees.offsets[tree]), int(leaf))
    path = {int(leaf)}
    for node in reversed(nodes):  # children come after their parents
        if int(trees.left[node]) in path or int(trees.right[node]) in path:
            path.add(node)
    return path
