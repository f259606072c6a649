"""``harness compile``: compile the kernels of the algorithms in advance."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import names_option, plugin_option, say
from harness.core.model import Job

if TYPE_CHECKING:
    from harness.plugins.registry import Registry

TARGETS = ("native", "x86-64-v3")
ANY = "any"  # not a real dataset: kernels for all kinds of tables are compiled


@click.command("compile")
@names_option("-a", "algorithm", "Only these algorithms; may be given several times.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option(
    "--into-package",
    is_flag=True,
    help="Put the compiled kernels of all algorithms beside the sources of the package.",
)
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="native",
    show_default=True,
    help="The processors that --into-package compiles for: this one, or those of wheels.",
)
@click.option(
    "--package-folder",
    type=click.Path(path_type=Path),
    help="Put them into this folder instead, as the build of a wheel does.",
)
@plugin_option
def command(
    algorithms: tuple[str, ...],
    threads: int,
    into_package: bool,
    target: str,
    package_folder: Path | None,
    plugins: tuple[Path, ...],
) -> int:
    """Compile the kernels of all our own algorithms and keep them in the cache.

    Models of dense tables, of tables with categories, of sparse and of large ones are trained, so
    that a later fit compiles nothing.
    """
    from harness.core.errors import ConfigError, unknown
    from harness.execution.kernel_package import compile_package
    from harness.plugins.registry import load_registry

    registry = load_registry(plugins)
    jobs = jobs_to_compile(registry, algorithms, threads)
    if not jobs:
        known = [job.algorithm for job in jobs_to_compile(registry, (), threads)]
        hint = f"known here: {', '.join(known)}"
        raise ConfigError(unknown("algorithm", ", ".join(algorithms), known, hint))
    if not into_package:
        done = compile_jobs(registry, jobs)
        say(f"compiled {done.functions} functions; all others were compiled before")
        return 3 if done.failed else 0
    with compile_package(target, package_folder) as package:
        one_thread = compile_jobs(registry, jobs_to_compile(registry, algorithms, 1))
        jobs = [
            job
            for job in jobs_to_compile(registry, algorithms, 2, with_variants=False)
            if job.algorithm in one_thread.with_own_kernels
        ]
        compile_jobs(registry, jobs)
    if package.path:
        say(f"kernels for {target} processors: {package.path}")
    return 0


@dataclass
class CompiledJobs:
    """Result of compiling jobs.

    ``with_own_kernels`` are the algorithms that compiled any function; the kernels of the others
    are those of algorithms before them. ``failed`` says whether any model could not be trained.
    """

    functions: int = 0
    failed: bool = False
    with_own_kernels: set[str] = field(default_factory=set)


def compile_jobs(registry: Registry, jobs: Sequence[Job]) -> CompiledJobs:
    """Compile the kernels of some jobs; print a line for each."""
    from harness.execution.compiling import compile_kernels
    from harness.execution.supervisor import Supervisor

    result = CompiledJobs()
    folder = tempfile.TemporaryDirectory(prefix="harness-compile-")
    with folder, Supervisor(Path(folder.name)) as supervisor:
        compiled_jobs = compile_kernels(jobs, supervisor, registry, ["float32"])
        for done, compiled in enumerate(compiled_jobs, start=1):
            result.functions += compiled.functions
            result.failed = result.failed or bool(compiled.notes)
            if compiled.functions:
                result.with_own_kernels.add(compiled.algorithm)
            say(
                f"{done} of {len(jobs)}: {compiled.algorithm}, {compiled.functions} functions "
                f"compiled, {compiled.seconds:.1f} s"
            )
            if compiled.notes:
                count = len(compiled.notes)
                more = f" and {count - 1} similar combinations" if count > 1 else ""
                say(f"  not trained: {compiled.notes[0]}{more}")
    return result


def jobs_to_compile(
    registry: Registry, patterns: tuple[str, ...], threads: int, *, with_variants: bool = True
) -> list[Job]:
    """Return a job for each algorithm from scratch whose name matches.

    Its trials have the default params, and those of each variant that compiles other kernels.
    """
    from harness.core.model import DatasetRef, Job, Split, Task, Trial

    jobs = []
    for name, entry in sorted(registry.entries["algorithm"].items()):
        matches = not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
        if entry.value.origin != "scratch" or not matches:
            continue
        trials = tuple(
            Trial(name, params, "native", ANY, Split("given"), 0, threads, "", "", Task.BINARY)
            for params in ({}, *(entry.value.variants if with_variants else ()))
        )
        jobs.append(Job(name, entry.plugin, DatasetRef(ANY, ""), trials, threads=threads))
    return jobs
