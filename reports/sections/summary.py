"""First screen: verdicts in words, failures with reasons, and limits of the measurements.

The report on a user's own data begins with the recommendation and the leaderboard. The comparison
of each algorithm with its reference follows folded.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from harness import Section, hookimpl
from harness.analysis.recommendation import AnswerText, answer_text, answers_of
from harness.analysis.run_view import Cell as Measured
from harness.analysis.run_view import Speed
from harness.analysis.seconds import left_out
from reports.blocks.blocks import (
    Block,
    Callout,
    Details,
    Fragment,
    Items,
    Paragraph,
    Sides,
    Tile,
    Tiles,
)
from reports.blocks.tables import Column, Table
from reports.page.findings import findings_block
from reports.page.page import Page
from reports.page.problems import count_failed, problems
from reports.page.questions import question_tiles
from reports.page.sentences import accuracy_sentences, speed_sentences
from reports.page.verdict_matrix import as_accurate, overall, same_trees
from reports.text.format import count, digits, few, listing, loss, plural, ratio, short
from reports.text.inline import Code, Inline, Link, Strong, Words
from reports.text.means import geometric_mean
from reports.words.change_words import changed
from reports.words.verdict_words import speed_word, training_phase

RATIOS = (
    "= identical trees · ≈ same trees, or equivalent accuracy · ▲ better or faster · ▼ "
    "worse or slower · ? undecided. Ratios are the reference's time or memory over ours, "
    "with 95 % intervals: above 1, ours needs less."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("summary", "Summary", 0, build))


def build(page: Page) -> Fragment:
    """Return verdicts on trees, accuracy and speed, a recommendation, failures and cautions."""
    sentences = [*same_sentences(page), *accuracy_sentences(page), *speed_sentences(page)]
    if not sentences or (page.outcomes and not page.done):
        sentences = [_nothing_compared(page)]
    compared: list[Block] = [Paragraph(" ".join(sentences), role="lead"), _tiles(page)]
    if page.pairs:
        compared += [overall(page), Paragraph([RATIOS, *_evidence(page)], role="note")]
    answer = answer_text(answers_of(page.view))
    if page.own_files and answer is not None:
        blocks: list[Block] = [*_answer_blocks(answer), Sides(_boxes(page))]
        if page.pairs:
            blocks.append(Details("Each algorithm against its reference", compared))
    else:
        box = Callout("What to use", [Items([*answer.sentences])], "") if answer else None
        questions = [question_tiles(page)] if page.outcomes else []
        blocks = [*questions, *compared, Sides(_boxes(page, box))]
    if page.of_run("status") not in ("", "done"):
        state = f"This run is {short(page.of_run('status'))}: it holds only the results so far."
        blocks.insert(0, Paragraph(state, role="note"))
    return Fragment(blocks)


def _answer_blocks(answer: AnswerText) -> list[Block]:
    """Return the recommendation, what could change it, the leaderboard, and its basis."""
    recommendation, caution, *basis = answer.sentences
    marked = not answer.header[0]  # the first column marks the recommended algorithm
    titles = answer.header[1:] if marked else answer.header
    columns = [
        Column(title, numeric=i > 0 and marked, wide=i == 1 and marked)  # 1: loss and interval
        for i, title in enumerate(titles)
    ]
    rows = [_marked(row) if marked else [*row] for row in answer.rows]
    return [
        Paragraph(recommendation, role="lead"),
        Paragraph(caution),
        Table(columns, rows, "Algorithms on your data, best first", "answer"),
        Paragraph(" ".join(basis), role="note"),
    ]


def _marked(row: Sequence[str]) -> list[Words]:
    """Return a row of the leaderboard whose first cell marks the recommended algorithm."""
    mark, name, *values = row
    algorithm: Words = [Code(name), Strong(" recommended")] if mark else Code(name)
    return [algorithm, *values]


def _evidence(page: Page) -> list[Inline]:
    """Return links to the details behind the matrix."""
    links = [Link("all verdicts", "#verdicts")]
    links += [Link("where trees differ", "#parity")] if page.view.parity else []
    links += [Link("all duels", "#duels")] if page.view.duels else []
    words: list[Inline] = [" Details: "]
    for link in links:
        words += [link, ", "]
    return [*words[:-1], "."]


def _boxes(page: Page, answer: Callout | None = None) -> list[Block]:
    boxes: list[Block] = []
    if found := problems(page):
        boxes.append(Callout("What failed", [Items(found)], "bad"))
    if (checks := findings_block(page)) is not None:
        boxes.append(checks)
    boxes.append(Callout("What to trust", [Items(_cautions(page))], ""))
    if answer is not None:
        boxes.append(answer)
    if page.view.previous is not None:
        boxes.append(Callout("What changed", [Items(changed(page.view.previous))], ""))
    return boxes


# ------------------------------------------------------------------ sentences


def same_sentences(page: Page) -> list[str]:
    """Return a sentence on the pairs that build the same trees, if any were compared."""
    same, _ = same_trees(page)
    return (
        [f"In {same} pairs, our algorithm builds the same trees as the reference."] if same else []
    )


def _nothing_compared(page: Page) -> str:
    if not page.outcomes and not page.view.duels:
        if page.view.serving:
            return "This run measured serving times only; the section Serving times shows them."
        return "This run has no results yet."
    if not page.done:
        return "No trial of this run has a result, so nothing can be compared."
    return f"This run compares no algorithm with a reference. {_leader(page)}"


def _leader(page: Page) -> str:
    """Return a sentence on the algorithm with the best mean scores."""
    firsts = {d: cells[0] for d, cells in page.by_dataset.items() if _contested(page, cells)}
    if not firsts:
        return "Its measurements are below."
    if len(firsts) == 1:
        [(dataset, (name, cell))] = firsts.items()
        metric, score = short(page.metric(cell)), loss(page.score(cell))
        sentence = f"{short(name)} has the best mean {metric} on {short(dataset)}, {score}"
    else:
        counts = Counter(name for name, _ in firsts.values())
        most = max(counts.values())
        names = sorted(short(name) for name, n in counts.items() if n == most)
        verb = "each have" if len(names) > 1 else "has"
        sentence = f"{few(names)} {verb} the best mean score on {most} of {len(firsts)} datasets"
    return f"{sentence}. This is a ranking without a statistical test."


def _contested(page: Page, cells: Sequence[tuple[str, Measured]]) -> bool:
    return sum(math.isfinite(page.badness(cell)) for _, cell in cells) > 1


# ------------------------------------------------------------------ tiles, cautions


def _tiles(page: Page) -> Tiles:
    same, compared = same_trees(page)
    good, judged = as_accurate(page)
    trained = [s for pair in page.pairs for s in page.speed(pair, training_phase(page.view.speed))]
    won = Counter(speed_word(s) for s in trained)
    duels = [f"{won[w]} {w}" for w in ("faster", "slower", "undecided") if won[w]]
    failed = count_failed(page)
    results = f"{count(len(page.done))} of {plural(len(page.outcomes), 'trial')} with a result"
    more = [f"{count(page.reused)} known before"] if page.reused else []
    more += [f"{count(len(page.skipped))} skipped"] if page.skipped else []
    speed = ratio(geometric_mean(s.ratio.value for s in trained)) if trained else ""
    measured = [
        Tile("Same trees", same, compared),
        Tile("As accurate as the reference", good, judged),
        Tile("Training speed against the reference", speed, ", ".join(duels)),
    ]
    failures = "; ".join([results, *more])
    return Tiles(
        [
            *(tile for tile in measured if tile.value),
            Tile("Failures", count(failed), failures, "bad" if failed else ""),
        ]
    )


def _cautions(page: Page) -> list[Words]:
    lines: list[Words] = []
    speeds = [s for pair in page.pairs for s in page.speed(pair)]
    if speeds:
        lines.append(_units(speeds))
        lines.append(_noise(page))
        lines += _notes(speeds)
    elif page.view.serving and not page.outcomes:
        lines.append("Other programs that ran meanwhile make the intervals of times wider.")
    else:
        lines.append("No duel was run: the times below are from single runs and rough.")
    not_alone = sum(o.facts.get("alone") is False for o in page.done)
    if not_alone:
        lines.append(
            f"{plural(not_alone, 'trial')} ran at the same time as others: their times are rough."
        )
    if excluded := left_out(page.view.machines):
        lines.append(excluded)
    if page.view.accuracy:
        splits = sorted({a.splits for a in page.view.accuracy if a.splits and a.dataset})
        where = f" on {few([str(n) for n in splits])} splits for each dataset" if splits else ""
        lines.append(f"Accuracy verdicts are computed from stored predictions{where}.")
    undecided = sum(a.verdict == "inconclusive" for a in page.view.accuracy if a.dataset)
    if undecided:
        advice: Inline = Link("what each one needs", "#verdicts")
        lines.append([f"{plural(undecided, 'comparison')} of accuracy undecided: ", advice, "."])
    return lines


def _notes(speeds: Sequence[Speed]) -> list[str]:
    """Return the notes on ratios, one example of each kind."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for speed in speeds:
        for kind, note in {note.partition(":")[0]: note for note in speed.notes}.items():
            by_kind[kind].append(note)
    common = sorted(by_kind.values(), key=lambda notes: (-len(notes), notes[0]))
    every = plural(len(speeds), "ratio")
    return [
        f"{len(notes)} of {every}: {short(notes[0], 160)}"
        + (", or a similar note." if len(set(notes)) > 1 else ".")
        for notes in common[:4]
    ]


def _units(speeds: list[Speed]) -> str:
    units = Counter((s.unit, s.ratio.n) for s in speeds)
    parts = [f"{plural(n, unit)}" for (unit, n), _ in units.most_common(3)]
    weak = any(unit == "block" for unit, _ in units)
    end = (
        "; some were timed in few processes only, so the real uncertainty is larger" if weak else ""
    )
    return f"Speed ratios are from interleaved duels of {listing(parts)}{end}."


def _noise(page: Page) -> str:
    floors = [s.floor for s in page.view.speed if s.floor is not None]
    if not floors:
        return "The noise floor was not measured: this run has no duel of an algorithm with itself."
    worst = digits(100 * max(floors), 2)
    return f"Noise floor: an algorithm against itself differs by up to {worst} %."
