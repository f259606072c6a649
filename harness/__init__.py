"""A harness that compares implementations of tree ensembles, and says so with evidence.

The public names below are loaded when first used, so that ``import harness`` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api import duel, parity, run
    from harness.core.errors import HarnessError
    from harness.core.model import (
        ALL_TASKS,
        CLASSIFICATION,
        Accepts,
        Algorithm,
        Argument,
        Dataset,
        Executor,
        Metric,
        Outcome,
        Predicted,
        ReportWriter,
        Section,
        Spec,
        Table,
        Task,
    )
    from harness.plugins.adapters import EstimatorAdapter, estimator_adapter, spread
    from harness.plugins.hookspecs import hookimpl
    from harness.trees.ensemble import LinearLeaves, Missing, Tree, TreeEnsemble
    from harness.trees.sparse_check import check_sparse

__version__ = "0.1.0"
# Of hookspecs.py and the nouns in it: rises when a plugin that worked would no longer work.
__plugin_api__ = 1
_HOME = {
    "duel": "api",
    "parity": "api",
    "run": "api",
    "EstimatorAdapter": "plugins.adapters",
    "estimator_adapter": "plugins.adapters",
    "HarnessError": "core.errors",
    "hookimpl": "plugins.hookspecs",
    "LinearLeaves": "trees.ensemble",
    "Missing": "trees.ensemble",
    "Tree": "trees.ensemble",
    "TreeEnsemble": "trees.ensemble",
    "check_sparse": "trees.sparse_check",
    "spread": "plugins.adapters",
}
__all__ = [
    "ALL_TASKS",
    "CLASSIFICATION",
    "Accepts",
    "Algorithm",
    "Argument",
    "Dataset",
    "EstimatorAdapter",
    "Executor",
    "HarnessError",
    "LinearLeaves",
    "Metric",
    "Missing",
    "Outcome",
    "Predicted",
    "ReportWriter",
    "Section",
    "Spec",
    "Table",
    "Task",
    "Tree",
    "TreeEnsemble",
    "check_sparse",
    "duel",
    "estimator_adapter",
    "hookimpl",
    "parity",
    "run",
    "spread",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(importlib.import_module(f"harness.{_HOME.get(name, 'core.model')}"), name)
