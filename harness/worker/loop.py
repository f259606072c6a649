"""Request loop of a worker: one line of JSON per request and per reply."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from typing import BinaryIO

from harness.core.errors import HarnessError
from harness.core.model import JSON, Failure, Sample, to_json
from harness.worker import LOST_CHANNEL, PROTOCOL
from harness.worker.state import WorkerState

Commands = dict[str, Callable[..., JSON]]
LONGEST_TEXT = 8000  # characters of a message or a traceback that are kept


def serve(requests: BinaryIO, replies: BinaryIO, imported: Sample | None = None) -> None:
    """Answer each request until ``quit`` or the end of the requests.

    ``imported`` is the sample of the imports in the template of this process, if it is a fork.
    """
    state = WorkerState(imported)
    state.compile_clock.install()
    phases = ("native", "fit", "predict", "predict_one")
    serving = ("save_served", "load_served", "serve_rows", "serve_batch")
    steps = ("hello", "load", "prepare", "pin", "first_call", *phases, "finish", "save", "warm")
    names = (*steps, *serving)
    commands: Commands = {**{name: getattr(state, name) for name in names}, "quit": dict}
    for line in requests:
        request = json.loads(line)
        reply = answer(request, commands)
        try:
            replies.write(json.dumps(reply).encode() + b"\n")
            replies.flush()
        except OSError:  # a plugin has closed foreign descriptors
            os._exit(LOST_CHANNEL)
        if request.get("do") == "quit":
            # Exit at once: library teardown takes up to a second and is not needed.
            os._exit(0)


def answer(request: JSON, commands: Commands) -> JSON:
    """Return the reply to one request; any exception gives a failed reply."""
    head = {"v": PROTOCOL, "n": request.get("n", 0)}
    fields = {key: value for key, value in request.items() if key not in {"v", "n", "do"}}
    try:
        result = command(request, commands)(**fields)
    except BaseException as error:  # noqa: BLE001 - also a plugin's SystemExit or KeyboardInterrupt
        return {**head, "ok": False, "failure": to_json(failure_of(error))}
    return {**head, "ok": True, **to_json(result)}


def command(request: JSON, commands: Commands) -> Callable[..., JSON]:
    """Return the function that answers a request."""
    version, do = request.get("v"), request.get("do")
    if version != PROTOCOL or do not in commands:
        raise HarnessError(
            f"this worker uses version {PROTOCOL} of the protocol, but the request {do!r} has "
            f"version {version}: worker and parent run different source trees"
        )
    return commands[str(do)]


def failure_of(error: BaseException) -> Failure:
    """Return the failure for an exception; a HarnessError has no traceback."""
    kind = "MemoryError" if isinstance(error, MemoryError) else type(error).__name__
    message = _plain(str(error) or type(error).__doc__ or kind)
    if isinstance(error, HarnessError):
        return Failure(kind, message)
    return Failure(kind, message, _plain("".join(traceback.format_exception(error))))


def _plain(text: str) -> str:
    """Return a plugin's text as valid UTF-8.

    A long text keeps its beginning and its end.
    """
    if len(text) > LONGEST_TEXT:
        half = LONGEST_TEXT // 2
        left_out = f"\n[... {len(text) - 2 * half:,} characters left out ...]\n"
        text = text[:half] + left_out + text[-half:]
    return text.encode("utf-8", "replace").decode().strip()
