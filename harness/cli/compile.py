"""``harness compile``: compile the kernels of the algorithms in advance."""

from __future__ import annotations

import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import plugin_option, say

if TYPE_CHECKING:
    from harness.core.model import Job
    from harness.plugins.registry import Registry

ANY = "any"  # not a real dataset: kernels for all kinds of tables are compiled


@click.command("compile")
@click.option(
    "-a",
    "--algorithm",
    "patterns",
    multiple=True,
    metavar="GLOB",
    help="Only these algorithms; may be given several times.",
)
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@plugin_option
def command(patterns: tuple[str, ...], threads: int, plugins: tuple[Path, ...]) -> int:
    """Compile the kernels of all our own algorithms and keep them in the cache.

    Models of dense tables, of tables with categories, of sparse and of large ones are trained, so
    that a later fit compiles nothing.
    """
    from harness.core.errors import ConfigError, unknown
    from harness.execution.compiling import compile_kernels
    from harness.execution.supervisor import Supervisor
    from harness.plugins.registry import load_registry

    registry = load_registry(plugins)
    jobs = jobs_to_compile(registry, patterns, threads)
    if not jobs:
        known = [job.algorithm for job in jobs_to_compile(registry, (), threads)]
        hint = f"known here: {', '.join(known)}"
        raise ConfigError(unknown("algorithm", ", ".join(patterns), known, hint))
    functions, failed = 0, False
    folder = tempfile.TemporaryDirectory(prefix="harness-compile-")
    with folder, Supervisor(Path(folder.name)) as supervisor:
        compiled_jobs = compile_kernels(jobs, supervisor, registry, ["float32"])
        for done, compiled in enumerate(compiled_jobs, start=1):
            functions += compiled.functions
            failed = failed or bool(compiled.notes)
            say(
                f"{done} of {len(jobs)}: {compiled.algorithm}, {compiled.functions} functions "
                f"compiled, {compiled.seconds:.1f} s"
            )
            for note in compiled.notes:
                say(f"  {note}")
    say(f"compiled {functions} functions; all others were compiled before")
    return 3 if failed else 0


def jobs_to_compile(registry: Registry, patterns: tuple[str, ...], threads: int) -> list[Job]:
    """Return a job for each algorithm from scratch whose name matches.

    Its trials have the default params, and those of each variant that compiles other kernels.
    """
    from harness.core.model import DatasetRef, Job, Split, Task, Trial

    found = []
    for name, entry in sorted(registry.entries["algorithm"].items()):
        matches = not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
        if entry.value.origin != "scratch" or not matches:
            continue
        trials = tuple(
            Trial(name, params, "native", ANY, Split("given"), 0, threads, "", "", Task.BINARY)
            for params in ({}, *entry.value.variants)
        )
        found.append(Job(name, entry.plugin, DatasetRef(ANY, ""), trials, threads=threads))
    return found
