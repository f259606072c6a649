"""Workers of a Dask cluster: query their facts, and check that they match this client.

Each new worker is queried separately and asynchronously, so that a worker that hangs does not block
the others. It is queried again as long as it is in the cluster.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from harness.core import machine
from harness.core.errors import ConfigError, HarnessError
from harness.core.model import JSON, Job
from harness.executors.dask_cluster.process_facts import MISSING, facts_here

ANSWER_TIMEOUT = 30.0  # seconds for a worker to answer before it is queried again
MORE_ANSWERS = 1.0  # seconds to wait for further answers before differences are reported
POLL = 0.25  # seconds between two polls of the cluster


class ClusterError(HarnessError):
    """Loss of the cluster during a run; stored results stay."""

    exit_code = 5


class Membership:
    """Known workers of a cluster.

    Parameters
    ----------
    client
        A ``distributed.Client``.
    jobs
        Jobs to run: their code and libraries must be the same everywhere.

    Attributes
    ----------
    present : list of str
        Addresses of the workers at the last poll.
    known : dict
        Address → facts of a worker, including workers that have left.
    """

    def __init__(self, client: Any, jobs: Iterable[Job]) -> None:
        every = list(jobs)
        plugins = {name for job in every for name in (job.plugin, *job.plugins)}
        libraries = {name for job in every for name in job.libraries}
        self.client = client
        self.required = tuple(sorted(plugins)), tuple(sorted(libraries))
        self.own = facts_here(*self.required)
        self.present: list[str] = []
        self.known: dict[str, JSON] = {}
        self._answered: set[str] = set()  # addresses that answered since they joined
        self._again: dict[str, float] = {}  # address → time of the next query
        self._received: SimpleQueue[tuple[str, Any]] = SimpleQueue()

    def poll_workers(self) -> list[str]:
        """Poll the cluster and return the addresses of the present workers that have answered.

        Raises
        ------
        ConfigError
            If one differs from this client, or cannot run trials.
        """
        self.present, now = sorted(self.client.nthreads()), time.monotonic()
        self._answered &= set(self.present)  # a worker that rejoins may have changed
        new = [one for one in self.silent() if self._again.get(one, now) <= now]
        if new:
            self._again |= dict.fromkeys(new, now + ANSWER_TIMEOUT)
            self.client.loop.add_callback(self._ask, new)
        self._take_answers()
        return [one for one in self.present if one in self._answered]

    def silent(self) -> list[str]:
        """Return the present workers that have not answered."""
        return [one for one in self.present if one not in self._answered]

    def same_hardware(self) -> list[str]:
        """Return the workers of this machine's hardware class.

        If there is none, wait some time for further answers.
        """
        own, end = machine.machine_id(), time.monotonic() + ANSWER_TIMEOUT
        while True:
            with scheduler_errors():
                answered = self.poll_workers()
            alike = [one for one in answered if self.fact(one, "machine") == own]
            complete = bool(answered) and not self.silent()
            if alike or complete or time.monotonic() > end:
                return alike
            time.sleep(POLL)

    def fact(self, address: str, what: str) -> str:
        """Return a fact of a worker, "" if unknown."""
        return str(self.known.get(address, {}).get(what, ""))

    def _take_answers(self) -> None:
        """Process the answers received meanwhile."""
        answers = self._answers()
        if version_differences(self.own, answers):
            time.sleep(MORE_ANSWERS)
            check_versions(self.own, answers | self._answers())
        self.known |= answers
        self._answered |= set(answers)
        for address in answers:
            self._again.pop(address, None)

    def _answers(self) -> dict[str, JSON]:
        """Return the answers received since the last call, by address."""
        answers = {}
        while not self._received.empty():
            address, answer = self._received.get()
            if has_answered(address, answer):
                answers[address] = answer
        return answers

    async def _ask(self, new: list[str]) -> None:
        """Query workers for their facts, and cancel queries without an answer after some time."""
        import asyncio  # imported late, to keep the command line fast

        queries = [asyncio.ensure_future(self._ask_one(address)) for address in new]
        _, late = await asyncio.wait(queries, timeout=ANSWER_TIMEOUT)
        for one in late:
            one.cancel()

    async def _ask_one(self, address: str) -> None:
        how = {"workers": [address], "on_error": "return"}
        try:
            answer = (await self.client.run(facts_here, *self.required, **how))[address]
        except Exception as error:  # noqa: BLE001 - handled with the answers
            answer = error
        self._received.put((address, answer))


@contextmanager
def scheduler_errors() -> Iterator[None]:
    """Convert errors of a lost scheduler to ClusterError."""
    try:
        yield
    except (OSError, CancelledError) as error:
        raise ClusterError(
            "the scheduler of the Dask cluster is lost; finished outcomes are stored: run again "
            "with another cluster"
        ) from error


def has_answered(address: str, answer: JSON | Exception) -> bool:
    """Return whether a worker has answered; raise `ConfigError` if it cannot run trials."""
    if isinstance(answer, Exception) and not isinstance(answer, OSError):
        raise ConfigError(f"the worker {address} cannot run trials: {answer!r}")
    return not isinstance(answer, Exception)


def check_versions(own: JSON, answers: dict[str, JSON]) -> None:
    """Raise `ConfigError` that lists each difference between workers and this client."""
    if found := version_differences(own, answers):
        differences = "; ".join(
            f"{what} is {theirs} at {', '.join(addresses)}, but {own['versions'][what]} here"
            for (what, theirs), addresses in found.items()
        )
        advice = "install the same versions there and restart the workers"
        raise ConfigError(f"workers differ from this client: {differences}; {advice}")


def version_differences(own: JSON, answers: dict[str, JSON]) -> dict[tuple[str, str], list[str]]:
    """Return (name, version there) → workers, for all versions that differ from this client's."""
    differences: dict[tuple[str, str], list[str]] = {}
    for address, facts in sorted(answers.items()):
        for what, ours in own["versions"].items():
            theirs = facts["versions"].get(what, MISSING)
            if theirs != ours:
                differences.setdefault((what, theirs), []).append(address)
    return differences
