"""Carry out a job trial by trial in worker processes, whatever becomes of them.

A worker that dies, hangs or grows too large costs the trial in flight; the rest of its job goes
on in a new one. No store is touched: outcomes are yielded, and outcome files lie in the work
folder until whoever stored them discards them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from harness.core.errors import HarnessError, StoreError
from harness.core.ids import canonical
from harness.core.model import JSON, Job, Outcome, Sample, Status, Trial, to_json
from harness.core.outcome_files import outcome_path, read_outcome, write_outcome
from harness.core.units import utc_now
from harness.execution.pool import Pool, idle_workers
from harness.execution.session import (
    DiedError,
    OverMemoryError,
    RefusedError,
    Session,
    SessionError,
    TooLateError,
)

ATTEMPTS = 3  # deaths in a row at start-up before the rest of a job is given up
ROWS_ONE_BY_ONE = 100
KINDS = frozenset({"categorical", "sparse", "large"})  # of tables that need other kernels
ACCURACY = ("prepare", "fit", "predict", "finish")
TIMED = ("prepare", "fit", "predict", "fit", "predict", "predict_one", "finish")  # cold, then warm


@dataclass(frozen=True)
class Compiled:
    """What became of compiling one algorithm's kernels; a note tells what could not be run.

    ``functions`` were compiled, and run, in ``seconds`` of wall time; 0: all were read from the
    cache. ``cpu`` are the processor seconds of compiling alone, ``first`` the wall seconds of the
    first fit and its predictions.
    """

    algorithm: str
    seconds: float
    notes: tuple[str, ...] = ()
    functions: int = 0
    threads: int = 1
    environment: str = "here"
    cpu: float = 0.0
    first: float = 0.0


class Supervisor:
    """Turn jobs into outcomes; may be called from several threads at once.

    Parameters
    ----------
    folder
        Where workers put outcome files; of one run alone.
    start_timeout
        Seconds for a worker to import its plugin; the least that it has to compile.
    load_timeout
        Seconds for a worker to bring a table, which may have to be fetched.
    idle
        Workers that are kept for a later job; by default as many as there is memory for.
    pool
        Workers of another supervisor, which closes them, instead of own ones.
    """

    def __init__(
        self,
        folder: Path,
        *,
        start_timeout: float = 120.0,
        load_timeout: float = 1800.0,
        idle: int | None = None,
        pool: Pool | None = None,
    ) -> None:
        self.folder = folder.absolute()
        self.start_timeout = start_timeout
        self.load_timeout = load_timeout
        self.pool = pool or Pool(self.folder, idle_workers() if idle is None else idle)

    def beside(self, folder: Path) -> Supervisor:
        """Return a supervisor of the same workers that puts outcome files into another folder."""
        folder.mkdir(parents=True, exist_ok=True)
        start, load = self.start_timeout, self.load_timeout
        return Supervisor(folder, start_timeout=start, load_timeout=load, pool=self.pool)

    def supervise(self, job: Job) -> Iterator[Outcome]:
        """Run the trials of a job in order and yield what became of each.

        A job ends early, without a word, only where the supervisor was closed meanwhile.

        Raises
        ------
        StoreError
            Where the work folder cannot be written.
        """
        with self._disk():
            yield from self._supervised(job)

    def _supervised(self, job: Job) -> Iterator[Outcome]:
        session: Session | None = None
        try:
            for index, trial in enumerate(job.trials):
                if session is None or not session.alive:
                    try:
                        session = self._ready(job, session)
                    except SessionError as error:
                        if not self.pool.closed:
                            yield from self._all_failed(job.trials[index:], error)
                        return
                outcome = self._run(session, job, trial)
                if outcome.status is not Status.DONE:
                    if self.pool.closed:
                        return  # it failed because it was stopped
                    self._leave_on_disk(outcome)
                yield outcome
        finally:
            if session is not None:
                self.pool.give_back(job, session)

    def warm(self, job: Job, kinds: Iterable[str] = KINDS) -> Compiled:
        """Have the algorithm of a job compile what it compiles, with the params of its trials.

        ``kinds`` are those of `KINDS` that its tables will have.
        """
        params = list({canonical(t.params): t.params for t in job.trials}.values())
        job = replace(job, trials=())  # else a timed one would have it pinned and not kept
        session: Session | None = None
        try:
            with self._disk():
                session = self.pool.take(job)
            self._greet(job, session)
            limit = max(job.limits.timeout, self.start_timeout)  # what hangs here hangs later too
            asked = {"params": to_json(params) or [{}], "kinds": sorted(kinds)}
            reply = session.ask("warm", limit, **asked)
        except SessionError as error:
            return Compiled(job.algorithm, 0.0, (str(error),))
        finally:
            if session is not None:
                self.pool.give_back(job, session)
        sample, notes = reply["samples"][0], tuple(reply["notes"])
        # A worker of an older source tree does not count them.
        functions, cpu = reply.get("functions", 0), reply.get("compiling", sample["cpu"])
        taken = sample["wall"], notes, functions, job.threads, job.environment.name, cpu
        return Compiled(job.algorithm, *taken, reply.get("first", sample["wall"]))

    def open_session(self, job: Job) -> Session:
        """Return a new worker, as a duel needs it: the caller pins and closes it."""
        with self._disk():
            return self.pool.start(job, pinned=False)

    def end_idle(self) -> None:
        """End the workers that are kept for later jobs."""
        self.pool.end_idle()

    def close(self) -> None:
        """End all workers, also those that another thread waits for."""
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """Tell trouble with the work folder as a fault of the store."""
        try:
            yield
        except OSError as error:
            raise StoreError(f"the work folder {self.folder} cannot be used: {error}") from error

    def _ready(self, job: Job, dead: Session | None) -> Session:
        """Return a worker that holds the job's plugin and table, after some attempts."""
        if dead is not None:
            self.pool.give_back(job, dead)
        for attempt in range(1, ATTEMPTS + 1):
            session = self.pool.take(job)
            try:
                self._greet(job, session)
                session.load(job.dataset, self.load_timeout)
            except BaseException as error:
                self.pool.give_back(job, session)
                # The kernel ends idle workers first, so one that was kept may have been its victim.
                again = isinstance(error, DiedError) and attempt < ATTEMPTS
                again = again or (isinstance(error, OverMemoryError) and attempt == 1)
                if not again:
                    raise
            else:
                break
        return session

    def _greet(self, job: Job, session: Session) -> None:
        session.memory = job.limits.memory
        session.hello(job, self.start_timeout)

    def _run(self, session: Session, job: Job, trial: Trial) -> Outcome:
        """Take one trial through its phases and return what became of it."""
        started, limit = utc_now(), session.time_limit(job.limits.timeout)
        before = self.pool.crowd()
        samples: list[Sample] = []
        session.begin_trial()
        for do in TIMED if trial.timed else ACCURACY:
            fields = self._fields(do, job, trial, before)
            try:
                reply = session.ask(do, limit, **fields)
            except SessionError as error:
                if do == "finish" and isinstance(error, RefusedError):
                    raise StoreError(f"cannot write to {self.folder}: {error}") from error
                facts = {
                    **_said(session),
                    "failed_in": do,
                    "alone": self._alone(before),
                    "limits": to_json(job.limits),
                    **error.facts,
                }
                failed = _failed(trial, _for_people(error, do, job), facts)
                return replace(failed, samples=tuple(samples), started=started)
            samples += [Sample(**s) for s in reply.get("samples", ())]
        try:
            return read_outcome(outcome_path(self.folder, trial.id))
        except HarnessError as error:
            raise StoreError(str(error)) from error

    def _fields(self, do: str, job: Job, trial: Trial, before: tuple[int, int]) -> JSON:
        """Return what a request carries beside its name."""
        if do == "prepare":
            return {"trial": to_json(trial)}
        if do == "predict_one":
            return {"rows": ROWS_ONE_BY_ONE}
        if do != "finish":
            return {}
        return {
            "outcome": str(outcome_path(self.folder, trial.id)),
            "arrays": str(self.folder),
            "exports": list(job.exports),
            "extra": {"alone": self._alone(before), "environment": job.environment.name},
        }

    def _alone(self, before: tuple[int, int]) -> bool:
        """Say whether no other worker was busy since: only then do times mean speed."""
        return before == self.pool.crowd() and before[0] == 1

    def _all_failed(self, trials: Iterable[Trial], error: SessionError) -> Iterator[Outcome]:
        """Yield the same failure for all trials that no worker could be had for."""
        for trial in trials:
            outcome = _failed(trial, error, {"failed_in": "start"})
            self._leave_on_disk(outcome)
            yield outcome

    def _leave_on_disk(self, outcome: Outcome) -> None:
        """Write a failure as a worker writes a success: a killed run need not repeat it."""
        write_outcome(outcome_path(self.folder, outcome.trial.id), outcome)


def _for_people(error: SessionError, do: str, job: Job) -> SessionError:
    """Name the limit that the user set, where it is what ended a trial."""
    if not isinstance(error, TooLateError):
        return error
    message = f"not done within {job.limits.timeout:g} s; it was in {do!r}"
    if compiling := error.facts.get("compiling"):
        message += f" ({compiling:.1f} s of compiling are not counted)"
    load = error.facts["machine_load"]
    if load.get("loaded"):
        message += (
            f"; the machine was loaded: other programs used {load['others']:.1f} of "
            f"{load['processors']} processors, so the next run tries it again"
        )
    return TooLateError(replace(error.failure, message=message), error.facts)


def _failed(trial: Trial, error: SessionError, facts: JSON) -> Outcome:
    now = utc_now()
    return Outcome(trial, error.status, failure=error.failure, facts=facts, started=now, ended=now)


def _said(session: Session) -> JSON:
    """Return the facts of a worker's ``hello`` that belong to an outcome."""
    return {k: v for k, v in session.facts.items() if k not in {"v", "n", "ok", "samples"}}
