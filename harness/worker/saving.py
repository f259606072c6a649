"""Train a trial's algorithm on all rows of its table, and save the model with its preparation."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np

from harness.core.errors import HarnessError
from harness.core.model import JSON, Algorithm, Table, Trial
from harness.data.preparation import fit_preparation
from harness.worker.facts import versions
from harness.worker.prepared_trial import query_sizes, seed_globals, spec_of, weights_of
from harness.worker.saved_model import SavedModel
from harness.worker.tuning import build_adapter, inner_table


def train_and_save(algorithm: Algorithm, trial: Trial, table: Table, path: Path) -> JSON:
    """Write a `SavedModel` trained on all rows; return the numbers of rows and bytes.

    Raises
    ------
    HarnessError
        If the table is sparse, or the model cannot be pickled.
    """
    if not hasattr(table.X, "dtypes"):
        raise HarnessError("a model of sparse data cannot be saved; use the library's own format")
    rows = np.arange(len(table.y))
    prepared = fit_preparation(trial.preparation, table, rows)
    weight = weights_of(trial, table, rows)
    inner = inner_table(trial, table, rows)
    adapter = build_adapter(algorithm, spec_of(trial, table, prepared.categorical), inner)
    seed_globals(trial.seed)
    queries = query_sizes(trial.task, table, rows)
    adapter.fit(adapter.prepare(prepared.apply(table.X), table.y, weight, *queries))
    model = SavedModel(
        algorithm=trial.algorithm,
        params=dict(trial.params),
        task=trial.task,
        classes=table.classes,
        schema=table.X.iloc[:0].copy(),
        preparation=replace(prepared, notes=()),
        adapter=adapter,
        versions=versions(algorithm.libraries),
    )
    try:
        body = pickle.dumps(model, protocol=5)
    except Exception as error:
        raise HarnessError(f"the model of {trial.algorithm} cannot be saved: {error}") from error
    path.write_bytes(body)
    return {"rows": len(rows), "bytes": len(body)}
