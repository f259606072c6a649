"""Child process of `supervised`: run checks and write each finding as a line of JSON.

``python -m harness.conformance KIND NAME FIRST OUT [FILE …]`` runs the checks from number FIRST on.
A line with the number and name of a check is written before it runs, so that the parent knows which
one ran when this process died. A last line marks the end, because threads of the plugin may keep
this process from ending.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from dataclasses import asdict
from typing import Any, TextIO

from harness.conformance.checks import cases
from harness.conformance.subject import Subject
from harness.plugins.registry import load_registry


def main(kind: str, name: str, first: str, out: str, *files: str) -> None:
    """Write the findings on a plugin's object to a file."""
    faulthandler.enable()
    registry = load_registry(files)
    with open(out, "a", encoding="utf-8") as file:  # noqa: PTH123 - flushed line by line
        for number, (check, subject) in enumerate(cases(registry, name, kind)):
            if number < int(first):
                continue
            task = subject.task.value if isinstance(subject, Subject) and check.per_task else ""
            write(file, {"begins": number, "check": check.name, "task": task})
            write(file, {"found": asdict(check.run(subject))})
        write(file, {"done": True})


def write(file: TextIO, line: dict[str, Any]) -> None:
    """Write a line and flush it."""
    file.write(json.dumps(line) + "\n")
    file.flush()


main(*sys.argv[1:])
