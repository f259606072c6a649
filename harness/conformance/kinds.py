"""Checks of weights, absent classes, and missing, categorical and sparse values."""

from __future__ import annotations

import dataclasses
from itertools import chain, combinations

import numpy as np

from harness.conformance.findings import NotApplicableError, demand, promise
from harness.conformance.subject import N_TRAIN, Subject, declare, make_table
from harness.core.model import Task
from harness.data.preparation import refusal

NEARLY_NOTHING = 0.01
KINDS = ("missing", "categorical")
MIXES = [dict.fromkeys(m, True) for m in chain(*(combinations(KINDS, n) for n in (1, 2)))]


@promise("heavier rows pull predictions towards them")
def weights_count(subject: Subject) -> None:
    """Train on equal rows with different targets, so that only the weights matter."""
    if not subject.algorithm.accepts.weights:
        raise NotApplicableError("it declares that it takes no weights")
    data = make_table(subject.task, noise=2.0)
    data = dataclasses.replace(data, X=data.X[["a", "b"]])
    high = data.y[:N_TRAIN] >= np.median(data.y)
    means = []
    for heavy in (high, ~high):
        output = subject.fit(data, weight=np.where(heavy, 20.0, 1.0)).output
        value = output @ np.arange(output.shape[1]) if output.ndim > 1 else output
        means.append(float(value.mean()))
    demand(
        means[0] > means[1],
        f"with heavy high targets it predicts {means[0]:.4g} on average, with heavy low ones "
        f"{means[1]:.4g}: are weights passed on?",
    )


@promise("a class without a training row has a column of nearly nothing")
def absent_class(subject: Subject) -> None:
    """Train without the rows of one class, and check its column."""
    if subject.task is not Task.MULTICLASS:
        raise NotApplicableError("it is about several classes")
    data = make_table(subject.task)
    for absent in range(subject.n_classes):
        rows = np.flatnonzero(data.y[:N_TRAIN] != absent)
        output = subject.fit(data, rows=rows).output
        subject.check_output(output)
        most = float(output[:, absent].max())
        demand(most < NEARLY_NOTHING, f"class {absent} had no row and gets up to {most:.3g}")


@promise("missing and categorical values are taken, or prepared for it")
def kinds_taken(subject: Subject) -> None:
    """Train twice on each mix of kinds, prepared for the algorithm."""
    for kinds in MIXES:
        _taken(subject, **kinds)


@promise("sparse rows are taken, or refused with a reason")
def sparse_taken(subject: Subject) -> None:
    """Train on CSR rows if the algorithm declares that it accepts them."""
    if reason := refusal(subject.algorithm.accepts, declare(subject.task, sparse=True)):
        raise NotApplicableError(reason)
    _taken(subject, sparse=True)


def _taken(subject: Subject, **kinds: bool) -> None:
    run = subject.fit(make_table(subject.task, **kinds), kinds=kinds)
    subject.check_output(run.output)
    again = subject.fit(make_table(subject.task, **kinds), kinds=kinds)
    what = " and ".join(kinds)
    demand(np.array_equal(run.output, again.output), f"with {what} values two fits differ")
    for row, expected in zip(run.one_by_one(2), run.output, strict=False):
        found = np.asarray(run.adapter.predict_one(row))[0]
        near = np.allclose(found, expected, rtol=1e-12, atol=1e-12)
        demand(near, f"with {what} values a row alone is predicted otherwise than in the batch")
