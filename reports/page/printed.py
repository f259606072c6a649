"""Text output of the commands ``gate`` and ``compare``: table rows, plain or Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from harness.analysis.compare import RunComparison
from harness.analysis.compare_duels import RatioChange
from harness.analysis.gates import Decision
from harness.analysis.run_view import Accuracy, Interval
from harness.core.model import JSON, to_json
from harness.core.units import strict
from reports.page.digest import decisions_json, escaped
from reports.text.format import bounds, digits, listing, plural, ratio, seconds, short, signed
from reports.words.claim_words import gate_sentence
from reports.words.verdict_words import accuracy_badge, speed_symbol

Rows = list[list[str]]
SYMBOLS = {"pass": "✓", "fail": "✕", "undecided": "?"}
GATE_HEADER = ("Gate", "State", "Algorithm", "Dataset", "Measured", "Limit", "Why")
CHANGE_HEADER = ("Verdict", "Algorithm", "Dataset", "Metric", "Change", "Tolerance", "Why")
SECONDS_HEADER = ("Algorithm", "Dataset", "Phase", "Old", "New", "New / old")
RATIO_HEADER = ("Change", "Algorithm", "Dataset", "Phase", "Old ratio", "New ratio")
PARITY_LEVEL_HEADER = ("Algorithm", "Dataset", "Mode", "Old level", "New level")
TURN_HEADER = ("Algorithm", "Dataset", "Split", "Old", "New")
RAW = (
    "Seconds of two runs are rough: the runs were not timed side by side. Only a duel "
    "decides which is faster."
)

RATIO_NOTE = (
    "A ratio is the reference's time over ours, from the calls of one run. A pair is "
    "faster or slower now where the intervals of both runs do not overlap."
)


def spaced(text: str) -> str:
    """Return text with no-break spaces replaced by plain ones, for terminals."""
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with escaped cells."""
    lines = [header, ["---"] * len(header), *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# ------------------------------------------------------------------ gates


def gate_rows(decisions: Iterable[Decision]) -> Rows:
    """Return one row for each decision, failures first."""
    order = {"fail": 0, "undecided": 1, "pass": 2}
    return [
        [
            gate_name(d),
            f"{SYMBOLS[d.state]} {d.state}",
            f"{short(d.algorithm)} against {short(d.reference)}",
            short(d.dataset) or ("pooled" if d.gate.pooled else ""),
            _measured(d),
            gate_limit(d),
            short(d.reason, 300),
        ]
        for d in sorted(decisions, key=lambda d: order[d.state])
    ]


def gate_name(decision: Decision) -> str:
    """Return the quantity of a gate: "speed of train"."""
    gate = decision.gate
    return f"speed of {short(gate.phase)}" if gate.kind == "speed" else gate.kind


def gate_limit(decision: Decision) -> str:
    """Return a gate's limit in its unit."""
    if isinstance(decision.limit, str):
        return f"at least {short(decision.limit)}" if decision.limit else ""
    if decision.gate.kind == "accuracy":
        return f"at least {signed(100 * decision.limit)} % of the gap"
    return f"at least {ratio(decision.limit)}"


def _measured(decision: Decision) -> str:
    if decision.measured is None:
        return ""
    if decision.gate.kind == "accuracy":
        measured = decision.measured
        return _interval(measured, signed(100 * measured.value) + " %", 100)
    return _interval(decision.measured, ratio(decision.measured.value))


def _interval(interval: Interval, value: str, factor: float = 1) -> str:
    if not math.isfinite(interval.high):
        return value
    return f"{value} {bounds(factor * interval.low, factor * interval.high)}"


def gates_markdown(decisions: Sequence[Decision], run: str) -> str:
    """Return gates as Markdown for a pull request."""
    title = f"**Gates of run {escaped(run)}**: {gate_sentence(decisions).removeprefix('Gates: ')}"
    return f"{title}\n\n{markdown_table(GATE_HEADER, gate_rows(decisions))}\n"


def gates_table(decisions: Sequence[Decision]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return header and rows of decided gates."""
    return GATE_HEADER, gate_rows(decisions)


def gates_json(decisions: Sequence[Decision], state: str, run: str) -> JSON:
    """Return gates as strict JSON; each gate's own keys under ``gate``."""
    gates = decisions_json(decisions)
    document: JSON = strict({"run": run, "state": state, "decisions": gates})
    return document


# ------------------------------------------------------------------ compare


def change_rows(changes: Iterable[Accuracy]) -> Rows:
    """Return one row for each change of a score, those that became worse first."""
    order = {"worse": 0, "inconclusive": 1, "better": 2, "equivalent": 3}
    return [
        [
            f"{accuracy_badge(c.verdict).symbol} {c.verdict}",
            short(c.algorithm),
            short(c.dataset),
            short(c.metric),
            _interval(c.difference, signed(c.difference.value)),
            f"±{digits(c.margin)}",
            short("; ".join(filter(None, [c.advice, *c.notes])), 300),
        ]
        for c in sorted(changes, key=lambda c: order.get(c.verdict, 1))
    ]


def seconds_rows(comparison: RunComparison) -> Rows:
    """Return one row of fit and of predict times for each remeasured cell, without a verdict."""
    return [
        [
            short(s.algorithm),
            short(s.dataset),
            s.phase,
            spaced(seconds(s.old)),
            spaced(seconds(s.new)),
            ratio(s.new / s.old) if s.old > 0 else "",
        ]
        for s in comparison.seconds
        if s.remeasured and s.phase in ("fit", "predict")
    ]


def ratio_rows(comparison: RunComparison) -> Rows:
    """Return one row for each duel and phase of both runs, those that differ first."""
    return [
        [
            f"{speed_symbol(r.verdict)} {'now ' * (r.verdict != 'undecided')}{r.verdict}",
            f"{short(r.algorithm)} against {short(r.reference)}",
            short(r.dataset),
            r.phase,
            *(f"{ratio(i.value)} {spaced(bounds(i.low, i.high))}" for i in (r.old, r.new)),
        ]
        for r in by_verdict(comparison.ratios)
    ]


def by_verdict(ratios: Iterable[RatioChange]) -> list[RatioChange]:
    """Return ratios in the order of display: those that became slower first."""
    order = {"slower": 0, "faster": 1, "undecided": 2}
    return sorted(ratios, key=lambda r: order[r.verdict])


def parity_level_rows(comparison: RunComparison) -> Rows:
    """Return one row for each pair and dataset whose parity level changed."""
    return [
        [
            f"{short(r.algorithm)} against {short(r.reference)}",
            short(r.dataset),
            short(r.mode) or "default",
            r.old or "none",
            r.new or "none",
        ]
        for r in comparison.parity_levels
        if r.old != r.new
    ]


def turn_rows(comparison: RunComparison) -> Rows:
    """Return one row for each cell whose outcome changed."""
    return [
        [short(t.algorithm), short(t.dataset), short(t.split), t.old, t.new]
        for t in comparison.turns
    ]


def comparison_sentence(comparison: RunComparison) -> str:
    """Return a sentence with the number of cells in both runs and of changes."""
    c = comparison
    counts = Counter(change.verdict for change in c.changes)
    tally = [f"{n} {verdict}" for verdict, n in sorted(counts.items())]
    parts = [f"{plural(c.matched, 'cell')} in both runs"]
    for number, where in ((c.only_old, "only in the old"), (c.only_new, "only in the new")):
        parts += [f"{number} {where}"] if number else []
    parts += [f"{c.other_data} on data that changed since"] if c.other_data else []
    parts += [f"{plural(len(c.turns), 'cell')} with another outcome"] if c.turns else []
    for word in ("slower", "faster"):
        changed = sum(r.verdict == word for r in c.ratios)
        parts += [f"{plural(changed, 'ratio')} of duels {word} now"] if changed else []
    other = sum(r.old != r.new for r in c.parity_levels)
    parts += [f"{plural(other, 'pair')} with another parity level"] if other else []
    return spaced(f"{'; '.join(parts)}. Scores: {listing(tally) or 'none to compare'}.")


def comparison_markdown(comparison: RunComparison) -> str:
    """Return a comparison of two runs as Markdown."""
    names = [escaped(str(run.get("id", ""))) for run in (comparison.old, comparison.new)]
    parts = [f"**{names[1]} against {names[0]}**: {escaped(comparison_sentence(comparison))}"]
    if rows := change_rows(comparison.changes):
        parts += [markdown_table(CHANGE_HEADER, rows), "A positive change is an improvement."]
    if rows := turn_rows(comparison):
        parts += [markdown_table(TURN_HEADER, rows)]
    if rows := parity_level_rows(comparison):
        parts += [markdown_table(PARITY_LEVEL_HEADER, rows)]
    if rows := ratio_rows(comparison):
        parts += [markdown_table(RATIO_HEADER, rows), RATIO_NOTE]
    if rows := seconds_rows(comparison):
        parts += [markdown_table(SECONDS_HEADER, rows), RAW]
    return "\n\n".join(parts) + "\n"


def comparison_json(comparison: RunComparison) -> JSON:
    """Return a comparison as strict JSON; its seconds are not interleaved."""
    runs = {
        side: {key: getattr(comparison, side).get(key) for key in ("id", "name", "started")}
        for side in ("old", "new")
    }
    fields = {k: v for k, v in to_json(comparison).items() if k not in ("seconds", *runs)}
    raw = {"seconds_not_interleaved": to_json(comparison.seconds)}
    document: JSON = strict({**runs, **fields, **raw})
    return document


def comparison_tables(comparison: RunComparison) -> list[tuple[str, tuple[Sequence[str], Rows]]]:
    """Return title, header and rows of each table: scores, levels, ratios, outcomes, seconds."""
    tables = [
        ("", (CHANGE_HEADER, change_rows(comparison.changes))),
        ("changed parity levels", (PARITY_LEVEL_HEADER, parity_level_rows(comparison))),
        (RATIO_NOTE, (RATIO_HEADER, ratio_rows(comparison))),
        ("changed outcomes", (TURN_HEADER, turn_rows(comparison))),
        (RAW, (SECONDS_HEADER, seconds_rows(comparison))),
    ]
    return [(title, table) for title, table in tables if table[1]]
