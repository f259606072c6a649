"""Fit trials in a separate worker, optionally varied, without storing them.

The predictions of a varied trial differ from those of the trial. The worker therefore writes to
a temporary folder that no later run reads, and only the arrays are returned.
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

MIN_SECONDS = 0.02  # of one timed sample; shorter calls are repeated and averaged
MAX_REPEATS = 50


@dataclass(frozen=True, eq=False)
class Probe:
    """Result of a fit."""

    output: np.ndarray  # predictions of the test rows
    rows: int  # training rows
    columns: int  # features after preparation
    seconds: tuple[float, ...]  # of each timed call: native form plus fit


def probe(
    supervisor: Supervisor, job: Job, fits: Sequence[tuple[Trial, JSON]], calls: int = 0
) -> list[Probe]:
    """Fit trials one after another in one new worker.

    Parameters
    ----------
    fits
        Trials, each with its variation as `worker.variations.vary` takes it. Params and threads
        may differ from the job's own trials, but all fits have the same threads.
    calls
        Timed calls of each trial after the first, cold one.

    Raises
    ------
    SessionError
        If anything fails in the worker.
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
        except HarnessError as error:  # e.g. the sources changed during the run
            raise DiedError(Failure("outcome", str(error))) from error
    return Probe(arrays["output"], ready["train_rows"], ready["columns"], seconds)


def _timed(session: Session, limit: float, cold: float, calls: int) -> tuple[float, ...]:
    """Return seconds of native form plus fit for each call; short calls are averaged."""
    repeats = max(1, min(MAX_REPEATS, math.ceil(MIN_SECONDS / max(cold, 1e-9))))
    totals = []
    for _ in range(calls):
        walls = [_wall(session.ask(do, limit, repeats=repeats)) for do in ("native", "fit")]
        totals.append(sum(walls))
    return tuple(totals)


def _wall(reply: JSON) -> float:
    return float(reply["samples"][-1]["wall"])


def read_arrays(path: str) -> dict[str, np.ndarray]:
    """Return the arrays that a worker wrote; pickled data is refused."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
