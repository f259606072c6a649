"""Training of a `NativeModel` round by round, with evaluation tables."""

from copy import copy
from types import SimpleNamespace

import numpy as np

from algorithms.compat.init_models import read_init_model
from algorithms.compat.lightgbm.dataset import name_as_in_training
from algorithms.compat.lightgbm.messages import LightGBMError
from algorithms.compat.lightgbm_parameters import read_lightgbm_values
from algorithms.estimator.sample_weight import drop_unweighted
from algorithms.gbdt.base import make_trainer
from algorithms.gbdt.early_stopping import EvalResult, EvaluationTable, TrainingModel, list_metrics
from algorithms.gbdt.init_score import Start
from algorithms.gbdt.query_groups import read_group
from algorithms.gbdt.ranking_metrics import read_levels
from algorithms.histogram_ranking import LEVELS
from algorithms.model_io.init_model import load_init_model
from algorithms.runtime.threads import Workers


class Training:
    """State of the training of one model.

    Parameters
    ----------
    model : NativeModel
        Unfitted, with the parameters.
    train_set : Dataset
    init_model : Booster or path, default=None
    """

    def __init__(self, model, train_set, init_model=None):
        core = model._resolved()  # noqa: SLF001 - its own part
        read_lightgbm_values(core)
        if core.parity is not None:
            raise LightGBMError("parity is a parameter of the estimators, not of train")
        core._validate_params()  # noqa: SLF001 - scikit-learn's convention
        core.parity_ = None
        self.core, self.train_set = core, train_set
        X, y = train_set.rows(), train_set.get_label()
        if y is None:
            raise LightGBMError("Label should not be None")
        before = None if init_model is None else load_init_model(read_init_model(init_model))
        group = train_set.get_group()
        core._bounds = None if group is None else read_group(group, len(y))  # noqa: SLF001
        core._positions = train_set.get_position()  # noqa: SLF001
        core.eval_at = read_levels(LEVELS if core.eval_at is None else core.eval_at)
        X, y, weight = core._read_training(X, y, train_set.weight, before)  # noqa: SLF001
        n_scores = core._n_scores  # noqa: SLF001 - its own part
        scores = None if before is not None else by_row(train_set.init_score, len(y), n_scores)
        self.start = Start(core, before, scores, None)
        self.start.of_tables = []
        self.kept = slice(None)  # the rows whose weight is not 0
        if weight is not None:
            self.start.check_given(len(y))
            if core._bounds is None and not callable(core._objective):  # noqa: SLF001
                self.kept = np.flatnonzero(weight > 0.0)
                given = drop_unweighted(weight, X, y, self.start.given)
                weight, X, y, self.start.given = given
        self.workers = Workers(core._threads())  # noqa: SLF001 - its own part
        with self.workers:
            binned = core._bin_rows(X, y, weight, self.workers)  # noqa: SLF001
            given = binned, X, y, weight, self.workers, self.start
            self.booster = core._booster(*given)  # noqa: SLF001 - its own part
        self.trainer = make_trainer(self.booster, X)
        self.view = TrainingModel(core, self.booster, self.start.n_rounds)
        self.tables, self.table_of_train = [], None

    @property
    def n_rounds(self):
        """Number of rounds, with those of the initial model."""
        return self.start.n_rounds + len(self.booster.rounds)

    def rows(self):
        """Return the row of the Dataset at each position of the booster's arrays, int (n_rows,)."""
        rows, number = np.arange(self.train_set.num_data())[self.kept], self.booster.order[0]
        return rows[number] if len(number) else rows

    def update(self):
        """Add a round; return whether it has no split, in which case it is dropped."""
        rounds = self.booster.rounds
        with self.workers:
            trees = self.trainer.boost()
        is_over = all(tree.n_leaves == 1 for tree in trees)
        if is_over and self.n_rounds > 1 and self.core.boosting_type == "gbdt":
            rounds.pop()
        return is_over

    def roll_back(self):
        """Drop the last round."""
        booster = self.booster
        if not booster.rounds:
            raise LightGBMError("there is no round to drop")
        booster.rounds.pop()
        for table in [*self.tables, self.table_of_train]:
            if table is not None:
                table.forget()
        if self.core.boosting_type != "rf":  # whose trees all start from the same scores
            score = self.evaluate_train("training").scores(booster.rounds)
            booster.score[:] = score[self.rows()].T

    def add_table(self, data, name):
        """Add an evaluation table; return it."""
        table = self._make_table(data, name)
        self.tables.append(table)
        return table

    def evaluate_train(self, name):
        """Return the evaluation table of the training rows."""
        if self.table_of_train is None:
            self.table_of_train = self._make_table(self.train_set, name)
        self.table_of_train.name = name
        return self.table_of_train

    def _make_table(self, data, name):
        """Return an evaluation table before its first round."""
        given = by_row(data.init_score, data.num_data(), self.core._n_scores)  # noqa: SLF001
        self.start.of_tables.append(given)
        number = len(self.start.of_tables) - 1
        return NativeTable(self.core, self.start, number, data, name)

    def fit_model(self, n_rounds=None):
        """Return the fitted estimator of the first rounds, by default of all present ones."""
        last = None if n_rounds is None else max(0, n_rounds - self.start.n_rounds)
        rounds = self.booster.rounds[:last]
        if self.core.boosting_type == "rf":  # the trees are divided by their number
            rounds = [[one.copy() for one in trees] for trees in rounds]
        core = copy(self.core)
        no_view = SimpleNamespace(attributes=dict)
        loop = SimpleNamespace(best_round=0, best_score={}, history={}, model=no_view)
        core._keep(rounds, loop, self.start)  # noqa: SLF001 - its own part
        if hasattr(core, "feature_names_in_"):
            core.feature_names_in_ = core.feature_names_in_.astype(str)
        for name in ("_bounds", "_positions"):
            core.__dict__.pop(name, None)
        core.forget_functions()
        return core


class NativeTable(EvaluationTable):
    """Evaluation table that adds all rounds that it has not seen."""

    def __init__(self, core, start, number, data, name):
        names = getattr(core, "feature_names_in_", None)
        rows = name_as_in_training(data.rows(), names)
        given = rows, data.get_label(), data.weight, name, data.get_group()
        super().__init__(core, start, number, *given)
        self.data, self.n_seen = data, 0

    def forget(self):
        """Start again from the initial scores."""
        self.score, self.n_seen = self.first, 0

    def scores(self, rounds):
        """Return the raw scores after all rounds, float64 (n_rows, n_scores)."""
        if self.params.boosting_type == "dart":
            self.n_seen = max(0, len(rounds) - 1)
        if not rounds:
            base = self.params._base  # noqa: SLF001 - its own part
            return np.tile(base, (len(self.y), 1)) if self.first is None else self.first
        if self.n_seen == len(rounds):
            return self.last
        while self.n_seen < len(rounds):
            self.n_seen += 1
            self.last = self._add(rounds[: self.n_seen])
        return self.last

    def results(self, rounds, metrics):
        """Return the `EvalResult`s of named metrics."""
        if not metrics:
            return []
        score = self.scores(rounds)
        return [EvalResult(self.name, *one) for metric in metrics for one in metric(self, score)]


def find_metrics(core):
    """Return the metrics of the parameter ``metric``."""
    is_custom = core._family == "custom"  # noqa: SLF001 - its own part
    if is_custom and core.metric in (None, "", []):
        return []
    return list_metrics(core, None)


def by_row(given, n_rows, n_scores):
    """Return initial scores by row; a flat array of several scores is read class by class."""
    if given is None:
        return None
    given = np.asarray(given, np.float64)
    if given.ndim == 1 and n_scores > 1 and given.size == n_rows * n_scores:
        return given.reshape(n_scores, n_rows).T
    return given
