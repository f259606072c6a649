"""Gates and parity levels in sentences, and parity levels as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.analysis.gates import Decision
from harness.analysis.run_view import Parity
from harness.core.model import JSON, to_json
from harness.core.parity_level import PARITY_LEVELS
from reports.text.format import listing, plural, short


def gate_sentence(decisions: Sequence[Decision]) -> str:
    """Return the number of gates by state, such as "3 hold and 1 undecided"."""
    counts = Counter(d.state for d in decisions)
    words = {"pass": "hold", "fail": "fail", "undecided": "undecided"}
    parts = [
        f"{number} {word}{'s' if number == 1 and state != 'undecided' else ''}"
        for state, word in words.items()
        if (number := counts[state])
    ]
    return f"Gates: {listing(parts) or 'none'}."


def mode_of(parity: Parity) -> str:
    """Return the mode that the first side ran in, or "" for its default one."""
    return str(parity.params[0].get("parity") or "")


def parity_sentences(parities: Sequence[Parity]) -> list[str]:
    """Return one sentence for each pair and mode: the number of datasets by parity level."""
    sentences = []
    for key in dict.fromkeys((p.algorithm, mode_of(p), p.reference) for p in parities):
        same = (p for p in parities if (p.algorithm, mode_of(p), p.reference) == key)
        levels = Counter(p.parity_level for p in same)
        counts = [
            f"{level or 'no parity level'} on {plural(levels[level], 'dataset')}"
            for level in PARITY_LEVELS
            if levels[level]
        ]
        algorithm, mode, reference = (short(text, 40) for text in key)
        name = f"{algorithm} in mode {mode}" if mode else algorithm
        sentences.append(f"Trees of {name} compared with those of {reference}: {listing(counts)}.")
    return sentences


def parity_json(parities: Sequence[Parity]) -> list[JSON]:
    """Return the parity level of each pair on each dataset, with the differences in words."""
    documents = []
    for parity in parities:
        comparison = parity.comparison
        parted = [d.sentence for d in comparison.differences] if comparison else []
        whole = to_json(parity)
        del whole["comparison"]
        documents.append({**whole, "differences": parted})
    return documents
