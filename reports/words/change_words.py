"""Sentences about the changes of a run since an earlier run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.analysis.compare import RunComparison
from harness.analysis.run_view import Accuracy
from reports.text.format import few, moment, plural, short
from reports.text.inline import Link, Words


def changed(comparison: RunComparison) -> list[Words]:
    """Return one line for each kind of change since another run."""
    old = comparison.old
    name = f"run {short(old.get('id', ''))} of {moment(str(old.get('started') or ''))}"
    lines: list[Words] = [f"Against {name}: {plural(comparison.matched, 'trial')} in both."]
    counts = Counter(change.verdict for change in comparison.changes)
    lines += [
        f"{plural(counts[verdict], 'score')} {word}: {_who(comparison.changes, verdict)}."
        for verdict, word in (("worse", "became worse"), ("better", "became better"))
        if counts[verdict]
    ]
    if comparison.changes and not counts["worse"] and not counts["better"]:
        lines.append("No score became better or worse beyond its margin.")
    lines += [
        f"{plural(len(judged), 'ratio')} of duels {word} now: "
        f"{few([f'{r.algorithm} on {r.dataset}, {r.phase}' for r in judged], 3)}."
        for word in ("slower", "faster")
        if (judged := [r for r in comparison.ratios if r.verdict == word])
    ]
    if other := [r for r in comparison.parity_levels if r.old != r.new]:
        levels = ((r, f"{r.old or 'none'} to {r.new or 'none'}") for r in other)
        moves = [f"{r.algorithm} on {r.dataset}: {level}" for r, level in levels]
        lines.append(f"{plural(len(other), 'pair')} with another parity level: {few(moves, 3)}.")
    if turns := comparison.turns:
        lines.append(f"{plural(len(turns), 'trial')} with another outcome than before.")
    if comparison.other_data:
        lines.append(f"{plural(comparison.other_data, 'trial')} used other data then.")
    lines.append([Link("Every change", "#changes")])
    return lines


def _who(changes: Sequence[Accuracy], verdict: str) -> str:
    return few([f"{c.algorithm} on {c.dataset}" for c in changes if c.verdict == verdict], 3)
