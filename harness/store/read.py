"""What can be asked of a store: runs, outcomes, duels, arrays and the history of a cell."""
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

_LATELY = 20_000  # outcomes that an estimate looks at
_RUN = "id, name, status, config, config_hash, machine, environments, started, ended"


class Reader:
    """The questions; each sees one state of the store, and holds no lock when it returns."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder = folder
        self.artifacts = Artifacts(folder / "artifacts")
        self._database = database

    def runs(self) -> list[JSON]:
        """Return every run, the newest first; see :meth:`run`."""
        with self._database.reading():
            found = self._database.query(f"SELECT {_RUN} FROM run ORDER BY key DESC")
        with decoding(self._database.path):
            return [_run_of(row) for row in found]

    def run(self, run: str = "latest") -> JSON:
        """Return one run: id, name, status, config, machine, environments, started, ended.

        Parameters
        ----------
        run
            ``latest`` (the last begun), a run's id, or the start or end of one.

        Raises
        ------
        ConfigError
            Where no run, or more than one, goes by that name.
        """
        with self._database.reading():
            found = self._database.query(f"SELECT {_RUN} FROM run WHERE key = ?", self._key(run))
        with decoding(self._database.path):
            return _run_of(found[0])

    def _key(self, run: str) -> int:
        with decoding(self._database.path):
            found = self._database.query("SELECT key, id FROM run")
            keys = {rows.text(name): rows.integer(key) for key, name in found}
        if not keys:
            raise ConfigError(f"there are no runs in {self.folder} yet; `harness run` makes one")
        if run == "latest":
            return max(keys.values())
        close = [i for i in keys if run and (i.startswith(run) or i.endswith(run))]
        named = [run] if run in keys else close
        if len(named) > 1:
            raise ConfigError(f"{run!r} may be any of the runs {', '.join(sorted(named)[:5])}")
        if not named:
            raise ConfigError(unknown("run", run, keys))
        return keys[named[0]]

    def events(self, run: str = "latest") -> list[JSON]:
        """Return what was noted of a run, in order: at, kind, data."""
        with self._database.reading():
            sql = "SELECT at, kind, data FROM event WHERE run = ? ORDER BY key"
            found = self._database.query(sql, self._key(run))
        with decoding(self._database.path):
            return [{"at": at, "kind": kind, "data": rows.loads(data)} for at, kind, data in found]

    def noted(self, kind: str) -> list[JSON]:
        """Return the data of every event of a kind, of all runs, the oldest first."""
        with self._database.reading():
            sql = "SELECT data FROM event WHERE kind = ? ORDER BY key"
            found = self._database.query(sql, rows.storable(kind))
        with decoding(self._database.path):
            return [rows.mapping(data) for (data,) in found]

    def known(self, trial_ids: Iterable[str], *, retry_failed: bool = False) -> dict[str, Status]:
        """Return the status of those trials that need not be run again.

        The newest outcome of a trial counts. A failure is known too, unless ``retry_failed``;
        an outcome whose arrays are missing is not.
        """
        found = self._newest(trial_ids, "trial", "outcome")
        missing = self._without_arrays([key for _, key in found.values()])
        statuses = {i: status for i, (status, key) in found.items() if key not in missing}
        return {i: s for i, s in statuses.items() if not (retry_failed and s in FAILURES)}

    def facts_of(self, trial_ids: Iterable[str]) -> dict[str, JSON]:
        """Return the facts of each trial's newest outcome."""
        return self._told_of(trial_ids, "trial", "outcome", "facts")

    def findings_of(self, parity_ids: Iterable[str]) -> dict[str, JSON]:
        """Return what the newest attempt at each comparison of trees found."""
        return self._told_of(parity_ids, "parity", "parity_outcome", "body")

    def _told_of(self, ids: Iterable[str], noun: str, outcome: str, column: str) -> dict[str, JSON]:
        key_of = {key: i for i, (_, key) in self._newest(ids, noun, outcome).items()}
        sql = f"SELECT o.key, o.{column} FROM json_each(?) AS j"
        sql += f" JOIN {outcome} AS o ON o.key = j.value"
        told: dict[str, JSON] = {}
        for batch in fetch.batches(key_of):
            with self._database.reading():
                found = self._database.query(sql, json.dumps(batch))
            with decoding(self._database.path):
                told |= {key_of[key]: rows.mapping(text) for key, text in found}
        return told

    def known_duels(self, ids: Iterable[str], *, retry_failed: bool = False) -> dict[str, Status]:
        """Return the status of those duels that need not be fought again."""
        found = self._newest(ids, "duel", "duel_outcome")
        return {i: s for i, (s, _) in found.items() if not (retry_failed and s in FAILURES)}

    def known_parities(self, ids: Iterable[str]) -> dict[str, Status]:
        """Return the status of those comparisons of trees that were made before."""
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
                found = self._database.query(sql, json.dumps(batch))
            with decoding(self._database.path):
                newest |= {rows.text(i): (Status(status), key) for i, status, key in found}
        return newest

    def _without_arrays(self, outcomes: Sequence[int]) -> set[int]:
        """Return the outcomes of which an artifact's file is missing."""
        sql = (
            "SELECT n.outcome, a.sha256 FROM json_each(?) AS j JOIN outcome_artifact AS n"
            " ON n.outcome = j.value JOIN artifact AS a ON a.key = n.artifact"
        )
        users: dict[str, list[int]] = defaultdict(list)
        for batch in fetch.batches(outcomes):
            with self._database.reading():
                found = self._database.query(sql, json.dumps(batch))
            for outcome, sha256 in found:
                users[sha256].append(outcome)
        with decoding(self._database.path):
            missing = [sha256 for sha256 in users if not self.artifacts.path(sha256).is_file()]
        return {outcome for sha256 in missing for outcome in users[sha256]}

    def outcomes(self, run: str = "latest") -> list[tuple[Outcome, bool]]:
        """Return a run's outcomes in the order of its plan, each with whether it was reused."""
        with self._database.reading():
            key = self._key(run)
        found = fetch.outcomes(
            self._database,
            "r.reused",
            "run_trial AS r JOIN outcome AS o ON o.key = r.outcome JOIN trial AS t"
            " ON t.key = r.trial WHERE r.run = ? ORDER BY r.position",
            key,
        )
        return [(outcome, bool(reused)) for outcome, reused in found]

    def history(self, cell: str) -> list[tuple[Outcome, str]]:
        """Return every attempt at a cell, the oldest first, with the id of its run.

        The id is ``""`` where the run was removed since.
        """
        return fetch.outcomes(
            self._database,
            "coalesce(r.id, '')",
            "trial AS t JOIN outcome AS o ON o.trial = t.key LEFT JOIN run AS r ON r.key = o.run"
            " WHERE t.cell = ? ORDER BY o.key",
            rows.storable(cell),
        )

    def typical_seconds(self) -> dict[tuple[str, str], float]:
        """Return the median wall seconds of a finished trial by (algorithm, dataset), lately.

        What a job does once (importing, loading) is written down with each of its trials, and is
        not theirs.
        """
        with self._database.reading():
            found = self._database.query(
                "SELECT t.algorithm, t.dataset,"
                " (SELECT total(wall) FROM sample WHERE outcome = o.key"
                " AND phase NOT IN ('import', 'load')) FROM outcome AS o"
                " JOIN trial AS t ON t.key = o.trial WHERE o.status = 'done'"
                " AND o.key > (SELECT max(key) FROM outcome) - ?",
                _LATELY,
            )
        seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        with decoding(self._database.path):
            for algorithm, dataset, total in found:
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
        """Return the trials that a run planned and has no outcome of, in order."""
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
        found = fetch.duels(
            self._database,
            "r.reused",
            "run_duel AS r JOIN duel_outcome AS o ON o.key = r.outcome JOIN duel AS d"
            " ON d.key = r.duel WHERE r.run = ? ORDER BY r.position",
            key,
        )
        return [(outcome, bool(reused)) for outcome, reused in found]

    def find_duels(self, prefix: str) -> list[tuple[DuelOutcome, str]]:
        """Return every attempt at the duels whose id starts with ``prefix``, the oldest first.

        Each with the id of its run, which is ``""`` where the run was removed since.
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
        """Return a run's comparisons of trees, in order: what was compared, status, what was found.

        As :meth:`harness.store.Store.record_parity` was given them.
        """
        with self._database.reading():
            found = self._database.query(
                "SELECT p.body, o.status, o.body FROM run_parity AS r"
                " JOIN parity_outcome AS o ON o.key = r.outcome JOIN parity AS p"
                " ON p.key = r.parity WHERE r.run = ? ORDER BY r.position",
                self._key(run),
            )
        with decoding(self._database.path):
            return [(rows.mapping(w), Status(s), rows.mapping(f)) for w, s, f in found]

    def artifact(self, sha256: str) -> dict[str, np.ndarray]:
        """Return the arrays of an artifact, verified; see :meth:`Artifacts.load`."""
        return self.artifacts.load(sha256)

    def counts(self, run: str | None = None) -> dict[str, int]:
        """Return how many outcomes a run has of each status, and its planned and reused trials.

        Without a run: how many runs, trials, outcomes, duels and artifacts the store holds.
        """
        with self._database.reading():
            if run is None:
                tables = ("run", "trial", "outcome", "duel", "artifact")
                count = "SELECT count(*) FROM"
                return {f"{t}s": int(self._database.value(f"{count} {t}")) for t in tables}
            found = self._database.query(
                "SELECT o.status, count(*), sum(r.reused) FROM run_trial AS r"
                " LEFT JOIN outcome AS o ON o.key = r.outcome WHERE r.run = ? GROUP BY o.status",
                self._key(run),
            )
        with decoding(self._database.path):
            statuses = {Status(status).value: n for status, n, _ in found if status is not None}
            planned, reused = (sum(row[i] for row in found) for i in (1, 2))
        return {**statuses, "planned": planned, "reused": reused}


def _run_of(row: fetch.Row) -> JSON:
    found: JSON = dict(zip(_RUN.split(", "), map(rows.text, row), strict=True))
    decoded = {key: rows.loads(found[key]) for key in ("config", "machine", "environments")}
    return {**found, **decoded}
