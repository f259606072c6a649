"""Duels of the burner plugin with a known true ratio, under changing load.

A duel consists of process launches, and importing pandas takes most of a launch. So that hundreds
of duels fit into an hour, a launch here forks a process that has imported the modules of a worker.
Everything else is the harness's: the driver, the protocol, the worker's loop, pinning, the meter.
Forked launches share one memory layout; therefore one duel in ``EVERY_REAL`` starts real workers.
"""

import contextlib
import hashlib
import itertools
import json
import os
import select
import socket
import subprocess
import sys
from pathlib import Path

from harness.core import machine
from harness.core.model import (
    DatasetRef,
    Duel,
    Environment,
    Failure,
    Job,
    Limits,
    Split,
    StopRule,
    Task,
    Trial,
)
from harness.execution.session import DiedError, RefusedError, TooLateError
from harness.execution.supervisor import Supervisor
from harness.measurement.duel import run_duel
from harness.worker import PROTOCOL
from harness.worker.environment import worker_environment

PLUGIN = Path(__file__).resolve().parents[1] / "plugins" / "burner.py"
DATASET = DatasetRef("ramp", hashlib.sha256(b"ramp").hexdigest())
EVERY_REAL = 10
FORK_SERVER = Path(__file__).with_name("fork_server.py")

# Each of two processes computes and rests in turn, for times drawn from wide distributions: the
# load lies between 0 and 2, some of it shorter than a call and some as long as a duel.
BURSTS = """
import os, random, sys, time
chance = random.Random(int(sys.argv[1]))
parent = os.getppid()
while os.getppid() == parent:  # also where the tests are killed
    until = time.monotonic() + chance.lognormvariate(-1.5, 1.5)
    while time.monotonic() < until:
        sum(range(10_000))
    time.sleep(chance.lognormvariate(-0.5, 1.5))
"""


@contextlib.contextmanager
def changing_load(seed):
    """Burn processor time in random bursts meanwhile."""
    command = [sys.executable, "-S", "-c", BURSTS]
    burning = [subprocess.Popen([*command, str(seed + n)]) for n in range(2)]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()


def duel_of(burn_a, burn_b, *, launches=8, blocks=4, stop=None):
    """Return a duel of two burners, on ``fit`` alone."""
    sides = [_job(burn) for burn in (burn_a, burn_b)]
    return Duel(*sides, id="d", launches=launches, blocks=blocks, phases=("fit",), stop=stop)


def until_decided(looks):
    """Return the stop rule of a duel that decides which side is faster."""
    return StopRule(looks, "fit", claim=1.0)


def _job(burn):
    name = f"{burn:g}"
    trial = Trial(
        "burner",
        {"burn": burn},
        "native",
        DATASET.name,
        Split("given", folds=1),
        seed=0,
        threads=1,
        cell=f"c{name}",
        id=f"t{name}",
        task=Task.REGRESSION,
        timed=True,
    )
    return Job("burner", str(PLUGIN), DATASET, (trial,), limits=Limits(60.0))


@contextlib.contextmanager
def fork_server(*data):
    """Yield a function that opens a forked worker; ``data`` are the modules of its datasets."""
    ours, theirs = socket.socketpair()
    environment = worker_environment(os.environ, Environment(), threads=1)
    command = [sys.executable, str(FORK_SERVER), *data]
    with subprocess.Popen(command, stdin=theirs, env=environment), ours:
        theirs.close()
        yield lambda job: ForkedSession(ours, job)


@contextlib.contextmanager
def duel_runner(folder):
    """Yield a function that runs a duel; ``real=True`` starts workers through the supervisor."""
    with fork_server() as fork:

        def run(duel, *, real=False):
            if not real:
                return run_duel(duel, fork)
            with Supervisor(folder / "work") as supervisor:
                return run_duel(duel, supervisor.open_session)

        yield run


def with_workers_of(fork):
    """Return a function that runs a duel with forked workers, or with those of the supervisor."""

    def run(duel, open_session, **fields):
        return run_duel(duel, fork or open_session, **fields)

    return run


class ForkedSession:
    """A session with a worker that is forked instead of started, for `duel_side.Worker`."""

    def __init__(self, fork_server, job):
        self.end, theirs = socket.socketpair()
        with theirs:
            cpus = ",".join(map(str, machine.choose_cpus(job.threads)))
            socket.send_fds(fork_server, [cpus.encode() or b" "], [theirs.fileno()])
        self.replies = self.end.makefile("rb")
        self.numbers = itertools.count(1)
        self.facts = {}

    def hello(self, job, timeout):
        self.facts = self.ask(
            "hello",
            timeout,
            plugin=job.plugin,
            plugins=list(job.plugins),
            algorithm=job.algorithm,
            threads=job.threads,
        )

    def ask(self, do, timeout, **fields):
        request = {"v": PROTOCOL, "n": next(self.numbers), "do": do, **fields}
        self.end.sendall(json.dumps(request).encode() + b"\n")
        if not select.select([self.end], [], [], timeout)[0]:
            raise TooLateError(Failure("timeout", f"request {do!r} not done within {timeout:g} s"))
        reply = json.loads(self.replies.readline() or "null")
        if reply is None:
            raise DiedError(Failure("closed", "the worker has ended"))
        if not reply["ok"]:
            raise RefusedError(Failure(**reply["failure"]))
        return reply

    def stop(self):
        """Do nothing: `close` ends the worker."""

    def close(self):
        with self.end, self.replies:
            self.ask("quit", 5.0)
            self.replies.read()  # to the end, which is the worker's
