"""The three questions of a reader, each answered in a few words at the top of the report."""

from __future__ import annotations

from harness.analysis.across import friedman, nemenyi_distance
from harness.analysis.all_pairs import Field, field_of, gaps_of
from harness.analysis.compare import RunComparison
from reports.blocks.blocks import Tile, Tiles
from reports.page.page import Page
from reports.page.verdict_matrix import misses, same_trees
from reports.text.format import digits, few, loss, plural, short
from reports.words.verdict_words import speed_word, training_phase

BEST = "Which algorithm is best?"
RIGHT = "Is our implementation right?"
SLOWER = "What became slower?"


def question_tiles(page: Page) -> Tiles:
    """Return the answers, each with a link to its evidence."""
    return Tiles([_best(page), _right(page), _slower(page)], role="answers")


# ------------------------------------------------------------------ which is best


def _best(page: Page) -> Tile:
    field = field_of(page.losses(page.by_dataset), gaps_of(page.view.accuracy))
    if len(field.names) < 2 or not field.datasets:
        return Tile(BEST, "Not compared", "no two algorithms have results on the same datasets")
    if len(field.names) > 2 and len(field.datasets) > 1:
        return _first_by_rank(field)
    if len(field.datasets) == 1:
        return _first_on(page, field)
    wins = (field.losses == field.losses.min(axis=1, keepdims=True)).sum(axis=0).tolist()
    most, name = max(zip(wins, field.names, strict=True))
    where = f"the smaller loss on {most} of {plural(len(field.datasets), 'dataset')}"
    return _named(name, f"{where}; a ranking without a test", "#leaderboard")


def _first_by_rank(field: Field) -> Tile:
    ranks = friedman(field.losses).ranks
    distance = nemenyi_distance(len(ranks), len(field.datasets))
    best, name = min(zip(ranks, field.names, strict=True))
    near = sum(rank - best <= distance for rank in ranks) - 1
    where = f"mean rank {digits(best)} of {len(ranks)} on {plural(len(field.datasets), 'dataset')}"
    tail = (
        f"; {near} of the {len(ranks) - 1} others do not differ significantly"
        if near
        else "; all others are significantly worse"
    )
    return _named(name, where + tail, "#across")


def _first_on(page: Page, field: Field) -> Tile:
    dataset = field.datasets[0]
    name = field.names[int(field.losses[0].argmin())]
    cell = next(cell for other, cell in page.by_dataset[dataset] if other == name)
    metric, value = short(page.metric(cell), 24), loss(page.score(cell))
    note = f"mean {metric} {value} on {short(dataset, 40)}; a ranking without a test"
    return _named(name, note, "#leaderboard")


def _named(name: str, note: str, href: str) -> Tile:
    """Return a tile whose value is an algorithm; its params are in the note."""
    algorithm, _, params = name.partition(" (")
    note = f"{short(params.removesuffix(')'), 40)}; {note}" if params else note
    return Tile(BEST, short(algorithm, 46), note, href=href)


# ------------------------------------------------------------------ is it right


def _right(page: Page) -> Tile:
    pooled = [a for pair in page.pairs for a in page.accuracy(pair, pooled=True)]
    judged = pooled or [a for pair in page.pairs for a in page.accuracy(pair)]
    same, _ = same_trees(page)
    if not judged and not same:
        return Tile(RIGHT, "Not compared", "no algorithm of this run has a reference in it")
    trees = f"same trees in {same} pairs" if same else "no trees were compared"
    worse = sorted({a.algorithm for a in judged if a.verdict == "worse"})
    less = sorted({p.algorithm for p in page.view.parity if misses(p)} - set(worse))
    href = "#verdicts" if judged else "#parity"
    if worse or less:
        faults = [f"less accurate than its reference: {few(worse, 3)}"] if worse else []
        faults += [f"other trees than it claims: {few(less, 3)}"] if less else []
        number = len(worse) + len(less)
        value = f"Not {'this one' if number == 1 else f'these {number}'}"
        return Tile(RIGHT, value, "; ".join(faults), "bad", href)
    good = sum(a.verdict in ("equivalent", "better") for a in judged)
    note = f"as accurate as the reference in {good} of {plural(len(judged), 'comparison')}"
    if good == len(judged):
        return Tile(RIGHT, "Yes", f"{note}; {trees}" if judged else trees, href=href)
    undecided = f"{len(judged) - good} need more splits"
    return Tile(RIGHT, "No fault found", f"{note}, {undecided}; {trees}", href=href)


# ------------------------------------------------------------------ what became slower


def _slower(page: Page) -> Tile:
    if page.view.previous is not None:
        return _since(page.view.previous)
    timed = [s for pair in page.pairs for s in page.speed(pair, training_phase(page.view.speed))]
    slower = sorted({s.algorithm for s in timed if speed_word(s) == "slower"})
    if not timed:
        return Tile(SLOWER, "No earlier run", "and no duel in this one")
    note = f"trains slower than its reference: {few(slower, 3) or 'none'}"
    return Tile(SLOWER, "No earlier run", note, href="#speed")


def _since(previous: RunComparison) -> Tile:
    """Return the answer since the run before: from duels, as seconds of single runs are rough."""
    run = f"since run {short(previous.old.get('id', ''), 40)}"
    if not previous.ratios:
        note = f"no duel is in both runs ({run})"
        return Tile(SLOWER, "Not timed twice", note, href="#changes")
    slower = [f"{r.algorithm} on {r.dataset}, {r.phase}" for r in previous.ratios
             if r.verdict == "slower"]  # fmt: skip
    compared = plural(len(previous.ratios), "ratio")
    if not slower:
        return Tile(SLOWER, "Nothing", f"of {compared} of duels {run}", href="#changes")
    value = f"{len(slower)} of {compared}"
    return Tile(SLOWER, value, f"{few(slower, 2)} ({run})", "bad", "#changes")
