"""Run the command line in this process, which is faster than starting an interpreter."""

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from harness.__main__ import main


def run_command(folder: Path, *arguments: str) -> SimpleNamespace:
    """Run a command in a folder; return ``returncode``, ``stdout`` and ``stderr``."""
    out, err = io.StringIO(), io.StringIO()
    variables = {"COLUMNS": "200", "HARNESS_RESULTS": "results"}
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.dict(os.environ, variables),
        mock.patch("sys.argv", ["harness", *arguments]),
        mock.patch("sys.path", [*sys.path]),
        _signal_handlers_kept(),
    ):
        code = main()
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


@contextlib.contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """Restore the handlers that the command line replaces."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
