"""Ranking by boosted symmetric trees: YetiRank and PairLogit.

Gulin, Kuralenok, Pavlov: Winning the transfer learning track of Yahoo's learning to rank challenge
with YetiRank. JMLR W&CP 14, 2011. Burges et al.: Learning to rank using gradient descent. ICML
2005.

A row is a document of a query. With the score F, a pair of a more relevant row a and a less
relevant row b of one query has the loss

    w log(1 + e^(F_b − F_a))            p = 1 / (1 + e^(F_a − F_b))
    g_a = w p,  g_b = −w p              h_a = h_b = −w p (1 − p)

PairLogit takes all pairs with different labels, or given ones, with w = 1. YetiRank draws ten
orders of the documents by noisy scores for each tree and takes the neighbors in them as pairs,
with w = 0.15 · 0.85^rank |y_a − y_b| / 10: errors near the top count most.

A row's g, h and weight are sums over its pairs. Trees are those of `SymmetricBoostingRegressor`;
the row-weighted mean of a tree's leaf values is subtracted, which changes no ranking.
"""

from functools import partial
from typing import ClassVar

import numpy as np
from sklearn.utils import assert_all_finite

from algorithms.compat.inputs import as_vector
from algorithms.declarations import capacities, search_spaces
from algorithms.estimator.eval_sets import read_tables
from algorithms.symmetric.base import BaseSymmetricBoosting, read_targets
from algorithms.symmetric.class_weights import refuse_class_weights
from algorithms.symmetric.fitted_model import ValuePredictions
from algorithms.symmetric.initial_scores import InitialScores
from algorithms.symmetric.query_pairs import TrainingQueries, query_weights, read_group_id
from algorithms.symmetric.ranking_boosting import RankingBooster
from algorithms.symmetric.ranking_metrics import QueryLabels, find_ranking_metric, mean_pair_loss
from algorithms.symmetric.ranking_objectives import (
    NAMES,
    PAIRLOGIT,
    draw_pairs,
    find_ranking_objective,
)
from algorithms.symmetric_boosting import SymmetricAdapter
from harness import Accepts, Algorithm, Task, hookimpl


class SymmetricBoostingRanker(ValuePredictions, BaseSymmetricBoosting):
    """Ranker of boosted symmetric trees with CatBoost's parameter names and defaults.

    Parameters and attributes are those of `SymmetricBoostingClassifier`, except the ones about
    classes, and:

    Parameters
    ----------
    loss_function : str, optional
        "YetiRank" (the default), with options such as "YetiRank:permutations=10;decay=0.85", or
        "PairLogit". The default of ``l2_leaf_reg`` is 0 for YetiRank and 3 for PairLogit.
    eval_metric : str, optional
        "NDCG", such as "NDCG:top=10;type=Exp" (type "Base" takes the label as the gain, "Exp"
        2^label − 1), "MAP", such as "MAP:top=10", or "PairLogit". The default is NDCG for YetiRank
        and PairLogit for PairLogit.
    """

    _objective_names: ClassVar = frozenset(NAMES)
    _usual_importance = "LossFunctionChange"
    _labeled_row_names = ("X", "y", "group_id", "sample_weight")

    def fit(
        self,
        X,
        y,
        group_id=None,
        sample_weight=None,
        *,
        pairs=None,
        pairs_weight=None,
        cat_features=None,
        eval_set=None,
        eval_group_id=None,
        use_best_model=None,
        early_stopping_rounds=None,
        verbose=None,
        callbacks=None,
        init_model=None,
    ):
        """Train the model.

        Parameters
        ----------
        X : array-like, frame or sparse matrix (n_rows, n_features), NaN where missing
            The rows of a query are consecutive.
        y : array-like (n_rows,)
            Labels, numbers; a larger one is more relevant.
        group_id : array-like (n_rows,)
            Id of the query of each row, numbers or text.
        sample_weight : array-like (n_rows,), optional
            A query has the mean weight of its rows.
        pairs : array-like of int (n_pairs, 2), optional
            Rows of a winner and a loser, for PairLogit; by default all pairs of rows of a query
            with different labels.
        pairs_weight : array-like (n_pairs,), optional
        cat_features : sequence of int or str, optional
            Categorical columns, by position or name; replaces the parameter of this name.
        eval_set : (X, y) or list of (X, y), optional
            Evaluation sets; the last one decides the best iteration.
        eval_group_id : array-like (n_rows,) or list of array-like, optional
            Ids of the queries of each evaluation set.
        use_best_model, early_stopping_rounds, verbose : optional
            Replace the parameters of these names.
        callbacks : list of objects, optional
            As in `SymmetricBoostingClassifier.fit`.
        init_model : fitted estimator, TreeEnsemble or path of a model file, optional
            Ranker whose trees become the first trees of this one.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError, TypeError
            If parameters, X, y, ids, pairs or weights are invalid.
        """
        given = {
            "cat_features": cat_features,
            "use_best_model": use_best_model,
            "early_stopping_rounds": early_stopping_rounds,
            "verbose": verbose,
        }
        ids = None if group_id is None else as_vector(group_id)
        n_tables = len(read_tables(eval_set, may_be_one=True))
        of_tables = read_eval_ids(eval_group_id, n_tables)
        queries = TrainingQueries(ids, pairs, pairs_weight, of_tables)
        rows = X, y, sample_weight
        initial = InitialScores(init_model, kind=type(self))
        return self._fit(rows, eval_set, given, queries, initial, callbacks)

    def score(self, X, y, group_id=None, top=None, type="Base"):  # noqa: A002 - CatBoost's name
        """Return the mean NDCG of the queries.

        Parameters
        ----------
        X : as in `fit`
        y : array-like (n_rows,)
        group_id : array-like (n_rows,)
        top : int, optional
            Number of ranks that count; by default all.
        type : {"Base", "Exp"}
            Whether the gain of a label is the label or 2^label − 1.
        """
        options = ([] if top is None else [f"top={top}"]) + [f"type={type}"]
        _, metric, _ = find_ranking_metric(f"NDCG:{';'.join(options)}", None)
        score = self.predict(X)
        bounds = read_group_id(None if group_id is None else as_vector(group_id), len(score))
        return metric(QueryLabels(np.asarray(as_vector(y), np.float64), bounds), score)

    def _y_checks(self):
        """Return the options with which scikit-learn validates y."""
        return {"y_numeric": True}

    def _read_y(self, y):
        """Return y as float64; read the queries."""
        self._queries.read(len(y))
        return read_targets(y)

    def _weigh_classes(self, _y, weight):
        """Return the weight of each row's query, or None if all are 1."""
        refuse_class_weights(self)
        if weight is None:
            return None
        bounds = self._queries.bounds
        return np.repeat(query_weights(weight, bounds), np.diff(bounds))

    def _check_y(self, _y, _weight):
        """Raise ValueError if the loss does not take pairs; labels may be any numbers."""
        if self._queries.pairs is not None and self._objective.name != PAIRLOGIT:
            raise ValueError("pairs are for loss_function='PairLogit'")

    def _encode_y(self, y):
        """Return the labels of an evaluation set, float64."""
        return np.asarray(y, np.float64)

    def _keep_rows(self, kept):
        """Keep the queries of some rows of the table."""
        self._queries.keep(kept)

    def _find_objective(self):
        """Return the `RankingObjective` of the parameters."""
        return find_ranking_objective(self.loss_function)

    def _find_metric(self, wanted):
        """Return a metric, as `find_ranking_metric` does; None means that of the loss."""
        return find_ranking_metric(wanted, self._objective)

    def _make_loss_function(self, rows, raw):
        """Return a function that measures the loss of raw scores, as in the base class.

        It is the loss of the given or all pairs for PairLogit. YetiRank has the negative NDCG, or
        the loss of the pairs that it draws if all labels are between 0 and 1, as in CatBoost.
        """
        objective = find_ranking_objective(self._resolved().loss_function or self.objective)
        y, weight = self._encode_y(rows.y), rows.weights()
        assert_all_finite(y, input_name="the label")
        queries = TrainingQueries(rows.group_id, rows.pairs, rows.pairs_weight)
        queries.read(len(y))
        of_query = query_weights(np.empty(0) if weight is None else weight, queries.bounds)
        if objective.name == PAIRLOGIT:
            pairs = queries.find_pairs(y, of_query)
        elif y.min() >= 0.0 and y.max() <= 1.0:
            pairs = draw_pairs(objective, y, queries.bounds, of_query, raw[:, 0])
        else:
            metric = find_ranking_metric("NDCG", objective)[1]
            labels = QueryLabels(y, queries.bounds)
            return lambda score: -metric(labels, score[:, 0], weight)
        return lambda score: mean_pair_loss(pairs, score[:, 0])

    def _add_queries(self, eval_sets):
        """Replace the labels of the evaluation sets by `QueryLabels`."""
        for one, ids in zip(eval_sets, self._queries.eval_group_id, strict=True):
            one.y = QueryLabels(one.y, read_group_id(ids, len(one.y), "eval_group_id"))

    def _booster_class(self, _params, _table):
        """Return the booster's class with the queries as its first argument."""
        return partial(RankingBooster, self._queries)


def read_eval_ids(given, n_tables):
    """Return the ids of the queries of evaluation sets, a list with one array per set.

    Parameters
    ----------
    given : the ``eval_group_id`` of the user, or None
    n_tables : int

    Raises
    ------
    ValueError
        If their number is not that of the evaluation sets.
    """
    if given is None:
        listed = []
    elif n_tables == 1 and not (len(given) == 1 and np.ndim(given[0]) == 1):
        listed = [given]
    else:
        listed = list(given)
    if len(listed) != n_tables:
        raise ValueError(
            f"eval_group_id has ids of {len(listed)} tables; eval_set has {n_tables} tables"
        )
    return [as_vector(ids) for ids in listed]


class RankingAdapter(SymmetricAdapter):
    """Adapter of the ranker: the harness has the number of rows of each query, not their ids."""

    def fit(self, native):
        """Build a new ranker and train it."""
        self.model = self.build(self.spec)
        ids = np.repeat(np.arange(len(native.group)), native.group)
        self.model.fit(native.X, native.y, ids)


def build(spec):
    """Return the ranker of a harness spec."""
    ranker = SymmetricBoostingRanker(random_seed=spec.seed, thread_count=spec.threads)
    return ranker.set_params(**spec.params)


def make_adapter(spec):
    """Return the adapter of a spec."""
    return RankingAdapter(build, spec)


@hookimpl
def register_algorithms(register):
    """Register boosting of symmetric trees for ranking with the harness."""
    register(
        Algorithm(
            "symmetric_ranking",
            make_adapter,
            frozenset({Task.RANKING}),
            accepts=Accepts(missing=True, categorical=True, sparse=True, weights=False),
            params={"n_estimators": 100},
            defaults={"n_estimators": 1000},
            estimators=("", "algorithms.SymmetricBoostingRanker"),
            capacity=capacities.SYMMETRIC_BOOSTING,
            space=search_spaces.SYMMETRIC_BOOSTING,
            reference="catboost.ranking",
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://proceedings.mlr.press/v14/gulin11a.html",
            summary="boosting of symmetric trees for ranking: YetiRank",
        )
    )
