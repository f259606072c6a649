"""Text lines for a few nodes of a tree: the path to one place, and the nodes below it.

The lines are plain data: a terminal prints them (``harness.analysis.tree_text``), and a report
draws them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.analysis.difference import Line
from harness.analysis.parity.ensembles import Rows, Training
from harness.analysis.parity.first_difference import leaf_values
from harness.analysis.parity.split_equality import left_categories, missing_left
from harness.trees.ensemble import TreeEnsemble

ABOVE = 3  # ancestors that are drawn, and the root
BELOW = 2  # levels below the marked node
MAX_CODES = 6
LONGEST_NAME = 40
LONGEST_CATEGORY = 20


def split_text(e: TreeEnsemble, node: int, training: Training, *, exact: bool = False) -> str:
    """Return a node's split as text; rows for which it holds go left."""
    name = _cut(training.name(int(e.feature[node])), LONGEST_NAME)
    if e.categories[node] < 0:
        limit = number(float(e.threshold[node]), e.input_dtype, exact=exact)
        return f"{name} {e.comparison} {limit}"
    members_left, codes = left_categories(e, node)
    known = [training.category(int(e.feature[node]), int(code)) for code in codes[:MAX_CODES]]
    few = [_cut(category, LONGEST_CATEGORY) for category in known]
    more = [f"… {len(codes) - MAX_CODES} more"] if len(codes) > MAX_CODES else []
    return f"{name} {'in' if members_left else 'not in'} {{{', '.join([*few, *more])}}}"


def _cut(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def number(value: float, dtype: str, *, exact: bool) -> str:
    """Return a number with six digits, or with all digits that identify it in a dtype."""
    if not exact:
        return f"{value:.6g}"
    with np.errstate(over="ignore"):
        single = np.float32(value)
    return str(single) if dtype == "float32" and float(single) == value else repr(value)


def leaf(e: TreeEnsemble, tree: int, node: int, *, exact: bool = False) -> str:
    """Return the contribution of a leaf to the scores as text."""
    values = leaf_values(e, tree, np.array([node]))[0]
    text = [number(float(v), e.sum_dtype, exact=exact) for v in values[:MAX_CODES]]
    more = ["…"] if len(values) > MAX_CODES else []
    return f"leaf {', '.join([*text, *more])}"


def sketch(
    e: TreeEnsemble, tree: int, path: str, training: Training, *, exact: bool = False
) -> tuple[Line, ...]:
    """Return the root, the last ancestors of a place, the place, and two levels below it.

    Parameters
    ----------
    path
        Path from the root to the place, of L and R.
    exact
        Whether the marked node's numbers have all digits.
    """
    skipped = max(0, len(path) - ABOVE - 1)  # ancestors between the root and the first drawn one
    root = (int(e.offsets[tree]), "", np.arange(training.rows), "")
    lines: list[Line] = []
    todo = [root]
    while todo:
        node, side, rows, here = todo.pop()
        depth = len(here)
        marked, on_way = here == path, path.startswith(here)
        below = here.startswith(path) and depth <= len(path) + BELOW
        shown = depth - max(0, skipped - 1) if depth else 0
        if e.left[node] < 0:
            text = leaf(e, tree, node, exact=exact and marked)
            line = Line(shown, side, text, len(rows), "leaf")
        elif on_way or below:
            condition = split_text(e, node, training, exact=exact and marked)
            line = Line(shown, side, condition, len(rows), "split")
            if depth < len(path) + BELOW:
                todo += _children(e, node, here, rows, training)
        else:
            line = Line(shown, side, "…", len(rows), "more")
        if not 0 < depth <= skipped:
            lines.append(replace(line, marked=marked))
        elif on_way and depth == 1:
            lines.append(Line(1, "", f"… {skipped} more on the way", len(rows), "more"))
    return tuple(lines)


def _children(
    e: TreeEnsemble, node: int, here: str, rows: Rows, training: Training
) -> list[tuple[int, str, Rows, str]]:
    """Return a node's children, the right one first: node, side, rows and path."""
    left = training.goes_left(e, node, rows)
    return [
        (int(e.right[node]), "right", rows[~left], f"{here}R"),
        (int(e.left[node]), "left", rows[left], f"{here}L"),
    ]


def missing_side(e: TreeEnsemble, node: int) -> str:
    """Return the side to which a node sends missing values."""
    return "left" if missing_left(e, np.array([node]))[0] else "right"
