"""Alarms of a history as Markdown, for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.alarms import Alarm
from harness.gate.messages import plain_markdown


def alarms_markdown(alarms: Sequence[Alarm], link: str = "") -> str:
    """Return a table of alarms as Markdown; "" if there are none.

    Parameters
    ----------
    link
        Address of the history's page, which has the figures.
    """
    if not alarms:
        return ""
    count = f"{len(alarms)} alarm{'s' if len(alarms) > 1 else ''}"
    lines = [
        f"### History: {count}",
        "",
        "| measure | newest value | commit | limit | share of the limit | model |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(map(plain_markdown, _cells(alarm)))} |" for alarm in alarms]
    lines += ["", "Times come from single runs: `harness gate --against` gives a verdict."]
    if link:
        lines += ["", f"[The figures](<{link}>)"]
    return "\n".join(lines) + "\n"


def _cells(alarm: Alarm) -> list[str]:
    series, rule = alarm.series, alarm.threshold
    newest, unit = series.points[-1], series.unit
    share = f"{newest.value / alarm.boundary:.0%}" if alarm.boundary > 0 else ""
    values = [f"{value:.4g} {unit}" for value in (newest.value, alarm.boundary)]
    model = f"{rule.model}, limit {rule.limit:g}"
    return [series.name, values[0], newest.commit, values[1], share, model]
