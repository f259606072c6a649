"""Declarations for the harness: one algorithm and one dataset."""

from harness import ALL_TASKS, Algorithm, Argument, estimator_adapter, hookimpl

__plugin_api__ = 1  # the version of the contract that this was written for


def build(spec):
    """Return an unfitted estimator; called in a worker, so imports wait until then."""
    from rotated_forest.forest import RotatedForestClassifier, RotatedForestRegressor

    made = RotatedForestClassifier if spec.task.is_classification else RotatedForestRegressor
    return made(**spec.params, random_state=spec.seed)


@hookimpl
def register_algorithms(register):
    """Offer the forest."""
    register(
        Algorithm(
            name="rotated-forest",
            adapter=estimator_adapter(build),
            tasks=ALL_TASKS,
            params={"n_estimators": 50},
            capacity={
                "trees": Argument("n_estimators"),
                "depth": Argument("max_depth"),
                "min_samples": Argument("min_samples_leaf"),
            },
            space={"min_samples_leaf": [1, 2, 5, 10]},
            reference="sklearn.random_forest",
            libraries=("rotated-forest", "scikit-learn"),
            paper="https://doi.org/10.1109/TPAMI.2006.211",
            summary="a forest whose trees see the columns rotated in pairs",
        )
    )


@hookimpl
def register_datasets(register):
    """Offer the data on which rotation matters."""
    from rotated_forest.stripes import STRIPES

    register(STRIPES)
