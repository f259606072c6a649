"""``harness explain ID``: reasons why a trial or duel would run again or not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import json_option, plugin_option, print_json, results_option
from harness.core.errors import HarnessError
from harness.core.model import Duel
from harness.plugins.registry import load_registry

if TYPE_CHECKING:
    from harness.planning.plan import Plan
    from harness.store.read import Reader


@click.command("explain")
@click.argument("id_", metavar="ID")
@plugin_option
@results_option
@json_option
def command(id_: str, *, plugins: tuple[Path, ...], results: Path, as_json: bool) -> None:
    """Explain the trial or duel whose id, or whose cell's id, starts with ID."""
    from harness.store import Store

    with Store.open(results) as store:
        lines = _of_duel(store, id_, plugins) or _of_trial(store, id_, plugins)
    if as_json:
        print_json({"id": id_, "lines": lines})
    else:
        click.echo("\n".join(lines))


def _of_trial(store: Reader, id_: str, plugins: tuple[Path, ...]) -> list[str]:
    from harness.planning.explain import explain

    lines = explain(store, id_)
    trial = store.find(id_)[0]
    measured_in = [run for _, run in store.history(trial.cell) if run]
    plan, trouble = _planned_now(store, measured_in, plugins)
    if plan is not None:
        now = next((t for t in plan.trials() if t.cell == trial.cell), None)
        lines = explain(store, id_, now) if now else lines
    return lines + trouble


def _of_duel(store: Reader, id_: str, plugins: tuple[Path, ...]) -> list[str]:
    """Return the explanation of a duel; empty if no duel has such an id."""
    from harness.planning.explain import explain_duel

    lines = explain_duel(store, id_)
    if not lines:
        return []
    attempts = store.find_duels(id_)
    duel = attempts[-1][0].duel
    plan, trouble = _planned_now(store, [run for _, run in attempts if run], plugins)
    if plan is not None:
        alike = [other for other in plan.duels if _cells(other) == _cells(duel)]
        now = next((d for d in alike if d.id == duel.id), alike[0] if alike else None)
        lines = explain_duel(store, id_, now)
    return lines + trouble


def _planned_now(
    store: Reader, runs_of_it: list[str], plugins: tuple[Path, ...]
) -> tuple[Plan | None, list[str]]:
    """Return the newest run as planned by the current code and data, or why that fails."""
    from harness.runs import run as runs

    if not runs_of_it:
        return None, []
    try:
        request = runs.request_of(store.run(runs_of_it[-1]))
        files = (*request.plugin_files, *map(str, plugins))
        return runs.plan_request(request, load_registry(files)), []
    except HarnessError as error:
        return None, [f"it cannot be planned any more: {error}"]


def _cells(duel: Duel) -> list[str]:
    return [trial.cell for job in (duel.a, duel.b) for trial in job.trials]
