"""Virtual ensembles: models that end at some tree of the second half, and their uncertainty.

Malinin, Prokhorenkova, Ustimenko: Uncertainty in gradient boosting via ensembles. ICLR 2021. With n
trees and k ensembles, ensemble i = 0 … k − 1 has the first n − (k − 1 − i) ⌊n / 2k⌋ trees.
"""

import numpy as np


class VirtualEnsembles:
    """Mixin with the predictions of virtual ensembles under CatBoost's names."""

    def virtual_ensembles_predict(
        self, X, prediction_type="VirtEnsembles", virtual_ensembles_count=10
    ):
        """Return the predictions of the first trees of the model, or their uncertainty.

        Parameters
        ----------
        X : as in ``fit``
        prediction_type : {"VirtEnsembles", "TotalUncertainty"}
        virtual_ensembles_count : int
            Number of ensembles k; at most half the number of trees.

        Returns
        -------
        float64 array
            "VirtEnsembles": (n_rows, k, n_scores), raw scores, or mean and variance of
            RMSEWithUncertainty. "TotalUncertainty": the mean and the variance of the ensembles of a
            regression, and for RMSEWithUncertainty also the mean of their variances,
            (n_rows, 2 or 3); for classes the mean entropy of the ensembles' probabilities, and the
            entropy of their mean, in nats, (n_rows, 2).

        Raises
        ------
        ValueError
            If the arguments are invalid, or the loss has no "TotalUncertainty".
        """
        if prediction_type not in ("VirtEnsembles", "TotalUncertainty"):
            raise ValueError(
                f"prediction_type is 'VirtEnsembles' or 'TotalUncertainty', not {prediction_type!r}"
            )
        count, n_trees = virtual_ensembles_count, self.tree_count_
        if not 1 <= count <= n_trees // 2:
            raise ValueError(
                f"virtual_ensembles_count must be between 1 and {n_trees // 2}, half the number of "
                f"trees, not {count}"
            )
        period = n_trees // (2 * count)
        ends = [n_trees - (count - 1 - i) * period for i in range(count)]
        raw = [self._raw(X, 0, end) for end in ends]
        if prediction_type == "TotalUncertainty" and self.ensemble_.classes:
            proba = np.stack([self._predict_scores(one) for one in raw])
            return np.column_stack([entropy(proba).mean(axis=0), entropy(proba.mean(axis=0))])
        is_normal = getattr(self._objective, "name", None) == "RMSEWithUncertainty"
        found = np.stack([self._predict_scores(one) if is_normal else one for one in raw], axis=1)
        if prediction_type == "VirtEnsembles":
            return found
        if not is_normal and (found.shape[2] > 1 or self.ensemble_.link != "identity"):
            raise ValueError(
                "TotalUncertainty is for classes, RMSEWithUncertainty and losses of one score "
                "without a link: use prediction_type='VirtEnsembles'"
            )
        mean, variance = found.mean(axis=1), found.var(axis=1)[:, :1]
        return np.concatenate([mean[:, :1], variance, mean[:, 1:]], axis=1)


def entropy(proba):
    """Return the entropy in nats over the last axis."""
    return -(proba * np.log(np.maximum(proba, np.finfo(np.float64).tiny))).sum(axis=-1)
