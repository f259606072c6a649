"""Compile the kernels of all algorithms once, before anything is measured."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from harness.core.ids import source_files
from harness.core.model import JSON, Dataset, Job, to_json
from harness.core.progress import Progress
from harness.execution.pool import kind_of
from harness.execution.supervisor import KINDS, Compiled, Supervisor
from harness.plugins.registry import Registry

KIND = "compiled"  # of the stored events
LARGE = 500  # rows from which algorithms may sort, bundle and predict with other kernels
SIMILAR = 0.5  # share of common files from which two plugins are compiled in sequence


def compile_and_report(
    jobs: Iterable[Job],
    supervisor: Supervisor,
    registry: Registry,
    progress: Progress,
    note: Callable[[JSON], None],
) -> None:
    """Compile the kernels of the from-scratch algorithms among jobs, before any trial.

    Print failures, and call ``note`` with the result of each algorithm.
    """
    ours = [job for job in jobs if registry.algorithm(job.algorithm).origin == "scratch"]
    if not ours:
        return
    progress.stage("compile", len({compiled_of(job) for job in ours}))
    for compiled in compile_kernels(ours, supervisor, registry):
        progress.step(compiled.algorithm)
        for reason in compiled.notes:
            progress.message(f"  compiling {compiled.algorithm}: {reason}")
        note(to_json(compiled))


def compile_kernels(
    jobs: Iterable[Job], supervisor: Supervisor, registry: Registry, more: Iterable[str] = ()
) -> Iterator[Compiled]:
    """Compile the kernels of each algorithm once, so that trials do not include compiling.

    Of algorithms that share code one goes first, because the others reuse its kernels; all others
    are compiled in parallel.

    Parameters
    ----------
    jobs
        Jobs of algorithms with kernels. Jobs of one algorithm are compiled together, with all
        their params, for the `KINDS` of tables of their datasets.
    more
        Further kinds of tables, for all jobs.

    Yields
    ------
    Compiled
        One for each algorithm, thread count and environment, as it finishes.
    """
    whole: dict[Hashable, Job] = {}
    kinds: dict[Hashable, set[str]] = defaultdict(set)
    for job in jobs:
        key = compiled_of(job)
        known = whole.setdefault(key, replace(job, trials=()))
        whole[key] = replace(known, trials=known.trials + job.trials)
        kinds[key] |= {*kinds_of(registry, job.dataset.name), *more}

    def warm(job: Job) -> Compiled:
        return supervisor.warm(job, kinds[compiled_of(job)])

    lanes = lanes_of(whole.values())
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        try:
            rest = {threads.submit(warm, first): more for first, *more in lanes}
            while rest:
                done = next(as_completed(rest))
                rest |= {threads.submit(warm, job): [] for job in rest.pop(done)}
                yield done.result()
        except BaseException:
            supervisor.close()  # otherwise the executor would wait for all compilations
            raise


def compiled_of(job: Job) -> Hashable:
    """Return a key that is equal for jobs that are compiled together."""
    return job.algorithm, kind_of(job)


def kinds_of(registry: Registry, name: str) -> frozenset[str]:
    """Return the `KINDS` of a dataset; all of them for a dataset that is not registered."""
    entry = registry.entries["dataset"].get(name.partition(":")[0])
    if entry is None:
        return KINDS
    has = {
        "categorical": entry.value.categorical > 0,
        "sparse": entry.value.sparse,
        "large": _rows(name, entry.value) >= LARGE,
    }
    return frozenset(kind for kind in KINDS if has[kind])


def _rows(name: str, dataset: Dataset) -> int:
    """Return the number of rows of a dataset, with ``rows=N`` in its name taken into account."""
    given = re.search(r"[:,]rows=(\d+)", name)
    return int(given[1]) if given else dataset.rows


def lanes_of(jobs: Iterable[Job]) -> list[list[Job]]:
    """Return jobs in groups; jobs whose plugins share much of their code are in one group."""
    lanes: list[list[Job]] = []
    for job in jobs:
        similar = [lane for lane in lanes if any(share_code(job, other) for other in lane)]
        lanes = [lane for lane in lanes if lane not in similar]
        lanes.append([*(other for lane in similar for other in lane), job])
    return lanes


def share_code(a: Job, b: Job) -> bool:
    """Return whether two plugins share more than half of the files of the smaller one."""
    mine, theirs = (files_of(job) for job in (a, b))
    return len(mine & theirs) > SIMILAR * min(len(mine), len(theirs))


def files_of(job: Job) -> frozenset[Path]:
    """Return the source files of a job's plugin, which is a module or a file."""
    if Path(job.plugin).suffix == ".py":
        return source_files(job.plugin)
    found = find_spec(job.plugin)
    return source_files(found.origin) if found and found.origin else frozenset()
