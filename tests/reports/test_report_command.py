"""Tests of ``harness report``: page, index, Markdown or JSON, and opening the result."""

import json
import sqlite3
import webbrowser
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from fake_runs import FakeRun, store_fake_run

from harness import api
from harness.cli import harness
from harness.core.errors import ConfigError


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return a folder of results with two runs of one experiment."""
    folder = tmp_path_factory.mktemp("two")
    for sharpness in (2.0, 1.0):
        fake = FakeRun()
        fake.classify("ours", sharpness=sharpness)
        fake.classify("theirs")
        store_fake_run(fake, folder)
    return folder / "results"


@pytest.fixture
def opened(monkeypatch):
    """Return the addresses that would have been opened in a browser."""
    result = []
    monkeypatch.setattr(webbrowser, "open", result.append)
    return result


def report(results, *words):
    return CliRunner().invoke(
        harness, ["report", *words, "--results", str(results)], catch_exceptions=False
    )


def test_report_is_compared_with_the_run_before(results, opened) -> None:
    done = report(results, "--open")
    path = results / done.stdout.strip().rpartition("/")[2]
    page = path.read_text()
    assert opened == [path.as_uri()]
    assert "What changed" in page
    assert 'id="history"' in page
    assert "This section failed" not in page


def test_clock_set_back_hides_no_earlier_run(results) -> None:
    with sqlite3.connect(results / "harness.db") as rows:
        rows.execute("UPDATE run SET started = '2001-01-01T00:00:00+00:00' WHERE key = 2")
    rows.close()
    report(results, "latest")
    newest = max(results.glob("report-*.html"), key=lambda path: path.stat().st_mtime)
    assert "What changed" in newest.read_text()


def test_unrelated_run_in_between_hides_nothing(tmp_path) -> None:
    for dataset in ("blobs", "others", "blobs"):
        fake = FakeRun()
        for algorithm in ("ours", "theirs"):
            fake.classify(algorithm, dataset)
        store_fake_run(fake, tmp_path)
    report(tmp_path / "results", "latest")
    report(tmp_path / "results", "--all")
    for page in (tmp_path / "results").glob("*.html"):
        text = page.read_text()
        assert "What changed" in text or "The newest run against the one before" in text, page


def test_index_has_every_run_and_links_to_reports(results, opened) -> None:
    report(results, "latest")
    done = report(results, "--all")
    page = (results / "index.html").read_text()
    assert done.stdout.strip().endswith("index.html")
    assert page.count('href="report-') == 1
    assert page.count("no report yet") == 1
    assert opened == []


def test_no_algorithm_is_imported_for_a_page(results, monkeypatch) -> None:
    loaded = []
    from harness.cli import report as command

    real = command.load_registry
    monkeypatch.setattr(
        command, "load_registry", lambda *a, **k: loaded.append(real(*a, **k)) or loaded[0]
    )
    report(results, "--markdown")
    assert loaded[0].names("algorithm") == []
    assert "summary" in loaded[0].names("section")
    assert "log_loss" in loaded[0].names("metric")


def test_verdicts_and_summary_are_printed(results) -> None:
    data = json.loads(report(results, "--json").stdout)
    assert {"run", "accuracy", "speed", "parity", "failures"} <= set(data)
    assert report(results, "--markdown").stdout.startswith("**test**")


@pytest.mark.parametrize(
    "words", [("--all", "--json"), ("--all", "latest"), ("--json", "--markdown")]
)
def test_contradictory_options_are_refused(results, words) -> None:
    with pytest.raises(ConfigError, match="exclude each other"):
        report(results, *words)


@pytest.mark.parametrize(
    ("words", "times"), [((), 0), (("--open",), 1), (("--open", "--no-report"), 0)]
)
def test_run_opens_its_report_only_on_request(tmp_path, monkeypatch, opened, words, times) -> None:
    tally = SimpleNamespace(ends={}, reused=0, exit_code=0, sentence=lambda: "1 trial done")
    page = tmp_path / "report.html"
    view = SimpleNamespace(speed=(), accuracy=(), duels=(), cells=())
    messages = {"gates": None, "tally": tally, "registry": None, "view": view}
    result = SimpleNamespace(run="r", path=tmp_path, report=lambda: page, **messages)
    monkeypatch.setattr(api, "carry_out", lambda *_: result)
    done = CliRunner().invoke(harness, ["run", "quick", *words], catch_exceptions=False)
    assert done.exit_code == 0
    assert opened == [page.as_uri()] * times
