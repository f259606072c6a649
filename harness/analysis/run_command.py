"""What a stored run was asked for by: which of the commands made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Command = Literal["run", "duel", "parity", "gate"]


def command_of(run: Mapping[str, Any]) -> Command:
    """Return the command that a stored run was made by."""
    config = run.get("config") or {}
    if "against" in config:
        return "gate"
    # Of runs stored before the key was, the name tells.
    named = {"duel": "duel", "parity": "parity"}.get(str(run.get("name")), "run")
    found: Command = config.get("command", named)
    return found
