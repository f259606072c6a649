"""One run from request to result: plan, open the store, execute, finish the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from harness.analysis.run_command import Command, command_of
from harness.analysis.run_view import Speed
from harness.analysis.speed import speeds_of
from harness.checks.during_run import RunChecks
from harness.config.experiment import Experiment, parse_experiment
from harness.core import ids
from harness.core.errors import ConfigError
from harness.core.libraries import Surroundings, installed_version
from harness.core.machine import fingerprint, machine_id, too_many_threads
from harness.core.model import JSON, Dataset, DuelOutcome, Status, to_json
from harness.core.progress import Progress
from harness.core.units import show_duration
from harness.data import dataset_from_mapping, resolve
from harness.measurement.diagnostics import Diagnosis, questions
from harness.measurement.tree_comparison import known_matches
from harness.planning.plan import Plan, make_plan, plan_duel
from harness.planning.reuse import Pins, reusable, reusable_duels
from harness.planning.selection import Selection, stored_selection
from harness.planning.tree_comparisons import Match, matches_of
from harness.plugins.registry import Registry
from harness.runs import budget
from harness.runs.execute import Execution, Options, Tally
from harness.store import Store


@dataclass(frozen=True)
class Request:
    """Request of a run: an experiment, or ``only`` a part of it."""

    experiment: Experiment
    extra: tuple[Dataset, ...] = ()
    plugin_files: tuple[str, ...] = ()
    results: Path = Path("results")
    executor: str = "local"
    executor_options: JSON = field(default_factory=dict)
    fresh: bool = False
    retry_failed: bool = False
    wait: bool = True
    named_algorithms: bool = False  # named by the user: a time budget leaves none of them out
    command: Command = "run"
    only: Selection = field(default_factory=Selection)

    @property
    def options(self) -> Options:
        """Return the options of the execution."""
        jobs = {"jobs": self.experiment.run.jobs} if self.experiment.run.jobs else {}
        merged = {**jobs, **self.executor_options}
        return Options(self.executor, merged, self.fresh, self.retry_failed)


@dataclass(frozen=True)
class RunEnd:
    """Result of a run."""

    run_id: str
    tally: Tally
    experiment: Experiment  # as executed: a time budget may have reduced it


@dataclass(frozen=True)
class DuelEnd:
    """Result of a run of one duel."""

    run_id: str
    outcome: DuelOutcome
    speeds: Sequence[Speed]


@dataclass(frozen=True)
class Forecast:
    """Plan with the stored results that it reuses."""

    plan: Plan
    known: dict[str, Status]
    known_duels: dict[str, Status]
    seconds: dict[tuple[str, str], float]  # (algorithm, dataset) → typical seconds of a trial
    matches: list[Match] = field(default_factory=list)
    known_matches: dict[str, Status] = field(default_factory=dict)

    def estimate(self) -> tuple[float, int]:
        """Return the expected seconds of new trials, and the number of trials without history."""
        total, unknown = 0.0, 0
        for trial in self.plan.trials():
            if trial.id in self.known:
                continue
            seconds = self.seconds.get((trial.algorithm, trial.dataset))
            total, unknown = (total, unknown + 1) if seconds is None else (total + seconds, unknown)
        return total, unknown

    def lines(self) -> list[str]:
        """Return the plan as text, one line per job, and the estimate."""
        lines = []
        for job in self.plan.jobs:
            fresh = sum(trial.id not in self.known for trial in job.trials)
            prepared = ", ".join(dict.fromkeys(t.preparation for t in job.trials))
            counts = f"{fresh} of {len(job.trials)} trials to run"
            lines.append(f"{job.name} on {job.dataset.name} ({prepared}): {counts}")
        skipped = {(o.trial.algorithm, o.trial.dataset): o.reason for o in self.plan.skipped}
        lines += [f"{a} on {d}: skipped: {reason}" for (a, d), reason in skipped.items()]
        for duel in self.plan.duels:
            state = "known" if duel.id in self.known_duels else "to run"
            names = f"{duel.a.name} against {duel.b.name}"
            lines.append(f"duel {names} on {duel.a.dataset.name}: {state}")
        for match in self.matches:
            state = "known" if match.what["id"] in self.known_matches else "to compare"
            names = f"{match.a.name} and {match.b.name}"
            lines.append(f"trees of {names} on {match.a.dataset.name}: {state}")
        if warning := too_many_threads(self.plan.threads):
            lines.append(warning)
        seconds, unknown = self.estimate()
        guess = f"about {show_duration(seconds)} of trials" if seconds else "no estimate yet"
        rest = f", and {unknown} trials that were never timed here" if unknown else ""
        return [*lines, f"{guess}{rest}"]

    def to_json(self) -> JSON:
        """Return the plan as JSON data."""
        seconds, unknown = self.estimate()
        trials = [
            {**to_json(trial), "known": self.known.get(trial.id)} for trial in self.plan.trials()
        ]
        duels = [{"id": d.id, "a": d.a.name, "b": d.b.name} for d in self.plan.duels]
        parity = [match.what for match in self.matches]
        rest = {"seconds": seconds, "without_history": unknown}
        return {"trials": trials, "duels": duels, "parity": parity, **rest}


def request_of(run: JSON) -> Request:
    """Return the request of a stored run, to plan it again."""
    config = run["config"]
    return Request(
        parse_experiment(config["experiment"], f"run {run['id']}"),
        extra=tuple(dataset_from_mapping(file) for file in config.get("files", ())),
        plugin_files=tuple(config.get("plugin_files", ())),
        command=command_of(run),
        only=stored_selection(config),
    )


def config_of(request: Request, declared: JSON | None) -> JSON:
    """Return the configuration to store with a run: everything needed to plan it again."""
    only = {key: list(names) for key, names in vars(request.only).items() if names}
    return {
        "command": request.command,
        "experiment": request.experiment.model_dump(mode="json"),
        "files": [to_json(dataset.file) for dataset in request.extra],
        "plugin_files": list(request.plugin_files),
        "declared": declared,
        **({"only": only} if only else {}),
    }


def config_hash(config: JSON) -> str:
    """Return the digest of the experiment and the selection."""
    only, settings = config.get("only"), changed_settings(config["experiment"])
    return ids.digest([settings, only] if only else settings)


def changed_settings(experiment: JSON) -> JSON:
    """Return the settings of a stored experiment that differ from the defaults.

    A new setting, whose default is what was done before, does not change them.
    """
    changed: JSON = parse_experiment(experiment, "run").model_dump(
        mode="json", exclude_defaults=True
    )
    return changed


def plan_request(request: Request, registry: Registry) -> Plan:
    """Return the plan of a request; raise ConfigError if it is empty."""
    registry.entry("executor", request.executor)  # report a wrong name first
    plan = request.only.plan(_whole_plan(request, registry))
    if not plan.jobs and not plan.skipped and not plan.duels:
        raise ConfigError("nothing to run: no chosen algorithm is for the task of a chosen dataset")
    questions(request.experiment.diagnostics, plan)  # report wrong names before anything runs
    return plan


def _whole_plan(request: Request, registry: Registry) -> Plan:
    experiment, files = request.experiment, request.plugin_files
    if request.command != "duel":
        return make_plan(experiment, registry, surroundings(), request.extra, files)
    (dataset,) = request.extra or (resolve(experiment.duels.datasets[0], registry),)
    sides = experiment.algorithms
    return plan_duel(experiment, registry, surroundings(), dataset, sides, files)


def planned_matches(request: Request, registry: Registry, plan: Plan) -> list[Match]:
    """Return the tree comparisons of a request with its plan."""
    if not request.only:
        return matches_of(request.experiment.parity, plan)
    # the globs may match datasets that are not in the selected part
    whole = _whole_plan(request, registry)
    return request.only.matches(matches_of(request.experiment.parity, whole))


def surroundings() -> Surroundings:
    """Return machine id and library versions for trial ids."""
    return Surroundings(machine_id(), cache(installed_version))


def forecast(request: Request, registry: Registry) -> Forecast:
    """Return the plan and the estimate of a request without running it; write nothing."""
    plan = plan_request(request, registry)
    matches = planned_matches(request, registry, plan)
    known: dict[str, Status] = {}
    duels: dict[str, Status] = {}
    parities: dict[str, Status] = {}
    seconds: dict[tuple[str, str], float] = {}
    if Store.exists(request.results):
        with Store.open(request.results) as store:
            seconds = store.typical_seconds()
            if not request.fresh:
                retry = request.retry_failed
                pins = Pins()
                known = reusable(store, plan.jobs, pins, retry_failed=retry)
                duels = reusable_duels(store, plan.duels, pins, retry_failed=retry)
                parities = known_matches(store, matches, pins, retry_failed=retry)
    return Forecast(plan, known, duels, seconds, matches, parities)


def run_experiment(request: Request, registry: Registry, progress: Progress) -> RunEnd:
    """Execute a request, store every outcome, and return the counts.

    Raises
    ------
    ConfigError
        If a name is unknown or nothing can be run; nothing is written then.
    BusyError
        If another run writes to the store and ``wait`` is False.
    """
    plan = plan_request(request, registry)
    if request.experiment.run.budget:
        return _run_within_budget(request, registry, progress, plan)
    matches = planned_matches(request, registry, plan)
    with (
        Store.open(
            request.results, write=True, wait=request.wait, on_wait=progress.message
        ) as store,
        _recorded(store, request, plan) as run_id,
    ):
        trials = [*plan.trials(), *(outcome.trial for outcome in plan.skipped)]
        store.plan_trials(run_id, trials)
        execution = Execution(store, run_id, registry, progress, request.options)
        with _checked(execution, request, plan):
            tally = execution.carry_out(plan, matches)
    return RunEnd(run_id, tally, request.experiment)


def _run_within_budget(
    request: Request, registry: Registry, progress: Progress, plan: Plan
) -> RunEnd:
    """Execute a request split by split within its time budget."""
    clock = budget.Clock(request.experiment.run.budget)

    def plan_of(experiment: Experiment) -> Plan:
        return plan_request(replace(request, experiment=experiment), registry)

    with Store.open(
        request.results, write=True, wait=request.wait, on_wait=progress.message
    ) as store:
        known = [] if request.fresh else store.event_data(budget.KIND)
        may = not request.named_algorithms
        fitter = budget.BudgetFitter(plan_of, registry, progress, clock, known, may)
        fitted = fitter.fit(request.experiment, plan)
        request = replace(request, experiment=fitted.experiment)
        plan = plan_request(request, registry)
        with _recorded(store, request, plan) as run_id:
            options = replace(request.options, max_rounds=fitted.max_rounds)
            execution = Execution(store, run_id, registry, progress, options)
            with _checked(execution, request, plan):
                rounds = budget.rounds_of(plan)
                done = execution.carry_out_rounds(rounds, plan, clock, fitted.compiled)
                event = budget.event_of(fitted, done, len(rounds), clock)
                store.event(run_id, budget.KIND, event)
                progress.message(event["words"])
    return RunEnd(run_id, execution.tally, request.experiment)


def _recorded(store: Store, request: Request, plan: Plan) -> AbstractContextManager[str]:
    """Record a run with its configuration; see :meth:`harness.store.Store.recorded`."""
    config = config_of(request, plan.declared)
    name = "duel" if request.command == "duel" else request.experiment.name
    return store.recorded(name, config, config_hash(config), fingerprint(request.plugin_files))


@contextmanager
def _checked(execution: Execution, request: Request, plan: Plan) -> Iterator[None]:
    """Check the user's own tables before the trials; diagnose and check the results after them."""
    store, run_id = execution.store, execution.run_id
    registry, progress = execution.registry, execution.progress
    execution.print_missing_references(plan)
    checks = RunChecks(store, run_id, registry, progress)
    checks.check_tables(request.extra)
    yield
    diagnostics = request.experiment.diagnostics
    Diagnosis(store, run_id, registry, progress, diagnostics, request.fresh).carry_out(plan)
    if request.extra:
        checks.check_results()


def run_duel_request(request: Request, registry: Registry, progress: Progress) -> DuelEnd:
    """Run the one duel of a request as a run of its own, or reuse a stored one."""
    plan = plan_request(request, registry)
    with Store.open(request.results, write=True, on_wait=progress.message) as store:
        with _recorded(store, request, plan) as run_id:
            Execution(store, run_id, registry, progress, request.options).carry_out(plan)
        outcome = store.duels(run_id)[0][0]
    return DuelEnd(run_id, outcome, speeds_of(outcome))
