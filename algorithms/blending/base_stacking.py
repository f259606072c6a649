"""Base class of the two stacking estimators: out-of-fold predictions and the final model."""

from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metadata_routing import MethodMapping, _routing_enabled
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_response_method,
    check_is_fitted,
)

from algorithms.blending.base_blend import (
    BaseBlend,
    check_takes_weights,
    fit_one,
    is_dropped,
    out_of_fold,
    read_weight,
)

IN_TURN = ["predict_proba", "decision_function", "predict"]
TWO = 2


def final_estimator_has(method):
    """Return a check that the final model has a method."""

    def check(self):
        model = getattr(self, "final_estimator_", self.final_estimator)
        getattr(self._default() if model is None else model, method)
        return True

    return check


class BaseStacking(BaseBlend):
    """Base class of the two stacking estimators: out-of-fold predictions and the final model."""

    _progress_name = "Stacking"

    _parameter_constraints: ClassVar = {
        **BaseBlend._parameter_constraints,  # noqa: SLF001 - scikit-learn's convention
        "final_estimator": [None, HasMethods("fit")],
        "cv": ["cv_object", StrOptions({"prefit"})],
        "passthrough": ["boolean"],
        "verbose": ["verbose"],
    }

    def _train(self, X, y, params):
        members = self._members(params)
        self._passes_through = self.passthrough
        self.final_estimator_ = self._make_final_estimator()
        is_fitted = self.cv == "prefit"
        routed = {} if is_fitted and not _routing_enabled() else self._route(members, params)
        weight = read_weight(params, y)
        self.stack_method_ = [self._method(name, member) for name, member in members]
        if is_fitted:
            for _, member in members:
                check_is_fitted(member)
            self._store_fitted(members, [member for _, member in members])
            predictions = self._predict_members(X, self.stack_method_)
        else:
            self._fit_members(members, X, y, routed)
            predictions = out_of_fold(self, members, X, y, routed, self.stack_method_)
        given = {}
        if weight is not None:
            check_takes_weights(self.final_estimator_)
            given["sample_weight"] = weight
        self._widths = [block.shape[1] for block in self._blocks(predictions)]
        fit_one(self.final_estimator_, self._concatenate(X, predictions), y, given)
        return self

    def _make_final_estimator(self):
        """Return the unfitted final model; raise ValueError if it is of the wrong kind."""
        model = self._default() if self.final_estimator is None else clone(self.final_estimator)
        right = is_classifier if is_classifier(self) else is_regressor
        if not right(model):
            kind = "classifier" if is_classifier(self) else "regressor"
            raise ValueError(
                f"`final_estimator` parameter should be a {kind}. Got {self.final_estimator}"
            )
        return model

    def _method(self, name, member):
        """Return the name of a member's prediction method."""
        wanted = getattr(self, "stack_method", "predict")
        try:
            method = _check_response_method(member, IN_TURN if wanted == "auto" else wanted)
        except AttributeError as error:
            raise ValueError(
                f"Underlying estimator {name} does not implement the method {wanted}."
            ) from error
        return method.__name__

    def _blocks(self, predictions):
        """Return one block of columns per member.

        A block has one column per class; for two classes only that of the second class.
        """
        blocks = []
        for method, answer in zip(self.stack_method_, predictions, strict=True):
            if answer.ndim == 1:
                blocks.append(answer[:, None])
            elif method == "predict_proba" and len(self.classes_) == TWO:
                blocks.append(answer[:, 1:])  # column 0 is 1 − column 1
            else:
                blocks.append(answer)
        return blocks

    def _concatenate(self, X, predictions):
        """Return z: the members' blocks, followed by X with ``passthrough``."""
        blocks = self._blocks(predictions)
        if not self._passes_through:
            return np.hstack(blocks)
        if sparse.issparse(X):
            return sparse.hstack([*blocks, X], format=X.format)
        return np.hstack([*blocks, X])

    def get_metadata_routing(self):
        """Return scikit-learn's router, which passes parameters of `predict` to G's ``predict``."""
        router = super().get_metadata_routing()
        model = getattr(self, "final_estimator_", self.final_estimator)
        mapping = MethodMapping().add(caller="predict", callee="predict")
        return router.add(final_estimator_=model, method_mapping=mapping)

    def transform(self, X):
        """Return z of each row: the members' predictions, followed by X with ``passthrough``.

        Returns
        -------
        float64 (n_rows, n_columns); sparse if X is sparse and ``passthrough`` is set
        """
        check_is_fitted(self)
        return self._concatenate(X, self._predict_members(X, self.stack_method_))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns of `transform`."""
        check_is_fitted(self, "estimators_")
        given = _check_feature_names_in(self, input_features, generate_names=self._passes_through)
        prefix = type(self).__name__.lower()
        kept = [name for name, member in self.estimators if not is_dropped(member)]
        names = []
        for name, width in zip(kept, self._widths, strict=True):
            single = width == 1
            names += (
                [f"{prefix}_{name}"] if single else [f"{prefix}_{name}{k}" for k in range(width)]
            )
        if self._passes_through:
            return np.concatenate((names, given))
        return np.asarray(names, dtype=object)
