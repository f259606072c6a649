"""The command that made a stored run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Command = Literal["run", "duel", "parity", "gate", "serving", "bisect"]


def command_of(run: Mapping[str, Any]) -> Command:
    """Return the command that made a stored run."""
    config = run.get("config") or {}
    if "bisect" in config:
        return "bisect"
    if "against" in config:
        return "gate"
    # Older runs have no such key; their name determines the command.
    named = {"duel": "duel", "parity": "parity"}.get(str(run.get("name")), "run")
    command: Command = config.get("command", named)
    return command
