"""Which outcomes of earlier runs count again, so that their trials need not be run."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from harness.model import FAILURES, JSON, Job, Limits, Status
from harness.store import Store


def reusable(store: Store, jobs: Iterable[Job], *, retry_failed: bool = False) -> dict[str, Status]:
    """Return the status of those trials that need not be run again.

    A failure counts like a success, unless ``retry_failed``, or unless it says nothing about this
    run: see :func:`may_end_otherwise`.
    """
    limits = {trial.id: job.limits for job in jobs for trial in job.trials}
    known = store.known(limits, retry_failed=retry_failed)
    facts = store.facts_of(i for i, status in known.items() if status in FAILURES)
    outdated = {i for i in facts if may_end_otherwise(known[i], facts[i], limits[i])}
    return {i: status for i, status in known.items() if i not in outdated}


def may_end_otherwise(status: Status, facts: JSON, limits: Limits) -> bool:
    """Say whether a failure may be owed to what has changed since, and not to the algorithm.

    So it is where the trial never began (no worker, no dataset), and where a wider limit is given
    than the one that ended it.
    """
    if facts.get("failed_in") == "start":
        return True
    then = facts.get("limits", {})
    if status is Status.TIMEOUT:
        return bool(limits.timeout > then.get("timeout", inf))
    if status is Status.OUT_OF_MEMORY and then.get("memory"):
        return bool((limits.memory or inf) > then["memory"])
    return False
