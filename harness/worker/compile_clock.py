"""Clock of the time that numba spends compiling, readable by the parent process.

The worker writes three numbers into a shared file: the seconds of all finished compilations, the
monotonic time at which the current one began (0 if there is none), and the number of functions.
The parent reads them while it waits for a reply, so compilation does not count against the time
limit of a trial.
"""

from __future__ import annotations

import contextlib
import importlib.util
import mmap
import struct
import sys
import time
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

LAYOUT = struct.Struct("=ddd")
EVENTS = "numba.core.event"
LONGEST = 600.0  # seconds; a single compilation that takes longer counts as a hang


class CompileTime(NamedTuple):
    """Compilations of numba so far in one process."""

    seconds: float  # wall time of finished compilations
    began: float  # monotonic start time of the current compilation; 0.0: none
    functions: int

    def total(self, now: float) -> float:
        """Return the seconds of all compilations until now, including the current one."""
        current = now - self.began if self.began else 0.0
        return self.seconds + min(max(current, 0.0), LONGEST)


NOTHING = CompileTime(0.0, 0.0, 0)


def read_compile_time(path: Path) -> CompileTime:
    """Return the compile time that a worker has written; zero if it has written none."""
    with contextlib.suppress(OSError, struct.error):
        seconds, began, functions = LAYOUT.unpack(path.read_bytes()[: LAYOUT.size])
        return CompileTime(seconds, began, int(functions))
    return NOTHING


class _AfterImport(MetaPathFinder):
    """Import hook that calls a function with numba's event module once it is imported."""

    def __init__(self, then: Callable[[ModuleType], None]) -> None:
        self._then = then

    def find_spec(
        self,
        fullname: str,
        path: object,  # noqa: ARG002 - the signature
        target: object = None,  # noqa: ARG002 - the signature
    ) -> ModuleSpec | None:
        """Return the spec of the event module with the call added; None for other modules."""
        if fullname != EVENTS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute, then = spec.loader.exec_module, self._then

        def execute_and_call(module: ModuleType) -> None:
            execute(module)
            then(module)

        spec.loader.exec_module = execute_and_call  # type: ignore[method-assign]
        return spec


def compile_listener(events: Any, clock: Any) -> Any:
    """Return a listener of numba's events that calls ``start`` and ``end`` of a clock."""

    class Listener(events.Listener):  # type: ignore[misc]
        def on_start(self, event: object) -> None:  # noqa: ARG002 - numba's signature
            clock.start()

        def on_end(self, event: object) -> None:  # noqa: ARG002 - numba's signature
            clock.end()

    return Listener()


class CompileClock:
    """Clock of the compilations of this process.

    Parameters
    ----------
    path
        File that the parent reads; empty: no file.
    """

    def __init__(self, path: str = "") -> None:
        self.time = NOTHING
        self._depth = 0  # compilations may be nested
        self._shared: mmap.mmap | None = None
        if path:
            with contextlib.suppress(OSError, ValueError), Path(path).open("r+b") as file:
                file.truncate(LAYOUT.size)
                # Forked children keep this mapping, which marks them as processes of this worker.
                self._shared = mmap.mmap(file.fileno(), LAYOUT.size)

    def install(self) -> None:
        """Register with numba's events, now or when numba is imported."""
        if EVENTS in sys.modules:
            self._listen(sys.modules[EVENTS])
        else:
            sys.meta_path.insert(0, _AfterImport(self._listen))

    def _listen(self, events: Any) -> None:
        events.register("numba:compile", compile_listener(events, self))

    def start(self) -> None:
        """Record the start of a compilation."""
        self._depth += 1
        began = self.time.began or time.monotonic()
        self._set(CompileTime(self.time.seconds, began, self.time.functions + 1))

    def end(self) -> None:
        """Record the end of a compilation."""
        self._depth = max(0, self._depth - 1)
        if not self._depth and self.time.began:
            spent = time.monotonic() - self.time.began
            self._set(CompileTime(self.time.seconds + spent, 0.0, self.time.functions))

    def _set(self, value: CompileTime) -> None:
        self.time = value
        if self._shared is not None:
            self._shared[: LAYOUT.size] = LAYOUT.pack(*value)
