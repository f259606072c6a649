"""Section Parameters: canonical parameters and each library's arguments, tracks, searches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from harness import Section, hookimpl
from harness.core.model import Outcome
from reports.blocks.blocks import Block, Details, Fragment, Panel, Paragraph
from reports.blocks.tables import Cell, Column, Row, Table, texts
from reports.page.page import Page
from reports.text.format import DASH, count, plural, short
from reports.text.inline import Badge, Code

MATCHES = {
    "exact": Badge("exact", "good", "="),
    "approximate": Badge("approximate", "unsure", "≈"),
    "impossible": Badge("impossible", "bad", "✕"),
}
NOTE = (
    "The canonical parameters (trees, depth, leaves, learning rate, …) are translated to "
    "each library's own arguments. Exact: the argument means the same. Approximate: "
    "nearly the same, as the note says. Impossible: the library has no such argument and "
    "keeps its default."
)
TRACKS = {
    "equal": "Equal capacity: every library is given the same canonical parameters.",
    "default": "Library default: no parameter is set; each library uses its own defaults.",
    "tuned": (
        "Tuned: for each library the same number of declared configurations is searched by "
        "cross-validation inside the training rows; the search is part of its fit."
    ),
    "ensembled": (
        "Ensembled: the same search; the prediction is the weighted mean of several "
        "configurations, which are selected by their predictions of rows that were held out."
    ),
}


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("parameters", "Parameters", 55, build))


def build(page: Page) -> Fragment | None:
    """Return the map of parameters, the tracks, and the results of searches."""
    blocks: list[Block] = []
    if table := _map(page):
        blocks += [Paragraph(NOTE, role="note"), table]
    tracks = list(dict.fromkeys(t for cell in page.view.cells for t in cell.tracks))
    if tracks:
        notes: list[Block] = [_track(t, page) for t in tracks if t in TRACKS]
        blocks.append(Panel("Tracks", notes, page.anchor("parameters", "tracks")))
    if searches := _searches(page):
        blocks.append(Panel("Searches", [searches], page.anchor("parameters", "searches")))
    if len(page.view.cells):
        blocks.append(Details("Params of every algorithm in this run", [_params(page)]))
    return Fragment(blocks) if blocks else None


def _track(track: str, page: Page) -> Paragraph:
    """Return the meaning of a track, with its datasets if it was not run on all of them."""
    cells = page.view.cells
    every = dict.fromkeys(cell.dataset for cell in cells)
    known = dict.fromkeys(cell.dataset for cell in cells if cell.tracks == (track,))
    where = f" Datasets: {', '.join(known)}." if 0 < len(known) < len(every) else ""
    return Paragraph(TRACKS[track] + where)


def _map(page: Page) -> Table | None:
    """Return a table of canonical parameters × algorithms, with this run's values."""
    declared = {n: f.get("capacity") or {} for n, f in page.view.algorithms.items()}
    words = list(dict.fromkeys(word for found in declared.values() for word in found))
    if not words:
        return None
    capacity = page.experiment.get("capacity") or {}
    heads = (f"{word} = {capacity[word]}" if word in capacity else word for word in words)
    columns = texts("Algorithm", *(short(head, 40) for head in heads))
    rows: list[Row] = [
        [Cell.named(name), *(_argument(found.get(word)) for word in words)]
        for name, found in sorted(declared.items())
    ]
    return Table(columns, rows, "Canonical parameters and each library's argument", "parameters")


def _argument(argument: Mapping[str, Any] | None) -> Cell:
    """Return a library's argument for a canonical parameter, and how closely it matches."""
    if argument is None:
        return Cell(DASH, "", "not declared")
    name, match = (str(argument.get(key) or "") for key in ("name", "match"))
    badge = MATCHES.get(match, Badge(short(match), "unsure", "?"))
    note = short(argument.get("note") or "", 120)
    words = [badge] if not name else [Code(short(name, 40)), " ", badge]
    return Cell(words, f"{name} ({match})", note)


def _params(page: Page) -> Table:
    params_of: dict[str, Mapping[str, Any]] = {}
    for position, cell in enumerate(page.view.cells):
        params_of.setdefault(page.names[position], cell.params)
    rows: list[Row] = [
        [Code(short(name, 80)), short(_params_text(params), 400)]
        for name, params in sorted(params_of.items())
    ]
    columns = [Column("Algorithm"), Column("Params", wide=True)]
    return Table(columns, rows, "Params passed to the algorithm", "params")


def _params_text(params: Mapping[str, Any]) -> str:
    if isinstance(tune := params.get("tune"), Mapping):
        proposed = (tune.get("optuna") or {}).get("proposed", 0)
        number = len(tune.get("configurations") or ()) + proposed
        folds = tune.get("inner_folds")
        result = "a weighted mean" if "ensemble" in tune else "the best"
        method = ", by successive halving" if "halving" in tune else ""
        method = f", {proposed} of them proposed by Optuna" if proposed else method
        return f"{result} of {plural(number, 'configuration')} over {folds} inner folds{method}"
    return ", ".join(f"{key}={value}" for key, value in params.items()) or "its own defaults"


def _searches(page: Page) -> Table | None:
    """Return one row for each tuned algorithm and dataset."""
    searches: dict[tuple[str, str, bool], list[Outcome]] = defaultdict(list)
    for outcome in page.done:
        if isinstance(fact := outcome.facts.get("tuned"), Mapping):
            trial = outcome.trial
            searches[trial.algorithm, trial.dataset, "weights" in fact].append(outcome)
    if not searches:
        return None
    columns = [
        *texts("Algorithm", "Dataset"),
        Column("Splits", numeric=True),
        Column("Defaults chosen", numeric=True, unit="splits"),
        Column("Untrainable", numeric=True, unit="configurations"),
        Column("Chosen most often", wide=True),
    ]
    rows = [_search(*place[:2], outcomes) for place, outcomes in sorted(searches.items())]
    return Table(columns, rows, "Configurations chosen inside the training rows", "searches")


def _chosen_text(fact: Mapping[str, Any]) -> str:
    """Return the chosen params; of an ensemble, those with the largest weight."""
    params = _params_text(fact.get("params") or {})
    weights = [weight for _, weight in fact.get("weights") or ()]
    if not weights:
        return params
    return f"{params}, with a weight of {max(weights):.0%} in a mean of {len(weights)}"


def _search(algorithm: str, dataset: str, outcomes: list[Outcome]) -> Row:
    facts = [outcome.facts["tuned"] for outcome in outcomes]
    chosen = Counter(_chosen_text(fact) for fact in facts)
    lost = max(sum(loss is None for loss in fact.get("losses") or ()) for fact in facts)
    return [
        Cell.named(algorithm),
        short(dataset),
        Cell.of(len(facts), count),
        Cell.of(sum(fact.get("chosen") == 0 for fact in facts), count),
        Cell(count(lost), lost, tone="bad" if lost else ""),
        *(f"{short(words, 160)} (in {n} of {len(facts)})" for words, n in chosen.most_common(1)),
    ]
