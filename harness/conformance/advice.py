"""Advice to a plugin's author for each check: what to do if it fails."""

from __future__ import annotations

from collections.abc import Sequence

from harness.conformance.claims import CHECK as CLAIM
from harness.conformance.findings import Finding

FAIL = {"failed": "failed", "skipped": "does not apply", "noted": "gives a note"}
RUNS = ("an empty run", "a run of one trial", "a run with hostile names")
BUILD = "Make `build` return a Fragment that can be rendered, or None."
ADVICE = {
    "the declaration is complete": "Correct this field of the declaration.",
    "the plugin registers it if loaded alone": (
        "Register it in the module that the entry point or --plugin names."
    ),
    "each common parameter can be set": (
        "Correct the name or the conversion in `capacity`, or declare it impossible."
    ),
    "predictions have the right shape, dtype and range": (
        "Return float64: values (n,), or probabilities (n, n_classes) whose rows sum to 1."
    ),
    "predictions are better than a constant": (
        "Check that `fit` uses X and y, and that the default params suit 100 rows."
    ),
    "the same seed gives the same bits": (
        "Seed every random draw with `spec.seed`, and start again in every `fit`."
    ),
    "the number of threads does not change the result": (
        "Make sums independent of the number of threads, or train with one thread."
    ),
    "nothing is printed": "Turn the library's messages off.",
    "predict_one agrees with predict": "Compute both in the same way.",
    "the last stage equals the prediction": "Let `staged` end with the whole model.",
    "exported trees give the same predictions": (
        "Compare thresholds, leaf values and missing directions with those of `predict`."
    ),
    "inputs are not modified": "Copy the array before you change it.",
    "rows with larger weights count more": (
        "Pass the weights to the training, or declare `Accepts(weights=False)`."
    ),
    "weights of 1 change nothing": (
        "Treat a missing weight as 1, and choose bin edges without weights."
    ),
    "a class without training rows gets a probability near 0": (
        "Return a column of zeros for it; `harness.spread` does this."
    ),
    "missing and categorical values are accepted, or prepared first": (
        "Correct `accepts`, or handle these values in training and prediction."
    ),
    "sparse rows are accepted, or rejected with a reason": (
        "Correct `accepts`, or handle CSR matrices in training and prediction."
    ),
    "one training row is enough, or rejected with a reason": (
        "Train a constant model, or raise a ValueError with a reason."
    ),
    "one column is enough": "Allow X with one column.",
    "constant columns predict one value, or are rejected with a reason": (
        "Train a constant model, or raise a ValueError with a reason."
    ),
    "a constant target is learned, or rejected with a reason": (
        "Predict the constant, or raise a ValueError with a reason."
    ),
    "a saved model predicts the same": "Keep all that `predict` needs when pickled.",
    "scikit-learn's check_estimator finds nothing": (
        "Correct the estimator; if its bins ignore weights, declare `Accepts(weighted_bins=False)`."
    ),
    CLAIM: "Correct the algorithm, or claim a lower parity level in `parity_levels`.",
    "the rows match the declaration": "Correct the declaration or the loaded rows.",
    "the target, weights and groups fit the task": "Convert this array in `load`.",
    "every load gives the same rows": "Seed the generator inside `load`.",
    "rows changed by a caller do not appear in a later load": "Return a copy from `load`.",
    "it can be split into folds": "Check the groups, time ranks and test rows of the table.",
    "it returns a float, the same every time": "Return `float(...)` without random draws.",
    "better predictions score better, in the declared direction": "Correct `lower_is_better`.",
    "the order of the rows does not matter": "Use no row positions in `score`.",
    "weights count rows: 2 is the row twice, 0 is no row, equal ones change nothing": (
        "Use weighted sums, divided by the sum of the weights."
    ),
    "an undefined score is NaN, and nothing is raised": "Return `float('nan')` in this case.",
    **{f"it can be built for {run}, or is omitted": BUILD for run in RUNS},
    "markup in names is escaped": "Put names into blocks as text, and write no HTML.",
    "the same run gives the same section": "Use neither the time nor random draws.",
    "every trial is run once, and its outcome is returned unchanged": (
        "Call `supervise` once for each job, and yield all that it yields."
    ),
    "outcomes of a job keep the order of its trials": "Yield a job's outcomes as they come.",
    "a failed trial does not stop the others": "Continue after an outcome that is a failure.",
    "without jobs nothing is run": "End at once if there are no jobs.",
    "an exception of supervise reaches the caller": "Let exceptions of `supervise` pass.",
    "timed trials run alone": "Run a job with a timed trial when no other job runs.",
    "no trial starts after the caller stops": ("Start no more jobs once the generator is closed."),
}


def sentences(same: Sequence[Finding]) -> str:
    """Return the sentences on one check, for all tasks with the same result.

    They say what was checked, what happened and, after a failure, what to do.
    """
    first = same[0]
    tasks = f" ({', '.join(one.task for one in same)})" if first.task else ""
    if first.state == "ok":
        start, _, rest = first.check.partition(" ")
        start = f"The method {start}" if "_" in start else start[:1].upper() + start[1:]
        return f"{start} {rest}{tasks}{_reason(first)}"
    advice = f" {ADVICE.get(first.check, '')}" if first.state == "failed" else ""
    return (
        f"The check that {first.check} {FAIL[first.state]}{tasks}{_reason(first)}{advice}".rstrip()
    )


def _reason(finding: Finding) -> str:
    """Return a colon, the message and a full stop."""
    message = finding.message.strip()
    if not message:
        return "."
    return f": {message}" + ("" if message.endswith((".", "?", "!", "…")) else ".")
