"""Training of a `NativeModel` round by round."""

from copy import copy

import numpy as np

from algorithms.compat.xgboost.messages import XGBoostError, as_xgboost_errors
from algorithms.compat.xgboost_parameters import read_xgboost_values
from algorithms.estimator.sample_weight import drop_unweighted
from algorithms.model_io.xgboost_reader import level_order
from algorithms.newton.base_margin import read_margin
from algorithms.newton.dart import is_dart
from algorithms.newton.init_model import InitModel
from algorithms.newton.input_table import read_rows
from algorithms.newton.params import filled
from algorithms.newton.ranking_objectives import KINDS
from algorithms.newton.several_targets import count_targets
from algorithms.newton.tree import NewtonTree
from algorithms.prediction.predictor import FastPredictor
from algorithms.runtime.threads import Workers


class Training:
    """State of the training of one model.

    Parameters
    ----------
    model : NativeModel
        Unfitted, with the parameters.
    data : DMatrix
    earlier : NativeModel, default=None
        Fitted model to continue from.
    with_objective : bool
        Whether `update` will receive the user's objective.
    """

    def __init__(self, model, data, earlier=None, *, with_objective=False):
        with as_xgboost_errors():
            core = model._resolved()  # noqa: SLF001 - its own part
            read_xgboost_values(core)
            core._validate_params()  # noqa: SLF001 - scikit-learn's convention
            if core.parity is not None:
                raise XGBoostError("parity is a parameter of the estimators, not of train")
            self.core, self.data, self.function = core, data, None
            function = self._gradients if with_objective else None
            core.set_objective(function, count_targets(data.get_label()))
            self._begin(earlier)

    def _begin(self, earlier):
        """Read the data and prepare the first round."""
        core, data = self.core, self.data
        known = getattr(earlier, "categories_", None)
        X = read_rows(core, data.rows(), reset=True, known=known)
        weights = data.get_float_info("feature_weights")
        core.feature_weights = weights if len(weights) else None
        y = core.read_targets(data)
        if len(y) != len_of(X):
            raise XGBoostError(f"Check failed: {len(y)} labels for {len_of(X)} rows")
        weight = data.get_weight().astype(np.float64)
        weight = weight if len(weight) and self.function_is_named else None
        rounds = [] if earlier is None else list(earlier._rounds)  # noqa: SLF001 - its own part
        if core.objective_name in KINDS and self.function_is_named:
            core.rank_queries(y, bounds_of(data), weight_of(data), len(rounds))
            weight = None
        if weight is not None and len(weight) != len(y):
            raise XGBoostError(f"Size of weight ({len(weight)}) must equal to number of rows.")
        margin = data.get_base_margin()
        margin = read_margin(margin, len(y), core._objective.n_scores) if margin.size else None  # noqa: SLF001
        self.is_complete = True
        if weight is not None and not weight.all():
            weight, X, y, margin = drop_unweighted(weight, X, y, margin)
            self.is_complete = False
        base = earlier._base if rounds else None  # noqa: SLF001 - its own part
        init = InitModel(0, rounds, base)
        self.workers = Workers(core._threads())  # noqa: SLF001 - its own part
        with self.workers:
            given = filled(core), X, y, weight, margin, init, self.workers
            self.boosting = core._begin(*given)  # noqa: SLF001 - its own part

    @property
    def function_is_named(self):
        """Whether the objective is built in. A user-defined one applies the weights itself."""
        return self.core._objective.name != "custom"  # noqa: SLF001 - its own part

    @property
    def rounds(self):
        """All rounds, including those of the earlier model: list of lists of NewtonTree."""
        return self.boosting.done

    def _gradients(self, _y, raw):
        """Return the derivatives of the user's objective at raw scores."""
        return self.function(raw.astype(np.float32), self.data)

    def update(self, function=None):
        """Add a round.

        Parameters
        ----------
        function : callable, default=None
            The user's objective. It takes raw scores and the DMatrix, and returns g and h.
        """
        self.function = function
        with self.workers:
            trees = self.boosting.boost()
        self.rounds[-1] = [in_level_order(tree) for tree in trees]
        self.function = None

    def scores(self):
        """Return the raw scores of the training rows, float64 (n_rows, n_scores).

        The result is None if rows of weight 0 were dropped.
        """
        return self.boosting.score.T if self.is_complete else None

    def fit_model(self):
        """Return a fitted `NativeModel` with all rounds so far."""
        return finish(copy(self.core), self.rounds)


def finish(core, rounds):
    """Set the fitted attributes of an estimator that has read its rows; return it."""
    core._rounds, core._history, core._stopped = list(rounds), {}, False  # noqa: SLF001
    core.set_objective()  # that of training may have the rows or a function of the user
    core._finish()  # noqa: SLF001 - its own part
    return core


def bounds_of(data):
    """Return the first row of each query of a DMatrix, and the number of rows, int64.

    Without queries all rows are one query.
    """
    bounds = data.get_uint_info("group_ptr").astype(np.int64)
    bounds = bounds if len(bounds) else np.array([0, data.num_row()])
    return np.unique(bounds)


def weight_of(data):
    """Return the weights of the queries of a DMatrix, float64 (n_queries,), or None.

    Raises
    ------
    XGBoostError
        If the number of weights is not that of the queries.
    """
    weight = data.get_weight().astype(np.float64)
    if not len(weight):
        return None
    sizes = np.diff(data.get_uint_info("group_ptr").astype(np.int64))
    if len(weight) != max(len(sizes), 1):
        raise XGBoostError(
            f"Size of weight ({len(weight)}) must be equal to the number of query groups"
        )
    return weight[sizes > 0] if len(sizes) else weight


def in_level_order(tree):
    """Return a `NewtonTree` whose nodes are numbered level by level, as in XGBoost's files."""
    order = level_order(tree.nodes["left"], tree.nodes["right"])
    number = np.full(len(order) + 1, -1, np.int32)  # the last entry is for the child −1
    number[order] = np.arange(len(order))
    nodes = tree.nodes[order]
    nodes["left"], nodes["right"] = number[nodes["left"]], number[nodes["right"]]
    sets = {int(number[at]): codes for at, codes in tree.sets.items()}
    return NewtonTree(nodes, sets, None if tree.values is None else tree.values[order])


def len_of(X):
    """Return the number of rows."""
    return X.shape[0]


class Margins:
    """Raw scores of a DMatrix, updated by the new rounds of a model.

    Parameters
    ----------
    data : DMatrix
    """

    def __init__(self, data):
        self.data, self.n_rounds, self.scores = data, 0, None

    def add(self, model, rounds):
        """Add the rounds that are new; return the raw scores, float64 (n_rows, n_scores).

        With dart all rounds are added again, since each round may change the earlier ones.

        Parameters
        ----------
        model : NativeModel whose base score is set
        rounds : list of all its rounds
        """
        n_scores = len(model._base)  # noqa: SLF001 - its own part
        if self.scores is None:
            self.X = read_rows(model, self.data.rows(), reset=False)
        if self.scores is None or is_dart(model):
            self.n_rounds, self.scores = 0, start_of(self.data, model._base, n_scores)  # noqa: SLF001
        if self.n_rounds < len(rounds):
            more = model._join(rounds[self.n_rounds :], first=False)  # noqa: SLF001
            FastPredictor(more).add(self.X, self.scores, model._threads())  # noqa: SLF001
            self.n_rounds = len(rounds)
        return self.scores


def start_of(data, base, n_scores):
    """Return the raw scores before the first round, float64 (n_rows, n_scores)."""
    margin = data.get_base_margin()
    if margin.size:
        return read_margin(margin, data.num_row(), n_scores)
    return np.tile(base.astype(np.float64), (data.num_row(), 1))
