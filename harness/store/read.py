"""Queries on a store: runs, outcomes, duels, arrays and the history of a cell."""
# ruff: noqa: S608 -- the pieces of SQL are this file's constants; values are always bound

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import ConfigError, unknown
from harness.core.model import FAILURES, JSON, DuelOutcome, Outcome, Status, Trial
from harness.store import fetch, rows
from harness.store.artifacts import Artifacts
from harness.store.connect import Database
from harness.store.faults import decoding

if TYPE_CHECKING:
    import numpy as np

_RECENT_OUTCOMES = 20_000  # newest outcomes that an estimate uses
_RUN = "id, name, status, config, config_hash, machine, environments, started, ended"


class Reader:
    """Queries on a store; each reads one consistent state and holds no lock when it returns."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder = folder
        self.artifacts = Artifacts(folder / "artifacts")
        self._database = database

    def runs(self) -> list[JSON]:
        """Return every run, the newest first; see :meth:`run`."""
        with self._database.reading():
            selected = self._database.query(f"SELECT {_RUN} FROM run ORDER BY key DESC")
        with decoding(self._database.path):
            return [_run_of(row) for row in selected]

    def run(self, run: str = "latest") -> JSON:
        """Return one run: id, name, status, config, machine, environments, started, ended.

        Parameters
        ----------
        run
            ``latest`` (the run started last), a run's id, or the start or end of an id.

        Raises
        ------
        ConfigError
            If no run, or more than one, matches.
        """
        with self._database.reading():
            selected = self._database.query(f"SELECT {_RUN} FROM run WHERE key = ?", self._key(run))
        with decoding(self._database.path):
            return _run_of(selected[0])

    def _key(self, run: str) -> int:
        with decoding(self._database.path):
            selected = self._database.query("SELECT key, id FROM run")
            keys = {rows.text(name): rows.integer(key) for key, name in selected}
        if not keys:
            raise ConfigError(f"there are no runs in {self.folder} yet; `harness run` makes one")
        if run == "latest":
            return max(keys.values())
        close = [i for i in keys if run and (i.startswith(run) or i.endswith(run))]
        named = [run] if run in keys else close
        if len(named) > 1:
            raise ConfigError(f"{run!r} matches several runs: {', '.join(sorted(named)[:5])}")
        if not named:
            raise ConfigError(unknown("run", run, keys))
        return keys[named[0]]

    def events(self, run: str = "latest") -> list[JSON]:
        """Return the events of a run in order: at, kind, data."""
        with self._database.reading():
            sql = "SELECT at, kind, data FROM event WHERE run = ? ORDER BY key"
            selected = self._database.query(sql, self._key(run))
        with decoding(self._database.path):
            return [
                {"at": at, "kind": kind, "data": rows.loads(data)} for at, kind, data in selected
            ]

    def event_data(self, kind: str) -> list[JSON]:
        """Return the data of every event of a kind, over all runs, the oldest first."""
        with self._database.reading():
            sql = "SELECT data FROM event WHERE kind = ? ORDER BY key"
            selected = self._database.query(sql, rows.storable(kind))
        with decoding(self._database.path):
            return [rows.mapping(data) for (data,) in selected]

    def known(self, trial_ids: Iterable[str], *, retry_failed: bool = False) -> dict[str, Status]:
        """Return the status of the trials that need no new run.

        The newest outcome of a trial counts. A failure counts as known unless ``retry_failed``;
        an outcome whose arrays are missing does not.
        """
        selected = self._newest(trial_ids, "trial", "outcome")
        missing = self._without_arrays([key for _, key in selected.values()])
        statuses = {i: status for i, (status, key) in selected.items() if key not in missing}
        return {i: s for i, s in statuses.items() if not (retry_failed and s in FAILURES)}

    def facts_of(self, trial_ids: Iterable[str]) -> dict[str, JSON]:
        """Return the facts of each trial's newest outcome."""
        return self._newest_column(trial_ids, "trial", "outcome", "facts")

    def findings_of(self, parity_ids: Iterable[str]) -> dict[str, JSON]:
        """Return the result of the newest attempt at each tree comparison."""
        return self._newest_column(parity_ids, "parity", "parity_outcome", "body")

    def _newest_column(
        self, ids: Iterable[str], noun: str, outcome: str, column: str
    ) -> dict[str, JSON]:
        key_of = {key: i for i, (_, key) in self._newest(ids, noun, outcome).items()}
        sql = f"SELECT o.key, o.{column} FROM json_each(?) AS j"
        sql += f" JOIN {outcome} AS o ON o.key = j.value"
        decoded: dict[str, JSON] = {}
        for batch in fetch.batches(key_of):
            with self._database.reading():
                selected = self._database.query(sql, json.dumps(batch))
            with decoding(self._database.path):
                decoded |= {key_of[key]: rows.mapping(text) for key, text in selected}
        return decoded

    def known_duels(self, ids: Iterable[str], *, retry_failed: bool = False) -> dict[str, Status]:
        """Return the status of the duels that need not be run again."""
        selected = self._newest(ids, "duel", "duel_outcome")
        return {i: s for i, (s, _) in selected.items() if not (retry_failed and s in FAILURES)}

    def known_parities(self, ids: Iterable[str]) -> dict[str, Status]:
        """Return the status of the tree comparisons that were made before."""
        return {i: s for i, (s, _) in self._newest(ids, "parity", "parity_outcome").items()}

    def _newest(self, ids: Iterable[str], noun: str, outcome: str) -> dict[str, tuple[Status, int]]:
        """Return status and key of the newest outcome of each trial or duel that has one."""
        sql = (
            f"SELECT t.id, o.status, o.key FROM json_each(?) AS j"
            f" JOIN {noun} AS t ON t.id = j.value JOIN {outcome} AS o"
            f" ON o.key = (SELECT max(key) FROM {outcome} WHERE {noun} = t.key)"
        )
        newest: dict[str, tuple[Status, int]] = {}
        for batch in fetch.batches(map(rows.storable, ids)):
            with self._database.reading():
                selected = self._database.query(sql, json.dumps(batch))
            with decoding(self._database.path):
                newest |= {rows.text(i): (Status(status), key) for i, status, key in selected}
        return newest

    def _without_arrays(self, outcomes: Sequence[int]) -> set[int]:
        """Return the outcomes with a missing artifact file."""
        sql = (
            "SELECT n.outcome, a.sha256 FROM json_each(?) AS j JOIN outcome_artifact AS n"
            " ON n.outcome = j.value JOIN artifact AS a ON a.key = n.artifact"
        )
        users: dict[str, list[int]] = defaultdict(list)
        for batch in fetch.batches(outcomes):
            with self._database.reading():
                selected = self._database.query(sql, json.dumps(batch))
            for outcome, sha256 in selected:
                users[sha256].append(outcome)
        with decoding(self._database.path):
            missing = [sha256 for sha256 in users if not self.artifacts.path(sha256).is_file()]
        return {outcome for sha256 in missing for outcome in users[sha256]}

    def outcomes(self, run: str = "latest") -> list[tuple[Outcome, bool]]:
        """Return a run's outcomes in the order of its plan, each with whether it was reused."""
        with self._database.reading():
            key = self._key(run)
        selected = fetch.outcomes(
            self._database,
            "r.reused",
            "run_trial AS r JOIN outcome AS o ON o.key = r.outcome JOIN trial AS t"
            " ON t.key = r.trial WHERE r.run = ? ORDER BY r.position",
            key,
        )
        return [(outcome, bool(reused)) for outcome, reused in selected]

    def history(self, cell: str) -> list[tuple[Outcome, str]]:
        """Return every attempt at a cell, the oldest first, with the id of its run.

        The id is ``""`` if the run was removed.
        """
        return fetch.outcomes(
            self._database,
            "coalesce(r.id, '')",
            "trial AS t JOIN outcome AS o ON o.trial = t.key LEFT JOIN run AS r ON r.key = o.run"
            " WHERE t.cell = ? ORDER BY o.key",
            rows.storable(cell),
        )

    def typical_seconds(self) -> dict[tuple[str, str], float]:
        """Return the median wall seconds of recently finished trials by (algorithm, dataset).

        Import and load happen once in a job but are recorded with each of its trials, so they are
        not counted.
        """
        with self._database.reading():
            selected = self._database.query(
                "SELECT t.algorithm, t.dataset,"
                " (SELECT total(wall) FROM sample WHERE outcome = o.key"
                " AND phase NOT IN ('import', 'load')) FROM outcome AS o"
                " JOIN trial AS t ON t.key = o.trial WHERE o.status = 'done'"
                " AND o.key > (SELECT max(key) FROM outcome) - ?",
                _RECENT_OUTCOMES,
            )
        seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        with decoding(self._database.path):
            for algorithm, dataset, total in selected:
                seconds[rows.text(algorithm), rows.text(dataset)].append(rows.real(total))
        return {pair: statistics.median(values) for pair, values in seconds.items()}

    def find(self, prefix: str) -> list[Trial]:
        """Return the trials whose id or cell starts with ``prefix``, the newest first."""
        first = rows.storable(prefix)
        return fetch.trials(
            self._database,
            "trial AS t WHERE id >= ? AND id < ? OR cell >= ? AND cell < ? ORDER BY key DESC",
            *(first, f"{first}\U0010ffff") * 2,
        )

    def pending(self, run: str = "latest") -> list[Trial]:
        """Return the trials of a run's plan without an outcome, in order."""
        with self._database.reading():
            key = self._key(run)
        return fetch.trials(
            self._database,
            "run_trial AS r JOIN trial AS t ON t.key = r.trial"
            " WHERE r.run = ? AND r.outcome IS NULL ORDER BY r.position",
            key,
        )

    def duels(self, run: str = "latest") -> list[tuple[DuelOutcome, bool]]:
        """Return a run's duels in order, each with whether it was reused."""
        with self._database.reading():
            key = self._key(run)
        selected = fetch.duels(
            self._database,
            "r.reused",
            "run_duel AS r JOIN duel_outcome AS o ON o.key = r.outcome JOIN duel AS d"
            " ON d.key = r.duel WHERE r.run = ? ORDER BY r.position",
            key,
        )
        return [(outcome, bool(reused)) for outcome, reused in selected]

    def find_duels(self, prefix: str) -> list[tuple[DuelOutcome, str]]:
        """Return every attempt at the duels whose id starts with ``prefix``, the oldest first.

        Each comes with the id of its run, which is ``""`` if the run was removed.
        """
        first = rows.storable(prefix)
        return fetch.duels(
            self._database,
            "coalesce(r.id, '')",
            "duel AS d JOIN duel_outcome AS o ON o.duel = d.key LEFT JOIN run AS r"
            " ON r.key = o.run WHERE d.id >= ? AND d.id < ? ORDER BY o.key",
            *(first, f"{first}\U0010ffff"),
        )

    def parities(self, run: str = "latest") -> list[tuple[JSON, Status, JSON]]:
        """Return a run's tree comparisons in order, each with its description, status and result.

        The values are those passed to :meth:`harness.store.Store.record_parity`.
        """
        with self._database.reading():
            selected = self._database.query(
                "SELECT p.body, o.status, o.body FROM run_parity AS r"
                " JOIN parity_outcome AS o ON o.key = r.outcome JOIN parity AS p"
                " ON p.key = r.parity WHERE r.run = ? ORDER BY r.position",
                self._key(run),
            )
        with decoding(self._database.path):
            return [(rows.mapping(w), Status(s), rows.mapping(f)) for w, s, f in selected]

    def artifact(self, sha256: str) -> dict[str, np.ndarray]:
        """Return the arrays of an artifact, verified; see :meth:`Artifacts.load`."""
        return self.artifacts.load(sha256)

    def counts(self, run: str | None = None) -> dict[str, int]:
        """Return the number of outcomes of a run by status, and of its planned and reused trials.

        Without a run, return the numbers of runs, trials, outcomes, duels and artifacts stored.
        """
        with self._database.reading():
            if run is None:
                tables = ("run", "trial", "outcome", "duel", "artifact")
                count = "SELECT count(*) FROM"
                return {f"{t}s": int(self._database.value(f"{count} {t}")) for t in tables}
            selected = self._database.query(
                "SELECT o.status, count(*), sum(r.reused) FROM run_trial AS r"
                " LEFT JOIN outcome AS o ON o.key = r.outcome WHERE r.run = ? GROUP BY o.status",
                self._key(run),
            )
        with decoding(self._database.path):
            statuses = {Status(status).value: n for status, n, _ in selected if status is not None}
            planned, reused = (sum(row[i] for row in selected) for i in (1, 2))
        return {**statuses, "planned": planned, "reused": reused}


def _run_of(row: fetch.Row) -> JSON:
    columns: JSON = dict(zip(_RUN.split(", "), map(rows.text, row), strict=True))
    decoded = {key: rows.loads(columns[key]) for key in ("config", "machine", "environments")}
    return {**columns, **decoded}
