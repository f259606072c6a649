"""Checks of training and prediction on numeric data."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from harness.conformance.findings import BrokenError, NotApplicableError, NoteError, demand, promise
from harness.conformance.subject import N_TRAIN, Subject, exported, make_table, stages
from harness.plugins.adapters import spread
from harness.trees.ensemble import TreeEnsemble

CLOSE = 1e-12


@promise("predictions have the promised form")
def form(subject: Subject) -> None:
    """Check shape, dtype, range and sums of predictions."""
    subject.check_output(subject.plain.output)


@promise("predictions are better than a constant")
def better_than_constant(subject: Subject) -> None:
    """Compare the error with that of a constant; one column determines most of the target."""
    truth = make_table(subject.task).y[N_TRAIN:]
    if subject.n_classes:
        truth = np.eye(subject.n_classes)[truth]
    loss = float(np.mean((subject.plain.output - truth) ** 2))
    constant = float(np.mean((truth - truth.mean(axis=0)) ** 2))
    demand(loss < 0.98 * constant, f"its squared error is {loss:.4g}, a constant's {constant:.4g}")


@promise("the same seed gives the same bits")
def deterministic(subject: Subject) -> None:
    """Train a new adapter, and train again on the same training data."""
    again = subject.fit(make_table(subject.task))
    _same(again.output, subject.plain.output, "a second adapter with the same seed")
    again.adapter.fit(again.native)
    _same(np.asarray(again.adapter.predict(again.test)), subject.plain.output, "a second fit")


@promise("the number of threads changes no bit")
def thread_invariant(subject: Subject) -> None:
    """Train with one thread and with two; for a reference a difference is only noted."""
    found = subject.fit(make_table(subject.task), threads=2).output
    try:
        _same(found, subject.plain.output, "training with 2 threads")
    except BrokenError as error:
        if subject.algorithm.origin == "reference":
            raise NoteError(str(error)) from None
        raise


def _same(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    demand(found.shape == expected.shape, f"{what} predicts another shape, {found.shape}")
    rows = np.flatnonzero((found != expected).reshape(len(found), -1).any(axis=1))
    if len(rows):
        apart = float(np.abs(found - expected).max())
        raise BrokenError(f"{what} predicts {len(rows)} of {len(found)} rows up to {apart:.3g} off")


@promise("nothing is printed")
def silent(subject: Subject) -> None:
    """Capture what Python and compiled code write to stdout and stderr."""
    with captured() as said:
        subject.fit(make_table(subject.task))
    demand(not said, f"it printed {said[:1]!r}")


@contextmanager
def captured() -> Iterator[list[str]]:
    """Capture what is written to the file descriptors 1 and 2, as one text."""
    said: list[str] = []
    with tempfile.TemporaryFile() as file:
        kept = [os.dup(1), os.dup(2)]
        try:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            yield said
        finally:
            for number, old in zip((1, 2), kept, strict=True):
                os.dup2(old, number)
                os.close(old)
            file.seek(0)
            said += filter(None, [file.read(400).decode(errors="replace").strip()])


@promise("one row is predicted as in the batch")
def one_row_alone(subject: Subject) -> None:
    """Compare `predict_one` with `predict`."""
    run = subject.plain
    for row, expected in zip(run.one_by_one(5), run.output, strict=False):
        _near(run.adapter.predict_one(row), expected[None], CLOSE, "predict_one")


@promise("the last stage is the prediction")
def last_stage(subject: Subject) -> None:
    """Compare the last stage of `staged` with `predict`."""
    run = subject.plain
    shown = stages(run.adapter, run.test)
    if not shown:
        raise NotApplicableError("it shows no stages")
    _near(shown[-1], run.output, CLOSE, "the last of `staged`")


@promise("exported trees predict what it predicts")
def trees_agree(subject: Subject) -> None:
    """Predict with the exported trees, after conversion to arrays and back."""
    run = subject.plain
    if (trees := exported(run.adapter)) is None:
        raise NotApplicableError("it has no trees in the common form")
    trees = TreeEnsemble.from_arrays(trees.to_arrays())
    found = trees.predict(run.test)
    if subject.n_classes:
        found = spread(found, np.array(trees.classes), run.spec.n_classes)
    eps = float(np.finfo(trees.sum_dtype).eps)
    _near(found, run.output, 16 * eps, "the exported ensemble")


def _near(found: Any, expected: np.ndarray, tolerance: float, what: str) -> None:
    found = np.asarray(found)
    demand(found.shape == expected.shape, f"{what} gives {found.shape}, not {expected.shape}")
    apart = float(np.abs(found - expected).max())
    near = np.allclose(found, expected, rtol=tolerance, atol=tolerance)
    demand(near, f"{what} differs from predict by up to {apart:.3g}")
