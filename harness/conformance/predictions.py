"""Checks of training and prediction on numeric data."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from harness.conformance.findings import (
    BrokenError,
    NotApplicableError,
    NoteError,
    contract_check,
    require,
)
from harness.conformance.subject import N_TRAIN, Subject, exported, make_table, stages
from harness.core.model import Task
from harness.plugins.adapters import spread
from harness.trees.ensemble import TreeEnsemble

CLOSE = 1e-12
MIN_CORRELATION = 0.3  # correlation of the scores of a ranking with grades


@contract_check("predictions have the right shape, dtype and range")
def form(subject: Subject) -> None:
    """Check shape, dtype, range and sums of predictions."""
    subject.check_output(subject.plain.output)


@contract_check("predictions are better than a constant")
def better_than_constant(subject: Subject) -> None:
    """Compare the error with that of a constant; one column determines most of the target."""
    truth = make_table(subject.task).y[N_TRAIN:]
    if subject.task is Task.RANKING:
        agreement = float(np.corrcoef(subject.plain.output, truth)[0, 1])
        require(
            agreement > MIN_CORRELATION, f"the correlation of scores with grades is {agreement:.3g}"
        )
        return
    if subject.n_classes:
        truth = np.eye(subject.n_classes)[truth]
    loss = float(np.mean((subject.plain.output - truth) ** 2))
    constant = float(np.mean((truth - truth.mean(axis=0)) ** 2))
    require(
        loss < 0.98 * constant,
        f"its squared error is {loss:.4g}, that of a constant {constant:.4g}",
    )


@contract_check("the same seed gives the same bits")
def deterministic(subject: Subject) -> None:
    """Train a new adapter, and train again on the same training data."""
    again = subject.fit(make_table(subject.task))
    _same(again.output, subject.plain.output, "a second adapter with the same seed")
    again.adapter.fit(again.native)
    _same(np.asarray(again.adapter.predict(again.test)), subject.plain.output, "a second fit")


@contract_check("the number of threads does not change the result")
def thread_invariant(subject: Subject) -> None:
    """Train with one thread and with two; for a reference a difference is only noted."""
    output = subject.fit(make_table(subject.task), threads=2).output
    try:
        _same(output, subject.plain.output, "training with 2 threads")
    except BrokenError as error:
        if subject.algorithm.origin == "reference":
            raise NoteError(str(error)) from None
        raise


def _same(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    require(found.shape == expected.shape, f"{what} predicts another shape, {found.shape}")
    rows = np.flatnonzero((found != expected).reshape(len(found), -1).any(axis=1))
    if len(rows):
        off = float(np.abs(found - expected).max())
        raise BrokenError(f"{what} predicts {len(rows)} of {len(found)} rows up to {off:.3g} off")


@contract_check("nothing is printed")
def silent(subject: Subject) -> None:
    """Capture what Python and compiled code write to stdout and stderr."""
    with captured() as printed:
        subject.fit(make_table(subject.task))
    require(not printed, f"it printed {printed[:1]!r}")


@contextmanager
def captured() -> Iterator[list[str]]:
    """Capture what is written to the file descriptors 1 and 2, as one text."""
    printed: list[str] = []
    with tempfile.TemporaryFile() as file:
        kept = [os.dup(1), os.dup(2)]
        try:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            yield printed
        finally:
            for number, old in zip((1, 2), kept, strict=True):
                os.dup2(old, number)
                os.close(old)
            file.seek(0)
            printed += filter(None, [file.read(400).decode(errors="replace").strip()])


@contract_check("predict_one agrees with predict")
def one_row_alone(subject: Subject) -> None:
    """Compare `predict_one` with `predict`."""
    run = subject.plain
    for row, expected in zip(run.one_by_one(5), run.output, strict=False):
        _near(run.adapter.predict_one(row), expected[None], CLOSE, "predict_one")


@contract_check("the last stage equals the prediction")
def last_stage(subject: Subject) -> None:
    """Compare the last stage of `staged` with `predict`."""
    run = subject.plain
    staged = stages(run.adapter, run.test)
    if not staged:
        raise NotApplicableError("it has no staged predictions")
    _near(staged[-1], run.output, CLOSE, "the last stage")


@contract_check("exported trees give the same predictions")
def trees_agree(subject: Subject) -> None:
    """Predict with the exported trees, after conversion to arrays and back."""
    run = subject.plain
    if (trees := exported(run.adapter)) is None:
        raise NotApplicableError("it cannot export its trees")
    trees = TreeEnsemble.from_arrays(trees.to_arrays())
    predicted = trees.predict(run.test)
    if subject.n_classes:
        predicted = spread(predicted, np.array(trees.classes), run.spec.n_classes)
    eps = float(np.finfo(trees.sum_dtype).eps)
    _near(predicted, run.output, 16 * eps, "the exported ensemble")


def _near(found: Any, expected: np.ndarray, tolerance: float, what: str) -> None:
    found = np.asarray(found)
    require(
        found.shape == expected.shape, f"{what} returns shape {found.shape}, not {expected.shape}"
    )
    difference = float(np.abs(found - expected).max())
    near = np.allclose(found, expected, rtol=tolerance, atol=tolerance)
    require(near, f"{what} differs from predict by up to {difference:.3g}")
