"""Checks of the installation, and of the machine's fitness for measurements."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from harness.core import machine
from harness.core.errors import HarnessError
from harness.core.model import JSON
from harness.plugins.registry import load_registry
from harness.store import Store

# The series whose rules parity mode follows, ascending.
FOLLOWED: dict[str, tuple[str, ...]] = {
    "scikit-learn": ("1.9",),
    "xgboost": ("3.2", "3.4"),
    "lightgbm": ("4",),
}
IMPORTED = ("numba", "sklearn", "xgboost", "lightgbm", "catboost")
FIRST_CALL = 1.0  # most seconds of a first call whose kernels are compiled
COMPILING = 60.0  # most CPU seconds of compiling all kernels
CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True)
class Check:
    """Result of a check, with advice."""

    name: str
    state: Literal["ok", "warn", "fail"]
    message: str
    advice: str = ""


def diagnose(*, deep: bool = False, results: Path = Path("results")) -> list[Check]:
    """Return all checks, in the order in which problems should be solved.

    Parameters
    ----------
    deep
        Whether to time the first call of every compiled algorithm, which takes minutes.
    results
        The folder of the store to check, if there is one.
    """
    quiet = list(timing(machine.fingerprint()))  # before the checks themselves load the machine
    checks = [
        python(),
        *libraries(),
        threading_layer(),
        packaged_kernels(),
        kernel_cache(),
        plugins(),
    ]
    checks += [*quiet, processors(), store(results), own_time()]
    return checks + (list(first_calls()) if deep else [])


def python() -> Check:
    """Return the Python version and interpreter."""
    version_text = (
        f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
    )
    return Check("python", "ok", version_text)


def libraries() -> Iterator[Check]:
    """Import each library in a separate process, and compare its version with parity's."""
    names = {"sklearn": "scikit-learn"}
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda name: ask(f"import {name}"), IMPORTED))
    for module, (_, complaint) in zip(IMPORTED, answers, strict=True):
        yield library(names.get(module, module), complaint)


def library(name: str, complaint: str) -> Check:
    """Check one library by its version and the result of its import."""
    try:
        installed = version(name)
    except PackageNotFoundError:
        return Check(name, "fail", "not installed", f"{sys.executable} -m pip install {name}")
    if complaint:
        gomp = "install OpenMP: apt install libgomp1" if "libgomp" in complaint else ""
        return Check(name, "fail", f"{installed} does not import: {complaint}", gomp)
    series = FOLLOWED.get(name, ())
    if series and not f"{installed}.".startswith(tuple(f"{one}." for one in series)):
        newest = series[0] if name == "xgboost" and sys.version_info < (3, 12) else series[-1]
        advice = f"{sys.executable} -m pip install '{name}=={newest}.*'"
        followed = " or ".join(series)
        return Check(
            name, "warn", f"{installed}; parity mode follows the rules of {followed}", advice
        )
    return Check(
        name, "ok", f"{installed}, whose rules parity mode follows" if series else installed
    )


def threading_layer() -> Check:
    """Check the threading layer of numba's parallel kernels."""
    _, no_tbb = ask("from numba.np.ufunc import tbbpool")
    _, no_openmp = ask("from numba.np.ufunc import omppool")
    if no_tbb and no_openmp:
        message = "workqueue: parallel kernels run one caller at a time"
        return Check("threading layer", "warn", message, "install OpenMP: apt install libgomp1")
    return Check("threading layer", "ok", "OpenMP" if no_tbb else "TBB")


def packaged_kernels() -> Check:
    """Check the compiled kernels that come with the package."""
    name = "compiled kernels"
    code = "from algorithms.runtime.jit import PACKAGED as p; print(p.folder, p.problem, sep='|')"
    answer, complaint = ask(code)
    folder, _, problem = answer.partition("|")
    advice = "python -m harness compile --into-package"
    if complaint or problem:
        return Check(
            name, "warn", f"those of the package are not used: {problem or complaint}", advice
        )
    if folder == "None":
        return Check(
            name, "ok", "the package has none; each is compiled when it is first used", advice
        )
    return Check(name, "ok", folder)


def kernel_cache() -> Check:
    """Check the cache folder of compiled kernels."""
    name = "kernel cache"
    answer, complaint = ask("from algorithms.runtime.jit import CACHE_FOLDER as f; print(f)")
    if complaint:
        return Check(
            name, "fail", complaint, "the installation may be incomplete; `make setup` repairs it"
        )
    advice = "set HARNESS_KERNEL_CACHE to a writable folder"
    if answer == "None":
        return Check(name, "warn", "no writable folder: every process compiles the kernels", advice)
    folder = Path(answer)
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    message = f"{folder}, {len(sizes)} files, {sum(sizes) / 2**20:.1f} MiB"
    if folder.parent.name.startswith("tree-harness-kernels-"):
        message += "; the usual folder is not writable"
        return Check(name, "warn", message, advice)
    return Check(name, "ok", message)


def timing(found: JSON) -> Iterator[Check]:
    """Check sources of timing noise: CPU clock, virtual machine, other load."""
    governor = found["governor"] or "unknown"
    slow = governor not in ("performance", "unknown")
    advice = "cpupower frequency-set --governor performance" if slow else ""
    yield Check("cpu governor", "warn" if slow else "ok", governor, advice)
    if found["turbo"] is not None:
        advice = "times depend on the temperature; switch it off for narrow intervals"
        state = "on" if found["turbo"] else "off"
        yield Check("turbo", "warn" if found["turbo"] else "ok", state, advice * found["turbo"])
    if found["virtualized"]:
        advice = "other virtual machines add noise: trust intervals of duels, not single times"
        yield Check("hardware", "warn", "a virtual machine", advice)
    elif found["virtualized"] is not None:
        yield Check("hardware", "ok", "no virtual machine")
    load, cores = found["load"][0], found["cores"]
    busy = load > max(0.5, 0.1 * cores)
    advice = "timed trials will be noisy: wait, or stop other programs" if busy else ""
    yield Check("load", "warn" if busy else "ok", f"{load} on {cores} processors", advice)


def processors() -> Check:
    """Check the number of processors that a trial may use."""
    total = os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else total
    quota = cpu_quota()
    usable = min(allowed, quota or allowed)
    message = f"{usable:g} of {total} usable"
    if quota and quota < allowed:
        advice = f"the container is limited to {quota:g}: more threads than that only wait"
        return Check("processors", "warn", message, advice)
    return Check("processors", "ok", message)


def cpu_quota(path: Path = CPU_MAX) -> float | None:
    """Return the processor limit of the control group, or None."""
    try:
        quota, period = path.read_text(encoding="ascii").split()
        return int(quota) / int(period)
    except (OSError, ValueError):  # another system, or the word "max"
        return None


def plugins() -> Check:
    """Load all plugins and list the broken ones."""
    try:
        registry = load_registry()
    except HarnessError as error:
        return Check("plugins", "fail", str(error))
    count = len(registry.names("algorithm"))
    if registry.broken:
        listed = "; ".join(f"{b.plugin}: {b.reason}" for b in registry.broken)
        advice = "`harness list plugins` shows them; the others work"
        return Check("plugins", "warn", f"{count} algorithms; broken: {listed}", advice)
    return Check("plugins", "ok", f"{count} algorithms, {len(registry.names('dataset'))} datasets")


def store(results: Path) -> Check:
    """Open the results store, if there is one."""
    if not Store.exists(results):
        return Check("store", "ok", f"none yet in {results}")
    try:
        with Store.open(results) as found:
            counts = found.counts()
    except HarnessError as error:
        return Check("store", "fail", str(error))
    return Check("store", "ok", f"{counts['runs']} runs, {counts['outcomes']} outcomes")


def own_time() -> Check:
    """Measure the overhead of the harness."""
    from harness.runs.overhead import measure_overhead, measure_starts

    try:
        starts = measure_starts()  # first, as later jobs of a run have the template, too
        overhead = measure_overhead()
    except HarnessError as error:
        return Check("own time", "fail", str(error))
    message = (
        f"{1000 * overhead.trial:.0f} ms a trial, {overhead.job:.2f} s a job; "
        f"{1000 * overhead.amortized:.0f} ms a trial in a job of {overhead.trials}; a run's first "
        f"job waits {starts.template:.1f} s for what workers are forked from; a worker starts in "
        f"{starts.forked:.2f} CPU seconds, one for timing in {starts.spawned:.2f}"
    )
    slow = overhead.amortized > 0.15
    return Check("own time", "warn" if slow else "ok", message, "is the machine busy?" * slow)


def first_calls() -> Iterator[Check]:
    """Time the first calls of every algorithm from scratch, compiling and compiled."""
    from harness.runs.overhead import measure_first_calls

    registry = load_registry()
    entries = [registry.entry("algorithm", name) for name in registry.names("algorithm")]
    calls = measure_first_calls(e for e in entries if e.value.origin == "scratch")
    for call in calls:
        message = (
            f"{call.warm:.2f} s compiled; {call.functions} functions that none above compiled, in "
            f"{call.cpu:.1f} CPU seconds"
        )
        advice = ["is the machine busy?"] * (call.warm > FIRST_CALL) + list(call.notes)
        state: Literal["ok", "warn"] = "warn" if advice else "ok"
        yield Check(f"first call of {call.algorithm}", state, message, "; ".join(advice))
    seconds, functions = sum(call.cpu for call in calls), sum(call.functions for call in calls)
    message = f"{functions} functions, {seconds:.0f} CPU seconds to compile them from nothing"
    slow = seconds > COMPILING
    aim = f"the aim is {COMPILING:.0f}; it is paid once, as the kernel cache keeps them" * slow
    yield Check("all kernels", "warn" if slow else "ok", message, aim)


def ask(code: str) -> tuple[str, str]:
    """Run a line of Python in a new process; return its output and the last line of its error."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    try:
        done = subprocess.run(  # noqa: S603 - our own fixed lines
            [sys.executable, "-P", "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    if done.returncode == 0:
        return done.stdout.strip(), ""
    lines = done.stderr.strip().splitlines()
    return "", lines[-1] if lines else f"ended with {done.returncode}"
