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
from harness.core.renamed import renamed

if TYPE_CHECKING:
    from harness.analysis.compare import RunComparison
    from harness.analysis.serving import ServingTimes
    from harness.analysis.trends import RunPoint


@dataclass(frozen=True)
class Interval:
    """An estimate with the bounds of its confidence interval.

    If there are too few units for bounds at the requested level, the bounds are infinite (0 and
    infinity for a ratio), ``level`` is 1 and ``note`` says how many units are needed.

    Attributes
    ----------
    low
        Lower bound.
    value
        Estimate.
    high
        Upper bound.
    level
        Achieved confidence level; a discrete statistic may exceed the requested one.
    n
        Number of units (folds, launches, blocks or datasets).
    note
        Sentence on what is missing for bounds; "" if nothing is.
    """

    low: float
    value: float
    high: float
    level: float = 0.95
    n: int = 0
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """One algorithm on one dataset: its outcomes over all splits, with scores.

    Tuples with one value for each outcome are in the order of ``outcomes``.

    Attributes
    ----------
    algorithm
        Name of the algorithm, or the label of a variant of it.
    params
        Parameters of the algorithm, JSON.
    preparation
        Name of the preparation of the columns.
    dataset
        Name of the dataset.
    task
        Kind of target: binary, multiclass or regression.
    outcomes
        One outcome for each split and seed.
    scores
        Name of a metric → one score for each outcome, in the metric's unit; NaN if there is
        none.
    reused
        Whether each outcome was taken from an earlier run.
    seconds
        Phase → median wall seconds on one machine; the runs were not interleaved.
    peak
        Largest memory of the fit above a warm process, bytes.
    tracks
        Tracks of the params (equal, default, tuned, ensembled); empty if the run has only one.
    constant
        Loss of the model without features for each outcome, in the unit of the primary
        metric.
    crowded
        Whether all trials behind ``seconds`` ran beside others.
    """

    algorithm: str
    params: Mapping[str, Any]
    preparation: str
    dataset: str
    task: str
    outcomes: tuple[Outcome, ...]
    scores: Mapping[str, tuple[float, ...]]
    reused: tuple[bool, ...]
    seconds: Mapping[str, float]
    peak: int
    tracks: tuple[str, ...] = ()
    constant: tuple[float, ...] = ()
    crowded: bool = False


@dataclass(frozen=True)
class Accuracy:
    """The accuracy verdict of one pair on one dataset (``dataset=""``: pooled over datasets).

    Attributes
    ----------
    algorithm
        Name of our side.
    reference
        Name of the reference.
    dataset
        Name of the dataset; "" for the verdict pooled over datasets.
    metric
        Name of the metric.
    verdict
        One of equivalent, better, worse, inconclusive.
    difference
        Loss of the reference minus our loss, in the metric's unit; positive if ours is
        better.
    margin
        Equivalence margin in the unit of the loss; of a pooled verdict a share of the gap.
    advice
        What would decide an inconclusive verdict; "" for others.
    splits
        Number of splits with a score of both sides; of a pooled verdict the number of
        datasets.
    inner
        The 90 % interval of the equivalence test.
    posterior
        Probabilities of worse, equivalent and better.
    gap
        Loss of the constant model minus the best loss of the run on this dataset.
    error
        Standard error of the difference (Nadeau and Bengio), in the unit of the loss.
    failed
        Numbers of trials without a score, ours and the reference's.
    notes
        Sentences on identical predictions, label-only predictions, few datasets and the
        like.
    preparation
        Name of the preparation of the columns.
    params
        Parameters of both sides, JSON.
    track
        Common track; "" if the run has only one.
    """

    algorithm: str
    reference: str
    dataset: str
    metric: str
    verdict: str
    difference: Interval
    margin: float
    advice: str = ""
    splits: int = 0
    inner: Interval | None = None
    posterior: tuple[float, float, float] | None = None
    gap: float = 0.0
    error: float = math.inf
    failed: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()
    preparation: str = ""
    params: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    track: str = ""


@dataclass(frozen=True)
class Speed:
    """The speed of one pair on one dataset, from its duel: time of B over time of A.

    Attributes
    ----------
    algorithm
        Name of side A.
    reference
        Name of side B.
    dataset
        Name of the dataset; "" if pooled over datasets.
    phase
        Timed phase.
    ratio
        Time of B over time of A; above 1 if A is faster.
    unit
        Unit of the interval: launch or block.
    seconds
        Median wall seconds of A and of B.
    memory_ratio
        Peak memory of B's fit over A's; above 1 if A needs less.
    notes
        Sentences on disturbed timings, a single launch and the like.
    environments
        Names of the environments in which the sides ran.
    floor
        Noise of an A/A duel: a ratio below 1 + floor is no difference.
    memory
        Memory ratio with its interval over launches.
    params
        Parameters of both sides, JSON.
    subject
        Identity of what was timed, on which rows, with how many threads.
    """

    algorithm: str
    reference: str
    dataset: str
    phase: str
    ratio: Interval
    unit: str
    seconds: tuple[float, float]
    memory_ratio: float | None = None
    notes: tuple[str, ...] = ()
    environments: tuple[str, str] = ("here", "here")
    floor: float | None = None
    memory: Interval | None = None
    params: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    subject: str = ""


@renamed(rung="parity_level")
@dataclass(frozen=True)
class Parity:
    """Parity level of one pair on one dataset, with reasons.

    Attributes
    ----------
    algorithm
        Name of our side.
    reference
        Name of the reference.
    dataset
        Name of the dataset.
    params
        Parameters of both sides, JSON.
    preparation
        Name of the preparation of the columns.
    inputs
        Common inputs of both sides: raw, bins or gradients.
    parity_level
        Parity level reached: L3, L2, L1 or L0; "" if no agreement is shown.
    claimed
        Parity level that the algorithm declares for this mode; "" if none.
    splits
        Label of each split → bits, values, structure or accuracy.
    comparison
        Comparison on the split that agrees least; None if the trees were not compared.
    verdict
        Accuracy verdict over the splits; "" if none.
    reason
        Reason why the trees were not compared; "" if they were.
    split
        Label of the split of the comparison.
    status
        How the training for the comparison ended.
    """

    algorithm: str
    reference: str
    dataset: str
    params: tuple[Mapping[str, Any], Mapping[str, Any]]
    preparation: str
    inputs: str
    parity_level: str
    claimed: str
    splits: Mapping[str, str]
    comparison: Comparison | None
    verdict: str = ""
    reason: str = ""
    split: str = ""
    status: Status = Status.DONE


@dataclass(frozen=True)
class FirstUse:
    """Time to compile an algorithm's kernels before the first trial of a run.

    Without compiled functions the seconds are not those of a first use. Kernels are shared: what
    one algorithm compiled, a later one finds in the cache.

    Attributes
    ----------
    algorithm
        Name of the algorithm.
    seconds
        Wall seconds, beside other work.
    notes
        Sentences on what could not be run.
    functions
        Number of compiled functions; 0 if all were read from the cache.
    threads
        Number of threads.
    environment
        Name of the environment.
    cpu
        Processor seconds of the compilation alone.
    first
        Wall seconds of the first fit and predictions.
    """

    algorithm: str
    seconds: float
    notes: tuple[str, ...] = ()
    functions: int = 0
    threads: int = 1
    environment: str = "here"
    cpu: float = 0.0
    first: float = 0.0


@dataclass(frozen=True)
class RunView:
    """All stored data of a run, as a report section receives it in ``page.view``.

    Attributes
    ----------
    run
        The run: id, name, config, started, ended, machine, environments and status, JSON.
    cells
        One cell for each algorithm, set of params and dataset.
    accuracy
        Accuracy verdicts of each pair.
    speed
        Speeds of each pair, from duels.
    duels
        Duels with their timed blocks.
    algorithms
        Name → declared facts: origin, reference, summary and others, JSON.
    datasets
        Name → declared facts: task, rows, columns, source and others, JSON.
    metrics
        Name → lower_is_better, primary, summary and bounds.
    predictions
        Function that loads the arrays of one outcome: output, y, rows, weight and scale.
    broken
        Plugins that failed to load, with reasons.
    parity
        Tree comparisons of each pair.
    diagnostics
        Results of the diagnostics.
    first_uses
        Compilations, in the order in which they were done.
    previous
        Comparison with the last run of the same experiment; None if there is none.
    findings
        Findings of the checks of data and method.
    machines
        Hardware class → number of its finished trials; seconds are from the first class
        only, "" is unknown.
    budget
        Reductions due to a time budget, JSON.
    course
        Runs of the same experiment up to this one, in order.
    serving
        Serving times of each model and number of threads.
    """

    run: Mapping[str, Any]
    cells: tuple[Cell, ...]
    accuracy: tuple[Accuracy, ...]
    speed: tuple[Speed, ...]
    duels: tuple[DuelOutcome, ...]
    algorithms: Mapping[str, Mapping[str, Any]]
    datasets: Mapping[str, Mapping[str, Any]]
    metrics: Mapping[str, Mapping[str, Any]]
    predictions: Callable[[Outcome], Mapping[str, np.ndarray]]
    broken: tuple[Mapping[str, str], ...] = field(default=())
    parity: tuple[Parity, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    first_uses: tuple[FirstUse, ...] = ()
    previous: RunComparison | None = None
    findings: tuple[Finding, ...] = ()
    machines: Mapping[str, int] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    course: tuple[RunPoint, ...] = ()
    serving: tuple[ServingTimes, ...] = ()
