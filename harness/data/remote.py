"""Download files over https and verify their checksums, declared or pinned.

A file without a declared checksum is pinned at the first download: its checksum is stored in
``pins.json`` of the cache folder, and everything downloaded or read later must match it.
"""

from __future__ import annotations

import hashlib
import json
import re
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from harness.core.errors import DataError
from harness.data import cache
from harness.data.folders import cache_folder, max_bytes, offline
from harness.data.streams import sha256_of
from harness.data.writing import write_atomically

_TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 2**20


def download(url: str, sha256: str, name: str) -> Path:
    """Return the path of the file of an address, downloaded if not cached.

    Parameters
    ----------
    sha256
        The expected checksum, 64 hex digits, or "" to pin it at the first download.

    Raises
    ------
    DataError
        If there is no network, the address is not https, the file is too large, or the checksum is
        wrong; nothing is kept then.
    """
    import pooch

    if urlsplit(url).scheme != "https":
        raise DataError(f"{name}: only https addresses are fetched, not {url[:200]}")
    path = place_of(url)
    known = sha256 or pin_of(url)
    with cache.locked(url):
        if not path.is_file():
            check_online(name, url)
            pooch.get_logger().setLevel("WARNING")
            try:
                pooch.retrieve(
                    url,
                    known_hash=f"sha256:{known}" if known else None,
                    fname=path.name,
                    path=path.parent,
                    downloader=fetch_https,
                )
            except ValueError as error:  # raised by pooch for a wrong checksum
                raise DataError(f"{name}: {' '.join(str(error).split())}") from None
            except OSError as error:
                raise unreachable(name, url, error) from None
        pin(url, sha256_of(path), name, expected=known)
    return path


def place_of(url: str) -> Path:
    """Return the cache path of the file of an address: a hash and a readable part."""
    tail = PurePosixPath(unquote(urlsplit(url).path)).name
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", tail).strip(".-")[:60] or "file"
    digest = hashlib.sha256(url.encode()).hexdigest()[:16]
    return cache_folder() / "downloads" / f"{digest}-{slug}"


def fetch_https(url: str, output: str | IO[bytes], _pooch: Any = None) -> None:
    """Write the content of an https address to a file; redirects must be https too."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    with opener.open(url, timeout=_TIMEOUT) as response:
        if isinstance(output, str):
            with Path(output).open("wb") as file:
                copied = copy_capped(response, file, url)
        else:
            copied = copy_capped(response, output, url)
        declared = str(response.headers.get("Content-Length", ""))
    # A connection that ends too early is read like the end of the data.
    if declared.isdecimal() and copied < int(declared):
        raise OSError(f"cut short: {copied:,} of {int(declared):,} bytes received")


def copy_capped(source: IO[bytes], target: IO[bytes], url: str) -> int:
    """Copy a stream and return its size in bytes; raise DataError if it is too large."""
    left = limit = max_bytes()
    while chunk := source.read(_CHUNK):
        left -= len(chunk)
        if left < 0:
            raise DataError(
                f"{url[:200]} holds more than {limit:,} bytes; "
                "set HARNESS_MAX_BYTES=20GiB (or so) to fetch it"
            )
        target.write(chunk)
    return limit - left


class UnreachableError(DataError):
    """Host that cannot be reached, for all its datasets."""

    def __init__(self, message: str, host: str) -> None:
        super().__init__(message)
        self.host = host


def check_online(name: str, url: str) -> None:
    """Raise UnreachableError if the network is disabled."""
    if offline():
        message = f"{name} is not in the cache, and HARNESS_OFFLINE disables the network"
        raise UnreachableError(message, host_of(url))


def host_of(url: str) -> str:
    """Return the host of an address."""
    return urlsplit(url).hostname or ""


def unreachable(name: str, url: str, error: OSError) -> DataError:
    """Return the error for a dataset that could not be downloaded, with advice."""
    reason = getattr(error, "reason", None) or error.strerror or error
    message = (
        f"{name} could not be fetched: {reason}; fetch it where there is a network with "
        f"`harness data fetch {name}`, or name a folder that holds it with HARNESS_MIRROR"
    )
    unreached = isinstance(error, (urllib.error.URLError, ConnectionError, TimeoutError))
    if unreached and not isinstance(error, urllib.error.HTTPError):  # the host has answered
        return UnreachableError(message, host_of(url))
    return DataError(message)


# ------------------------------------------------------------------ pins


def pin_of(key: str) -> str:
    """Return the checksum pinned at the first download, or ""."""
    return _pins().get(key, "")


def pin(key: str, found: str, name: str, *, expected: str = "") -> None:
    """Compare a checksum with the declared or pinned one; pin it if there is none yet.

    Raises
    ------
    DataError
        If they differ, with both.
    """
    known = expected or pin_of(key)
    if not known:
        with cache.locked("pins"), suppress(OSError):
            content = json.dumps({**_pins(), key: found}, indent=1, sort_keys=True)
            write_atomically(cache_folder() / "pins.json", content.encode())
    elif known != found:
        raise DataError(
            f"{name} has SHA-256 {found[:16]}…, not the expected {known[:16]}… ({key[:200]}); "
            f"delete {cache_folder()} to fetch it again; do not trust it if that does not help"
        )


def _pins() -> dict[str, str]:
    """Return all pins; raise DataError if the file is damaged, so that checks are not skipped."""
    path = cache_folder() / "pins.json"
    try:
        pinned = json.loads(path.read_bytes())
        if all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in pinned.values()):
            return dict(pinned)
        reason = "it has values that are not checksums"
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        reason = str(error.strerror)
    except (ValueError, TypeError, AttributeError, RecursionError):
        reason = "it is damaged"
    raise DataError(
        f"{path} cannot be read: {reason}; it has the checksums of files without a declared one: "
        "restore it, or delete it to trust the files in the cache and later downloads"
    )
