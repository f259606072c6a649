"""Fit one trial in a worker of its own, varied if asked for, and keep nothing in the store.

What a varied trial predicts is not what the trial predicts: so its files go to a folder that no
later run looks into, and only the arrays come back.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.model import JSON, Job, Trial, to_json
from harness.outcomes import outcome_path, read_outcome
from harness.session import Session
from harness.supervise import Supervisor

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
    supervisor: Supervisor,
    job: Job,
    trial: Trial,
    variation: Mapping[str, Any] | None = None,
    calls: int = 0,
) -> Probe:
    """Fit a trial in a new worker.

    Parameters
    ----------
    trial
        May have other params or threads than the job's own trials.
    variation
        As :func:`harness.worker.vary.vary` takes it.
    calls
        Timed calls after the cold one.

    Raises
    ------
    SessionError
        Where anything goes wrong in the worker.
    """
    one = replace(job, trials=(trial,), threads=trial.threads)
    with supervisor.open_session(one) as session, tempfile.TemporaryDirectory() as folder:
        session.hello(one, supervisor.start_timeout)
        session.load(one.dataset, supervisor.load_timeout)
        limit = one.limits.timeout
        ready = session.ask("prepare", limit, trial=to_json(trial), variation=dict(variation or {}))
        cold = session.ask("fit", limit)["samples"][-1]["wall"]
        seconds = _timed(session, limit, cold, calls) if calls else ()
        session.ask("predict", limit)
        path = outcome_path(Path(folder), trial.id)
        session.ask("finish", limit, outcome=str(path), arrays=folder)
        arrays = read_arrays(read_outcome(path).arrays["predictions"])
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
