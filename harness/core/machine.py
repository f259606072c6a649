"""Facts about this machine for the reader of a report: hardware, system and library versions.

Everything here is on an allow-list; environment variables are never copied.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import subprocess
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from harness.core.model import JSON

LIBRARIES = (
    "tree-harness",
    "numpy",
    "scipy",
    "pandas",
    "scikit-learn",
    "xgboost",
    "lightgbm",
    "catboost",
    "numba",
    "threadpoolctl",
)
CPUS = Path("/sys/devices/system/cpu")


def fingerprint(plugin_files: Sequence[str] = ()) -> JSON:
    """Return facts about the hardware, the system and the software, as JSON.

    Sizes are in bytes. Unavailable values are an empty string, 0 or None. ``plugin_files`` are
    those of the run, by which `revision` finds the repository.
    """
    memory = psutil.virtual_memory()
    return {
        "id": machine_id(),
        **_hardware(),
        "memory_available": memory.available,
        "os": _os_name(),
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()).strip(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "governor": _word(CPUS / "cpu0/cpufreq/scaling_governor"),
        "turbo": _turbo(),
        "smt": _word(CPUS / "smt/active"),
        "huge_pages": _chosen(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
        "virtualized": virtualized(),
        "container": _container(),
        "load": [round(x, 2) for x in os.getloadavg()],
        "revision": revision(tuple(plugin_files)),
        "versions": library_versions(),
    }


@cache
def machine_id() -> str:
    """Return a short hash of the hardware class: equal machines of one fleet share it."""
    text = "|".join(str(value) for value in _hardware().values())
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _hardware() -> JSON:
    """Return facts that do not change between boots; memory is rounded to GiB for that reason."""
    return {
        "cpu": cpu_model(),
        "architecture": platform.machine(),
        "cores": psutil.cpu_count() or 0,
        "physical_cores": psutil.cpu_count(logical=False) or 0,
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": platform.system(),
    }


@cache
def cpu_model() -> str:
    """Return the processor's model name."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if platform.system() == "Darwin":
        return _output(["sysctl", "-n", "machdep.cpu.brand_string"]) or platform.machine()
    return platform.processor() or platform.machine()


def virtualized() -> bool | None:
    """Return whether this is a virtual machine (times are noisier there); None if unknown."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("flags"):
                return "hypervisor" in line.split()
    return None


def library_versions() -> dict[str, str]:
    """Return the installed versions of :data:`LIBRARIES` without importing them."""
    versions = {}
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


@cache
def revision(plugin_files: tuple[str, ...] = ()) -> str:
    """Return the git commit of the measured code, with "+" if it is edited; "" without git.

    The repository is that of the first plugin file that git tracks, else the harness's checkout.
    """
    files = [Path(file).resolve() for file in plugin_files]
    tracked = (file.parent for file in files if _git(file.parent, "ls-files", file.name))
    own = Path(__file__).resolve().parents[2]
    if (root := next(tracked, own)) == own and not (own / ".git").exists():
        return ""
    commit = _git(root, "rev-parse", "HEAD")
    edited = _git(root, "status", "--porcelain", "--untracked-files=no")
    return commit[:12] + ("+" if commit and edited else "")


def _git(folder: Path, *arguments: str) -> str:
    return _output(["git", "-C", str(folder), *arguments])


def others_runnable() -> int | None:
    """Return the number of other threads that run or wait for a processor now.

    None if the system does not provide it.
    """
    fields = _word(Path("/proc/loadavg")).partition("/")[0].split()[-1:]  # "0.4 0.5 0.6 2/345 678"
    return max(0, int(fields[0]) - 1) if fields and fields[0].isdigit() else None


def usable_processors() -> int:
    """Return the number of processors this process may use (on macOS: all processors)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def too_many_threads(threads: int) -> str:
    """Return a warning if more threads are requested than can run at once, else ""."""
    if threads <= (usable := usable_processors()):
        return ""
    return (
        f"warning: {threads:,} threads are requested, but this process may use {usable:,} "
        f"processor{'s' * (usable > 1)}: threads will wait for each other; times are not reliable"
    )


def choose_cpus(n: int) -> tuple[int, ...]:
    """Return n processors to pin a timed trial to; empty if no more than n are available.

    One logical processor per physical core first, highest numbers first, because the system's
    own work and interrupts run mostly on processor 0.
    """
    if not hasattr(os, "sched_getaffinity"):
        return ()
    allowed = sorted(os.sched_getaffinity(0), reverse=True)
    if n >= len(allowed):
        return ()
    by_core: dict[str, list[int]] = {}
    for cpu in allowed:
        core = _word(CPUS / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu)
        by_core.setdefault(core, []).append(cpu)
    firsts = [cpus[0] for cpus in by_core.values()]
    others = [cpu for cpus in by_core.values() for cpu in cpus[1:]]
    return tuple(sorted((firsts + others)[:n]))


def _os_name() -> str:
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    return platform.platform(terse=True)


def _turbo() -> bool | None:
    state = _word(CPUS / "intel_pstate/no_turbo")
    if state:
        return state == "0"
    state = _word(CPUS / "cpufreq/boost")
    return state == "1" if state else None


def _container() -> bool:
    return Path("/.dockerenv").exists() or Path("/run/.containerenv").exists()


def _chosen(path: Path) -> str:
    """Return the word in brackets of a kernel setting such as ``always [madvise] never``."""
    return _word(path).partition("[")[2].partition("]")[0]


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _output(command: list[str]) -> str:
    """Return the output of a command, or "" if it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed commands, no user input
            command, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
