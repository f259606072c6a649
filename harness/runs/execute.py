"""Execution of a plan: reuse stored outcomes, run the rest, store each outcome as it comes."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Protocol

from harness.core import machine
from harness.core.model import FAILURES, JSON, Duel, DuelOutcome, Job, Outcome, Status
from harness.core.outcome_files import outcome_path
from harness.core.progress import Progress
from harness.execution.compiling import KIND, compile_and_report
from harness.execution.supervisor import Supervisor
from harness.measurement.duel import OverdueError, run_duel
from harness.measurement.tree_comparison import Comparisons, jobs_of
from harness.planning.plan import Plan
from harness.planning.reuse import Pins, reusable, reusable_duels
from harness.planning.tree_comparisons import Match
from harness.plugins.registry import Registry
from harness.store import Store


@dataclass(frozen=True)
class Options:
    """Options of the execution of a plan."""

    executor: str = "local"
    executor_options: JSON = field(default_factory=dict)
    fresh: bool = False  # do not reuse stored outcomes
    retry_failed: bool = False
    deadline: float = math.inf  # monotonic clock; nothing is started after it
    max_rounds: int = 0  # maximum splits of a run with a time budget; 0: as many as fit


Noun = Literal["trial", "duel", "comparison"]


@dataclass
class Tally:
    """Counts of trials, duels and tree comparisons by status, including reused ones."""

    ends: dict[Noun, dict[Status, int]] = field(default_factory=dict)
    reused: int = 0
    old_failures: int = 0  # of the reused ones

    def add(self, noun: Noun, status: Status, *, reused: bool = False) -> None:
        """Count one result."""
        same = self.ends.setdefault(noun, {})
        same[status] = same.get(status, 0) + 1
        self.reused += reused
        self.old_failures += reused and status in FAILURES

    @property
    def exit_code(self) -> int:
        """Return 0 (all ran), 4 (nothing was measured) or 3 (some failed), in that order."""
        statuses = {status for same in self.ends.values() for status in same}
        if Status.DONE not in statuses:
            return 4
        return 3 if statuses & FAILURES else 0

    def sentence(self) -> str:
        """Return the counts in words: "12 trials done, 1 failed; 2 duels done"."""
        parts = []
        for noun, same in self.ends.items():
            ends = [status for status in Status if status in same]  # in the order of Status
            counts = [f"{same[status]} {status.replace('_', ' ')}" for status in ends]
            first, _, rest = ", ".join(counts).partition(" ")
            parts.append(f"{first} {noun}{'s' if first != '1' else ''} {rest}")
        message = "; ".join(parts) or "nothing was measured"
        if self.reused:
            message += f"; {self.reused} of them known from earlier runs"
        if self.old_failures:
            message += f" ({self.old_failures} failed then; --retry-failed runs them again)"
        return message


class Clock(Protocol):
    """Clock of a run with a time budget."""

    @property
    def deadline(self) -> float:
        """Return the deadline of the trials, on the monotonic clock."""

    def paused(self) -> AbstractContextManager[None]:
        """Stop the clock during the body."""


@dataclass
class Execution:
    """Execution of a plan with results in an open store."""

    store: Store
    run_id: str
    registry: Registry
    progress: Progress
    options: Options
    tally: Tally = field(default_factory=Tally)
    pins: Pins = field(default_factory=Pins)
    slowest: float = 0.0  # seconds of the slowest trial that was run

    def carry_out(self, plan: Plan, matches: Iterable[Match] = ()) -> Tally:
        """Run everything that is not stored yet, and return the counts of all results.

        ``matches`` are the trials of the plan whose trees are compared afterwards. Duels take the
        longest and come last, so that a deadline affects them first.

        Every outcome is stored in one transaction before the next is waited for, so that an
        interruption loses at most the running trials.
        """
        self._warn_threads(plan)
        for outcome in plan.skipped:
            self.store.record(self.run_id, outcome)
            self.tally.add("trial", outcome.status)
        for reason in dict.fromkeys(o.failure.message for o in plan.skipped if o.failure):
            self.progress.message(f"  {reason}")
        jobs = self._unknown_jobs(plan.jobs)
        duels = self._unknown_duels(plan.duels)
        unknown = self._unknown_matches(matches)
        self.pins.keep()
        with Supervisor(self.store.workdir(self.run_id)) as supervisor:
            sides = [side for duel in duels for side in (duel.a, duel.b)]
            ready = [*jobs, *sides, *jobs_of(unknown)]
            note = partial(self.store.event, self.run_id, KIND)
            compile_and_report(ready, supervisor, self.registry, self.progress, note)
            self._run(jobs, supervisor)
            self._compare(unknown, supervisor)
            self._run_duels(duels, supervisor)
        # All outcomes are stored. After an interruption the next writer collects the files instead.
        shutil.rmtree(supervisor.folder, ignore_errors=True)
        return self.tally

    def carry_out_rounds(
        self,
        rounds: Sequence[Sequence[Job]],
        plan: Plan,
        clock: Clock,
        compiled: Sequence[JSON] | None = None,
    ) -> int:
        """Run splits one after another, each with every algorithm, while time remains for another.

        Time also remains for one more run of the slowest trial: the diagnostics train the
        recommended algorithm again.

        Parameters
        ----------
        rounds
            The jobs of each split. The first one is always run.
        clock
            Clock with the deadline of the last split.
        compiled
            Notes on kernels compiled before; None: not compiled yet.
        """
        self._warn_threads(plan)
        for outcome in plan.skipped:
            self.store.record(self.run_id, outcome)
            self.tally.add("trial", outcome.status)
        done, longest = 0, 0.0
        with Supervisor(self.store.workdir(self.run_id)) as supervisor:
            note = partial(self.store.event, self.run_id, KIND)
            for event in compiled or ():
                note(event)
            if compiled is None:
                with clock.paused():
                    compile_and_report(plan.jobs, supervisor, self.registry, self.progress, note)
            for jobs in rounds[: self.options.max_rounds or len(rounds)]:
                began = time.monotonic()
                known_count = bool(self.options.max_rounds)  # an earlier run finished this number
                if not known_count and done and began + longest + self.slowest > clock.deadline:
                    break
                self.store.plan_trials(self.run_id, [t for job in jobs for t in job.trials])
                remaining = self._unknown_jobs(jobs)
                self.pins.keep()
                self._run(remaining, supervisor, f"split {done + 1}")
                longest = max(longest, time.monotonic() - began)
                done += 1
        shutil.rmtree(supervisor.folder, ignore_errors=True)
        return done

    def print_missing_references(self, plan: Plan) -> None:
        """Print a note for algorithms of the plan whose reference is not registered."""
        chosen = (plan.declared or {}).get("algorithms", {})
        for name, message in self.registry.missing_references().items():
            if name in chosen:
                self.progress.message(f"note: {message}")

    def _warn_threads(self, plan: Plan) -> None:
        """Print a warning if local trials use more threads than can run at once."""
        if self.options.executor == "local" and (message := machine.too_many_threads(plan.threads)):
            self.progress.message(message)

    def _unknown_jobs(self, planned: Iterable[Job]) -> list[Job]:
        """Attach stored outcomes to the run and return jobs with the remaining trials."""
        jobs = list(planned)
        old = [] if self.options.fresh else jobs
        known = reusable(self.store, old, self.pins, retry_failed=self.options.retry_failed)
        self._reuse("trial", known)
        self.store.attach(self.run_id, *known)
        remaining = (
            replace(job, trials=tuple(t for t in job.trials if t.id not in known)) for job in jobs
        )
        return [job for job in remaining if job.trials]

    def _unknown_duels(self, duels: Iterable[Duel]) -> list[Duel]:
        planned = list(duels)
        old = [] if self.options.fresh else planned
        known = reusable_duels(self.store, old, self.pins, retry_failed=self.options.retry_failed)
        self._reuse("duel", known)
        self.store.attach_duels(self.run_id, *known)
        return [duel for duel in planned if duel.id not in known]

    def _unknown_matches(self, planned: Iterable[Match]) -> list[Match]:
        matches = list(planned)
        known: dict[str, Status] = {}
        if not self.options.fresh:
            retry = self.options.retry_failed
            known = self._comparisons().attach(matches, self.pins, retry_failed=retry)
        self._reuse("comparison", known)
        return [match for match in matches if match.what["id"] not in known]

    def _reuse(self, noun: Noun, known: dict[str, Status]) -> None:
        for status in known.values():
            self.tally.add(noun, status, reused=True)

    def _run(self, jobs: list[Job], supervisor: Supervisor, stage: str = "trials") -> None:
        in_rounds = stage != "trials"  # a started split is finished
        if not jobs or (self._late() and not in_rounds):
            return
        self.progress.stage(stage, sum(len(job.trials) for job in jobs))
        options = dict(self.options.executor_options)
        if self.options.executor == "local":
            options.setdefault("jobs", side_by_side(jobs))
        run = self.registry.entry("executor", self.options.executor).value.run

        def in_time(job: Job) -> Iterator[Outcome]:
            """Run a job's trials; start none after the deadline."""
            if self._late() and not in_rounds:
                return
            for outcome in supervisor.supervise(job):
                yield outcome
                if self._late() and not in_rounds:
                    return

        for outcome in run(jobs, in_time, options):
            source = outcome_path(supervisor.folder, outcome.trial.id)
            stored = self.store.record(self.run_id, outcome, source)
            self.slowest = max(self.slowest, sum(sample.wall for sample in outcome.samples))
            self.tally.add("trial", outcome.status)
            self.progress.trial(stored)
            for reason in self.registry.announce(stored):
                self.progress.message(f"  {reason}")
            if self._late() and not in_rounds and self.options.executor != "local":
                break  # remote workers do not check the deadline

    def _late(self) -> bool:
        """Return whether the deadline has passed."""
        return time.monotonic() >= self.options.deadline

    def _run_duels(self, duels: list[Duel], supervisor: Supervisor) -> None:
        """Run duels, each alone on its machine."""
        if not duels or self._late():
            return
        self.progress.stage("duels", len(duels))
        supervisor.end_idle()  # a duel starts its own workers and needs the memory

        def here(duel: Duel) -> DuelOutcome:
            self.progress.duel_started(duel)
            return run_duel(duel, supervisor.open_session, deadline=self.options.deadline)

        run_all = self.registry.entry("executor", self.options.executor).value.run_duels
        options = dict(self.options.executor_options)
        try:
            for outcome in run_all(duels, here, options) if run_all else map(here, duels):
                self.store.record_duel(self.run_id, outcome)
                self.tally.add("duel", outcome.status)
                self.progress.duel(outcome)
        except OverdueError as error:
            self.progress.message(f"  {error}")

    def _compare(self, matches: list[Match], supervisor: Supervisor) -> None:
        """Compare trees in the workers of the trials, which have the kernels compiled."""
        if not matches or self._late():
            return
        comparisons = self._comparisons(supervisor)
        for status in comparisons.compare(matches):
            self.tally.add("comparison", status)
            if self._late():
                break

    def _comparisons(self, workers: Supervisor | None = None) -> Comparisons:
        return Comparisons(self.store, self.run_id, self.registry, self.progress, workers=workers)


def side_by_side(jobs: Iterable[Job]) -> int:
    """Return the number of jobs that can run in parallel, each with its threads."""
    threads = max((job.threads for job in jobs), default=1)  # at least 1, by the config
    return max(1, machine.usable_processors() // threads)
