"""A headless Chromium driven through the DevTools protocol over a pipe: no package, no port."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
WHY_NOT = f"no browser on PATH: {', '.join(NAMES)}"
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions"),
    *("--disable-dev-shm-usage", "--disable-quic", "--hide-scrollbars", "--remote-debugging-pipe"),
)
LAUNCH = """
import fcntl, os, sys
high = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(high, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
PATIENCE = 60.0  # seconds for one answer
LOG_NOISE = ("info", "verbose")  # levels that are no complaint


class Browser:
    """A running browser. Messages are JSON with a zero byte at the end, on descriptors 3 and 4."""

    def __init__(self, executable: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        requested, self._ask = os.pipe()
        self._hear, message = os.pipe()
        # another Python puts the ends where the browser looks for them, whatever their numbers
        command = [sys.executable, "-c", LAUNCH, str(requested), str(message), executable, *OPTIONS]
        command += [f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = subprocess.Popen(
            command,
            pass_fds=(requested, message),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(requested)
        os.close(message)
        self._number = 0
        self._rest = b""
        self._waiting: list[dict[str, Any]] = []

    def close(self) -> None:
        """Close the browser, by force if necessary."""
        with contextlib.suppress(OSError, RuntimeError):
            self.call("Browser.close")
        for end in (self._ask, self._hear):
            os.close(end)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come first are kept."""
        self._number += 1
        messages: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session:
            messages["sessionId"] = session
        _write(self._ask, json.dumps(messages).encode() + b"\0")
        number = self._number
        answer = self.wait(lambda told: told.get("id") == number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return dict(answer["result"])

    def wait(self, expected: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first matching message; the others are kept."""
        for place, message in enumerate(self._waiting):
            if expected(message):
                return self._waiting.pop(place)
        for message in self._messages():
            if expected(message):
                return message
            self._waiting.append(message)
        raise RuntimeError("the browser went away")

    def events(self, session: str) -> list[dict[str, Any]]:
        """Return the events of a session so far, and clear them."""
        mine = [message for message in self._waiting if message.get("sessionId") == session]
        self._waiting = [
            message for message in self._waiting if message.get("sessionId") != session
        ]
        return mine

    def _messages(self) -> Iterator[dict[str, Any]]:
        until = time.monotonic() + PATIENCE
        while True:
            while b"\0" in self._rest:
                message, self._rest = self._rest.split(b"\0", 1)
                yield json.loads(message)
            ready, _, _ = select.select([self._hear], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise RuntimeError(f"the browser said nothing for {PATIENCE:g} s")
            more = os.read(self._hear, 1 << 20)
            if not more:
                return
            self._rest += more

    @contextlib.contextmanager
    def page(self, path: Path, **how: Any) -> Iterator[Page]:
        """Open a file in a new tab; see :class:`Page`."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        opened = Page(self, str(attached["sessionId"]))
        try:
            opened.open(path, **how)
            yield opened
        finally:
            self.call("Target.closeTarget", targetId=target)


class Page:
    """A file in a tab: its requests, its errors, and results of scripts in it."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self._events: list[dict[str, Any]] = []

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command to this tab."""
        return self._browser.call(method, self._session, **params)

    def open(
        self,
        path: Path,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        media: str = "",
        script: bool = True,
    ) -> None:
        """Load a file and wait until it has loaded."""
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.emulate(dark=dark, media=media)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Page.navigate", url=path.resolve().as_uri())
        session = self._session
        self._browser.wait(
            lambda m: m.get("sessionId") == session and m.get("method") == "Page.loadEventFired"
        )

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window in CSS pixels."""
        size: dict[str, Any] = {"width": width, "height": height, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", deviceScaleFactor=1, **size)

    def emulate(self, *, dark: bool = False, media: str = "") -> None:
        """Prefer a color scheme, and show the page as on ``print`` or ``screen``."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme, still])

    def evaluate(self, script: str) -> Any:
        """Run a function body in the page and return its JSON result; it may ``await``."""
        result = self.call(
            "Runtime.evaluate",
            expression=f"(async () => {{ {script} }})()",
            awaitPromise=True,
            returnByValue=True,
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key, such as ``Tab`` or ``Enter``."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        for kind in ("keyDown", "keyUp"):
            reported = {"text": text} if text and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=codes.get(key, 0),
                **reported,
            )

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a PNG of the window, or of the whole page."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self) -> bytes:
        """Return the page as printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    @property
    def _told(self) -> list[dict[str, Any]]:
        self._events += self._browser.events(self._session)
        return self._events

    @property
    def requests(self) -> list[str]:
        """Addresses that the page requested, including its own; ``data:`` is no request."""
        requested = [
            message["params"]["request"]["url"]
            for message in self._told
            if message.get("method") == "Network.requestWillBeSent"
        ]
        return [address for address in requested if not address.startswith("data:")]

    @property
    def answered(self) -> list[str]:
        """Addresses with a response; requests blocked by the policy have none."""
        return [
            str(message["params"]["response"]["url"])
            for message in self._told
            if message.get("method") == "Network.responseReceived"
        ]

    @property
    def complaints(self) -> list[str]:
        """Exceptions, and warnings or errors in the console."""
        results = []
        for message in self._told:
            params = message.get("params", {})
            if message.get("method") == "Runtime.exceptionThrown":
                results.append(str(params["exceptionDetails"]))
            elif message.get("method") == "Runtime.consoleAPICalled" and params["type"] != "log":
                results.append(str(params["args"]))
            elif message.get("method") == "Log.entryAdded":
                entry = params["entry"]
                results += [str(entry["text"])] * (entry["level"] not in LOG_NOISE)
        return results


def _write(end: int, data: bytes) -> None:
    while data:
        data = data[os.write(end, data) :]
