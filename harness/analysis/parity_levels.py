"""Compute parity levels from stored tree comparisons and the accuracy verdicts of their run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.analysis.difference import comparison_from_json
from harness.analysis.run_view import Accuracy, Parity
from harness.core.ids import canonical
from harness.core.model import JSON, Status
from harness.core.parity_level import lowest, parity_level_of

Stored = tuple[JSON, Status, JSON]  # description, status and result of a comparison


def parities(
    stored: Iterable[Stored], accuracy: Sequence[Accuracy], declared: Mapping[str, Any]
) -> tuple[Parity, ...]:
    """Return the parity of each pair on each dataset.

    Parameters
    ----------
    stored
        As :meth:`harness.store.Store.parities` returns it.
    accuracy
        The verdicts of the same run; they decide about L0 if the trees differ.
    declared
        Facts of the run's algorithms, among them the parity level that each claims.
    """
    return tuple(
        replace(_parity(what, result, accuracy, declared), status=status)
        for what, status, result in stored
    )


def _parity(
    what: JSON, result: JSON, accuracy: Sequence[Accuracy], declared: Mapping[str, Any]
) -> Parity:
    a, b = what["sides"]
    verdict = _verdict(what, accuracy)
    least = "accuracy" if verdict == "equivalent" else ""
    splits = {label: agreement or least for label, agreement in result["splits"].items()}
    agreements = [*splits.values(), *([least] if result["reason"] or not splits else [])]
    mode = str(a["params"].get("parity") or "default")
    claims = declared.get("algorithms", {}).get(a["algorithm"], {}).get("parity_levels", {})
    comparison = result["comparison"]
    return Parity(
        algorithm=a["algorithm"],
        reference=b["algorithm"],
        dataset=what["dataset"],
        params=(a["params"], b["params"]),
        preparation=what["preparation"],
        inputs=what["inputs"],
        parity_level=lowest(parity_level_of(what["inputs"], agreement) for agreement in agreements),
        claimed=claims.get(mode, ""),
        splits=splits,
        comparison=comparison_from_json(comparison) if comparison else None,
        verdict=verdict,
        reason=result["reason"],
        split=result["split"],
    )


def _verdict(what: JSON, accuracy: Sequence[Accuracy]) -> str:
    """Return the accuracy verdict of the same two sides, or ""."""
    a, b = what["sides"]
    key = (a["algorithm"], b["algorithm"], what["dataset"], what["preparation"])
    params = [canonical(side["params"]) for side in (a, b)]
    for judged in accuracy:
        names = (judged.algorithm, judged.reference, judged.dataset, judged.preparation)
        if names == key and [canonical(p) for p in judged.params] == params:
            return judged.verdict
    return ""
