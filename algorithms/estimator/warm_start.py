"""Check that a warm start has the same columns and classes as the earlier fit."""

import numpy as np

SEEN = ("n_features_in_", "feature_names_in_", "classes_", "n_classes_")
SHOWN = 5


def check_warm_start(estimator):
    """Raise ValueError if a warm start has other columns or classes than the earlier fit.

    Trees store indices of columns and classes, which would be wrong for other data. A fit without
    warm start discards the earlier estimators.

    Parameters
    ----------
    estimator : after it has read X and y, before training
    """
    now = {name: getattr(estimator, name) for name in SEEN if hasattr(estimator, name)}
    before = getattr(estimator, "_trained_on", now)
    goes_on = estimator.warm_start and len(getattr(estimator, "estimators_", ())) > 0
    if goes_on and (differs := difference(before, now)):
        raise ValueError(f"{differs}: with warm_start=True they must be the same")
    if not goes_on:
        estimator.__dict__.pop("estimators_", None)
    estimator._trained_on = now  # noqa: SLF001 - same package


def difference(before, now):
    """Return a description of the difference between two fits, or an empty text."""
    columns, known = now["n_features_in_"], before["n_features_in_"]
    if columns != known:
        return f"X has {columns} features, and {known} in the fit that is continued"
    if not np.array_equal(now.get("classes_", ()), before.get("classes_", ())):
        labels = (", ".join(map(str, one["classes_"][:SHOWN].tolist())) for one in (now, before))
        return "y has the classes {}, and {} in the fit that is continued".format(*labels)
    return ""
