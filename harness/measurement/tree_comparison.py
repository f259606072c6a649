"""Build the trees of both sides of a match in workers, compare them and store the result."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.difference import Comparison
from harness.analysis.parity import Side, Training, compare
from harness.core import machine
from harness.core.errors import DataError, HarnessError
from harness.core.model import FAILURES, JSON, Job, Outcome, Status, Trial, to_json
from harness.core.outcome_files import outcome_path
from harness.core.parity_level import AGREEMENTS
from harness.core.progress import Progress
from harness.execution.compiling import KIND, compile_and_report
from harness.execution.supervisor import Supervisor
from harness.planning.reuse import Pins, may_succeed_now, measured_on_other_bytes
from harness.planning.tree_comparisons import Match
from harness.plugins.registry import Registry
from harness.store import Store
from harness.store.leftovers import WORK
from harness.trees.ensemble import TreeEnsemble

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoTreesError(HarnessError):
    """Error for a side without trees to compare; the status says whether that is a failure."""

    def __init__(self, reason: str, status: Status) -> None:
        super().__init__(reason)
        self.status = status


@dataclass
class Compared:
    """A comparison in progress; it keeps the split on which the sides agree least."""

    splits: dict[str, str] = field(default_factory=dict)
    comparison: Comparison | None = None
    split: str = ""

    def add(self, split: str, comparison: Comparison) -> None:
        """Add the comparison on one split."""
        self.splits[split] = comparison.agreement
        rank = AGREEMENTS.index
        if self.comparison is None or rank(comparison.agreement) > rank(self.comparison.agreement):
            self.comparison, self.split = comparison, split

    def to_json(self, reason: str = "") -> JSON:
        """Return the result in the form that the store keeps."""
        comparison = to_json(self.comparison) if self.comparison else None
        return {
            "splits": self.splits,
            "comparison": comparison,
            "split": self.split,
            "reason": reason,
        }


@dataclass(frozen=True, eq=False)
class _Grown:
    """Outcome of a trial with the arrays that a comparison needs."""

    algorithm: str  # registered name; a gate renames the trials of its base
    outcome: Outcome
    trees: TreeEnsemble | None
    training: Training | None


@dataclass
class Comparisons:
    """Compares matches and stores the results in an open store.

    With ``keep``, the trials of the comparison are recorded as trials of the run. If the run has
    already measured its trials, the trees are built once more and only the comparison is stored.
    ``workers``, if given, are the run's workers, which have compiled their kernels already.
    """

    store: Store
    run_id: str
    registry: Registry
    progress: Progress
    keep: bool = False
    workers: Supervisor | None = None

    def attach(
        self, matches: Iterable[Match], pins: Pins | None = None, *, retry_failed: bool
    ) -> dict[str, Status]:
        """Attach results of earlier runs to this one, and return the status of each."""
        known = known_matches(self.store, matches, pins, retry_failed=retry_failed)
        self.store.attach_parities(self.run_id, *known)
        return known

    def compare(self, matches: Iterable[Match]) -> Iterator[Status]:
        """Compare each match, store the result, and yield its status before the next one."""
        todo = list(matches)
        if not todo:
            return
        with self._supervised(jobs_of(todo)) as supervisor:
            self.progress.stage("parity", sum(len(match.a.trials) for match in todo))
            for match in todo:
                status, record = self._match(match, supervisor)
                self.store.record_parity(self.run_id, match.what, status, record)
                yield status

    @contextmanager
    def _supervised(self, jobs: Iterable[Job]) -> Iterator[Supervisor]:
        """Yield the workers. With ``keep``, outcomes that a killed run leaves belong to the run."""
        # The folder's name belongs to no run, so the next writer removes it unread.
        aside = self.store.folder / f"{WORK}{self.run_id}-trees"
        folder = self.store.workdir(self.run_id) if self.keep else aside
        if self.workers is not None:
            yield self.workers.beside(folder)
        else:
            with Supervisor(folder) as supervisor:
                note = partial(self.store.event, self.run_id, KIND)
                compile_and_report(jobs, supervisor, self.registry, self.progress, note)
                yield supervisor
        shutil.rmtree(folder, ignore_errors=True)

    def _match(self, match: Match, supervisor: Supervisor) -> tuple[Status, JSON]:
        """Return the status of a match and its result, split by split."""
        compared = Compared()
        failed: NoTreesError | None = None
        for one, other in self._grown(match, supervisor):
            trial = one.outcome.trial
            try:
                compared.add(label_of(trial, match), self._compared(one, other))
            except NoTreesError as error:
                failed = failed or error
            self.progress.step(f"{trial.algorithm} on {trial.dataset}")
        record = compared.to_json(str(failed or "")) | {"limits": to_json(match.a.limits)}
        return failed.status if failed else Status.DONE, record

    def _grown(self, match: Match, supervisor: Supervisor) -> Iterator[tuple[_Grown, _Grown]]:
        """Yield both sides of each split.

        Both sides are trained at the same time, unless their times are kept, they have more
        threads than the machine, or they are the same trials, whose files have the same names.
        """
        jobs = replace(match.a, exports=("trees", "training")), replace(match.b, exports=("trees",))
        if self.keep:
            for trials in zip(match.a.trials, match.b.trials, strict=True):
                ones = [replace(job, trials=(t,)) for job, t in zip(jobs, trials, strict=True)]
                a, b = (self._grow(job, supervisor.supervise(job), supervisor) for job in ones)
                yield a, b
            return
        ids = [{trial.id for trial in job.trials} for job in jobs]
        have_same_files = not ids[0].isdisjoint(ids[1])
        fit_together = 2 * match.a.threads <= machine.usable_processors()
        at_once = 2 if fit_together and not have_same_files else 1
        with ExitStack() as stack, ThreadPoolExecutor(at_once) as executor:
            sides = [stack.enter_context(closing(supervisor.supervise(job))) for job in jobs]
            for _ in match.a.trials:
                futures = [
                    executor.submit(self._grow, job, side, supervisor)
                    for job, side in zip(jobs, sides, strict=True)
                ]
                try:
                    a, b = (future.result() for future in futures)
                except BaseException:
                    supervisor.close()  # otherwise the executor would wait for the other side
                    raise
                yield a, b

    def _grow(self, job: Job, outcomes: Iterator[Outcome], supervisor: Supervisor) -> _Grown:
        """Run the next trial of a job and return what it exported."""
        outcome = next(outcomes, None)
        if outcome is None:
            raise HarnessError(f"{job.name}: the run is being stopped")
        exports = job.exports
        arrays = {name: _load(outcome.arrays[name]) for name in exports if name in outcome.arrays}
        source = outcome_path(supervisor.folder, outcome.trial.id)
        if self.keep:
            outcome = self._kept(outcome, source)
        else:
            _remove([*map(Path, outcome.arrays.values()), source])
        return _Grown(
            job.algorithm,
            outcome,
            TreeEnsemble.from_arrays(arrays["trees"]) if "trees" in arrays else None,
            Training.from_arrays(arrays["training"]) if "training" in arrays else None,
        )

    def _kept(self, outcome: Outcome, source: Path) -> Outcome:
        """Store an outcome without its training rows, which only the comparison needs."""
        arrays = dict(outcome.arrays)
        training = arrays.pop("training", None)
        stored = self.store.record(self.run_id, replace(outcome, arrays=arrays), source)
        _remove([Path(training)] if training else [])
        for reason in self.registry.announce(stored):
            self.progress.message(f"  {reason}")
        return stored

    def _compared(self, one: _Grown, other: _Grown) -> Comparison:
        a, b = (self._side(grown) for grown in (one, other))
        if one.training is None:
            raise NoTreesError(_why_not(one.outcome, "training"), Status.FAILED)
        try:
            return compare(a, b, one.training)
        except DataError as error:
            raise NoTreesError(str(error), Status.FAILED) from error

    def _side(self, grown: _Grown) -> Side:
        """Return the trees of an outcome, or raise the reason why it has none."""
        outcome, trial = grown.outcome, grown.outcome.trial
        if outcome.status in FAILURES:
            message = outcome.failure.message if outcome.failure else outcome.status.value
            raise NoTreesError(f"{trial.algorithm} failed: {message}", outcome.status)
        if grown.trees is None:
            raise NoTreesError(_why_not(outcome, "trees"), Status.SKIPPED)
        algorithm = self.registry.algorithm(grown.algorithm)
        reference = grown.algorithm if algorithm.origin == "reference" else algorithm.reference
        return Side(grown.trees, trial.algorithm, trial.params, reference or "")


def jobs_of(matches: Iterable[Match]) -> list[Job]:
    """Return the jobs of both sides of the matches."""
    return [job for match in matches for job in (match.a, match.b)]


def known_matches(
    store: Store, matches: Iterable[Match], pins: Pins | None = None, *, retry_failed: bool = False
) -> dict[str, Status]:
    """Return the status, by id, of the matches that need no new comparison."""
    pins = pins or Pins()
    same = [
        match for match in matches if not measured_on_other_bytes(store, jobs_of([match]), pins)
    ]
    statuses = store.known_parities([match.what["id"] for match in same])
    failed = [i for i, status in statuses.items() if status in FAILURES]
    stored = {} if retry_failed else store.findings_of(failed)
    limits = {match.what["id"]: match.a.limits for match in same}
    rerun = {
        i for i in failed if i not in stored or may_succeed_now(statuses[i], stored[i], limits[i])
    }
    return {i: status for i, status in statuses.items() if i not in rerun}


def label_of(trial: Trial, match: Match) -> str:
    """Return a split's label, with the seed if the match has several seeds."""
    several = len({t.seed for t in match.a.trials}) > 1
    return f"{trial.split.label}-seed{trial.seed}" if several else trial.split.label


def _why_not(outcome: Outcome, name: str) -> str:
    """Return the note with the reason why an artifact was not exported."""
    notes = [str(note) for note in outcome.facts.get("notes", ())]
    reason = next((n for n in notes if n.startswith(f"{name} not exported")), f"no {name}")
    return f"{outcome.trial.algorithm}: {reason}"


def _load(path: str) -> Mapping[str, np.ndarray]:
    """Return the arrays that a worker wrote; pickled data is refused."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _remove(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)
