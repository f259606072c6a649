"""Worker processes seen from the parent: descendants, memory, killing, exit status."""

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
MARK = "HARNESS_WORKER_STATE"  # environment variable of a worker and its descendants
DEAD = (b"Z", b"X")  # states of processes that have ended
KERNEL_THREAD = 0x00200000  # flag PF_KTHREAD of Linux
ROUNDS = 50  # maximum passes of killing or reading processes


class Mark(NamedTuple):
    """Mark that identifies the processes of one worker.

    ``path`` names a file. All programs that the worker started have it in their environment, and
    forks of the worker have the file mapped. So they are found even if the worker ended first.
    ``since`` is the time of its start, in clock ticks since the machine was started.
    """

    path: str
    since: int

    @classmethod
    def now(cls, path: str) -> Mark:
        """Return a mark for a worker that starts now."""
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return cls(path, int(time.clock_gettime(clock) * TICKS) - 1)

    def processes(self) -> list[int]:
        """Return the processes that carry the mark, without this one; Linux only."""
        text = self.path.encode(errors="surrogateescape")
        pids = []
        for folder in PROC.glob("[0-9]*"):
            pid = int(folder.name)
            with contextlib.suppress(OSError):  # ended, or of another user
                if pid != os.getpid() and self._may_be_marked(pid) and _has_mark(folder, text):
                    pids.append(pid)
        return pids

    def _may_be_marked(self, pid: int) -> bool:
        """Return whether a process runs a program and was started after the worker."""
        fields = stat_fields(pid)
        is_kernel_thread = int(fields[6]) & KERNEL_THREAD != 0
        started = int(fields[19])  # in clock ticks since the machine was started
        return started >= self.since and fields[0] not in DEAD and not is_kernel_thread


def _has_mark(folder: Path, path: bytes) -> bool:
    """Return whether a process has the mark ``path`` in its environment or maps that file.

    An empty environment is read again, because it is empty for a moment during ``execve``.
    """
    for _ in range(ROUNDS):
        environ, maps = (folder / "environ").read_bytes(), (folder / "maps").read_bytes()
        if environ or path in maps:
            break
        time.sleep(0.001)
    return f"{MARK}=".encode() + path in environ or path in maps


def stat_fields(pid: int) -> list[bytes]:
    """Return the fields of ``/proc/PID/stat`` from the state on; raise OSError if it has ended."""
    text = Path(f"/proc/{pid}/stat").read_bytes()
    return text[text.rindex(b")") + 2 :].split()


def descendants(pid: int) -> list[int]:
    """Return the running descendants of a process."""
    if not Path(f"/proc/{pid}/task/{pid}/children").exists():  # macOS, or an unusual kernel
        return _descendants_by_psutil(pid)
    pids: list[int] = []
    todo = [pid]
    while todo:
        children = _children(todo.pop())
        pids += children
        todo += children
    return pids


def _children(pid: int) -> list[int]:
    pids: list[int] = []
    # The process may end at any time; `scandir` is closed in that case too.
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/task") as tasks:
        for task in tasks:
            pids += map(int, Path(task.path, "children").read_bytes().split())
    return pids


def _descendants_by_psutil(pid: int) -> list[int]:
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def resident_bytes(pid: int) -> int:
    """Return the resident bytes of a process and its descendants; 0 if it has ended."""
    return sum(_resident(one) for one in (pid, *descendants(pid)))


def proportional_bytes(pid: int) -> int:
    """Return the proportional set size: like `resident_bytes`, but shared pages count once.

    Without ``smaps_rollup`` (Linux before 4.14, macOS) shared pages count in each process. This
    takes milliseconds for a large process; `resident_bytes` is a fast upper bound.
    """
    return sum(_proportional(one) for one in (pid, *descendants(pid)))


def _proportional(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:  # ended, or not supported by the system
        pass
    return _resident(pid)


def _resident(pid: int) -> int:
    try:
        if PROC.is_dir():
            return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * PAGE
        import psutil

        return int(psutil.Process(pid).memory_info().rss)
    except Exception:  # noqa: BLE001 - it has ended; psutil and /proc raise various errors
        return 0


def kill_group(leader: int, mark: Mark | None = None) -> None:
    """Kill a process group, the leader's descendants, and the processes that carry a mark.

    A worker is a subreaper, so a descendant whose parent has ended is still its descendant. The
    leader is stopped first, so that it starts no further processes. A process whose parent is just
    ending may be missed among the descendants; the mark finds it. The group is killed last,
    because a guard that calls this function belongs to it.
    """
    _send(leader, signal.SIGSTOP)
    for _ in range(ROUNDS):
        # The guard may still be a descendant right after its start, and must not kill itself.
        others = (pid for pid in descendants(leader) if pid != os.getpid())
        alive = [pid for pid in others if not is_zombie(pid)]
        for pid in alive:
            _send(pid, signal.SIGKILL)
        if not alive:
            break
        time.sleep(0.002)
    for _ in range(ROUNDS):  # again, because a process may have started another one meanwhile
        marked = mark.processes() if mark else []
        for pid in marked:
            _send(pid, signal.SIGKILL)
        if not marked:
            break
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def is_zombie(pid: int) -> bool:
    """Return whether a process has ended, reaped or not; False without ``/proc``."""
    if not PROC.is_dir():
        return False
    try:
        return stat_fields(pid)[0] in DEAD
    except OSError:
        return True


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def ending(returncode: int) -> tuple[str, str]:
    """Return a short name and a sentence for the exit status of a process.

    Parameters
    ----------
    returncode
        As ``subprocess`` gives it: −n means signal n.
    """
    if returncode >= 0:
        return f"exit code {returncode}", f"the worker ended with exit code {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    return name, f"the worker was ended by {name}"


def kernel_oom_kills() -> int:
    """Return the number of out-of-memory kills by the kernel since boot; 0 if unknown."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def tail(path: Path, limit: int = 4000) -> str:
    """Return the end of a text file; invalid UTF-8 is replaced."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - limit))
            return file.read(limit).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def fault_text(path: Path, limit: int = 4000) -> str:
    """Return the text of faulthandler without the list of extension modules."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.partition("\nExtension modules:")[0][:limit].strip()
