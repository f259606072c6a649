"""Fit a run into a time budget: fewer splits first, then fewer training rows.

The parameters of an algorithm are never changed. Before the run, every algorithm is trained on two
small samples of the first training set; a line through both times predicts what a fit on all rows
takes. The run then goes split by split, each with every algorithm, until the next split would not
be done in time. Only where the fewest splits do not fit, each split trains on a sample of its rows.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.config.experiment import Choice, Experiment
from harness.core import ids
from harness.core.machine import machine_id
from harness.core.model import JSON, Job, Outcome, Status
from harness.core.progress import Progress
from harness.core.units import show_duration
from harness.execution.compiling import compile_and_tell
from harness.execution.supervisor import Supervisor
from harness.planning.plan import Plan
from harness.plugins.registry import Registry
from harness.runs.execute import side_by_side

KIND = "budget"  # of the event that says what was reduced
VERSION = 1  # raise when a budget is spent in another way
FEWEST_SPLITS = 3  # fewer have no interval worth reading
CELLS = 160_000  # rows × columns × classes of the larger sample
FEWEST_ROWS = 500  # of the larger sample
SMALLER = 4  # the larger sample has so many times the rows of the smaller one
GROWTH = 1.15  # a fit takes a little longer than in proportion to its rows
RESERVE = 0.15  # share of the budget for diagnostics, the report, and errors of prediction
SHARE_OF_A_SAMPLE = 6  # a fit on a sample may take this part of the budget
LEAST_SHARE = 0.1  # of the rows: rather than train on fewer, the slowest algorithm is left out
FEWEST_CONFIGURATIONS = 5  # of the tuned track
MOST_CONFIGURATIONS = 100

Seconds = dict[tuple[str, str], float]  # (algorithm, dataset) → of one trial


@dataclass(frozen=True)
class Cost:
    """Predicted seconds of one trial: a line through the times of two samples."""

    rows: tuple[int, int]
    seconds: tuple[float, float]

    def at(self, rows: int) -> float:
        """Return the seconds of a trial that trains on so many rows."""
        (few, many), (short, long) = self.rows, self.seconds
        if math.isinf(short) or rows <= few or many <= few:
            return short
        if math.isinf(long):  # it took too long on the larger sample
            long = GROWTH * short * many / few
        slope = max(0.0, long - short) / (many - few)
        return short + (GROWTH if rows > many else 1.0) * slope * (rows - few)


@dataclass(frozen=True)
class Fitted:
    """What a budget leaves of an experiment.

    Attributes
    ----------
    experiment
        With fewer training rows, other configurations or fewer algorithms where these were needed.
    most_rounds
        The most splits that are run; those of an earlier run of the same budget.
    left_out
        Algorithm → why it is not run.
    """

    experiment: Experiment
    key: str = ""
    most_rounds: int = 0  # 0: any
    left_out: Mapping[str, str] = field(default_factory=dict)
    compiled: Sequence[JSON] | None = None  # what was compiled for the samples; None: nothing yet


@dataclass(frozen=True)
class Sizes:
    """Rows, columns and classes of a dataset, and the rows that a split trains on."""

    rows: int
    columns: int
    classes: int

    @property
    def train_rows(self) -> int:
        """Return the most rows that a split trains on, about."""
        return max(1, int(0.9 * self.rows))

    @property
    def sample(self) -> int:
        """Return the rows of the larger sample."""
        width = max(1, self.columns) * max(1, self.classes if self.classes > 2 else 1)
        return max(FEWEST_ROWS, CELLS // width)


def needs_samples(sizes: Sizes) -> bool:
    """Say whether a table is so large that the time of a fit has to be predicted."""
    return sizes.train_rows > sizes.sample


def with_rows(experiment: Experiment, rows: int | None) -> Experiment:
    """Return an experiment whose splits train on so many rows at most."""
    splits = experiment.splits.model_copy(update={"most_train_rows": rows})
    return experiment.model_copy(update={"splits": splits})


def first_trials(plan: Plan) -> list[Job]:
    """Return the jobs of a plan, each with the first trial of each of its variants."""
    jobs = []
    for job in plan.jobs:
        firsts = {ids.canonical(t.params): t for t in reversed(job.trials)}
        jobs.append(replace(job, trials=tuple(reversed(firsts.values()))))
    return jobs


def time_samples(
    plan_of: Callable[[Experiment], Plan],
    experiment: Experiment,
    sizes: Mapping[str, Sizes],
    run_jobs: Callable[[list[Job]], Sequence[Outcome]],
) -> dict[tuple[str, str], Cost]:
    """Return the predicted cost of each algorithm on each dataset; infinite where it took too long.

    Parameters
    ----------
    plan_of
        Plans an experiment.
    sizes
        Of the datasets whose samples are timed.
    run_jobs
        Runs jobs and returns their outcomes.
    """
    larger = min(size.sample for size in sizes.values())
    smaller = max(2, larger // SMALLER)
    limit = experiment.run.budget / SHARE_OF_A_SAMPLE
    untuned = [track for track in experiment.tracks if track != "tuned"] or ["default"]
    plain = experiment.model_copy(update={"tracks": untuned})
    times: dict[int, Seconds] = {}
    for rows in (smaller, larger):
        jobs = [
            replace(job, limits=replace(job.limits, timeout=limit))
            for job in first_trials(plan_of(with_rows(plain, rows)))
            if job.dataset.name in sizes
            and math.isfinite(times.get(smaller, {}).get((job.name, job.dataset.name), 0.0))
        ]
        times[rows] = seconds_of(run_jobs(jobs))
    every = {*times[smaller], *times[larger]}
    return {
        key: Cost(
            (smaller, larger),
            (times[smaller].get(key, math.inf), times[larger].get(key, math.inf)),
        )
        for key in every
    }


def seconds_of(outcomes: Sequence[Outcome]) -> Seconds:
    """Return the seconds of one trial of each algorithm; infinite where it timed out."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for outcome in outcomes:
        key = (outcome.trial.algorithm, outcome.trial.dataset)
        if outcome.status is Status.TIMEOUT:
            found[key].append(math.inf)
        elif outcome.status is Status.DONE:
            phases = ("preparation", "native", "fit", "predict")
            found[key].append(sum(s.wall for s in outcome.samples if s.phase in phases))
    return {key: sum(values) for key, values in found.items()}


def fit_experiment(
    experiment: Experiment,
    costs: Mapping[tuple[str, str], Cost],
    sizes: Mapping[str, Sizes],
    spent: float,
    processors: int,
    *,
    may_leave_out: bool = True,
) -> tuple[Experiment, dict[str, str]]:
    """Return the experiment that fits into its budget, and which algorithms are left out and why.

    Parameters
    ----------
    spent
        Seconds of the budget that are gone.
    processors
        Trials that run side by side.
    may_leave_out
        Whether the slowest algorithm may be left out; one that somebody named never is.
    """
    left = (1 - RESERVE) * experiment.run.budget - spent
    most = max(size.train_rows for size in sizes.values())
    fewest = min(max(2, size.sample // SMALLER) for size in sizes.values())
    left_out, known = _too_slow(experiment, costs, fewest, may_leave_out=may_leave_out)

    def round_at(rows: int) -> float:
        times = [cost.at(min(rows, sizes[name].train_rows)) for (_, name), cost in known.items()]
        return max(sum(times) / processors, max(times, default=0.0)) * _searches(experiment)

    rows = _rows_that_fit(round_at, fewest, most, left)
    while may_leave_out and rows < LEAST_SHARE * most and len({name for name, _ in known}) > 2:
        each = {key: cost.at(most) for key, cost in known.items()}
        slowest = max(each, key=each.__getitem__)
        if each[slowest] < sum(each.values()) / 2:
            break
        seconds = show_duration(each[slowest])
        left_out[slowest[0]] = f"one fit on all rows would take about {seconds}"
        known = {key: cost for key, cost in known.items() if key[0] != slowest[0]}
        rows = _rows_that_fit(round_at, fewest, most, left)
    fitted = without_algorithms(experiment, left_out, [name for name, _ in costs])
    if rows < most:
        fitted = with_rows(fitted, _two_digits(rows))
    if "tuned" in experiment.tracks:
        fitted = _more_configurations(fitted, left / (FEWEST_SPLITS * max(round_at(rows), 1e-9)))
    return fitted, left_out


def _too_slow(
    experiment: Experiment,
    costs: Mapping[tuple[str, str], Cost],
    fewest: int,
    *,
    may_leave_out: bool,
) -> tuple[dict[str, str], dict[tuple[str, str], Cost]]:
    """Return the algorithms that a sample was too large for, and the costs of the others."""
    slow = {name for (name, _), cost in costs.items() if math.isinf(cost.seconds[0])}
    limit = show_duration(experiment.run.budget / SHARE_OF_A_SAMPLE)
    why = f"one fit on {fewest:,} rows took longer than {limit}"
    known = {key: cost for key, cost in costs.items() if key[0] not in slow}
    return dict.fromkeys(sorted(slow), why) if may_leave_out else {}, known


def _rows_that_fit(round_at: Callable[[int], float], fewest: int, most: int, seconds: float) -> int:
    """Return the most training rows with which the fewest splits take so many seconds."""
    if FEWEST_SPLITS * round_at(most) <= seconds:
        return most
    low, high = fewest, most
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        fits = FEWEST_SPLITS * round_at(middle) <= seconds
        low, high = (middle, high) if fits else (low, middle)
    return low


def _searches(experiment: Experiment) -> float:
    """Return how many fits on all rows one split of an algorithm is worth."""
    if "tuned" not in experiment.tracks:
        return 1.0
    tuning = experiment.tuning
    share = (tuning.inner_folds - 1) / tuning.inner_folds
    tried = min(tuning.configurations, FEWEST_CONFIGURATIONS)
    return len(experiment.tracks) + tried * tuning.inner_folds * share


def _more_configurations(experiment: Experiment, times: float) -> Experiment:
    """Return the experiment with as many configurations as there is time for.

    ``times`` says how many times the time suffices for the fewest configurations.
    """
    tuning = experiment.tuning
    least = min(tuning.configurations, FEWEST_CONFIGURATIONS)
    found: int = max(least, min(MOST_CONFIGURATIONS, int(least * times)))
    return _with_configurations(experiment, found)


def _with_configurations(experiment: Experiment, number: int) -> Experiment:
    changed = experiment.tuning.model_copy(update={"configurations": number})
    return experiment.model_copy(update={"tuning": changed})


def _two_digits(rows: int) -> int:
    unit = int(10 ** max(0, len(str(rows)) - 2))
    return max(2, rows // unit * unit)


def without_algorithms(
    experiment: Experiment, left_out: Mapping[str, str], names: Sequence[str]
) -> Experiment:
    """Return the experiment with the algorithms of these names, without those left out."""
    if not left_out:
        return experiment
    choices = {c.name: c for c in experiment.algorithms if isinstance(c, Choice)}
    kept = [n for n in dict.fromkeys(names) if n not in left_out]
    return experiment.model_copy(update={"algorithms": [choices.get(n, n) for n in kept]})


def rounds_of(plan: Plan) -> list[list[Job]]:
    """Return the jobs of each round: one split of every dataset, with every algorithm."""
    places: dict[str, dict[tuple[str, int], int]] = defaultdict(dict)
    for trial in plan.trials():
        known = places[trial.dataset]
        known.setdefault((trial.split.label, trial.seed), len(known))
    rounds: list[list[Job]] = [[] for _ in range(max(map(len, places.values()), default=0))]
    for job in plan.jobs:
        parts = defaultdict(list)
        for trial in job.trials:
            parts[places[trial.dataset][trial.split.label, trial.seed]].append(trial)
        for number, trials in parts.items():
            rounds[number].append(replace(job, trials=tuple(trials)))
    return rounds


def key_of(plan: Plan, experiment: Experiment, processors: int) -> str:
    """Return what two runs share that spend the same budget on the same trials."""
    trials = [trial.id for job in first_trials(plan) for trial in job.trials]
    return ids.digest([VERSION, machine_id(), processors, experiment.run.budget, sorted(trials)])


def words_of(told: JSON) -> str:
    """Return in one sentence what a budget made of a run."""
    parts = []
    splits, planned, rows = told["splits"], told["planned"], told["most_train_rows"]
    if splits < planned:
        parts.append(f"{splits} of {planned} splits were run")
    if rows:
        parts.append(f"each split trained on a sample of {rows:,} rows")
    budget = show_duration(told["seconds"])
    if not parts and not told["left_out"]:
        return f"Everything fitted into the time budget of {budget}."
    text = " and ".join(parts) or f"all {planned} splits were run"
    said = f"To fit into the time budget of {budget}, {text}." if parts else ""
    for name, why in told["left_out"].items():
        said += f" {name} was left out: {why}."
    return said.strip()


@dataclass
class Clock:
    """The time that a run has left; compiling kernels does not count."""

    budget: float
    began: float = field(default_factory=time.monotonic)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time of what is done meanwhile: compiling is done once a machine."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.began += time.monotonic() - start

    @property
    def spent(self) -> float:
        """Return the seconds since the run began."""
        return time.monotonic() - self.began

    @property
    def deadline(self) -> float:
        """Return when the trials are to be done, of the monotonic clock."""
        return self.began + (1 - RESERVE) * self.budget


@dataclass(frozen=True)
class Budgeting:
    """What fitting an experiment into its budget needs to know.

    Attributes
    ----------
    plan_of
        Plans an experiment.
    remembered
        What earlier runs noted of their budgets.
    may_leave_out
        Whether the slowest algorithms may be left out: nobody named them.
    """

    plan_of: Callable[[Experiment], Plan]
    registry: Registry
    progress: Progress
    clock: Clock
    remembered: Sequence[JSON] = ()
    may_leave_out: bool = True

    def fit(self, experiment: Experiment, plan: Plan) -> Fitted:
        """Return what the budget leaves of an experiment; samples are timed where that is needed.

        An earlier run of the same budget and the same trials decides, if there is one: so the same
        command measures the same again.
        """
        processors = side_by_side(plan.jobs)
        key = key_of(plan, experiment, processors)
        for told in reversed(self.remembered):
            if told["key"] == key:
                fitted = experiment
                if told["most_train_rows"]:
                    fitted = with_rows(fitted, told["most_train_rows"])
                if told["configurations"]:
                    fitted = _with_configurations(fitted, told["configurations"])
                names = [job.name for job in plan.jobs]
                fitted = without_algorithms(fitted, told["left_out"], names)
                return Fitted(fitted, key, told["splits"], told["left_out"])
        declared = (plan.declared or {}).get("datasets", {})
        sizes = {
            name: Sizes(facts["rows"], facts["columns"], facts["n_classes"])
            for name, facts in declared.items()
        }
        large = {name: size for name, size in sizes.items() if needs_samples(size)}
        if not large and "tuned" not in experiment.tracks:
            return Fitted(experiment, key)
        compiled: list[JSON] = []
        costs = self._costs(experiment, plan, large or sizes, processors, compiled)
        fitted, left_out = fit_experiment(
            experiment,
            costs,
            large or sizes,
            self.clock.spent,
            processors,
            may_leave_out=self.may_leave_out,
        )
        return Fitted(fitted, key, 0, left_out, compiled)

    def _costs(
        self,
        experiment: Experiment,
        plan: Plan,
        sizes: Mapping[str, Sizes],
        processors: int,
        compiled: list[JSON],
    ) -> dict[tuple[str, str], Cost]:
        run = self.registry.entry("executor", "local").value.run
        # These outcomes are no part of any run.
        with (
            tempfile.TemporaryDirectory(prefix="harness-samples-") as folder,
            Supervisor(Path(folder)) as supervisor,
        ):
            with self.clock.paused():
                note = compiled.append
                compile_and_tell(plan.jobs, supervisor, self.registry, self.progress, note)

            def run_jobs(jobs: list[Job]) -> list[Outcome]:
                self.progress.stage("estimate", sum(len(job.trials) for job in jobs))
                found = []
                for outcome in run(jobs, supervisor.supervise, {"jobs": processors}):
                    self.progress.step(outcome.trial.algorithm)
                    found.append(outcome)
                return found

            return time_samples(self.plan_of, experiment, sizes, run_jobs)


def event_of(fitted: Fitted, splits: int, planned: int, clock: Clock) -> JSON:
    """Return what is noted of a budget when the run is done."""
    experiment = fitted.experiment
    tuned = "tuned" in experiment.tracks
    told = {
        "key": fitted.key,
        "seconds": experiment.run.budget,
        "spent": clock.spent,
        "splits": splits,
        "planned": planned,
        "most_train_rows": experiment.splits.most_train_rows or 0,
        "configurations": experiment.tuning.configurations if tuned else 0,
        "left_out": dict(fitted.left_out),
    }
    return {**told, "words": words_of(told)}
