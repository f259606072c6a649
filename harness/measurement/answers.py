"""Compute the answer to one question of the ``[diagnostics]`` table.

Each function takes `questions.Evidence` and a `Question` and returns a sentence and the record
behind it. It reads stored results or fits trials again. If a question has no answer for an
algorithm, it raises ``InapplicableError`` with the reason.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.analysis.diagnostics import (
    InapplicableError,
    agreement,
    bias_variance,
    calibration,
    determinism,
    importance,
    margins,
    permutation,
    scaling,
    staged,
    strength,
)
from harness.core.model import JSON, Predicted, Trial, to_json
from harness.data import drawn_apart
from harness.execution.session import SessionError
from harness.measurement.questions import Arrays, Evidence, Question, Subject
from harness.plugins.metrics import log_loss, rmse_sd
from harness.trees.ensemble import TreeEnsemble

Answer = tuple[str, JSON]  # the sentence, and the record
THREADS = (1, 2)  # numbers of threads that must give the same bytes
ORDER = 1  # seed of the permutation of rows
CAPACITIES = {"bins": "number of bins", "depth": "depth"}  # params timed at several values


def answer_staged(evidence: Evidence, question: Question) -> Answer:
    """Return the curves of training and test loss."""
    subject = question.subject
    exported = evidence.arrays(subject.first, "staged", subject)
    stored = evidence.arrays(subject.first, "predictions", subject)
    weight = stored.get("weight")
    rows, scale = exported["rows"], float(stored["scale"])
    metric, test = loss_of(stored["y"][rows], None if weight is None else weight[rows], scale)
    _, train = loss_of(exported["train_y"], exported.get("train_weight"), scale)
    result = staged.curves(
        exported["stage"].tolist(),
        list(exported["output"]),
        list(exported["train_output"]),
        metric,
        (test, train),
        (exported["clock_stage"].tolist(), exported["clock_seconds"].tolist()),
    )
    return result.sentence, to_json(result)


def answer_determinism(evidence: Evidence, question: Question) -> Answer:
    """Compare the predictions of another process, of more threads and of permuted rows."""
    subject = question.subject
    one, two = (replace(subject.first, threads=n) for n in THREADS)
    stored = evidence.arrays(subject.first, "predictions", subject)
    metric, score = loss_of(stored["y"], stored.get("weight"), float(stored["scale"]))
    base, reordered = evidence.probe(subject, [(one, {}), (one, {"order": ORDER})])
    checks = []
    for name, trial in (("seed", one), ("threads", two)):
        try:
            (rerun,) = evidence.probe(subject, [(trial, {})])
            checks.append(determinism.check(name, base.output, rerun.output, metric, score))
        except SessionError as error:
            checks.append(determinism.Check(name, None, reason=str(error)))
    checks.append(determinism.check("rows", base.output, reordered.output, metric, score))
    records = [{**to_json(check), "sentence": check.sentence} for check in checks]
    return determinism.summary(checks), {"checks": records, "rows": len(base.output)}


def answer_scaling(evidence: Evidence, question: Question) -> Answer:
    """Fit how training time grows along one axis."""
    axis, subject = question.about, question.subject
    fits = _fits(axis, replace(subject.first, timed=True), evidence, subject)
    sizes: list[float] = []
    seconds: list[float] = []
    loads = [os.getloadavg()[0]]
    for _, same in itertools.groupby(fits, key=lambda fit: fit[1].threads):
        group = list(same)
        probes = evidence.probe(subject, [fit[1:] for fit in group], evidence.config.calls)
        for (value, _, _), result in zip(group, probes, strict=True):
            size = {"rows": result.rows, "columns": result.columns}.get(axis, value)
            sizes += [float(size)] * len(result.seconds)
            seconds += result.seconds
        loads.append(os.getloadavg()[0])
    fitted = scaling.fit(axis, sizes, seconds)
    return fitted.sentence, {**to_json(fitted), "load": max(loads), "processors": _processors()}


def _fits(
    axis: str, trial: Trial, evidence: Evidence, subject: Subject
) -> list[tuple[float, Trial, JSON]]:
    """Return value, trial and variation for each size along an axis."""
    values: Sequence[float] = getattr(evidence.config, axis)
    if axis in ("rows", "columns"):
        return [(value, trial, {axis: value}) for value in values]
    if axis == "threads":
        fitting = [int(value) for value in values if value <= _processors()]
        return [(value, replace(trial, threads=value), {}) for value in fitting]
    argument = evidence.algorithm(subject).capacity.get(axis)
    if argument is None or argument.match == "impossible":
        raise InapplicableError(f"it has no parameter for the {CAPACITIES[axis]} to vary")
    convert = argument.convert or (lambda value: value)
    params = [{**trial.params, argument.name: convert(value)} for value in values]
    return [(v, replace(trial, params=p), {}) for v, p in zip(values, params, strict=True)]


def _processors() -> int:
    has_affinity = hasattr(os, "sched_getaffinity")  # not on macOS
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def answer_calibration(evidence: Evidence, question: Question) -> Answer:
    """Measure the calibration of the probabilities over the splits of the first repeat."""
    parts = _predictions(evidence, question.subject)
    weight = _joined(parts, "weight") if "weight" in parts[0] else None
    result = calibration.calibrate(_joined(parts, "output"), _joined(parts, "y"), weight)
    return result.sentence, to_json(result)


def answer_agreement(evidence: Evidence, question: Question) -> Answer:
    """Measure how far the predictions of a pair differ."""
    assert question.other is not None
    a, b = (_predictions(evidence, side) for side in (question.subject, question.other))
    if [p["rows"].tolist() for p in a] != [p["rows"].tolist() for p in b]:
        raise InapplicableError("the two algorithms were not tested on the same rows")
    result = agreement.compare(_joined(a, "output"), _joined(b, "output"))
    return result.sentence, {**to_json(result), "scale": float(a[0]["scale"])}


def answer_importance(evidence: Evidence, question: Question) -> Answer:
    """Measure how similarly a pair ranks the columns."""
    assert question.other is not None
    gains = []
    for side in (question.subject, question.other):
        try:
            trees = TreeEnsemble.from_arrays(evidence.arrays(side.first, "trees", side))
            gains.append(importance.gain_importance(trees))
        except InapplicableError as error:
            raise InapplicableError(f"{side.first.algorithm}: {error}") from error
    result = importance.compare(*gains)
    return result.sentence, to_json(result)


def answer_margins(evidence: Evidence, question: Question) -> Answer:
    """Return the margins of the vote on training and on test rows."""
    exported, y, n_classes = _members(evidence, question.subject)
    train = margins.margins(
        exported["train_member"], exported["weight"], exported["train_y"], n_classes
    )
    test = margins.margins(exported["member"], exported["weight"], y, n_classes)
    result = {"train": margins.distribution(train), "test": margins.distribution(test)}
    words = "; ".join(f"{side}: {part.sentence}" for side, part in result.items())
    return words, to_json(result)


def answer_strength(evidence: Evidence, question: Question) -> Answer:
    """Return strength and correlation of the members of an ensemble with equal weights."""
    exported, y, n_classes = _members(evidence, question.subject)
    if np.ptp(exported["weight"]) > 0:
        raise InapplicableError("its members have unequal weights; the definitions need equal ones")
    member = exported["member"]
    result = strength.of_votes(member, y, n_classes) if n_classes else strength.of_values(member, y)
    law = {**to_json(result.law), "deviation": result.law.deviation}
    return result.sentence, {**to_json(result), "law": law}


def answer_bias_variance(evidence: Evidence, question: Question) -> Answer:
    """Decompose the error into bias and variance over all training sets of one size."""
    subject = question.subject
    if not question.about:
        raise InapplicableError("it needs repeated training sets: [splits] training_sets")
    trials = subject.of_size(int(question.about))
    parts = [evidence.arrays(trial, "predictions", subject) for trial in trials]
    output, first = np.stack([part["output"] for part in parts]), parts[0]
    y, weight = first["y"], first.get("weight")
    if subject.first.task.is_classification:
        result = bias_variance.of_classes(output.argmax(axis=2), y, output.shape[2], weight)
    else:
        f = evidence.truth(subject)
        result = bias_variance.of_values(output, y, f if f is None else f[first["rows"]], weight)
    left = int(evidence.facts(trials[0])["rows"]) - len(y)
    sizes = {"train_rows": int(question.about), "apart": drawn_apart(trials[0].split, left)}
    return result.sentence, {**to_json(result), **sizes}


def answer_permutation(evidence: Evidence, question: Question) -> Answer:
    """Return the increase of the loss when each column is shuffled."""
    subject = question.subject
    exported = evidence.arrays(subject.first, "permutation", subject)
    metric = "log_loss" if subject.first.task.is_classification else "rmse_sd"
    loss = float(exported["loss"])
    result = permutation.importances(exported["columns"], exported["increase"], loss, metric)
    return result.sentence, to_json(result)


ANSWERS: dict[str, Callable[[Evidence, Question], Answer]] = {
    "staged": answer_staged,
    "determinism": answer_determinism,
    "scaling": answer_scaling,
    "calibration": answer_calibration,
    "importance": answer_importance,
    "agreement": answer_agreement,
    "margins": answer_margins,
    "strength": answer_strength,
    "bias_variance": answer_bias_variance,
    "permutation": answer_permutation,
}
# Name of the artifact that the worker must export for each question, beside the predictions.
NEEDS = {
    "staged": "staged",
    "permutation": "permutation",
    "importance": "trees",
    "margins": "members",
    "strength": "members",
}


def loss_of(
    y: np.ndarray, weight: np.ndarray | None, scale: float
) -> tuple[str, Callable[[np.ndarray], float]]:
    """Return the name of the loss that verdicts use, and a function from predictions to loss."""

    def loss(output: np.ndarray) -> float:
        predicted = Predicted(y, np.asarray(output, np.float64), weight, scale)
        return float(score(predicted))

    name, score = ("log_loss", log_loss) if y.dtype.kind in "iu" else ("rmse_sd", rmse_sd)
    return name, loss


def _predictions(evidence: Evidence, subject: Subject) -> list[Arrays]:
    return [evidence.arrays(t, "predictions", subject) for t in subject.every_row_once]


def _joined(parts: Sequence[Arrays], name: str) -> np.ndarray:
    return np.concatenate([part[name] for part in parts])


def _members(evidence: Evidence, subject: Subject) -> tuple[Arrays, np.ndarray, int]:
    """Return the members' predictions, their targets and the number of classes (0: regression)."""
    exported = evidence.arrays(subject.first, "members", subject)
    stored = evidence.arrays(subject.first, "predictions", subject)
    output: Any = stored["output"]
    return exported, stored["y"][exported["rows"]], output.shape[1] if output.ndim > 1 else 0
