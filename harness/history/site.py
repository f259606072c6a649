"""Static site of a store: the index of its runs, the report of each run, and the history.

All pages are in one folder, link each other by their names, and need no network. Any web server can
serve the folder, and so can GitHub Pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import reporting
from harness.core.errors import ConfigError, StoreError
from harness.history.commits import read_history
from harness.plugins.registry import Registry
from harness.store import Store

NO_JEKYLL = ".nojekyll"  # GitHub Pages serves the files as they are


@dataclass(frozen=True)
class Site:
    """Written pages."""

    index: Path
    reports: int  # number of reports
    series: int  # number of series in the history; 0 if nothing was measured at two commits
    notes: tuple[str, ...]  # results that could not be read


def write_site(
    results: Path,
    registry: Registry,
    folder: Path,
    *,
    most: int = reporting.INDEXED,
    asv: Path | None = None,
    progress: Callable[[str], None] = lambda _line: None,
) -> Site:
    """Write the site of a store into a folder, which is made if it is missing.

    Reports of earlier calls stay in the folder, also of runs that are no longer among the newest.

    Parameters
    ----------
    most
        Number of the newest runs whose report is written.
    asv
        Folder of asv results; see :func:`harness.history.commits.read_history`.
    progress
        Called with the path of each page.

    Raises
    ------
    ConfigError
        If ``most`` is not positive.
    StoreError
        If there is no store, or a page cannot be written.
    """
    if most < 1:
        raise ConfigError(f"the number of reports must be 1 or more, not {most}")
    with Store.open(results) as store:
        runs = [str(run["id"]) for run in store.runs()[:most]]
    _make(folder)
    for run in runs:
        progress(str(reporting.write_run_report(results, run, registry, folder)))
    history = read_history(results, registry, asv=asv)
    page = folder / reporting.HISTORY
    if history.series:
        reporting.write_history(history.series, history.notes, page)
        progress(str(page))
    else:
        page.unlink(missing_ok=True)  # of an earlier store
    index = reporting.write_index(results, registry, folder)
    progress(str(index))
    return Site(index, len(runs), len(history.series), tuple(history.notes))


def _make(folder: Path) -> None:
    """Make the folder, and the file that turns off the processing by GitHub Pages."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NO_JEKYLL).touch()
    except OSError as error:
        raise StoreError(f"cannot write the site to {folder}: {error.strerror}") from error
