"""Summary of a run: Markdown for a pull request, and all verdicts as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from harness.analysis.gates import Decision, decide_gates, gates_of
from harness.analysis.recommendation import answer_text, answers_of, to_data
from harness.analysis.run_view import RunView, Speed
from harness.core.model import JSON, to_json
from harness.core.units import strict
from reports.page.page import Page, Pair
from reports.page.problems import failed_comparisons
from reports.page.sentences import accuracy_sentences, speed_sentences
from reports.page.verdict_counts import counted, counts_of, counts_words
from reports.text.format import bounds, listing, plural, ratio, short
from reports.words.claim_words import gate_sentence, parity_json, parity_sentences
from reports.words.verdict_words import (
    accuracy_badge,
    memory_cell,
    span,
    speed_word,
    training_phase,
)

# Characters that Markdown sites read as markup, a mention or the edge of a table cell.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~@&$]|:(?=//))")
_HEADINGS = ("Algorithm", "Reference", "Accuracy", "Training", "Predicting", "Memory")


def markdown_summary(view: RunView) -> str:
    """Return the summary of a run for a pull request: one paragraph and one table."""
    page = Page(view)
    sentences = [*accuracy_sentences(page), *speed_sentences(page), *parity_sentences(view.parity)]
    shown = answer_text(answers_of(view))
    sentences = sentences or ([] if shown else ["Nothing was compared."])
    if gates := gates_of(view.run["config"]):
        sentences.append(gate_sentence(decide_gates(gates, view)))
    failed = {"trial": len(page.failed), "duel": len(page.failed_duels)}
    failed["tree comparison"] = len(failed_comparisons(page))
    if any(failed.values()):
        failures = listing(plural(number, noun) for noun, number in failed.items() if number)
        sentences.append(f"Failed: {failures}.")
    answer: list[str] = []
    if shown is not None:
        answer = [_line([escaped(cell) for cell in shown.header]), "|---" * len(shown.header) + "|"]
        answer += [_line([escaped(cell) for cell in row]) for row in shown.rows]
        answer += ["", " ".join(map(escaped, (*shown.sentences, *shown.left_out))), ""]
    name = escaped(page.of_run("name") or "run")
    paragraph = f"**{name}** ({escaped(page.of_run('id'))}): {escaped(' '.join(sentences))}"
    if not page.pairs:
        return "\n".join([paragraph, *([""] if answer else []), *answer])
    rows = [_line(_HEADINGS), "|---|---|---|--:|--:|--:|"]
    rows += [_line([escaped(cell) for cell in _row(page, pair)]) for pair in page.pairs]
    note = "Ratios are the reference's time or memory over ours: above 1, ours needs less."
    return "\n".join([paragraph, "", *answer, *rows, "", note, ""])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(page: Page, pair: Pair) -> list[str]:
    judged = page.accuracy(pair, pooled=True) or page.accuracy(pair)
    counts = {a.verdict: sum(b.verdict == a.verdict for b in judged) for a in judged}
    accuracy = [
        f"{accuracy_badge(v).symbol} {v}" + (f" ({n})" if len(judged) > 1 else "")
        for v, n in counts.items()
    ]
    accuracy += [counts_words(c) for c in counts_of(page, pair)]
    times = [
        _ratios(page.speed(pair, phase)) for phase in (training_phase(page.view.speed), "predict")
    ]
    memory = memory_cell(page.speed(pair)).text
    names = (short(pair.algorithm), short(pair.reference))
    return [*names, ", ".join(accuracy), *times, str(memory)]


def _ratios(speeds: list[Speed]) -> str:
    """Return "×3.42 [3.10, 3.71]", or the range over several datasets."""
    if not speeds:
        return ""
    if len(speeds) == 1:
        interval = speeds[0].ratio
        return f"{ratio(interval.value)} {bounds(interval.low, interval.high)}"
    return span([s.ratio.value for s in speeds])


def escaped(text: str) -> str:
    """Return text on one line, with Markdown characters escaped."""
    return _MARKUP.sub(r"\\\1", short(text, 2000))


def verdicts_json(view: RunView) -> JSON:
    """Return every verdict, speed and failure of a run as strict JSON: no NaN, no infinity.

    Keys: ``run``, ``accuracy``, ``counts`` (of verdicts, over datasets), ``speed`` (each with its
    ``word``), ``parity``, ``diagnostics``, ``gates``, ``failures``.
    """
    page = Page(view)
    speeds = [{**to_json(speed), "word": speed_word(speed)} for speed in view.speed]
    failures = [
        {"what": "trial", "id": o.trial.id, "algorithm": o.trial.algorithm, **_why(o)}
        | {"dataset": o.trial.dataset}
        for o in page.failed
    ]
    failures += [
        {"what": "duel", "id": d.duel.id, "algorithm": d.duel.a.name, **_why(d)}
        | {"reference": d.duel.b.name, "dataset": d.duel.a.dataset.name}
        for d in page.failed_duels
    ]
    failures += [
        {"what": "comparison", "algorithm": p.algorithm, "status": p.status.value}
        | {"message": p.reason, "reference": p.reference, "dataset": p.dataset}
        for p in failed_comparisons(page)
    ]
    run = {key: page.of_run(key) for key in ("id", "name", "status", "started", "ended")}
    judged = {"accuracy": to_json(view.accuracy), "diagnostics": to_json(view.diagnostics)}
    judged["counts"] = to_json(counted(view.accuracy))
    judged["parity"] = parity_json(view.parity)
    judged["gates"] = decisions_json(decide_gates(gates_of(view.run["config"]), view))
    judged["answers"] = to_data(answers_of(view))
    judged["budget"] = dict(view.budget)
    document: JSON = strict({"run": run, **judged, "speed": speeds, "failures": failures})
    return document


def decisions_json(decisions: Iterable[Decision]) -> list[JSON]:
    """Return decided gates as JSON; each gate's own keys under ``gate``."""
    return [
        {**to_json(d), "gate": d.gate.model_dump(mode="json"), "measured": to_json(d.measured)}
        for d in decisions
    ]


def _why(outcome: Any) -> JSON:
    failure = outcome.failure
    return {
        "status": outcome.status.value,
        "kind": failure.kind if failure else "",
        "message": failure.message if failure else "",
    }
