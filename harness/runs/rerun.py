"""Rerun stored runs, duels and tree comparisons.

Experiment, seeds, common params, own files and plugins are read from the stored run. Everything is
planned again with the current code, so ids are unchanged if code, versions and data are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.analysis.run_command import command_of
from harness.core.errors import ConfigError, unknown
from harness.core.ids import digest
from harness.core.model import JSON, Trial
from harness.core.progress import Progress
from harness.planning.selection import Selection, chosen, duel_cells
from harness.plugins.registry import Registry, load_registry
from harness.runs import run as runs
from harness.runs.parity import run_parity
from harness.runs.request import default_results, whole_paths
from harness.runs.run import DuelEnd, Request, request_of
from harness.store import Store

COMMANDS = {  # commands that rerun what is not a run
    "duel": "`harness duel --again DUEL`",
    "parity": "`harness parity --again RUN`",
    "gate": "`harness gate --against REV`",
    "serving": "`harness serving` with the same options",
    "bisect": "`harness bisect` with the same options",
}


@dataclass(frozen=True)
class RunAgain:
    """Rerun of a stored run or a part of it; see :class:`RunOptions`."""

    run: str
    algorithms: Sequence[str] = ()
    datasets: Sequence[str] = ()
    trial: str = ""  # start of a trial id: only this trial, on all splits and seeds
    executor: str = "local"
    scheduler: str | None = None
    plugin_files: Sequence[str | Path] = ()  # beside those of the run
    results: str | Path = field(default_factory=default_results)
    fresh: bool = False
    retry_failed: bool = False
    wait: bool = True

    @property
    def stored(self) -> JSON:
        """Return the stored run."""
        with Store.open(Path(self.results)) as store:
            return store.run(self.run)

    @property
    def plugins(self) -> Sequence[str]:
        """Return the plugin files of the run and the further ones."""
        return _files(self.stored, self.plugin_files)

    def request(self, registry: Registry) -> Request:  # noqa: ARG002 - as RunOptions has it
        """Return the request of the stored run, limited to the selected part."""
        run = self.stored
        if (command := command_of(run)) != "run":
            raise ConfigError(f"run {run['id']} is of another command: {COMMANDS[command]}")
        request = request_of(run)
        only = _only(run, self.algorithms, self.datasets, request.only)
        if self.trial:
            only = Selection(cells=self._cells(run))
        return replace(
            request,
            experiment=only.experiment(request.experiment) if only else request.experiment,
            only=only,
            plugin_files=tuple(self.plugins),
            results=Path(self.results),
            executor=self.executor,
            executor_options={"scheduler": self.scheduler} if self.scheduler else {},
            fresh=self.fresh,
            retry_failed=self.retry_failed,
            wait=self.wait,
        )

    def _cells(self, run: JSON) -> tuple[str, ...]:
        """Return the cells of the selected trial on all splits of the run."""
        if self.algorithms or self.datasets:
            raise ConfigError("a trial says its algorithm and dataset; leave out -a and -d")
        with Store.open(Path(self.results)) as store:
            trials = [outcome.trial for outcome, _ in store.outcomes(run["id"])]
        meant = {_trial_key(trial) for trial in trials if trial.id.startswith(self.trial)}
        if len(meant) != 1:
            why = f"more than one trial {self.trial!r}" if meant else f"no trial {self.trial!r}"
            raise ConfigError(f"run {run['id']} has {why}; `harness export` lists all")
        return tuple(trial.cell for trial in trials if _trial_key(trial) in meant)


def _trial_key(trial: Trial) -> str:
    """Return a digest of everything but split and seed of a trial."""
    return digest([trial.algorithm, trial.params, trial.preparation, trial.dataset, trial.threads])


def _files(run: JSON, more: Sequence[str | Path]) -> tuple[str, ...]:
    known = tuple(run["config"].get("plugin_files", ()))
    return tuple(dict.fromkeys([*known, *whole_paths(more)]))


def _only(
    run: JSON, algorithms: Sequence[str], datasets: Sequence[str], before: Selection
) -> Selection:
    """Return the selection of a rerun, within the selection of the stored run."""
    declared: JSON = run["config"].get("declared") or {}
    names = [n for n in declared.get("algorithms", ()) if n in (before.algorithms or [n])]
    tables = [d for d in declared.get("datasets", ()) if d in (before.datasets or [d])]
    return replace(
        before,
        algorithms=chosen("algorithm", algorithms, names) or before.algorithms,
        datasets=chosen("dataset", datasets, tables) or before.datasets,
    )


def duel_again(
    id_: str,
    *,
    plugins: Sequence[str | Path] = (),
    results: str | Path | None = None,
    fresh: bool = False,
    progress: Progress,
) -> tuple[DuelEnd, Registry]:
    """Run a stored duel again, as its run planned it, or reuse the stored result.

    Parameters
    ----------
    id_
        Id of the duel, or the start of it.
    plugins
        Plugin files to load besides those of its run.

    Raises
    ------
    ConfigError
        If no duel, or more than one, has such an id, if its run was removed, or if it belongs to a
        gate between two revisions.
    """
    folder = default_results() if results is None else Path(results)
    with Store.open(folder) as store:
        stored = store.find_duels(id_)
        ids = list(dict.fromkeys(outcome.duel.id for outcome, _ in stored))
        if len(ids) != 1:
            several = f"{id_!r} matches several duels: {', '.join(ids[:5])}"
            raise ConfigError(several if ids else unknown("duel", id_, (), _LISTED))
        named = [run for _, run in stored if run]
        if not named:
            raise ConfigError(f"the run that planned duel {ids[0]} was removed")
        run, duel = store.run(named[-1]), stored[-1][0].duel
    if (command := command_of(run)) in ("gate", "bisect"):
        raise ConfigError(f"duel {ids[0]} compares two commits: use {COMMANDS[command]}")
    files = _files(run, plugins)
    registry = load_registry(files)
    only = Selection(duels=(duel_cells(duel),))
    request = replace(request_of(run), only=only, plugin_files=files, results=folder, fresh=fresh)
    request = replace(request, experiment=only.experiment(request.experiment))
    return runs.run_duel_request(request, registry, progress), registry


_LISTED = "the report of a run lists its duels under Speed"


def parity_again(
    run_id: str,
    datasets: Sequence[str] = (),
    *,
    plugins: Sequence[str | Path] = (),
    results: str | Path | None = None,
    fresh: bool = False,
    progress: Progress,
) -> tuple[str, Registry]:
    """Compare the trees of a stored run of ``harness parity`` again; return the new run.

    Raises
    ------
    ConfigError
        If the run is of another command, or a dataset is not in it.
    """
    folder = default_results() if results is None else Path(results)
    with Store.open(folder) as store:
        run = store.run(run_id)
    if (command := command_of(run)) != "parity":
        advice = COMMANDS.get(command, "`harness run --again RUN`")
        raise ConfigError(f"run {run['id']} is of another command: {advice}")
    request, files = request_of(run), _files(run, plugins)
    declared: JSON = run["config"].get("declared") or {}
    changes: dict[str, Any] = {}
    if datasets:
        changes["datasets"] = list(chosen("dataset", datasets, declared.get("datasets", ())))
    registry = load_registry(files)
    made = run_parity(
        request.experiment.model_copy(update=changes),
        registry,
        results=folder,
        extra=request.extra,
        plugin_files=files,
        fresh=fresh,
        progress=progress,
    )
    return made, registry
