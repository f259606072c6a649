"""Bisection: find the commit that made an algorithm slower, by duels against a good commit.

A commit is checked out beside the working tree and timed in interleaved pairs against the good
commit. It counts as slower if the whole interval of its ratio is beyond the geometric mean of 1 and
the ratio of the bad commit. Duels are stored under ids that cover the code of both sides, so the
same command continues after an interruption.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from filelock import Timeout

from harness.analysis.gates import decide_ratio
from harness.analysis.interim_analysis import INTERIM_LAUNCHES
from harness.analysis.run_view import Interval
from harness.analysis.speed import speeds_of
from harness.config.experiment import Choice, Experiment, parse_experiment
from harness.core.errors import ConfigError
from harness.core.machine import fingerprint
from harness.core.model import JSON, Duel, DuelOutcome, Status, StopRule
from harness.core.progress import Progress
from harness.gate.commit_search import Remaining, find_first_changed
from harness.gate.libraries import BaseError
from harness.gate.plan import PHASES, Sides, set_by
from harness.gate.revision import (
    Commit,
    Revision,
    checked_out,
    commits_between,
    find_revision,
    lies_in,
)
from harness.gate.run import DEFAULT, base_of, check_params
from harness.planning.candidates import without_labels
from harness.planning.duels import make_duel
from harness.planning.plan import Plan, make_plan
from harness.plugins.registry import Registry
from harness.runs.execute import Execution, Options
from harness.runs.run import config_hash, surroundings
from harness.store import Store

Phase = Literal["train", "native", "fit", "predict"]
STATES = {True: "slower", False: "not slower", None: "not decided"}
PATIENCE = 600.0  # seconds; a gate that uses a commit may wait for the store of this run
MIN_SLOWDOWN = 0.05  # smallest increase of the time that is searched for, as a share


@dataclass(frozen=True)
class BisectRequest:
    """Request of a bisection: two commits, an algorithm, a dataset and a phase."""

    good: str
    bad: str
    algorithm: str
    dataset: str
    phase: Phase = "train"
    min_slowdown: float = MIN_SLOWDOWN
    folder: Path = field(default_factory=Path.cwd)
    experiment: Experiment | None = None  # its params, capacity, splits and duels
    plugin_files: tuple[str, ...] = ()
    results: Path = Path("results")
    fresh: bool = False


@dataclass(frozen=True)
class Measured:
    """One commit against the good one."""

    commit: Commit
    is_slower: bool | None  # None: not decided, with the reason
    times: Interval | None = None  # its time over that of the good commit
    reason: str = ""


@dataclass(frozen=True)
class Bisection:
    """Result of a bisection.

    Attributes
    ----------
    good
        The commit before the step.
    measured
        The measured commits in the order of history; the last one is the bad commit.
    candidates
        The commits of which one caused the step, the oldest first; empty if there is no step.
    run
        Id of the run with the duels.
    """

    good: Revision
    measured: tuple[Measured, ...]
    candidates: tuple[Commit, ...]
    run: str


def bisect(request: BisectRequest, registry: Registry, progress: Progress) -> Bisection:
    """Return the commit that made an algorithm slower; several if the times do not decide.

    Raises
    ------
    ConfigError
        If a commit does not exist, the bad one does not come after the good one, or an option
        cannot be used.
    BaseError
        If the good commit cannot be run, or does not have the algorithm.
    """
    folder = request.folder.resolve()
    good, bad = (find_revision(folder, named) for named in (request.good, request.bad))
    commits = commits_between(good, bad)
    experiment, head = plan_head(request, registry)
    with _commit_timer(request, registry, progress, good, (experiment, head)) as timer:
        last = len(commits) - 1
        newest = timer.measure(commits[last], 1 / (1 + request.min_slowdown))
        known, remaining = {last: newest}, Remaining(last, last)
        if newest.is_slower and newest.times:
            limit = round(1 / math.sqrt(newest.times.value), 4)

            def is_slower(index: int, remaining: Remaining) -> bool | None:
                left = remaining.changed - remaining.good
                progress.message(f"{left} commits remain; about {remaining.steps} more duels")
                known[index] = timer.measure(commits[index], limit)
                return known[index].is_slower

            remaining = find_first_changed(len(commits), is_slower)
        candidates = tuple(commits[remaining.good + 1 : remaining.changed + 1])
        measured = tuple(known[index] for index in sorted(known))
        return Bisection(good, measured, candidates, timer.execution.run_id)


def plan_head(request: BisectRequest, registry: Registry) -> tuple[Experiment, Duel]:
    """Return the experiment, and the duel of the working tree's algorithm with itself.

    All measured duels have the form of this one; only the source trees differ.
    """
    name = request.algorithm
    check_params(request.experiment)
    base = without_labels(request.experiment or parse_experiment(DEFAULT, "the bisection"))
    given = [c for c in base.algorithms if isinstance(c, Choice) and c.name == name]
    duels = {"datasets": [request.dataset], "pairs": [(name, name)], "noise": False}
    experiment = base.model_copy(
        update={
            "name": "bisect",
            "algorithms": [*given, name][:1],
            "datasets": [request.dataset],
            "tracks": ["equal"],
            "track_datasets": {},
            "duels": base.duels.model_copy(update=duels),
            "verdicts": base.verdicts.model_copy(update={"pairs": []}),
            "gate": [],
        }
    )
    plan = make_plan(experiment, registry, surroundings(), (), request.plugin_files)
    if len(plan.duels) != 1:
        raise ConfigError(f"{name} cannot be timed on {request.dataset}: name exactly one of each")
    return experiment, plan.duels[0]


@contextmanager
def _commit_timer(
    request: BisectRequest,
    registry: Registry,
    progress: Progress,
    good: Revision,
    planned: tuple[Experiment, Duel],
) -> Iterator[_CommitTimer]:
    """Check out the good commit and open a run for all duels."""
    experiment, head = planned
    config: JSON = {
        "experiment": experiment.model_dump(mode="json"),
        "plugin_files": list(request.plugin_files),
        "against": {"revision": good.named, "commit": good.commit},
        "bisect": {"bad": request.bad, "phase": request.phase},
    }
    with (
        checked_out(good, progress.message) as tree,
        Store.open(request.results, write=True, on_wait=progress.message) as store,
    ):
        capacity = set_by(experiment, registry)
        sides = _sides(request, registry, progress, (good, tree), capacity)
        digest = config_hash(config)
        with store.recorded(experiment.name, config, digest, fingerprint()) as run_id:
            options = Options(fresh=request.fresh)
            execution = Execution(store, run_id, registry, progress, options)
            yield _CommitTimer(request, sides, head, experiment.duels.launches, execution)


def _sides(
    request: BisectRequest,
    registry: Registry,
    progress: Progress,
    checkout: tuple[Revision, Path],
    capacity: Mapping[str, frozenset[str]],
) -> Sides:
    """Return the factory of jobs of a checked-out commit.

    Raises
    ------
    BaseError
        If the commit cannot be run, or does not have the algorithm.
    """
    revision, tree = checkout
    base = base_of(request.plugin_files, registry, revision, tree, progress)
    known = base.algorithms.get(request.algorithm)
    if known is None or not lies_in(known["path"], tree):
        reasons = "; ".join(base.broken.values())
        message = f"{revision.short} does not have {request.algorithm}"
        raise BaseError(f"{message} ({reasons})" if reasons else message)
    return Sides(base, revision.short, revision.repository, tree, capacity)


@dataclass(frozen=True)
class _CommitTimer:
    """Measurement of commits against the good one."""

    request: BisectRequest
    good: Sides
    head: Duel
    max_launches: int
    execution: Execution

    def measure(self, commit: Commit, limit: float) -> Measured:
        """Return whether a commit is slower than the good one by more than 1 / ``limit``."""
        execution = self.execution
        progress = execution.progress
        revision = Revision(self.good.repository, commit.id, commit.id[:8])
        progress.message(f"{revision.short} {commit.subject}")
        try:
            with checked_out(revision, progress.message, PATIENCE) as tree:
                checkout, capacity = (revision, tree), self.good.capacity
                sides = _sides(self.request, execution.registry, progress, checkout, capacity)
                duel = self._duel(sides, limit)
                execution.carry_out(Plan(duels=(duel,)))
        except BaseError as error:
            measured = Measured(commit, None, reason=str(error))
        except Timeout:
            measured = Measured(commit, None, reason="another gate uses this commit")
        else:
            outcome = next(o for o, _ in execution.store.duels(execution.run_id) if o.duel == duel)
            measured = judge(commit, outcome, self.request.phase, limit)
        progress.message(f"{revision.short}: {sentence_of(measured)}")
        return measured

    def _duel(self, sides: Sides, limit: float) -> Duel:
        counts = [n for n in INTERIM_LAUNCHES if n <= max(self.max_launches, INTERIM_LAUNCHES[0])]
        rule = StopRule(tuple(counts), self.request.phase, claim=limit)
        head = self.head
        a, b = sides.job(head.a), self.good.job(head.a)
        return make_duel(a, b, head.launches, head.blocks, rule, PHASES)


def judge(commit: Commit, outcome: DuelOutcome, phase: str, limit: float) -> Measured:
    """Return the measurement of a commit from its duel against the good one.

    Parameters
    ----------
    limit
        Time of the good commit over that of the commit, below which the commit is slower.
    """
    speeds = {speed.phase: speed for speed in speeds_of(outcome)}
    if outcome.status is not Status.DONE or phase not in speeds:
        why = outcome.failure.message if outcome.failure else f"no duel of the phase {phase}"
        return Measured(commit, None, reason=why)
    speed = speeds[phase]
    state, reason = decide_ratio(speed.ratio, speed.unit, limit, 0.0)
    is_slower = {"fail": True, "pass": False}.get(state)
    notes = "; ".join(filter(None, [reason, *speed.notes]))
    return Measured(commit, is_slower, _inverse(speed.ratio), notes)


def _inverse(ratio: Interval) -> Interval:
    """Return the interval of the inverse of a ratio."""
    low, value, high = (1 / x if x else math.inf for x in (ratio.high, ratio.value, ratio.low))
    return replace(ratio, low=low, value=value, high=high)


def sentence_of(measured: Measured) -> str:
    """Return the result of a commit in words."""
    word = STATES[measured.is_slower]
    times = measured.times
    if times is None:
        return f"{word}: {measured.reason}"
    text = f"{word}: {times.value:.3f} [{times.low:.3f}, {times.high:.3f}] times the time"
    return f"{text} ({measured.reason})" if measured.reason else text
