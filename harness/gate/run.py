"""Compare the working tree with a revision: set up the base, run both, decide.

Trials run first, then tree comparisons, then duels. Within each, the algorithms nearest to the
change come first, so that a time budget is spent on them. Comparisons without measurements are
undecided.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.analysis.build_view import view_run
from harness.analysis.gates import Decision, State, state_of
from harness.config.experiment import Choice, Experiment, parse_experiment
from harness.core.errors import ConfigError
from harness.core.machine import fingerprint
from harness.core.model import JSON, to_json
from harness.core.progress import Progress
from harness.gate.base import Base, make_base
from harness.gate.changes import Changes, find_changes
from harness.gate.claims import lost_claims
from harness.gate.decision import Limits, decide, failed_to_load, undecided_decisions
from harness.gate.instruction_change import InstructionChange, count_changes
from harness.gate.libraries import HARNESS_ROOT, BaseError
from harness.gate.plan import Sides, plan_parity_matches, plan_sides, roots_of, set_by
from harness.gate.revision import (
    Revision,
    belongs,
    changed_files,
    checked_out,
    find_revision,
    head_of,
    in_tree,
)
from harness.gate.unfinished import find_unfinished, mark_unfinished
from harness.planning.candidates import without_labels
from harness.planning.plan import Plan
from harness.planning.tree_comparisons import Match
from harness.plugins.registry import Registry
from harness.runs.execute import Execution, Options
from harness.runs.run import config_hash, surroundings
from harness.store import Store
from harness.store.write import RunStatus

# Small enough for a few minutes; large enough that a copy of X shows in the memory peak.
DEFAULT: JSON = {
    "name": "gate",
    "summary": "The working tree against a revision.",
    "datasets": ["friedman1:rows=20000", "higgs_like:rows=20000"],
    "capacity": {"trees": 10},
    "splits": {"folds": 8},
    "run": {"timeout": "3m"},
    "duels": {
        "datasets": ["friedman1:rows=4000", "higgs_like:rows=3000"],
        "launches": 24,
        "blocks": 3,
    },
    "parity": {"datasets": ["diabetes", "breast_cancer"]},
}


@dataclass(frozen=True)
class GateRequest:
    """The request to a gate: revision, experiment, selection and limits."""

    revision: str
    folder: Path = field(default_factory=Path.cwd)
    experiment: Experiment | None = None  # its datasets, params and duels; not its algorithms
    algorithms: Sequence[str] = ()
    datasets: Sequence[str] = ()
    everything: bool = False
    limits: Limits = field(default_factory=Limits)
    plugin_files: tuple[str, ...] = ()
    results: Path = Path("results")
    fresh: bool = False
    budget: float = math.inf  # seconds in total; measurements not started by then are undecided
    instructions: bool = False  # also count the instructions of a fit; no decision uses them


@dataclass(frozen=True)
class Answer:
    """The answer of a gate; ``run`` is empty if nothing was measured."""

    base: str
    head: str
    run: str = ""
    decisions: Sequence[Decision] = ()
    changes: Changes = field(default_factory=lambda: Changes({}))
    notes: Sequence[str] = ()
    instructions: Sequence[InstructionChange] = ()

    @property
    def state(self) -> State:
        """Return ``pass``, ``fail`` or ``undecided``."""
        return state_of(self.decisions)


def compare_with_revision(request: GateRequest, registry: Registry, progress: Progress) -> Answer:
    """Compare the working tree with a revision and return what became worse.

    Raises
    ------
    ConfigError
        If the revision does not exist, or an option cannot be used.
    """
    deadline = time.monotonic() + request.budget
    check_params(request.experiment)
    revision = find_revision(request.folder.resolve(), request.revision)
    answer = Answer(f"{revision.named} ({revision.short})", head_of(revision.repository))
    with checked_out(revision, progress.message) as tree:
        progress.message(f"base: {answer.base}; head: {answer.head}")
        try:
            base = base_of(request.plugin_files, registry, revision, tree, progress)
        except BaseError as error:
            progress.message(str(error))
            decisions = undecided_decisions(f"*@{revision.short}", str(error))
            return Answer(answer.base, answer.head, decisions=decisions)
        globs = request.algorithms
        changes = find_changes(
            registry, base, revision.repository, tree, globs, everything=request.everything
        )
        notes = tuple(_notes(revision, base))
        removed = [
            failed_to_load(name, f"{name}@{revision.short}", why)
            for name, why in changes.lost.items()
        ]
        removed += lost_claims(registry, base, tree, globs)
        if not changes.chosen:
            return Answer(answer.base, answer.head, "", removed, changes, notes)
        reasons = ", ".join(f"{name} ({why})" for name, why in changes.chosen.items())
        progress.message(f"to compare: {reasons}")
        measured = _Measurement(
            request, registry, revision, tree, base, list(changes.chosen), deadline
        )
        run, decisions = measured.carry_out(removed, progress)
        counted, missing = measured.count_instructions(progress)
        notes += (missing,) if missing else ()
        return Answer(answer.base, answer.head, run, decisions, changes, notes, counted)


def check_params(experiment: Experiment | None) -> None:
    """Raise ConfigError if an algorithm has several sets of params."""
    choices = [c for c in experiment.algorithms if isinstance(c, Choice)] if experiment else []
    names = Counter(choice.name for choice in choices)
    several = [c.name for c in choices if c.grid or names[c.name] > 1]
    if several:
        raise ConfigError(
            "a gate against a revision compares one set of params of each algorithm: give "
            f"{several[0]} one, and no grid"
        )


def base_of(
    plugin_files: Sequence[str],
    registry: Registry,
    revision: Revision,
    tree: Path,
    progress: Progress,
) -> Base:
    """Return the base of a checked-out revision, for the plugins of the working tree.

    Raises
    ------
    BaseError
        If its environment cannot be made, or the harness does not start in it.
    """
    repository = revision.repository
    roots = roots_of(registry, repository, tree, HARNESS_ROOT)
    files = [in_tree(file, repository, tree) for file in plugin_files]
    there = [file for file in files if Path(file).is_file()]
    return make_base(tree, repository, roots, there, revision.short, progress.message)


def _notes(revision: Revision, base: Base) -> list[str]:
    """Return notes for the reader of the answer."""
    notes = []
    if belongs(HARNESS_ROOT, revision.repository):
        files = changed_files(revision, HARNESS_ROOT / "harness")
        if files:
            notes.append(
                f"the harness itself changed ({len(files)} files); each side runs its own version; "
                "use --all to compare every algorithm"
            )
    if base.own_libraries:
        notes.append("base and head need different libraries: the base ran with its own")
    return notes


@dataclass(frozen=True)
class _Measurement:
    """A comparison of head and base that is running."""

    request: GateRequest
    registry: Registry
    revision: Revision
    tree: Path
    base: Base
    names: list[str]
    deadline: float  # of the monotonic clock

    def carry_out(
        self, removed: Sequence[Decision], progress: Progress
    ) -> tuple[str, list[Decision]]:
        """Run both sides; return the run's id and all decisions, including those in ``removed``."""
        experiment, files = self._experiment(), self.request.plugin_files
        sides, plan = self._sides(experiment), self._plan(experiment)
        matches = plan_parity_matches(experiment, self.registry, surroundings(), sides, files)
        config: JSON = {
            "experiment": experiment.model_dump(mode="json"),
            "plugin_files": list(files),
            "declared": plan.declared,
            "against": {"revision": self.revision.named, "commit": self.revision.commit},
        }
        with Store.open(self.request.results, write=True, on_wait=progress.message) as store:
            run_id = store.begin_run(
                experiment.name,
                config,
                config_hash(config),
                machine=fingerprint(),
                environments=[to_json(self.base.environment)],
            )
            store.plan_trials(run_id, [*plan.trials(), *(o.trial for o in plan.skipped)])
            status: RunStatus = "interrupted"
            try:
                options = Options(fresh=self.request.fresh, deadline=self.deadline)
                execution = Execution(store, run_id, self.registry, progress, options)
                execution.carry_out(plan, matches)
                status = "done"
            finally:
                store.finish_run(run_id, status)
            decisions = [*removed, *self._decisions(store, run_id, plan, matches)]
            store.event(run_id, "gate", [_stored_form(decision) for decision in decisions])
        return run_id, decisions

    def count_instructions(self, progress: Progress) -> tuple[tuple[InstructionChange, ...], str]:
        """Return the changes of the instructions of a fit, and why there are none, if asked for."""
        if not self.request.instructions:
            return (), ""
        duels = self._plan(self._experiment()).duels
        with TemporaryDirectory() as folder:
            return count_changes(duels, Path(folder), self.deadline, progress)

    def _sides(self, experiment: Experiment) -> Sides:
        revision, capacity = self.revision, set_by(experiment, self.registry)
        return Sides(self.base, revision.short, revision.repository, self.tree, capacity)

    def _plan(self, experiment: Experiment) -> Plan:
        claim = 1 / (1 + self.request.limits.slower)
        return plan_sides(
            experiment,
            self.registry,
            surroundings(),
            self._sides(experiment),
            claim=claim,
            plugin_files=self.request.plugin_files,
        )

    def _decisions(
        self, store: Store, run_id: str, plan: Plan, matches: Sequence[Match]
    ) -> list[Decision]:
        """Return the decisions on what was measured, and undecided ones for the rest."""
        view = view_run(store, run_id, self.registry)
        labels = {name: f"{name}@{self.revision.short}" for name in self.names}
        compared = [what["id"] for what, _, _ in store.parities(run_id)]
        unfinished = find_unfinished(plan, matches, view, compared)
        reason = f"not done within the budget of {self.request.budget / 60:.3g} min"
        decisions = decide(view, labels, self.request.limits)
        return list(mark_unfinished(decisions, unfinished, self.revision.short, reason))

    def _experiment(self) -> Experiment:
        """Return the experiment of both sides: the changed algorithms on the requested datasets."""
        experiment = without_labels(
            self.request.experiment or parse_experiment(DEFAULT, "the gate")
        )
        given = {c.name: c for c in experiment.algorithms if isinstance(c, Choice)}
        changes: dict[str, Any] = {"algorithms": [given.get(n, n) for n in self.names], "gate": []}
        changes["tracks"] = ["equal"]
        if self.request.datasets:
            names = list(self.request.datasets)
            changes["datasets"] = names
            changes["duels"] = experiment.duels.model_copy(update={"datasets": names})
        verdicts = experiment.verdicts.model_copy(update={"pairs": []})
        return experiment.model_copy(update={**changes, "verdicts": verdicts})


def _stored_form(decision: Decision) -> JSON:
    """Return a decision in the form in which the store keeps it."""
    record = {**to_json(decision), "gate": decision.gate.model_dump(mode="json")}
    return {key: value for key, value in record.items() if key != "measured"}
