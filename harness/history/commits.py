"""History of every algorithm over commits, from the trials of a store and from asv results.

A point from the store is a run. Runs of one experiment form a series; for times, they must also be
of one machine. Times of different runs are not interleaved, so a step is a hint and not a verdict:
``harness gate --against`` gives a verdict.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.analysis.series import THRESHOLD, NoAsvError, Point, Series, by_commit, find_steps
from harness.analysis.trends import RunPoint, course
from harness.core.errors import ConfigError, DataError
from harness.core.model import JSON
from harness.gate.revision import commits_of
from harness.plugins.registry import Registry
from harness.store import Store

Case = tuple[str, str, str, str, str]  # algorithm, dataset, measure, unit, source
ASV_RESULTS = Path(".asv") / "results"
BENCHMARKS = "benchmarks.json"  # asv's list of benchmarks in the results folder
OTHER_RUNS = ("duel", "parity", "serving")  # runs whose trials are no measurements of a commit


@dataclass(frozen=True)
class History:
    """Series with their steps, and notes on what could not be read."""

    series: Sequence[Series]
    notes: Sequence[str] = ()

    def to_json(self) -> JSON:
        """Return every series as data, and for each step the commit that it begins with."""
        return {"series": [_json_of(series) for series in self.series], "notes": list(self.notes)}


def read_history(
    results: Path,
    registry: Registry,
    *,
    asv: Path | None = None,
    algorithms: Sequence[str] = (),
    datasets: Sequence[str] = (),
    threshold: float = THRESHOLD,
    branch: str = "",
) -> History:
    """Return the history of a store and of asv results, as far as they exist.

    Parameters
    ----------
    asv
        The folder of asv results; by default ``.asv/results`` if it exists.
    algorithms, datasets
        Globs; empty: all.
    threshold
        The smallest step, as a share of the level before it.
    branch
        Revision of the repository of the working folder: only its commits are points. Empty: all.

    Raises
    ------
    ConfigError
        If the branch does not exist.
    DataError
        If a named folder holds no asv results, or its list of benchmarks is damaged.
    """
    notes: list[str] = []
    every: list[Series] = []
    commits = commits_of(Path.cwd(), branch) if branch else None
    if Store.exists(results):
        with Store.open(results) as store:
            every += stored_series(course(store, registry, measured_runs(store)))
    try:
        if asv is not None or ASV_RESULTS.is_dir():
            series, unread = asv_series(asv or ASV_RESULTS)
            every += series
            notes += unread
        every = (
            every if commits is None else [_points_at_commits(series, commits) for series in every]
        )
        chosen = [s for s in every if _chosen(s, algorithms, datasets) and len(s.points) > 1]
        chosen = [replace(s, steps=find_steps(s.points, threshold)) for s in chosen]
    except NoAsvError as error:
        notes.append(str(error))
        chosen = [s for s in every if _chosen(s, algorithms, datasets) and len(s.points) > 1]
    alone = sum(len(s.points) == 1 for s in every)
    if alone:
        notes.append(f"measured at one commit only, and so without a history: {alone}")
    return History(sorted(chosen, key=lambda s: (s.algorithm, s.dataset, s.measure)), notes)


def last_slowdown(history: History, measure: str = "*") -> tuple[Series, str, str]:
    """Return the series of times with an upward step, and the commits before and after its last.

    Parameters
    ----------
    measure
        Glob of the measures to consider.

    Raises
    ------
    ConfigError
        If no series has such a step, several have one, or the step is at no commit.
    """
    found = [
        (series, step)
        for series in history.series
        if series.unit == "seconds" and fnmatchcase(series.measure, measure)
        for step in [step for step in series.steps if step.after > step.before][-1:]
    ]
    if not found:
        raise ConfigError("no time in the history has an upward step: name the two commits")
    if len(found) > 1:
        names = "; ".join(f"{series.name} ({series.source})" for series, _ in found[:5])
        raise ConfigError(f"several series have a step; choose by -a, -d or --measure: {names}")
    series, step = found[0]
    good, bad = (series.points[index].commit for index in (step.index - 1, step.index))
    if "+" in f"{good}{bad}":
        raise ConfigError(f"{series.name}: the step is between {good} and {bad}, not two commits")
    return series, good, bad


# ------------------------------------------------------------------ the store


def measured_runs(store: Store) -> list[str]:
    """Return the runs whose trials measure one commit, the oldest first.

    Gates against a revision are left out, because they hold trials of two commits.
    """
    runs = [r for r in store.runs() if r["name"] not in OTHER_RUNS and "against" not in r["config"]]
    return [str(run["id"]) for run in reversed(runs)]


def stored_series(points: Iterable[RunPoint]) -> list[Series]:
    """Return the losses and fit times over the runs of each experiment."""
    grouped: dict[tuple[str, ...], list[Point]] = defaultdict(list)
    units: dict[tuple[str, ...], str] = {}
    for point in points:
        commit, when = point.revision[:8] + "+" * point.revision.endswith("+"), point.run["started"]
        experiment, machine = str(point.run["name"]), str(point.run["machine"].get("id", ""))
        settings = str(point.run["config_hash"])
        for level in point.levels:
            sign = 1.0 if level.lower_is_better else -1.0
            for measure, unit, value, source in (
                ("loss", level.metric, sign * level.score, f"harness {experiment}"),
                ("fit", "seconds", level.seconds, f"harness {experiment} on {machine}"),
            ):
                key = (level.algorithm, level.dataset, measure, source, settings, *level.key)
                grouped[key].append(Point(commit or str(point.run["id"]), str(when), value))
                units[key] = unit
    return [
        Series(key[0], key[1], key[2], units[key], key[3], by_commit(same))
        for key, same in grouped.items()
    ]


# ------------------------------------------------------------------ asv


def known_benchmarks(folder: Path) -> JSON:
    """Return asv's benchmarks by name; empty if there are none.

    Raises
    ------
    DataError
        If asv's list of benchmarks is damaged.
    """
    path = folder / BENCHMARKS
    try:
        known = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        known = None
    if not isinstance(known, dict) or not all(map(_is_well_formed, known.values())):
        raise DataError(
            f"{path} is not asv's list of benchmarks: restore it, or delete it and write a new "
            "one with `asv run --bench just-discover`"
        )
    return known


def _is_well_formed(benchmark: Any) -> bool:
    """Return whether an entry of asv's list has asv's form; one entry is a version."""
    names = benchmark.get("param_names", []) if isinstance(benchmark, dict) else []
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def asv_series(folder: Path) -> tuple[list[Series], list[str]]:
    """Return every benchmark of asv results over the measured commits.

    Returns
    -------
    series : list of Series
    notes : list of str
        Files that could not be read; other commits are not affected.

    Raises
    ------
    NoAsvError
        If asv is not installed.
    DataError
        If the folder holds no asv results, or its list of benchmarks is damaged.
    """
    try:
        from asv.results import Results
        from asv.util import UserError
    except ImportError:
        raise NoAsvError from None
    if not (folder / BENCHMARKS).is_file():
        raise DataError(f"{folder} holds no results of asv: {BENCHMARKS} is missing")
    known = known_benchmarks(folder)
    grouped: dict[Case, list[Point]] = defaultdict(list)
    notes = []
    for path in sorted(folder.rglob("*.json")):
        if path.name in (BENCHMARKS, "machine.json"):
            continue
        try:
            points = list(_points(Results.load(str(path)), known))
        except (UserError, OSError) as error:
            notes.append(f"left out: {error}")
        except Exception:  # noqa: BLE001 - asv's reader may raise anything on a damaged file
            notes.append(f"left out: {path} does not have the form of asv's results")
        else:
            for case, point in points:
                grouped[case].append(point)
    return [Series(*case, by_commit(points)) for case, points in grouped.items()], notes


def _points(results: Any, known: Mapping[str, Any]) -> Iterator[tuple[Case, Point]]:
    """Yield each result as a case (algorithm, dataset, measure, unit, source) and its point."""
    when = datetime.fromtimestamp(results.date / 1000, UTC).isoformat()
    commit, machine = results.commit_hash[:8], f"asv on {results.params['machine']}"
    for name in results.get_all_result_keys():
        benchmark = known.get(name)
        if not isinstance(benchmark, dict):
            continue
        version = results.benchmark_version.get(name)
        if version is not None and version != benchmark.get("version"):
            continue  # the benchmark had another meaning
        params = results.get_result_params(name)
        values = results.get_result_value(name, params) or []
        for labels, value in zip(_labels(params), values, strict=False):
            if isinstance(value, (int, float)):
                named = dict(zip(benchmark.get("param_names", ()), labels, strict=False))
                algorithm, dataset = (named.pop(key, "") for key in ("algorithm", "dataset"))
                measure, unit = ", ".join([name, *named.values()]), str(benchmark.get("unit", ""))
                case = (algorithm, dataset, measure, unit, machine)
                "\n".join(
                    [commit, *case]
                ).encode()  # raises if a damaged file has a value that is not text
                yield case, Point(commit, when, float(value))


def _labels(params: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the labels of every case in asv's order; asv stores the ``repr`` of the values."""
    return itertools.product(*([label.strip("'\"") for label in values] for values in params))


def _chosen(series: Series, algorithms: Sequence[str], datasets: Sequence[str]) -> bool:
    filters = ((series.algorithm, algorithms), (series.dataset, datasets))
    return all(not globs or any(fnmatchcase(name, g) for g in globs) for name, globs in filters)


def _points_at_commits(series: Series, commits: Collection[str]) -> Series:
    """Return a series with the points of some commits; an edited tree belongs to its commit."""
    points = [point for point in series.points if point.commit.rstrip("+") in commits]
    return replace(series, points=tuple(points))


def _json_of(series: Series) -> JSON:
    steps = [
        {"commit": series.points[s.index].commit, "before": s.before, "after": s.after}
        for s in series.steps
    ]
    points = [vars(point) for point in series.points]
    names = ("algorithm", "dataset", "measure", "unit", "source")
    return {**{name: getattr(series, name) for name in names}, "points": points, "steps": steps}
