"""What a run tells about itself while it goes; the base class listens in silence."""

from __future__ import annotations

from harness.core.model import Duel, DuelOutcome, Outcome


class Progress:
    """Receives the events of a run; a command line or a notebook draws them."""

    def message(self, text: str) -> None:
        """Take a line worth reading: a wait, a note, a warning."""

    def stage(self, name: str, total: int) -> None:
        """Enter a stage (compile, trials, duels) of that many steps."""

    def step(self, label: str) -> None:
        """Take note that one step of the stage is done."""

    def trial(self, outcome: Outcome) -> None:
        """Take note of a fresh outcome, after it was stored."""

    def duel_started(self, duel: Duel) -> None:
        """Take note of a duel that begins."""

    def duel(self, outcome: DuelOutcome) -> None:
        """Take note of a duel, after it was stored."""

    def close(self) -> None:
        """Stop drawing."""
