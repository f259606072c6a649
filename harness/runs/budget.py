"""Time budget of a run: reduce splits first, then training rows.

The parameters of an algorithm are never changed. Before the run, every algorithm is trained on two
small samples of the first training set; a line through both times predicts what a fit on all rows
takes. The run then goes split by split, each with every algorithm, until the next split would not
finish in time. If not even the fewest splits fit, a library's slow algorithm is left out if one of
this project trains the same kind of model much faster. If that is not enough, each split trains on
a sample of its rows.
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
from types import MappingProxyType

from harness.config.experiment import SEARCHED, Choice, Experiment
from harness.core import ids
from harness.core.machine import machine_id
from harness.core.model import JSON, Job, Outcome, Status
from harness.core.progress import Progress
from harness.core.units import show_duration
from harness.execution.compiling import compile_and_report
from harness.execution.supervisor import Supervisor
from harness.planning.plan import Plan
from harness.plugins.registry import Registry
from harness.runs.execute import side_by_side

KIND = "budget"  # of the stored event that lists the reductions
VERSION = 2  # increase when budgets are spent differently
MIN_SPLITS = 3  # fewer give no useful interval
CELLS = 160_000  # rows × columns × classes of the larger sample
MIN_ROWS = 500  # of the larger sample
SMALLER = 4  # ratio of the rows of the larger sample to the smaller one
GROWTH = 1.15  # factor on extrapolated times: fits scale slightly worse than linearly
RESERVE = 0.15  # share of the budget for diagnostics, the report, and errors of prediction
SHARE_OF_A_SAMPLE = 6  # a fit on a sample may take 1 / 6 of the budget
MIN_SHARE = 0.1  # of the rows: below it, the slowest algorithm is left out instead
MUCH_FASTER = 3  # ratio of times from which a library's algorithm may be left out for ours
LARGE_SHARE = 0.15  # of the time of a round, from which leaving out an algorithm helps
MIN_CONFIGURATIONS = 5  # of a search
MAX_CONFIGURATIONS = 100

Seconds = dict[tuple[str, str], float]  # (algorithm, dataset) → seconds of one trial


@dataclass(frozen=True)
class Cost:
    """Predicted seconds of one trial: linear in the rows, from the times of two samples."""

    rows: tuple[int, int]
    seconds: tuple[float, float]

    def at(self, rows: int) -> float:
        """Return the seconds of a trial that trains on ``rows`` rows."""
        (few, many), (short, long) = self.rows, self.seconds
        if math.isinf(short) or rows <= few or many <= few:
            return short
        if math.isinf(long):  # the larger sample took too long
            long = GROWTH * short * many / few
        slope = max(0.0, long - short) / (many - few)
        return short + (GROWTH if rows > many else 1.0) * slope * (rows - few)


@dataclass(frozen=True)
class Fitted:
    """Experiment that fits into its budget."""

    experiment: Experiment  # with fewer training rows, configurations or algorithms if needed
    key: str = ""
    max_rounds: int = 0  # splits of an earlier run with the same budget; 0: any number
    left_out: Mapping[str, str] = field(default_factory=dict)  # algorithm → reason
    compiled: Sequence[JSON] | None = None  # kernels compiled for the samples; None: not yet


@dataclass(frozen=True)
class Sizes:
    """Rows, columns and classes of a dataset, and the rows that a split trains on."""

    rows: int
    columns: int
    classes: int

    @property
    def train_rows(self) -> int:
        """Return the approximate maximum of rows that a split trains on."""
        return max(1, int(0.9 * self.rows))

    @property
    def sample(self) -> int:
        """Return the rows of the larger sample."""
        width = max(1, self.columns) * max(1, self.classes if self.classes > 2 else 1)
        return max(MIN_ROWS, CELLS // width)


def needs_samples(sizes: Sizes) -> bool:
    """Return whether a table is so large that the time of a fit must be predicted."""
    return sizes.train_rows > sizes.sample


def with_rows(experiment: Experiment, rows: int | None) -> Experiment:
    """Return an experiment whose splits train on at most ``rows`` rows."""
    splits = experiment.splits.model_copy(update={"most_train_rows": rows})
    return experiment.model_copy(update={"splits": splits})


def first_trials(plan: Plan) -> list[Job]:
    """Return the jobs of a plan, each with only the first trial of each of its variants."""
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
    """Return the predicted cost of each algorithm on each dataset; infinite after a timeout."""
    larger = min(size.sample for size in sizes.values())
    smaller = max(2, larger // SMALLER)
    limit = experiment.run.budget / SHARE_OF_A_SAMPLE
    untuned = [track for track in experiment.tracks if track not in SEARCHED] or ["default"]
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
            (smaller, larger), (times[smaller].get(key, math.inf), times[larger].get(key, math.inf))
        )
        for key in every
    }


def seconds_of(outcomes: Sequence[Outcome]) -> Seconds:
    """Return the seconds of one trial of each algorithm; infinite after a timeout."""
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for outcome in outcomes:
        key = (outcome.trial.algorithm, outcome.trial.dataset)
        if outcome.status is Status.TIMEOUT:
            times[key].append(math.inf)
        elif outcome.status is Status.DONE:
            phases = ("preparation", "native", "fit", "predict")
            times[key].append(sum(s.wall for s in outcome.samples if s.phase in phases))
    return {key: sum(values) for key, values in times.items()}


def fit_experiment(
    experiment: Experiment,
    costs: Mapping[tuple[str, str], Cost],
    sizes: Mapping[str, Sizes],
    spent: float,
    processors: int,
    *,
    may_leave_out: bool = True,
    counterparts: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Experiment, dict[str, str]]:
    """Return the experiment that fits into its budget, and the reasons by left-out algorithm.

    Parameters
    ----------
    spent
        Seconds of the budget used so far.
    processors
        Number of trials that run in parallel.
    may_leave_out
        Whether slow algorithms may be left out; False if the user named the algorithms.
    counterparts
        A library's algorithm → ours that trains the same kind of model.
    """
    left = (1 - RESERVE) * experiment.run.budget - spent
    most = max(size.train_rows for size in sizes.values())
    fewest = min(max(2, size.sample // SMALLER) for size in sizes.values())
    left_out, known = _too_slow(experiment, costs, fewest, may_leave_out=may_leave_out)

    def round_at(rows: int) -> float:
        times = [cost.at(min(rows, sizes[name].train_rows)) for (_, name), cost in known.items()]
        return max(sum(times) / processors, max(times, default=0.0)) * _searches(experiment)

    rows = _rows_that_fit(round_at, fewest, most, left)
    if may_leave_out and rows < most:
        slow = _slow_counterparts(known, counterparts, most)
        left_out |= slow
        known = {key: cost for key, cost in known.items() if key[0] not in slow}
        rows = _rows_that_fit(round_at, fewest, most, left)
    while may_leave_out and rows < MIN_SHARE * most and len({name for name, _ in known}) > 2:
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
    if not SEARCHED.isdisjoint(experiment.tracks):
        fitted = _more_configurations(fitted, left / (MIN_SPLITS * max(round_at(rows), 1e-9)))
    return fitted, left_out


def _too_slow(
    experiment: Experiment,
    costs: Mapping[tuple[str, str], Cost],
    fewest: int,
    *,
    may_leave_out: bool,
) -> tuple[dict[str, str], dict[tuple[str, str], Cost]]:
    """Return the algorithms too slow for the smaller sample, and the costs of the others."""
    slow = {name for (name, _), cost in costs.items() if math.isinf(cost.seconds[0])}
    limit = show_duration(experiment.run.budget / SHARE_OF_A_SAMPLE)
    why = f"one fit on {fewest:,} rows took longer than {limit}"
    known = {key: cost for key, cost in costs.items() if key[0] not in slow}
    return dict.fromkeys(sorted(slow), why) if may_leave_out else {}, known


def _slow_counterparts(
    known: Mapping[tuple[str, str], Cost], counterparts: Mapping[str, str], rows: int
) -> dict[str, str]:
    """Return the slow algorithms of libraries with a much faster counterpart, with the reasons."""
    seconds: dict[str, float] = defaultdict(float)
    for (name, _), cost in known.items():
        seconds[name] += cost.at(rows)
    least = LARGE_SHARE * sum(seconds.values())
    reasons = {}
    for library, ours in counterparts.items():
        if library not in seconds or ours not in seconds or seconds[library] < least:
            continue
        if (times := seconds[library] / max(seconds[ours], 1e-9)) >= MUCH_FASTER:
            reasons[library] = (
                f"{ours} trains the same kind of model about {times:.0f} times as fast"
            )
    return reasons


def _rows_that_fit(round_at: Callable[[int], float], fewest: int, most: int, seconds: float) -> int:
    """Return the most training rows with which the fewest splits take at most ``seconds``."""
    if MIN_SPLITS * round_at(most) <= seconds:
        return most
    low, high = fewest, most
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        fits = MIN_SPLITS * round_at(middle) <= seconds
        low, high = (middle, high) if fits else (low, middle)
    return low


def _searches(experiment: Experiment) -> float:
    """Return the cost of one split of an algorithm, in fits on all its training rows."""
    searches = SEARCHED.intersection(experiment.tracks)
    if not searches:
        return 1.0
    tuning = experiment.tuning
    share = (tuning.inner_folds - 1) / tuning.inner_folds
    tried = min(tuning.configurations, MIN_CONFIGURATIONS)
    members = tried if "ensembled" in searches else 0
    return len(experiment.tracks) + members + len(searches) * tried * tuning.inner_folds * share


def _more_configurations(experiment: Experiment, times: float) -> Experiment:
    """Return the experiment with as many configurations as there is time for.

    ``times`` is the available time divided by the time of the fewest configurations.
    """
    tuning = experiment.tuning
    least = min(tuning.configurations, MIN_CONFIGURATIONS)
    number: int = max(least, min(MAX_CONFIGURATIONS, int(least * times)))
    return _with_configurations(experiment, number)


def _with_configurations(experiment: Experiment, number: int) -> Experiment:
    changed = experiment.tuning.model_copy(update={"configurations": number})
    return experiment.model_copy(update={"tuning": changed})


def _two_digits(rows: int) -> int:
    unit = int(10 ** max(0, len(str(rows)) - 2))
    return max(2, rows // unit * unit)


def without_algorithms(
    experiment: Experiment, left_out: Mapping[str, str], names: Sequence[str]
) -> Experiment:
    """Return the experiment with the algorithms ``names``, without those left out."""
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
    """Return a digest that is equal for runs with the same budget and the same trials."""
    trials = [trial.id for job in first_trials(plan) for trial in job.trials]
    return ids.digest([VERSION, machine_id(), processors, experiment.run.budget, sorted(trials)])


def budget_sentence(event: JSON) -> str:
    """Return a sentence on how a budget reduced a run."""
    parts = []
    splits, planned, rows = event["splits"], event["planned"], event["most_train_rows"]
    if splits < planned:
        parts.append(f"{splits} of {planned} splits were run")
    if rows:
        parts.append(f"each split trained on a sample of {rows:,} rows")
    budget = show_duration(event["seconds"])
    if not parts and not event["left_out"]:
        return f"Everything fitted into the time budget of {budget}."
    text = " and ".join(parts) or f"all {planned} splits were run"
    sentence = f"To fit into the time budget of {budget}, {text}." if parts else ""
    for name, why in event["left_out"].items():
        sentence += f" {name} was left out: {why}."
    return sentence.strip()


@dataclass
class Clock:
    """Clock of a time budget; time spent compiling kernels does not count."""

    budget: float
    began: float = field(default_factory=time.monotonic)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock during the body, for compiling, which is needed only once per machine."""
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
        """Return the deadline of the trials, on the monotonic clock."""
        return self.began + (1 - RESERVE) * self.budget


@dataclass(frozen=True)
class BudgetFitter:
    """Fitting of an experiment into its budget."""

    plan_of: Callable[[Experiment], Plan]  # plans an experiment
    registry: Registry
    progress: Progress
    clock: Clock
    remembered: Sequence[JSON] = ()  # stored budget events of earlier runs
    may_leave_out: bool = True  # slow algorithms; False if the user named the algorithms

    def fit(self, experiment: Experiment, plan: Plan) -> Fitted:
        """Return the experiment that fits into its budget; time samples if needed.

        If an earlier run had the same budget and the same trials, its reductions are used again,
        so that the same command measures the same.
        """
        processors = side_by_side(plan.jobs)
        key = key_of(plan, experiment, processors)
        for event in reversed(self.remembered):
            if event["key"] == key:
                fitted = experiment
                if event["most_train_rows"]:
                    fitted = with_rows(fitted, event["most_train_rows"])
                if event["configurations"]:
                    fitted = _with_configurations(fitted, event["configurations"])
                names = [job.name for job in plan.jobs]
                fitted = without_algorithms(fitted, event["left_out"], names)
                return Fitted(fitted, key, event["splits"], event["left_out"])
        declared = (plan.declared or {}).get("datasets", {})
        sizes = {
            name: Sizes(facts["rows"], facts["columns"], facts["n_classes"])
            for name, facts in declared.items()
        }
        large = {name: size for name, size in sizes.items() if needs_samples(size)}
        if not large and SEARCHED.isdisjoint(experiment.tracks):
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
            counterparts=self._counterparts(plan.jobs),
        )
        return Fitted(fitted, key, 0, left_out, compiled)

    def _counterparts(self, jobs: Sequence[Job]) -> dict[str, str]:
        """Return the name of a library's algorithm → the name of ours that is compared with it."""
        known = ((self.registry.algorithm(job.algorithm).reference, job.name) for job in jobs)
        return {reference: name for reference, name in known if reference}

    def _costs(
        self,
        experiment: Experiment,
        plan: Plan,
        sizes: Mapping[str, Sizes],
        processors: int,
        compiled: list[JSON],
    ) -> dict[tuple[str, str], Cost]:
        run = self.registry.entry("executor", "local").value.run
        # These outcomes do not belong to any run.
        with (
            tempfile.TemporaryDirectory(prefix="harness-samples-") as folder,
            Supervisor(Path(folder)) as supervisor,
        ):
            with self.clock.paused():
                note = compiled.append
                compile_and_report(plan.jobs, supervisor, self.registry, self.progress, note)

            def run_jobs(jobs: list[Job]) -> list[Outcome]:
                self.progress.stage("estimate", sum(len(job.trials) for job in jobs))
                outcomes = []
                for outcome in run(jobs, supervisor.supervise, {"jobs": processors}):
                    self.progress.step(outcome.trial.algorithm)
                    outcomes.append(outcome)
                return outcomes

            return time_samples(self.plan_of, experiment, sizes, run_jobs)


def event_of(fitted: Fitted, splits: int, planned: int, clock: Clock) -> JSON:
    """Return the budget event to store at the end of a run."""
    experiment = fitted.experiment
    tuned = not SEARCHED.isdisjoint(experiment.tracks)
    event = {
        "key": fitted.key,
        "seconds": experiment.run.budget,
        "spent": clock.spent,
        "splits": splits,
        "planned": planned,
        "most_train_rows": experiment.splits.most_train_rows or 0,
        "configurations": experiment.tuning.configurations if tuned else 0,
        "left_out": dict(fitted.left_out),
    }
    return {**event, "words": budget_sentence(event)}
