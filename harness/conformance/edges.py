"""Checks of edge cases: one row, one column, constant values, a saved model."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np

from harness.conformance.findings import (
    BrokenError,
    NotApplicableError,
    NoteError,
    contract_check,
    require,
)
from harness.conformance.subject import N_TRAIN, Subject
from harness.core.model import Task
from harness.plugins.adapters import EstimatorAdapter

CLOSE = 1e-6  # tolerance for float32 sums
MAX_NAMES = 4
UNWEIGHTED = "bin edges ignore sample weights, as declared"
OF_REPEATED_ROWS = (  # scikit-learn's checks that a row of weight 2 equals two rows
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
PROGRAMMING_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NameError,
    NotImplementedError,
    SystemError,
    TypeError,
)


def _fit(subject: Subject, X: np.ndarray, y: np.ndarray) -> Any:
    adapter = subject.algorithm.adapter(subject.spec())
    adapter.fit(adapter.prepare(X, y, None))
    return adapter


def _arrays(subject: Subject) -> tuple[np.ndarray, np.ndarray]:
    run = subject.plain
    return np.ascontiguousarray(run.train, np.float64), run.y


def _attempt(subject: Subject, X: np.ndarray, y: np.ndarray, what: str) -> Any:
    """Fit and return the adapter, or None if the data is rejected with a clear message.

    Programming errors and errors without a message break the contract.
    """
    try:
        return _fit(subject, X, y)
    except Exception as error:
        reason = str(error).strip()
        if isinstance(error, PROGRAMMING_ERRORS) or not reason:
            message = f"{what} raises {type(error).__name__}: {reason or 'no message'}"
            raise BrokenError(message) from error
        return None


@contract_check("one training row is enough, or rejected with a reason")
def one_row(subject: Subject) -> None:
    """Train on a table of one row."""
    X, y = _arrays(subject)
    adapter = _attempt(subject, X[:1], y[:1], "training on one row")
    if adapter is None:
        return
    subject.check_output(np.asarray(adapter.predict(X[:3])), rows=3)


@contract_check("one column is enough")
def one_column(subject: Subject) -> None:
    """Train on a table of one column."""
    X, y = _arrays(subject)
    first = np.ascontiguousarray(X[:, :1])
    subject.check_output(np.asarray(_fit(subject, first, y).predict(first)), rows=N_TRAIN)


@contract_check("constant columns predict one value, or are rejected with a reason")
def constant_columns(subject: Subject) -> None:
    """Train on constant columns; all predictions must be equal."""
    X, y = _arrays(subject)
    flat = np.ones_like(X)
    adapter = _attempt(subject, flat, y, "training on constant columns")
    if adapter is None:
        return
    output = np.asarray(adapter.predict(flat))
    subject.check_output(output, rows=N_TRAIN)
    require(bool((output == output[0]).all()), "equal rows are predicted differently")


@contract_check("a constant target is learned, or rejected with a reason")
def constant_target(subject: Subject) -> None:
    """Train on one target value or one class, which every prediction must return."""
    if subject.task is Task.RANKING:
        raise NotApplicableError("scores of a ranking have no level")
    X, y = _arrays(subject)
    target = np.full_like(y, 3) if not subject.n_classes else np.ones_like(y)
    adapter = _attempt(subject, X, target, "a constant target")
    if adapter is None:
        return
    output = np.asarray(adapter.predict(X))
    subject.check_output(output, rows=N_TRAIN)
    predicted = output[:, 1] if subject.n_classes else output
    if subject.n_classes:
        require(
            bool((predicted > 1 / subject.n_classes).all()),
            "the only class is not the most probable",
        )
    else:
        off = float(np.abs(predicted - 3).max())
        require(
            off <= 3 * CLOSE, f"the target is 3 everywhere, predictions are up to {off:.3g} off"
        )


@contract_check("a saved model predicts the same")
def saved(subject: Subject) -> None:
    """Pickle a scikit-learn estimator, and predict again."""
    run = subject.plain
    if not isinstance(run.adapter, EstimatorAdapter):
        raise NotApplicableError("it is not a scikit-learn estimator")
    loaded = copy.copy(run.adapter)
    loaded.model = pickle.loads(pickle.dumps(run.adapter.model))  # noqa: S301 - our own pickle
    predicted = np.asarray(loaded.predict(run.test))
    require(np.array_equal(predicted, run.output), "after pickling its predictions differ")


@contract_check("scikit-learn's check_estimator finds nothing")
def estimator(subject: Subject) -> None:
    """Run scikit-learn's own checks of an estimator, with few trees."""
    from sklearn.utils.estimator_checks import check_estimator

    if subject.task is Task.RANKING:
        raise NotApplicableError("scikit-learn's checks train without queries")
    adapter = subject.plain.adapter
    if not isinstance(adapter, EstimatorAdapter):
        raise NotApplicableError("it is not a scikit-learn estimator")
    model = adapter.build(subject.spec())
    if subject.task is Task.MULTICLASS and _same_as_binary(subject, model):
        raise NotApplicableError("the same estimator is checked on the binary task")
    declared = not subject.algorithm.accepts.weighted_bins
    results = check_estimator(
        model,
        on_fail=None,
        on_skip=None,
        expected_failed_checks=dict.fromkeys(OF_REPEATED_ROWS, UNWEIGHTED) if declared else None,
    )
    failed = [f"{r['check_name']} ({r['exception']})" for r in results if r["status"] == "failed"]
    more = f" and {len(failed) - MAX_NAMES} more" if len(failed) > MAX_NAMES else ""
    listed = "; ".join(name[:160] for name in failed[:MAX_NAMES])
    require(not failed, f"{len(failed)} of {len(results)} failed: {listed}{more}")
    if declared and not any(r["status"] == "xfail" for r in results):
        raise NoteError("weighted_bins=False is declared, but a row of weight 2 equals two rows")


def _same_as_binary(subject: Subject, model: Any) -> bool:
    """Return whether the binary task of an algorithm has the same estimator and params."""
    if Task.BINARY not in subject.algorithm.tasks:
        return False
    binary = dataclasses.replace(subject, task=Task.BINARY)
    adapter: Any = subject.algorithm.adapter(binary.spec())
    other = adapter.build(binary.spec())
    return type(other) is type(model) and repr(other) == repr(model)
