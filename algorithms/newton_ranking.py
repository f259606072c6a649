"""Second-order boosting for ranking: rank:ndcg, rank:pairwise and rank:map.

Burges: From RankNet to LambdaRank to LambdaMART: an overview. Microsoft Research, 2010.

A row is a document of a query; the rows of a query are consecutive. With s the score of a document,
y its label, and each pair of documents a, b of one query with y_a > y_b, of which by default one is
among the ``lambdarank_num_pair_per_sample`` highest scores:

    p = 1 / (1 + e^(s_b − s_a)),  λ = (1 − p) δ
    g_a −= λ,  g_b += λ,  h_a and h_b += 2 p (1 − p) δ

    rank:pairwise   δ = 1
    rank:ndcg       δ = change of NDCG if a and b swap their ranks
    rank:map        δ = change of the average precision if a and b swap their ranks

`newton/kernels/ranking.py` has all formulas. Trees are those of `NewtonBoostingRegressor`.
"""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from algorithms.compat.xgboost_parameters import RANKING, XGBOOST_RANKING
from algorithms.declarations import capacities, search_spaces
from algorithms.gbdt.kernels.gradients import L2
from algorithms.newton.base import BaseNewtonBoosting
from algorithms.newton.early_stopping import EvaluationSets
from algorithms.newton.objectives import Objective
from algorithms.newton.params import CONSTRAINTS, filled
from algorithms.newton.query_tables import QueryTables, read_query_weight
from algorithms.newton.ranking_metrics import find_ranking_metrics
from algorithms.newton.ranking_objectives import KINDS, RankingObjective, read_ranking_settings
from algorithms.newton.value_predictions import ValuePredictions
from algorithms.newton.xgboost_interface import XGBoostInterface
from harness import Accepts, Algorithm, Task, estimator_adapter, hookimpl

DEFAULT = "rank:ndcg"


class NewtonBoostingRanker(ValuePredictions, XGBoostInterface, BaseNewtonBoosting):
    """Second-order boosting for ranking, with XGBoost's parameter names and defaults.

    All other parameters and attributes are those of `NewtonBoostingClassifier`, except those that
    concern classes. A higher prediction is a higher rank in the query.

    Parameters
    ----------
    objective : {"rank:ndcg", "rank:pairwise", "rank:map"}, optional
        "rank:ndcg" is used for None. Labels of "rank:map" are 0 and 1.
    eval_metric : str, callable or list, optional
        "ndcg", "map" and "pre", such as "ndcg@5"; by default NDCG, or for "rank:map" MAP, at
        ``lambdarank_num_pair_per_sample``.
    parity : None
        XGBoost's arithmetic is not available for ranking.
    **kwargs
        All other parameters of XGBoost and its aliases (docs/moving.md), among them the next ones.
    lambdarank_pair_method : {"topk", "mean"}, default="topk"
        "topk": each document among the highest scores and each document with a lower score.
        "mean": each document and random documents with other labels; as in XGBoost 3.2 they do not
        depend on ``random_state``.
    lambdarank_num_pair_per_sample : int, optional
        Number of the highest scores (by default 32), or of random documents (by default 1).
    lambdarank_normalization : bool, default=True
        Whether the gradients of a query are divided by their size, or with "mean" by the number of
        random documents.
    lambdarank_score_normalization : bool, default=True
        Whether δ is divided by the difference of the scores.
    lambdarank_unbiased : bool, default=False
        Whether the bias of the documents' positions in their query is estimated, for labels that
        are clicks; see `newton/position_bias.py`.
    lambdarank_bias_norm : float, default=1.0
        Regularization of the bias.
    ndcg_exp_gain : bool, default=True
        Whether the gain of label y is 2^y − 1 instead of y.

    Attributes
    ----------
    position_bias_ : float64 (2, n_positions), with ``lambdarank_unbiased``
        t⁺ and t⁻ of `newton/position_bias.py` after the last round.
    """

    _parameter_table: ClassVar = XGBOOST_RANKING
    _parameter_constraints: ClassVar = {
        **CONSTRAINTS,
        "objective": [StrOptions(set(KINDS)), None],
        "parity": [None],
    }
    _objective_names = frozenset(KINDS)
    lambdarank_pair_method = None  # defaults of parameters that the constructor takes as **kwargs
    lambdarank_num_pair_per_sample = None
    lambdarank_normalization = None
    lambdarank_score_normalization = None
    lambdarank_unbiased = None
    lambdarank_bias_norm = None
    ndcg_exp_gain = None

    def fit(
        self,
        X,
        y,
        *,
        group=None,
        qid=None,
        sample_weight=None,
        base_margin=None,
        eval_set=None,
        eval_group=None,
        eval_qid=None,
        verbose=False,
        xgb_model=None,
        sample_weight_eval_set=None,
        base_margin_eval_set=None,
        feature_weights=None,
    ):
        """Train the model.

        Parameters not listed here are as in `NewtonBoostingClassifier.fit`.

        Parameters
        ----------
        X : array-like, frame or CSR matrix (n_rows, n_features)
            The rows of a query are consecutive.
        y : array-like (n_rows,)
            Labels; a larger one is more relevant.
        group : array-like of int (n_queries,)
            Number of rows of each query, in their order. Either ``group`` or ``qid`` is required.
        qid : array-like (n_rows,)
            Query of each row.
        sample_weight : array-like (n_queries,), optional
            Weights of the queries.
        eval_group, eval_qid, sample_weight_eval_set : list, optional
            An entry for each evaluation table, as the arguments above.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError, TypeError
            If parameters, X, y, queries or weights are invalid.
        """
        self._queries = QueryTables(group, qid, eval_group, eval_qid)
        try:
            return super().fit(
                X,
                y,
                sample_weight,
                base_margin=base_margin,
                eval_set=eval_set,
                verbose=verbose,
                xgb_model=xgb_model,
                sample_weight_eval_set=sample_weight_eval_set,
                base_margin_eval_set=base_margin_eval_set,
                feature_weights=feature_weights,
            )
        finally:
            self.__dict__.pop("_queries", None)

    def _read_y(self, y, _labels=None):
        """Return the labels, float64; read the query groups."""
        self._bounds = self._queries.read_bounds(len(y))
        return y.astype(np.float64, copy=False)

    def _read_weight(self, sample_weight, _X, _y):
        """Return None: the queries have weights, not the rows."""
        self._query_weight = read_query_weight(sample_weight, self._bounds)

    def _find_objective(self, _params, y):
        """Return the `RankingObjective` of the training rows."""
        given = self._ranking_settings(), y, self._bounds, self._query_weight
        return RankingObjective(self.objective or DEFAULT, *given)

    def _ranking_settings(self):
        """Return the `RankingSettings` of the parameters."""
        return read_ranking_settings({name: getattr(self, name) for name in RANKING.split()})

    def _begin(self, params, X, y, weight, margin, init, workers):
        """Return the `Rounds` of a training; see `BaseNewtonBoosting._begin`."""
        self._objective.n_rounds = len(init.rounds)
        return super()._begin(params, X, y, weight, margin, init, workers)

    def _read_eval_sets(self, tables, weights, margins, verbose):
        """Return the `EvaluationSets` of the arguments of ``fit``, with queries."""
        found = EvaluationSets(tables, weights, margins, verbose)
        bounds, name = self._queries.read_eval_bounds(tables), "sample_weight_eval_set"
        if weights is not None:
            pairs = zip(weights, bounds, strict=True)
            weights = [read_query_weight(*pair, name) for pair in pairs]
        return replace(found, weights=weights, bounds=bounds)

    def _find_metrics(self):
        """Return the metrics of the evaluation sets; see `find_ranking_metrics`."""
        given = self.objective or DEFAULT, self._ranking_settings(), filled(self)
        return find_ranking_metrics(self.eval_metric, *given)

    def _finish(self):
        """Set the fitted attributes; remove those about the training rows."""
        super()._finish()
        for name in ("_queries", "_bounds", "_query_weight"):
            del self.__dict__[name]
        self.__dict__.pop("position_bias_", None)
        if self._objective.settings.unbiased:
            self.position_bias_ = np.stack([self._objective.bias.plus, self._objective.bias.minus])
        self._objective = Objective(self._objective.name, L2, 0.0, 1, "identity")

    def _saved_objective(self):
        """Return the name of the objective for a library's file."""
        return self.objective or DEFAULT

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        return tags


def build(spec):
    """Return the ranker of a harness spec."""
    ranker = NewtonBoostingRanker(random_state=spec.seed, n_jobs=spec.threads)
    return ranker.set_params(**spec.params)


@hookimpl
def register_algorithms(register):
    """Register second-order boosting for ranking with the harness."""
    register(
        Algorithm(
            "newton_ranking",
            estimator_adapter(build),
            frozenset({Task.RANKING}),
            accepts=Accepts(missing=True, categorical=True, sparse=True, weights=False),
            params={"n_estimators": 100},
            estimators=("", "algorithms.NewtonBoostingRanker"),
            capacity=capacities.NEWTON_BOOSTING,
            space=search_spaces.NEWTON_BOOSTING,
            reference="xgboost.ranking",
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://www.microsoft.com/en-us/research/publication/"
            "from-ranknet-to-lambdarank-to-lambdamart-an-overview/",
            summary="second-order boosting for ranking: rank:ndcg",
        )
    )
