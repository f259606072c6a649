"""Tests of downloads: HTTPS only, pinned, limited in size, complete. No test uses the network."""

import hashlib
import io
import threading
import urllib.error
import urllib.request
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from harness.core.errors import DataError
from harness.data import remote
from harness.data.cards import Card
from harness.data.loading import table_of

CONTENT = b"a,b,y\n1,u,no\n2,v,yes\n3,u,no\n"
SHA = hashlib.sha256(CONTENT).hexdigest()
URL = "https://example.org/some%20folder/../data.csv?x=1"


@pytest.fixture
def served(monkeypatch):
    """Answer https requests from a table, like the opener's https handler."""
    answers = {URL: CONTENT}
    requested = []

    def https_open(self, request):
        requested.append(request.full_url)
        content = answers[request.full_url]
        if isinstance(content, Exception):
            raise content
        headers = Message()
        code = 200
        if isinstance(content, str):
            code, content, headers["Location"] = 302, b"", content
        result = urllib.response.addinfourl(io.BytesIO(content), headers, request.full_url, code)
        result.msg = "Found"
        return result

    monkeypatch.setattr(urllib.request.HTTPSHandler, "https_open", https_open)
    monkeypatch.delenv("HARNESS_OFFLINE")
    answers["asked"] = requested
    return answers


def downloads(tmp_path):
    return sorted(p.name for p in (tmp_path / "cache/downloads").glob("*"))


def test_pinned_file_is_fetched_once(tmp_path, served):
    path = remote.download(URL, SHA, "mine")
    assert path.read_bytes() == CONTENT
    assert path.parent == tmp_path / "cache/downloads"
    assert path.name.endswith("-data.csv")
    assert remote.download(URL, SHA, "mine") == path
    assert len(served["asked"]) == 1


def test_wrong_checksum_stores_nothing(tmp_path, served):
    with pytest.raises(DataError, match=f"{SHA}"):
        remote.download(URL, "0" * 64, "mine")
    assert downloads(tmp_path) == []


def test_unpinned_file_is_pinned_at_the_first_fetch(tmp_path, served):
    path = remote.download(URL, "", "mine")
    assert remote.pin_of(URL) == SHA
    path.write_bytes(CONTENT + b"4,u,no\n")
    with pytest.raises(DataError, match=f"not the expected {SHA[:16]}.*;"):
        remote.download(URL, "", "mine")
    path.unlink()
    served[URL] = CONTENT + b"5,u,no\n"
    with pytest.raises(DataError, match="does not match the known hash"):
        remote.download(URL, "", "mine")
    assert downloads(tmp_path) == []


def test_oversized_file_is_stopped(tmp_path, served, monkeypatch):
    served[URL] = b"x" * 3_000_000
    monkeypatch.setenv("HARNESS_MAX_BYTES", "1MB")
    with pytest.raises(DataError, match=r"more than 1,000,000 bytes.*HARNESS_MAX_BYTES"):
        remote.download(URL, SHA, "mine")
    assert downloads(tmp_path) == []


@pytest.mark.parametrize("url", ["http://example.org/a.csv", "ftp://x/a", "file:///etc/passwd"])
def test_only_https_is_fetched(served, url):
    with pytest.raises(DataError, match="only https"):
        remote.download(url, SHA, "mine")
    assert served["asked"] == []


@pytest.mark.parametrize("there", ["http://example.org/a.csv", "file:///etc/passwd", "ftp://x/a"])
def test_redirect_away_from_https_is_refused(tmp_path, served, there):
    served[URL] = there
    with pytest.raises(DataError, match="mine could not be fetched"):
        remote.download(URL, SHA, "mine")
    assert downloads(tmp_path) == []


def test_redirect_to_https_is_followed(served):
    served[URL] = "https://example.org/b.csv"
    served["https://example.org/b.csv"] = CONTENT
    assert remote.download(URL, SHA, "mine").read_bytes() == CONTENT


def test_plain_http_is_never_used(monkeypatch):
    """A real server on this machine must get no request."""
    requested = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requested.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(urllib.error.URLError, match="unknown url type"):
                remote.fetch_https(f"http://127.0.0.1:{server.server_port}/x", io.BytesIO())
        finally:
            server.shutdown()
            thread.join()
    assert requested == []


def test_missing_network_gives_alternatives(served):
    served[URL] = urllib.error.URLError("Name or service not known")
    with pytest.raises(DataError, match=r"Name or service.*data fetch mine.*HARNESS_MIRROR"):
        remote.download(URL, SHA, "mine")


def test_offline_uses_no_network(served, monkeypatch):
    monkeypatch.setenv("HARNESS_OFFLINE", "1")
    with pytest.raises(DataError, match="HARNESS_OFFLINE disables"):
        remote.download(URL, SHA, "mine")
    assert served["asked"] == []


@pytest.mark.parametrize(
    "url", ["https://x.org/../../etc/passwd", "https://x.org/%2e%2e%2f%2e%2e%2fetc", "https://x.org/",
            "https://x.org/" + "n" * 5000, "https://x.org/a%00b", "https://x.org/.hidden"]
)  # fmt: skip
def test_address_cannot_leave_the_cache(tmp_path, url):
    place = remote.place_of(url)
    assert place.parent == tmp_path / "cache/downloads"
    assert len(place.name) < 90
    assert place.resolve().parent == place.parent.resolve()
    assert urlsplit(url).path not in place.name


def test_card_loads_its_table_over_the_network(served, tmp_path):
    card = Card.model_validate(
        {
            "name": "mine",
            "task": "binary",
            "target": "y",
            "rows": 3,
            "columns": 2,
            "classes": 2,
            "categorical": 1,
            "source": "url",
            "files": [{"url": URL, "sha256": SHA}],
        }
    )
    table = table_of(card.dataset(tmp_path))
    assert table.classes == ("no", "yes")
    loose = card.model_copy(update={"rows": 4, "files": (card.files[0].model_copy(
        update={"sha256": ""}),)})  # fmt: skip
    (note,) = table_of(loose.dataset(tmp_path)).notes
    assert note == "mine is declared with 4 rows and 2 columns, but has 3 rows and 2 columns"
    exact = card.model_copy(update={"rows": 4})
    with pytest.raises(DataError, match="declared with 4 rows"):
        table_of(exact.dataset(tmp_path), fresh=True)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"a": {}}', b'{"a": "b"}', b"\xff", b"[" * 100_000]
)
def test_damaged_pins_are_reported_and_kept(tmp_path, served, content):
    remote.download(URL, "", "mine")
    pins = tmp_path / "cache/pins.json"
    pins.write_bytes(content)
    with pytest.raises(DataError, match=r"pins\.json cannot be read.*restore it, or delete it"):
        remote.download(URL, "", "mine")
    assert pins.read_bytes() == content, "nothing is lost by looking"
    assert remote.download(URL, SHA, "mine").is_file(), "whoever has a checksum needs no pin"
    pins.unlink()
    remote.download(URL, "", "mine")
    assert remote.pin_of(URL) == SHA
