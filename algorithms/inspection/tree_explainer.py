"""`TreeExplainer`: SHAP values of models of trees, for the plots of the shap package.

The shap package is needed for this module only.
"""

import numpy as np

from algorithms.inspection.tree_models import read_model_trees

try:
    import shap
except ImportError as error:
    raise ImportError(
        "TreeExplainer needs the shap package: install it with `pip install shap`"
    ) from error

PATH_DEPENDENT = ("auto", "tree_path_dependent")


class TreeExplainer(shap.Explainer):
    """Exact SHAP values and interaction values of a fitted model of trees.

    They are path-dependent TreeSHAP values of the raw scores: unknown features are averaged by the
    numbers of training rows in the branches. The values of a row and the expected value sum to its
    raw score. They are computed in float64, for any library's model. CatBoost itself reads the
    splits of a tree from the last to the first, so its own values differ from these.

    Parameters
    ----------
    model : object
        A fitted estimator or Booster of this package, a fitted model of scikit-learn, LightGBM,
        XGBoost or CatBoost, or a `harness.TreeEnsemble`. Categories in a frame must be those of
        training.
    data : None
        Background rows are not supported.
    model_output : {"raw"}, default="raw"
        The values explain raw scores, before the link function.
    feature_perturbation : {"auto", "tree_path_dependent"}, default="auto"
        Both are the path-dependent values.
    feature_names : list of str, default=None
        None uses the column names of X or of training, if there are any.
    output_names : list of str, default=None
        Names of the scores, for plots.
    n_jobs : int, default=None
        Number of threads. None uses that of the model, -1 all processors. The values are the same
        for any number.

    Attributes
    ----------
    expected_value : float, or float64 (n_outputs,) with several scores per row
        Mean raw score, weighted by the covers of the leaves.

    Raises
    ------
    ImportError
        If the shap package is not installed.
    TypeError
        If the model has no trees.
    ValueError
        If the model predicts a median of trees, its trees have no covers, or an option is not
        supported.

    Examples
    --------
    >>> explanation = TreeExplainer(model)(X)  # doctest: +SKIP
    >>> shap.plots.beeswarm(explanation)  # doctest: +SKIP
    """

    def __init__(
        self,
        model,
        data=None,
        model_output="raw",
        feature_perturbation="auto",
        *,
        feature_names=None,
        output_names=None,
        n_jobs=None,
    ):
        if data is not None:
            raise ValueError("background data is not supported: values are path-dependent")
        if model_output != "raw":
            raise ValueError(f"model_output must be 'raw', not {model_output!r}")
        if feature_perturbation not in PATH_DEPENDENT:
            raise ValueError(
                f"feature_perturbation must be one of {', '.join(PATH_DEPENDENT)}, "
                f"not {feature_perturbation!r}"
            )
        trees = read_model_trees(model)
        self._trees, self._explainer, self.n_jobs = trees, trees.explainer(), n_jobs
        names = trees.names if feature_names is None else list(feature_names)
        super().__init__(model, feature_names=names, output_names=output_names)
        base = self._explainer.base
        self.expected_value = base.copy() if len(base) > 1 else float(base[0])

    def __call__(self, X, *, interactions=False, check_additivity=True):
        """Return the SHAP values of rows as a `shap.Explanation`.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_rows, n_features)
        interactions : bool, default=False
            Whether to return interaction values instead.
        check_additivity : bool
            It has no effect: the values always sum to the raw scores.

        Returns
        -------
        shap.Explanation
            ``values`` as from `shap_values` or `shap_interaction_values`, ``base_values`` (n_rows,)
            or (n_rows, n_outputs), ``data`` and ``feature_names``.
        """
        del check_additivity
        values = self.shap_interaction_values(X) if interactions else self.shap_values(X)
        names = [str(one) for one in X.columns] if hasattr(X, "columns") else self.feature_names
        base = np.repeat(np.asarray(self.expected_value)[None], len(values), axis=0)
        data = X.to_numpy() if hasattr(X, "to_numpy") else X
        data = data if hasattr(data, "shape") else np.asarray(data)
        return shap.Explanation(
            values,
            base_values=base,
            data=data,
            feature_names=names,
            output_names=self.output_names,
        )

    def shap_values(self, X, *, check_additivity=True):
        """Return the SHAP values of rows.

        Parameters
        ----------
        X, check_additivity : as in a call

        Returns
        -------
        float64 (n_rows, n_features), or (n_rows, n_features, n_outputs) with several scores per row
        """
        del check_additivity
        return outputs_last(self._trees.mix(self._compute(self._explainer.explain, X)))

    def shap_interaction_values(self, X):
        """Return the SHAP interaction values of rows.

        Parameters
        ----------
        X : as in a call

        Returns
        -------
        float64 (n_rows, n_features, n_features), or (n_rows, n_features, n_features, n_outputs)
        with several scores per row. A matrix is symmetric, and its rows sum to the SHAP values.
        """
        return outputs_last(self._trees.mix_pairs(self._compute(self._explainer.interactions, X)))

    def _compute(self, method, X):
        """Apply a method of the `Explainer` to X in chunks of rows; return one array."""
        rows, ensemble = self._trees.read_rows(X), self._trees.ensemble
        threads = self._trees.threads(self.n_jobs)
        parts = [method(part, threads) for _, part in ensemble.chunks(rows)]
        return np.concatenate(parts) if parts else method(np.empty((0, ensemble.n_features)), 1)

    @staticmethod
    def supports_model_with_masker(model, masker):
        """Return whether a model can be explained; only without a masker."""
        if masker is not None:
            return False
        try:
            read_model_trees(model)
        except (TypeError, ValueError):
            return False
        return True


def outputs_last(values):
    """Return values with the axis of the outputs last; it is dropped if there is one output."""
    return values[:, 0] if values.shape[1] == 1 else np.moveaxis(values, 1, -1)
