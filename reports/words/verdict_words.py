"""Symbol, word and tone of each verdict and ratio, the same on every page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from harness.analysis.run_view import Accuracy, Speed
from harness.analysis.speed import BUSY_NOTES
from reports.blocks.tables import Cell, track
from reports.text.format import SPACE, bounds, digits, plural, ratio, short, signed
from reports.text.inline import Badge, Words
from reports.text.means import geometric_mean

ORDER = ("equivalent", "better", "worse", "inconclusive")
_BADGES = {
    "equivalent": ("same", "≈"),
    "better": ("good", "▲"),
    "worse": ("bad", "▼"),
    "inconclusive": ("unsure", "?"),
}
_SPEEDS = {"faster": ("good", "▲"), "slower": ("bad", "▼"), "undecided": ("unsure", "?")}
_LEVELS = {
    "L3": ("L3 identical trees", "same", "="),
    "L2": ("L2 same trees", "same", "≈"),
    "L1": ("L1 same splits", "unsure", "~"),
    "L0": ("L0 trees differ", "unsure", "≈"),
}
NOTHING = 1e-9  # of a margin: a difference this small is rounding
PHASE_NAMES = {
    "train": "train",  # native form and fit together, the time that a user waits
    "import": "import",
    "compile": "compile",
    "load": "load data",
    "preparation": "prepare",
    "native": "native form",
    "fit": "fit",
    "predict": "predict",
    "predict_one": "predict one row",
}


def accuracy_badge(verdict: str) -> Badge:
    """Return an accuracy verdict with its symbol; an unknown verdict is shown unchanged."""
    tone, symbol = _BADGES.get(verdict, ("unsure", "?"))
    return Badge(verdict, tone, symbol)


def parity_level_badge(level: str, *, undecided: bool = False) -> Badge:
    """Return a parity level in words, with its symbol.

    "" is "no parity level", or "trees differ" if the accuracy is undecided, too.
    """
    if not level and undecided:
        return Badge("trees differ", "unsure", "?")
    return Badge(*_LEVELS.get(level, (level or "no parity level", "bad", "≠")))


def loss_difference(verdict: Accuracy, value: float) -> str:
    """Return a difference in its unit: the loss, or if pooled a share of the gap."""
    if verdict.dataset or math.isnan(value):
        return signed(value)
    return f"{signed(100 * value)}\N{NO-BREAK SPACE}%"


def interval_words(verdict: Accuracy) -> str:
    """Return the 95 % interval of a difference, or the reason why there is none."""
    interval = verdict.difference
    if not math.isfinite(interval.low):
        return interval.note
    factor = 1 if verdict.dataset else 100
    return bounds(interval.low * factor, interval.high * factor)


def margin_words(verdict: Accuracy) -> str:
    """Return the metric of a difference, and its equivalence margin."""
    if verdict.dataset:
        return f"{short(verdict.metric)}, margin ±{digits(verdict.margin)}"
    return f"margin ±{100 * verdict.margin:g} % of the gap"


def track_words(verdict: Accuracy) -> str:
    """Return "tuned track" in a run with several tracks, else ""."""
    return f"{short(verdict.track)} track" if verdict.track else ""


def in_margins(verdict: Accuracy) -> Cell:
    """Return the cell that draws a difference and the equivalence margin.

    The scale is the verdict's own margin, so that rows of different metrics can be compared; the
    thick line is the 90 % interval, the thin line the 95 % interval.
    """
    interval, margin = verdict.difference, verdict.margin
    value = 0.0 if abs(interval.value) < NOTHING * margin else interval.value
    text, note = loss_difference(verdict, value), interval_words(verdict)
    if not (math.isfinite(interval.value) and margin > 0):
        return Cell(text, interval.value, note)
    low, value, high = (x / margin for x in (interval.low, interval.value, interval.high))
    inner = (verdict.inner.low / margin, verdict.inner.high / margin) if verdict.inner else None
    drawn = track((low, value, high), (-3, 3), 0, (-1, 1), inner)
    return Cell(text, interval.value, note, track=drawn)


def speed_word(speed: Speed) -> str:
    """Return "faster" or "slower" if the interval and the noise floor allow it.

    Otherwise "undecided": the interval includes 1, or the ratio is no further from 1
    than an algorithm against itself.
    """
    interval, reach = speed.ratio, 1 + (speed.floor or 0.0)
    if interval.low > 1 and interval.value > reach:
        return "faster"
    return "slower" if interval.high < 1 and interval.value < 1 / reach else "undecided"


def speed_tally(speeds: Sequence[Speed], of: str = "") -> str:
    """Return the duels by result: "In 3 duels, ours is faster in 2, and 1 is undecided"."""
    counts = Counter(speed_word(speed) for speed in speeds)
    won = [f"{word} in {counts[word]}" for word in ("faster", "slower") if counts[word]]
    open_ones = counts["undecided"]
    verb = "is" if open_ones == 1 else "are"
    if not won:
        return f"{plural(open_ones, 'duel')}{of} {verb} undecided"
    rest = f", and {open_ones} {verb} undecided" if open_ones else ""
    busy = sum(any(note.startswith(BUSY_NOTES) for note in s.notes) for s in speeds)
    rest += f" ({busy} on a busy machine)" if busy else ""
    return f"In {plural(len(speeds), 'duel')}{of}, ours is {' and '.join(won)}{rest}"


def training_phase(speeds: Iterable[Speed]) -> str:
    """Return the phase of training: native form and fit together, if timed."""
    return "train" if any(s.phase == "train" for s in speeds) else "fit"


def speed_symbol(word: str) -> str:
    """Return the symbol of ``faster``, ``slower`` or ``undecided``."""
    return _SPEEDS[word][1]


def word_badge(word: str) -> Badge:
    """Return ``faster``, ``slower`` or ``undecided`` as a badge."""
    return Badge(word, *_SPEEDS[word])


def speed_badge(speed: Speed) -> Badge:
    """Return a ratio of times as a badge: "▲ ×3.42"."""
    tone, symbol = _SPEEDS[speed_word(speed)]
    return Badge(ratio(speed.ratio.value), tone, symbol)


def speed_cell(speeds: Sequence[Speed]) -> Cell:
    """Return the ratio of one phase over datasets: the interval of one, the range of several."""
    if not speeds:
        return Cell("")
    if len(speeds) == 1:
        interval = speeds[0].ratio
        bounded = math.isfinite(interval.high)
        note = bounds(interval.low, interval.high) if bounded else interval.note
        note += "" if speeds[0].dataset else f", {plural(interval.n, 'dataset')}"
        return Cell([speed_badge(speeds[0])], interval.value, note)
    values = [s.ratio.value for s in speeds]
    center = geometric_mean(values)
    words: Words = ratio(center)
    if len(verdicts := {speed_word(s) for s in speeds}) == 1:  # all datasets agree
        tone, symbol = _SPEEDS[verdicts.pop()]
        words = [Badge(ratio(center), tone, symbol)]
    return Cell(words, center, f"{span(values)}, {plural(len(values), 'dataset')}")


def memory_cell(speeds: Sequence[Speed]) -> Cell:
    """Return the ratio of memory, reference over ours, over datasets."""
    values = sorted({s.memory_ratio for s in speeds if s.memory_ratio})  # phases share a fit
    if not values:
        return Cell("")
    return Cell.of(geometric_mean(values), ratio, note=span(values) if len(values) > 1 else "")


def span(values: Sequence[float]) -> str:
    """Return the range of ratios, without line breaks."""
    return SPACE.join([ratio(min(values)), "to", ratio(max(values))])


def times_as_fast(value: float) -> str:
    """Return a ratio in words: "3.4 times as fast"."""
    return f"{digits(value, 2)} times as fast"
