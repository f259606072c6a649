"""Channel between the parent and a worker: one line of JSON per request and per reply."""

from __future__ import annotations

import contextlib
import json
import os
import select
from typing import IO, Any

from harness.core.model import JSON, Failure
from harness.worker import PROTOCOL

LONGEST_REPLY = 1 << 20  # bytes; a longer line is a protocol error


class GarbledError(Exception):
    """Invalid data on the reply pipe; the message is the beginning of the data."""


class Channel:
    """Parent's ends of the channel: the worker's stdin, and a separate pipe for replies.

    The worker inherits ``write_end``; the parent closes its copy afterwards.
    """

    def __init__(self) -> None:
        self._replies, self.write_end = os.pipe()
        os.set_blocking(self._replies, False)
        self._requests: IO[bytes] | None = None
        self._number = 0
        self._buffer = b""
        self._unsent = b""

    def connect(self, requests: IO[bytes]) -> None:
        """Set the unbuffered stdin of a started worker."""
        self._requests = requests
        os.set_blocking(requests.fileno(), False)  # a stopped worker does not read

    def release(self) -> None:
        """Close the parent's copy of the worker's end, so that the worker's end gives EOF."""
        os.close(self.write_end)

    def send(self, do: str, fields: dict[str, Any]) -> None:
        """Send one request; :meth:`push` writes what does not fit into the pipe at once."""
        self._number += 1
        request = {"v": PROTOCOL, "n": self._number, "do": do, **fields}
        self._unsent = json.dumps(request).encode() + b"\n"
        self.push()

    def push(self) -> None:
        """Write as much of the request as the pipe takes; BrokenPipeError if it has no reader."""
        assert self._requests is not None
        if self._unsent:
            # `write` returns None if the pipe is full
            written = self._requests.write(self._unsent) or 0
            self._unsent = self._unsent[written:]

    def wait(self, seconds: float) -> None:
        """Wait until data can be read or written, at most ``seconds``."""
        assert self._requests is not None
        poller = select.poll()
        poller.register(self._replies, select.POLLIN)
        if self._unsent:
            poller.register(self._requests, select.POLLOUT)
        poller.poll(seconds * 1000)

    def receive(self) -> bool:
        """Read available data into the buffer; return False without data, EOFError at the end."""
        try:
            data = os.read(self._replies, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            raise EOFError
        self._buffer += data
        return True

    def reply(self) -> JSON | None:
        """Return the reply to the last request, or None if it is not complete yet.

        Raises
        ------
        GarbledError
            If anything else was received.
        """
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline and len(line) <= LONGEST_REPLY:
            return None
        if rest or not newline or (found := self._parsed(line)) is None:
            raise GarbledError(self._buffer[:200].decode("utf-8", "replace"))
        self._buffer = b""
        return found

    def close(self) -> None:
        """Close both ends."""
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
