"""Base class of voting and stacking: named members, trained on all rows and out of fold."""

from copy import deepcopy
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import MetaEstimatorMixin, TransformerMixin, clone, is_classifier, is_regressor
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import Bunch, get_tags
from sklearn.utils._param_validation import Integral
from sklearn.utils._user_interface import _print_elapsed_time
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

ONE_COLUMN = ("binary", "multiclass")


class BaseBlend(TransformerMixin, MetaEstimatorMixin, _BaseComposition):
    """Base class of an ensemble of named members of different kinds."""

    _parameter_constraints: ClassVar = {"estimators": [list], "n_jobs": [None, Integral]}

    def get_params(self, deep=True):
        """Return the parameters; with ``deep`` also those of members, as ``name__parameter``."""
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params):
        """Set parameters, members (by name, or "drop") or ``name__parameter``."""
        self._set_params("estimators", **params)
        return self

    @property
    def named_estimators(self):
        """Return the unfitted members by name."""
        return Bunch(**dict(self.estimators))

    def _members(self, params):
        """Return the (name, estimator) pairs of the members that are not dropped.

        Raises
        ------
        ValueError
            If the members are not such pairs or of the wrong kind, or if `fit` gets ``params``
            other than ``sample_weight`` without metadata routing.
        """
        _raise_for_params(params, self, "fit", allow=["sample_weight"])
        pairs = isinstance(self.estimators, list) and all(
            isinstance(item, (tuple, list)) and isinstance(item[0], str) for item in self.estimators
        )
        if not pairs or not self.estimators:
            raise ValueError(
                "Invalid 'estimators' attribute, 'estimators' should be a non-empty list of "
                "(string, estimator) tuples."
            )
        self._validate_names([name for name, _ in self.estimators])
        kept = [(name, member) for name, member in self.estimators if not is_dropped(member)]
        if not kept:
            raise ValueError(
                "All estimators are dropped. At least one is required to be an estimator."
            )
        self._check_kinds([member for _, member in kept])
        return kept

    def _check_kinds(self, members):
        """Raise ValueError if a member is a classifier instead of a regressor, or the reverse."""
        pairs = {True: (is_classifier, "classifier"), False: (is_regressor, "regressor")}
        right, kind = pairs[is_classifier(self)]
        for member in members:
            if not right(member):
                raise ValueError(f"The estimator {type(member).__name__} should be a {kind}.")

    def _route(self, members, params):
        """Return the parameters of each member's ``fit``, by member name.

        Without scikit-learn's metadata routing each member gets ``sample_weight`` only.
        """
        if _routing_enabled():
            routed = process_routing(self, "fit", **params)
            return {name: dict(routed[name]["fit"]) for name, _ in members}
        given = {k: v for k, v in params.items() if v is not None}
        if given:
            for _, member in members:
                check_takes_weights(member)
        return {name: given for name, _ in members}

    def get_metadata_routing(self):
        """Return scikit-learn's router, which passes parameters of `fit` to each member's fit."""
        router = MetadataRouter(owner=self)
        for name, member in self.estimators:
            router.add(
                **{name: member}, method_mapping=MethodMapping().add(callee="fit", caller="fit")
            )
        return router

    def _fit_members(self, members, X, y, routed):
        """Train a clone of each member on all rows, with the parameters from `_route`."""
        total = len(members)
        source = self._progress_name if self.verbose else None
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_one)(
                clone(member), X, y, routed[name], source, f"({i} of {total}) Processing {name}"
            )
            for i, (name, member) in enumerate(members, 1)
        )
        self._store_fitted(members, fitted)

    def _store_fitted(self, members, fitted):
        """Store the fitted members, in order and by name."""
        self.estimators_ = fitted
        by_name = dict(zip([name for name, _ in members], fitted, strict=True))
        self.named_estimators_ = Bunch(**{n: by_name.get(n, "drop") for n, _ in self.estimators})
        for member in fitted:
            if hasattr(member, "feature_names_in_"):
                self.feature_names_in_ = member.feature_names_in_

    @property
    def n_features_in_(self):
        """Return the number of columns of X; raise AttributeError before `fit`."""
        if not hasattr(self, "estimators_"):
            name = type(self).__name__
            raise AttributeError(f"{name} object has no attribute n_features_in_")
        return self.estimators_[0].n_features_in_

    def _predict_members(self, X, methods):
        """Return the predictions of each fitted member; ``methods`` has one method per member."""
        check_is_fitted(self, "estimators_")
        pairs = zip(self.estimators_, methods, strict=True)
        return [getattr(member, method)(X) for member, method in pairs]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        try:
            member_tags = [
                get_tags(member) for _, member in self.estimators if not is_dropped(member)
            ]
        # Not a list of pairs: `fit` raises the error.
        except (AttributeError, TypeError, ValueError):
            return tags
        tags.input_tags.allow_nan = all(tag.input_tags.allow_nan for tag in member_tags)
        tags.input_tags.sparse = all(tag.input_tags.sparse for tag in member_tags)
        return tags


def is_dropped(member):
    """Return whether a member is "drop"."""
    return isinstance(member, str) and member == "drop"


def check_takes_weights(member):
    """Raise TypeError if a member's ``fit`` does not accept sample weights."""
    if not has_fit_parameter(member, "sample_weight"):
        name = type(member).__name__
        raise TypeError(f"Underlying estimator {name} does not support sample weights.")


def fit_one(member, X, y, params, source=None, message=None):
    """Train one member; if ``source`` is set, print it, the message and the elapsed time."""
    with _print_elapsed_time(source, message if source else None):
        member.fit(X, y, **params)
    return member


def out_of_fold(blend, members, X, y, routed, methods):
    """Return each member's prediction of each row when trained on the other folds.

    The folds are the same for all members.

    Parameters
    ----------
    blend : estimator with ``cv`` and ``n_jobs``
    members : list of (name, estimator)
    routed : dict, the parameters of each member's ``fit``
    methods : list of str, the prediction method of each member

    Returns
    -------
    list of arrays (n_rows,) or (n_rows, n_outputs), rows in the order of X
    """
    folds = check_cv(blend.cv, y=y, classifier=is_classifier(blend))
    if getattr(folds, "random_state", 0) is None:
        folds.random_state = np.random.RandomState()
    return Parallel(n_jobs=blend.n_jobs)(
        delayed(cross_val_predict)(
            clone(member), X, y, cv=deepcopy(folds), method=method, params=routed[name]
        )
        for (name, member), method in zip(members, methods, strict=True)
    )


def encode_labels(blend, y):
    """Return class codes, int64; store the labels as ``classes_``.

    Raises
    ------
    ValueError
        If y holds continuous numbers.
    NotImplementedError
        If y has several columns.
    """
    kind = type_of_target(y, input_name="y")
    if kind in ("unknown", "continuous"):
        raise ValueError(
            f"Unknown label type: {kind}. Maybe you are trying to fit a classifier, which expects "
            "discrete classes on a regression target with continuous values."
        )
    if kind not in ONE_COLUMN:
        raise NotImplementedError(
            f"{type(blend).__name__} only supports binary or multiclass classification. "
            "Multilabel and multi-output classification are not supported."
        )
    blend.classes_, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    return codes.astype(np.int64, copy=False)


def read_weight(params, y):
    """Return the sample weights among the parameters of ``fit`` as float64 (n_rows,), or None."""
    weight = params.get("sample_weight")
    if weight is None:
        return None
    return _check_sample_weight(weight, np.empty((len(y), 0)), dtype=np.float64)
