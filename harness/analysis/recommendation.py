"""Recommended algorithm for a dataset, and its leaderboard.

The rule. Of the algorithms that have a score on every split, the one of the least mean loss is the
best. Another one is recommended in its place only if all of this holds:

1. its mean loss is at most 1 % above the least;
2. the 95 % interval of the difference, paired over the splits, contains 0;
3. it trains in half of the time or less.

Of several such algorithms the fastest to train is recommended. The loss is the primary metric of
the run, or one minus it if a larger score is better.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from statistics import fmean
from typing import Any

import numpy as np

from harness.analysis.run_view import Cell, Interval, RunView
from harness.analysis.stats import resampled_interval, transformed
from harness.config.experiment import SEARCHED
from harness.core.model import FAILURES, JSON, Outcome, Severity, Status, to_json
from harness.core.units import show_duration, show_size

NEAR = 0.01  # share of the least loss within which a faster algorithm may be preferred
FASTER = 2.0  # ratio of times above which speed decides between similar losses
MAX_ROWS = 10  # of a leaderboard
SHOWN_INSTEAD = {"rmse_sd": "rmse"}  # the same order, in units of the target

Place = tuple[str, int]  # split and seed


@dataclass(frozen=True)
class Standing:
    """One algorithm on one dataset.

    ``score`` is the metric that is shown, the mean over the splits with its interval;
    ``difference`` the loss above the best one's, paired; ``model_bytes`` is 0 where it is unknown.
    """

    name: str
    algorithm: str
    params: Mapping[str, Any]
    preparation: str
    tracks: tuple[str, ...]
    loss: float
    score: Interval
    difference: Interval
    fit_seconds: float
    predict_seconds: float
    model_bytes: int
    splits: int
    complete: bool  # on every split that any algorithm has
    failures: int


@dataclass(frozen=True)
class Answer:
    """Leaderboard and recommendation of a run for one dataset."""

    dataset: str
    task: str
    metric: str  # name of the shown metric
    lower_is_better: bool
    standings: tuple[Standing, ...]  # sorted by loss, smallest first
    splits: int
    train_rows: int  # of a split, the median
    rows: int
    recommended: str  # a name of a standing; "" where none is complete
    best: str  # the name with the least loss
    alike: tuple[str, ...]  # names without a measurable difference from the best
    tuned: bool
    budget: str  # in words; "" without one
    short: bool  # a short comparison at equal capacity with few trees
    problems: tuple[str, ...] = ()  # findings that may make the scores worthless, with codes
    file: str = ""  # name of the user's file, without its folder

    def standing(self, name: str) -> Standing:
        """Return the standing of a name."""
        return next(s for s in self.standings if s.name == name)


def answers_of(view: RunView) -> list[Answer]:
    """Return the answer for each dataset with scores of two or more algorithms."""
    cells: dict[str, list[Cell]] = defaultdict(list)
    for cell in view.cells:
        if any(o.status is not Status.SKIPPED for o in cell.outcomes):
            cells[cell.dataset].append(cell)
    answers = (_answer(view, dataset, same) for dataset, same in cells.items())
    return [answer for answer in answers if answer is not None]


def primary_metric(view: RunView, cell: Cell) -> str:
    """Return the metric by which a cell's dataset is ordered, or ""."""
    primary = [m for m in cell.scores if view.metrics.get(m, {}).get("primary")]
    judged = {a.metric for a in view.accuracy if a.dataset == cell.dataset}
    primary.sort(key=lambda name: name not in judged)
    return next(iter(primary), "")


def _answer(view: RunView, dataset: str, cells: Sequence[Cell]) -> Answer | None:
    metric = primary_metric(view, cells[0])
    if not metric:
        return None
    lower = bool(view.metrics[metric]["lower_is_better"])
    shown = SHOWN_INSTEAD.get(metric, metric)
    shown = shown if shown in cells[0].scores else metric
    sides = [_Side.of(name, cell, metric, shown, lower=lower) for name, cell in _named(cells)]
    sides = [side for side in sides if side.losses]
    if not sides:
        return None
    places = list(dict.fromkeys(place for side in sides for place in side.losses))
    whole = [side for side in sides if len(side.losses) == len(places)]
    best = min(whole, key=lambda side: side.mean) if whole else None
    differences = {s.name: _difference(s, best, view) for s in whole if best}
    bounds = view.metrics[shown].get("bounds", (-math.inf, math.inf))
    standings = [_standing(s, differences.get(s.name), bounds, complete=s in whole) for s in sides]
    standings.sort(key=lambda s: (not s.complete, s.loss, s.name))
    recommended, alike = _recommended(standings, best.name if best else "")
    facts = view.datasets.get(dataset, {})
    done = [o for side in sides for o in side.outcomes.values()]
    trained = sorted(int(o.facts.get("train_rows", 0)) for o in done)
    experiment = view.run.get("config", {}).get("experiment", {})
    return Answer(
        dataset=dataset,
        task=cells[0].task,
        metric=shown,
        lower_is_better=lower,
        standings=tuple(standings),
        splits=len({split for split, _ in places}),
        train_rows=trained[len(trained) // 2],
        rows=int(facts.get("rows", 0)),
        recommended=recommended,
        best=best.name if best else "",
        alike=alike,
        tuned=not SEARCHED.isdisjoint(experiment.get("tracks", ())),
        budget=str(view.budget.get("words", "")),
        short=experiment.get("tracks") == ["equal"] and "trees" in experiment.get("capacity", {}),
        problems=tuple(
            f"{finding.sentence.partition(';')[0]} ({finding.code})"
            for finding in view.findings
            if finding.severity is Severity.PROBLEM and finding.dataset in ("", dataset)
        ),
        file=PurePath(str(file_of(view, dataset).get("path", ""))).name,
    )


def file_of(view: RunView, dataset: str) -> Mapping[str, Any]:
    """Return the user's file that a dataset was read from; an empty mapping for other datasets."""
    files = view.run.get("config", {}).get("files") or ()
    return next((file for file in files if file and file.get("name") == dataset), {})


def _named(cells: Sequence[Cell]) -> list[tuple[str, Cell]]:
    """Return each variant once, in its most native preparation, with a unique name."""
    kept: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        key = cell.algorithm, json.dumps(cell.params, sort_keys=True, default=str)
        known = kept.get(key)
        if known is None or _native_rank(cell) < _native_rank(known):
            kept[key] = cell
    tracks = {cell.tracks for cell in kept.values()}
    by_name: dict[str, list[Cell]] = defaultdict(list)
    for cell in kept.values():
        track_note = f" ({', '.join(cell.tracks)})" if len(tracks) > 1 and cell.tracks else ""
        by_name[cell.algorithm + track_note].append(cell)
    return [
        (name + _differing(cell, same), cell) for name, same in by_name.items() for cell in same
    ]


def _native_rank(cell: Cell) -> int:
    base = cell.preparation.partition("+")[0]
    return ["native", "ordinal", "onehot", base].index(base)


def _differing(cell: Cell, same: Sequence[Cell]) -> str:
    """Return the params that distinguish a cell from others of its name: " [max_bin=15]"."""
    if len(same) < 2:
        return ""
    keys = sorted({key for other in same for key in other.params})
    differ = [k for k in keys if len({str(other.params.get(k)) for other in same}) > 1]
    return f" [{', '.join(f'{k}={str(cell.params.get(k))[:20]}' for k in differ)}]"


@dataclass(frozen=True)
class _Side:
    """The losses of one variant by split and seed."""

    name: str
    cell: Cell
    losses: Mapping[Place, float]
    shown: Mapping[Place, float]
    outcomes: Mapping[Place, Outcome]
    ratio: float  # n_test / n_train

    @classmethod
    def of(cls, name: str, cell: Cell, metric: str, shown: str, *, lower: bool) -> _Side:
        losses, values, outcomes = {}, {}, {}
        for i, outcome in enumerate(cell.outcomes):
            score = cell.scores[metric][i]
            if math.isfinite(score):
                place = (outcome.trial.split.label, outcome.trial.seed)
                losses[place] = score if lower else 1.0 - score
                values[place] = cell.scores[shown][i]
                outcomes[place] = outcome
        ratios = [_ratio(outcome) for outcome in outcomes.values()]
        return cls(name, cell, losses, values, outcomes, fmean(ratios) if ratios else 0.0)

    @property
    def mean(self) -> float:
        return fmean(self.losses.values())


def _ratio(outcome: Outcome) -> float:
    train, test = outcome.facts.get("train_rows"), outcome.facts.get("test_rows")
    return test / train if train and test else 1 / 3


def _by_split(values: Mapping[Place, float]) -> list[float]:
    """Return the mean over the seeds of each split."""
    grouped: dict[str, list[float]] = defaultdict(list)
    for (split, _), value in values.items():
        grouped[split].append(value)
    return [fmean(same) for same in grouped.values()]


def _difference(side: _Side, best: _Side, view: RunView) -> Interval:
    """Return the excess of a loss over the best one, paired over the splits."""
    pairs = {place: side.losses[place] - best.losses[place] for place in best.losses}
    values = _by_split(pairs)
    if len(values) == 1:
        return _drawn(side, best, view, values[0])
    return resampled_interval(values, side.ratio)


def _drawn(side: _Side, best: _Side, view: RunView, value: float) -> Interval:
    """Return the interval of a difference on one split, from draws of its test rows."""
    if side is best:
        return Interval(0.0, 0.0, 0.0, n=1)
    one, other = (_row_losses(s, view) for s in (side, best))
    if one is None or other is None or len(one) != len(other):
        return Interval(-math.inf, value, math.inf, level=1.0, n=1)
    rows = one - other
    half = 1.96 * float(np.std(rows)) / math.sqrt(len(rows))
    # The losses of rows are those of the task; the interval is scaled to the metric's difference.
    mean = float(np.mean(rows))
    share = half / abs(mean) if mean else math.inf
    spread = abs(value) * share if math.isfinite(share) else half
    return Interval(value - spread, value, value + spread, n=1)


def _row_losses(side: _Side, view: RunView) -> np.ndarray | None:
    """Return the loss of each test row: log loss or squared error."""
    (outcome,) = list(side.outcomes.values())[:1]
    arrays = view.predictions(outcome)
    if "y" not in arrays:
        return None
    y, output = arrays["y"], arrays["output"]
    if output.ndim == 1:
        squared: np.ndarray = (y - output) ** 2
        return squared
    probability = output[np.arange(len(y)), y]
    logs: np.ndarray = -np.log(np.clip(probability, 1e-15, 1.0))
    return logs


def _standing(
    side: _Side, difference: Interval | None, bounds: tuple[float, float], *, complete: bool
) -> Standing:
    cell = side.cell
    values = _by_split(side.shown)
    score = resampled_interval(values, side.ratio)
    if len(values) > 1:  # otherwise it has no bounds
        score = transformed(score, lambda x: min(max(x, bounds[0]), bounds[1]))
    sizes = [int(o.facts.get("model_bytes", 0)) for o in side.outcomes.values()]
    seconds = cell.seconds
    return Standing(
        name=side.name,
        algorithm=cell.algorithm,
        params=cell.params,
        preparation=cell.preparation,
        tracks=cell.tracks,
        loss=side.mean,
        score=score,
        difference=difference or Interval(-math.inf, math.nan, math.inf, level=1.0),
        fit_seconds=seconds.get("native", 0.0) + seconds.get("fit", math.nan),
        predict_seconds=seconds.get("predict", math.nan),
        model_bytes=max(sizes, default=0),
        splits=len(values),
        complete=complete,
        failures=sum(o.status in FAILURES for o in cell.outcomes),
    )


def _recommended(standings: Sequence[Standing], best: str) -> tuple[str, tuple[str, ...]]:
    """Return the name to use, and the names without a measurable difference from the best."""
    if not best:
        return "", ()
    first = next(s for s in standings if s.name == best)
    alike = [s for s in standings if s.complete and s.name != best and s.difference.low <= 0]
    faster = [
        s
        for s in alike
        if s.difference.value <= NEAR * abs(first.loss)
        and s.fit_seconds * FASTER <= first.fit_seconds
    ]
    chosen = min(faster, key=lambda s: s.fit_seconds) if faster else first
    return chosen.name, tuple(s.name for s in alike)


# ------------------------------------------------------------------ in words


def number(value: float) -> str:
    """Return a score with a readable number of digits."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def header(answer: Answer) -> list[str]:
    """Return the header of a leaderboard."""
    better = "lower is better" if answer.lower_is_better else "higher is better"
    return ["", "algorithm", f"{answer.metric} ({better})", "fit", "predict", "model size"]


def rows(answer: Answer, most: int = MAX_ROWS) -> list[list[str]]:
    """Return the rows of a leaderboard, best first; the recommended one is always included."""
    kept = list(answer.standings[:most])
    if answer.recommended and all(s.name != answer.recommended for s in kept):
        kept[-1] = answer.standing(answer.recommended)
    return [_row(answer, s) for s in kept]


def _row(answer: Answer, s: Standing) -> list[str]:
    score = number(s.score.value)
    if math.isfinite(s.score.high):
        score += f"  [{number(s.score.low)}, {number(s.score.high)}]"
    if not s.complete:
        score += f"  ({s.splits} of {answer.splits} splits)"
    return [
        "=>" if s.name == answer.recommended else "",
        s.name,
        score,
        show_duration(s.fit_seconds) if math.isfinite(s.fit_seconds) else "-",
        show_duration(s.predict_seconds) if math.isfinite(s.predict_seconds) else "-",
        show_size(s.model_bytes) if s.model_bytes else "-",
    ]


def basis(answer: Answer) -> str:
    """Return one sentence on the basis of the leaderboard."""
    trained = f"{answer.splits} split{'s' if answer.splits != 1 else ''}"
    text = f"Mean of {trained}, each trained on about {answer.train_rows:,} rows"
    text += "; brackets are 95 % intervals" if answer.splits > 1 else ""
    text += "; times are of single runs, one thread each."
    return f"{text} {answer.budget}".strip()


def recommendation(answer: Answer) -> str:
    """Return the sentence that recommends an algorithm."""
    if not answer.recommended:
        return "No algorithm has a result on every split, so none is recommended."
    chosen, best = answer.standing(answer.recommended), answer.standing(answer.best)
    where = f"for {answer.file or answer.dataset}"
    if len([s for s in answer.standings if s.complete]) == 1:
        return f"Only {chosen.name} has a result on every split {where}; compare it with others."
    score = f"{answer.metric} {number(chosen.score.value)}"
    if chosen is best:
        word = "lowest" if answer.lower_is_better else "highest"
        return f"Use {chosen.name} {where}: it has the {word} {score}."
    times = best.fit_seconds / chosen.fit_seconds
    return (
        f"Use {chosen.name} {where}: its {score} is not measurably different from the best "
        f"({best.name}, {number(best.score.value)}), and it trains {times:.2g} times as fast."
    )


def caution(answer: Answer) -> str:
    """Return the sentence on reasons that could change the recommendation."""
    reasons = []
    others = [name for name in (answer.best, *answer.alike) if name != answer.recommended]
    if answer.problems:
        text = " and ".join(answer.problems)
        reasons.append(f"all scores may be worthless, because {text}")
    if answer.short:
        reasons.append(
            "this is a short comparison with few trees: without --quick every library is compared "
            "at its own defaults"
        )
    if others:
        named = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        reasons.append(f"{named} cannot be distinguished from the best on {_splits(answer)}")
    if answer.rows and answer.train_rows < 0.7 * answer.rows and "sample" in answer.budget:
        reasons.append("training on all rows (a larger --budget) may change the order")
    if not answer.tuned:
        reasons.append("parameters were not tuned (--track tuned --budget 30m)")
    if not reasons:
        return "No result of this run argues against it; new data may."
    return f"What could change this: {'; '.join(reasons)}."


def _splits(answer: Answer) -> str:
    return f"{answer.splits} splits" if answer.splits > 1 else "one split"


def summary_header() -> list[str]:
    """Return the header of the answers on several datasets."""
    return ["dataset", "use", "score", "fit", "predict", "model size"]


def summary_rows(answers: Sequence[Answer]) -> list[list[str]]:
    """Return one row for each dataset with its recommendation."""
    table = []
    for answer in answers[:MAX_ROWS]:
        if answer.recommended:
            _, name, score, *rest = _row(answer, answer.standing(answer.recommended))
            table.append([answer.dataset, name, f"{answer.metric} {score}", *rest])
        else:
            table.append([answer.dataset, "-", "no result on every split", "-", "-", "-"])
    return table


@dataclass(frozen=True)
class AnswerText:
    """An answer as a table and sentences."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    sentences: Sequence[str]
    # Sentence with the number of datasets beyond `MAX_ROWS`; the report omits it.
    left_out: Sequence[str] = ()


def answer_text(answers: Sequence[Answer]) -> AnswerText | None:
    """Return the text shown after a run; None if nothing was scored."""
    if not answers:
        return None
    if len(answers) == 1:
        (answer,) = answers
        sentences = [recommendation(answer), caution(answer), basis(answer)]
        return AnswerText(header(answer), rows(answer), sentences)
    counts: dict[str, int] = defaultdict(int)
    for answer in answers:
        counts[answer.recommended] += 1
    name = max(counts, key=counts.__getitem__)
    first = (
        f"{name} is recommended on {counts[name]} of {len(answers)} datasets"
        if counts[name] > 1
        else f"No algorithm is recommended on more than one of the {len(answers)} datasets"
    )
    open_ones = sum(bool(a.alike) for a in answers)
    second = (
        f"What could change this: on {open_ones} of {len(answers)} datasets others cannot be "
        "distinguished from the best; more splits or rows decide."
    )
    more = len(answers) - MAX_ROWS
    tail = [f"{more} more datasets: see the report."] if more > 0 else []
    return AnswerText(summary_header(), summary_rows(answers), [f"{first}.", second], tail)


def to_data(answers: Sequence[Answer]) -> list[JSON]:
    """Return answers as JSON data, each with its sentences."""
    return [
        {
            **to_json(answer),
            "recommendation": recommendation(answer),
            "caution": caution(answer),
            "basis": basis(answer),
        }
        for answer in answers
    ]
