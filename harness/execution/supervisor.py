"""Run the trials of jobs in worker processes, and recover from failures of these.

If a worker dies, hangs or uses too much memory, the running trial fails and the rest of the job
continues in a new worker. The supervisor does not use the store: it yields outcomes, and outcome
files stay in the work folder until the caller removes them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator
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

ATTEMPTS = 3  # failed starts in a row after which a job is given up
ROWS_ONE_BY_ONE = 100
KINDS = frozenset({"categorical", "sparse", "large"})  # tables that need other kernels
ACCURACY = ("prepare", "fit", "predict", "finish")
TIMED = ("prepare", "fit", "predict", "fit", "predict", "predict_one", "finish")  # cold, then warm


@dataclass(frozen=True)
class Compiled:
    """Result of compiling one algorithm's kernels; ``notes`` lists failed calls.

    ``functions`` is the number of compiled functions (0: all were cached), ``seconds`` the wall
    time of compiling and running them, ``cpu`` the processor seconds of compiling alone, ``first``
    the wall seconds of the first fit and its predictions.
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
    """Supervisor of workers: turns jobs into outcomes; thread-safe.

    Parameters
    ----------
    folder
        Folder of outcome files, of one run only.
    start_timeout
        Seconds for a worker to import its plugin; also the minimum limit for compiling.
    load_timeout
        Seconds for a worker to load a table, which may include a download.
    idle
        Number of idle workers to keep; by default as many as there is memory for.
    pool
        Pool of another supervisor, which closes it; by default a new one.
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
        """Return a supervisor with the same workers and another folder of outcome files."""
        folder.mkdir(parents=True, exist_ok=True)
        start, load = self.start_timeout, self.load_timeout
        return Supervisor(folder, start_timeout=start, load_timeout=load, pool=self.pool)

    def supervise(self, job: Job) -> Generator[Outcome, None, None]:
        """Run the trials of a job in order and yield their outcomes.

        Outcomes are missing only if the supervisor is closed meanwhile.

        Raises
        ------
        StoreError
            If the work folder cannot be written.
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
                        return  # failed because it was stopped
                    self._leave_on_disk(outcome)
                yield outcome
        finally:
            if session is not None:
                self.pool.give_back(job, session)

    def warm(self, job: Job, kinds: Iterable[str] = KINDS) -> Compiled:
        """Compile the kernels of a job's algorithm, with the params of its trials.

        ``kinds`` are the `KINDS` of its tables.
        """
        params = list({canonical(t.params): t.params for t in job.trials}.values())
        job = replace(job, trials=())  # the worker of a timed job would be pinned and not kept
        session: Session | None = None
        try:
            with self._disk():
                session = self.pool.take(job)
            self._import_plugin(job, session)
            limit = max(job.limits.timeout, self.start_timeout)  # not below that of a trial
            fields = {"params": to_json(params) or [{}], "kinds": sorted(kinds)}
            reply = session.ask("warm", limit, **fields)
        except SessionError as error:
            return Compiled(job.algorithm, 0.0, (str(error),))
        finally:
            if session is not None:
                self.pool.give_back(job, session)
        sample, notes = reply["samples"][0], tuple(reply["notes"])
        # Workers of older source trees do not reply these.
        functions, cpu = reply.get("functions", 0), reply.get("compiling", sample["cpu"])
        taken = sample["wall"], notes, functions, job.threads, job.environment.name, cpu
        return Compiled(job.algorithm, *taken, reply.get("first", sample["wall"]))

    def open_session(self, job: Job) -> Session:
        """Return a new worker for a duel; the caller pins and closes it."""
        with self._disk():
            return self.pool.start(job, pinned=False)

    def end_idle(self) -> None:
        """End the idle workers."""
        self.pool.end_idle()

    def close(self) -> None:
        """End all workers, even those that another thread waits for."""
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """Convert OSError of the work folder to StoreError."""
        try:
            yield
        except OSError as error:
            raise StoreError(f"the work folder {self.folder} cannot be used: {error}") from error

    def _ready(self, job: Job, dead: Session | None) -> Session:
        """Return a worker with the job's plugin and table loaded; retry failed starts."""
        if dead is not None:
            self.pool.give_back(job, dead)
        for attempt in range(1, ATTEMPTS + 1):
            session = self.pool.take(job)
            try:
                self._import_plugin(job, session)
                session.load(job.dataset, self.load_timeout)
            except BaseException as error:
                self.pool.give_back(job, session)
                # The kernel kills idle workers first if it runs out of memory, so retry once.
                again = isinstance(error, DiedError) and attempt < ATTEMPTS
                again = again or (isinstance(error, OverMemoryError) and attempt == 1)
                if not again:
                    raise
            else:
                break
        return session

    def _import_plugin(self, job: Job, session: Session) -> None:
        session.memory = job.limits.memory
        session.hello(job, self.start_timeout)

    def _run(self, session: Session, job: Job, trial: Trial) -> Outcome:
        """Run one trial through its phases and return its outcome."""
        started, limit = utc_now(), session.time_limit(job.limits.timeout)
        before = self.pool.load_snapshot()
        samples: list[Sample] = []
        session.begin_trial()
        for do in TIMED if trial.timed else ACCURACY:
            fields = self._fields(do, job, trial, before)
            if do == "finish":  # the folder may have been removed meanwhile
                with contextlib.suppress(OSError):  # then the worker reports the error
                    self.folder.mkdir(parents=True, exist_ok=True)
            try:
                reply = session.ask(do, limit, **fields)
            except SessionError as error:
                if do == "finish" and isinstance(error, RefusedError):
                    raise StoreError(f"cannot write to {self.folder}: {error}") from error
                facts = {
                    **_start_facts(session),
                    "failed_in": do,
                    "alone": self._alone(before),
                    "limits": to_json(job.limits),
                    **error.facts,
                }
                failed = _failed(trial, _with_user_message(error, do, job), facts)
                return replace(failed, samples=tuple(samples), started=started)
            samples += [Sample(**s) for s in reply.get("samples", ())]
        try:
            return read_outcome(outcome_path(self.folder, trial.id))
        except HarnessError as error:
            raise StoreError(str(error)) from error

    def _fields(self, do: str, job: Job, trial: Trial, before: tuple[int, int]) -> JSON:
        """Return the fields of a request."""
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
        """Return whether no other worker was busy since ``before``, so that times are reliable."""
        return before == self.pool.load_snapshot() and before[0] == 1

    def _all_failed(self, trials: Iterable[Trial], error: SessionError) -> Iterator[Outcome]:
        """Yield the same failure for all trials of a job without a worker."""
        for trial in trials:
            outcome = _failed(trial, error, {"failed_in": "start"})
            self._leave_on_disk(outcome)
            yield outcome

    def _leave_on_disk(self, outcome: Outcome) -> None:
        """Write the outcome file of a failure, so that a killed run need not repeat it."""
        write_outcome(outcome_path(self.folder, outcome.trial.id), outcome)


def _with_user_message(error: SessionError, do: str, job: Job) -> SessionError:
    """Return the error with a message for the user, which names the time limit after a timeout."""
    if not isinstance(error, TooLateError):
        return error
    message = f"not done within {job.limits.timeout:g} s; it was in {do!r}"
    if compiling := error.facts.get("compiling"):
        message += f" ({compiling:.1f} s of compiling are not counted)"
    load = error.facts["machine_load"]
    if load.get("loaded"):
        message += (
            f"; the machine was loaded: other programs used {load['others']:.1f} of "
            f"{load['processors']} processors, so the next run repeats the trial"
        )
    return TooLateError(replace(error.failure, message=message), error.facts)


def _failed(trial: Trial, error: SessionError, facts: JSON) -> Outcome:
    now = utc_now()
    return Outcome(trial, error.status, failure=error.failure, facts=facts, started=now, ended=now)


def _start_facts(session: Session) -> JSON:
    """Return the facts in a worker's reply to ``hello`` that belong to an outcome."""
    return {k: v for k, v in session.facts.items() if k not in {"v", "n", "ok", "samples"}}
