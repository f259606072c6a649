"""Answer one question of the ``[diagnostics]`` table: from what is stored, or by fitting again.

Each function takes `questions.Evidence` and a question, and returns a sentence with
the record behind it; the ``InapplicableError`` of the diagnostics says why there is none.
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

Answer = tuple[str, JSON]  # in words, and as a record
THREADS = (1, 2)  # that must give the same bytes
ORDER = 1  # seed of the permutation of rows
CAPACITIES = {"bins": "number of bins", "depth": "depth"}  # that are timed at several values


def answer_staged(evidence: Evidence, question: Question) -> Answer:
    """Return the curves of training and test loss."""
    subject = question.subject
    told = evidence.arrays(subject.first, "staged", subject)
    stored = evidence.arrays(subject.first, "predictions", subject)
    weight = stored.get("weight")
    rows, scale = told["rows"], float(stored["scale"])
    metric, test = loss_of(stored["y"][rows], None if weight is None else weight[rows], scale)
    _, train = loss_of(told["train_y"], told.get("train_weight"), scale)
    found = staged.curves(
        told["stage"].tolist(),
        list(told["output"]),
        list(told["train_output"]),
        metric,
        (test, train),
        (told["clock_stage"].tolist(), told["clock_seconds"].tolist()),
    )
    return found.sentence, to_json(found)


def answer_determinism(evidence: Evidence, question: Question) -> Answer:
    """Return what another process, other threads and another order of rows change."""
    subject = question.subject
    one, two = (replace(subject.first, threads=n) for n in THREADS)
    stored = evidence.arrays(subject.first, "predictions", subject)
    metric, score = loss_of(stored["y"], stored.get("weight"), float(stored["scale"]))
    base, reordered = evidence.probe(subject, [(one, {}), (one, {"order": ORDER})])
    checks = []
    for name, trial in (("seed", one), ("threads", two)):
        try:
            (again,) = evidence.probe(subject, [(trial, {})])
            checks.append(determinism.check(name, base.output, again.output, metric, score))
        except SessionError as error:
            checks.append(determinism.Check(name, None, reason=str(error)))
    checks.append(determinism.check("rows", base.output, reordered.output, metric, score))
    records = [{**to_json(check), "sentence": check.sentence} for check in checks]
    return determinism.summary(checks), {"checks": records, "rows": len(base.output)}


def answer_scaling(evidence: Evidence, question: Question) -> Answer:
    """Return how training time grows along one axis."""
    axis, subject = question.about, question.subject
    fits = _fits(axis, replace(subject.first, timed=True), evidence, subject)
    sizes: list[float] = []
    seconds: list[float] = []
    loads = [os.getloadavg()[0]]
    for _, same in itertools.groupby(fits, key=lambda fit: fit[1].threads):
        group = list(same)
        probes = evidence.probe(subject, [fit[1:] for fit in group], evidence.asked.calls)
        for (value, _, _), found in zip(group, probes, strict=True):
            size = {"rows": found.rows, "columns": found.columns}.get(axis, value)
            sizes += [float(size)] * len(found.seconds)
            seconds += found.seconds
        loads.append(os.getloadavg()[0])
    fitted = scaling.fit(axis, sizes, seconds)
    return fitted.sentence, {**to_json(fitted), "load": max(loads), "processors": _processors()}


def _fits(
    axis: str, trial: Trial, evidence: Evidence, subject: Subject
) -> list[tuple[float, Trial, JSON]]:
    """Return value, trial and variation of each size along an axis."""
    values: Sequence[float] = getattr(evidence.asked, axis)
    if axis in ("rows", "columns"):
        return [(value, trial, {axis: value}) for value in values]
    if axis == "threads":
        fitting = [int(value) for value in values if value <= _processors()]
        return [(value, replace(trial, threads=value), {}) for value in fitting]
    argument = evidence.algorithm(subject).capacity.get(axis)
    if argument is None or argument.match == "impossible":
        raise InapplicableError(f"it has no {CAPACITIES[axis]} to choose")
    convert = argument.convert or (lambda value: value)
    params = [{**trial.params, argument.name: convert(value)} for value in values]
    return [(v, replace(trial, params=p), {}) for v, p in zip(values, params, strict=True)]


def _processors() -> int:
    known = hasattr(os, "sched_getaffinity")  # macOS does not tell
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def answer_calibration(evidence: Evidence, question: Question) -> Answer:
    """Return how well probabilities come true, over the splits of the first repeat."""
    parts = _predictions(evidence, question.subject)
    weight = _joined(parts, "weight") if "weight" in parts[0] else None
    found = calibration.calibrate(_joined(parts, "output"), _joined(parts, "y"), weight)
    return found.sentence, to_json(found)


def answer_agreement(evidence: Evidence, question: Question) -> Answer:
    """Return how far the predictions of a pair are apart."""
    assert question.other is not None
    a, b = (_predictions(evidence, side) for side in (question.subject, question.other))
    if [p["rows"].tolist() for p in a] != [p["rows"].tolist() for p in b]:
        raise InapplicableError("the two were not tested on the same rows")
    found = agreement.compare(_joined(a, "output"), _joined(b, "output"))
    return found.sentence, {**to_json(found), "scale": float(a[0]["scale"])}


def answer_importance(evidence: Evidence, question: Question) -> Answer:
    """Return how alike a pair ranks the columns."""
    assert question.other is not None
    gains = []
    for side in (question.subject, question.other):
        try:
            trees = TreeEnsemble.from_arrays(evidence.arrays(side.first, "trees", side))
            gains.append(importance.gain_importance(trees))
        except InapplicableError as error:
            raise InapplicableError(f"{side.first.algorithm}: {error}") from error
    found = importance.compare(*gains)
    return found.sentence, to_json(found)


def answer_margins(evidence: Evidence, question: Question) -> Answer:
    """Return the margins of the vote, of training and of test rows."""
    told, y, n_classes = _members(evidence, question.subject)
    train = margins.margins(told["train_member"], told["weight"], told["train_y"], n_classes)
    test = margins.margins(told["member"], told["weight"], y, n_classes)
    found = {"train": margins.distribution(train), "test": margins.distribution(test)}
    words = "; ".join(f"{side}: {part.sentence}" for side, part in found.items())
    return words, to_json(found)


def answer_strength(evidence: Evidence, question: Question) -> Answer:
    """Return strength and correlation of members that weigh the same."""
    told, y, n_classes = _members(evidence, question.subject)
    if np.ptp(told["weight"]) > 0:
        raise InapplicableError("its members do not weigh the same, as the definitions ask")
    member = told["member"]
    found = strength.of_votes(member, y, n_classes) if n_classes else strength.of_values(member, y)
    law = {**to_json(found.law), "deviation": found.law.deviation}
    return found.sentence, {**to_json(found), "law": law}


def answer_bias_variance(evidence: Evidence, question: Question) -> Answer:
    """Return what the error is made of, over all training sets of one size."""
    subject = question.subject
    if not question.about:
        raise InapplicableError("it takes repeated training sets: [splits] training_sets")
    trials = subject.of_size(int(question.about))
    parts = [evidence.arrays(trial, "predictions", subject) for trial in trials]
    output, first = np.stack([part["output"] for part in parts]), parts[0]
    y, weight = first["y"], first.get("weight")
    if subject.first.task.is_classification:
        found = bias_variance.of_classes(output.argmax(axis=2), y, output.shape[2], weight)
    else:
        f = evidence.truth(subject)
        found = bias_variance.of_values(output, y, f if f is None else f[first["rows"]], weight)
    left = int(evidence.facts(trials[0])["rows"]) - len(y)
    sizes = {"train_rows": int(question.about), "apart": drawn_apart(trials[0].split, left)}
    return found.sentence, {**to_json(found), **sizes}


def answer_permutation(evidence: Evidence, question: Question) -> Answer:
    """Return how much the loss grows when a column is shuffled."""
    subject = question.subject
    told = evidence.arrays(subject.first, "permutation", subject)
    metric = "log_loss" if subject.first.task.is_classification else "rmse_sd"
    loss = float(told["loss"])
    found = permutation.importances(told["columns"], told["increase"], loss, metric)
    return found.sentence, to_json(found)


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
# What the worker must write down for an answer, beside the predictions.
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
    """Return the name of the loss that verdicts use, and predictions → loss."""

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
    """Return what each member says, the targets of these test rows, and how many classes."""
    told = evidence.arrays(subject.first, "members", subject)
    stored = evidence.arrays(subject.first, "predictions", subject)
    output: Any = stored["output"]
    return told, stored["y"][told["rows"]], output.shape[1] if output.ndim > 1 else 0
