"""Checks of executors: each trial is run once, and its outcome is yielded unchanged."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from harness.conformance.findings import BrokenError, contract_check, require
from harness.conformance.registered_object import RegisteredObject
from harness.core.model import DatasetRef, Failure, Job, Outcome, Split, Status, Task, Trial

SECONDS = 0.02  # duration of a fake trial
REST = 0.3  # seconds to wait for jobs that start after a stop


def job_of(name: str, trials: int, *, timed: bool = False) -> Job:
    """Return a fake job of some trials."""
    made = tuple(
        Trial("made", {}, "native", name, Split(fold=fold), 0, 1, f"c{name}{fold}", f"{name}{fold}",
              Task.BINARY, timed=timed)
        for fold in range(trials)
    )  # fmt: skip
    return Job("made", "made", DatasetRef(name, "0"), made)


JOBS = (job_of("a", 3), job_of("b", 1), job_of("c", 0), job_of("d", 2))
TIMED = (job_of("e", 2, timed=True), job_of("f", 2, timed=True))


class RecordingSupervisor:
    """Fake supervisor that finishes every trial at once and records it."""

    def __init__(self, *, fails: str = "", raises: str = "") -> None:
        self.fails, self.raises = fails, raises
        self.began: list[str] = []
        self.outcomes: dict[str, Outcome] = {}
        self.most = 0  # maximum number of trials that ran at once with a timed one
        self._busy: dict[str, bool] = {}
        self._lock = threading.Lock()

    def supervise(self, job: Job) -> Iterator[Outcome]:
        """Yield an outcome for each trial, in order."""
        if job.dataset.name == self.raises:
            raise RuntimeError(self.raises)
        for trial in job.trials:
            with self._lock:
                self.began.append(trial.id)
                self._busy[trial.id] = trial.timed
                if len(self._busy) > 1 and any(self._busy.values()):
                    self.most = max(self.most, len(self._busy))
            time.sleep(SECONDS)
            with self._lock:
                del self._busy[trial.id]
            outcome = Outcome(trial, Status.DONE, facts={"of": trial.id})
            if job.dataset.name == self.fails:
                failure = Failure("made", "intended failure")
                outcome = replace(outcome, status=Status.FAILED, failure=failure)
            self.outcomes[trial.id] = outcome
            yield outcome


def run_jobs(
    registered: RegisteredObject, supervisor: RecordingSupervisor, jobs: tuple[Job, ...]
) -> list[Any]:
    """Return the outcomes that an executor yields."""
    return list(registered.value.run(list(jobs), supervisor.supervise, {}))


@contract_check("the declaration is complete", kind="executor")
def complete(registered: RegisteredObject) -> None:
    """Check that the executor has a summary."""
    require(bool(registered.value.summary), "summary is empty: `harness list executors` shows it")


@contract_check("every trial is run once, and its outcome is returned unchanged", kind="executor")
def every_trial_once(registered: RegisteredObject) -> None:
    """Run six trials of four jobs."""
    supervisor = RecordingSupervisor()
    outcomes = run_jobs(registered, supervisor, JOBS)
    expected = sorted(trial.id for job in JOBS for trial in job.trials)
    require(
        sorted(supervisor.began) == expected, f"it started {sorted(supervisor.began)} of {expected}"
    )
    whole = all(isinstance(outcome, Outcome) for outcome in outcomes)
    require(whole, "it yields an object that is not a harness.Outcome")
    yielded = sorted(outcome.trial.id for outcome in outcomes)
    require(yielded == expected, f"it yielded outcomes of {yielded}; {expected} were run")
    same = all(outcome == supervisor.outcomes[outcome.trial.id] for outcome in outcomes)
    require(same, "an outcome differs from the one that supervise returned")


@contract_check("outcomes of a job keep the order of its trials", kind="executor")
def in_order(registered: RegisteredObject) -> None:
    """Compare the order of outcomes within each job."""
    trial_ids = [outcome.trial.id for outcome in run_jobs(registered, RecordingSupervisor(), JOBS)]
    for job in JOBS:
        expected = [trial.id for trial in job.trials]
        yielded = [name for name in trial_ids if name in expected]
        require(yielded == expected, f"it yielded {yielded}; the order in the job is {expected}")


@contract_check("a failed trial does not stop the others", kind="executor")
def failures_pass(registered: RegisteredObject) -> None:
    """Let the trials of one job fail."""
    outcomes = run_jobs(registered, RecordingSupervisor(fails="a"), JOBS)
    failed = [outcome for outcome in outcomes if outcome.status is Status.FAILED]
    require(
        len(outcomes) == 6 and len(failed) == 3,
        f"it yielded outcomes of {len(outcomes)} of 6 trials",
    )


@contract_check("without jobs nothing is run", kind="executor")
def no_jobs(registered: RegisteredObject) -> None:
    """Run an empty list of jobs."""
    require(
        run_jobs(registered, RecordingSupervisor(), ()) == [],
        "it yields outcomes although there are no jobs",
    )


@contract_check("an exception of supervise reaches the caller", kind="executor")
def errors_reach(registered: RegisteredObject) -> None:
    """Let one job raise, as a full disk does."""
    try:
        run_jobs(registered, RecordingSupervisor(raises="b"), JOBS)
    except Exception:  # noqa: BLE001 - any exception is fine
        return
    raise BrokenError("supervise raised, but the executor ended without an exception")


@contract_check("timed trials run alone", kind="executor")
def timed_alone(registered: RegisteredObject) -> None:
    """Count the trials that run at the same time as a timed trial."""
    supervisor = RecordingSupervisor()
    run_jobs(registered, supervisor, (*JOBS, *TIMED))
    require(
        supervisor.most == 0, f"{supervisor.most} trials ran at the same time, one of them timed"
    )


@contract_check("no trial starts after the caller stops", kind="executor")
def stops(registered: RegisteredObject) -> None:
    """Stop after the first outcome: running trials may end, and no job may start."""
    supervisor = RecordingSupervisor()
    jobs = [job_of(f"{n}", 1) for n in range(40)]
    run = iter(registered.value.run(jobs, supervisor.supervise, {}))
    next(run)
    if hasattr(run, "close"):
        run.close()
    time.sleep(5 * SECONDS)
    started = len(supervisor.began)
    time.sleep(REST)
    later = len(supervisor.began) - started
    require(later == 0, f"{later} more trials started after the caller had stopped")
