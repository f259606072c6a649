"""Answer the questions of the ``[diagnostics]`` table after the trials of a run are done.

Each answer is stored as an event of the run. An answer of an earlier run is reused if its inputs
are unchanged: trials, settings and, for answers with times, the machine.
"""

from __future__ import annotations

import itertools
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from harness.analysis.build_view import view_run
from harness.analysis.diagnostics import Diagnostic, InapplicableError, scaling
from harness.analysis.diagnostics.sizes import lines_of
from harness.analysis.recommendation import answers_of
from harness.config.diagnostics import Diagnostics
from harness.core import ids
from harness.core.errors import ConfigError, DataError, unknown
from harness.core.machine import machine_id
from harness.core.model import JSON, Algorithm, Outcome, Status, Task, Trial, to_json
from harness.core.outcome_files import outcome_path
from harness.core.progress import Progress
from harness.data.noise_free_target import truth_of
from harness.execution.session import SessionError
from harness.execution.supervisor import Supervisor
from harness.measurement.answers import ANSWERS, NEEDS
from harness.measurement.probe import Probe, probe
from harness.measurement.questions import Arrays, Question, Subject
from harness.planning.plan import Plan
from harness.plugins.registry import Registry
from harness.store import Store

KIND = "diagnostic"  # of the events
VERSION = 2  # raise when the computation of an answer changes
PAIRED = ("importance", "agreement")
OF_CLASSES = ("calibration", "margins")
TIMED = ("staged", "scaling")
AXES = ("rows", "columns", "bins", "depth", "threads")
PATIENCE = 10  # factor on a trial's time limit: stages are predicted, some members are refitted


def questions(config: Diagnostics, plan: Plan) -> list[Question]:
    """Return the questions to answer, in the order of the table.

    Raises
    ------
    ConfigError
        If a pair names an algorithm that the run does not have.
    """
    if not config.names:
        return []
    subjects = list(_subjects(config, plan))
    pairs = list(_pairs(config, plan, subjects)) if {*PAIRED} & {*config.names} else []
    result: list[Question] = []
    for name in dict.fromkeys(config.names):
        if name in PAIRED:
            result += [Question(name, a, b) for a, b in pairs]
            continue
        for subject in subjects:
            if name not in OF_CLASSES or subject.first.task.is_classification:
                result += [Question(name, subject, about=a) for a in _about(name, config, subject)]
    return result


def _about(name: str, config: Diagnostics, subject: Subject) -> list[str]:
    """Return the axes or sizes over which one diagnostic is repeated; ``[""]`` for none."""
    if name == "scaling":
        return [axis for axis in AXES if getattr(config, axis)]
    if name == "bias_variance":
        return [str(size) for size in subject.sizes] or [""]
    return [""]


def _subjects(config: Diagnostics, plan: Plan) -> Iterator[Subject]:
    """Yield the subjects of the chosen datasets; no diagnostic is defined for rankings."""
    for job in plan.jobs:
        if job.trials[0].task is Task.RANKING:
            continue
        if not any(fnmatchcase(job.dataset.name, pattern) for pattern in config.datasets):
            continue
        same: dict[tuple[str, str], list[Trial]] = defaultdict(list)
        for trial in job.trials:
            same[ids.canonical(trial.params), trial.preparation].append(trial)
        yield from (Subject(job, tuple(trials)) for trials in same.values())


def _pairs(
    config: Diagnostics, plan: Plan, subjects: Iterable[Subject]
) -> Iterator[tuple[Subject, Subject]]:
    """Yield both sides of each pair that share the data and a track."""
    declared: Mapping[str, Any] = plan.declared or {}
    tracks = {
        (v["algorithm"], ids.canonical(v["params"])): set(v["tracks"])
        for v in declared.get("tracks", ())
    }

    def track(subject: Subject) -> set[str]:
        trial = subject.first
        return tracks.get((trial.algorithm, ids.canonical(trial.params)), set())

    by_name: dict[str, list[Subject]] = defaultdict(list)
    for subject in subjects:
        by_name[subject.first.algorithm].append(subject)
    known = {job.name for job in plan.jobs}
    for a, b in config.pairs if config.pairs is not None else declared.get("pairs", ()):
        for name in (a, b):
            if config.pairs is not None and name not in known:
                raise ConfigError(f"diagnostics.pairs: {unknown('algorithm', name, known)}")
        for x, y in itertools.product(by_name.get(a, ()), by_name.get(b, ())):
            one, other = x.first, y.first
            same = (one.dataset, one.preparation) == (other.dataset, other.preparation)
            if same and x is not y and (track(x) & track(y) or not tracks):
                yield x, y


@dataclass
class Diagnosis:
    """Answers the questions of one run and stores the answers in an open store."""

    store: Store
    run_id: str
    registry: Registry
    progress: Progress
    config: Diagnostics
    fresh: bool = False
    supervisor: Supervisor = field(init=False)
    outcomes: dict[str, Outcome] = field(init=False)  # of the run, by trial id
    truths: dict[str, np.ndarray | None] = field(default_factory=dict)  # by dataset
    needed: frozenset[str] = field(init=False)  # artifacts that some question needs

    def __post_init__(self) -> None:
        self.needed = frozenset(NEEDS[name] for name in self.config.names if name in NEEDS)

    def carry_out(self, plan: Plan) -> None:
        """Answer every question and store each answer before the next."""
        todo = questions(self.config, plan)
        if todo and self.config.recommended_only:
            todo = self._of_recommended(todo)
        if todo:
            self._answer_all(todo)
        if "scaling" in self.config.names:
            self._scale_duels()

    def _of_recommended(self, todo: Sequence[Question]) -> list[Question]:
        """Return the questions about the algorithms that the run recommends."""
        view = view_run(self.store, self.run_id, self.registry)
        recommended = set()
        for answer in answers_of(view):
            if answer.recommended:
                chosen = answer.standing(answer.recommended)
                recommended.add((chosen.algorithm, answer.dataset, ids.canonical(chosen.params)))
        kept = []
        for question in todo:
            trial = question.subject.first
            if (trial.algorithm, trial.dataset, ids.canonical(trial.params)) in recommended:
                kept.append(question)
        return kept

    def _answer_all(self, todo: Sequence[Question]) -> None:
        known = {} if self.fresh else answered(self.store.event_data(KIND))
        self.outcomes = {o.trial.id: o for o, _ in self.store.outcomes(self.run_id)}
        self.progress.stage("diagnostics", len(todo))
        with Supervisor(self.store.workdir(self.run_id)) as self.supervisor:
            for question in todo:
                name = self._id(question)
                answer = known.get(name) or {"id": name, **to_json(self._answer(question))}
                self.store.event(self.run_id, KIND, answer)
                trial = question.subject.first
                self.progress.step(f"{question.name} of {trial.algorithm} on {trial.dataset}")
        shutil.rmtree(self.supervisor.folder, ignore_errors=True)

    def _scale_duels(self) -> None:
        """Fit lines through duels of the run that differ in size only, without new measurements."""
        for line in lines_of(outcome for outcome, _ in self.store.duels(self.run_id)):
            answer = Diagnostic(
                name="scaling",
                algorithm=line.algorithm,
                dataset=line.dataset,
                params=line.params,
                preparation=line.preparation,
                about=f"{line.axis} of duels",
            )
            try:
                fitted = scaling.fit(line.axis, line.x, line.seconds)
                answer = replace(answer, sentence=fitted.sentence, found=to_json(fitted))
            except InapplicableError as error:
                answer = replace(answer, reason=str(error))
            name = ids.digest([VERSION, line.axis, line.algorithm, line.params, line.duels])
            self.store.event(self.run_id, KIND, {"id": name, **to_json(answer)})

    def _id(self, question: Question) -> str:
        sides = [question.subject, *([question.other] if question.other else [])]
        settings: list[Any] = [question.name, question.about, VERSION]
        if question.name == "scaling":
            settings += [getattr(self.config, question.about), self.config.calls]
        if question.name in TIMED:
            settings.append(machine_id())
        return ids.digest([settings, [[t.id for t in side.trials] for side in sides]])

    def _answer(self, question: Question) -> Diagnostic:
        trial = question.subject.first
        blank = Diagnostic(
            name=question.name,
            algorithm=trial.algorithm,
            dataset=trial.dataset,
            params=trial.params,
            preparation=trial.preparation,
            reference=question.other.first.algorithm if question.other else "",
            about=question.about,
        )
        try:
            sentence, record = ANSWERS[question.name](self, question)
        except (InapplicableError, SessionError, DataError) as error:
            return replace(blank, reason=str(error))
        return replace(blank, sentence=sentence, found=record)

    # -------------------------------------------------------------- evidence

    def algorithm(self, subject: Subject) -> Algorithm:
        """Return the declaration of a subject's algorithm."""
        return self.registry.algorithm(subject.job.algorithm)

    def arrays(self, trial: Trial, name: str, subject: Subject) -> Arrays:
        """Return an artifact of a trial; rerun the trial if the artifact was not stored."""
        outcome = self.outcomes.get(trial.id)
        if outcome is None or outcome.status is not Status.DONE:
            why = outcome.failure.message if outcome and outcome.failure else "it has no result"
            raise InapplicableError(f"{trial.algorithm} on {trial.dataset}: {why}")
        if name not in outcome.arrays and not _refused(outcome, name):
            outcome = self._exported(trial, subject)
        if name not in outcome.arrays:
            raise InapplicableError(_refused(outcome, name))
        return dict(self.store.artifact(outcome.arrays[name]))

    def _exported(self, trial: Trial, subject: Subject) -> Outcome:
        """Rerun a trial alone and export all artifacts that the questions need."""
        limits = replace(subject.job.limits, timeout=PATIENCE * subject.job.limits.timeout)
        exports = tuple(sorted(self.needed))
        job = replace(subject.job, trials=(trial,), limits=limits, exports=exports)
        (outcome,) = self.supervisor.supervise(job)
        if outcome.status is not Status.DONE:
            message = outcome.failure.message if outcome.failure else outcome.status.value
            raise InapplicableError(f"{trial.algorithm} failed: {message}")
        source = outcome_path(self.supervisor.folder, trial.id)
        stored = self.store.record(self.run_id, outcome, source)
        self.outcomes[trial.id] = stored
        for reason in self.registry.announce(stored):
            self.progress.message(f"  {reason}")
        return stored

    def facts(self, trial: Trial) -> Mapping[str, Any]:
        """Return the facts that the worker recorded about a finished trial."""
        return self.outcomes[trial.id].facts

    def truth(self, subject: Subject) -> np.ndarray | None:
        """Return the noise-free target of every row, or None if it is unknown."""
        ref = subject.job.dataset
        if ref.name not in self.truths:
            self.truths[ref.name] = truth_of(ref, self.registry)
        return self.truths[ref.name]

    def probe(
        self, subject: Subject, fits: Sequence[tuple[Trial, JSON]], calls: int = 0
    ) -> list[Probe]:
        """Fit trials of a subject in a separate worker."""
        return probe(self.supervisor, subject.job, fits, calls)


def answered(answers: Iterable[JSON]) -> dict[str, JSON]:
    """Return the newest answer to each question by its id, without those that failed."""
    return {str(data["id"]): data for data in answers if not data["reason"]}


def _refused(outcome: Outcome, name: str) -> str:
    """Return the recorded reason why an artifact was not written; empty if there is none."""
    head = f"{name} not exported: "
    notes = [str(note) for note in outcome.facts.get("notes", ())]
    reasons = (note.removeprefix(head) for note in notes if note.startswith(head))
    # drop the class name of the exception
    return next((note.partition(": ")[2] or note for note in reasons), "")
