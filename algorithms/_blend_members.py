"""The members of voting and stacking as harness plugins: our own algorithms by name."""

from dataclasses import replace

from algorithms import adaboost, bagging, decision_tree, gradient_boosting, random_forest

MEMBERS = {
    "adaboost": adaboost.build,
    "bagging": bagging.build,
    "decision_tree": decision_tree.build,
    "gradient_boosting": gradient_boosting.build,
    "random_forest": random_forest.build,
}
DEFAULT_MEMBERS = [  # default: one member that reduces variance, one that reduces bias
    {"algorithm": "random_forest", "params": {"n_estimators": 50}},
    {"algorithm": "gradient_boosting", "params": {"n_estimators": 50}},
]


def make_members(wanted, spec):
    """Return (name, estimator) pairs.

    Parameters
    ----------
    wanted : list of {"algorithm": name, "params": dict}
        The params are set on the algorithm's estimator.
    spec : harness.Spec, of the blend

    Raises
    ------
    ValueError
        If an algorithm is not in `MEMBERS`.
    """
    members = []
    for number, one in enumerate(wanted):
        name = one["algorithm"]
        if name not in MEMBERS:
            known = ", ".join(sorted(MEMBERS))
            raise ValueError(f"{name!r} cannot be a member of a blend; known are {known}")
        build = MEMBERS[name]
        own = replace(spec, params=one.get("params", {}))
        members.append((f"{name}_{number}", build(own)))
    return members
