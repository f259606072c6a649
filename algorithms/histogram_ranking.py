"""Histogram gradient boosting for ranking: lambdarank and rank_xendcg.

Burges: From RankNet to LambdaRank to LambdaMART: an overview. Microsoft Research, 2010. Bruch: An
alternative cross entropy loss for learning-to-rank. WWW 2021.

A row is a document of a query; the rows of a query are consecutive. With s the score, G the gain of
a label and D = 1 / log₂(2 + rank) the discount of a rank, each pair of documents a, b of one query
with G_a > G_b has the weight

    δ = (G_a − G_b) |D_a − D_b| / maxDCG                the change of NDCG if a and b swap ranks
    λ = σ δ / (1 + e^(σ (s_a − s_b)))                   g_a −= λ,  g_b += λ

`gbdt/kernels/ranking.py` has all formulas. Trees are those of `HistogramBoostingClassifier`.
"""

import warnings
from typing import ClassVar

from algorithms.compat.inputs import as_vector
from algorithms.compat.lightgbm_parameters import LIGHTGBM_RANKING
from algorithms.declarations import capacities, search_spaces
from algorithms.gbdt.base import BaseHistogramBoosting
from algorithms.gbdt.lightgbm_interface import LightGBMInterface, ValuePredictions
from algorithms.gbdt.metrics import find_metric
from algorithms.gbdt.params import check_together
from algorithms.gbdt.query_groups import read_group
from algorithms.gbdt.ranking_metrics import NAMES, ranking_metric, read_levels
from algorithms.gbdt.ranking_objectives import NAMES as OBJECTIVES
from algorithms.gbdt.ranking_objectives import check_labels, find_ranking_objective, read_gains
from harness import Accepts, Algorithm, Task, estimator_adapter, hookimpl

LEVELS = (1, 2, 3, 4, 5)


class HistogramBoostingRanker(ValuePredictions, LightGBMInterface, BaseHistogramBoosting):
    """Histogram gradient boosting for ranking, with LightGBM's parameter names and defaults.

    All other parameters and attributes are those of `HistogramBoostingClassifier`, except those
    that concern classes.

    Parameters
    ----------
    objective : str or callable, default=None
        "lambdarank" (used for None) or "rank_xendcg". A callable takes (y, raw scores), (y, raw
        scores, weights) or (y, raw scores, weights, group), and returns g and h.
    parity : {"lightgbm"}, default=None
        "lightgbm" grows LightGBM's own trees with the objective "lambdarank".
    **kwargs
        All other LightGBM parameters and all aliases (docs/moving.md), among them the next five.
    label_gain : list of float, default=None
        Gain of each label, not decreasing. None means 2^label − 1 for the labels 0 … 30.
    lambdarank_truncation_level : int, default=30
        Each pair has a document among so many of the highest scores.
    lambdarank_norm : bool, default=True
        Whether the gradients of a query are normalized.
    sigmoid : float, default=1.0
        Slope σ of the logistic function of lambdarank.
    eval_at : list of int, default=None
        Ranks at which NDCG and MAP are computed; it precedes the argument of `fit`.
    """

    _parameter_table: ClassVar = LIGHTGBM_RANKING
    _objective_names = frozenset(OBJECTIVES)
    label_gain = None  # defaults of parameters that the constructor takes as **kwargs
    lambdarank_truncation_level = 30
    lambdarank_norm = True
    sigmoid = 1.0
    eval_at = None
    lambdarank_position_bias_regularization = 0.0

    def fit(
        self,
        X,
        y,
        sample_weight=None,
        init_score=None,
        group=None,
        eval_set=None,
        eval_names=None,
        eval_sample_weight=None,
        eval_init_score=None,
        eval_group=None,
        eval_metric=None,
        eval_at=LEVELS,
        feature_name="auto",
        categorical_feature="auto",
        callbacks=None,
        init_model=None,
        *,
        eval_X=None,
        eval_y=None,
    ):
        """Train the model.

        Parameters not listed here are as in `HistogramBoostingClassifier.fit`.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
            The rows of a query are consecutive.
        y : array-like of shape (n_rows,)
            Labels, whole numbers from 0 on; a larger one is more relevant.
        group : array-like of int of shape (n_queries,)
            Number of rows of each query, in their order.
        eval_group : list of array-like
            Number of rows of each query, for each evaluation table.
        eval_metric : str, callable or list of them, default=None
            "ndcg" and "map" are computed at the ranks ``eval_at``.
        eval_at : list of int, default=(1, 2, 3, 4, 5)
            Ranks at which NDCG and MAP are computed.

        Returns
        -------
        self : HistogramBoostingRanker
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If parameters, X, y, groups or weights are invalid.
        """
        if group is None:
            raise ValueError("Should set group for ranking task")
        if eval_group is None and any(one is not None for one in (eval_set, eval_X, eval_y)):
            raise ValueError(
                "eval_group cannot be None if any of eval_set, eval_X, or eval_y are provided"
            )
        tables = {"eval_set": eval_set, "eval_X": eval_X, "eval_y": eval_y}
        names = {"feature_name": feature_name, "categorical_feature": categorical_feature}
        evaluation = {
            "names": eval_names,
            "weights": eval_sample_weight,
            "class_weights": None,
            "init_scores": eval_init_score,
            "metrics": eval_metric,
            "callbacks": callbacks,
        }
        start = {"init_score": init_score, "init_model": init_model}
        ranking = {"group": group, "eval_group": eval_group, "eval_at": eval_at}
        return self._fit((X, y, sample_weight), tables, evaluation, names, start, ranking)

    def _take_groups(self, ranking, y, evaluation):
        """Set the query groups of training, the ranks of evaluation and the tables' groups."""
        self._bounds = read_group(as_vector(ranking["group"]), len(y))
        extra = self.__dict__.get("_extra_params", {})
        for name in self._parameter_table.by_name["eval_at"].names:
            if name in extra:
                warnings.warn(
                    f"Found {name!r} in params. Will use it instead of 'eval_at' argument",
                    stacklevel=4,
                )
        given = self.eval_at
        self.eval_at = read_levels(ranking["eval_at"] if given is None else given)
        if evaluation["tables"] is None:
            return
        groups, tables = ranking["eval_group"], evaluation["tables"]
        if isinstance(groups, dict):
            groups = [groups.get(number) for number in range(len(tables))]
        if not isinstance(groups, list | tuple) or len(groups) != len(tables):
            raise ValueError(
                f"Length of eval_group ({len(groups) if hasattr(groups, '__len__') else 1}) not "
                f"equal to length of eval_set ({len(tables)}): it is a list with the groups of "
                "each table"
            )
        if any(group is None for group in groups):
            raise ValueError("Should set group for all eval datasets for ranking task")
        evaluation["groups"] = [as_vector(group) for group in groups]

    def _y_checks(self):
        """Return the keyword arguments of scikit-learn's check of y."""
        return {"y_numeric": True}

    def _read_y(self, y, _labels=None):
        """Return y as float64; raise ValueError if a label has no gain."""
        return check_labels(y, len(read_gains(self.label_gain)))

    def _encode_y(self, y):
        """Return an evaluation table's y; raise ValueError if a label has no gain."""
        return check_labels(y, len(read_gains(self.label_gain)), " of eval_set")

    def _find_objective(self):
        """Return the `RankingObjective`, or the callable; check the other parameters."""
        objective = self.objective
        if not callable(objective):
            objective = find_ranking_objective(self)
        check_together(self, objective)
        return objective

    def _metric(self, wanted):
        """Return the metric of a name; an empty name selects NDCG."""
        name = NAMES.get(wanted or "ndcg")
        if name is None:
            return find_metric(wanted, "regression", self)
        return ranking_metric(name, self.eval_at, read_gains(self.label_gain))

    def _saved_objective(self):
        """Return the name of the objective for a library's file."""
        name = getattr(self._objective, "name", "")
        return name or (self.objective if isinstance(self.objective, str) else OBJECTIVES[0])


def build(spec):
    """Return the ranker of a harness spec."""
    ranker = HistogramBoostingRanker(random_state=spec.seed, n_jobs=spec.threads)
    return ranker.set_params(**spec.params)


@hookimpl
def register_algorithms(register):
    """Register histogram boosting for ranking with the harness."""
    register(
        Algorithm(
            "histogram_ranking",
            estimator_adapter(build),
            frozenset({Task.RANKING}),
            accepts=Accepts(missing=True, categorical=True, sparse=True, weights=False),
            params={"n_estimators": 100},
            estimators=("", "algorithms.HistogramBoostingRanker"),
            capacity=capacities.HISTOGRAM_BOOSTING,
            space=search_spaces.HISTOGRAM_BOOSTING,
            reference="lightgbm.lambdarank",
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://www.microsoft.com/en-us/research/publication/"
            "from-ranknet-to-lambdarank-to-lambdamart-an-overview/",
            summary="histogram boosting for ranking: lambdarank",
        )
    )
