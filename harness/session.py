"""The parent's end of one worker process: start it, ask it, watch it, and see that it ends.

A request is one line of JSON on the worker's stdin; the reply is one line on a pipe of its own,
so that nothing a plugin prints can be taken for a reply. Whatever goes wrong becomes a
:class:`SessionError` that carries the outcome's status and its failure, in words.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from harness import processes
from harness.errors import HarnessError
from harness.model import JSON, DatasetRef, Failure, Job, Status, to_json
from harness.worker import LOST_CHANNEL, PROTOCOL
from harness.worker.environment import worker_environment

LONGEST_REPLY = 1 << 20  # bytes; a worker that says more is not speaking the protocol
LOG_CAP = 8 << 20  # bytes of a plugin's output that are kept on disk
MIB = 1 << 20

_numbers = itertools.count()


class SessionError(HarnessError):
    """A request that got no good reply, told as an outcome's status and failure."""

    status = Status.CRASHED

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind}: {failure.message}")
        self.failure = failure


class RefusedError(SessionError):
    """The plugin or its data raised; the session is still usable."""

    status = Status.FAILED


class TooLateError(SessionError):
    """No reply in time; the worker was killed."""

    status = Status.TIMEOUT


class OverMemoryError(SessionError):
    """More resident memory than the cap, or than the machine has; the worker is dead."""

    status = Status.OUT_OF_MEMORY


class DiedError(SessionError):
    """The worker ended, or can no longer be understood; it is dead."""


class Session:
    """One worker process.

    Parameters
    ----------
    job
        Says the interpreter, the source tree and the number of threads.
    folder
        Where the worker's output is kept while it lives.
    cpus
        Processors to pin the worker to; none: any.

    Attributes
    ----------
    memory : int
        Cap on the resident bytes of the worker and its descendants; 0: none.
    facts : dict
        What the worker said in its reply to ``hello``.
    dataset : DatasetRef or None
        The table that the worker holds.
    """

    def __init__(self, job: Job, folder: Path, cpus: Sequence[int] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"worker-{os.getpid()}-{next(_numbers)}"
        self.log = folder / f"{name}.log"
        self.faults = folder / f"{name}.faults"
        self.faults.touch()
        self.memory = job.limits.memory
        self.facts: JSON = {}
        self.dataset: DatasetRef | None = None
        self.alive = True
        self.ended = threading.Event()  # nothing of the worker is left
        self._asking = False
        self._lock = threading.Lock()
        self._buffer = b""
        self._request = 0
        self._largest = 0  # resident bytes, the most that was seen
        self._oom_kills = processes.kernel_oom_kills()
        self._replies, write_end = os.pipe()
        os.set_blocking(self._replies, False)
        try:
            self.process = self._started(job, write_end, cpus)
        except OSError as error:
            os.close(self._replies)
            self._forget_files()
            message = f"cannot start {_python(job)}: {error.strerror}"
            raise DiedError(Failure("OSError", message)) from error
        finally:
            os.close(write_end)

    def _started(self, job: Job, write_end: int, cpus: Sequence[int]) -> subprocess.Popen[bytes]:
        variables = {
            "HARNESS_REPLY_FD": str(write_end),
            "HARNESS_FAULTS": str(self.faults),
            "HARNESS_AFFINITY": ",".join(map(str, cpus)),
        }
        with self.log.open("ab") as log:  # appended to, so that it can be cut while open
            return subprocess.Popen(  # noqa: S603 - an interpreter that the user chose
                [_python(job), "-m", "harness.worker"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                bufsize=0,
                pass_fds=(write_end,),
                start_new_session=True,
                env=worker_environment(os.environ, job.environment, job.threads) | variables,
            )

    def hello(self, job: Job, timeout: float) -> None:
        """Have the worker import the plugin of a job and its libraries."""
        self.facts = self.ask(
            "hello",
            timeout,
            plugin=job.plugin,
            plugins=list(job.plugins),
            algorithm=job.algorithm,
            threads=job.threads,
        )

    def load(self, dataset: DatasetRef, timeout: float) -> None:
        """Have the worker bring a table, unless it holds that one already."""
        if self.dataset != dataset:
            self.dataset = None
            self.ask("load", timeout, dataset=to_json(dataset))
            self.dataset = dataset

    def ask(self, do: str, timeout: float, **fields: Any) -> JSON:
        """Send one request and return its reply.

        Parameters
        ----------
        do
            The request's name, see ``docs/architecture.md``.
        timeout
            Seconds until the worker is killed.

        Raises
        ------
        RefusedError
            Where the plugin raised; the session goes on.
        TooLateError, OverMemoryError, DiedError
            The session is over.
        """
        with self._lock:
            if not self.alive:
                raise DiedError(Failure("closed", "the session has ended"))
            self._asking = True
        self._request += 1
        request = {"v": PROTOCOL, "n": self._request, "do": do, **fields}
        try:
            reply = self._exchange(request, timeout)
        except BaseException:  # also Ctrl-C: a worker in the middle of something is of no use
            self.kill()
            raise
        self._asking = False
        if not reply["ok"]:
            self._raise_refusal(Failure(**reply["failure"]))
        return reply

    def _raise_refusal(self, failure: Failure) -> None:
        """Raise what a failed reply says, with what the plugin printed last."""
        printed = processes.tail(self.log, 2000)
        detail = "\n\n".join(filter(None, [failure.detail, printed and f"printed:\n{printed}"]))
        told = Failure(failure.kind, failure.message, detail)
        raise OverMemoryError(told) if failure.kind == "MemoryError" else RefusedError(told)

    def clear_log(self) -> None:
        """Forget what the plugin has printed so far."""
        os.truncate(self.log, 0)

    def kill(self) -> None:
        """End the worker and all that it started, at once."""
        with self._lock:
            was_alive, self.alive = self.alive, False
        if was_alive:
            self._end()

    def stop(self) -> None:
        """Do the same from another thread; one that waits for a reply then cleans up itself."""
        with self._lock:
            if self.alive and self._asking:
                processes.kill_group(self.process.pid)
                return
        self.kill()

    def close(self) -> None:
        """Let an idle worker end by itself; kill what is left of its process group."""
        if self.alive:
            with contextlib.suppress(SessionError, subprocess.TimeoutExpired):
                self.ask("quit", 5.0)
                self.process.wait(5.0)
        self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(self, request: JSON, timeout: float) -> JSON:
        deadline = time.monotonic() + timeout
        self._send(request)
        while b"\n" not in self._buffer:
            ended = self.process.poll() is not None  # asked before reading: a last reply counts
            heard = self._read()
            if heard:
                continue
            if ended or heard is None:
                raise self._death()
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._too_late(request["do"], timeout)
            self._check_size()
            tick = 0.05 if self.memory else 0.25
            select.select([self._replies], [], [], min(left, tick))
        return self._parsed(request["n"])

    def _send(self, request: JSON) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            raise self._death() from None

    def _read(self) -> bool | None:
        """Take what the worker wrote; None where it can write no more."""
        try:
            data = os.read(self._replies, 1 << 16)
        except BlockingIOError:
            return False
        self._buffer += data
        if len(self._buffer) > LONGEST_REPLY:
            raise self._garbled()
        return True if data else None

    def _parsed(self, number: int) -> JSON:
        line, _, rest = self._buffer.partition(b"\n")
        try:
            reply = json.loads(line)
            good = reply["v"] == PROTOCOL and reply["n"] == number and isinstance(reply["ok"], bool)
            if not reply["ok"]:
                Failure(**reply["failure"])
        except (ValueError, KeyError, TypeError):
            good = False
        if not good or rest:
            raise self._garbled()
        self._buffer = b""
        found: JSON = reply
        return found

    def _check_size(self) -> None:
        """Hold the worker's memory and its output under their caps."""
        if self.log.stat().st_size > LOG_CAP:
            self.clear_log()
        if not self.memory:
            return
        size = processes.resident_bytes(self.process.pid)
        self._largest = max(self._largest, size)
        if size > self.memory:
            message = f"out of memory at {size // MIB} MiB (cap {self.memory // MIB} MiB)"
            raise OverMemoryError(Failure("memory", message, self._said()))

    def _too_late(self, do: str, timeout: float) -> TooLateError:
        message = f"no end of {do!r} within {max(timeout, 0):.3g} s"
        return TooLateError(Failure("timeout", message, self._said()))

    def _garbled(self) -> DiedError:
        message = "something other than the worker wrote to its reply channel"
        shown = self._buffer[:200].decode("utf-8", "replace")
        return DiedError(Failure("protocol", message, f"received: {shown!r}\n{self._said()}"))

    def _death(self) -> SessionError:
        """Return how the worker ended, in words."""
        try:
            code = self.process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            message = "the worker closed its reply channel and went on"
            return DiedError(Failure("protocol", message, self._said()))
        if code == LOST_CHANNEL:
            message = "the plugin closed file descriptors that were not its own"
            return DiedError(Failure("protocol", message, self._said()))
        kind, message = processes.ending(code)
        if kind != "SIGKILL":
            return DiedError(Failure(kind, message, self._said()))
        seen = f"; last seen at {self._largest // MIB} MiB" if self._largest else ""
        if processes.kernel_oom_kills() > self._oom_kills:
            message = f"the kernel was out of memory and ended the worker, it seems{seen}"
            return OverMemoryError(Failure("SIGKILL", message, self._said()))
        message += f", which the harness did not send{seen}"
        return DiedError(Failure(kind, message, self._said()))

    def _said(self) -> str:
        """Return what faulthandler wrote and the last that the plugin printed."""
        parts = [processes.fault_text(self.faults), processes.tail(self.log, 2000)]
        return "\n\n".join(filter(None, parts))

    def _end(self) -> None:
        processes.kill_group(self.process.pid)
        self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        os.close(self._replies)
        self._forget_files()
        self.ended.set()

    def _forget_files(self) -> None:
        self.log.unlink(missing_ok=True)
        self.faults.unlink(missing_ok=True)


def _python(job: Job) -> str:
    return job.environment.python or sys.executable
