"""Methods and attributes of XGBoost's estimators for the second-order booster."""

from sklearn.utils.validation import check_is_fitted

from algorithms.compat.init_models import read_init_model
from algorithms.compat.inputs import as_rows, as_vector
from algorithms.compat.xgboost_parameters import read_xgboost_values
from algorithms.estimator.eval_sets import is_pair
from algorithms.newton.xgboost_booster import NewtonBooster

OF_THE_ESTIMATOR = {  # parameters that xgboost.train does not accept
    *("importance_type", "n_estimators", "missing", "enable_categorical", "feature_types"),
    *("early_stopping_rounds", "callbacks", "eval_metric", "feature_weights"),
    *("parity", "prune", "proposal", "sketch_eps", "warm_start", "rearrange_quantiles"),
}


class XGBoostInterface:
    """`fit` with XGBoost's arguments, and the Booster interface of the result."""

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
        """Train the model.

        Parameters
        ----------
        X : array-like, frame or CSR matrix (n_rows, n_features), NaN or absent where missing
            Read as float32. Columns of a frame with a categorical dtype are categorical features.
        y : array-like (n_rows,), or (n_rows, n_targets)
            Labels of any kind, or numbers. A classifier with several columns predicts several
            labels, each 0 or 1. Each round then grows one tree for each target.
        sample_weight : array-like (n_rows,), optional
        base_margin : array-like (n_rows,) or (n_rows, n_scores), optional
            Raw scores that replace the base score as the start of training. The model does not
            store them: pass those of other rows to ``predict``.
        eval_set : list of (X, y), optional
            Evaluation sets; the metric of the last one decides early stopping.
        verbose : bool or int
            Whether to print the metrics after each round; n prints every n-th round and the last.
        xgb_model : fitted estimator, TreeEnsemble, XGBoost Booster or path, optional
            Model to continue from: ``n_estimators`` rounds are added to its rounds. Categories and
            labels keep its codes; new categories are allowed, new labels are not.
        sample_weight_eval_set : list of arrays, optional
        base_margin_eval_set : list of arrays, optional
        feature_weights : array-like (n_features,), optional
            Weights with which columns are drawn, if a parameter ``colsample_…`` is below 1.
            Instead of the parameter of the same name.
        cuts : (indptr, values), optional
            Bins of the hist method with parity="xgboost", as the library's `get_quantile_cut`
            returns them.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError, TypeError
            If parameters, X, y or weights are invalid.
        """
        core = self._resolved()
        read_xgboost_values(core)
        core.feature_weights = choose_feature_weights(core.feature_weights, feature_weights)
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

    def _read_library_values(self):
        """Convert parameter values from the library's conventions to ours, in place."""
        read_xgboost_values(self)

    def get_booster(self):
        """Return the model with the interface of XGBoost's Booster."""
        check_is_fitted(self, "ensemble_")
        self._check_trees()
        return NewtonBooster(self)

    def get_xgb_params(self):
        """Return the parameters that xgboost.train accepts."""
        found = {k: v for k, v in self.get_params().items() if k not in OF_THE_ESTIMATOR}
        return {k: v for k, v in found.items() if not callable(v)}

    def get_num_boosting_rounds(self):
        """Return the number of boosting rounds."""
        return self.n_estimators or 100


def choose_feature_weights(parameter, argument):
    """Return the weights of columns given as a parameter or as an argument of ``fit``, or None.

    Raises
    ------
    ValueError
        If both are given.
    """
    if parameter is not None and argument is not None:
        raise ValueError("feature_weights is given twice. Use the one in the constructor")
    return parameter if argument is None else argument


def read_pairs(eval_set):
    """Return evaluation sets with rows and labels converted as in training."""
    if not isinstance(eval_set, list | tuple) or not all(map(is_pair, eval_set)):
        return eval_set  # `read_tables` raises the error
    return [(as_rows(X), as_vector(y)) for X, y in eval_set]
