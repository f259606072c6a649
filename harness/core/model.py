"""Data model of the harness: frozen dataclasses that all other packages use.

A *plan* is an ordered list of :class:`Job`, each of them the :class:`Trial` of one algorithm on
one dataset; a worker turns a trial into an :class:`Outcome`. Plugins register
:class:`Algorithm`, :class:`Dataset`, :class:`Metric`, :class:`Section` and :class:`Executor`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol

from harness.core.field_errors import explain_fields
from harness.core.renamed import renamed

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from scipy.sparse import csr_matrix

    from harness.trees.ensemble import TreeEnsemble

JSON = dict[str, Any]
Order = Literal["ABBA", "BAAB", "ABA", "BAB"]  # of the calls of a block


class Task(StrEnum):
    """Kind of target that is predicted."""

    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"
    RANKING = "ranking"  # order the rows of each query by their grades

    @property
    def is_classification(self) -> bool:
        """Whether the target is a class."""
        return self in CLASSIFICATION


CLASSIFICATION = frozenset({Task.BINARY, Task.MULTICLASS})
ALL_TASKS = CLASSIFICATION | {Task.REGRESSION}  # all that need no queries


class Status(StrEnum):
    """Status of a finished trial; every value but ``DONE`` and ``SKIPPED`` is a failure."""

    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"  # the plugin raised
    TIMEOUT = "timeout"
    CRASHED = "crashed"  # the process died: signal or exit code
    OUT_OF_MEMORY = "out_of_memory"


FAILURES = frozenset(Status) - {Status.DONE, Status.SKIPPED}


# ------------------------------------------------------------------ algorithms


@explain_fields
@dataclass(frozen=True)
class Accepts:
    """Kinds of data an algorithm accepts natively; the preparation converts all others.

    Attributes
    ----------
    missing
        Whether missing values (NaN) are accepted.
    categorical
        Whether DataFrames with ``category`` columns are accepted.
    sparse
        Whether CSR matrices are accepted.
    weights
        Whether ``prepare`` uses sample weights.
    weighted_bins
        Whether bin edges honor sample weights; False declares that they depend on the rows
        alone, so that a row of weight 2 may differ from two equal rows.
    """

    missing: bool = False
    categorical: bool = False
    sparse: bool = False
    weights: bool = True
    weighted_bins: bool = True


@explain_fields
@dataclass(frozen=True)
class Argument:
    """The library's parameter for one common parameter (trees, depth, leaves, rate, …).

    Attributes
    ----------
    name
        Name of the library's parameter.
    match
        How close it is to the common parameter; ``impossible`` means that there is none.
    note
        Sentence on the difference, required unless the match is exact.
    convert
        Function from the common value to the library's value; None keeps the value.
    """

    name: str
    match: Literal["exact", "approximate", "impossible"] = "exact"
    note: str = ""
    convert: Callable[[Any], Any] | None = None


@explain_fields
@dataclass(frozen=True)
class Spec:
    """Arguments of an adapter's construction, before it receives data.

    Attributes
    ----------
    task
        Kind of target.
    params
        The algorithm's parameters, JSON.
    seed
        Seed of every random draw.
    threads
        Number of threads that the algorithm may use.
    n_classes
        Number of classes of the dataset; 0 for regression.
    categorical
        Positions of the categorical columns in the prepared ``X``.
    """

    task: Task
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    threads: int = 1
    n_classes: int = 0
    categorical: tuple[int, ...] = ()


class Adapter(Protocol):
    """Interface to an algorithm, one method per phase, so that each phase is timed separately.

    ``X`` is a C-contiguous float64 array of shape (n_rows, n_columns) with NaN for missing, a
    DataFrame with ``category`` columns where the algorithm accepts categoricals and the data
    has them, or a CSR matrix where it accepts sparse ones. ``y`` is float64 for regression and
    ranking, and int64 class codes 0 … n_classes − 1 otherwise. ``weight`` is float64 or None.

    For ranking ``prepare`` gets a fourth argument ``group``, int64 (n_queries,): the numbers of
    rows of the queries, whose rows are consecutive. Without it all rows are one query.

    Optional methods, looked up by name after ``fit``: ``export_trees() -> TreeEnsemble``,
    ``export_bins() -> JSON``, ``staged(X) -> Iterator[array]``.
    """

    def prepare(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
        """Return the library's training data structure (``Dataset``, ``QuantileDMatrix``, …)."""

    def fit(self, native: Any) -> None:
        """Train on what ``prepare`` returned; a repeated call trains again from the start."""

    def predict(self, X: Any) -> np.ndarray:
        """Return values (n,), or probabilities (n, n_classes) for classification, float64."""

    def predict_one(self, x: Any) -> np.ndarray:
        """Predict a single row, given as an X of one row, as a prediction service does."""


class ExportsTrees(Protocol):
    """Adapter that can export its fitted trees."""

    def export_trees(self) -> TreeEnsemble:
        """Return the fitted ensemble in the common form."""


@renamed(rungs="parity_levels")
@explain_fields
@dataclass(frozen=True)
class Algorithm:
    """Declaration of an algorithm: name, adapter, tasks, accepted data and params.

    Attributes
    ----------
    name
        Unique name: 1 to 64 letters, digits, dots, dashes or underscores.
    adapter
        Function from a :class:`Spec` to the object that trains and predicts.
    tasks
        Tasks that the algorithm can be trained on; not empty.
    origin
        ``scratch`` for an own implementation, ``reference`` for a library.
    accepts
        Kinds of data that the algorithm accepts; others are converted first.
    params
        Parameters of the track ``equal``, JSON.
    defaults
        Changes of ``params`` for all tracks except ``equal``, JSON: the library's own
        defaults.
    early_stopping
        Function of (rounds, share of validation rows) that returns the params for early
        stopping; None if the algorithm has no rounds.
    capacity
        Common parameter (``trees``, ``depth``, ``leaves``, ``rate``, …) → the library's
        parameter.
    space
        Parameter → values, or ``{"low", "high", "log"}``, from which the tracks ``tuned``
        and ``ensembled`` draw.
    variants
        Further sets of params that need other compiled kernels, for `harness doctor
        --deep`.
    reference
        Name of the algorithm that it is compared with.
    estimators
        Import paths of the classifier and of the regressor, for printed code.
    parity_levels
        Mode → parity level (L0 to L3) that the algorithm claims.
    libraries
        Distributions whose versions are part of the identity of a result.
    paper
        DOI or address of the source.
    summary
        One line for `harness list algorithms`.
    skip
        Function that returns why the algorithm cannot run on a dataset, or None.
    """

    name: str
    adapter: Callable[[Spec], Adapter]
    tasks: frozenset[Task]
    origin: Literal["scratch", "reference"] = "scratch"
    accepts: Accepts = Accepts()
    params: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    early_stopping: Callable[[int, float], Mapping[str, Any]] | None = None
    capacity: Mapping[str, Argument] = field(default_factory=dict)
    space: Mapping[str, Any] = field(default_factory=dict)
    variants: tuple[Mapping[str, Any], ...] = ()
    reference: str | None = None
    estimators: tuple[str, str] = ("", "")
    parity_levels: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    paper: str = ""
    summary: str = ""
    skip: Callable[[Dataset], str | None] | None = None


# ------------------------------------------------------------------ datasets


@explain_fields
@dataclass(frozen=True)
class Table:
    """A loaded dataset. Rows of ``X``, ``y``, ``weight`` and ``group`` correspond.

    Attributes
    ----------
    X
        Columns of the rows: a DataFrame (float64 and ``category``), or a CSR matrix of
        float64.
    y
        Targets, (n,): float64, or int64 class codes from 0.
    classes
        Label of each class code; empty for regression and ranking.
    weight
        Sample weights, (n,) float64, at least 0; None if there are none.
    group
        Group codes, (n,) int64: a split never separates rows of one group. For ranking the
        groups are the queries, and the rows of a query are consecutive.
    order
        Time ranks, (n,) int64: test rows come later than training rows.
    test_rows
        Mask of the test rows, (n,) bool, if the source defines them.
    notes
        Changes made while reading, one sentence each.
    """

    X: pd.DataFrame | csr_matrix
    y: np.ndarray
    classes: tuple[str, ...] = ()
    weight: np.ndarray | None = None
    group: np.ndarray | None = None
    order: np.ndarray | None = None
    test_rows: np.ndarray | None = None
    notes: tuple[str, ...] = ()


@renamed(licence="license")
@explain_fields
@dataclass(frozen=True)
class Dataset:
    """Declaration of a dataset without its rows; ``load(**options)`` loads them.

    Attributes
    ----------
    name
        Unique name: 1 to 64 letters, digits, dots, dashes or underscores.
    task
        Kind of target.
    load
        Function that returns the :class:`Table`; it is called with ``options``.
    digest
        SHA-256, 64 hex digits, of the bytes and the reading options, or of the generator
        and its options.
    rows
        Number of rows.
    columns
        Number of columns without the target.
    n_classes
        Number of classes; 0 for regression.
    categorical
        Number of categorical columns.
    missing
        Whether values are missing.
    sparse
        Whether ``X`` is a CSR matrix.
    weighted
        Whether the rows have weights.
    grouped
        Whether the rows have groups.
    ordered
        Whether the rows have time ranks: every split tests on later rows.
    given_test
        Whether the source defines the test rows.
    source
        Origin of the rows: bundled, generated, file, mirror, openml or url.
    suites
        Names of the suites that contain the dataset.
    summary
        One line for `harness list datasets`.
    license
        License of the rows.
    options
        Keyword arguments of ``load``, JSON.
    file
        Description of a user's own file; plugins leave it out.
    """

    name: str
    task: Task
    load: Callable[..., Table]
    digest: str
    rows: int
    columns: int
    n_classes: int = 0
    categorical: int = 0
    missing: bool = False
    sparse: bool = False
    weighted: bool = False
    grouped: bool = False
    ordered: bool = False
    given_test: bool = False
    source: str = "bundled"
    suites: tuple[str, ...] = ()
    summary: str = ""
    license: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    file: Mapping[str, Any] | None = None


# ------------------------------------------------------------------ metrics, sections, executors


@explain_fields
@dataclass(frozen=True)
class Predicted:
    """Input of a metric: targets and predictions of the test rows of one outcome.

    Attributes
    ----------
    y
        Targets of the test rows, (n,): float64, or int64 class codes.
    output
        Predictions, float64: values (n,), or probabilities (n, n_classes).
    weight
        Weights of the test rows, (n,) float64; None if there are none.
    scale
        Standard deviation of the target over the whole dataset, in its unit; 1 for
        classification.
    group
        Query codes of the test rows, (n,) int64, for ranking; else None.
    """

    y: np.ndarray
    output: np.ndarray
    weight: np.ndarray | None
    scale: float
    group: np.ndarray | None = None


@explain_fields
@dataclass(frozen=True)
class Metric:
    """Score computed from stored predictions, so that a new metric needs no new run.

    Attributes
    ----------
    name
        Unique name: 1 to 64 letters, digits, dots, dashes or underscores.
    tasks
        Tasks that the metric is defined for; not empty.
    score
        Function from :class:`Predicted` to a float; NaN where it is undefined.
    lower_is_better
        Whether smaller scores are better.
    primary
        Whether verdicts use this metric.
    summary
        One line for `harness list metrics`, with the unit.
    bounds
        Lowest and highest possible score, in the metric's unit. The confidence interval of a mean
        score is clipped to them.
    """

    name: str
    tasks: frozenset[Task]
    score: Callable[[Predicted], float]
    lower_is_better: bool = True
    primary: bool = False
    summary: str = ""
    bounds: tuple[float, float] = (-math.inf, math.inf)


@explain_fields
@dataclass(frozen=True)
class Section:
    """Section of a report: a function from results to a fragment of the page.

    Attributes
    ----------
    name
        Unique name: 1 to 64 letters, digits, dots, dashes or underscores.
    title
        Heading in the report.
    order
        Position among the sections; smaller numbers come first.
    build
        Function from a :class:`reports.Page` to a :class:`reports.Fragment`, or None to
        omit the section.
    """

    name: str
    title: str
    order: int
    build: Callable[[Any], Any]


@explain_fields
@dataclass(frozen=True)
class ReportWriter:
    """Output format of results, selected by name.

    Attributes
    ----------
    name
        Unique name: 1 to 64 letters, digits, dots, dashes or underscores.
    write
        Function that returns or writes the results in this format.
    """

    name: str
    write: Callable[..., Any]


@renamed(fight="run_duels")
@explain_fields
@dataclass(frozen=True)
class Executor:
    """Place where jobs run.

    Attributes
    ----------
    name
        Unique name: 1 to 64 letters, digits, dots, dashes or underscores.
    run
        Function of (jobs, supervise, options) that yields the outcomes as they finish.
    summary
        One line for `harness list executors`.
    run_duels
        Function of (duels, run_here, options) that yields the outcome of each duel; None
        runs all duels on this machine.
    """

    name: str
    run: Callable[[Iterable[Job], Callable[[Job], Iterator[Outcome]], JSON], Iterator[Outcome]]
    summary: str = ""
    run_duels: Callable[..., Iterator[DuelOutcome]] | None = None


class Severity(StrEnum):
    """Severity of a finding for the reader of the scores."""

    PROBLEM = "problem"  # the scores may be wrong or useless until it is fixed
    WARNING = "warning"  # the scores may mislead
    NOTE = "note"  # useful to know


@dataclass(frozen=True)
class Finding:
    """Finding of a check in a table or in the results of a run.

    Attributes
    ----------
    code
        Code of the check, such as DATA003.
    severity
        Severity for the reader of the scores.
    sentence
        One plain sentence that names the columns, values or algorithms.
    page
        Page and anchor of the documentation that explains the check.
    dataset
        Name of the dataset; "" if the finding is about none.
    evidence
        Numbers behind the sentence, JSON.
    """

    code: str
    severity: Severity
    sentence: str
    page: str
    dataset: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------ plan and outcomes


@dataclass(frozen=True)
class Split:
    """Reproducible description of the training and test rows.

    Attributes
    ----------
    scheme
        How the test rows are chosen.
    folds
        Number of folds; of ``draw`` the number of training sets.
    fold
        Number of this fold, from 0.
    repeat
        Number of this repeat, from 0.
    seed
        Seed of the random draw.
    test_share
        Share of test rows, of the schemes ``holdout`` and ``draw``.
    train_rows
        Number of training rows of ``draw``; of other schemes the maximum, 0 for all.
    sample
        Number of the sample of a learning curve, of ``openml``.
    file
        Path of the file of splits, of ``openml``.
    digest
        First 12 hex digits of the SHA-256 of that file.
    """

    scheme: Literal["kfold", "holdout", "given", "draw", "ordered", "openml"] = "kfold"
    folds: int = 5
    fold: int = 0
    repeat: int = 0
    seed: int = 0
    test_share: float = 0.25
    train_rows: int = 0
    sample: int = 0
    file: str = ""
    digest: str = ""

    @property
    def label(self) -> str:
        """Return a stable, readable name of the split."""
        drawn = f"s{self.seed}-r{self.repeat}"
        if self.scheme == "draw":
            return f"draw{self.folds}x{self.train_rows}-holdout{self.test_share:g}-{drawn}"
        sample = f"-n{self.train_rows}" if self.train_rows else ""
        curve = f"-s{self.sample}" if self.sample else ""
        named = {
            "kfold": f"kfold{self.folds}-{drawn}-f{self.fold}",
            "holdout": f"holdout{self.test_share:g}-{drawn}",
            "ordered": f"time{self.folds}-f{self.fold}",
            "openml": f"openml-{self.digest}-r{self.repeat}-f{self.fold}{curve}",
        }.get(self.scheme, self.scheme)
        return named + sample


@dataclass(frozen=True)
class Environment:
    """Interpreter and source tree of a worker; the default is the running one.

    Attributes
    ----------
    name
        Name of the environment.
    python
        Path of the interpreter; "" is the running one.
    root
        Source trees first on ``PYTHONPATH``, separated as there; "" is the running one.
    """

    name: str = "here"
    python: str = ""
    root: str = ""


@dataclass(frozen=True)
class Trial:
    """One fit and evaluation of an algorithm on one split of a dataset.

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
    split
        Training and test rows.
    seed
        Seed of the algorithm.
    threads
        Number of threads.
    cell
        Digest that is stable across runs and versions of the code.
    id
        Digest that also covers the code.
    task
        Kind of target.
    timed
        Whether the trial runs alone, so that its times can be used.
    ingredients
        Input of the digest in ``id``, JSON.
    """

    algorithm: str
    params: Mapping[str, Any]
    preparation: str
    dataset: str
    split: Split
    seed: int
    threads: int
    cell: str
    id: str
    task: Task
    timed: bool = False
    ingredients: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DatasetRef:
    """Reference to a dataset for a worker: name and options, or a user's own file.

    Attributes
    ----------
    name
        Name of the dataset.
    digest
        Digest that the loaded rows must have.
    options
        Keyword arguments of ``load``, JSON.
    file
        Description of a user's own file, or None.
    """

    name: str
    digest: str
    options: Mapping[str, Any] = field(default_factory=dict)
    file: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Limits:
    """Time and memory limits of a trial.

    Attributes
    ----------
    timeout
        Time limit in seconds for all phases of a trial together.
    memory
        Limit of resident memory in bytes; 0 is no limit.
    """

    timeout: float = 600.0
    memory: int = 0


@dataclass(frozen=True)
class Job:
    """Trials of one algorithm on one dataset in one environment, run in one process.

    Attributes
    ----------
    algorithm
        Name of the algorithm.
    plugin
        Module name, or path of a file, that registers the algorithm.
    dataset
        Reference to the dataset.
    trials
        Trials in the order in which they run.
    threads
        Number of threads.
    limits
        Limits of each trial.
    environment
        Interpreter and source tree of the worker.
    plugins
        Further plugin files to load.
    exports
        Artifacts stored beside the predictions: trees, staged, members, training, search.
    libraries
        Distributions that the algorithm imports.
    """

    algorithm: str
    plugin: str
    dataset: DatasetRef
    trials: tuple[Trial, ...]
    threads: int = 1
    limits: Limits = Limits()
    environment: Environment = Environment()
    plugins: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of its trials: the algorithm, or the label of a variant of it."""
        return self.trials[0].algorithm if self.trials else self.algorithm


@dataclass(frozen=True)
class Sample:
    """One timed call.

    Attributes
    ----------
    phase
        Phase of the call: import, compile, load, preparation, native, fit, predict,
        predict_one, ….
    wall
        Wall seconds.
    cpu
        Processor seconds of all threads of the process.
    peak
        Peak of resident memory above the warm process, bytes.
    cold
        Whether it was the first call of the phase in its process.
    """

    phase: str
    wall: float
    cpu: float
    peak: int = 0
    cold: bool = False


@dataclass(frozen=True)
class Failure:
    """Reason why a trial has no result.

    Attributes
    ----------
    kind
        Name of the exception class, the signal or the limit.
    message
        One line on what happened.
    detail
        Traceback, or the end of what the worker wrote on stderr.
    """

    kind: str
    message: str
    detail: str = ""


@dataclass(frozen=True)
class Outcome:
    """Result of a trial. After the trial, ``arrays`` are moved into the store.

    Attributes
    ----------
    trial
        Trial that was run.
    status
        How the trial ended.
    samples
        Timed calls.
    failure
        Reason of a failure; None if the trial did not fail.
    reason
        Reason of a skip; "" if the trial was not skipped.
    arrays
        Name of each stored array file → its path, later its SHA-256.
    facts
        Numbers of rows, versions, thread pools and notes, JSON.
    started
        Start, UTC, ISO 8601.
    ended
        End, UTC, ISO 8601.
    """

    trial: Trial
    status: Status
    samples: tuple[Sample, ...] = ()
    failure: Failure | None = None
    reason: str = ""
    arrays: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""
    ended: str = ""


@dataclass(frozen=True)
class StopRule:
    """Group-sequential stopping rule of a duel; the interval is adjusted for interim analyses.

    Attributes
    ----------
    looks
        Numbers of launches after which an interim analysis is made; the last ends the duel.
    phase
        Phase whose ratio decides.
    precision
        Target half-width of the interval as a share of the ratio; 0 is none.
    claim
        Ratio; the duel ends once the interval lies on one side of it; 0 is none.
    also
        Further phases that must have the target precision too.
    """

    looks: tuple[int, ...]
    phase: str = "train"
    precision: float = 0.0
    claim: float = 0.0
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Duel:
    """Two algorithms timed in interleaved pairs: each side is a job of one timed trial.

    ``launches`` pairs of fresh processes each run ``blocks`` blocks, warm, in every phase.

    Attributes
    ----------
    a
        Job of side A, one timed trial.
    b
        Job of side B, one timed trial.
    id
        Digest of both sides and of the settings.
    launches
        Number of pairs of new processes.
    blocks
        Number of blocks in each launch and phase.
    phases
        Timed phases.
    stop
        Rule for an early end; None runs all launches.
    """

    a: Job
    b: Job
    id: str
    launches: int = 1
    blocks: int = 8
    phases: tuple[str, ...] = ("native", "fit", "predict", "predict_one")
    stop: StopRule | None = None


@dataclass(frozen=True)
class Block:
    """A block of one phase: one or two calls of each side.

    Attributes
    ----------
    launch
        Number of the launch, from 0.
    index
        Number of the block in its launch, from 0.
    phase
        Timed phase.
    order
        Order of the calls of both sides.
    a
        Timed calls of side A.
    b
        Timed calls of side B.
    """

    launch: int
    index: int
    phase: str
    order: Order
    a: tuple[Sample, ...]
    b: tuple[Sample, ...]


@dataclass(frozen=True)
class DuelOutcome:
    """Result of a duel; estimates are computed from ``blocks`` on demand.

    Attributes
    ----------
    duel
        Duel that was run.
    status
        How the duel ended.
    blocks
        Timed blocks.
    failure
        Reason of a failure; None if the duel did not fail.
    facts
        Versions, thread pools, peaks and load of each side, JSON.
    started
        Start, UTC, ISO 8601.
    ended
        End, UTC, ISO 8601.
    """

    duel: Duel
    status: Status
    blocks: tuple[Block, ...] = ()
    failure: Failure | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""
    ended: str = ""


def to_json(value: Any) -> Any:
    """Return a value as plain JSON data: dataclasses as dicts of fields, enums as values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(v) for v in value]
    return value.value if isinstance(value, StrEnum) else value


def finding_from_json(data: Mapping[str, Any]) -> Finding:
    """Return the finding that :func:`to_json` wrote."""
    return Finding(**{**data, "severity": Severity(data["severity"])})


def trial_from_json(data: Mapping[str, Any]) -> Trial:
    """Return the trial that :func:`to_json` wrote."""
    return Trial(**{**data, "split": Split(**data["split"]), "task": Task(data["task"])})


def job_from_json(data: Mapping[str, Any]) -> Job:
    """Return the job that :func:`to_json` wrote."""
    return Job(
        **{
            **data,
            "dataset": DatasetRef(**data["dataset"]),
            "trials": tuple(trial_from_json(t) for t in data["trials"]),
            "limits": Limits(**data["limits"]),
            "environment": Environment(**data["environment"]),
            **{key: tuple(data.get(key, ())) for key in ("plugins", "exports", "libraries")},
        }
    )


def outcome_from_json(data: Mapping[str, Any]) -> Outcome:
    """Return the outcome that :func:`to_json` wrote."""
    failure = data.get("failure")
    return Outcome(
        **{
            **data,
            "trial": trial_from_json(data["trial"]),
            "status": Status(data["status"]),
            "samples": tuple(Sample(**s) for s in data["samples"]),
            "failure": Failure(**failure) if failure else None,
        }
    )


def duel_from_json(data: Mapping[str, Any]) -> Duel:
    """Return the duel that :func:`to_json` wrote."""
    sides: JSON = {side: job_from_json(data[side]) for side in ("a", "b")}
    if stop := data.get("stop"):
        sides["stop"] = StopRule(**stop | {k: tuple(stop.get(k, ())) for k in ("looks", "also")})
    return Duel(**{**data, **sides, "phases": tuple(data["phases"])})
