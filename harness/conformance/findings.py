"""Checks and their findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "failed", "skipped", "noted"]


class BrokenError(Exception):
    """Violation of the plugin contract."""


class NotApplicableError(Exception):
    """Check that does not apply to this plugin; the message gives the reason."""


class NoteError(Exception):
    """Note for the user without a violation."""


@dataclass(frozen=True)
class Finding:
    """Result of one check of a registered object; for an algorithm, on one task."""

    check: str
    task: str  # "" if the check is not about a task
    state: State
    message: str = ""


@dataclass(frozen=True)
class Check:
    """Rule of the contract, and the function that checks it and raises one of the errors above."""

    name: str
    function: Callable[[Any], None]
    per_task: bool
    kind: str = "algorithm"

    def run(self, subject: Any) -> Finding:
        """Run the check; any exception of the plugin is a failure."""
        task = subject.task.value if self.per_task else ""
        try:
            self.function(subject)
        except BrokenError as error:
            return Finding(self.name, task, "failed", str(error))
        except NotApplicableError as error:
            return Finding(self.name, task, "skipped", str(error))
        except NoteError as error:
            return Finding(self.name, task, "noted", str(error))
        except Exception as error:  # noqa: BLE001 - the plugin may raise anything
            return Finding(self.name, task, "failed", f"{type(error).__name__}: {error}")
        return Finding(self.name, task, "ok")


CHECKS: list[Check] = []


def contract_check(
    name: str, *, kind: str = "algorithm", per_task: bool | None = None
) -> Callable[[Callable[[Any], None]], Check]:
    """Register a function as a check.

    Parameters
    ----------
    name
        The rule, as a sentence.
    kind
        Kind of the checked object. The function gets a `Subject` for an algorithm, else a
        `RegisteredObject`.
    per_task
        Whether it is run on each task; by default for algorithms only.
    """

    def register(function: Callable[[Any], None]) -> Check:
        each = kind == "algorithm" if per_task is None else per_task
        check = Check(name, function, each, kind)
        CHECKS.append(check)
        return check

    return register


def require(kept: bool, message: str) -> None:
    """Raise BrokenError if ``kept`` is False."""
    if not kept:
        raise BrokenError(message)
