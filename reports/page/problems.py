"""Failed trials, duels and tree comparisons of a run, and unusable plugins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from harness.analysis.run_view import Parity
from harness.core.model import FAILURES
from reports.page.page import Page
from reports.text.format import few, plural, short
from reports.text.inline import Code, Link, Words

SHOWN = 5  # reasons, and unusable plugins


def failed_comparisons(page: Page) -> list[Parity]:
    """Return the comparisons of trees whose training failed."""
    return [parity for parity in page.view.parity if parity.status in FAILURES]


def count_failed(page: Page) -> int:
    """Return the number of failed trials, duels and tree comparisons."""
    return len(page.failed) + len(page.failed_duels) + len(failed_comparisons(page))


def problems(page: Page) -> list[Words]:
    """Return one line for each kind of failure: algorithms, number and reason."""
    lines = _trials(page)
    whys = [d.failure.message if d.failure else "" for d in page.failed_duels]
    lines += _others("duel", whys) + _others("tree comparison", _reasons(page))
    lines += [
        [Code(short(b.get("plugin", ""))), f": {short(b.get('reason', ''), 160)}"]
        for b in page.view.broken[:SHOWN]
    ]
    if lines:
        lines.append([Link("All failures with their details", "#failures")])
    return lines


def _trials(page: Page) -> list[Words]:
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for outcome in page.failed:
        why = outcome.failure.message if outcome.failure else ""
        reasons[outcome.status.value, why].append(outcome.trial.algorithm)
    largest = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    lines: list[Words] = [
        [
            few(sorted(set(algorithms)), 3),
            f": {status.replace('_', ' ')} in {plural(len(algorithms), 'trial')}",
            f", {short(why, 160)}" if why else "",
        ]
        for (status, why), algorithms in largest[:SHOWN]
    ]
    if len(largest) > SHOWN:
        lines.append(f"… and {plural(len(largest) - SHOWN, 'other reason')}")
    return lines


def _reasons(page: Page) -> list[str]:
    return [parity.reason for parity in failed_comparisons(page)]


def _others(noun: str, whys: Sequence[str]) -> list[Words]:
    """Return a line with the number of failures, and the first known reason."""
    if not whys:
        return []
    why = next(filter(None, whys), "")
    return [f"{plural(len(whys), noun)} did not finish" + (f": {short(why, 160)}" if why else "")]
