"""Facts of the worker process: versions, threads, load, compilations."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from harness.core.model import JSON, Sample, Spec
from harness.worker.affinity import affinity
from harness.worker.compile_clock import CompileTime

if TYPE_CHECKING:
    import numpy as np

SPIN_POLICY = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def versions(libraries: Iterable[str]) -> dict[str, str]:
    """Return the versions of installed distributions, and Python's."""
    installed = {"python": platform.python_version()}
    for name in sorted({"numpy", *libraries}):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "not installed"
    return installed


def pools() -> list[JSON]:
    """Return the thread pools of the libraries that are loaded now."""
    from threadpoolctl import threadpool_info

    kept = ("user_api", "internal_api", "prefix", "version", "num_threads", "threading_layer")
    return [{key: pool[key] for key in kept if pool.get(key)} for pool in threadpool_info()]


def numba_threads() -> JSON:
    """Return numba's number of threads and threading layer; empty if numba is not loaded."""
    numba = sys.modules.get("numba")
    if numba is None:
        return {}
    try:
        layer = numba.threading_layer()
    except ValueError:  # no parallel kernel has run; get_num_threads would start threads
        return {"threads": numba.config.NUMBA_NUM_THREADS, "layer": ""}
    return {"threads": numba.get_num_threads(), "layer": layer}


def thread_facts(threads: int) -> tuple[JSON, list[str]]:
    """Return facts on threads, and a note for each thread pool with another size than requested."""
    facts: JSON = {
        "threads": threads,
        "pools": pools(),
        "numba": numba_threads(),
        "affinity": affinity(),
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random"),
        "spin": {name: os.environ[name] for name in SPIN_POLICY if name in os.environ},
    }
    notes = [
        f"{pool['internal_api']} ({pool.get('prefix', '')}) has {pool['num_threads']} threads; "
        f"{threads} requested"
        for pool in facts["pools"]
        if pool["num_threads"] != threads
    ]
    if facts["numba"] and facts["numba"]["threads"] != threads:
        notes.append(f"numba has {facts['numba']['threads']} threads; {threads} requested")
    return facts, notes


def together(template: Sample | None, own: Sample) -> Sample:
    """Return the import sample of a fork, including the imports of its template."""
    if template is None:
        return own
    wall, cpu, peak = (getattr(template, n) + getattr(own, n) for n in ("wall", "cpu", "peak"))
    return Sample(own.phase, wall, cpu, peak, own.cold)


def load() -> float:
    """Return the machine's load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def compiled(before: CompileTime, after: CompileTime) -> tuple[JSON, list[str]]:
    """Return a fact and a note on functions compiled inside a trial; empty if there were none."""
    functions, seconds = after.functions - before.functions, after.seconds - before.seconds
    if not functions:
        return {}, []
    fact = {"functions": functions, "seconds": round(seconds, 3)}
    note = f"{functions} functions were compiled inside the trial, in {seconds:.1f} s"
    return {"compiled_in_trial": fact}, [f"{note}; its first times include that"]


def search(adapter: Any) -> JSON:
    """Return the result of the search of a tuned trial; empty for other trials."""
    from harness.worker.tuning import Tuned

    return {"tuned": adapter.facts()} if isinstance(adapter, Tuned) else {}


def targets(spec: Spec, y: np.ndarray, weight: np.ndarray | None) -> JSON:
    """Return the constant model of the training targets: weighted class frequencies or mean.

    ``train_prior`` or ``train_mean``; margins of verdicts are relative to this model.
    """
    import numpy as np

    if weight is not None and not weight.sum() > 0:
        return {}
    if not spec.task.is_classification:
        return {"train_mean": float(np.average(y, weights=weight))}
    counts = np.bincount(y, weights=weight, minlength=spec.n_classes)
    return {"train_prior": (counts / counts.sum()).tolist()}
