"""The view of a run for reports: plain records from the store, with scores and verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.diagnostics import Diagnostic
from harness.analysis.difference import Comparison
from harness.core.model import DuelOutcome, Finding, Outcome, Status

if TYPE_CHECKING:
    from harness.analysis.compare import RunComparison
    from harness.analysis.trends import RunPoint


@dataclass(frozen=True)
class Interval:
    """An estimate with the bounds of its confidence interval.

    If there are too few units for bounds at the requested level, the bounds are infinite (0 and
    infinity for a ratio), ``level`` is 1 and ``note`` says how many units are needed.
    """

    low: float
    value: float
    high: float
    level: float = 0.95  # as achieved; a discrete statistic may exceed the requested level
    n: int = 0  # number of units
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """One algorithm on one dataset: its outcomes over all splits, with scores.

    ``scores`` maps a metric's name to one number per outcome, in the order of ``outcomes``; NaN
    if the outcome has none.
    """

    algorithm: str
    params: Mapping[str, Any]
    preparation: str
    dataset: str
    task: str
    outcomes: tuple[Outcome, ...]
    scores: Mapping[str, tuple[float, ...]]
    reused: tuple[bool, ...]
    seconds: Mapping[str, float]  # phase → median wall seconds on one machine; not interleaved
    peak: int  # bytes, the largest of the fit phase above a warm process
    tracks: tuple[str, ...] = ()  # equal, default, tuned; empty if the run has only one
    # Loss (the primary metric) of the model without features; in the order of ``outcomes``.
    constant: tuple[float, ...] = ()
    crowded: bool = False  # whether all trials behind ``seconds`` ran beside others


@dataclass(frozen=True)
class Accuracy:
    """The accuracy verdict of one pair on one dataset (``dataset=""``: pooled over datasets)."""

    algorithm: str
    reference: str
    dataset: str
    metric: str
    verdict: str  # equivalent, better, worse, inconclusive
    difference: Interval  # of the loss, reference − ours: positive = ours is better
    margin: float  # in units of the loss; of a pooled one a share of the gap
    advice: str = ""  # for an inconclusive verdict: what would decide it
    splits: int = 0  # with a score of both sides; for a pooled verdict: datasets
    inner: Interval | None = None  # the 90 % interval for equivalence
    posterior: tuple[float, float, float] | None = None  # P(worse), P(equivalent), P(better)
    gap: float = 0.0  # loss of the constant model − best loss of the run on this dataset
    error: float = math.inf  # standard error of the difference, Nadeau–Bengio
    failed: tuple[int, int] = (0, 0)  # trials of ours and of the reference without a score
    notes: tuple[str, ...] = ()  # identical predictions, labels only, few datasets, …
    preparation: str = ""
    params: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})  # of both sides
    track: str = ""  # the common track; "" if the run has only one


@dataclass(frozen=True)
class Speed:
    """The speed of one pair on one dataset, from its duel: time of B over time of A."""

    algorithm: str  # side A
    reference: str  # side B
    dataset: str
    phase: str
    ratio: Interval  # > 1: A is faster
    unit: str  # unit of the interval: "launch" or "block"
    seconds: tuple[float, float]  # median wall seconds of A and of B
    memory_ratio: float | None = None  # peak of B's fit over A's; > 1: A needs less
    notes: tuple[str, ...] = ()  # contaminated, one launch only, …
    environments: tuple[str, str] = ("here", "here")  # where each side ran
    floor: float | None = None  # from an A/A duel: a ratio below 1 + floor is no difference
    memory: Interval | None = None  # the same ratio of peaks with its interval, over launches
    params: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})  # of both sides
    subject: str = ""  # identifies what was timed, on which rows, with how many threads


@dataclass(frozen=True)
class Parity:
    """How far the trees of one pair agree on one dataset: the parity level, with reasons.

    ``rung`` is ``""`` if no agreement is shown, not even of the accuracy.
    """

    algorithm: str
    reference: str
    dataset: str
    params: tuple[Mapping[str, Any], Mapping[str, Any]]
    preparation: str
    inputs: str  # raw, bins, gradients: inputs of both sides
    rung: str  # L3, L2, L1, L0 or ""
    claimed: str  # the parity level that the algorithm declares for this mode, or ""
    splits: Mapping[str, str]  # label of each split → bits, values, structure or accuracy
    comparison: Comparison | None  # of the split that agrees least; None if not compared
    verdict: str = ""  # of accuracy, over the splits
    reason: str = ""  # why the trees were not compared
    split: str = ""  # the split of the comparison
    status: Status = Status.DONE  # of the training for the comparison


@dataclass(frozen=True)
class FirstUse:
    """Time to compile an algorithm's kernels before the first trial of a run.

    ``functions`` were compiled in ``seconds`` of wall time, beside other work; if it is 0, all were
    read from the cache, so the seconds are not those of a first use. Kernels are shared: what one
    algorithm compiled, a later one finds in the cache.
    """

    algorithm: str
    seconds: float
    notes: tuple[str, ...] = ()  # on what could not be run
    functions: int = 0
    threads: int = 1
    environment: str = "here"
    cpu: float = 0.0  # processor seconds of compilation alone
    first: float = 0.0  # wall seconds of its first fit and predictions


@dataclass(frozen=True)
class RunView:
    """All data of a report. ``predictions(outcome)`` loads the arrays of one outcome."""

    run: Mapping[str, Any]  # id, name, config, started, ended, machine, environments, status
    cells: tuple[Cell, ...]
    accuracy: tuple[Accuracy, ...]
    speed: tuple[Speed, ...]
    duels: tuple[DuelOutcome, ...]
    algorithms: Mapping[str, Mapping[str, Any]]  # declared facts: origin, reference, summary, …
    datasets: Mapping[str, Mapping[str, Any]]  # declared facts: task, rows, columns, source, …
    metrics: Mapping[str, Mapping[str, Any]]  # lower_is_better, primary, summary
    predictions: Callable[[Outcome], Mapping[str, np.ndarray]]
    broken: tuple[Mapping[str, str], ...] = field(default=())  # plugins that failed to load
    parity: tuple[Parity, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    first_uses: tuple[FirstUse, ...] = ()  # in the order in which they were done
    previous: RunComparison | None = None  # comparison with the last run of the same experiment
    findings: tuple[Finding, ...] = ()  # of the checks of data and method
    # Hardware class → its finished trials; seconds are from the first class only; "" is unknown.
    machines: Mapping[str, int] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)  # reductions due to a time budget
    course: tuple[RunPoint, ...] = ()  # the runs of the same experiment up to this one, in order
