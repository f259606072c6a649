"""The methods and attributes of XGBoost's estimators, for our second-order booster."""

from sklearn.utils.validation import check_is_fitted

from algorithms.compat.init_models import read_init_model
from algorithms.compat.inputs import as_rows, as_vector
from algorithms.compat.xgboost_parameters import read_xgboost_values
from algorithms.estimator.eval_sets import is_pair
from algorithms.newton.xgboost_booster import NewtonBooster

OF_THE_ESTIMATOR = {  # parameters that XGBoost's own training does not take
    *("importance_type", "n_estimators", "missing", "enable_categorical", "feature_types"),
    *("early_stopping_rounds", "callbacks", "eval_metric", "feature_weights"),
    *("parity", "prune", "proposal", "sketch_eps", "warm_start"),
}


class XGBoostInterface:
    """`fit` with XGBoost's arguments, and what it leaves."""

    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        base_margin=None,
        eval_set=None,
        verbose=False,
        xgb_model=None,
        sample_weight_eval_set=None,
        base_margin_eval_set=None,
        feature_weights=None,
        cuts=None,
    ):
        """Train.

        Parameters
        ----------
        X : array-like, frame or CSR matrix (n_rows, n_features), NaN or absent where missing
            Read as float32. Columns of a frame with a categorical dtype are categories.
        y : array-like (n_rows,)
            Labels of any kind, or numbers.
        sample_weight : array-like (n_rows,), optional
        base_margin : array-like (n_rows,) or (n_rows, n_scores), optional
            Raw scores that training starts from in place of the base score. The model does not
            keep them: hand those of other rows to ``predict``.
        eval_set : list of (X, y), optional
            Tables whose metrics are watched; the last one decides when to stop.
        verbose : bool or int
            Whether the metrics are printed after each round; n: after every n-th, and the last.
        xgb_model : fitted estimator, TreeEnsemble, XGBoost Booster or path, optional
            Its rounds come first, and ``n_estimators`` are added to them. Categories and labels
            keep the codes that it has for them; categories may be new, labels may not.
        sample_weight_eval_set : list of arrays, optional
        base_margin_eval_set : list of arrays, optional
        feature_weights : None; weights of columns are not supported
        cuts : (indptr, values), optional
            Bins of the hist method with parity="xgboost", as the library's `get_quantile_cut`
            returns them.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError, TypeError
            scikit-learn's, where parameters, X, y or weights are not right.
        """
        core = self._resolved()
        read_xgboost_values(core)
        row = self._parameter_table.by_name["feature_weights"]
        row.check(type(self).__name__, "feature_weights", feature_weights)
        core._train(  # noqa: SLF001 - a copy of this estimator
            as_rows(X),
            as_vector(y),
            None if sample_weight is None else as_vector(sample_weight),
            eval_set=None if eval_set is None else read_pairs(eval_set),
            sample_weight_eval_set=sample_weight_eval_set,
            base_margin=base_margin,
            base_margin_eval_set=base_margin_eval_set,
            verbose=verbose,
            xgb_model=None if xgb_model is None else read_init_model(xgb_model),
            cuts=cuts,
        )
        self._take_fitted(core)
        return self

    def get_booster(self):
        """Return the model under the names of XGBoost's Booster."""
        check_is_fitted(self, "ensemble_")
        return NewtonBooster(self)

    def get_xgb_params(self):
        """Return the parameters that XGBoost's own training would take."""
        found = {k: v for k, v in self.get_params().items() if k not in OF_THE_ESTIMATOR}
        return {k: v for k, v in found.items() if not callable(v)}

    def get_num_boosting_rounds(self):
        """Return how many rounds are asked for."""
        return self.n_estimators or 100


def read_pairs(eval_set):
    """Return evaluation tables with rows and labels as training reads them."""
    if not isinstance(eval_set, list | tuple) or not all(map(is_pair, eval_set)):
        return eval_set  # what is wrong with it, the reader of tables says
    return [(as_rows(X), as_vector(y)) for X, y in eval_set]
