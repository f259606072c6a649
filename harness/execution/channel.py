"""The wire between a supervisor and a worker: a request a line one way, a reply a line back."""

from __future__ import annotations

import contextlib
import json
import os
import select
from typing import IO, Any

from harness.core.model import JSON, Failure
from harness.worker import PROTOCOL

LONGEST_REPLY = 1 << 20  # bytes; a worker that says more is not speaking the protocol


class GarbledError(Exception):
    """Something other than one proper reply came; its text begins as the message."""


class Channel:
    """The parent's ends: the worker's stdin, and a pipe of its own for replies.

    The worker is given ``write_end``; the parent's copy is closed once it has it.
    """

    def __init__(self) -> None:
        self._replies, self.write_end = os.pipe()
        os.set_blocking(self._replies, False)
        self._requests: IO[bytes] | None = None
        self._number = 0
        self._buffer = b""
        self._unsent = b""

    def connect(self, requests: IO[bytes]) -> None:
        """Take the unbuffered stdin of a worker that has been started."""
        self._requests = requests
        os.set_blocking(requests.fileno(), False)  # a worker that is stopped reads nothing

    def release(self) -> None:
        """Close the worker's end, so that its death is heard as the end of the replies."""
        os.close(self.write_end)

    def send(self, do: str, fields: dict[str, Any]) -> None:
        """Begin one request; :meth:`push` writes what does not fit into the pipe at once."""
        self._number += 1
        request = {"v": PROTOCOL, "n": self._number, "do": do, **fields}
        self._unsent = json.dumps(request).encode() + b"\n"
        self.push()

    def push(self) -> None:
        """Write as much of a request as is taken; BrokenPipeError where nobody reads any more."""
        assert self._requests is not None
        if self._unsent:
            # None, where nothing is taken now
            written = self._requests.write(self._unsent) or 0
            self._unsent = self._unsent[written:]

    def wait(self, seconds: float) -> None:
        """Sleep until something is heard, or more can be said, at most for some seconds."""
        assert self._requests is not None
        heed = select.poll()
        heed.register(self._replies, select.POLLIN)
        if self._unsent:
            heed.register(self._requests, select.POLLOUT)
        heed.poll(seconds * 1000)

    def hear(self) -> bool:
        """Take what was written; False where nothing was, EOFError where nothing can be."""
        try:
            data = os.read(self._replies, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            raise EOFError
        self._buffer += data
        return True

    def reply(self) -> JSON | None:
        """Return the reply to the last request, or None where it is not yet whole.

        Raises
        ------
        GarbledError
            Where anything else was received.
        """
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline and len(line) <= LONGEST_REPLY:
            return None
        if rest or not newline or (found := self._parsed(line)) is None:
            raise GarbledError(self._buffer[:200].decode("utf-8", "replace"))
        self._buffer = b""
        return found

    def close(self) -> None:
        """Hang up."""
        if self._requests is not None:
            with contextlib.suppress(OSError):
                self._requests.close()
        os.close(self._replies)

    def _parsed(self, line: bytes) -> JSON | None:
        try:
            reply: JSON = json.loads(line)
            if reply["v"] != PROTOCOL or reply["n"] != self._number:
                return None
            if reply["ok"] is False:
                reply["failure"] = Failure(**reply["failure"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return reply if isinstance(reply["ok"], bool) else None
