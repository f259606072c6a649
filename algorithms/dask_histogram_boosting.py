"""Histogram boosting on a Dask cluster: the local model, from rows that lie on many machines.

Ke, Meng, Finley, Wang, Chen, Ma, Ye, Liu: LightGBM: a highly efficient gradient boosting decision
tree. NeurIPS 2017. Meng, Ke, Wang, Chen, Ye, Ma, Liu: A communication-efficient parallel algorithm
for decision tree. NeurIPS 2016, section 2 (data and attribute parallel).

    data     histogram(leaf) = Σ over workers of the histogram of their own rows
    feature  best split(leaf) = best over workers of that among their own features

Formulas are those of `histogram_boosting`; docs/dask.md says what travels. Gradients are whole
numbers, and whatever is drawn or rounded goes by a row's number in the whole table. So the model
is the one that `HistogramBoosting*` grows on one machine, to the bit, for any number of workers
and any partitioning.

Dask is imported where it is used: pip install 'dask[array,dataframe]' distributed.
"""

from typing import ClassVar

from algorithms.distributed import blocks
from algorithms.distributed.base_dask import DaskTraining
from algorithms.histogram_boosting import HistogramBoostingClassifier, HistogramBoostingRegressor


class DaskHistogramBoostingClassifier(DaskTraining, HistogramBoostingClassifier):
    """`HistogramBoostingClassifier` for Dask arrays and frames: the same model, to the bit.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the one that is connected last.
    tree_learner : {"data", "feature", "voting"}
        Workers share rows, and sums travel; or each gets all binned rows, shares features, and
        only splits travel: for tables of few rows and many columns; or workers share rows and
        vote which features' sums travel: for many columns. By votes the model is not the local
        one unless ``top_k`` is the number of features or more, and depends on the parts.
    top_k : int
        Features that each worker votes for, of each leaf; twice as many are summed.
    workers : list of str, optional
        Addresses of the workers to train on; by default those that hold rows.
    patience : float
        Seconds of silence after which a worker is given up that has not hung up. Until they have
        read their rows, all have a minute at least.
    **params
        Those of `HistogramBoostingClassifier`. ``n_jobs=None`` is the threads of the worker. Not
        to be had: `parity`, "dart", lossy bundles, objectives that are callable.

    Attributes
    ----------
    As of `HistogramBoostingClassifier`, and

    communication_ : dict
        ``workers``, ``trees``, and ``sent``: what for → bytes and messages, of all workers.
    """

    _local_class: ClassVar = HistogramBoostingClassifier

    def predict(self, X, num_iteration=None, *, pred_contrib=False):
        """Return the most probable label of each row; of a Dask collection lazily."""
        if not blocks.is_collection(X) or pred_contrib:
            return super().predict(X, num_iteration=num_iteration, pred_contrib=pred_contrib)
        dtype = self.classes_.dtype
        return self._by_blocks("predict", X, dtype=dtype, num_iteration=num_iteration)

    def predict_proba(self, X, num_iteration=None):
        """Return the probabilities of the classes; of a Dask collection lazily."""
        if not blocks.is_collection(X):
            return super().predict_proba(X, num_iteration=num_iteration)
        columns = list(self.classes_)
        return self._by_blocks("predict_proba", X, columns, num_iteration=num_iteration)


class DaskHistogramBoostingRegressor(DaskTraining, HistogramBoostingRegressor):
    """`HistogramBoostingRegressor` for Dask arrays and frames: the same model, to the bit.

    Parameters and attributes are as in `DaskHistogramBoostingClassifier`, and those of
    `HistogramBoostingRegressor`. Not to be had: objectives "regression_l1", "quantile", "mape" and
    "pseudo_huber" too, which take quantiles of all rows.
    """

    _local_class: ClassVar = HistogramBoostingRegressor

    def predict(self, X, num_iteration=None, *, pred_contrib=False):
        """Return predicted values; of a Dask collection lazily."""
        if not blocks.is_collection(X) or pred_contrib:
            return super().predict(X, num_iteration=num_iteration, pred_contrib=pred_contrib)
        return self._by_blocks("predict", X, num_iteration=num_iteration)
