"""Check that an algorithm reaches the parity levels that it claims."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness import reporting
from harness.analysis.run_view import Parity
from harness.config.experiment import parse_experiment
from harness.conformance.findings import Finding
from harness.core.model import Task
from harness.core.parity_level import MEANING, reaches
from harness.plugins.registry import Registry
from harness.runs.parity import run_parity

CHECK = "it reaches the claimed parity level"
DATASETS = {Task.BINARY: "breast_cancer", Task.MULTICLASS: "wine", Task.REGRESSION: "diabetes"}
FOLDS = 2
ACCURACY = "L0"  # needs many splits, so it is left to `harness run`


def check_claims(registry: Registry, name: str, files: Sequence[Path] = ()) -> Iterator[Finding]:
    """Check each claimed parity level: compare both algorithms' trees on small real datasets."""
    claims = registry.algorithm(name).parity_levels
    if not claims:
        yield Finding(CHECK, "", "skipped", "it claims no parity level")
    for mode in claims:
        yield from check_claim(registry, name, mode, files)


def check_claim(
    registry: Registry, name: str, mode: str, files: Sequence[Path] = ()
) -> Iterator[Finding]:
    """Check the parity level claimed for one mode."""
    algorithm = registry.algorithm(name)
    claimed = algorithm.parity_levels[mode]
    if algorithm.reference is None:
        message = f"it claims {claimed} ({MEANING[claimed]}), but names no reference"
        yield Finding(CHECK, mode, "failed", message)
    elif claimed == ACCURACY:
        message = f"{claimed} ({MEANING[claimed]}) is checked by `harness run` only"
        yield Finding(CHECK, mode, "skipped", message)
    else:
        for parity in _compare_trees(registry, name, algorithm.reference, mode, files):
            yield _judge(parity, mode, claimed)


def _compare_trees(
    registry: Registry, name: str, reference: str, mode: str, files: Sequence[Path]
) -> tuple[Parity, ...]:
    algorithm = registry.algorithm(name)
    params = {} if mode == "default" else {"parity": mode}
    experiment = parse_experiment(
        {
            "name": "claims",
            "algorithms": [{"name": name, "params": params}, {"name": reference}],
            "datasets": [DATASETS[task] for task in Task if task in algorithm.tasks],
            "capacity": {"trees": 5} if "trees" in algorithm.capacity else {},
            "splits": {"folds": FOLDS},
            "verdicts": {"pairs": [[name, reference]]},
        },
        "the check of a claimed parity level",
    )
    with tempfile.TemporaryDirectory(prefix="harness-claims-") as folder:
        plugin_files = tuple(str(Path(f).resolve()) for f in files)
        run = run_parity(experiment, registry, results=Path(folder), plugin_files=plugin_files)
        return reporting.view(Path(folder), run, registry).parity


def _judge(parity: Parity, mode: str, claimed: str) -> Finding:
    where = f"{mode}, {parity.dataset}"
    if reaches(parity.parity_level, claimed):
        return Finding(CHECK, where, "ok", f"{parity.parity_level} of {claimed}")
    message = f"it claims {claimed} ({MEANING[claimed]}), but is {MEANING[parity.parity_level]}"
    differences = parity.comparison.differences if parity.comparison else ()
    why = differences[0].sentence if differences else parity.reason
    return Finding(CHECK, where, "failed", f"{message}. {why}".rstrip())
