"""Histogram gradient boosting on a Dask cluster, with the same model as on one machine.

Ke, Meng, Finley, Wang, Chen, Ma, Ye, Liu: LightGBM: a highly efficient gradient boosting decision
tree. NeurIPS 2017. Meng, Ke, Wang, Chen, Ye, Ma, Liu: A communication-efficient parallel algorithm
for decision tree. NeurIPS 2016, section 2 (data and attribute parallel).

    data     histogram(leaf) = Σ over workers of the histogram of their own rows
    feature  best split(leaf) = best over workers of the best split of their own features

The formulas are those of `histogram_boosting`; docs/dask.md lists the messages between workers.
Gradients are integers, and all random numbers depend on a row's number in the whole table. So the
model is bitwise identical to that of `HistogramBoosting*` on one machine, for any number of
workers and any partitioning.

Dask is an optional dependency: pip install 'dask[array,dataframe]' distributed.
"""

from typing import ClassVar

from algorithms.distributed import blocks
from algorithms.distributed.base_dask import DaskTraining
from algorithms.histogram_boosting import HistogramBoostingClassifier, HistogramBoostingRegressor


def returns_several(options):
    """Return whether prediction options ask for scores, leaves or contributions of a row."""
    return any(options.get(name) for name in ("raw_score", "pred_leaf", "pred_contrib"))


class DaskHistogramBoostingClassifier(DaskTraining, HistogramBoostingClassifier):
    """`HistogramBoostingClassifier` for Dask arrays and frames; the model is bitwise identical.

    Parameters
    ----------
    client : distributed.Client, default=None
        Dask client. None uses the client that was connected last.
    tree_learner : {"data", "feature", "voting"}
        "data": rows are split among workers, and histograms are sent. "feature": every worker has
        all binned rows and a part of the features, and only splits are sent; for tables of few
        rows and many columns. "voting": rows are split among workers, and only the histograms of
        features that the workers vote for are sent; for many columns. With "voting" the model
        depends on the partitioning and differs from the local one unless ``top_k`` is at least
        the number of features.
    top_k : int
        "voting": number of features that each worker votes for in each leaf. Histograms of twice
        as many features are summed.
    workers : list of str, default=None
        Addresses of the workers to train on. None uses the workers that hold rows.
    patience : float
        Seconds without a message after which a worker counts as lost, although its connection is
        open. The limit is at least 60 seconds until the workers have read their rows.
    **params
        Parameters of `HistogramBoostingClassifier`. ``n_jobs=None`` uses the threads of the Dask
        worker. Not supported: `parity`, "dart", `linear_tree`, `max_conflict_rate` above 0,
        callable objectives.

    Attributes
    ----------
    communication_ : dict
        ``workers``, ``trees``, and ``sent``: purpose → bytes and messages, summed over workers.
    **attributes
        Attributes of `HistogramBoostingClassifier`.
    """

    _local_class: ClassVar = HistogramBoostingClassifier

    def predict(self, X, **options):
        """Return the most probable label of each row; lazily for a Dask collection.

        ``options`` are the keywords of the local `predict`. With those that return something other
        than labels, X must be in memory.
        """
        if not blocks.is_collection(X) or returns_several(options):
            return super().predict(X, **options)
        return self._by_blocks("predict", X, dtype=self.classes_.dtype, **options)

    def predict_proba(self, X, **options):
        """Return the class probabilities; lazily for a Dask collection. Options as in `predict`."""
        if not blocks.is_collection(X) or returns_several(options):
            return super().predict_proba(X, **options)
        return self._by_blocks("predict_proba", X, list(self.classes_), **options)


class DaskHistogramBoostingRegressor(DaskTraining, HistogramBoostingRegressor):
    """`HistogramBoostingRegressor` for Dask arrays and frames; the model is bitwise identical.

    Parameters and attributes are those of `DaskHistogramBoostingClassifier` and of
    `HistogramBoostingRegressor`. The objectives "regression_l1", "quantile", "mape" and
    "pseudo_huber" are not supported, because they need quantiles of all rows.
    """

    _local_class: ClassVar = HistogramBoostingRegressor

    def predict(self, X, **options):
        """Return the predicted values; lazily for a Dask collection.

        ``options`` are the keywords of the local `predict`. With those that return something other
        than values, X must be in memory.
        """
        if not blocks.is_collection(X) or returns_several(options):
            return super().predict(X, **options)
        return self._by_blocks("predict", X, **options)
