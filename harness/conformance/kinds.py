"""Checks of weights, absent classes, and missing, categorical and sparse values."""

from __future__ import annotations

import dataclasses
from itertools import chain, combinations

import numpy as np

from harness.conformance.findings import NotApplicableError, contract_check, require
from harness.conformance.subject import N_TRAIN, Subject, declare, make_table
from harness.core.model import Task
from harness.data.preparation import refusal

NEAR_ZERO = 0.01
CLOSE = 1e-6  # tolerance for float32 sums
KINDS = ("missing", "categorical")
MIXES = [dict.fromkeys(m, True) for m in chain(*(combinations(KINDS, n) for n in (1, 2)))]


@contract_check("rows with larger weights count more")
def weights_count(subject: Subject) -> None:
    """Train on equal rows with different targets, so that only the weights matter."""
    if not subject.algorithm.accepts.weights:
        raise NotApplicableError("it declares that it does not accept weights")
    data = make_table(subject.task, noise=2.0)
    data = dataclasses.replace(data, X=data.X[["a", "b"]])
    high = data.y[:N_TRAIN] >= np.median(data.y)
    means = []
    for heavy in (high, ~high):
        output = subject.fit(data, weight=np.where(heavy, 20.0, 1.0)).output
        value = output @ np.arange(output.shape[1]) if output.ndim > 1 else output
        means.append(float(value.mean()))
    require(
        means[0] > means[1],
        f"the mean prediction is {means[0]:.4g} with large weights on high targets and "
        f"{means[1]:.4g} with large weights on low ones: are weights passed on?",
    )


@contract_check("weights of 1 change nothing")
def unit_weights(subject: Subject) -> None:
    """Compare training with weights of 1 and without weights.

    Other algorithms may draw rows by weight, which draws other rows for weights of 1.
    """
    accepts = subject.algorithm.accepts
    if accepts.weighted_bins or not accepts.weights:
        raise NotApplicableError("it does not declare that its bins ignore weights")
    output = subject.fit(make_table(subject.task), weight=np.ones(N_TRAIN)).output
    off = float(np.abs(output - subject.plain.output).max())
    near = np.allclose(output, subject.plain.output, rtol=CLOSE, atol=CLOSE)
    require(near, f"with weights of 1 predictions are up to {off:.3g} off those without weights")


@contract_check("a class without training rows gets a probability near 0")
def absent_class(subject: Subject) -> None:
    """Train without the rows of one class, and check its column."""
    if subject.task is not Task.MULTICLASS:
        raise NotApplicableError("it applies to multiclass tasks only")
    data = make_table(subject.task)
    for absent in range(subject.n_classes):
        rows = np.flatnonzero(data.y[:N_TRAIN] != absent)
        output = subject.fit(data, rows=rows).output
        subject.check_output(output)
        most = float(output[:, absent].max())
        require(
            most < NEAR_ZERO,
            f"class {absent} had no training row and gets a probability of {most:.3g}",
        )


@contract_check("missing and categorical values are accepted, or prepared first")
def kinds_accepted(subject: Subject) -> None:
    """Train twice on each mix of kinds, prepared for the algorithm."""
    for kinds in MIXES:
        _check_accepted(subject, **kinds)


@contract_check("sparse rows are accepted, or rejected with a reason")
def sparse_accepted(subject: Subject) -> None:
    """Train on CSR rows if the algorithm declares that it accepts them."""
    if reason := refusal(subject.algorithm.accepts, declare(subject.task, sparse=True)):
        raise NotApplicableError(reason)
    _check_accepted(subject, sparse=True)


def _check_accepted(subject: Subject, **kinds: bool) -> None:
    run = subject.fit(make_table(subject.task, **kinds), kinds=kinds)
    subject.check_output(run.output)
    again = subject.fit(make_table(subject.task, **kinds), kinds=kinds)
    what = " and ".join(kinds)
    require(np.array_equal(run.output, again.output), f"with {what} values two fits differ")
    for row, expected in zip(run.one_by_one(2), run.output, strict=False):
        predicted = np.asarray(run.adapter.predict_one(row))[0]
        near = np.allclose(predicted, expected, rtol=1e-12, atol=1e-12)
        require(near, f"with {what} values predict_one and predict differ")
