"""CatBoost's ranker."""

from algorithms.compat.catboost.arguments import check_others
from algorithms.compat.catboost.estimators import CatBoostMethods
from algorithms.compat.catboost.pool import (
    CatBoostError,
    Pool,
    eval_group_ids,
    eval_tables,
    eval_weights,
    list_of,
    rows_of,
)
from algorithms.symmetric_ranking import SymmetricBoostingRanker

OF_POOL = {  # argument of `fit`, attribute of a Pool
    "y": "label",
    "group_id": "group_id",
    "sample_weight": "weight",
    "group_weight": "group_weight",
    "pairs": "pairs",
    "pairs_weight": "pairs_weight",
}


class CatBoostRanker(CatBoostMethods, SymmetricBoostingRanker):
    """`SymmetricBoostingRanker` under CatBoost's name."""

    def fit(
        self,
        X,
        y=None,
        group_id=None,
        cat_features=None,
        *,
        pairs=None,
        sample_weight=None,
        group_weight=None,
        pairs_weight=None,
        use_best_model=None,
        eval_set=None,
        verbose=None,
        early_stopping_rounds=None,
        callbacks=None,
        init_model=None,
        **others,
    ):
        """Train the model.

        Parameters
        ----------
        X : Pool, or array-like, frame or sparse matrix (n_rows, n_features)
        y, group_id : array-like (n_rows,), optional
            Must be None if X is a Pool, and so must pairs and weights.
        cat_features : list of int or str, optional
            Categorical columns, by position or name; by default those of the Pool.
        pairs : array-like of int (n_pairs, 2), optional
            Rows of a winner and a loser, for PairLogit.
        sample_weight, group_weight : array-like (n_rows,), optional
            Weight of the query of each row; give one of them.
        pairs_weight : array-like (n_pairs,), optional
        use_best_model, verbose, early_stopping_rounds : optional
            Replace the parameters of these names.
        eval_set : Pool with group_id, or list of Pools, optional
            Evaluation sets; they have no weights.
        callbacks : list of objects, optional
            As in `CatBoostClassifier.fit`.
        init_model : fitted ranker, CatBoost, or path of a file in the JSON format, optional
            Model whose trees become the first trees of this one.
        **others
            CatBoost's other arguments; they must be None or have no effect.

        Returns
        -------
        The estimator.

        Raises
        ------
        CatBoostError, ValueError, TypeError
            If parameters or data are invalid.
        """
        self._begin_fit(X, cat_features, others)
        if any(getattr(one, "baseline", None) is not None for one in (X, *list_of(eval_set))):
            raise CatBoostError("a ranker does not support baselines")
        given = {
            "y": y,
            "group_id": group_id,
            "sample_weight": sample_weight,
            "group_weight": group_weight,
            "pairs": pairs,
            "pairs_weight": pairs_weight,
        }
        rows, given = read_ranking(X, given)
        if eval_weights(eval_set) is not None:
            raise CatBoostError("weights of an evaluation set of a ranking are not supported")
        return SymmetricBoostingRanker.fit(
            self,
            rows,
            **given,
            eval_set=eval_tables(eval_set),
            eval_group_id=eval_group_ids(eval_set),
            use_best_model=use_best_model,
            early_stopping_rounds=early_stopping_rounds,
            verbose=verbose,
            callbacks=callbacks,
            init_model=getattr(init_model, "_model", init_model),
        )

    def _convert(self, raw, prediction_type):
        """Return raw scores, float64 (n_rows,)."""
        if prediction_type not in (None, "RawFormulaVal"):
            raise CatBoostError(f"prediction_type {prediction_type!r} is not supported")
        return raw[:, 0]

    def predict(self, X, ntree_start=0, ntree_end=0, **others):
        """Return raw scores, float64 (n_rows,).

        Parameters
        ----------
        X : Pool, or as in `fit`
        ntree_start, ntree_end : int
            Half-open range of trees to use; 0 as the end means all.
        **others
            CatBoost's other arguments; they must be None or have no effect.
        """
        check_others(others)
        return super().predict(rows_of(X), ntree_start, ntree_end)

    def score(self, X, y=None, group_id=None, top=None, type=None):  # noqa: A002 - CatBoost's name
        """Return the mean NDCG of the queries.

        Parameters
        ----------
        X : Pool with group_id, or as in `fit`
        y, group_id : array-like (n_rows,), optional
            Must be None if X is a Pool.
        top : int, optional
            Number of ranks that count; by default all.
        type : {"Base", "Exp"}, optional
            Whether the gain of a label is the label (the default) or 2^label − 1.
        """
        rows, given = read_ranking(X, {"y": y, "group_id": group_id})
        labels = given["y"], given["group_id"]
        return SymmetricBoostingRanker.score(self, rows, *labels, top=top, type=type or "Base")


def read_ranking(X, given):
    """Return the rows and the arguments of `SymmetricBoostingRanker`.

    Parameters
    ----------
    X : Pool, or rows
    given : dict, argument → value; those of a Pool replace them

    Raises
    ------
    CatBoostError
        If there are no labels, X is a Pool and another argument is given, or two kinds of weights
        are given.
    """
    if isinstance(X, Pool):
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise CatBoostError(f"X is a Pool: {extra[0]} must be None")
        given = {name: getattr(X, OF_POOL[name]) for name in given}
        X = X.data
    if given["y"] is None:
        raise CatBoostError("y is missing: give y, or a Pool with labels")
    of_group = given.pop("group_weight", None)
    if of_group is not None:
        if given["sample_weight"] is not None:
            raise CatBoostError("give one of sample_weight and group_weight")
        given["sample_weight"] = of_group
    return X, given
