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

KIND = "compiled"  # of the events that it is noted as
LARGE = 500  # rows from which on algorithms may sort, bundle and predict in other ways
ALIKE = 0.5  # share of the smaller one's files from which on two plugins stand in one lane


def compile_and_tell(
    jobs: Iterable[Job],
    supervisor: Supervisor,
    registry: Registry,
    progress: Progress,
    note: Callable[[JSON], None],
) -> None:
    """Compile the kernels of the from-scratch algorithms among jobs before a trial's time counts.

    Says what could not be run, and has each end of it noted.
    """
    known = registry.entries["algorithm"]
    ours = [job for job in jobs if known[job.algorithm].value.origin == "scratch"]
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
    """Compile the kernels of each algorithm once, so that no trial pays for it.

    Of algorithms that share code one goes first, because the others find ready what it compiled;
    all else goes side by side.

    Parameters
    ----------
    jobs
        Those whose algorithms compile something; jobs of one algorithm are warmed together, with
        all their params, and for the `KINDS` of tables that their datasets have.
    more
        Further kinds of tables, of all jobs.

    Yields
    ------
    Compiled
        One for each algorithm, thread count and environment, as it is done.
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
            supervisor.close()  # else the threads would be waited for until all is compiled
            raise


def compiled_of(job: Job) -> Hashable:
    """Return what two jobs share that are warmed together."""
    return job.algorithm, kind_of(job)


def kinds_of(registry: Registry, name: str) -> frozenset[str]:
    """Return which of `KINDS` a dataset has; all, of one that only its file can tell of."""
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
    """Return how many rows a dataset has; ``rows=N`` in its name changes that."""
    given = re.search(r"[:,]rows=(\d+)", name)
    return int(given[1]) if given else dataset.rows


def lanes_of(jobs: Iterable[Job]) -> list[list[Job]]:
    """Part jobs into lanes: those whose plugins share much of their code stand in one."""
    lanes: list[list[Job]] = []
    for job in jobs:
        alike = [lane for lane in lanes if any(share_code(job, other) for other in lane)]
        lanes = [lane for lane in lanes if lane not in alike]
        lanes.append([*(other for lane in alike for other in lane), job])
    return lanes


def share_code(a: Job, b: Job) -> bool:
    """Say whether more than half of the smaller plugin's files are the other's too."""
    mine, theirs = (files_of(job) for job in (a, b))
    return len(mine & theirs) > ALIKE * min(len(mine), len(theirs))


def files_of(job: Job) -> frozenset[Path]:
    """Return the files of a job's plugin, which is a module or a file."""
    if Path(job.plugin).suffix == ".py":
        return source_files(job.plugin)
    found = find_spec(job.plugin)
    return source_files(found.origin) if found and found.origin else frozenset()
