"""Reuse of outcomes of earlier runs, so that their trials are not run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any

from harness.core.model import FAILURES, JSON, Duel, Job, Limits, Status
from harness.data.cards import unpinned
from harness.data.remote import pin, pin_of
from harness.store import Store


@dataclass
class Pins:
    """Checksums of downloaded data, for cards without a checksum of their own.

    An outcome is reusable only if it was measured on the bytes that are pinned here, or else on
    those of the first reused outcome.
    """

    reused: dict[str, str] = field(default_factory=dict)  # address → SHA-256

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of datasets whose cards have no checksum."""
        return unpinned()

    def agree(self, facts: Mapping[str, JSON]) -> bool:
        """Return whether an outcome with these facts was measured on the same bytes."""
        measured = facts.get("pins", {})
        here = {key: self.reused.get(key) or pin_of(key) for key in measured}
        if any(sha256 and sha256 != measured[key] for key, sha256 in here.items()):
            return False
        self.reused |= measured
        return True

    def keep(self) -> None:
        """Pin the checksums of the reused outcomes, so that new trials use the same bytes."""
        for key, sha256 in self.reused.items():
            pin(key, sha256, key)


def reusable(
    store: Store, jobs: Iterable[Job], pins: Pins | None = None, *, retry_failed: bool = False
) -> dict[str, Status]:
    """Return the status of the trials that need not be run again.

    A failure is reused like a success, unless ``retry_failed`` is set or it might not occur again:
    see :func:`may_succeed_now`. Results on other bytes of the data are never reused.
    """
    planned = list(jobs)
    limits = {trial.id: job.limits for job in planned for trial in job.trials}
    known = store.known(limits, retry_failed=retry_failed)
    facts = store.facts_of(i for i, status in known.items() if status in FAILURES)
    outdated = {i for i in facts if may_succeed_now(known[i], facts[i], limits[i])}
    outdated |= measured_on_other_bytes(store, planned, pins or Pins())
    return {i: status for i, status in known.items() if i not in outdated}


def reusable_duels(
    store: Store, duels: Iterable[Duel], pins: Pins, *, retry_failed: bool = False
) -> dict[str, Status]:
    """Return the status of the duels that need not be run again, by the rules of `reusable`."""
    planned = list(duels)
    known = store.known_duels([duel.id for duel in planned], retry_failed=retry_failed)
    for duel in planned:
        status = known.get(duel.id)
        if status is None or not (status in FAILURES or duel.a.dataset.name in pins.names):
            continue
        facts = store.find_duels(duel.id)[-1][0].facts
        # Both sides have the limits of their run.
        agreed = duel.a.dataset.name not in pins.names or pins.agree(facts.get("a", {}))
        if not agreed or may_succeed_now(status, facts, duel.a.limits):
            del known[duel.id]
    return known


def measured_on_other_bytes(store: Store, jobs: Iterable[Job], pins: Pins) -> set[str]:
    """Return the ids of trials whose newest outcome was measured on other bytes of the data."""
    ids = [trial.id for job in jobs if job.dataset.name in pins.names for trial in job.trials]
    facts = store.facts_of(ids) if ids else {}
    return {i for i in ids if i in facts and not pins.agree(facts[i])}


def may_succeed_now(status: Status, facts: Mapping[str, Any], limits: Limits) -> bool:
    """Return whether a failed trial might succeed in a new run.

    True if the trial never started (no worker, no dataset), if the new limit is higher than the
    one that ended it, or if other programs used the processors when it timed out.
    """
    if facts.get("failed_in") == "start":
        return True
    then = facts.get("limits", {})
    if status is Status.TIMEOUT:
        if facts.get("machine_load", {}).get("loaded"):
            return True
        return bool(limits.timeout > then.get("timeout", inf))
    if status is Status.OUT_OF_MEMORY and then.get("memory"):
        return bool((limits.memory or inf) > then["memory"])
    return False
