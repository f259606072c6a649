"""Reports of stored runs, written from the store without any algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any, Literal

from harness.analysis.build_view import view_run
from harness.analysis.compare import RunComparison, compare_runs
from harness.analysis.gates import Decision, State, decide_gates, gates_of, state_of
from harness.analysis.run_view import RunView
from harness.analysis.series import Series
from harness.analysis.trends import RunPoint, course
from harness.config.experiment import Gate
from harness.core.errors import ConfigError
from harness.core.ids import canonical
from harness.core.model import JSON, ReportWriter, Section
from harness.data.writing import sweep
from harness.plugins.registry import Registry, load_registry
from harness.runs.request import default_results
from harness.store import Store

PAST = 20  # earlier runs in a report
HISTORY = "history.html"
INDEXED = 30  # newest runs of an index, with scores; older ones are only listed

Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # header, rows


@cache
def _writers() -> Registry:
    return load_registry(modules=["reports.writers"])


def writer(name: str) -> Callable[..., Any]:
    """Return the function that writes one form of a report, as `reports` registers it."""
    registered: ReportWriter = _writers().entry("report writer", name).value
    return registered.write


def view(results: Path, run: str, registry: Registry, *, past: bool = False) -> RunView:
    """Return the view of a stored run, by id, start of an id, or "latest".

    ``past`` adds earlier runs of the same experiment.
    """
    with Store.open(results) as store:
        run_view = view_run(store, store.run(run)["id"], registry)
        run_view = replace(run_view, run=_with_folder(run_view.run, results))
        earlier = _earlier(store, run_view.run) if past else []
        if not earlier:
            return run_view
        run_id = str(run_view.run["id"])
        points = course(store, registry, [*earlier, run_id])
        return replace(run_view, previous=_change(store, earlier, run_id, registry), course=points)


def _change(
    store: Store, earlier: Sequence[str], run: str, registry: Registry
) -> RunComparison | None:
    """Return the comparison with the newest earlier run that has common cells."""
    compared = (compare_runs(store, old, run, registry) for old in reversed(earlier))
    return next((comparison for comparison in compared if comparison.matched), None)


def _with_folder(run: Mapping[str, Any], results: Path) -> Mapping[str, Any]:
    """Return a run with its results folder, if its commands must name the folder.

    Absolute paths are left out because reports are shared.
    """
    plain = results == default_results() or results.is_absolute()
    return run if plain else {**run, "results": results.as_posix()}


def _earlier(store: Store, run: Mapping[str, Any]) -> list[str]:
    """Return the ids of the last runs of the same name before another, the oldest first.

    The order is that of the store: the clock may have been set back.
    """
    older = dropwhile(lambda other: other["id"] != run["id"], store.runs())  # newest first
    next(older, None)
    same = (str(other["id"]) for other in older if other["name"] == run["name"])
    return list(islice(same, PAST))[::-1]


def write_run_report(
    results: Path, run: str, registry: Registry, folder: Path | None = None
) -> Path:
    """Write the report of a run into a folder, by default the results, and return its path."""
    run_view = view(results, run, registry, past=True)
    sections: list[Section] = sorted(registry.all("section"), key=lambda s: (s.order, s.name))
    place = folder or results
    path = place / f"report-{run_view.run['id']}.html"
    sweep(place, ".*.html.*.tmp")  # partial pages of killed processes
    writer("run-page")(run_view, sections, path)
    return path


def write_index(results: Path, registry: Registry, folder: Path | None = None) -> Path:
    """Write the index of all runs into a folder, by default the results, and return its path.

    It links the reports and the page of the history in the same folder.
    """
    place = folder or results
    with Store.open(results) as store:
        stored = store.runs()
        points = course(store, registry, [str(run["id"]) for run in stored[:INDEXED][::-1]])
        changes = [_change(store, old, new, registry) for old, new in _runs_by_experiment(points)]
    points = tuple(replace(point, run=_with_folder(point.run, results)) for point in points)
    runs = (str(run["id"]) for run in stored)
    reports = {run for run in runs if (place / f"report-{run}.html").is_file()}
    path = place / "index.html"
    writer("index-page")(
        points,
        reports,
        path,
        older=stored[INDEXED:],
        newest=list(filter(None, changes)),
        history=(place / HISTORY).is_file(),
    )
    return path


def _runs_by_experiment(points: Sequence[RunPoint]) -> list[tuple[list[str], str]]:
    """Return for each experiment with several runs the earlier ones and the newest."""
    ids: dict[str, list[str]] = {}
    for point in points:
        ids.setdefault(str(point.run.get("name", "")), []).append(point.id)
    return [(same[:-1], same[-1]) for same in reversed(ids.values()) if len(same) > 1]


def summary(results: Path, run: str, registry: Registry) -> str:
    """Return the Markdown summary of a run."""
    text: str = writer("run-markdown")(view(results, run, registry))
    return text


def verdicts(results: Path, run: str, registry: Registry) -> JSON:
    """Return all verdicts of a run as JSON."""
    document: JSON = writer("run-json")(view(results, run, registry))
    return document


def gates(results: Path, run: str, registry: Registry, given: Sequence[Gate] = ()) -> Gates:
    """Decide gates for a stored run: the given ones, or those of its experiment.

    Raises
    ------
    ConfigError
        If there are none.
    """
    run_view = view(results, run, registry)
    chosen = list(given) or gates_of(run_view.run["config"])
    if not chosen:
        raise ConfigError(
            f"run {run_view.run['id']} has no gates; name a file with [[gate]] tables: "
            "`harness gate FILE`"
        )
    decisions = decide_gates(chosen, run_view)
    return Gates(str(run_view.run["id"]), decisions, state_of(decisions))


@dataclass(frozen=True)
class Gates:
    """The decided gates of one run, in every form that is printed."""

    run: str
    decisions: Sequence[Decision]
    state: State

    def exit_code(self, undecided: str | None = None) -> int:
        """Return 0, 1 (a gate fails) or 6 (one is undecided, and ``undecided`` is None)."""
        state = undecided if self.state == "undecided" and undecided else self.state
        return {"pass": 0, "fail": 1, "undecided": 6}[state]

    def sentence(self) -> str:
        """Return the numbers of gates that hold, fail and are undecided."""
        text: str = writer("gates-sentence")(self.decisions)
        return text

    def table(self) -> Table:
        """Return header and rows of words."""
        table: Table = writer("gates-table")(self.decisions)
        return table

    def markdown(self) -> str:
        """Return a table for a pull request."""
        text: str = writer("gates-markdown")(self.decisions, self.run)
        return text

    def to_json(self) -> JSON:
        """Return all decisions as JSON."""
        document: JSON = writer("gates-json")(self.decisions, self.state, self.run)
        return document


def compare(
    results: Path,
    runs: tuple[str, str],
    registry: Registry,
    metrics: Sequence[str] = (),
    tolerances: Mapping[str, float] | None = None,
) -> RunComparison:
    """Compare two stored runs, the old one first; see :func:`compare_runs`."""
    with Store.open(results) as store:
        return compare_runs(store, *runs, registry, metrics, tolerances)


def format_comparison(
    comparison: RunComparison, form: Literal["json", "markdown", "sentence", "tables"]
) -> Any:
    """Return a comparison in one of the printed forms; see ``reports.comparison_…``."""
    return writer(f"comparison-{form}")(comparison)


def rows(results: Path, run: str, registry: Registry) -> list[JSON]:
    """Return one flat row for each outcome: cell, status, scores, seconds and peak memory."""
    flat: list[JSON] = []
    for cell in view(results, run, registry).cells:
        for place, outcome in enumerate(cell.outcomes):
            trial = outcome.trial
            seconds: dict[str, float] = {}
            peaks = [s.peak for s in outcome.samples if s.phase == "fit"]
            for sample in outcome.samples:
                key = f"{sample.phase}_seconds"
                seconds[key] = seconds.get(key, 0.0) + sample.wall
            flat.append(
                {
                    "algorithm": cell.algorithm,
                    "params": canonical(cell.params),
                    "preparation": cell.preparation,
                    "dataset": cell.dataset,
                    "split": trial.split.label,
                    "seed": trial.seed,
                    "threads": trial.threads,
                    "status": outcome.status.value,
                    "reason": outcome.failure.message if outcome.failure else outcome.reason,
                    "reused": cell.reused[place],
                    **{name: values[place] for name, values in cell.scores.items()},
                    **seconds,
                    "fit_peak_bytes": max(peaks, default=None),
                    "cell": trial.cell,
                    "trial": trial.id,
                }
            )
    return flat


def write_history(series: Sequence[Series], notes: Sequence[str], path: Path) -> None:
    """Write the page of a history, see :mod:`harness.history.commits`."""
    writer("history-page")(series, notes, path)
