"""Which workers of a Dask cluster are there, have said what they are, and are like this client.

Each new worker is asked by itself, beside all else: one that hangs keeps nobody waiting, and is
asked again for as long as it is there.
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

ANSWERING = 30.0  # seconds for a worker to say what it is, before it is asked again
LISTENING = 1.0  # seconds for others to answer where one is unlike: all is told at once
LOOK = 0.25  # seconds between two looks at the cluster


class ClusterError(HarnessError):
    """The cluster has gone in the middle of a run; what was stored stays."""

    exit_code = 5


class Roll:
    """The workers of a cluster.

    Parameters
    ----------
    client
        A ``distributed.Client``.
    jobs
        What is to be done: the code and the libraries of these must be the same everywhere.

    Attributes
    ----------
    there : list of str
        Addresses of the workers at the last look.
    known : dict
        Address → what a worker has said of itself, of those that have gone too.
    """

    def __init__(self, client: Any, jobs: Iterable[Job]) -> None:
        every = list(jobs)
        plugins = {name for job in every for name in (job.plugin, *job.plugins)}
        libraries = {name for job in every for name in job.libraries}
        self.client = client
        self.wanted = tuple(sorted(plugins)), tuple(sorted(libraries))
        self.own = facts_here(*self.wanted)
        self.there: list[str] = []
        self.known: dict[str, JSON] = {}
        self._answered: set[str] = set()  # since they are there
        self._again: dict[str, float] = {}  # address → when it may be asked again
        self._heard: SimpleQueue[tuple[str, Any]] = SimpleQueue()

    def meet(self) -> list[str]:
        """Return the addresses of the workers that are there and have said what they are.

        Raises
        ------
        ConfigError
            Where one is not like this client, or cannot run trials.
        """
        self.there, now = sorted(self.client.nthreads()), time.monotonic()
        self._answered &= set(self.there)  # whoever comes back may have changed
        new = [one for one in self.silent() if self._again.get(one, now) <= now]
        if new:
            self._again |= dict.fromkeys(new, now + ANSWERING)
            self.client.loop.add_callback(self._ask, new)
        self._take_answers()
        return [one for one in self.there if one in self._answered]

    def silent(self) -> list[str]:
        """Return the workers that are there and have not said what they are."""
        return [one for one in self.there if one not in self._answered]

    def like(self) -> list[str]:
        """Return the workers of this machine's class of hardware.

        Where there is none, those who have not answered yet are given some time to.
        """
        own, end = machine.machine_id(), time.monotonic() + ANSWERING
        while True:
            with told_if_gone():
                met = self.meet()
            found = [one for one in met if self.fact(one, "machine") == own]
            all_told = bool(met) and not self.silent()
            if found or all_told or time.monotonic() > end:
                return found
            time.sleep(LOOK)

    def fact(self, address: str, what: str) -> str:
        """Return what a worker has said of itself."""
        return str(self.known.get(address, {}).get(what, ""))

    def _take_answers(self) -> None:
        """Take in what workers have said meanwhile."""
        answers = self._answers()
        if unlike(self.own, answers):
            time.sleep(LISTENING)
            refuse_unlike(self.own, answers | self._answers())
        self.known |= answers
        self._answered |= set(answers)
        for address in answers:
            self._again.pop(address, None)

    def _answers(self) -> dict[str, JSON]:
        """Return what has been heard since the last time, by address."""
        found = {}
        while not self._heard.empty():
            address, answer = self._heard.get()
            if is_there(address, answer):
                found[address] = answer
        return found

    async def _ask(self, new: list[str]) -> None:
        """Ask workers what they are, and wait no longer for those that do not say."""
        import asyncio  # which every start of the command line would pay for

        asked = [asyncio.ensure_future(self._ask_one(address)) for address in new]
        _, late = await asyncio.wait(asked, timeout=ANSWERING)
        for one in late:
            one.cancel()

    async def _ask_one(self, address: str) -> None:
        how = {"workers": [address], "on_error": "return"}
        try:
            told = (await self.client.run(facts_here, *self.wanted, **how))[address]
        except Exception as error:  # noqa: BLE001 - told to whoever takes the answers
            told = error
        self._heard.put((address, told))


@contextmanager
def told_if_gone() -> Iterator[None]:
    """Tell in words that the scheduler does not answer."""
    try:
        yield
    except (OSError, CancelledError) as error:
        raise ClusterError(
            "the scheduler of the Dask cluster has gone; what it had done is stored: run again, "
            "with a cluster that is there"
        ) from error


def is_there(address: str, answer: JSON | Exception) -> bool:
    """Say whether a worker has answered; raise `ConfigError` where it never will."""
    if isinstance(answer, Exception) and not isinstance(answer, OSError):
        raise ConfigError(f"the worker {address} cannot run trials: {answer!r}")
    return not isinstance(answer, Exception)


def refuse_unlike(own: JSON, answers: dict[str, JSON]) -> None:
    """Raise `ConfigError` that lists each difference between workers and this client."""
    if found := unlike(own, answers):
        told = "; ".join(
            f"{what} is {theirs} at {', '.join(addresses)}, and {own['versions'][what]} here"
            for (what, theirs), addresses in found.items()
        )
        advice = "install the same there, and start them again"
        raise ConfigError(f"workers are not like this client: {told}; {advice}")


def unlike(own: JSON, answers: dict[str, JSON]) -> dict[tuple[str, str], list[str]]:
    """Return (what, theirs) → workers, for all that differs from this client."""
    found: dict[tuple[str, str], list[str]] = {}
    for address, facts in sorted(answers.items()):
        for what, ours in own["versions"].items():
            theirs = facts["versions"].get(what, MISSING)
            if theirs != ours:
                found.setdefault((what, theirs), []).append(address)
    return found
