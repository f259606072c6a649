"""What second-order boosting starts from: nothing, or the rounds of a model."""

from dataclasses import dataclass, field

import numpy as np

from algorithms.model_io.init_model import Earlier, look_at
from algorithms.newton.input_table import missing_of
from algorithms.newton.model import rounds_from


@dataclass(frozen=True)
class Before:
    """The rounds there are, and how many to add to them."""

    more: int
    rounds: list = field(default_factory=list)  # of lists of NewtonTree
    base: np.ndarray | None = None  # float32 (n_scores,)
    model: Earlier | None = None

    @property
    def codes(self):
        """The categories and the labels of the model, each None where not known."""
        return (None, None) if self.model is None else (self.model.categories, self.model.labels)

    def check(self, estimator):
        """Raise ValueError where the rounds are of another task, or of other columns."""
        if self.model is None:
            return
        objective = estimator._objective  # noqa: SLF001 - its own part
        if len(self.base) != objective.n_scores:
            raise ValueError(
                f"the model to go on from has {len(self.base)} scores a row; this one has "
                f"{objective.n_scores}"
            )
        known, own = self.model.trees.missing_value, missing_of(estimator)
        if not np.isnan(known) and known != own:
            raise ValueError(
                f"the model to go on from reads {known} as missing, this one {own}: give them the "
                "same missing"
            )
        link = self.model.trees.link
        if link != objective.link:
            raise ValueError(
                f"the model to go on from predicts by {link!r}, this one by "
                f"{objective.link!r}: their objectives do not go together"
            )
        trees = (tree for one in self.rounds for tree in one)
        most = max((tree.nodes["feature"].max() for tree in trees), default=-1)
        if most >= estimator.n_features_in_:
            raise ValueError(f"the model to go on from asks column {most}, which X does not have")
        self.model.check_columns(estimator)


def rounds_before(estimator, model):
    """Return the `Before` of ``xgb_model``, or of the estimator itself with ``warm_start``.

    Raises
    ------
    ValueError
        Where a warm start asks for fewer rounds than there are.
    """
    if model is None and estimator.warm_start and hasattr(estimator, "_rounds"):
        model = estimator
    if model is None:
        return Before(estimator.n_estimators)
    earlier = look_at(model)
    own = getattr(model, "_rounds", None)
    rounds = rounds_from(earlier.trees) if own is None else list(own)
    more = estimator.n_estimators - (len(rounds) if model is estimator else 0)
    if more < 0:
        raise ValueError(
            f"n_estimators={estimator.n_estimators} is less than the {len(rounds)} rounds that "
            "were trained, with warm_start=True"
        )
    base = earlier.trees.base.astype(np.float32)
    return Before(more, rounds, base, earlier)
