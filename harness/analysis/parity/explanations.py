"""Say in a sentence or two what a difference is, for people."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.difference import Difference, Gains, Node
from harness.analysis.parity.ensembles import Side
from harness.analysis.parity.objectives import param

RATES = "learning_rate eta shrinkage_rate"
USUAL_RATE = {"sklearn": 0.1, "xgboost": 0.3, "lightgbm": 0.1}  # by library, where none is given
CLOSE = 1e-3
BINNED = frozenset(  # they choose among a few thresholds a feature, each its own
    {
        "catboost.plain",
        "lightgbm.gbdt",
        "lightgbm.goss",
        "lightgbm.quantised",
        "sklearn.hist_gradient_boosting",
        "xgboost.approx",
        "xgboost.hist",
    }
)
MOST_PARAMS = 4
COUNTED = 1000  # steps between two numbers that are worth counting
WHOLE = frozenset({"output", "tree weight", "base score"})


def sentence(found: Difference, a: Side, b: Side) -> str:
    """Return what differs, and why as far as it can be told.

    Parameters
    ----------
    found
        All but the sentence.
    """
    if found.a is None or found.b is None or found.what in WHOLE:
        return _of_the_whole(found, a, b)
    return f"{_where(found)}: {_of_a_node(found, found.a, found.b, a, b)}"


def _of_a_node(found: Difference, one: Node, other: Node, a: Side, b: Side) -> str:
    if found.what == "leaf value":
        return _leaves(found, one, other, a, b)
    if found.what == "leaf or split":
        return _stops(found, one, other, a, b)
    if found.what == "missing side":
        said = f"of “{one.text}” {a.name} sends missing values {one.missing}"
        said += f" and {b.name} {other.missing}"
    else:
        said = f"{a.name} asks “{one.text}” and {b.name} “{other.text}”"
    return f"{said}. {_same_rows(found) if found.level == 'bits' else _reason(found, a, b)}"


def _of_the_whole(found: Difference, a: Side, b: Side) -> str:
    """Say what differs above the nodes."""
    one, other, tree = a.ensemble, b.ensemble, found.tree

    def told(what: str, values: list[object]) -> str:
        return f"{what} {values[0]} in {a.name} and {values[1]} in {b.name}."

    match found.what:
        case "number of trees":
            counts = told("There are", [one.n_trees, other.n_trees])
            return f"{counts} The first {tree} have the same structure."
        case "output":
            return told(f"Tree {tree} adds to output", [e.output[tree] for e in (one, other)])
        case "tree weight":
            return told(f"Tree {tree} weighs", [float(e.weight[tree]) for e in (one, other)])
        case "form":
            forms = [f"a {e.combination} of {e.n_outputs} scores a row" for e in (one, other)]
            return told("The trees give", [*forms]) + " Their leaves cannot be compared."
        case "link":
            links = [f"{e.link} of scores / {e.temperature:g}" for e in (one, other)]
            return told("The prediction is the", [*links])
    return told("The scores start from", [e.base.tolist() for e in (one, other)])


def _where(found: Difference) -> str:
    rows = f"{found.rows} training row{'s' * (found.rows != 1)}"
    node = f"node {found.path}" if found.path else "the root"
    node += f" of one, {found.path_b} of the other" if found.path_b else ""
    return f"Tree {found.tree}, {node} ({rows})"


def _same_rows(found: Difference) -> str:
    """Say why a split that parts the training rows alike is not the same."""
    if found.what == "threshold" and found.ulps:
        return f"No training row lies between the two{_steps(found)}."
    if found.what == "threshold":
        return "The number is the same, but one side rounds or compares values in another way."
    if found.what == "missing side":
        return "No value is missing in these rows, so either side gains the same."
    if found.what == "sides":
        return "Both make the same two parts of the rows, with left and right exchanged."
    return "The categories in which they differ do not occur in these rows."


def _steps(found: Difference) -> str:
    """Say how many representable numbers two numbers are apart, where they are few."""
    if not found.ulps or found.ulps > COUNTED:
        return ""
    return f", which are {found.ulps} {found.ulps_of} step{'s' * (found.ulps != 1)} apart"


def _reason(found: Difference, a: Side, b: Side) -> str:
    """Say which split gains more."""
    if found.moved in {0, found.rows}:
        return _same_parts()
    if found.what == "threshold" and found.cause == "rounding" and (steps := _steps(found)):
        lie = "row lies" if found.moved == 1 else "rows lie"
        return f"{found.moved} {lie} between the two{steps}."
    if not found.gains:
        return _exported(found)
    told = _told(found.gains, a, b)
    if found.cause == "tie":
        return f"{told}: a tie, which the two break differently."
    if found.cause == "rounding":
        near = all(g.apart <= g.rounding for g in found.gains)
        off = "rounding" if near else "sums in single precision"
        return f"{told}, {found.relative:.1e} of it apart: no more than {off} may move them by."
    return f"{told}: {_blame(found, a, b)}."


def _blame(found: Difference, a: Side, b: Side) -> str:
    """Say who did not take the better split, where one is truly better."""
    better_ones = [g.better for g in found.gains]
    if better_ones == ["a", "b"]:
        return "each took the better split by its own sums, so these differ already"
    if better_ones == ["b", "a"]:
        return "neither took the better split by its own sums"
    who, better = (a, found.b) if "b" in better_ones else (b, found.a)
    assert better is not None
    told = f"{who.name} did not take the better split, into {better.rows[0]} and"
    told += f" {better.rows[1]} rows"
    return f"{told}, which its bins may not offer" if who.speaks in BINNED else told


def _same_parts() -> str:
    """Say that the rows are parted alike, the same way round or the other."""
    return "Both make the same two parts of the rows: a tie, which the two break differently."


def _told(gains: Sequence[Gains], a: Side, b: Side) -> str:
    """Say what both splits gain: by the sums of each side, where these do not tell the same."""

    def said(g: Gains) -> str:
        return f"{g.a:.9g} and {g.b:.9g}"

    first, last = gains[0], gains[-1]
    if first.criterion == last.criterion and first.better == last.better:
        return f"By {first.criterion} they gain {said(first)}"
    told = [f"{said(g)} by {g.criterion} of {(a if g.by == 'a' else b).name}" for g in gains]
    return f"They gain {' and '.join(told)}"


def _exported(found: Difference) -> str:
    """Say what the models' own gains tell, and why no better ones are at hand."""
    told = f"Gains were not computed again ({found.no_gains})"
    own = [node.gain for node in (found.a, found.b) if node is not None]
    if found.relative is None or None in own:
        return f"{told}, so which is better is not known."
    words = {"tie": "a tie", "rounding": "rounding may have decided", "rule": "no tie"}
    return f"{told}; the models tell {own[0]:.9g} and {own[1]:.9g}: {words[found.cause]}."


def _stops(found: Difference, one: Node, other: Node, a: Side, b: Side) -> str:
    """Say who stops and what the other gains."""
    splits, stops, node = (b, a, other) if len(one.rows) == 1 else (a, b, one)
    parts = f"{node.rows[0]} and {node.rows[1]} rows"
    told = f"{stops.name} stops where {splits.name} asks “{node.text}” and makes {parts}"
    gains = [g.b if g.a is None else g.a for g in found.gains]
    if gains and found.cause != "rule":
        return f"{told}; the gain of {gains[0]:.3g} is nothing beyond rounding."
    if gains:
        told += f", a gain of {gains[0]:.6g}"
    elif node.gain is not None:
        told += f", by its own count a gain of {node.gain:.6g}"
    limit = f"a limit (gain, depth {len(found.path)}, leaves, rows) or a rule differs"
    return f"{told}: {limit}{_params(a, b)}."


def _params(a: Side, b: Side) -> str:
    """Say which params differ, where both sides understand the same ones."""
    if a.speaks != b.speaks:
        return ""
    names = sorted({*a.params, *b.params})
    told = [
        f"{name} {a.params.get(name, 'unset')} and {b.params.get(name, 'unset')}"
        for name in names
        if a.params.get(name) != b.params.get(name)
    ]
    return f" (params: {', '.join(told[:MOST_PARAMS])})" if told else ""


def _leaves(found: Difference, one: Node, other: Node, a: Side, b: Side) -> str:
    """Say how far two leaves are apart."""
    told = f"{one.text} in {a.name} and {other.text.removeprefix('leaf ')} in {b.name}"
    if found.shift is not None:
        same = f"every leaf of the tree differs by the same {found.shift:.6g}"
        return f"{told}; {same}: the scores start elsewhere, or a constant is added."
    if found.scale is not None:
        times = f"every leaf of the tree is {found.scale:.6g} times as large"
        return f"{told}; {times}{_rate(found, a, b)}."
    apart = f"{told}, {found.relative:.1e} of it apart{_steps(found)}"
    if found.cause == "rounding":
        return f"{apart}: no more than sums in single precision may be off by."
    return f"{apart}: more than rounding, so a rule of the leaves differs."


def _rate(found: Difference, a: Side, b: Side) -> str:
    """Say where a factor is a learning rate."""
    assert found.scale is not None
    for side in (a, b):
        rate = param(side, RATES, USUAL_RATE.get(side.speaks.split(".")[0]))
        for factor, who in ((found.scale, b), (1 / found.scale if found.scale else 0.0, a)):
            if isinstance(rate, float) and abs(factor - rate) <= CLOSE * rate:
                return f": {rate:g} is the learning rate, which {who.name} applies once more"
    return ""
