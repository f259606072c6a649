"""Grow the trees of two algorithms on the same rows, in workers, and store how alike they are.

A parity run is a run like any other: its trials, and so its accuracy verdicts, are in the store.
Beside them stands a comparison of the trees for each dataset, which is known again while neither
algorithm, library nor dataset changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from harness import ids
from harness.analysis.difference import Comparison
from harness.analysis.parity import Side, Training, compare
from harness.analysis.rungs import AGREEMENTS
from harness.choose import grid
from harness.config import Choice, Experiment
from harness.errors import ConfigError, DataError, HarnessError
from harness.machine import fingerprint
from harness.model import FAILURES, JSON, Job, Outcome, Status, Trial, to_json
from harness.outcomes import outcome_path
from harness.plan import Plan, make_plan
from harness.plugins import Registry
from harness.progress import Progress
from harness.runs import surroundings
from harness.store import Store
from harness.store.write import RunStatus
from harness.supervise import Supervisor, compile_kernels
from harness.trees import TreeEnsemble

INPUTS = "raw"  # what both sides are given
VERSION = 1  # raise when trees are compared or explained in another way


class NoTreesError(HarnessError):
    """One side has no trees to compare; the status says whether that is a failure."""

    def __init__(self, reason: str, status: Status) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Match:
    """Two algorithms on one dataset: the trials of each, split by split."""

    a: Job
    b: Job

    @property
    def what(self) -> JSON:
        """Return what is compared, as the store keeps it."""
        trials = [[trial.id for trial in job.trials] for job in (self.a, self.b)]
        first = self.a.trials[0]
        return {
            "id": ids.digest([trials, INPUTS, VERSION]),
            "dataset": first.dataset,
            "preparation": first.preparation,
            "inputs": INPUTS,
            "sides": [
                {"algorithm": job.algorithm, "params": job.trials[0].params, "trials": names}
                for job, names in zip((self.a, self.b), trials, strict=True)
            ],
        }


@dataclass
class Compared:
    """A comparison under way: split by split, the least agreement so far is kept."""

    splits: dict[str, str] = field(default_factory=dict)
    comparison: Comparison | None = None
    split: str = ""

    def add(self, split: str, comparison: Comparison) -> None:
        """Take the comparison on one split."""
        self.splits[split] = comparison.agreement
        rank = AGREEMENTS.index
        if self.comparison is None or rank(comparison.agreement) > rank(self.comparison.agreement):
            self.comparison, self.split = comparison, split

    def to_json(self, reason: str = "") -> JSON:
        """Return what was found, as the store keeps it."""
        comparison = to_json(self.comparison) if self.comparison else None
        return {
            "splits": self.splits,
            "comparison": comparison,
            "split": self.split,
            "reason": reason,
        }


def run_parity(
    experiment: Experiment,
    registry: Registry,
    *,
    results: Path,
    plugin_files: tuple[str, ...] = (),
    fresh: bool = False,
    progress: Progress | None = None,
) -> str:
    """Compare two algorithms on every dataset of an experiment; return the id of the run.

    Parameters
    ----------
    experiment
        Names the two algorithms, in this order, each by a :class:`Choice` without a grid.

    Raises
    ------
    ConfigError
        Where no dataset can be taken by both.
    """
    told = progress or Progress()
    plan = make_plan(experiment, registry, surroundings(), (), plugin_files)
    matches = list(_matches(plan, experiment, registry))
    if not matches:
        names = " and ".join(dict.fromkeys(c.name for c in _choices(experiment)))
        raise ConfigError(f"nothing to compare: no chosen dataset can be taken by {names}")
    config = {
        "experiment": experiment.model_dump(mode="json"),
        "plugin_files": list(plugin_files),
        "declared": plan.declared,
    }
    with Store.open(results, write=True, on_wait=told.message) as store:
        hash_ = ids.digest(config["experiment"])
        run_id = store.begin_run(experiment.name, config, hash_, machine=fingerprint())
        status: RunStatus = "interrupted"
        try:
            for outcome in plan.skipped:
                store.record(run_id, outcome)
            unknown = matches if fresh else _reuse(store, run_id, matches)
            if unknown:
                _Run(store, run_id, registry, told).compare(unknown)
            status = "done"
        finally:
            store.finish_run(run_id, status)
    return run_id


def _choices(experiment: Experiment) -> list[Choice]:
    every = [c if isinstance(c, Choice) else Choice(name=c) for c in experiment.algorithms]
    if len(every) != 2 or any(c.grid for c in every):
        raise ConfigError(f"parity compares two algorithms, not {len(every)}")
    return every


def _matches(plan: Plan, experiment: Experiment, registry: Registry) -> Iterator[Match]:
    """Yield the two sides on each dataset that both can take."""
    sides = []
    for choice in _choices(experiment):
        variant = next(grid(choice.name, choice, experiment.capacity, registry))
        sides.append((choice.name, variant.params))
    datasets = dict.fromkeys(job.dataset.name for job in plan.jobs)
    for dataset in datasets:
        found = []
        for name, params in sides:
            for job in plan.jobs:
                if (job.algorithm, job.dataset.name) == (name, dataset):
                    trials = tuple(t for t in job.trials if t.params == params)
                    found.append(replace(job, trials=trials))
        if len(found) == 2:
            yield Match(*found)


def _reuse(store: Store, run_id: str, matches: Iterable[Match]) -> list[Match]:
    """Attach what is known to the run, trials too, and return the rest."""
    unknown = []
    for match in matches:
        trials = [t.id for job in (match.a, match.b) for t in job.trials]
        name = match.what["id"]
        done = store.known_parities([name]).get(name) is Status.DONE
        if done and not set(trials) - store.known(trials).keys():
            store.attach(run_id, *trials)
            store.attach_parities(run_id, name)
        else:
            unknown.append(match)
    return unknown


@dataclass(frozen=True, eq=False)
class _Grown:
    """A stored outcome, and what a comparison needs of it."""

    outcome: Outcome
    trees: TreeEnsemble | None
    training: Training | None


@dataclass
class _Run:
    """Matches being compared into an open store."""

    store: Store
    run_id: str
    registry: Registry
    progress: Progress

    def compare(self, matches: list[Match]) -> None:
        """Compare each match and store what was found before the next."""
        jobs = [job for match in matches for job in (match.a, match.b)]
        self.store.plan_trials(self.run_id, [trial for job in jobs for trial in job.trials])
        with Supervisor(self.store.workdir(self.run_id)) as supervisor:
            self._compile(jobs, supervisor)
            self.progress.stage("parity", sum(len(match.a.trials) for match in matches))
            for match in matches:
                status, found = self._match(match, supervisor)
                self.store.record_parity(self.run_id, match.what, status, found)

    def _compile(self, jobs: Iterable[Job], supervisor: Supervisor) -> None:
        """Compile each from-scratch algorithm's kernels, so that no trial's timeout counts it."""
        ours = [job for job in jobs if self.registry.algorithm(job.algorithm).origin == "scratch"]
        for compiled in compile_kernels(ours, supervisor):
            for note in compiled.notes:
                self.progress.message(f"  compiling {compiled.algorithm}: {note}")

    def _match(self, match: Match, supervisor: Supervisor) -> tuple[Status, JSON]:
        """Return what became of a match and what was found, split by split."""
        found = Compared()
        failed: NoTreesError | None = None
        for a, b in zip(match.a.trials, match.b.trials, strict=True):
            grown = (
                self._grow(match.a, a, ("trees", "training"), supervisor),
                self._grow(match.b, b, ("trees",), supervisor),
            )
            try:
                found.add(a.split.label, self._compared(*grown))
            except NoTreesError as error:
                failed = failed or error
            self.progress.step(f"{a.algorithm} on {a.dataset}")
        return failed.status if failed else Status.DONE, found.to_json(str(failed or ""))

    def _grow(
        self, job: Job, trial: Trial, exports: tuple[str, ...], supervisor: Supervisor
    ) -> _Grown:
        """Run one trial, store its outcome, and return what it exported."""
        one = replace(job, trials=(trial,), exports=exports)
        (outcome,) = supervisor.supervise(one)
        arrays = {name: _load(outcome.arrays[name]) for name in exports if name in outcome.arrays}
        # the training rows are for the comparison only
        kept = {name: path for name, path in outcome.arrays.items() if name != "training"}
        source = outcome_path(supervisor.folder, trial.id)
        stored = self.store.record(self.run_id, replace(outcome, arrays=kept), source)
        if rows := outcome.arrays.get("training"):
            Path(rows).unlink(missing_ok=True)
        self.registry.announce(stored)
        return _Grown(
            stored,
            TreeEnsemble.from_arrays(arrays["trees"]) if "trees" in arrays else None,
            Training.from_arrays(arrays["training"]) if "training" in arrays else None,
        )

    def _compared(self, one: _Grown, other: _Grown) -> Comparison:
        a, b = (self._side(grown) for grown in (one, other))
        if one.training is None:
            raise NoTreesError(_why_not(one.outcome, "training"), Status.FAILED)
        try:
            return compare(a, b, one.training)
        except DataError as error:
            raise NoTreesError(str(error), Status.FAILED) from error

    def _side(self, grown: _Grown) -> Side:
        """Return the trees of an outcome, or raise the reason why there are none."""
        outcome, trial = grown.outcome, grown.outcome.trial
        if outcome.status in FAILURES:
            message = outcome.failure.message if outcome.failure else outcome.status.value
            raise NoTreesError(f"{trial.algorithm} failed: {message}", outcome.status)
        if grown.trees is None:
            raise NoTreesError(_why_not(outcome, "trees"), Status.SKIPPED)
        algorithm = self.registry.algorithm(trial.algorithm)
        speaks = trial.algorithm if algorithm.origin == "reference" else algorithm.reference
        return Side(grown.trees, trial.algorithm, trial.params, speaks or "")


def _why_not(outcome: Outcome, name: str) -> str:
    """Return the note that says why something was not exported."""
    notes = [str(note) for note in outcome.facts.get("notes", ())]
    told = next((n for n in notes if n.startswith(f"{name} not exported")), f"no {name}")
    return f"{outcome.trial.algorithm}: {told}"


def _load(path: str) -> dict[str, np.ndarray]:
    """Return the arrays that a worker of ours wrote; nothing in them is ever unpickled."""
    with np.load(path, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
