"""Accuracy and speed of a run, in sentences."""

from __future__ import annotations

from collections import Counter

from harness.analysis.run_view import Accuracy, Speed
from reports.page.page import Page
from reports.text.format import few, listing, short
from reports.text.means import geometric_mean
from reports.words.verdict_words import (
    ORDER,
    speed_tally,
    speed_word,
    times_as_fast,
    training_phase,
)


def accuracy_sentences(page: Page) -> list[str]:
    """Return sentences about the accuracy verdicts."""
    pooled = [a for pair in page.pairs for a in page.accuracy(pair, pooled=True)]
    verdicts = pooled or [a for pair in page.pairs for a in page.accuracy(pair)]
    if not verdicts:
        return []
    if len(verdicts) == 1:
        return [_one_accuracy(verdicts[0])]
    where = "pooled over their datasets" if pooled else "each on one dataset"
    counts = Counter(a.verdict for a in verdicts)
    words = [f"{counts[v]} {_plural_verdict(v)}" for v in ORDER if counts[v]]
    sentences = [f"Accuracy in {len(verdicts)} comparisons, {where}: {listing(words)}."]
    if worse := sorted({a.algorithm for a in verdicts if a.verdict == "worse"}):
        sentences.append(f"Less accurate than the reference: {few(worse)}.")
    return sentences


def _one_accuracy(verdict: Accuracy) -> str:
    phrase = {
        "equivalent": "is as accurate as",
        "better": "is more accurate than",
        "worse": "is less accurate than",
    }.get(verdict.verdict, "may or may not be as accurate as")
    tail = "" if verdict.verdict in ORDER[:3] else " (more splits needed)"
    where = f" on {short(verdict.dataset)}" if verdict.dataset else ""
    return f"{short(verdict.algorithm)} {phrase} {short(verdict.reference)}{where}{tail}."


def _plural_verdict(verdict: str) -> str:
    return {"equivalent": "as accurate", "better": "more accurate"}.get(
        verdict, "less accurate" if verdict == "worse" else "undecided (more splits needed)"
    )


def speed_sentences(page: Page) -> list[str]:
    """Return sentences about the duels of training and predicting."""
    sentences = []
    for phase, verb in ((training_phase(page.view.speed), "trains"), ("predict", "predicts")):
        speeds = [s for pair in page.pairs for s in page.speed(pair, phase)]
        if len(speeds) == 1:
            sentences.append(_one_speed(speeds[0], verb))
        elif speeds:
            sentences.append(_many_speeds(speeds, verb))
    return sentences


def _one_speed(speed: Speed, verb: str) -> str:
    a, b = short(speed.algorithm), short(speed.reference)
    where = f" on {short(speed.dataset)}" if speed.dataset else ""
    if speed_word(speed) == "undecided":
        return f"Whether {a} {verb} faster or slower than {b}{where} is undecided."
    return f"{a} {verb} {times_as_fast(speed.ratio.value)} as {b}{where}."


def _many_speeds(speeds: list[Speed], verb: str) -> str:
    tally = speed_tally(speeds, {"trains": " of training", "predicts": " of predicting"}[verb])
    if all(speed_word(s) == "undecided" for s in speeds):
        return f"{tally}."
    middle = times_as_fast(geometric_mean(s.ratio.value for s in speeds))
    return f"{tally}; on the geometric mean it {verb} {middle}."
