"""Start a worker: a new interpreter, or a fork of a template process."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.core.model import Job
from harness.core.processes import MARK
from harness.execution.fork_server import Forked, fork_worker
from harness.worker.affinity import affinity
from harness.worker.environment import worker_environment

Process = subprocess.Popen[bytes] | Forked


class WorkerFiles:
    """Files of one worker: its output, the text of faulthandler, and its compile time.

    The path of the last one also marks all processes that the worker starts, see
    :class:`harness.core.processes.Mark`.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.log = folder / f"{name}.log"
        self.faults = folder / f"{name}.faults"  # text of faulthandler
        self.state = folder / f"{name}-{secrets.token_hex(8)}.state"
        self.faults.touch()
        self.state.touch()

    def remove(self) -> None:
        """Remove all files."""
        for path in (self.log, self.faults, self.state):
            path.unlink(missing_ok=True)


def start_worker(
    job: Job, files: WorkerFiles, replies: int, cpus: Sequence[int], *, forked: bool
) -> Process:
    """Return the process of a new worker, which leads a process group of its own.

    Parameters
    ----------
    job
        Job with the interpreter, the source tree and the number of threads.
    files
        Files that it writes to.
    replies
        Descriptor that it writes its replies to.
    cpus
        Processors to pin it to; empty: those of this process.
    forked
        Whether it may be a fork. Only workers of this interpreter and this source tree are forked:
        others may not have a template.

    Raises
    ------
    OSError
        If it cannot be started.
    """
    common = worker_environment(os.environ, job.environment, job.threads)
    places = ",".join(map(str, cpus or affinity()))
    own = {
        "HARNESS_FAULTS": str(files.faults),
        MARK: str(files.state),
        "HARNESS_AFFINITY": places,
    }
    ours = not (job.environment.python or job.environment.root)
    with files.log.open("ab") as output:  # in append mode, so that it can be truncated while open
        if forked and ours and (fork := fork_worker(common, own, output.fileno(), replies)):
            return fork
        return subprocess.Popen(  # noqa: S603 - an interpreter that the user chose
            [python_of(job), "-m", "harness.worker"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            bufsize=0,
            pass_fds=(replies,),
            start_new_session=True,
            env=common | own | {"HARNESS_REPLY_FD": str(replies)},
        )


def python_of(job: Job) -> str:
    """Return the interpreter of a job."""
    return job.environment.python or sys.executable
