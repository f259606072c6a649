"""Section Failures: failed and skipped trials, unfinished duels, broken plugins, with reasons."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

from harness import Section, hookimpl
from harness.core.model import DuelOutcome, Failure, Outcome
from reports.blocks.blocks import Block, Details, Fragment, Paragraph, Verbatim
from reports.blocks.tables import Cell, Column, Row, Table, texts
from reports.page.page import Page
from reports.page.problems import failed_comparisons
from reports.text.commands import cell_again
from reports.text.format import count, few, plain, plural, short
from reports.text.inline import Badge, Code, Words

DETAILED = 60  # groups with their full text; the table has all of them
LONGEST = 6000  # last characters of a text, which hold the error
FOLDERS = re.compile(r'(?<=File ")[^"\n]*/(?=[^"/\n]+/[^"/\n]+")')  # all but the last of a path


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("failures", "Failures", 60, build))


def build(page: Page) -> Fragment:
    """Return the failures grouped by reason, with the full text of one in each group."""
    groups = grouped(page)
    blocks: list[Block] = []
    if groups:
        blocks.append(_failures(groups))
        blocks += [_detail(page, *item) for item in list(groups.items())[:DETAILED]]
    blocks += _duels(page) + _comparisons(page) + _skipped(page) + _broken(page)
    failed = page.failed, page.failed_duels, failed_comparisons(page), page.view.broken
    number = sum(map(len, failed))
    if not number:
        blocks.insert(0, Paragraph("Nothing failed."))
    return Fragment(blocks, badge=count(number) if number else "")


Reason = tuple[str, str, str, str]  # algorithm, status, kind, message


def grouped(page: Page) -> dict[Reason, list[Outcome]]:
    """Return the failed outcomes by algorithm and reason, the largest group first."""
    groups: dict[Reason, list[Outcome]] = defaultdict(list)
    for outcome in page.failed:
        kind, message = _kind_and_message(outcome.failure)
        groups[outcome.trial.algorithm, outcome.status.value, kind, message].append(outcome)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))


def _kind_and_message(failure: Failure | None) -> tuple[str, str]:
    return (failure.kind, failure.message) if failure else ("", "")


def _failures(groups: dict[Reason, list[Outcome]]) -> Table:
    columns = [
        *texts("Algorithm", "Outcome"),
        Column("Why", wide=True),
        Column("Trials", numeric=True),
        Column("Datasets"),
    ]
    rows: list[Row] = [
        [
            Cell.named(algorithm),
            Cell([_badge(status)], status),
            Cell(short(message, 240), note=short(kind)),
            Cell.of(len(outcomes), count),
            few(sorted({o.trial.dataset for o in outcomes})),
        ]
        for (algorithm, status, kind, message), outcomes in groups.items()
    ]
    return Table(columns, rows, "Trials without a result", "failures")


def _badge(status: str) -> Badge:
    return Badge(status.replace("_", " "), "bad", "✕")


def _detail(page: Page, reason: Reason, outcomes: list[Outcome]) -> Details:
    algorithm, _, kind, message = reason
    first = outcomes[0]
    dataset = first.trial.dataset
    text = (first.failure.detail if first.failure else "") or message or "no output was stored"
    summary: Words = [
        Code(short(algorithm)),
        f" on {short(dataset)}: {short(kind)} {short(message, 100)}",
    ]
    blocks: list[Block] = [
        Paragraph(["Trial ", Code(first.trial.id), f", split {first.trial.split.label}."]),
        Verbatim(_end(text), f"Output of {short(algorithm)}"),
    ]
    if again := cell_again(page.view.run, first.trial.id):
        blocks.append(Verbatim(again, "Command that runs it again"))
    return Details(summary, blocks)


def _end(text: str) -> str:
    """Return the end of a text, with file names without their folders."""
    shown = FOLDERS.sub("…/", plain(text, lines=True))
    return shown if len(shown) <= LONGEST else f"… {shown[-LONGEST:]}"


def _duels(page: Page) -> list[Block]:
    if not page.failed_duels:
        return []
    columns = texts("Duel", "Dataset", "Outcome", "Why")
    rows: list[Row] = []
    for outcome in page.failed_duels:
        duel, (kind, message) = outcome.duel, _kind_and_message(outcome.failure)
        sides = f"{short(duel.a.name)} against {short(duel.b.name)}"
        why = Cell(short(message, 240), note=short(kind))
        rows.append([sides, short(duel.a.dataset.name), [_badge(outcome.status.value)], why])
    blocks: list[Block] = [Table(columns, rows, "Duels that did not finish", "failed-duels")]
    for outcome in page.failed_duels[:DETAILED]:
        blocks += _detail_of_duel(page, outcome)
    return blocks


def _detail_of_duel(page: Page, outcome: DuelOutcome) -> list[Block]:
    """Return the output of a duel and the command that repeats it, if any."""
    text, again = outcome.failure.detail if outcome.failure else "", page.duels_again([outcome])
    blocks: list[Block] = []
    if text:
        blocks.append(Verbatim(_end(text), f"Output of duel {outcome.duel.id}"))
    if again:
        blocks.append(Verbatim(again, "Command that runs it again"))
    duel = outcome.duel
    sides = [Code(short(duel.a.name)), " against ", Code(short(duel.b.name))]
    return [Details([*sides, f" on {short(duel.a.dataset.name)}"], blocks)] if blocks else []


def _comparisons(page: Page) -> list[Block]:
    failed = failed_comparisons(page)
    if not failed:
        return []
    columns = [*texts("Pair", "Dataset", "Outcome"), Column("Why", wide=True)]
    rows: list[Row] = [
        [
            f"{short(parity.algorithm)} and {short(parity.reference)}",
            short(parity.dataset),
            [_badge(parity.status.value)],
            short(parity.reason, 240),
        ]
        for parity in failed
    ]
    return [Table(columns, rows, "Trees that could not be compared", "failed-comparisons")]


def _skipped(page: Page) -> list[Block]:
    groups: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in page.skipped:
        groups[outcome.trial.algorithm, outcome.reason].append(outcome)
    if not groups:
        return []
    columns = [*texts("Algorithm", "Reason"), Column("Trials", numeric=True), Column("Datasets")]
    rows: list[Row] = [
        [
            Cell.named(algorithm),
            short(reason, 240),
            Cell.of(len(outcomes), count),
            few(sorted({o.trial.dataset for o in outcomes})),
        ]
        for (algorithm, reason), outcomes in groups.items()
    ]
    caption = f"Skipped, not failed: {plural(len(page.skipped), 'trial')}"
    return [Table(columns, rows, caption, "skipped")]


def _broken(page: Page) -> list[Block]:
    if not page.view.broken:
        return []
    rows: list[Row] = [
        [Cell([Code(short(b.get("plugin", "")))]), short(b.get("reason", ""), 240)]
        for b in page.view.broken
    ]
    columns = texts("What", "Why")
    return [
        Table(columns, rows, "Plugins, metrics and stored files that could not be used", "broken")
    ]
