"""Checks of executors: each trial is run once, and its outcome is yielded unchanged."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from harness.conformance.findings import BrokenError, demand, promise
from harness.conformance.held import Held
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


class Watch:
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
                failure = Failure("made", "as it was asked for")
                outcome = replace(outcome, status=Status.FAILED, failure=failure)
            self.outcomes[trial.id] = outcome
            yield outcome


def carried_out(held: Held, watch: Watch, jobs: tuple[Job, ...]) -> list[Any]:
    """Return the outcomes that an executor yields."""
    return list(held.value.run(list(jobs), watch.supervise, {}))


@promise("the declaration is complete", kind="executor")
def complete(held: Held) -> None:
    """Check that the executor has a summary."""
    demand(bool(held.value.summary), "summary is empty: `harness list executors` shows it")


@promise("every trial of every job is run once, and its outcome told as it was", kind="executor")
def every_trial_once(held: Held) -> None:
    """Run six trials of four jobs."""
    watch = Watch()
    found = carried_out(held, watch, JOBS)
    wanted = sorted(trial.id for job in JOBS for trial in job.trials)
    demand(sorted(watch.began) == wanted, f"it began {sorted(watch.began)} of {wanted}")
    whole = all(isinstance(outcome, Outcome) for outcome in found)
    demand(whole, "it yields what is no harness.Outcome")
    told = sorted(outcome.trial.id for outcome in found)
    demand(told == wanted, f"it told of {told} where {wanted} were run")
    same = all(outcome == watch.outcomes[outcome.trial.id] for outcome in found)
    demand(same, "an outcome is not as supervise gave it")


@promise("the trials of a job are told in their order", kind="executor")
def in_order(held: Held) -> None:
    """Compare the order of outcomes within each job."""
    found = [outcome.trial.id for outcome in carried_out(held, Watch(), JOBS)]
    for job in JOBS:
        wanted = [trial.id for trial in job.trials]
        mine = [name for name in found if name in wanted]
        demand(mine == wanted, f"it told of {mine} where the job has {wanted}")


@promise("a trial that fails costs no other", kind="executor")
def failures_pass(held: Held) -> None:
    """Let the trials of one job fail."""
    found = carried_out(held, Watch(fails="a"), JOBS)
    failed = [outcome for outcome in found if outcome.status is Status.FAILED]
    demand(len(found) == 6 and len(failed) == 3, f"it told of {len(found)} trials of 6")


@promise("no job is no work", kind="executor")
def nothing(held: Held) -> None:
    """Run no jobs."""
    demand(carried_out(held, Watch(), ()) == [], "it yields outcomes of nothing")


@promise("what supervise raises reaches the caller", kind="executor")
def errors_reach(held: Held) -> None:
    """Let one job raise, as a full disk does."""
    try:
        carried_out(held, Watch(raises="b"), JOBS)
    except Exception:  # noqa: BLE001 - any exception is fine
        return
    raise BrokenError("supervise raised, and it ended as if all were well")


@promise("timed trials run alone", kind="executor")
def timed_alone(held: Held) -> None:
    """Count the trials that run at the same time as a timed trial."""
    watch = Watch()
    carried_out(held, watch, (*JOBS, *TIMED))
    demand(watch.most == 0, f"{watch.most} trials ran at once, a timed one among them")


@promise("a caller that stops early is obeyed", kind="executor")
def stops(held: Held) -> None:
    """Stop after the first outcome: running trials may end, and no job may start."""
    watch = Watch()
    jobs = [job_of(f"{n}", 1) for n in range(40)]
    run = iter(held.value.run(jobs, watch.supervise, {}))
    next(run)
    if hasattr(run, "close"):
        run.close()
    time.sleep(5 * SECONDS)
    begun = len(watch.began)
    time.sleep(REST)
    later = len(watch.began) - begun
    demand(later == 0, f"{later} more trials began after the caller had stopped")
