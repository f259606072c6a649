"""Commands that repeat the rows of a table, each below a line with the row's name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reports.text.format import short

if TYPE_CHECKING:
    from reports.page.page import Page, Pair

MAX_ROWS = 2000  # rows; larger tables have commands in the panels of the datasets


def algorithms_again(page: Page, names: Iterable[str], datasets: Iterable[str]) -> str:
    """Return the command of each algorithm on these datasets, or "" if none is exact.

    ``names`` are those of cells; variants of one algorithm share a command.
    """
    where = tuple(datasets)
    by_name = {page.names[i]: cell.algorithm for i, cell in enumerate(page.view.cells)}
    algorithms = dict.fromkeys(by_name[name] for name in names)
    return _listed((short(name), page.again([name], where)) for name in algorithms)


def pairs_again(page: Page, pairs: Iterable[Pair]) -> str:
    """Return the command of each pair on all of its datasets: trials, duels and trees."""
    return _listed((_words(pair), _both(page, pair, "")) for pair in pairs)


def cells_again(page: Page) -> str:
    """Return the command of each pair on each of its datasets."""
    places: dict[tuple[Pair, str], None] = {}
    for pair in page.pairs:
        for verdict in (*page.accuracy(pair), *page.speed(pair)):
            places[pair, verdict.dataset] = None
    if len(places) > MAX_ROWS:
        return pairs_again(page, page.pairs)
    return _listed(
        (f"{_words(pair)} on {short(dataset)}", _both(page, pair, dataset))
        for pair, dataset in places
    )


def _both(page: Page, pair: Pair, dataset: str) -> str:
    names = (pair.algorithm, pair.reference)
    if command_line := page.again(names, [dataset] if dataset else ()):
        return command_line
    return page.duels_again(
        outcome
        for outcome in page.view.duels
        if (outcome.duel.a.name, outcome.duel.b.name) == names
        and dataset in ("", outcome.duel.a.dataset.name)
    )


def _words(pair: Pair) -> str:
    return f"{short(pair.algorithm)} against {short(pair.reference)}"


def _listed(commands: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"# {name}\n{command_line}" for name, command_line in commands if command_line)
