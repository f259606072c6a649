"""Train the recommended algorithm of a stored run on all rows, and save it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness import reporting
from harness.analysis.recommendation import Answer, Standing, answers_of
from harness.analysis.run_view import RunView
from harness.core.errors import ConfigError
from harness.core.ids import canonical
from harness.core.model import JSON, Job, Trial, to_json
from harness.execution.session import SessionError
from harness.execution.supervisor import Supervisor
from harness.plugins.registry import Registry
from harness.runs.run import plan_request, request_of


@dataclass(frozen=True)
class Best:
    """The recommended algorithm of a run on one dataset."""

    view: RunView
    answer: Answer

    @property
    def standing(self) -> Standing:
        """Return its measurements."""
        return self.answer.standing(self.answer.recommended)


def best_of(results: Path, run: str, registry: Registry, dataset: str = "") -> Best:
    """Return the recommendation of a stored run.

    Raises
    ------
    ConfigError
        If it has none, or several datasets and none is named.
    """
    view = reporting.view(results, run, registry)
    answers = [a for a in answers_of(view) if a.recommended]
    names = [a.dataset for a in answers]
    if dataset:
        answers = [a for a in answers if a.dataset == dataset]
    if len(answers) == 1:
        return Best(view, answers[0])
    run_id = view.run["id"]
    if not names or not answers:
        of = f" on {dataset}" if dataset else ""
        choices = f"; it has {', '.join(names)}" if names else ""
        raise ConfigError(f"run {run_id} recommends no algorithm{of}{choices}")
    raise ConfigError(f"run {run_id} has several datasets; add --dataset: {', '.join(names)}")


def save_best(best: Best, registry: Registry, path: Path, plugins: Sequence[str] = ()) -> JSON:
    """Train the recommended algorithm on all rows, write it, and return its rows and bytes."""
    job, trial = _job_of(best, registry, plugins)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="harness-best-") as folder:
        supervisor = Supervisor(Path(folder))
        try:
            with supervisor.open_session(replace(job, trials=(trial,))) as session:
                session.hello(job, supervisor.start_timeout)
                session.load(job.dataset, supervisor.load_timeout)
                limit = 10 * max(job.limits.timeout, 60.0)
                written = session.ask(
                    "save", limit, trial=to_json(trial), path=str(path.absolute())
                )
        except SessionError as error:
            raise ConfigError(f"the model was not saved: {error}") from error
        finally:
            supervisor.close()
    return {key: written[key] for key in ("rows", "bytes")}


def _job_of(best: Best, registry: Registry, plugins: Sequence[str]) -> tuple[Job, Trial]:
    """Return the job and the trial of the recommended algorithm, as planned by the current code."""
    request = request_of(dict(best.view.run))
    files = tuple(dict.fromkeys([*request.plugin_files, *plugins]))
    plan = plan_request(replace(request, plugin_files=files), registry)
    standing = best.standing
    for job in plan.jobs:
        for trial in job.trials:
            same = trial.dataset == best.answer.dataset and trial.algorithm == standing.algorithm
            if same and canonical(trial.params) == canonical(standing.params):
                return job, trial
    raise ConfigError(
        f"{standing.algorithm} with these params is not planned by the current code: run it again"
    )
