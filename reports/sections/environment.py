"""Section Environment: machine, versions and threads, and commands that repeat the run."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness import Section, hookimpl
from harness.core.model import to_json
from reports.blocks.blocks import Block, Details, Facts, Fragment, Panel, Paragraph, Verbatim
from reports.blocks.tables import Cell, Column, Row, Table, texts
from reports.page.page import Page
from reports.text.format import count, few, moment, short, size
from reports.text.inline import Badge, Code, Words

PLACE = (
    "Each command on this page reads stored results: run it on the machine of the run, "
    "with the same results folder."
)
MANY = 40  # facts of one group
_STATES = {
    "as requested": Badge("as requested", "good", "✓"),
    "fewer": Badge("fewer", "unsure", "↓"),
    "more": Badge("more than requested", "bad", "✕"),
}


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("environment", "Environment", 70, build))


def build(page: Page) -> Fragment:
    """Return run, machine, versions, threads, and the commands that repeat the run."""
    blocks: list[Block] = [
        Panel("Run", [Facts(_run(page))], "environment-run"),
        *_facts_panel("Machine", _machine(page.view.run.get("machine"))),
        *_facts_panel("Environments", _unusual(page.view.run.get("environments"))),
    ]
    if versions := _versions(page):
        blocks.append(Panel("Versions", [versions], "environment-versions"))
    if threads := _threads(page):
        blocks.append(Panel("Threads", [threads], "environment-threads"))
    blocks.append(Panel("Repeat it", _repeat(page), "environment-repeat"))
    return Fragment(blocks)


def _run(page: Page) -> list[tuple[str, Words]]:
    terms: list[tuple[str, str]] = [
        ("Id", page.of_run("id")),
        ("Experiment", page.of_run("name")),
        ("Status", page.of_run("status")),
        ("Started", moment(page.of_run("started"))),
        ("Ended", moment(page.of_run("ended"))),
        ("Outcomes", count(len(page.outcomes))),
        ("Duels", count(len(page.view.duels))),
    ]
    return [(title, short(text)) for title, text in terms if text]


def _facts_panel(title: str, value: Any) -> list[Block]:
    if not value:
        return []
    facts: list[tuple[str, Words]] = [(short(key), short(text, 200)) for key, text in flat(value)]
    blocks: list[Block] = [Facts(facts[:MANY])]
    if len(facts) > MANY:
        blocks.append(Details("More", [Facts(facts[MANY : 10 * MANY])]))
    return [Panel(title, blocks, f"environment-{title.lower()}")]


def _unusual(environments: Any) -> Any:
    """Return the environments; empty if the only one is the interpreter of the harness."""
    several = isinstance(environments, (list, tuple)) and len(environments) > 1
    named = any(key.endswith(("python", "root")) for key, _ in flat(environments))
    return environments if several or named else None


def _machine(machine: Any) -> Any:
    """Return the facts of a machine with readable sizes, without versions (own table)."""
    if not isinstance(machine, Mapping):
        return machine
    return {
        key: size(value) if key == "memory_available" else value
        for key, value in machine.items()
        if key != "versions"
    }


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted key, text) of nested facts; short lists on one line."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            name = str(key).replace("_", " ")
            yield from flat(part, f"{prefix} · {name}" if prefix else name)
    elif isinstance(value, (list, tuple)) and any(isinstance(v, (Mapping, list)) for v in value):
        for number, part in enumerate(value, 1):
            yield from flat(part, f"{prefix} {number}".strip())
    elif isinstance(value, (list, tuple)):
        yield prefix, ", ".join(map(str, value))
    elif isinstance(value, bool):
        yield prefix, "yes" if value else "no"
    elif value not in (None, ""):
        yield prefix, str(value)


def _versions(page: Page) -> Table | None:
    """Return the versions that the workers found, and the algorithms that used them."""
    users_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for outcome in page.outcomes:
        versions = outcome.facts.get("versions")
        for library, version in versions.items() if isinstance(versions, Mapping) else ():
            users_of[str(library), str(version)].add(outcome.trial.algorithm)
    if not users_of:
        return None
    rows: list[Row] = [
        [Code(short(library)), short(version), few(sorted(users), 6)]
        for (library, version), users in sorted(users_of.items())
    ]
    columns = texts("Library", "Version", "Used by")
    return Table(columns, rows, "Versions that the workers loaded", "versions")


def _threads(page: Page) -> Table | None:
    """Return the requested threads, and those in the pools of the libraries."""
    trials_of: dict[tuple[str, int, str, str], int] = defaultdict(int)
    for outcome in page.outcomes:
        pools = outcome.facts.get("pools")
        if pools is None:
            continue
        pools_found = sorted({*_pools(pools), *_numba(outcome.facts.get("numba"))})
        requested, numbers = outcome.trial.threads, {number for _, number in pools_found}
        state = "more" if max(numbers, default=requested) > requested else "as requested"
        state = "fewer" if state == "as requested" and numbers - {requested} else state
        text = ", ".join(f"{name} {number}" for name, number in pools_found) or "no pool"
        trials_of[outcome.trial.algorithm, requested, text, state] += 1
    if not trials_of:
        return None
    rows: list[Row] = [
        [
            Cell.named(algorithm),
            Cell.of(requested, count),
            short(text, 200),
            [_STATES[state]],
            Cell.of(number, count),
        ]
        for (algorithm, requested, text, state), number in sorted(trials_of.items())
    ]
    columns = [
        Column("Algorithm"),
        Column("Requested", numeric=True),
        Column("Found in the worker process", wide=True),
        Column("Verified"),
        Column("Trials", numeric=True),
    ]
    return Table(columns, rows, "Thread pools found by threadpoolctl", "threads")


def _pools(pools: Any) -> Iterator[tuple[str, int]]:
    for pool in pools if isinstance(pools, (list, tuple)) else ():
        if isinstance(pool, Mapping):
            name = pool.get("internal_api") or pool.get("user_api") or "pool"
            yield str(name), int(pool.get("num_threads") or 0)


def _numba(facts: Any) -> Iterator[tuple[str, int]]:
    if isinstance(facts, Mapping) and facts.get("threads"):
        yield "numba", int(facts["threads"])


def _repeat(page: Page) -> list[Block]:
    run = page.of_run("id") or "latest"
    commands = [
        page.again() or page.duels_again(page.view.duels),
        page.command("report", run),
        page.command("export", run, "--format", "csv"),
    ]
    config = json.dumps(to_json(dict(page.experiment)), indent=1, default=str, ensure_ascii=False)
    return [
        Paragraph(PLACE, role="note"),
        Verbatim("\n".join(filter(None, commands)), "Commands that repeat and export the run"),
        Details("The resolved experiment", [Verbatim(config, "The resolved experiment as JSON")]),
    ]
