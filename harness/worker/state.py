"""The state of a worker: one plugin, one table, one trial; each method answers one request."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import HarnessError
from harness.core.machine import machine_id
from harness.core.model import (
    JSON,
    Algorithm,
    DatasetRef,
    Outcome,
    Sample,
    Split,
    Status,
    Table,
    Task,
    trial_from_json,
)
from harness.core.outcome_files import write_outcome
from harness.core.phase_timer import Meter
from harness.core.processes import MARK
from harness.core.units import utc_now
from harness.worker import affinity, facts
from harness.worker.compile_clock import CompileClock

if TYPE_CHECKING:
    from harness.plugins.registry import Registry
    from harness.worker.prepared_trial import Hand, Rows


MOST_CLASSES = 50  # whose labels stand among the facts of a trial


class Bench:
    """Everything a worker holds between two requests."""

    def __init__(self, imported: Sample | None = None) -> None:
        self.meter = Meter()
        self.compile_clock = CompileClock(os.environ.get(MARK, ""))
        self._imported = imported
        self._registry: Registry | None = None
        self._algorithm: Algorithm | None = None
        self._table: Table | None = None
        self._rows: dict[Split, Rows] = {}  # trials of different params share their splits
        self._called: set[tuple[Task, bool, bool]] = set()  # whose compiled kernels are loaded
        self._hand: Hand | None = None
        self._session: dict[str, Sample] = {}  # import and load: one for all trials
        self._facts: JSON = {}
        self._pins: JSON = {}  # as a fact: the bytes of the table, where its digest is of none

    def hello(self, plugin: str, plugins: Sequence[str], algorithm: str, threads: int) -> JSON:
        """Import one algorithm's plugin and whatever it imports; nothing of the other ones.

        Asked again for another algorithm, it finds its libraries imported; the time that took
        stands for both.
        """
        from harness.worker.loading import import_libraries, load_plugins

        self._hand = None
        self._called.clear()

        with self.meter.phase("import"):
            self._registry = load_plugins(plugin, plugins)
            self._algorithm = self._registry.algorithm(algorithm)
            import_libraries(self._algorithm.libraries)
        self._session.setdefault("import", facts.together(self._imported, self.meter.last))
        self._settle(thaw=False)
        found, notes = facts.thread_facts(threads)
        self._facts = {
            "threads": threads,
            "versions": facts.versions(self._algorithm.libraries),
            "approximate_peaks": self.meter.approximate,
        }
        samples = [self._session["import"]]
        return {**self._facts, **found, "notes": notes, "samples": samples}

    def load(self, dataset: JSON) -> JSON:
        """Bring a table; the trials that follow are about it."""
        from harness.data.lookup import load_table, pins_of
        from harness.worker.loading import import_what_splits

        if self._registry is None:
            raise HarnessError("no plugin is loaded; ask `hello` first")
        again = self._table is not None
        self._hand = self._table = None
        self._rows.clear()
        self.meter.warm()
        ref = DatasetRef(**dataset)
        with self.meter.phase("load"):
            self._table = load_table(ref, self._registry)
        pins = pins_of(ref, self._registry)
        self._pins = {"pins": pins} if pins else {}
        self._session["load"] = self.meter.last
        if self._table.test_rows is None:
            import_what_splits()
        self._settle(thaw=again)
        rows, columns = self._table.X.shape
        told = {"rows": rows, "columns": columns, **self._pins, "notes": self._table.notes}
        return {**told, "samples": [self.meter.last]}

    def prepare(self, trial: JSON, variation: JSON | None = None) -> JSON:
        """Split, prepare, and build the library's native form of one trial.

        Parameters
        ----------
        variation
            What to change in the prepared rows, as :func:`harness.worker.variations.vary` takes it.
        """
        from harness.worker.prepared_trial import cut, take
        from harness.worker.variations import vary

        self._hand = None  # the rows of the trial before must not count as this one's memory
        if self._table is None or self._algorithm is None:
            raise HarnessError("no table is loaded; ask `hello` and `load` first")
        started, load, wanted = utc_now(), facts.load(), trial_from_json(trial)
        compiled = self.compile_clock.time
        if wanted.split not in self._rows:
            self._rows[wanted.split] = cut(wanted, self._table)
        self.meter.warm()
        gc.freeze()  # what was imported since `load`
        with self.meter.phase("preparation"):
            hand = take(wanted, self._table, self._rows[wanted.split])
            vary(hand, **(variation or {}))
        hand.started, hand.load, hand.compiled_before = started, load, compiled
        hand.samples.append(self.meter.last)
        hand.samples += self._first_call(hand)
        self.meter.warm()
        hand.algorithm = self._algorithm
        self._build(hand)
        self._hand = hand
        return {**hand.counts, "samples": hand.samples}

    def _first_call(self, hand: Hand) -> list[Sample]:
        """Load an algorithm's compiled kernels apart from the phases; return the sample, if any."""
        from harness.worker.warm_up import call_once

        assert self._algorithm is not None
        kind = hand.spec.task, hand.is_sparse, bool(hand.spec.categorical)
        if "numba" not in self._algorithm.libraries or kind in self._called:
            return []
        self._called.add(kind)
        with self.meter.phase("compile"):
            call_once(self._algorithm, hand.spec, sparse=hand.is_sparse)
        return [self.meter.last]

    def pin(self, cpus: Sequence[int]) -> JSON:
        """Pin this process, every thread of it, to processors; tell where it may run now."""
        affinity.pin(cpus)
        return {"affinity": affinity.affinity()}

    def first_call(self) -> JSON:
        """Call the algorithm once on a tiny table, and count peaks from here."""
        self._current().rehearse()
        self.meter.warm()
        return {}

    def native(self, repeats: int = 1) -> JSON:
        """Build the library's training form again.

        Parameters
        ----------
        repeats
            Calls that the sample is the mean of: one alone may be too short to time.
        """
        return self._build(self._current(), repeats)

    def fit(self, repeats: int = 1) -> JSON:
        """Train anew from the native form."""
        from harness.worker.prepared_trial import seed_globals

        hand = self._current()
        hand.need_native()
        seed_globals(hand.spec.seed)
        with self.meter.phase("fit"):
            for _ in range(repeats):
                hand.fit()
        return self._sampled(hand, repeats)

    def predict(self, repeats: int = 1) -> JSON:
        """Predict the test rows, and hold the answer against the contract."""
        from harness.worker.checks import checked

        hand = self._current()
        hand.need_model()
        with self.meter.phase("predict"):
            for _ in range(repeats):
                output = hand.adapter.predict(hand.X_test)
        hand.output = checked(output, hand.spec, len(hand.rows.test))
        return self._sampled(hand, repeats)

    def predict_one(self, rows: int, repeats: int = 1) -> JSON:
        """Predict some test rows one by one; the sample is the mean of a row."""
        from harness.worker.prepared_trial import one_by_one

        hand = self._current()
        hand.need_model()
        singles = one_by_one(hand.X_test, rows)
        predict = hand.adapter.predict_one
        with self.meter.phase("predict_one"):
            for _ in range(repeats):
                for x in singles:
                    predict(x)
        return self._sampled(hand, repeats * rows)

    def finish(
        self, outcome: str, arrays: str, exports: Sequence[str] = (), extra: JSON | None = None
    ) -> JSON:
        """Write the arrays and the outcome of the trial.

        Parameters
        ----------
        outcome
            Path of the outcome file.
        arrays
            Folder of the outcome file, where its arrays go.
        exports
            Of ``trees``, ``staged``, ``members`` and ``training``, those that are wanted; one that
            fails becomes a note.
        extra
            Facts that the parent knows.
        """
        from harness.worker.arrays import write_all

        hand = self._current()
        if hand.output is None:
            raise HarnessError("nothing was predicted; ask `predict` first")
        assert self._table is not None
        names = write_all(Path(arrays), hand, self._table, exports)
        done = Outcome(
            trial=hand.trial,
            status=Status.DONE,
            samples=(*self._session.values(), *hand.samples),
            arrays=names,
            facts={**self._found(hand, self._table), **(extra or {})},
            started=hand.started,
            ended=utc_now(),
        )
        write_outcome(Path(outcome), done)
        return {"outcome": outcome}

    def save(self, trial: JSON, path: str) -> JSON:
        """Train a trial's algorithm on all rows and write the model with its preparation."""
        from harness.worker.saving import train_and_save

        if self._table is None or self._algorithm is None:
            raise HarnessError("no table is loaded; ask `hello` and `load` first")
        return train_and_save(self._algorithm, trial_from_json(trial), self._table, Path(path))

    def warm(self, params: Sequence[JSON] = ({},), kinds: Sequence[str] = ()) -> JSON:
        """Compile what the algorithm compiles, by running it on tiny tables."""
        from harness.worker.warm_up import compile_all

        if self._algorithm is None:
            raise HarnessError("no plugin is loaded; ask `hello` first")
        with self.meter.phase("compile"):
            found = compile_all(self._algorithm, params, self._facts["threads"], kinds)
        return {"samples": [self.meter.last], **found}

    def _current(self) -> Hand:
        if self._hand is None:
            raise HarnessError("no trial is prepared; ask `prepare` first")
        return self._hand

    def _build(self, hand: Hand, repeats: int = 1) -> JSON:
        hand.drop()
        with self.meter.phase("native"):
            for _ in range(repeats):
                hand.native = hand.adapter.prepare(*hand.train)
        return self._sampled(hand, repeats)

    def _sampled(self, hand: Hand, calls: int) -> JSON:
        """Keep the last sample, as the mean of some calls."""
        found = self.meter.last
        mean = Sample(found.phase, found.wall / calls, found.cpu / calls, found.peak, found.cold)
        hand.samples.append(mean)
        return {"samples": [mean]}

    def _found(self, hand: Hand, table: Table) -> JSON:
        """Return the facts of a trial, as they are once its libraries have run."""
        from harness.worker.model_size import size_facts
        from harness.worker.train_loss import score_training_rows

        threads, notes = facts.thread_facts(self._facts["threads"])
        rows, columns = table.X.shape
        train_loss, unscored = score_training_rows(hand, table)
        compiled, compiled_note = facts.compiled(hand.compiled_before, self.compile_clock.time)
        return {
            **self._facts,
            **threads,
            "rows": rows,
            "columns": columns,
            **self._pins,
            "train_rows": len(hand.train[1]),
            "test_rows": len(hand.rows.test),
            **facts.targets(hand.spec, hand.train[1], hand.train[2]),
            **facts.search(hand.adapter),
            **train_loss,
            **size_facts(hand.adapter),
            **compiled,
            "classes": list(table.classes[:MOST_CLASSES]),
            "duplicates": hand.rows.duplicates,
            "machine": machine_id(),
            "load": [hand.load, facts.load()],
            "notes": [
                *table.notes,
                *hand.rows.notes,
                *hand.notes,
                *notes,
                *unscored,
                *compiled_note,
            ],
        }

    @staticmethod
    def _settle(*, thaw: bool) -> None:
        """Take all that lives by now out of the collector's way, so that its runs are short.

        ``thaw`` has it look once more at what was taken before: some of that may be garbage now.
        """
        if thaw:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
