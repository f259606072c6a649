"""Warm start: check that the data are like those of the earlier fit, and draw further seeds."""

from warnings import warn

import numpy as np
from sklearn.utils import check_random_state

from algorithms.estimator.bootstrap import SEEDS

OUTPUTS = ("n_outputs_", "_n_outputs")
SEEN = ("n_features_in_", "feature_names_in_", "classes_", "n_classes_", *OUTPUTS)
SHOWN = 5


def check_warm_start(estimator):
    """Raise ValueError if a warm start has other columns, outputs or classes than the earlier fit.

    Trees store indices of columns and classes, which would be wrong for other data. A fit without
    warm start discards the earlier estimators.

    Parameters
    ----------
    estimator : after it has read X and y, before training
    """
    now = describe_data(estimator)
    before = getattr(estimator, "_trained_on", now)
    goes_on = estimator.warm_start and len(getattr(estimator, "estimators_", ())) > 0
    if goes_on:
        refuse_other_data(before, now)
    else:
        estimator.__dict__.pop("estimators_", None)
    estimator._trained_on = now  # noqa: SLF001 - same package


def describe_data(estimator):
    """Return the columns, outputs and classes that an estimator has read: dict, by attribute."""
    return {name: getattr(estimator, name) for name in SEEN if hasattr(estimator, name)}


def refuse_other_data(before, now):
    """Raise ValueError if the results of `describe_data` of two fits differ."""
    if differs := difference(before, now):
        raise ValueError(f"{differs}: with warm_start=True they must be the same")


def draw_missing_seeds(estimator):
    """Return the seeds of the estimators that ``estimators_`` lacks, int array.

    The caller is a method that ``fit`` calls, so that warnings name the line that calls ``fit``.

    Raises
    ------
    ValueError
        If ``n_estimators`` is less than the number of trained estimators.
    """
    have, wanted = len(estimator.estimators_), estimator.n_estimators
    if wanted < have:
        raise ValueError(
            f"n_estimators={wanted} must be larger or equal to len(estimators_)={have} when "
            "warm_start==True"
        )
    if wanted == have:
        warn(
            "Warm-start fitting without increasing n_estimators does not fit new trees.",
            stacklevel=5,
        )
    random = check_random_state(estimator.random_state)
    random.randint(SEEDS, size=have)
    return random.randint(SEEDS, size=wanted - have)


def difference(before, now):
    """Return a description of the difference between two fits, or an empty text."""
    columns, known = now["n_features_in_"], before["n_features_in_"]
    if columns != known:
        return f"X has {columns} features, and {known} in the fit that is continued"
    columns, known = now.get("feature_names_in_"), before.get("feature_names_in_")
    if columns is not None and known is not None and not np.array_equal(columns, known):
        named = ", ".join(columns[:SHOWN]), ", ".join(known[:SHOWN])
        return "X has the columns {}, and {} in the fit that is continued".format(*named)
    for name in OUTPUTS:
        outputs, known = now.get(name, 1), before.get(name, 1)
        if outputs != known:
            return f"y has {outputs} output(s), and {known} in the fit that is continued"
    for one, other in zip(classes_of(now), classes_of(before), strict=True):
        if not np.array_equal(one, other):
            labels = (", ".join(map(str, known[:SHOWN].tolist())) for known in (one, other))
            return "y has the classes {}, and {} in the fit that is continued".format(*labels)
    return ""


def classes_of(seen):
    """Return a list of the classes of each output; an empty list for regression."""
    classes = seen.get("classes_", [])
    return classes if isinstance(classes, list) else [classes]
