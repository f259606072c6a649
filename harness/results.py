"""Results of `harness.run`, `harness.duel` and `harness.parity`, read from the store."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from harness import notebook, reporting
from harness.analysis.recommendation import Answer, answer_text, answers_of
from harness.analysis.run_view import Accuracy, Parity, RunView, Speed
from harness.config.experiment import Experiment
from harness.core.model import JSON, DuelOutcome, Failure, Status
from harness.core.parity_level import MEANING, reaches
from harness.core.renamed import renamed
from harness.plugins.registry import Registry
from harness.runs.execute import Tally

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class StoredResult:
    """A run in the store.

    Attributes
    ----------
    run : str
        Its id.
    path : Path
        Its results folder.
    """

    run: str
    path: Path
    registry: Registry

    @cached_property
    def view(self) -> RunView:
        """The stored data of the run."""
        return reporting.view(self.path, self.run, self.registry)

    def report(self) -> Path:
        """Write the report, one HTML file that needs no network, and return its path."""
        return reporting.write_run_report(self.path, self.run, self.registry)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of run {self.run} in {self.path}>"


@dataclass(frozen=True, repr=False)
class RunResult(StoredResult):
    """Result of a run."""

    experiment: Experiment
    tally: Tally

    @property
    def verdicts(self) -> tuple[Accuracy, ...]:
        """Accuracy verdicts of each pair on each dataset, and pooled (``dataset`` is "")."""
        return self.view.accuracy

    @property
    def speeds(self) -> tuple[Speed, ...]:
        """Speed ratios of the run's duels."""
        return self.view.speed

    @property
    def parity(self) -> tuple[Parity, ...]:
        """Tree comparisons of each pair."""
        return self.view.parity

    @cached_property
    def answers(self) -> list[Answer]:
        """Leaderboard and recommendation of each dataset."""
        return answers_of(self.view)

    @cached_property
    def gates(self) -> reporting.Gates | None:
        """Decisions of the experiment's gates; None without gates."""
        if not self.experiment.gate:
            return None
        return reporting.gates(self.path, self.run, self.registry)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each outcome: cell, status, scores, seconds and peak memory."""
        import pandas as pd

        return pd.DataFrame(reporting.rows(self.path, self.run, self.registry))

    def _repr_html_(self) -> str:
        shown = answer_text(self.answers)
        return notebook.box(
            f"run {self.run}: {self.tally.sentence()}",
            notebook.table(shown.header, [list(row) for row in shown.rows]) if shown else "",
            notebook.lines([*shown.sentences, *shown.left_out]) if shown else "",
            notebook.table(*notebook.accuracy_rows(self.verdicts)),
            notebook.table(*notebook.speed_rows(self.speeds)),
            notebook.table(*notebook.parity_rows(self.parity)),
        )


@dataclass(frozen=True, repr=False)
class DuelResult(StoredResult):
    """Result of a duel."""

    outcome: DuelOutcome
    verdicts: tuple[Speed, ...]  # one for each phase, and "train": native form and fit together

    @property
    def status(self) -> Status:
        """Status of the duel."""
        return self.outcome.status

    @property
    def failure(self) -> Failure | None:
        """Reason why the duel did not finish, or None."""
        return self.outcome.failure

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each phase: median seconds of A and B, ratio B / A with interval."""
        import pandas as pd

        return pd.DataFrame([_speed_row(speed) for speed in self.verdicts])

    def _repr_html_(self) -> str:
        duel = self.outcome.duel
        names = f"{duel.a.name} (A) against {duel.b.name} (B)"
        notes = dict.fromkeys(note for speed in self.verdicts for note in speed.notes)
        if self.failure is not None:
            notes[f"{self.status}: {self.failure.message}"] = None
        return notebook.box(
            f"{names} on {duel.a.dataset.name}: time of B over time of A, above 1 A is faster",
            notebook.table(*notebook.speed_rows(self.verdicts)),
            notebook.lines(notes),
        )


@dataclass(frozen=True, repr=False)
class ParityResult(StoredResult):
    """Tree comparison of two algorithms, by dataset."""

    @property
    def verdicts(self) -> tuple[Parity, ...]:
        """Parity level of each dataset, and differences of the trees."""
        return self.view.parity

    @renamed(rung="parity_level")
    def reaches(self, parity_level: str) -> bool:
        """Return whether every dataset reaches a parity level: L0, L1, L2 or L3."""
        return all(reaches(parity.parity_level, parity_level.upper()) for parity in self.verdicts)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each dataset: level, its meaning, and the first difference."""
        import pandas as pd

        return pd.DataFrame([_parity_row(parity) for parity in self.verdicts])

    def _repr_html_(self) -> str:
        return notebook.box(
            f"parity, run {self.run}", notebook.table(*notebook.parity_rows(self.verdicts))
        )


def _speed_row(speed: Speed) -> JSON:
    return {
        "algorithm": speed.algorithm,
        "reference": speed.reference,
        "dataset": speed.dataset,
        "phase": speed.phase,
        "seconds_a": speed.seconds[0],
        "seconds_b": speed.seconds[1],
        "ratio": speed.ratio.value,
        "low": speed.ratio.low,
        "high": speed.ratio.high,
        "n": speed.ratio.n,
        "unit": speed.unit,
        "memory_ratio": speed.memory_ratio,
        "notes": "; ".join(speed.notes),
    }


def _parity_row(parity: Parity) -> JSON:
    differences = parity.comparison.differences if parity.comparison else ()
    return {
        "algorithm": parity.algorithm,
        "reference": parity.reference,
        "dataset": parity.dataset,
        "parity_level": parity.parity_level,
        "meaning": MEANING[parity.parity_level],
        "claimed": parity.claimed,
        "accuracy": parity.verdict,
        "splits": len(parity.splits),
        "preparation": parity.preparation,
        "reason": parity.reason,
        "difference": differences[0].sentence if differences else "",
    }
