"""Progress events of a run; the base class ignores them."""

from __future__ import annotations

from harness.core.model import Duel, DuelOutcome, Outcome


class Progress:
    """Receiver of the events of a run; subclasses display them in a terminal or a notebook."""

    def message(self, text: str) -> None:
        """Handle a message: a wait, a note, a warning."""

    def stage(self, name: str, total: int) -> None:
        """Start a stage (compile, trials, duels) of ``total`` steps."""

    def step(self, label: str) -> None:
        """Count one finished step of the stage."""

    def trial(self, outcome: Outcome) -> None:
        """Handle a new outcome, after it was stored."""

    def duel_started(self, duel: Duel) -> None:
        """Handle the start of a duel."""

    def duel(self, outcome: DuelOutcome) -> None:
        """Handle the outcome of a duel, after it was stored."""

    def close(self) -> None:
        """End the display."""
