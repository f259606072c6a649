"""What a check finds, and how it says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "failed", "skipped", "noted"]


class BrokenError(Exception):
    """A promise of the contract is not kept; the message says which, in the author's words."""


class NotApplicableError(Exception):
    """The check asks nothing of this plugin; the message says why."""


class NoteError(Exception):
    """Nothing is broken, but a user should know."""


@dataclass(frozen=True)
class Finding:
    """What one check found of one thing that a plugin registers, of an algorithm on one task."""

    check: str
    task: str  # "" where the check is about the whole declaration
    state: State
    message: str = ""


@dataclass(frozen=True)
class Check:
    """A promise, and the function that tries it: it returns, or raises one of the above."""

    name: str
    function: Callable[[Any], None]
    per_task: bool
    kind: str = "algorithm"

    def run(self, subject: Any) -> Finding:
        """Try the promise; whatever the plugin raises is a finding."""
        task = subject.task.value if self.per_task else ""
        try:
            self.function(subject)
        except BrokenError as error:
            return Finding(self.name, task, "failed", str(error))
        except NotApplicableError as error:
            return Finding(self.name, task, "skipped", str(error))
        except NoteError as error:
            return Finding(self.name, task, "noted", str(error))
        except Exception as error:  # noqa: BLE001 - the plugin's own
            return Finding(self.name, task, "failed", f"{type(error).__name__}: {error}")
        return Finding(self.name, task, "ok")


CHECKS: list[Check] = []


def promise(
    name: str, *, kind: str = "algorithm", per_task: bool | None = None
) -> Callable[[Callable[[Any], None]], Check]:
    """Register a function as the check of a promise.

    Parameters
    ----------
    name
        The promise, as a sentence.
    kind
        Of what is checked. The function is given a `Subject` of an algorithm, else a `Held`.
    per_task
        Whether it is tried on each task; by default of an algorithm only.
    """

    def register(function: Callable[[Any], None]) -> Check:
        each = kind == "algorithm" if per_task is None else per_task
        check = Check(name, function, each, kind)
        CHECKS.append(check)
        return check

    return register


def demand(kept: bool, message: str) -> None:
    """Raise where a promise is not kept."""
    if not kept:
        raise BrokenError(message)
