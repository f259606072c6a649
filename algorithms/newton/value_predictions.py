"""Mixin of second-order boosters that predict values, not classes."""

import numpy as np

from algorithms.newton.model import flat


class ValuePredictions:
    """Predictions of a regressor or a ranker."""

    def _y_checks(self):
        """Return the options with which scikit-learn validates y."""
        return {"y_numeric": True}

    def _encode_y(self, y):
        """Return the targets of an evaluation set, float64."""
        return np.asarray(y, np.float64)

    def predict(
        self, X, *, output_margin=False, validate_features=True, base_margin=None,
        iteration_range=None,
    ):  # fmt: skip
        """Return predicted values, float64 (n_rows,), (n_rows, n_quantiles) or (n_rows, n_targets).

        Parameters
        ----------
        X : as in ``fit``
        output_margin : bool
            Whether to return raw scores, before the link is applied.
        validate_features, base_margin, iteration_range
            As in `NewtonBoostingClassifier.predict_proba`.
        """
        raw = self._raw(X, iteration_range, base_margin, checks_names=validate_features)
        return flat(raw) if output_margin else self._predict_scores(raw)

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for score in self._staged_raw(X):
            yield self._predict_scores(score)
