"""The answer of a gate against a revision: as text, as Markdown and as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from harness.core.model import JSON, to_json
from harness.gate.decision import states
from harness.gate.run import Answer
from harness.reporting import Gates

MARKUP = frozenset("\\`*_{}[]<>#|~@&$")
WORDS = {"pass": "✅ pass", "fail": "❌ fail", "undecided": "❔ undecided"}


def gates_of(answer: Answer) -> Gates:
    """Return the decisions in the form in which gates are printed."""
    return Gates(answer.run, answer.decisions, answer.state)


def answer_lines(answer: Answer) -> list[str]:
    """Return the answer in lines: skipped algorithms with reasons, notes, and the verdict."""
    lines = [f"not compared: {names}: {why}" for why, names in _grouped(answer.changes.skipped)]
    lines += [change.sentence for change in answer.instructions]
    return [*lines, *(f"note: {note}" for note in answer.notes), _sentence(answer)]


def answer_markdown(answer: Answer) -> str:
    """Return the answer as a comment for a pull request."""
    title = f"### Gate against {plain_markdown(answer.base)}: {WORDS[answer.state]}"
    parts = [title, plain_markdown(_sentence(answer))]
    if answer.decisions:
        table = gates_of(answer).markdown().partition("\n\n")[2].strip()
        parts.append(table)
        parts.append(
            "Speed and memory are the base's over the head's: above 1, the head is better."
        )
    parts += [plain_markdown(change.sentence) for change in answer.instructions]
    parts += [f"_{plain_markdown(note)}_" for note in answer.notes]
    if skipped := _grouped(answer.changes.skipped):
        lines = (f"- {plain_markdown(names)}: {plain_markdown(why)}" for why, names in skipped)
        items = "\n".join(lines)
        summary = f"<summary>Not compared: {len(answer.changes.skipped)}</summary>"
        parts.append(f"<details>{summary}\n\n{items}\n\n</details>")
    return "\n\n".join(parts) + "\n"


def answer_json(answer: Answer) -> JSON:
    """Return the answer as JSON data."""
    return {
        **gates_of(answer).to_json(),
        "base": answer.base,
        "head": answer.head,
        "compared": dict(answer.changes.chosen),
        "skipped": dict(answer.changes.skipped),
        "notes": list(answer.notes),
        "instructions": [to_json(change) for change in answer.instructions],
    }


def _sentence(answer: Answer) -> str:
    """Return a sentence that says what was compared and how it ended."""
    sides = f"{answer.head} against {answer.base}"
    if not answer.decisions:
        return f"{sides}: nothing to compare"
    counts = states(answer.decisions)
    numbers = ", ".join(f"{n} {state}" for state, n in counts.items() if n)
    names = ", ".join(answer.changes.chosen) or "nothing"
    return f"{sides}: compared {names}: {numbers}"


def _grouped(skipped: Mapping[str, str]) -> list[tuple[str, str]]:
    """Group the names of skipped algorithms by reason."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name, why in skipped.items():
        by_reason[why].append(name)
    return [(why, ", ".join(names)) for why, names in by_reason.items()]


def plain_markdown(text: str) -> str:
    """Return a text on one line, with the characters of Markdown escaped."""
    return " ".join("".join(f"\\{c}" if c in MARKUP else c for c in text).split())
