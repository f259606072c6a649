"""What a diagnostic is asked about, and where its answer comes from."""

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
    """One algorithm with its params on one dataset: the trials of a plan that are about it."""

    job: Job
    trials: tuple[Trial, ...]

    @property
    def first(self) -> Trial:
        """Return the trial of the first split and seed."""
        return self.trials[0]

    @property
    def every_row_once(self) -> list[Trial]:
        """Return the trials of the first repeat with the first seed: no test row is in two."""

        def drawn(trial: Trial) -> tuple[int, int, int]:
            return trial.seed, trial.split.repeat, trial.split.train_rows

        return [t for t in self.trials if drawn(t) == drawn(self.first)]

    @property
    def sizes(self) -> list[int]:
        """Return the sizes of the drawn training sets, in order; none where folds train."""
        return list(dict.fromkeys(t.split.train_rows for t in self.trials if t.split.train_rows))

    def of_size(self, rows: int) -> list[Trial]:
        """Return the trials on training sets of so many rows, with the first seed."""
        wanted = (self.first.seed, rows)
        return [t for t in self.trials if (t.seed, t.split.train_rows) == wanted]


@dataclass(frozen=True)
class Question:
    """One diagnostic of one subject, or of two."""

    name: str
    subject: Subject
    other: Subject | None = None
    about: str = ""  # the axis of a scaling, the training rows of a decomposition


class Evidence(Protocol):
    """Where answers come from."""

    asked: Diagnostics

    def algorithm(self, subject: Subject) -> Algorithm:
        """Return the declaration of a subject's algorithm."""

    def arrays(self, trial: Trial, name: str, subject: Subject) -> Arrays:
        """Return an artifact of a trial; raise InapplicableError where there is none."""

    def facts(self, trial: Trial) -> Mapping[str, Any]:
        """Return what the worker found of a trial that is done."""

    def truth(self, subject: Subject) -> np.ndarray | None:
        """Return the target of every row without noise, where it is known."""

    def probe(
        self, subject: Subject, fits: Sequence[tuple[Trial, JSON]], calls: int = 0
    ) -> list[Probe]:
        """Fit trials of a subject in a worker of its own, by `probe`."""
