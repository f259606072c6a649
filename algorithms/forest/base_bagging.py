"""Base class of the two bagging estimators: draws rows and features, trains the models."""

from numbers import Integral
from typing import ClassVar
from warnings import warn

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
)

from algorithms.estimator.bootstrap import (
    count_columns,
    count_rows,
    draw,
    reseed,
    seeded_clones,
)
from algorithms.estimator.estimator_sequence import EstimatorSequence
from algorithms.estimator.fast_validation import plain_rows
from algorithms.estimator.fit_context import fit_context
from algorithms.estimator.frames import as_numbers, validate_data
from algorithms.estimator.library_versions import AS_SKLEARN, warn_of_other_version
from algorithms.estimator.outputs import count_outputs
from algorithms.estimator.warm_start import check_warm_start, draw_missing_seeds
from algorithms.forest.bagged_trees import Walker, grow_bag
from algorithms.runtime.threads import count_threads
from algorithms.trees.base_tree import BaseDecisionTree
from algorithms.trees.category_encoder import choose_columns, encoder_of
from algorithms.trees.ensemble_export import export_trees
from algorithms.trees.presorted_table import as_rows, check_sparse


class BaseBagging(EstimatorSequence, MetaEstimatorMixin, BaseEstimator):
    """Bagging of any scikit-learn estimator."""

    _parameter_constraints: ClassVar = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "bootstrap": ["boolean"],
        "bootstrap_features": ["boolean"],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "parity": AS_SKLEARN,
    }

    def __init__(
        self,
        estimator=None,
        n_estimators=10,
        *,
        max_samples=None,
        max_features=1.0,
        bootstrap=True,
        bootstrap_features=False,
        oob_score=False,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        parity=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.parity = parity

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Train the models.

        Parameters
        ----------
        X : array-like, frame or sparse matrix (n_rows, n_features)
            Any input that the model accepts; for our trees numbers, NaN where missing, and
            categories in the columns that ``estimator.categorical_features`` names.
        y : array-like (n_rows,)
            A regressor may have several outputs, (n_rows, n_outputs).
        sample_weight : array-like (n_rows,), optional
            Rows are drawn with probabilities proportional to it.
        **fit_params
            Arguments for ``fit`` of each model. With metadata routing, only requested ones.

        Returns
        -------
        The estimator.
        """
        self._encoder = encoder_of(self.estimator)
        X = X if self._encoder is None else self._encoder.fit_transform(X)
        given = X
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=["csr", "csc"],
            dtype=None,
            ensure_all_finite=False,
            multi_output=True,
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=None)
            if not self.bootstrap:
                warn(
                    f"When fitting {type(self).__name__} with sample_weight it is recommended to "
                    f"use bootstrap=True, got {self.bootstrap}.",
                    stacklevel=2,
                )
        y = self._read_y(y)
        self._n_outputs = count_outputs(y)
        check_warm_start(self)
        self.estimator_ = self._choose_model()
        if self._is_ours(self.estimator_):
            X = as_numbers(X, given)
        warn_of_other_version(getattr(self.estimator_, "parity", None), stacklevel=3)
        self._n_rows = X.shape[0]
        self._n_drawn = count_rows(self.max_samples, self._n_rows, sample_weight, self.bootstrap)
        self._n_columns = count_columns(self.max_features, self.n_features_in_)
        self._sample_weight = sample_weight
        self._draws = self.bootstrap_features, self.bootstrap
        self._check_oob()
        options = self._route("fit", fit_params)
        more = self._seeds_to_train()
        if len(more):
            self._train(X, y, more, options)
        if self.oob_score:
            self._score_out_of_bag(X, y)
        elif hasattr(self, "oob_score_"):
            del self.oob_score_  # the score of an earlier fit
        return self

    def _given_model(self):
        """Return the parameter ``estimator``, or the default model."""
        return self._own_tree() if self.estimator is None else self.estimator

    def get_metadata_routing(self):
        """Return scikit-learn's router, which passes arguments to the models' methods."""
        model = self._given_model()
        predict = "predict_proba" if hasattr(model, "predict_proba") else "predict"
        mapping = MethodMapping()
        for method in ("fit", "decision_function"):
            mapping.add(caller=method, callee=method)
        for method in ("predict", "predict_proba", "predict_log_proba"):
            mapping.add(caller=method, callee=predict)
        return MetadataRouter(owner=self).add(estimator=model, method_mapping=mapping)

    def _route(self, method, params):
        """Return the arguments of the models' method that ``method`` calls, dict.

        Raises
        ------
        ValueError
            If metadata routing is off and a method other than ``fit`` has arguments.
        """
        if params and _routing_enabled():
            (routed,) = process_routing(self, method, **params).estimator.values()
            return dict(routed)
        _raise_for_params(params, self, method, allow=params if method == "fit" else None)
        return params

    def _choose_model(self):
        """Return the model to train; our own trees get the ensemble's ``parity``."""
        model = self._given_model()
        if self.parity is not None and isinstance(model, BaseDecisionTree):
            model = clone(model).set_params(parity=self.parity)
        return model if self._encoder is None else self._encoder.set_columns(clone(model))

    def _check_oob(self):
        if self.oob_score and not self.bootstrap:
            raise ValueError("Out of bag estimation only available if bootstrap=True")
        if self.oob_score and self.warm_start:
            raise ValueError("Out of bag estimate only available if warm_start=False")

    def _seeds_to_train(self):
        """Return the seeds of the missing models; drop the old ones without ``warm_start``."""
        if not self.warm_start or not hasattr(self, "estimators_"):
            self.estimators_, self.estimators_features_, self._seeds = [], [], []
        return draw_missing_seeds(self)

    def _draw(self, seed, random=None):
        """Return the features and the rows drawn with a model's seed; ``random`` as in `reseed`."""
        random = reseed(random, seed)
        repeats_columns, repeats_rows = self._draws
        columns = draw(random, repeats_columns, self.n_features_in_, self._n_columns)
        if self._sample_weight is None:
            return columns, draw(random, repeats_rows, self._n_rows, self._n_drawn)
        share = self._sample_weight / np.sum(self._sample_weight)
        return columns, random.choice(self._n_rows, self._n_drawn, replace=repeats_rows, p=share)

    def _train(self, X, y, seeds, options):
        """Train and add one model per seed; ``options`` are arguments of the models' ``fit``."""
        models = seeded_clones(self.estimator_, seeds)
        columns = [None] * len(seeds)

        def draw_for(i, random=None):
            columns[i], rows = self._draw(seeds[i], random)
            return columns[i], rows

        if self._takes_our_trees(X) and not options:
            check_sparse(X, type(self).__name__)
            models[0]._validate_params()  # noqa: SLF001 - scikit-learn's convention
            self._set_class_codes(models)
            size = self._n_columns, self._n_drawn
            threads = count_threads(self.n_jobs)
            grow_bag(models, draw_for, size, X, y, threads, type(self).__name__)
        else:
            weighted = has_fit_parameter(self.estimator_, "sample_weight")
            models = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
                delayed(train_one)(model, X, y, *draw_for(i), weighted, options)
                for i, model in enumerate(models)
            )
        self.estimators_ = self.estimators_ + models
        self.estimators_features_ = self.estimators_features_ + columns
        self._seeds = [*self._seeds, *seeds]
        self._walker = self._make_walker()

    def _takes_our_trees(self, X):
        """Return whether the models are our own trees, of the right kind, on a numeric array."""
        plain = (isinstance(X, np.ndarray) or issparse(X)) and X.dtype.kind in "biuf"
        return plain and self._is_ours(self.estimator_)

    def _is_ours(self, model):
        """Return whether a model is one of our trees and can share a table with other trees."""
        return type(model) is self._own_tree and model._shares_tables  # noqa: SLF001 - the package's own

    @property
    def estimators_samples_(self):
        """Return the rows of each model, drawn again on each access."""
        return [self._draw(seed)[1] for seed in self._seeds]

    def _make_walker(self):
        """Return the walker of our own trees, or None for other models.

        A subclass of our trees may predict differently, so it gets None, too.
        """
        if not all(self._is_ours(model) for model in self.estimators_):
            return None
        trees = [model.tree_ for model in self.estimators_]
        return Walker(trees, self.estimators_features_, self.n_features_in_)

    def _read_rows(self, X):
        """Return X as the models accept it: C-contiguous float32 for our own trees."""
        check_is_fitted(self)
        X = X if self._encoder is None else self._encoder.transform(X)
        if self._walker is not None and (few := plain_rows(self, X, np.float32)) is not None:
            return few
        if self._walker is None:
            sparse = ["csr", "csc"]
            options = {"accept_sparse": sparse, "dtype": None, "ensure_all_finite": False}
        else:
            options = {"dtype": np.float32, "order": "C", "ensure_all_finite": "allow-nan"}
            options["accept_sparse"] = "csr"
        return validate_data(self, X, reset=False, **options)

    def _out_of_bag(self, X):
        """Yield, for each model, the rows that it did not draw and its predictions of them."""
        walker = self._walker
        if walker is not None:
            X = as_rows(X)
        for i, seed in enumerate(self._seeds):
            drawn = self._draw(seed)[1]
            rows = np.flatnonzero(np.bincount(drawn, minlength=self._n_rows) == 0)
            if walker is None:
                columns = self.estimators_features_[i]
                yield rows, self._vote(self.estimators_[i], X[rows], columns, {})
            else:
                yield rows, walker.values(i, X[rows])

    def _mean(self, X, method, options):
        """Return the mean of the models' results of ``method`` with the arguments ``options``."""
        members = zip(self.estimators_, self.estimators_features_, strict=True)
        found = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(call_method)(model, method, X, columns, options) for model, columns in members
        )
        return sum(found) / len(self.estimators_)

    @property
    def ensemble_(self):
        """Return the trees as a `harness.TreeEnsemble`; only if all models are our own trees."""
        check_is_fitted(self)
        if self._walker is None:
            raise AttributeError("ensemble_ needs models that are trees of this package")
        return export_trees(
            [model.tree_ for model in self.estimators_],
            self.n_features_in_,
            getattr(self, "classes_", None),
            self.estimators_features_,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        given = get_tags(self._given_model()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = given.sparse, given.allow_nan
        return tags


def train_one(model, X, y, columns, rows, weighted, options):
    """Train a model on the drawn rows: as weights if it accepts them, else as copies.

    ``options`` are further arguments of ``fit``. Where rows are drawn as copies, arrays with one
    entry per row are indexed by the drawn rows.
    """
    part = X if len(columns) == X.shape[1] and (np.diff(columns) == 1).all() else X[:, columns]
    choose_columns(model, columns)
    if weighted:
        model.fit(part, y, **options, sample_weight=np.bincount(rows, minlength=X.shape[0]))
    else:
        model.fit(part[rows], y[rows], **_check_method_params(X, options, indices=rows))
    return model  # some `fit` methods do not return the model


def call_method(model, method, X, columns, options):
    """Return the result of a model's method on the model's columns of X."""
    return getattr(model, method)(X[:, columns], **options)
