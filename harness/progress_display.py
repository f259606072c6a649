"""Show the progress of a run on stderr: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from harness.core.model import FAILURES, Duel, DuelOutcome, Outcome
from harness.core.progress import Progress
from harness.core.terminal_text import printable, say
from harness.core.units import show_duration

if TYPE_CHECKING:
    from rich.progress import TaskID

LINE_EVERY = 5.0  # seconds between plain lines
SHARE_FIRST = (
    0.05  # share of a stage before its remaining time is shown: the first trial loads libraries
)


def new_progress() -> Progress:
    """Return bars if stderr is a terminal, else lines."""
    return Bars() if sys.stderr.isatty() else Lines()


class Lines(Progress):
    """One line every few seconds, and one for each failure."""

    def __init__(self) -> None:
        self.name, self.total, self.done = "", 0, 0
        self.began = self.last = time.monotonic()

    def message(self, text: str) -> None:
        """Write the line."""
        say(text)

    def stage(self, name: str, total: int) -> None:
        """Print the name of the stage."""
        self.name, self.total, self.done = name, total, 0
        self.began = self.last = time.monotonic()
        say(f"{name}: {total}")

    def step(self, label: str) -> None:  # noqa: ARG002 - single steps are not printed
        """Count a step, and print the progress every few seconds."""
        self.done += 1
        now = time.monotonic()
        if now - self.last >= LINE_EVERY and self.done < self.total:
            self.last = now
            left = (now - self.began) / self.done * (self.total - self.done)
            early = self.done < SHARE_FIRST * self.total
            guess = "" if early else f", about {show_duration(left)} left"
            say(f"{self.name}: {self.done} of {self.total}{guess}")

    def trial(self, outcome: Outcome) -> None:
        """Count the trial, and print a failure."""
        self.step(outcome.trial.algorithm)
        if (line := failure_line(outcome)) is not None:
            say(line)

    def duel(self, outcome: DuelOutcome) -> None:
        """Count the duel, and print a failure."""
        self.step(duel_label(outcome.duel))
        if outcome.failure is not None:
            say(f"  {duel_label(outcome.duel)}: {outcome.failure.message}")


class Bars(Progress):
    """One bar for each stage, with the remaining time."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self.bars = RichProgress(
            TextColumn("{task.description:<9}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[now]}"),
            console=Console(stderr=True),
        )
        self.task: TaskID | None = None
        self.bars.start()

    def message(self, text: str) -> None:
        """Write the line above the bars."""
        self.bars.console.print(printable(text), markup=False, highlight=False)

    def stage(self, name: str, total: int) -> None:
        """Begin a bar."""
        self.task = self.bars.add_task(name, total=total, now="")

    def step(self, label: str) -> None:
        """Advance the bar."""
        if self.task is not None:
            self.bars.update(self.task, advance=1, now=printable(label))

    def trial(self, outcome: Outcome) -> None:
        """Advance the bar, and print a failure."""
        self.step(f"{outcome.trial.algorithm} on {outcome.trial.dataset}")
        if (line := failure_line(outcome)) is not None:
            self.message(line)

    def duel_started(self, duel: Duel) -> None:
        """Show the running duel."""
        if self.task is not None:
            self.bars.update(self.task, now=duel_label(duel))

    def duel(self, outcome: DuelOutcome) -> None:
        """Advance the bar, and print a failure."""
        self.step("")
        if outcome.failure is not None:
            self.message(f"  {duel_label(outcome.duel)}: {outcome.failure.message}")

    def close(self) -> None:
        """Stop drawing."""
        self.bars.stop()


def failure_line(outcome: Outcome) -> str | None:
    """Return a line about a failed trial, or None."""
    if outcome.status not in FAILURES:
        return None
    trial = outcome.trial
    why = outcome.failure.message if outcome.failure else ""
    return f"  {trial.algorithm} on {trial.dataset}: {outcome.status}: {printable(why)}"


def duel_label(duel: Duel) -> str:
    """Return "A against B on DATASET"."""
    a, b = (job.trials[0].algorithm for job in (duel.a, duel.b))
    return f"{a} against {b} on {duel.a.dataset.name}"
