"""Initial model of second-order boosting: nothing, or the rounds of a fitted model."""

from dataclasses import dataclass, field

import numpy as np

from algorithms.model_io.init_model import EarlierModel, load_init_model
from algorithms.newton.input_table import missing_of
from algorithms.newton.model import rounds_from
from algorithms.newton.tree import have_vectors


@dataclass(frozen=True)
class InitModel:
    """EarlierModel rounds, and the number of rounds to add to them."""

    more: int
    rounds: list = field(default_factory=list)  # of lists of NewtonTree
    base: np.ndarray | None = None  # float32 (n_scores,)
    model: EarlierModel | None = None

    @property
    def codes(self):
        """Categories and class labels of the model, each None if unknown."""
        return (None, None) if self.model is None else (self.model.categories, self.model.labels)

    def check(self, estimator):
        """Raise ValueError if the rounds belong to another task or to other columns."""
        if self.model is None:
            return
        objective = estimator._objective  # noqa: SLF001 - same package
        if len(self.base) != objective.n_scores:
            raise ValueError(
                f"the model to continue from has {len(self.base)} scores a row; this one has "
                f"{objective.n_scores}"
            )
        known, here = self.model.trees.missing_value, missing_of(estimator)
        if not np.isnan(known) and known != here:
            raise ValueError(
                f"the model to continue from reads {known} as missing, this one {here}: give "
                "them the same missing"
            )
        link = self.model.trees.link
        if link != objective.link:
            raise ValueError(
                f"the model to continue from predicts by {link!r}, this one by "
                f"{objective.link!r}: their objectives are not compatible"
            )
        n_groups = 1 if have_vectors(self.rounds) else len(self.base)
        n_here = (estimator.num_parallel_tree or 1) * n_groups
        if self.rounds and len(self.rounds[0]) != n_here:
            raise ValueError(
                f"the model to continue from has {len(self.rounds[0])} trees a round, this one "
                f"{n_here}: give them the same num_parallel_tree"
            )
        trees = (tree for one in self.rounds for tree in one)
        most = max((tree.nodes["feature"].max() for tree in trees), default=-1)
        if most >= estimator.n_features_in_:
            raise ValueError(
                f"the model to continue from splits on column {most}, which X does not have"
            )
        self.model.check_columns(estimator)


def load_initial_rounds(estimator, model):
    """Return the `InitModel` of ``xgb_model``, or of the estimator itself with ``warm_start``.

    Raises
    ------
    ValueError
        If a warm start has fewer ``n_estimators`` than trained rounds.
    """
    if model is None and estimator.warm_start and hasattr(estimator, "_rounds"):
        model = estimator
    if model is None:
        return InitModel(estimator.n_estimators)
    if getattr(model, "_linear", None) is not None:
        raise ValueError("a linear model (booster='gblinear') cannot be continued")
    earlier = load_init_model(model)
    trained = getattr(model, "_rounds", None)
    rounds = rounds_from(earlier.trees) if trained is None else list(trained)
    more = estimator.n_estimators - (len(rounds) if model is estimator else 0)
    if more < 0:
        raise ValueError(
            f"n_estimators={estimator.n_estimators} is less than the {len(rounds)} rounds that "
            "were trained, with warm_start=True"
        )
    base = earlier.trees.base.astype(np.float32)
    return InitModel(more, rounds, base, earlier)
