"""Session with one worker process: start it, send requests, enforce limits, end it.

Every failure is raised as a :class:`SessionError` with the status and the failure of the outcome.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from harness.core import processes
from harness.core.errors import HarnessError
from harness.core.machine_load import LoadMeter
from harness.core.model import JSON, DatasetRef, Failure, Job, Status, to_json
from harness.core.processes import Mark
from harness.core.time_limits import TimeLimit
from harness.execution.channel import Channel, GarbledError
from harness.execution.fork_server import UNKNOWN_END
from harness.execution.worker_start import WorkerFiles, python_of, start_worker
from harness.worker import LOST_CHANNEL
from harness.worker.compile_clock import read_compile_time

LOG_CAP = 8 << 20  # bytes; the log of a plugin's output is cleared beyond it
MIB = 1 << 20

_numbers = itertools.count()


class SessionError(HarnessError):
    """Failed request, with the status and failure for the outcome."""

    status = Status.CRASHED

    def __init__(self, failure: Failure, facts: JSON | None = None) -> None:
        super().__init__(f"{failure.kind}: {failure.message}")
        self.failure = failure
        self.facts: JSON = facts or {}  # measurements for the outcome


class RefusedError(SessionError):
    """Exception in the plugin or its data; the session is still usable."""

    status = Status.FAILED


class TooLateError(SessionError):
    """Timeout of a request; the worker was killed."""

    status = Status.TIMEOUT


class OverMemoryError(SessionError):
    """Memory above the limit, or out of memory; the worker is dead."""

    status = Status.OUT_OF_MEMORY


class DiedError(SessionError):
    """Unexpected end of the worker, or a protocol error; the worker is dead."""


class Session:
    """One worker process.

    Parameters
    ----------
    job
        Job with the interpreter, the source tree and the number of threads.
    folder
        Folder of the worker's output files while it lives.
    cpus
        Processors to pin the worker to; empty: no pinning.
    forked
        Whether the worker may be a fork of a template process. Forks share the layout of their
        memory, so their times must not be compared.

    Attributes
    ----------
    memory : int
        Limit of the resident bytes of the worker and its descendants; 0: none.
    facts : dict
        Reply of the worker to ``hello``.
    dataset : DatasetRef or None
        Dataset that the worker has loaded.
    """

    def __init__(
        self, job: Job, folder: Path, cpus: Sequence[int] = (), *, forked: bool = False
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"worker-{os.getpid()}-{next(_numbers)}"
        self.files = WorkerFiles(folder, name)
        self._mark = Mark.now(str(self.files.state))
        self.memory = job.limits.memory
        self.facts: JSON = {}
        self.algorithm = ""  # the algorithm that the worker has loaded
        self.dataset: DatasetRef | None = None
        self.alive = True
        self.ended = threading.Event()  # set when all its processes and files are gone
        self._cpus = cpus
        self._threads = job.threads
        self._asking = False
        self._lock = threading.Lock()
        self._largest = 0  # maximum of resident bytes so far
        self._oom_kills = processes.kernel_oom_kills()
        self._channel = Channel()
        try:
            reply_to = self._channel.write_end
            self.process = start_worker(job, self.files, reply_to, cpus, forked=forked)
        except OSError as error:
            self._channel.close()
            self.files.remove()
            message = f"cannot start {python_of(job)}: {error.strerror}"
            raise DiedError(Failure("OSError", message)) from error
        finally:
            self._channel.release()
        assert self.process.stdin is not None
        self._channel.connect(self.process.stdin)
        self._load = LoadMeter(self.process.pid, cpus)

    def hello(self, job: Job, timeout: float | TimeLimit) -> None:
        """Let the worker import the plugin of a job and its libraries, unless already done."""
        if self.algorithm == job.algorithm:
            return
        self.algorithm = ""  # in case of failure
        self.facts = self.ask(
            "hello",
            timeout,
            plugin=job.plugin,
            plugins=list(job.plugins),
            algorithm=job.algorithm,
            threads=job.threads,
        )
        self.algorithm = job.algorithm

    def load(self, dataset: DatasetRef, timeout: float | TimeLimit) -> None:
        """Let the worker load a table, unless already loaded."""
        if self.dataset != dataset:
            self.dataset = None
            reply = self.ask("load", timeout, dataset=to_json(dataset))
            self.facts = {**self.facts, "pins": reply.get("pins", {})}
            self.dataset = dataset

    def ask(self, do: str, timeout: float | TimeLimit, **fields: Any) -> JSON:
        """Send one request and return its reply.

        Parameters
        ----------
        do
            Name of the request, see ``docs/architecture.md``.
        timeout
            Seconds until the worker is killed, or a limit shared with other requests.

        Raises
        ------
        RefusedError
            If the plugin raised; the session is still usable.
        TooLateError, OverMemoryError, DiedError
            If the worker timed out, used too much memory, or ended; the session is over.
        """
        with self._lock:
            if not self.alive:
                raise DiedError(Failure("closed", "the session has ended"))
            self._asking = True
        try:
            limit = timeout if isinstance(timeout, TimeLimit) else self.time_limit(timeout)
            reply = self._exchange(do, fields, limit)
        except BaseException:  # also Ctrl-C: a worker in the middle of a request is unusable
            self.kill()
            raise
        self._asking = False
        if not reply["ok"]:
            self._raise_refusal(reply["failure"])
        return reply

    def _raise_refusal(self, failure: Failure) -> None:
        """Raise the error for a failed reply, with the end of the plugin's output."""
        printed = processes.tail(self.files.log, 2000)
        detail = "\n\n".join(filter(None, [failure.detail, printed and f"printed:\n{printed}"]))
        detailed = Failure(failure.kind, failure.message, detail)
        raise OverMemoryError(detailed) if failure.kind == "MemoryError" else RefusedError(detailed)

    def resident_bytes(self) -> int:
        """Return the resident bytes of the worker and its descendants; 0 if it has ended."""
        return processes.resident_bytes(self.process.pid) if self.alive else 0

    def begin_trial(self) -> None:
        """Clear the log of the plugin's output, and start to measure the machine's load."""
        self.clear_log()
        self._load = LoadMeter(self.process.pid, self._cpus)

    def clear_log(self) -> None:
        """Clear the log of the plugin's output."""
        with contextlib.suppress(FileNotFoundError):  # the folder was removed
            os.truncate(self.files.log, 0)

    def time_limit(self, seconds: float) -> TimeLimit:
        """Return a time limit for several requests, without the worker's compile time."""
        return TimeLimit(seconds, self._compile_seconds)

    def _compile_seconds(self) -> float:
        return read_compile_time(self.files.state).total(time.monotonic())

    def kill(self) -> None:
        """Kill the worker and all processes that it started."""
        with self._lock:
            was_alive, self.alive = self.alive, False
        if was_alive:
            self._end()

    def stop(self) -> None:
        """Kill the worker from another thread; a thread that waits for a reply cleans up itself."""
        with self._lock:
            if self.alive and self._asking:
                self._kill_processes()
                return
        self.kill()

    def close(self) -> None:
        """Let an idle worker quit, and kill the rest of its process group."""
        if self.alive:
            with contextlib.suppress(SessionError, subprocess.TimeoutExpired):
                self.ask("quit", 5.0)
                self.process.wait(5.0)
        self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(self, do: str, fields: JSON, limit: TimeLimit) -> JSON:
        try:
            self._channel.send(do, fields)
            while (reply := self._channel.reply()) is None:
                ended = self.process.poll() is not None  # checked first, to read a last reply
                self._channel.push()
                if self._channel.receive():
                    continue
                if ended:
                    raise self._death()
                if (left := limit.left()) <= 0:
                    raise self._lateness(do, limit)
                self._check_size()
                self._channel.wait(min(left, 0.05 if self.memory else 0.25))
        except (BrokenPipeError, EOFError):
            raise self._death() from None
        except GarbledError as error:
            message = "something other than the worker wrote to its reply channel"
            detail = f"received: {str(error)!r}\n{self._output_text()}"
            raise DiedError(Failure("protocol", message, detail)) from None
        return reply

    def _lateness(self, do: str, limit: TimeLimit) -> TooLateError:
        """Return the timeout error of a request, with the load of the machine."""
        message = f"request {do!r} not done within {limit.seconds:.3g} s"
        facts: JSON = {"machine_load": self._load.facts(self._threads)}
        if limit.compiled:
            facts["compiling"] = round(limit.compiled, 3)
        return TooLateError(Failure("timeout", message, self._output_text()), facts)

    def _check_size(self) -> None:
        """Check the worker's memory, and clear its log if too large."""
        with contextlib.suppress(FileNotFoundError):  # the folder was removed
            if self.files.log.stat().st_size > LOG_CAP:
                self.clear_log()
        size = processes.resident_bytes(self.process.pid)
        self._largest = max(self._largest, size)
        if size > self.memory > 0:
            size = processes.proportional_bytes(self.process.pid)  # shared pages count once
        if size > self.memory > 0:
            message = f"out of memory at {size // MIB} MiB (cap {self.memory // MIB} MiB)"
            raise OverMemoryError(Failure("memory", message, self._output_text()))

    def _death(self) -> SessionError:
        """Return the error for a worker that ended."""
        try:
            code = self.process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            message = "the worker closed its reply channel but did not end"
            return DiedError(Failure("protocol", message, self._output_text()))
        if code == UNKNOWN_END:
            message = "the worker ended, and so did the template process that records its exit code"
            return DiedError(Failure("unknown end", message, self._output_text()))
        if code == LOST_CHANNEL:
            message = "the plugin closed file descriptors that were not its own"
            return DiedError(Failure("protocol", message, self._output_text()))
        kind, message = processes.ending(code)
        if kind != "SIGKILL":
            return DiedError(Failure(kind, message, self._output_text()))
        seen = f"; last seen at {self._largest // MIB} MiB" if self._largest else ""
        if processes.kernel_oom_kills() > self._oom_kills:
            message = f"the kernel ran out of memory and probably killed the worker{seen}"
            return OverMemoryError(Failure("SIGKILL", message, self._output_text()))
        message += f", which the harness did not send{seen}"
        return DiedError(Failure(kind, message, self._output_text()))

    def _output_text(self) -> str:
        """Return the text of faulthandler and the end of the plugin's output."""
        parts = [processes.fault_text(self.files.faults), processes.tail(self.files.log, 2000)]
        return "\n\n".join(filter(None, parts))

    def _kill_processes(self) -> None:
        """Kill the worker and all processes that it or its descendants started."""
        processes.kill_group(self.process.pid, self._mark)

    def _end(self) -> None:
        self._kill_processes()
        self.process.wait()
        self._channel.close()
        self.files.remove()
        self.ended.set()
