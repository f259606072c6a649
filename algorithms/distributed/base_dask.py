"""Base class of the two Dask histogram boosters: train on Dask collections, and predict."""

import hashlib
import json
from copy import copy
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from algorithms.distributed import blocks
from algorithms.distributed.boosting import Training
from algorithms.distributed.evaluation import bring_tables, read_tables
from algorithms.distributed.placement import (
    assign,
    compare_versions,
    compute_parts,
    inspect_parts,
    sum_sent,
    train_on,
)
from algorithms.distributed.table_parts import check_values, check_weights, count_rows, whole
from algorithms.distributed.worker_check import WorkerLostError, find_workers
from algorithms.estimator.fit_context import fit_context
from algorithms.estimator.sample_weight import check_class_weight
from algorithms.estimator.seeds import draw_seed
from algorithms.gbdt.input_table import encode_frame, find_categorical
from algorithms.gbdt.model import join_trees
from algorithms.gbdt.params import CONSTRAINTS
from algorithms.prediction.predictor import FastPredictor

OWN = "client", "tree_learner", "top_k", "workers", "patience"  # not parameters of the local model
READ_OFF = {  # attributes that fit derives from X and y
    *("n_features_in_", "feature_names_in_", "categories_", "classes_", "n_classes_"),
    *("_is_categorical", "_objective"),
}
UNSHARED = {  # parameters not supported on several machines, and the reason
    "parity": "a library's order of sums is that of one machine",
    "boosting_type": "'dart' changes the rounds that a resumed training starts from",
    "max_conflict_rate": "workers bundle no features",
    "linear_tree": "the regressions of the leaves need all rows of a leaf",
}


class DaskTraining:
    """`fit` and `predict` for Dask collections, on top of a local histogram booster."""

    _local_class: ClassVar[type]
    _own_parameters: ClassVar = frozenset(OWN)
    _progress_attributes: ClassVar[tuple] = ("_unfinished",)  # state for ``resume``
    _parameter_constraints: ClassVar = {
        **CONSTRAINTS,
        "client": "no_validation",
        "tree_learner": [StrOptions({"data", "feature", "voting"})],
        "top_k": [Interval(Integral, 1, None, closed="left")],
        "workers": [list, tuple, None],
        "patience": [Interval(Real, 0.0, 1e6, closed="right")],
    }

    def __init__(
        self,
        *,
        client=None,
        tree_learner="data",
        top_k=20,
        workers=None,
        patience=300.0,
        **params,
    ):
        super().__init__(**params)
        self.client = client
        self.tree_learner = tree_learner
        self.top_k = top_k
        self.workers = workers
        self.patience = patience

    @classmethod
    def _get_param_names(cls):
        return sorted([*cls._local_class._get_param_names(), *OWN])  # noqa: SLF001 - scikit-learn's name for it

    def __getstate__(self):
        return {**super().__getstate__(), "client": None}  # connections cannot be pickled

    def __sklearn_clone__(self):
        """Return an unfitted copy with these parameters; the client is shared, not copied."""
        clone = super(DaskTraining, copy(self)).__sklearn_clone__()
        clone.client = self.client
        return clone

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        eval_set=None,
        eval_sample_weight=None,
        eval_metric=None,
        resume=False,
    ):
        """Train the model on the cluster.

        Parameters
        ----------
        X : Dask array or frame of shape (n_rows, n_features)
            Features; NaN is a missing value.
        y : Dask array or series of shape (n_rows,)
            Labels or target values, with the same partitions as X.
        sample_weight : Dask array or series of shape (n_rows,), default=None
            Weight of each row, with the same partitions as X.
        eval_set : list of (X, y), default=None
            Evaluation tables, Dask collections or local tables. Each can stop training. They are
            sent to the client and to one worker, so they must fit into the memory of each.
        eval_sample_weight : list of array-like, default=None
            As in the local ``fit``.
        eval_metric : str, callable or list of them, default=None
            As in the local ``fit``.
        resume : bool, default=False
            Continue from the rounds that were finished when the last ``fit`` of this estimator
            raised a `WorkerLostError`, on the workers that are connected now.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        WorkerLostError
            If a worker or a connection is lost, or there is no worker. The other workers stop
            within seconds.
        VersionError
            If a worker has other versions or kernels than this process, or lacks this package.
        ValueError, TypeError
            If parameters, X, y or weights are invalid, or ``workers`` names an unknown worker.
        """
        self._refuse_unshared()
        tables = read_tables(eval_set, eval_sample_weight)
        if self.early_stopping_round is not None and not tables:
            raise ValueError("early_stopping_round requires an eval_set")
        client = self._client()
        addresses = find_workers(client, self.workers)
        compare_versions(client, addresses)
        with client.as_current():
            X = blocks.known_categories(X)
        others = [y] if sample_weight is None else [y, sample_weight]
        parts = blocks.parts_of(X, others)
        workers = None if self.workers is None else addresses
        futures = compute_parts(client, parts, workers)
        model = self._describe_columns(X)
        facts = inspect_parts(client, futures, model, workers)
        tables = bring_tables(client, tables, eval_sample_weight, workers)
        job, place = self._prepare(model, facts, *tables, eval_metric)
        key = self._key(job, facts)
        if resume:
            self._resume(job, key)
        assigned = assign(client, futures, workers)
        try:
            results = train_on(client, futures, assigned, job, place)
        except WorkerLostError as error:
            self._unfinished = (key, job.seed, error.rounds or job.rounds)
            raise
        self._take_results(job.params, results)
        return self

    def _refuse_unshared(self):
        """Raise ValueError for parameters that are not supported on Dask."""
        self._resolved()  # raises for parameters that are never supported
        for name in self.__dict__.get("_extra_params", ()):
            attribute = self._parameter_table.by_name[name].attribute
            if attribute == "verbosity":
                continue  # nothing is printed
            if attribute and (attribute == name or attribute not in self.get_params()):
                raise ValueError(f"{name} is not supported on Dask")
            if attribute:
                raise ValueError(f"{name} is named {attribute} here: use this name")
        defaults = self._local_class()
        for name, why in UNSHARED.items():
            value = getattr(self, name)
            if value != getattr(defaults, name):
                raise ValueError(f"{name}={value!r} is not supported on Dask: {why}")
        if callable(self.objective):
            why = "it may need all rows"
            raise ValueError(f"a callable objective is not supported on Dask: {why}")  # noqa: TRY004 - the type is right

    def _client(self):
        """Return the client; by default the one that was connected last."""
        if self.client is not None:
            return self.client
        from distributed import default_client

        return default_client()

    def _describe_columns(self, X):
        """Return the unfitted local model, with the attributes that depend on X's columns set."""
        model = self._local_class(**{n: getattr(self, n) for n in self._local_class().get_params()})
        sample = blocks.sample_of(X)
        model.categories_, model.parity_ = {}, None
        if blocks.is_frame(X):
            _check_feature_names(model, sample, reset=True)
            encode_frame(model, sample, reset=True)
        model.n_features_in_ = sample.shape[1]
        model._is_categorical = find_categorical(model, model.categorical_feature)  # noqa: SLF001 - of the same kind
        if not hasattr(model, "predict_proba"):
            self._find_objective_of(model)
        return model

    @staticmethod
    def _find_objective_of(model):
        """Set the objective; raise ValueError if it needs quantiles of all rows."""
        model._objective = model._find_objective()  # noqa: SLF001 - of the same kind
        if model._objective.first_quantile is not None:  # noqa: SLF001 - of the same kind
            raise ValueError(
                f"objective {model.objective!r} is not supported on Dask: it needs quantiles"
            )

    def _prepare(self, model, facts, eval_set, eval_weight, eval_metric):
        """Return the `Training` for all ranks, and a dict with the layout of the parts."""
        dtypes = {fact.dtype for fact in facts if fact.n_rows}
        if not dtypes:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        class_weights = None
        if hasattr(model, "predict_proba"):
            class_weights = self._find_classes(model, facts)
        else:
            check_values(facts, model._objective)  # noqa: SLF001 - of the same kind
        check_weights(facts)
        job = Training(
            params=model,
            categorical=model._is_categorical,  # noqa: SLF001 - of the same kind
            seed=draw_seed(self.random_state),
            tree_learner=self.tree_learner,
            top_k=self.top_k,
            has_tables=bool(eval_set),
            eval_set=eval_set,
            eval_sample_weight=eval_weight,
            eval_metric=eval_metric,
        )
        place = {
            "lengths": [count_rows(fact, model, class_weights) for fact in facts],
            "dtype": dtypes.pop() if len(dtypes) == 1 else "<f8",
            "class_weights": class_weights,
            "patience": float(self.patience),
        }
        return job, place

    def _find_classes(self, model, facts):
        """Set the model's class labels from all parts; return the class weights, or None."""
        full = [fact for fact in facts if fact.n_rows]
        labels = np.concatenate([fact.labels for fact in full])
        counts = np.concatenate([fact.counts for fact in full])
        model._read_y(labels)  # noqa: SLF001 - of the same kind
        self._find_objective_of(model)
        of_class = np.bincount(np.searchsorted(model.classes_, labels), counts)
        check_class_weight(self.class_weight)
        if self.class_weight is None:
            return None
        if self.class_weight == "balanced":
            present = of_class > 0  # classes with rows of positive weight
            return of_class.sum() / (present.sum() * np.where(present, of_class, np.inf))
        return compute_class_weight(self.class_weight, classes=model.classes_, y=model.classes_)

    def _key(self, job, parts):
        """Return a digest of parameters and data, which must be equal to resume a training."""
        every = job.params.get_params() | {"tree_learner": job.tree_learner, "top_k": job.top_k}
        may_differ = "n_jobs", "n_estimators"
        params = {name: whole(value) for name, value in every.items() if name not in may_differ}
        facts = params, [part.content for part in parts], job.categorical.tolist()
        return hashlib.sha256(json.dumps(facts, default=repr).encode()).hexdigest()

    def _resume(self, job, key):
        """Set the seed and the finished rounds of the interrupted training."""
        if getattr(self, "_unfinished", None) is None:
            raise ValueError("resume=True, but this estimator has no interrupted fit")
        known, seed, rounds = self._unfinished
        if known != key:
            raise ValueError("resume=True, but parameters or rows differ from the last fit")
        job.seed, job.rounds = seed, rounds[: job.params.n_estimators]

    def _take_results(self, model, results):
        """Set the fitted attributes."""
        first = results[0]
        for name in READ_OFF - vars(model).keys():
            vars(self).pop(name, None)  # from an earlier fit on another kind of table
        vars(self).update({n: v for n, v in vars(model).items() if n in READ_OFF})
        self._unfinished = self.parity_ = None
        self._binner, self._base = first.binner, first.base
        self.best_iteration_, self.best_score_, self.evals_result_ = first.watched
        rounds = first.rounds[: self.best_iteration_ or None]
        self.n_iter_ = self.n_estimators_ = len(rounds)
        codes = getattr(self, "classes_", None)
        self.ensemble_ = join_trees(rounds, first.binner, first.base, self._link, codes)
        self._walker = FastPredictor(self.ensemble_)
        self.communication_ = {
            "workers": len(results),
            "trees": self.ensemble_.n_trees,
            "sent": sum_sent(results),
        }

    def _by_blocks(self, method, X, columns=None, dtype=np.float64, **options):
        """Return the result of a method of the local model for each block of X, lazily."""
        local = self.to_local()
        local.n_jobs = 1  # Dask runs several blocks at once

        def one(block):
            return getattr(local, method)(block, **options)

        return blocks.apply(one, X, columns, dtype)

    def to_local(self):
        """Return the fitted model as a local estimator."""
        check_is_fitted(self, "ensemble_")
        local = self._local_class(**{n: getattr(self, n) for n in self._local_class().get_params()})
        kept = {n: v for n, v in vars(self).items() if n not in (*OWN, "_unfinished")}
        local.__dict__.update(kept)
        return local
