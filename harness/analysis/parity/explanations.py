"""Sentences that explain a difference between two ensembles."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.difference import Difference, Gains, Node
from harness.analysis.parity.ensembles import Side
from harness.analysis.parity.objectives import param

RATES = "learning_rate eta shrinkage_rate"
USUAL_RATE = {"sklearn": 0.1, "xgboost": 0.3, "lightgbm": 0.1}  # default learning rates
CLOSE = 1e-3
BINNED = frozenset(  # algorithms that choose among the thresholds of their own bins
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
MAX_PARAMS = 4
COUNTED = 1000  # largest number of steps that is shown
WHOLE = frozenset({"output", "tree weight", "base score"})


def sentence(diff: Difference, a: Side, b: Side) -> str:
    """Return a sentence on a difference and its cause, as far as it is known."""
    if diff.a is None or diff.b is None or diff.what in WHOLE:
        return _of_the_whole(diff, a, b)
    return f"{_where(diff)}: {_of_a_node(diff, diff.a, diff.b, a, b)}"


def _of_a_node(diff: Difference, one: Node, other: Node, a: Side, b: Side) -> str:
    if diff.what == "leaf value":
        return _leaves(diff, one, other, a, b)
    if diff.what == "leaf or split":
        return _stops(diff, one, other, a, b)
    if diff.what == "missing side":
        clause = f"of “{one.text}” {a.name} sends missing values {one.missing}"
        clause += f" and {b.name} {other.missing}"
    else:
        clause = f"{a.name} splits on “{one.text}” and {b.name} on “{other.text}”"
    return f"{clause}. {_same_rows(diff) if diff.level == 'bits' else _reason(diff, a, b)}"


def _of_the_whole(diff: Difference, a: Side, b: Side) -> str:
    """Describe a difference of the whole ensembles."""
    one, other, tree = a.ensemble, b.ensemble, diff.tree

    def phrase(what: str, values: list[object]) -> str:
        return f"{what} {values[0]} in {a.name} and {values[1]} in {b.name}."

    match diff.what:
        case "number of trees":
            counts = phrase("There are", [one.n_trees, other.n_trees])
            return f"{counts} The first {tree} have the same structure."
        case "output":
            return phrase(f"Tree {tree} adds to output", [e.output[tree] for e in (one, other)])
        case "tree weight":
            return phrase(f"Tree {tree} weighs", [float(e.weight[tree]) for e in (one, other)])
        case "form":
            forms = [f"a {e.combination} of {e.n_outputs} scores a row" for e in (one, other)]
            return phrase("The trees give", [*forms]) + " Their leaves cannot be compared."
        case "link":
            links = [f"{e.link} of scores / {e.temperature:g}" for e in (one, other)]
            return phrase("The prediction is the", [*links])
    return phrase("The scores start from", [e.base.tolist() for e in (one, other)])


def _where(diff: Difference) -> str:
    rows = f"{diff.rows} training row{'s' * (diff.rows != 1)}"
    node = f"node {diff.path}" if diff.path else "the root"
    node += f" of one, {diff.path_b} of the other" if diff.path_b else ""
    return f"Tree {diff.tree}, {node} ({rows})"


def _same_rows(diff: Difference) -> str:
    """Describe why two different splits have the same partition of the training rows."""
    if diff.what == "threshold" and diff.ulps:
        return f"No training row lies between the two{_steps(diff)}."
    if diff.what == "threshold":
        return "The number is the same, but one side rounds or compares values in another way."
    if diff.what == "missing side":
        return "No value is missing in these rows, so both sides have the same gain."
    if diff.what == "sides":
        return "Both make the same two parts of the rows, with left and right exchanged."
    return "The categories in which they differ do not occur in these rows."


def _steps(diff: Difference) -> str:
    """Return the number of representable numbers between two numbers, if it is small."""
    if not diff.ulps or diff.ulps > COUNTED:
        return ""
    return f", which are {diff.ulps} {diff.ulps_of} step{'s' * (diff.ulps != 1)} apart"


def _reason(diff: Difference, a: Side, b: Side) -> str:
    """Describe which split gains more."""
    if diff.moved in {0, diff.rows}:
        return _same_parts()
    if diff.what == "threshold" and diff.cause == "rounding" and (steps := _steps(diff)):
        lie = "row lies" if diff.moved == 1 else "rows lie"
        return f"{diff.moved} {lie} between the two{steps}."
    if not diff.gains:
        return _exported(diff)
    phrase = _gains_text(diff.gains, a, b)
    if diff.cause == "tie":
        return f"{phrase}: a tie, which the two break differently."
    if diff.cause == "rounding":
        near = all(g.apart <= g.rounding for g in diff.gains)
        off = "rounding" if near else "sums in single precision"
        return f"{phrase}, {diff.relative:.1e} relative difference: within the error of {off}."
    return f"{phrase}: {_worse_side(diff, a, b)}."


def _worse_side(diff: Difference, a: Side, b: Side) -> str:
    """Describe which side did not take the better split, if one is truly better."""
    better_ones = [g.better for g in diff.gains]
    if better_ones == ["a", "b"]:
        return "each took the better split by its own sums, so the sums differ already"
    if better_ones == ["b", "a"]:
        return "neither took the better split by its own sums"
    who, better = (a, diff.b) if "b" in better_ones else (b, diff.a)
    assert better is not None
    phrase = f"{who.name} did not take the better split, into {better.rows[0]} and"
    phrase += f" {better.rows[1]} rows"
    return f"{phrase}, which may lie between its bins" if who.reference in BINNED else phrase


def _same_parts() -> str:
    """Describe two splits with the same partition, possibly with left and right exchanged."""
    return "Both make the same two parts of the rows: a tie, which the two break differently."


def _gains_text(gains: Sequence[Gains], a: Side, b: Side) -> str:
    """Describe the gains of both splits, by the sums of each side if these disagree."""

    def clause(g: Gains) -> str:
        return f"{g.a:.9g} and {g.b:.9g}"

    first, last = gains[0], gains[-1]
    if first.criterion == last.criterion and first.better == last.better:
        return f"By {first.criterion} they gain {clause(first)}"
    phrase = [f"{clause(g)} by {g.criterion} of {(a if g.by == 'a' else b).name}" for g in gains]
    return f"They gain {' and '.join(phrase)}"


def _exported(diff: Difference) -> str:
    """Describe the exported gains, and why they were not recomputed."""
    phrase = f"Gains were not recomputed ({diff.no_gains})"
    known = [node.gain for node in (diff.a, diff.b) if node is not None]
    if diff.relative is None or None in known:
        return f"{phrase}, so which is better is not known."
    words = {"tie": "a tie", "rounding": "rounding may have decided", "rule": "no tie"}
    return f"{phrase}; the models report {known[0]:.9g} and {known[1]:.9g}: {words[diff.cause]}."


def _stops(diff: Difference, one: Node, other: Node, a: Side, b: Side) -> str:
    """Describe which side stops, and the gain of the other side's split."""
    splits, stops, node = (b, a, other) if len(one.rows) == 1 else (a, b, one)
    parts = f"{node.rows[0]} and {node.rows[1]} rows"
    phrase = f"{stops.name} stops where {splits.name} splits on “{node.text}” and makes {parts}"
    gains = [g.b if g.a is None else g.a for g in diff.gains]
    if gains and diff.cause != "rule":
        return f"{phrase}; the gain of {gains[0]:.3g} is within rounding."
    if gains:
        phrase += f", a gain of {gains[0]:.6g}"
    elif node.gain is not None:
        phrase += f", with a reported gain of {node.gain:.6g}"
    limit = f"a limit (gain, depth {len(diff.path)}, leaves, rows) or a rule differs"
    return f"{phrase}: {limit}{_params(a, b)}."


def _params(a: Side, b: Side) -> str:
    """Describe the params that differ, if both sides have the same reference."""
    if a.reference != b.reference:
        return ""
    names = sorted({*a.params, *b.params})
    phrase = [
        f"{name} {a.params.get(name, 'unset')} and {b.params.get(name, 'unset')}"
        for name in names
        if a.params.get(name) != b.params.get(name)
    ]
    return f" (params: {', '.join(phrase[:MAX_PARAMS])})" if phrase else ""


def _leaves(diff: Difference, one: Node, other: Node, a: Side, b: Side) -> str:
    """Describe how far two leaves differ."""
    phrase = f"{one.text} in {a.name} and {other.text.removeprefix('leaf ')} in {b.name}"
    if diff.shift is not None:
        same = f"every leaf of the tree differs by the same {diff.shift:.6g}"
        return f"{phrase}; {same}: the initial scores differ, or a constant is added."
    if diff.scale is not None:
        times = f"every leaf of the tree is {diff.scale:.6g} times as large"
        return f"{phrase}; {times}{_rate(diff, a, b)}."
    text = f"{phrase}, {diff.relative:.1e} relative difference{_steps(diff)}"
    if diff.cause == "rounding":
        return f"{text}: within the error of sums in single precision."
    return f"{text}: more than rounding, so a rule of the leaves differs."


def _rate(diff: Difference, a: Side, b: Side) -> str:
    """Return a note if a factor of the leaves is a learning rate."""
    assert diff.scale is not None
    for side in (a, b):
        rate = param(side, RATES, USUAL_RATE.get(side.reference.split(".")[0]))
        for factor, who in ((diff.scale, b), (1 / diff.scale if diff.scale else 0.0, a)):
            if isinstance(rate, float) and abs(factor - rate) <= CLOSE * rate:
                return f": {rate:g} is the learning rate, which {who.name} applies once more"
    return ""
