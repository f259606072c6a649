"""A warm start goes on with the columns and the classes that its members were trained on."""

import numpy as np

SEEN = ("n_features_in_", "feature_names_in_", "classes_", "n_classes_")
SHOWN = 5


def check_warm_start(estimator):
    """Raise ValueError where a fit goes on with other columns or classes than its members know.

    Trees name columns and classes by their places: with others they would read and add up what is
    not meant, or not there. A fit that starts anew forgets the earlier members.

    Parameters
    ----------
    estimator : which has read X and y, and has not trained yet
    """
    now = {name: getattr(estimator, name) for name in SEEN if hasattr(estimator, name)}
    before = getattr(estimator, "_trained_on", now)
    goes_on = estimator.warm_start and len(getattr(estimator, "estimators_", ())) > 0
    if goes_on and (differs := difference(before, now)):
        raise ValueError(f"{differs}: with warm_start=True they must be the same")
    if not goes_on:
        estimator.__dict__.pop("estimators_", None)
    estimator._trained_on = now  # noqa: SLF001 - its own part


def difference(before, now):
    """Return what is otherwise in another fit, or nothing."""
    columns, known = now["n_features_in_"], before["n_features_in_"]
    if columns != known:
        return f"X has {columns} features, and {known} in the fit that it goes on from"
    if not np.array_equal(now.get("classes_", ()), before.get("classes_", ())):
        told = (", ".join(map(str, one["classes_"][:SHOWN].tolist())) for one in (now, before))
        return "y has the classes {}, and {} in the fit that it goes on from".format(*told)
    return ""
