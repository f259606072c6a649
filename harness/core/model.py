"""Data model of the harness: frozen dataclasses that all other packages use.

A *plan* is an ordered list of :class:`Job`, each of them the :class:`Trial` of one algorithm on
one dataset; a worker turns a trial into an :class:`Outcome`. Plugins register
:class:`Algorithm`, :class:`Dataset`, :class:`Metric`, :class:`Section` and :class:`Executor`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol

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

    @property
    def is_classification(self) -> bool:
        """Whether the target is a class."""
        return self is not Task.REGRESSION


CLASSIFICATION = frozenset({Task.BINARY, Task.MULTICLASS})
ALL_TASKS = frozenset(Task)


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


@dataclass(frozen=True)
class Accepts:
    """Kinds of data an algorithm accepts natively; the preparation converts all others."""

    missing: bool = False
    categorical: bool = False
    sparse: bool = False
    weights: bool = True


@dataclass(frozen=True)
class Argument:
    """The library's parameter for one common parameter (trees, depth, leaves, rate, …)."""

    name: str
    match: Literal["exact", "approximate", "impossible"] = "exact"
    note: str = ""
    convert: Callable[[Any], Any] | None = None  # canonical value → the library's value


@dataclass(frozen=True)
class Spec:
    """Arguments of an adapter's construction, before it receives data."""

    task: Task
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    threads: int = 1
    n_classes: int = 0  # 0 for regression
    categorical: tuple[int, ...] = ()  # positions of categorical columns in the prepared X


class Adapter(Protocol):
    """Interface to an algorithm, one method per phase, so that each phase is timed separately.

    ``X`` is a C-contiguous float64 array of shape (n_rows, n_columns) with NaN for missing, a
    DataFrame with ``category`` columns where the algorithm accepts categoricals and the data
    has them, or a CSR matrix where it accepts sparse ones. ``y`` is float64 for regression and
    int64 class codes 0 … n_classes − 1 otherwise. ``weight`` is float64 or None.

    Optional methods, looked up by name after ``fit``: ``export_trees() -> TreeEnsemble``,
    ``export_bins() -> JSON``, ``staged(X) -> Iterator[array]``.
    """

    def prepare(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
        """Return the library's training data structure (``Dataset``, ``QuantileDMatrix``, …)."""

    def fit(self, native: Any) -> None:
        """Train on what ``prepare`` returned; a repeated call trains anew from the start."""

    def predict(self, X: Any) -> np.ndarray:
        """Return values (n,) for regression, else probabilities (n, n_classes), float64."""

    def predict_one(self, x: Any) -> np.ndarray:
        """Predict a single row, given as an X of one row, as a prediction service does."""


class ExportsTrees(Protocol):
    """Adapter that can export its fitted trees."""

    def export_trees(self) -> TreeEnsemble:
        """Return the fitted ensemble in the common form."""


@dataclass(frozen=True)
class Algorithm:
    """Declaration of an algorithm: name, adapter, tasks, accepted data and params."""

    name: str
    adapter: Callable[[Spec], Adapter]
    tasks: frozenset[Task]
    origin: Literal["scratch", "reference"] = "scratch"
    accepts: Accepts = Accepts()
    params: Mapping[str, Any] = field(default_factory=dict)  # of the track "equal", JSON
    # Changes of `params` that give the library's defaults: used on the tracks default and tuned.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    # (rounds, validation share) → params for early stopping; None: the algorithm has no rounds.
    early_stopping: Callable[[int, float], Mapping[str, Any]] | None = None
    capacity: Mapping[str, Argument] = field(default_factory=dict)
    space: Mapping[str, Any] = field(
        default_factory=dict
    )  # of the tuned track, see harness.config.search_space
    variants: tuple[Mapping[str, Any], ...] = ()  # params for further kernels to compile
    reference: str | None = None  # the algorithm it is compared with
    estimators: tuple[str, str] = ("", "")  # import paths of the classifier and the regressor
    rungs: Mapping[str, str] = field(default_factory=dict)  # mode → parity level it claims
    libraries: tuple[str, ...] = ()  # distributions whose versions belong to the trial id
    paper: str = ""  # DOI or address of the source
    summary: str = ""  # one line for `harness list`
    skip: Callable[[Dataset], str | None] | None = None  # dataset → reason, or None


# ------------------------------------------------------------------ datasets


@dataclass(frozen=True)
class Table:
    """A loaded dataset. Rows of ``X``, ``y``, ``weight`` and ``group`` correspond."""

    X: pd.DataFrame | csr_matrix
    y: np.ndarray  # float64, or int64 class codes
    classes: tuple[str, ...] = ()  # label of each code; empty for regression
    weight: np.ndarray | None = None  # float64
    group: np.ndarray | None = None  # int64 codes: a split never separates rows of one group
    order: np.ndarray | None = None  # int64 time ranks: test rows come later than training rows
    test_rows: np.ndarray | None = None  # bool mask, if the source defines its own test rows
    notes: tuple[str, ...] = ()  # changes made while reading, as sentences


@dataclass(frozen=True)
class Dataset:
    """Declaration of a dataset without its rows; ``load(**options)`` loads them."""

    name: str
    task: Task
    load: Callable[..., Table]
    digest: str  # SHA-256 over the bytes and the reading options (or generator and options)
    rows: int
    columns: int
    n_classes: int = 0
    categorical: int = 0  # number of categorical columns
    missing: bool = False
    sparse: bool = False
    weighted: bool = False
    grouped: bool = False
    ordered: bool = False  # by time: every split trains on earlier rows and tests on later ones
    given_test: bool = False
    source: str = "bundled"  # bundled, generated, file, mirror, openml, url
    suites: tuple[str, ...] = ()
    summary: str = ""
    licence: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)  # keyword arguments of `load`
    file: Mapping[str, Any] | None = None  # description of a user's own file, for the worker


# ------------------------------------------------------------------ metrics, sections, executors


@dataclass(frozen=True)
class Predicted:
    """Input of a metric: targets and predictions of the test rows of one outcome."""

    y: np.ndarray  # (n,) float64 values or int64 class codes
    output: np.ndarray  # (n,) values, or (n, n_classes) probabilities
    weight: np.ndarray | None
    scale: float  # standard deviation of y over the whole dataset; 1 for classification


@dataclass(frozen=True)
class Metric:
    """Score computed from stored predictions, so that a new metric needs no new run."""

    name: str
    tasks: frozenset[Task]
    score: Callable[[Predicted], float]
    lower_is_better: bool = True
    primary: bool = False  # the metric that verdicts use
    summary: str = ""


@dataclass(frozen=True)
class Section:
    """Section of a report: a function from results to a fragment of the page."""

    name: str
    title: str
    order: int
    build: Callable[[Any], Any]  # reports.Page → reports.Fragment, or None to omit it


@dataclass(frozen=True)
class ReportWriter:
    """Output format of results, selected by name."""

    name: str
    write: Callable[..., Any]


@dataclass(frozen=True)
class Executor:
    """Place where jobs run: ``run(jobs, supervise, options)`` yields outcomes as they finish."""

    name: str
    run: Callable[[Iterable[Job], Callable[[Job], Iterator[Outcome]], JSON], Iterator[Outcome]]
    summary: str = ""
    fight: Callable[..., Iterator[DuelOutcome]] | None = None  # (duels, run_here, options)


class Severity(StrEnum):
    """Severity of a finding for the reader of the scores."""

    PROBLEM = "problem"  # the scores may be wrong or useless until it is fixed
    WARNING = "warning"  # the scores may mislead
    NOTE = "note"  # useful to know


@dataclass(frozen=True)
class Finding:
    """Finding of a check in a table or in the results of a run."""

    code: str  # of the check, such as DATA003
    severity: Severity
    sentence: str  # one plain sentence that names the columns, values or algorithms
    page: str  # page and anchor of the documentation that explains the check
    dataset: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)  # JSON


# ------------------------------------------------------------------ plan and outcomes


@dataclass(frozen=True)
class Split:
    """Reproducible description of the training and test rows."""

    scheme: Literal["kfold", "holdout", "given", "draw", "ordered"] = "kfold"
    folds: int = 5  # of draw: number of training sets; this one is ``repeat``
    fold: int = 0
    repeat: int = 0
    seed: int = 0
    test_share: float = 0.25  # of holdout and draw
    train_rows: int = 0  # of draw; of other schemes the maximum number of training rows, 0: all

    @property
    def label(self) -> str:
        """Return a stable, readable name of the split."""
        drawn = f"s{self.seed}-r{self.repeat}"
        if self.scheme == "draw":
            return f"draw{self.folds}x{self.train_rows}-holdout{self.test_share:g}-{drawn}"
        sample = f"-n{self.train_rows}" if self.train_rows else ""
        named = {
            "kfold": f"kfold{self.folds}-{drawn}-f{self.fold}",
            "holdout": f"holdout{self.test_share:g}-{drawn}",
            "ordered": f"ordered{self.folds}-f{self.fold}",
        }.get(self.scheme, self.scheme)
        return named + sample


@dataclass(frozen=True)
class Environment:
    """Interpreter and source tree of a worker; the default is the running one."""

    name: str = "here"
    python: str = ""  # path of the interpreter; empty: the running one
    root: str = ""  # source trees first on PYTHONPATH, separated as there; empty: ours


@dataclass(frozen=True)
class Trial:
    """One fit and evaluation. ``cell`` is stable across runs; ``id`` also covers the code."""

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
    ingredients: Mapping[str, Any] = field(default_factory=dict)  # input of the id's digest


@dataclass(frozen=True)
class DatasetRef:
    """Reference to a dataset for a worker: name and options, or a user's own file."""

    name: str
    digest: str
    options: Mapping[str, Any] = field(default_factory=dict)
    file: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Limits:
    """Time and memory limits of a trial."""

    timeout: float = 600.0  # seconds, all phases of a trial together
    memory: int = 0  # bytes of resident memory; 0: no cap


@dataclass(frozen=True)
class Job:
    """Trials of one algorithm on one dataset in one environment, run in one process."""

    algorithm: str
    plugin: str  # module name, or path of a file, that registers the algorithm
    dataset: DatasetRef
    trials: tuple[Trial, ...]
    threads: int = 1
    limits: Limits = Limits()
    environment: Environment = Environment()
    plugins: tuple[str, ...] = ()  # further plugin files (such as a third-party dataset)
    exports: tuple[str, ...] = ()  # trees, staged, members, training: stored beside predictions
    libraries: tuple[str, ...] = ()  # distributions that the algorithm imports

    @property
    def name(self) -> str:
        """Return the name of its trials: the algorithm, or the label of a variant of it."""
        return self.trials[0].algorithm if self.trials else self.algorithm


@dataclass(frozen=True)
class Sample:
    """One timed call."""

    phase: str  # import, compile, load, preparation, native, fit, predict, predict_one, …
    wall: float  # seconds
    cpu: float  # seconds, all threads of the process
    peak: int = 0  # peak resident bytes above the warm process
    cold: bool = False  # the first call of this phase in this process


@dataclass(frozen=True)
class Failure:
    """Reason why a trial has no result."""

    kind: str  # exception class, signal name, or limit
    message: str
    detail: str = ""  # traceback, faulthandler text or the tail of stderr


@dataclass(frozen=True)
class Outcome:
    """Result of a trial. ``arrays`` names ``.npz`` files that are moved into the store."""

    trial: Trial
    status: Status
    samples: tuple[Sample, ...] = ()
    failure: Failure | None = None
    reason: str = ""  # of a skip
    arrays: Mapping[str, str] = field(default_factory=dict)  # artifact name → path, later SHA-256
    facts: Mapping[str, Any] = field(default_factory=dict)  # rows, versions, thread pools, notes
    started: str = ""  # UTC, ISO 8601
    ended: str = ""


@dataclass(frozen=True)
class StopRule:
    """Group-sequential stopping rule of a duel; the interval is adjusted for interim analyses."""

    looks: tuple[
        int, ...
    ]  # launches after which an interim analysis is made; the last ends the duel
    phase: str = "train"
    precision: float = 0.0  # target half-width as a share of the ratio; 0: none
    claim: float = 0.0  # stop once the interval lies on one side of this ratio; 0: none
    also: tuple[str, ...] = ()  # further phases that must meet the target too


@dataclass(frozen=True)
class Duel:
    """Two algorithms timed in interleaved pairs: each side is a job of one timed trial.

    ``launches`` pairs of fresh processes each run ``blocks`` blocks, warm, in every phase.
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
    """A block of one phase: one or two calls of each side, in the order that ``order`` says."""

    launch: int
    index: int
    phase: str
    order: Order
    a: tuple[Sample, ...]
    b: tuple[Sample, ...]


@dataclass(frozen=True)
class DuelOutcome:
    """Result of a duel; estimates are computed from ``blocks`` on demand."""

    duel: Duel
    status: Status
    blocks: tuple[Block, ...] = ()
    failure: Failure | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # per side: versions, pools, peaks, load
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


def block_from_json(data: Mapping[str, Any]) -> Block:
    """Return the block that :func:`to_json` wrote."""
    calls: JSON = {side: tuple(Sample(**call) for call in data[side]) for side in ("a", "b")}
    return Block(**{**data, **calls})


def duel_outcome_from_json(data: Mapping[str, Any]) -> DuelOutcome:
    """Return the duel outcome that :func:`to_json` wrote."""
    failure = data.get("failure")
    return DuelOutcome(
        **{
            **data,
            "duel": duel_from_json(data["duel"]),
            "status": Status(data["status"]),
            "blocks": tuple(block_from_json(b) for b in data["blocks"]),
            "failure": Failure(**failure) if failure else None,
        }
    )
