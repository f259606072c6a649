"""The subject of a diagnostic question, and the interface that provides the data for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from harness.config.diagnostics import Diagnostics
from harness.core.model import JSON, Algorithm, Job, Trial
from harness.measurement.probe import Probe

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Subject:
    """One algorithm with its params on one dataset, and the plan's trials of it."""

    job: Job
    trials: tuple[Trial, ...]

    @property
    def first(self) -> Trial:
        """Return the trial of the first split and seed."""
        return self.trials[0]

    @property
    def every_row_once(self) -> list[Trial]:
        """Return the trials of the first repeat and seed, whose test rows do not overlap."""

        def drawn(trial: Trial) -> tuple[int, int, int]:
            return trial.seed, trial.split.repeat, trial.split.train_rows

        return [t for t in self.trials if drawn(t) == drawn(self.first)]

    @property
    def sizes(self) -> list[int]:
        """Return the sizes of the drawn training sets in order; empty if folds are used."""
        return list(dict.fromkeys(t.split.train_rows for t in self.trials if t.split.train_rows))

    def of_size(self, rows: int) -> list[Trial]:
        """Return the trials on training sets of this many rows, with the first seed."""
        key = (self.first.seed, rows)
        return [t for t in self.trials if (t.seed, t.split.train_rows) == key]


@dataclass(frozen=True)
class Question:
    """One diagnostic about one subject or a pair."""

    name: str
    subject: Subject
    other: Subject | None = None
    about: str = ""  # the axis of scaling, or the training rows of bias_variance


class Evidence(Protocol):
    """Interface that provides the data for answers."""

    config: Diagnostics

    def algorithm(self, subject: Subject) -> Algorithm:
        """Return the declaration of a subject's algorithm."""

    def arrays(self, trial: Trial, name: str, subject: Subject) -> Arrays:
        """Return an artifact of a trial; raise InapplicableError if it does not exist."""

    def facts(self, trial: Trial) -> Mapping[str, Any]:
        """Return the facts that the worker recorded about a finished trial."""

    def truth(self, subject: Subject) -> np.ndarray | None:
        """Return the noise-free target of every row, or None if it is unknown."""

    def probe(
        self, subject: Subject, fits: Sequence[tuple[Trial, JSON]], calls: int = 0
    ) -> list[Probe]:
        """Fit trials of a subject in a separate worker, see `probe`."""
