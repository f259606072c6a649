"""What the parent sees of a worker from outside: its descendants, its memory, how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

PAGE = os.sysconf("SC_PAGE_SIZE")
PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
MARK = "HARNESS_WORKER_STATE"  # environment variable of a worker, and of all that it starts
ROUNDS = 50  # of killing descendants, until none is left


class Mark(NamedTuple):
    """What tells the processes of one worker from all others.

    ``path`` names a file. It stands in the environment of all programs that the worker started,
    and forks of the worker have the file mapped. So they are found also where the worker died
    before them. ``since`` is the time of its start, in clock ticks since the machine was started.
    """

    path: str
    since: int

    @classmethod
    def now(cls, path: str) -> Mark:
        """Return the mark of a worker that starts now."""
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return cls(path, int(time.clock_gettime(clock) * TICKS) - 1)

    def processes(self) -> list[int]:
        """Return the processes that carry the mark, without this one; Linux only."""
        text = self.path.encode(errors="surrogateescape")
        found = []
        for folder in PROC.glob("[0-9]*"):
            pid = int(folder.name)
            with contextlib.suppress(OSError):  # it has ended, or it is somebody else's
                if pid == os.getpid() or _started(pid) < self.since:
                    continue
                named = f"{MARK}=".encode() + text in (folder / "environ").read_bytes()
                if named or text in (folder / "maps").read_bytes():
                    found.append(pid)
        return found


def _started(pid: int) -> int:
    """Return when a process started, in clock ticks since the machine was started."""
    return int(stat_fields(pid)[19])


def stat_fields(pid: int) -> list[bytes]:
    """Return the fields of a process in ``/proc`` from its state on; OSError where it has ended."""
    text = Path(f"/proc/{pid}/stat").read_bytes()
    return text[text.rindex(b")") + 2 :].split()


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, directly or not, as far as they still run."""
    if not Path(f"/proc/{pid}/task/{pid}/children").exists():  # macOS, or an unusual kernel
        return _descendants_by_psutil(pid)
    found: list[int] = []
    todo = [pid]
    while todo:
        children = _children(todo.pop())
        found += children
        todo += children
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    # It may have ended, also in the middle; the folder is closed then too.
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/task") as tasks:
        for task in tasks:
            found += map(int, Path(task.path, "children").read_bytes().split())
    return found


def _descendants_by_psutil(pid: int) -> list[int]:
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def resident_bytes(pid: int) -> int:
    """Return the resident bytes of a process and its descendants; 0 where it has ended."""
    return sum(_resident(one) for one in (pid, *descendants(pid)))


def proportional_bytes(pid: int) -> int:
    """Return the same, but a page that several processes share counts once among them.

    Without ``smaps_rollup`` (Linux before 4.14, macOS) it counts in each. This takes milliseconds
    for a large process, so ask for the resident bytes first: they are never fewer.
    """
    return sum(_proportional(one) for one in (pid, *descendants(pid)))


def _proportional(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:  # it has ended, or the system does not tell
        pass
    return _resident(pid)


def _resident(pid: int) -> int:
    try:
        if PROC.is_dir():
            return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * PAGE
        import psutil

        return int(psutil.Process(pid).memory_info().rss)
    except Exception:  # noqa: BLE001 - it has ended, in one of the ways that psutil or /proc tells
        return 0


def kill_group(leader: int, mark: Mark | None = None) -> None:
    """Kill a process group, the leader's descendants, and what else carries a mark.

    A worker is a subreaper, so a descendant whose parent has ended is still its descendant. The
    leader is stopped first, so it starts nothing meanwhile; it is killed last, so nothing that it
    started is lost sight of.
    """
    _send(leader, signal.SIGSTOP)
    for _ in range(ROUNDS):
        alive = [pid for pid in descendants(leader) if not is_zombie(pid)]
        for pid in alive:
            _send(pid, signal.SIGKILL)
        if not alive:
            break
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for pid in mark.processes() if mark else ():
        _send(pid, signal.SIGKILL)


def is_zombie(pid: int) -> bool:
    """Say whether a process has ended, reaped or not; False where the system does not say."""
    if not PROC.is_dir():
        return False
    try:
        return stat_fields(pid)[0] in (b"Z", b"X")
    except OSError:
        return True


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def ending(returncode: int) -> tuple[str, str]:
    """Return the name and the words for how a process ended.

    Parameters
    ----------
    returncode
        As ``subprocess`` gives it: −n stands for signal n.
    """
    if returncode >= 0:
        return f"exit code {returncode}", f"the worker ended with exit code {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    return name, f"the worker was ended by {name}"


def kernel_oom_kills() -> int:
    """Return how many processes the kernel has ended for want of memory since boot, or 0."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def tail(path: Path, limit: int = 4000) -> str:
    """Return the last characters of a file that any process may have written anything to."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - limit))
            return file.read(limit).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def fault_text(path: Path, limit: int = 4000) -> str:
    """Return what faulthandler wrote, without its list of extension modules."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.partition("\nExtension modules:")[0][:limit].strip()
