"""Tests of the static site of a store."""

import json
import re

import pytest
from command_line import run_command
from fake_runs import FakeRun, store_fake_run

from harness.core.errors import ConfigError, StoreError
from harness.history.site import write_site
from harness.plugins.registry import NO_ALGORITHMS, load_registry
from reports.text.inline import SitePage


@pytest.fixture(scope="module")
def registry():
    return load_registry(packages=NO_ALGORITHMS, strangers=False)


@pytest.fixture
def stored(tmp_path):
    """Return a folder with a store of two runs, and the ids of these runs."""
    ids = []
    for number in range(2):
        fake = FakeRun()
        fake.classify("ours", seed=number)
        ids.append(store_fake_run(fake, tmp_path))
    return tmp_path, ids


def links(page):
    """Return the targets of all links of a page that lead out of it."""
    hrefs = re.findall(r'href="([^"#]+)"', page.read_text())
    return {href for href in hrefs if not href.startswith(("https://", "data:"))}


def test_every_link_of_the_site_leads_to_a_page_of_it(stored, registry):
    folder, ids = stored
    written = []
    site = write_site(folder / "results", registry, folder / "site", progress=written.append)
    pages = {path.name for path in (folder / "site").iterdir()}
    assert {f"report-{run}.html" for run in ids} | {"index.html", ".nojekyll"} <= pages
    assert (site.reports, site.index) == (2, folder / "site" / "index.html")
    assert len(written) == len(pages) - 1
    targets = links(site.index)
    assert {f"report-{run}.html" for run in ids} <= targets
    for name in pages - {".nojekyll"}:
        assert links(folder / "site" / name) <= pages
    assert not list((folder / "results").glob("*.html")), "the results folder has no pages"


def test_the_index_links_the_history_only_if_there_is_one(stored, registry, monkeypatch):
    from harness.analysis.series import Point, Series
    from harness.history import site as module
    from harness.history.commits import History

    folder, _ = stored
    points = tuple(Point(c, f"2026-01-0{i + 1}T00:00:00", 1.0 + i) for i, c in enumerate("ab"))
    series = [Series("ours", "blobs", "loss", "log_loss", "harness test", points)]
    monkeypatch.setattr(module, "read_history", lambda *_, **__: History(series, ["one file"]))
    site = write_site(folder / "results", registry, folder / "site", most=1)
    assert "history.html" in links(site.index)
    assert (site.series, site.notes) == (1, ("one file",))
    monkeypatch.setattr(module, "read_history", lambda *_, **__: History([]))
    site = write_site(folder / "results", registry, folder / "site", most=1)
    assert "history.html" not in links(site.index)
    assert not (folder / "site" / "history.html").exists()


def test_reports_of_older_runs_stay_and_are_linked(stored, registry):
    folder, ids = stored
    write_site(folder / "results", registry, folder / "site")
    site = write_site(folder / "results", registry, folder / "site", most=1)
    assert site.reports == 1
    assert {f"report-{run}.html" for run in ids} <= links(site.index)


def test_the_command_prints_the_first_page(stored):
    folder, _ = stored
    end = run_command(folder, "site", "--most", "1", "--json")
    assert end.returncode == 0, end.stderr
    assert json.loads(end.stdout)["reports"] == 1
    assert (folder / "site" / "index.html").is_file()
    assert run_command(folder, "site", "--most", "0").returncode == 2


def test_a_folder_that_cannot_be_made_is_an_error(stored, registry):
    folder, _ = stored
    (folder / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write the site"):
        write_site(folder / "results", registry, folder / "file" / "site")
    with pytest.raises(ConfigError, match="must be 1 or more"):
        write_site(folder / "results", registry, folder / "site", most=-1)


@pytest.mark.parametrize("name", ["../x.html", "https://example.org/a.html", "x", "a b.html"])
def test_a_link_leads_to_no_other_folder(name):
    with pytest.raises(ValueError, match="is not the name of a page"):
        SitePage("x", name)
