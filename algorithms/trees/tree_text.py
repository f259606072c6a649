"""Text and SVG export of a grown tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from algorithms.trees.tree import Tree

# Width of a leaf, height of a level, height of a line of text; pixels.
WIDE, HIGH, LINE = 150, 96, 15
LONGEST = 16  # maximum length of a list of categories in a box


@dataclass(frozen=True)
class SplitText:
    """Splits of a tree as text.

    ``names`` are those of the features, ``labels`` the categories of each categorical column, and
    ``decimals`` the decimals of thresholds and values.
    """

    tree: Tree
    names: Sequence
    labels: dict
    decimals: int

    def sides(self, node):
        """Return the conditions of the left and the right side of a node."""
        feature = self.tree.feature[node]
        name = self.names[feature]
        if node not in self.tree.sets:
            t = f"{self.tree.threshold[node]:.{self.decimals}f}"
            return f"{name} <= {t}", f"{name} >  {t}"
        codes, to_left = self.tree.sets[node]
        listed = ", ".join(map(str, self.labels[feature][codes]))
        inside, outside = f"{name} in {{{listed}}}", f"{name} not in {{{listed}}}"
        return (inside, outside) if to_left else (outside, inside)

    def short(self, node):
        """Return the condition of the left side of a node, shortened to fit in a box."""
        text = self.sides(node)[0].replace("<=", "≤")
        start = text.find("{")
        is_cut = 0 <= start < len(text) - LONGEST
        return f"{text[: start + LONGEST - 2]}…}}" if is_cut else text


def export_text(splits, classes, *, max_depth, spacing):
    """Return the splits and leaves of a tree, one per line, in scikit-learn's format.

    Parameters
    ----------
    splits : SplitText
    classes : sequence, of the classes, or None for regression
    max_depth : int
        Level below which branches are truncated.
    spacing : int
        Indentation per level.
    """
    tree = splits.tree
    lines = []
    height = heights(tree)
    waiting = [(0, 1, "")]
    while waiting:
        node, depth, question = waiting.pop()
        if question:
            lines.append(question)
        indent = (("|" + " " * spacing) * depth)[:-spacing] + "-" * spacing
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0 or (depth > max_depth + 1 and height[node] == 0):
            lines.append(f"{indent} {leaf_text(splits, node, classes)}")
        elif depth > max_depth + 1:
            lines.append(f"{indent} truncated branch of depth {height[node] + 1}")
        else:
            on_left, on_right = splits.sides(node)
            waiting.append((right, depth + 1, f"{indent} {on_right}"))
            waiting.append((left, depth + 1, f"{indent} {on_left}"))
    return "\n".join(lines) + "\n"


def heights(tree):
    """Return the number of splits on the longest path down from each node, int64."""
    height = np.zeros(tree.node_count, np.int64)
    parent = tree.parent
    for node in range(tree.node_count - 1, 0, -1):  # children come after their parents
        height[parent[node]] = max(height[parent[node]], height[node] + 1)
    return height


def leaf_text(splits, node, classes):
    """Return the text of a leaf."""
    value = splits.tree.value[node]
    if classes is None:
        return f"value: [{', '.join(f'{v:.{splits.decimals}f}' for v in value[:, 0])}]"
    likely = value.argmax(axis=1)
    if splits.tree.n_outputs == 1:
        return f"class: {classes[likely[0]]}"
    return f"class: [{', '.join(str(c[k]) for c, k in zip(classes, likely, strict=True))}]"


def draw_svg(splits, classes, *, max_depth):
    """Return a drawing of a tree as SVG text, with a box per node and a line per branch.

    Parameters are as in `export_text`; a truncated branch ends in a dashed box.
    """
    tree = splits.tree
    shown, depth = shown_nodes(tree, max_depth)
    middle = places(tree, depth)
    width = WIDE * sum(1 for node in shown if is_end(tree, node, depth))
    deepest = max(depth.values())
    parts = []
    for node in shown:
        x, y = middle[node], HIGH * depth[node]
        if not is_end(tree, node, depth):
            children = tree.children_left[node], tree.children_right[node]
            parts += [line(x, y + 3 * LINE, middle[c], HIGH * depth[c]) for c in children]
        parts.append(box(splits, node, x, y, classes, is_end(tree, node, depth)))
    size = f'width="{width}" height="{HIGH * deepest + 4 * LINE}"'
    style = "font: 12px sans-serif; text-anchor: middle"
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} style="{style}">'
    return "\n".join([opening, *parts, "</svg>"])


def shown_nodes(tree, max_depth):
    """Return the nodes down to a level, parents first, and a dict of the level of each."""
    depth = {0: 0}
    shown = [0]
    for node in shown:
        if tree.children_left[node] >= 0 and (max_depth is None or depth[node] < max_depth):
            for child in (int(tree.children_left[node]), int(tree.children_right[node])):
                depth[child] = depth[node] + 1
                shown.append(child)
    return shown, depth


def is_end(tree, node, depth):
    """Return whether nothing is drawn below a node."""
    return tree.children_left[node] < 0 or int(tree.children_left[node]) not in depth


def places(tree, depth):
    """Return the horizontal center of each node: ends in a row, parents above their children."""
    middle = {}
    n_ends = 0
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if is_end(tree, node, depth):
            middle[node] = WIDE * (n_ends + 0.5)
            n_ends += 1
        else:
            waiting += [int(tree.children_right[node]), int(tree.children_left[node])]
    for node in reversed(depth):  # children before their parents
        if node not in middle:
            left, right = int(tree.children_left[node]), int(tree.children_right[node])
            middle[node] = (middle[left] + middle[right]) / 2
    return middle


def line(x, y, to_x, to_y):
    """Return the line of a branch."""
    return f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="#888"/>'


def box(splits, node, x, y, classes, ends):
    """Return the box of a node: its split or leaf text, its impurity and its rows."""
    tree = splits.tree
    is_leaf = tree.children_left[node] < 0
    texts = [
        leaf_text(splits, node, classes) if is_leaf else splits.short(node),
        f"impurity {tree.impurity[node]:.{splits.decimals}f}",
        f"{tree.n_node_samples[node]} rows",
    ]
    dashed = ' stroke-dasharray="4"' if ends and not is_leaf else ""
    frame = (
        f'<rect x="{x - WIDE / 2 + 4:g}" y="{y:g}" width="{WIDE - 8}" height="{3 * LINE + 6}" '
        f'rx="4" fill="#fff" stroke="#444"{dashed}/>'
    )
    written = [
        f'<text x="{x:g}" y="{y + LINE * (i + 1):g}">{escape(text)}</text>'
        for i, text in enumerate(texts)
    ]
    return frame + "".join(written)
