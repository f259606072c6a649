"""Export trials as asv results, for ``asv publish`` and ``harness history``.

Each stored run of a known commit becomes one result file in asv's format, under the environment
``harness``. The benchmarks are ``trials.time_fit`` and ``trials.track_loss``, by algorithm and
dataset. Runs of an edited working tree are left out, because they belong to no commit.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from harness.analysis.series import NoAsvError
from harness.analysis.trends import Level, RunPoint, course
from harness.core.errors import StoreError
from harness.core.model import JSON
from harness.data.writing import write_atomically
from harness.history.commits import BENCHMARKS, known_benchmarks, measured_runs
from harness.plugins.registry import Registry
from harness.store import Store

ENVIRONMENT = "harness"
VERSION = "1"  # of every benchmark; raise it if the exported values change their meaning
UNITS = {"time_fit": "seconds", "track_loss": "loss"}


@dataclass(frozen=True)
class Exported:
    """Result of an export."""

    commits: tuple[str, ...]
    left_out: int  # runs without a known commit


def export_asv(results: Path, folder: Path, registry: Registry, repository: Path) -> Exported:
    """Write every stored run of a known commit into a folder of asv results.

    Parameters
    ----------
    folder
        Folder of asv results, such as ``.asv/results``; results of other environments stay.
    repository
        The repository of the commits.

    Raises
    ------
    NoAsvError
        If asv is not installed.
    StoreError
        If the folder cannot be written.
    DataError
        If asv's list of benchmarks there is damaged.
    """
    with Store.open(results) as store:
        points = course(store, registry, measured_runs(store))
    by_place: dict[tuple[str, str], RunPoint] = {}
    left_out = 0
    for point in points:
        commit = _whole(point.revision, repository)
        if commit and point.levels:
            place = str(point.run["machine"].get("id", "")), commit
            by_place[place] = _joined(by_place.get(place), point)
        else:
            left_out += 1
    cases = _cases(by_place.values())
    known = known_benchmarks(folder)  # before any write, so that a damaged list raises first
    try:
        for (machine, commit), point in by_place.items():
            _write(folder, f"harness-{machine}", commit, point, cases)
        if by_place:
            _declare(folder, known, cases)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}") from error
    return Exported(tuple(commit for _, commit in by_place), left_out)


def _joined(old: RunPoint | None, new: RunPoint) -> RunPoint:
    """Merge two runs of one commit; where both have a value, the newer run counts."""
    newer = {level.key for level in new.levels}
    kept = [level for level in old.levels if level.key not in newer] if old else []
    return replace(new, levels=(*new.levels, *kept))


def _cases(points: Iterable[RunPoint]) -> dict[str, JSON]:
    """Return the benchmarks in asv's form, each with every algorithm and dataset."""
    levels = [level for point in points for level in point.levels]
    names = [sorted({level.algorithm for level in levels}), sorted({lv.dataset for lv in levels})]
    params = [[repr(name) for name in kind] for kind in names]
    return {
        f"trials.{case}": {
            "name": f"trials.{case}",
            "code": "",
            "param_names": ["algorithm", "dataset"],
            "params": params,
            "pretty_source": f"{case} of stored trials (`harness export --asv`)",
            "type": case.partition("_")[0],
            "unit": unit,
            "version": VERSION,
        }
        for case, unit in UNITS.items()
    }


def _write(
    folder: Path, machine: str, commit: str, point: RunPoint, cases: Mapping[str, JSON]
) -> None:
    """Write one run in asv's format."""
    try:
        from asv.results import Results
        from asv.runner import BenchmarkResult
        from asv.util import datetime_to_js_timestamp, write_json
    except ImportError:
        raise NoAsvError from None
    hardware: JSON = point.run["machine"]
    about = {
        "machine": machine,
        "os": f"{hardware.get('os', '')}",
        "arch": f"{hardware.get('architecture', '')}",
        "cpu": f"{hardware.get('cpu', '')}",
        "num_cpu": f"{hardware.get('cores', '')}",
        "ram": f"{hardware.get('memory_gib', '')} GiB",
    }
    python = str(hardware.get("python", "")).rpartition(" ")[2]
    started = datetime.fromisoformat(str(point.run["started"]))
    stamp = datetime_to_js_timestamp(started)
    results = Results({**about, "python": python}, {}, commit, stamp, python, ENVIRONMENT, {})
    levels = {(level.algorithm, level.dataset): level for level in reversed(point.levels)}
    for name, case in cases.items():
        values = [_value(levels.get(pair), name) for pair in _pairs(case["params"])]
        none = [None] * len(values)
        results.add_result(case, BenchmarkResult(values, none, none, 0, "", None), started)
    place = folder / machine
    place.mkdir(parents=True, exist_ok=True)
    write_json(str(place / "machine.json"), about, 1)
    results.save(str(folder))


def _pairs(params: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    algorithms, datasets = ([name.strip("'\"") for name in kind] for kind in params)
    return [(algorithm, dataset) for algorithm in algorithms for dataset in datasets]


def _value(level: Level | None, name: str) -> float:
    """Return the value of a benchmark; NaN (asv's n/a) if the run has none."""
    if level is None:
        return math.nan
    sign = 1.0 if level.lower_is_better else -1.0
    return level.seconds if name.endswith("time_fit") else sign * level.score


def _declare(folder: Path, known: JSON, cases: Mapping[str, JSON]) -> None:
    """Add the benchmarks to asv's list; the write is atomic."""
    content = json.dumps({"version": 2, **known, **cases}, indent=1, sort_keys=True)
    write_atomically(folder / BENCHMARKS, content.encode())


def _whole(revision: str, repository: Path) -> str:
    """Return the full name of a commit; empty for an edited tree or an unknown commit."""
    if not revision or revision.endswith("+"):
        return ""
    command = ["git", "-C", str(repository), "rev-parse", "--verify", "--quiet"]
    try:
        done = subprocess.run(  # noqa: S603 - git, with a commit from the store
            [*command, "--end-of-options", f"{revision}^{{commit}}"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
