"""Fit trials in a worker of their own, varied if asked for, and keep nothing in the store.

What a varied trial predicts is not what the trial predicts: so its files go to a folder that no
later run looks into, and only the arrays come back.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.core.errors import HarnessError
from harness.core.model import JSON, Failure, Job, Trial, to_json
from harness.core.outcome_files import outcome_path, read_outcome
from harness.execution.session import DiedError, Session
from harness.execution.supervisor import Supervisor

LEAST_SECONDS = 0.02  # of one timed sample: shorter calls are repeated, and the mean counts
MOST_REPEATS = 50


@dataclass(frozen=True, eq=False)
class Probe:
    """What came of a fit."""

    output: np.ndarray  # predictions of the test rows
    rows: int  # that were trained on
    columns: int  # after preparation
    seconds: tuple[float, ...]  # of each timed call: native form and fit together


def probe(
    supervisor: Supervisor, job: Job, fits: Sequence[tuple[Trial, JSON]], calls: int = 0
) -> list[Probe]:
    """Fit trials one after another in one new worker.

    Parameters
    ----------
    fits
        Trials with the variation of each, as `worker.variations.vary` takes it. They may
        have other params or threads than the job's own trials, but all have the same threads.
    calls
        Timed calls of each, after the cold one.

    Raises
    ------
    SessionError
        Where anything goes wrong in the worker.
    """
    trials = tuple(trial for trial, _ in fits)
    one = replace(job, trials=trials, threads=trials[0].threads)
    with supervisor.open_session(one) as session:
        session.memory = one.limits.memory
        session.hello(one, supervisor.start_timeout)
        session.load(one.dataset, supervisor.load_timeout)
        return [_fitted(session, one.limits.timeout, *fit, calls) for fit in fits]


def _fitted(session: Session, limit: float, trial: Trial, variation: JSON, calls: int) -> Probe:
    ready = session.ask("prepare", limit, trial=to_json(trial), variation=variation)
    cold = _wall(session.ask("fit", limit))
    seconds = _timed(session, limit, cold, calls)
    session.ask("predict", limit)
    with tempfile.TemporaryDirectory() as folder:
        path = outcome_path(Path(folder), trial.id)
        session.ask("finish", limit, outcome=str(path), arrays=folder)
        try:
            arrays = read_arrays(read_outcome(path).arrays["predictions"])
        except HarnessError as error:  # the sources were changed meanwhile, say
            raise DiedError(Failure("outcome", str(error))) from error
    return Probe(arrays["output"], ready["train_rows"], ready["columns"], seconds)


def _timed(session: Session, limit: float, cold: float, calls: int) -> tuple[float, ...]:
    """Return seconds of the native form and the fit, each a mean of repeats where it is short."""
    repeats = max(1, min(MOST_REPEATS, math.ceil(LEAST_SECONDS / max(cold, 1e-9))))
    found = []
    for _ in range(calls):
        walls = [_wall(session.ask(do, limit, repeats=repeats)) for do in ("native", "fit")]
        found.append(sum(walls))
    return tuple(found)


def _wall(reply: JSON) -> float:
    return float(reply["samples"][-1]["wall"])


def read_arrays(path: str) -> dict[str, np.ndarray]:
    """Return the arrays that a worker of ours wrote; nothing in them is ever unpickled."""
    with np.load(path, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
