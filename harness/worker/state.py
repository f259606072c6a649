"""State of a worker: one plugin, one table, one trial; each public method answers one request."""

from __future__ import annotations

import gc
import math
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
    from harness.worker.prepared_trial import PreparedTrial, Rows
    from harness.worker.serving import ServedModel


LARGE = 1_000_000  # values of a table whose leftovers are collected before the next one is loaded
MAX_CLASSES = 50  # number of class labels stored with the facts of a trial


class WorkerState:
    """State of a worker between two requests."""

    def __init__(self, imported: Sample | None = None) -> None:
        self.meter = Meter()
        self.compile_clock = CompileClock(os.environ.get(MARK, ""))
        self._imported = imported
        self._registry: Registry | None = None
        self._plugin = ""
        self._algorithm: Algorithm | None = None
        self._table: Table | None = None
        self._rows: dict[Split, Rows] = {}  # trials with different params share their splits
        self._called: set[tuple[Task, bool, bool]] = set()  # kinds with loaded kernels
        self._prepared: PreparedTrial | None = None
        self._served: ServedModel | None = None
        self._session: dict[str, Sample] = {}  # samples of import and load, common to all trials
        self._facts: JSON = {}
        self._pins: JSON = {}  # checksums of the data, for datasets whose digest has none

    def hello(self, plugin: str, plugins: Sequence[str], algorithm: str, threads: int) -> JSON:
        """Import one algorithm's plugin and its libraries.

        If called again for another algorithm, the libraries are already imported; the time of the
        first import is recorded for both.
        """
        from harness.worker.loading import import_libraries, load_plugins

        self._prepared = None
        self._called.clear()

        with self.meter.phase("import"):
            self._registry = load_plugins(plugin, plugins)
            self._plugin = plugin
            self._algorithm = self._registry.algorithm(algorithm)
            import_libraries(self._algorithm.libraries)
        self._session.setdefault("import", facts.together(self._imported, self.meter.last))
        self._freeze_objects(thaw=False)
        thread_facts, notes = facts.thread_facts(threads)
        self._facts = {
            "threads": threads,
            "versions": facts.versions(self._algorithm.libraries),
            "approximate_peaks": self.meter.approximate,
        }
        samples = [self._session["import"]]
        return {**self._facts, **thread_facts, "notes": notes, "samples": samples}

    def load(self, dataset: JSON) -> JSON:
        """Load a table for the trials that follow."""
        from harness.data.lookup import load_table, pins_of
        from harness.worker.loading import import_splitters

        if self._registry is None:
            raise HarnessError("no plugin is loaded; send `hello` first")
        # A collection of all objects takes longer than a trial on a small table.
        large = self._table is not None and math.prod(self._table.X.shape) >= LARGE
        self._prepared = self._table = None
        self._rows.clear()
        self.meter.warm()
        ref = DatasetRef(**dataset)
        with self.meter.phase("load"):
            self._table = load_table(ref, self._registry)
        pins = pins_of(ref, self._registry)
        self._pins = {"pins": pins} if pins else {}
        self._session["load"] = self.meter.last
        if self._table.test_rows is None:
            import_splitters()
        self._freeze_objects(thaw=large)
        rows, columns = self._table.X.shape
        reply = {"rows": rows, "columns": columns, **self._pins, "notes": self._table.notes}
        return {**reply, "samples": [self.meter.last]}

    def prepare(self, trial: JSON, variation: JSON | None = None) -> JSON:
        """Split and prepare the rows of a trial, and build the library's training data.

        Parameters
        ----------
        variation
            Changes of the prepared rows: arguments of :func:`harness.worker.variations.vary`.
        """
        from harness.worker.prepared_trial import prepare_trial, split_table
        from harness.worker.variations import vary

        self._prepared = None  # the previous trial's rows must not count as memory of this one
        if self._table is None or self._algorithm is None:
            raise HarnessError("no table is loaded; send `hello` and `load` first")
        started, load, requested = utc_now(), facts.load(), trial_from_json(trial)
        compiled = self.compile_clock.time
        if requested.split not in self._rows:
            self._rows[requested.split] = split_table(requested, self._table)
        self.meter.warm()
        gc.freeze()  # objects imported since `load`
        with self.meter.phase("preparation"):
            prepared = prepare_trial(requested, self._table, self._rows[requested.split])
            vary(prepared, **(variation or {}))
        prepared.started, prepared.load, prepared.compiled_before = started, load, compiled
        prepared.samples.append(self.meter.last)
        prepared.samples += self._first_call(prepared)
        self.meter.warm()
        prepared.algorithm = self._algorithm
        self._build(prepared)
        self._prepared = prepared
        return {**prepared.counts, "samples": prepared.samples}

    def _first_call(self, prepared: PreparedTrial) -> list[Sample]:
        """Load an algorithm's compiled kernels before the phases; return the sample, if any."""
        from harness.worker.warm_up import call_once

        assert self._algorithm is not None
        kind = prepared.spec.task, prepared.is_sparse, bool(prepared.spec.categorical)
        if "numba" not in self._algorithm.libraries or kind in self._called:
            return []
        self._called.add(kind)
        with self.meter.phase("compile"):
            call_once(self._algorithm, prepared.spec, sparse=prepared.is_sparse)
        return [self.meter.last]

    def pin(self, cpus: Sequence[int]) -> JSON:
        """Pin all threads of this process to processors; return the resulting affinity."""
        affinity.pin(cpus)
        return {"affinity": affinity.affinity()}

    def first_call(self) -> JSON:
        """Call the algorithm once on a tiny table, and reset the base of peak memory."""
        self._current().rehearse()
        self.meter.warm()
        return {}

    def native(self, repeats: int = 1) -> JSON:
        """Build the library's training data again.

        Parameters
        ----------
        repeats
            Number of calls; the sample is their mean, because one call may be too short to time.
        """
        return self._build(self._current(), repeats)

    def fit(self, repeats: int = 1) -> JSON:
        """Train again on the library's training data."""
        from harness.worker.prepared_trial import seed_globals

        prepared = self._current()
        prepared.need_native()
        seed_globals(prepared.spec.seed)
        with self.meter.phase("fit"):
            for _ in range(repeats):
                prepared.fit()
        return self._append_sample(prepared, repeats)

    def predict(self, repeats: int = 1) -> JSON:
        """Predict the test rows and validate the predictions."""
        from harness.worker.checks import checked

        prepared = self._current()
        prepared.need_model()
        with self.meter.phase("predict"):
            for _ in range(repeats):
                output = prepared.adapter.predict(prepared.X_test)
        prepared.output = checked(output, prepared.spec, len(prepared.rows.test))
        return self._append_sample(prepared, repeats)

    def predict_one(self, rows: int, repeats: int = 1) -> JSON:
        """Predict some test rows one by one; the sample is the mean per row."""
        from harness.worker.prepared_trial import one_by_one

        prepared = self._current()
        prepared.need_model()
        singles = one_by_one(prepared.X_test, rows)
        predict = prepared.adapter.predict_one
        with self.meter.phase("predict_one"):
            for _ in range(repeats):
                for x in singles:
                    predict(x)
        return self._append_sample(prepared, repeats * rows)

    def finish(
        self, outcome: str, arrays: str, exports: Sequence[str] = (), extra: JSON | None = None
    ) -> JSON:
        """Write the arrays and the outcome of the trial.

        Parameters
        ----------
        outcome
            Path of the outcome file.
        arrays
            Folder of the arrays, which is that of the outcome file.
        exports
            Requested exports out of ``trees``, ``staged``, ``members``, ``training`` and
            ``permutation``; a failed one is only noted.
        extra
            Further facts from the parent.
        """
        from harness.worker.arrays import write_all

        prepared = self._current()
        if prepared.output is None:
            raise HarnessError("nothing was predicted; send `predict` first")
        assert self._table is not None
        names = write_all(Path(arrays), prepared, self._table, exports)
        done = Outcome(
            trial=prepared.trial,
            status=Status.DONE,
            samples=(*self._session.values(), *prepared.samples),
            arrays=names,
            facts={**self._trial_facts(prepared, self._table), **(extra or {})},
            started=prepared.started,
            ended=utc_now(),
        )
        write_outcome(Path(outcome), done)
        return {"outcome": outcome}

    def save(self, trial: JSON, path: str) -> JSON:
        """Train a trial's algorithm on all rows and save the model with its preparation."""
        from harness.worker.saving import train_and_save

        if self._table is None or self._algorithm is None:
            raise HarnessError("no table is loaded; send `hello` and `load` first")
        return train_and_save(self._algorithm, trial_from_json(trial), self._table, Path(path))

    def save_served(self, folder: str) -> JSON:
        """Save the fitted model and the test rows of the prepared trial for a serving process."""
        from harness.worker.serving import save_served

        prepared = self._current()
        prepared.need_model()
        return save_served(prepared, Path(folder))

    def load_served(self, folder: str) -> JSON:
        """Load a saved model and its rows; if called again, load the model again."""
        from harness.worker.serving import ServedModel

        if self._algorithm is None:
            raise HarnessError("no plugin is loaded; send `hello` first")
        if self._served is None:
            self._served = ServedModel(Path(folder))
        with self.meter.phase("load_model"):
            self._served.load()
        return {"samples": [self.meter.last]}

    def serve_rows(self, calls: int, seconds: float) -> JSON:
        """Time calls of the loaded model with one row each; return nanoseconds."""
        return {"nanoseconds": self._loaded().time_rows(calls, seconds)}

    def serve_batch(self, rows: int, seconds: float) -> JSON:
        """Time calls of the loaded model with a batch of rows; return nanoseconds."""
        return {"nanoseconds": self._loaded().time_batch(rows, seconds)}

    def warm(self, params: Sequence[JSON] = ({},), kinds: Sequence[str] = ()) -> JSON:
        """Compile the algorithm's kernels by running it on tiny tables."""
        from harness.worker.warm_up import NOTHING_COMPILED, are_packaged, compile_all

        if self._algorithm is None:
            raise HarnessError("no plugin is loaded; send `hello` first")
        with self.meter.phase("compile"):
            if are_packaged(self._algorithm, self._plugin, params):
                compiled = NOTHING_COMPILED
            else:
                compiled = compile_all(self._algorithm, params, self._facts["threads"], kinds)
        return {"samples": [self.meter.last], **compiled}

    def _current(self) -> PreparedTrial:
        if self._prepared is None:
            raise HarnessError("no trial is prepared; send `prepare` first")
        return self._prepared

    def _loaded(self) -> ServedModel:
        if self._served is None:
            raise HarnessError("no model is loaded; send `load_served` first")
        return self._served

    def _build(self, prepared: PreparedTrial, repeats: int = 1) -> JSON:
        prepared.drop()
        with self.meter.phase("native"):
            for _ in range(repeats):
                prepared.native = prepared.adapter.prepare(*prepared.train)
        return self._append_sample(prepared, repeats)

    def _append_sample(self, prepared: PreparedTrial, calls: int) -> JSON:
        """Append the last sample, divided by the number of calls, to the trial."""
        sample = self.meter.last
        mean = Sample(
            sample.phase, sample.wall / calls, sample.cpu / calls, sample.peak, sample.cold
        )
        prepared.samples.append(mean)
        return {"samples": [mean]}

    def _trial_facts(self, prepared: PreparedTrial, table: Table) -> JSON:
        """Return the facts of a trial after its libraries have run."""
        from harness.worker.model_facts import score_training_rows, size_facts

        threads, notes = facts.thread_facts(self._facts["threads"])
        rows, columns = table.X.shape
        train_loss, unscored = score_training_rows(prepared, table)
        compiled, compiled_note = facts.compiled(prepared.compiled_before, self.compile_clock.time)
        return {
            **self._facts,
            **threads,
            "rows": rows,
            "columns": columns,
            **self._pins,
            "train_rows": len(prepared.train[1]),
            "test_rows": len(prepared.rows.test),
            **facts.targets(prepared.spec, prepared.train[1], prepared.train[2]),
            **facts.search(prepared.adapter),
            **train_loss,
            **size_facts(prepared.adapter),
            **compiled,
            "classes": list(table.classes[:MAX_CLASSES]),
            "duplicates": prepared.rows.duplicates,
            "machine": machine_id(),
            "load": [prepared.load, facts.load()],
            "notes": [
                *table.notes,
                *prepared.rows.notes,
                *prepared.notes,
                *notes,
                *unscored,
                *compiled_note,
            ],
        }

    @staticmethod
    def _freeze_objects(*, thaw: bool) -> None:
        """Exclude all present objects from garbage collection, so that collections are short.

        With ``thaw`` the objects excluded before are collected first.
        """
        if thaw:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
