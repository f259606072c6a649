"""Encoding of X as scikit-learn's HistGradientBoosting does it: float64, categories as codes."""

from contextlib import suppress
from functools import partial

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils import check_array
from sklearn.utils.validation import _check_categorical_features

from algorithms.estimator.deferred_imports import is_frame
from algorithms.estimator.frames import from_arrow, naming_columns, refuse_dates, validate_data
from algorithms.estimator.validation import clip_infinite

CHECKS = {"dtype": [np.float64], "ensure_all_finite": False}


class FeatureEncoder:
    """Encoder of categorical columns. Other columns are converted to float64.

    Parameters
    ----------
    is_categorical : bool (n_features,)
    max_bins : int, maximum number of categories
    """

    def __init__(self, is_categorical, max_bins):
        self.is_categorical, self.max_bins = is_categorical, max_bins
        encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=np.nan,
            encoded_missing_value=np.nan,
            dtype=np.float64,
        )
        numeric = FunctionTransformer(partial(check_array, **CHECKS))
        self.columns = ColumnTransformer(
            [("encoder", encoder, is_categorical), ("numerical", numeric, ~is_categorical)]
        )
        self.columns.set_output(transform="default")
        # the transformer returns categorical columns first; this is the place of each column
        self.places = np.argsort(np.argsort(~is_categorical, kind="stable"))

    def fit_transform(self, X):
        """Return encoded training rows, float64 (n_rows, n_features).

        Raises
        ------
        ValueError
            If a column has more categories than bins.
        """
        with self._naming_columns(X, reset=True):
            table = self.columns.fit_transform(X)
        encoder = self.columns.named_transformers_["encoder"]
        for number, categories in enumerate(encoder.categories_):
            known = sum(not is_missing(one) for one in categories[-2:]) + max(
                len(categories) - 2, 0
            )
            if known > self.max_bins:
                names = getattr(encoder, "feature_names_in_", None)
                feature = f"at index {number}" if names is None else repr(names[number])
                raise ValueError(
                    f"Categorical feature {feature} is expected to have a cardinality <= "
                    f"{self.max_bins} but actually has a cardinality of {known}."
                )
        return table[:, self.places]

    def transform(self, X):
        """Return encoded rows; unknown categories become NaN."""
        with self._naming_columns(X, reset=False):
            return self.columns.transform(X)[:, self.places]

    def _naming_columns(self, X, *, reset):
        """Return the context `naming_columns` of the numeric columns, which may not be dates."""
        is_numeric = ~self.is_categorical
        if is_frame(X) and X.shape[1] == len(is_numeric):
            X = X.loc[:, is_numeric]
            refuse_dates(X)
        return naming_columns(X, reset=reset)


def is_missing(value):
    """Return whether a category is None or NaN."""
    return value is None or (isinstance(value, float | np.floating) and np.isnan(value))


def fit_encode(estimator, X):
    """Return encoded training rows; set the attributes about features.

    Sets `is_categorical_`, `n_features_in_`, `feature_names_in_` and `_encoder`.
    """
    X = from_arrow(X)
    estimator.is_categorical_ = _check_categorical_features(X, estimator.categorical_features)
    estimator._encoder = None  # noqa: SLF001 - its own part
    if estimator.is_categorical_ is None:
        return as_finite_rows(validate_data(estimator, X, **CHECKS))
    encoder = FeatureEncoder(estimator.is_categorical_, estimator.max_bins)
    X = encoder.fit_transform(X)
    estimator._encoder = encoder  # noqa: SLF001 - its own part
    estimator.n_features_in_ = encoder.columns.n_features_in_
    estimator.__dict__.pop("feature_names_in_", None)
    with suppress(AttributeError):
        estimator.feature_names_in_ = encoder.columns.feature_names_in_
    return as_finite_rows(X)


def encode(estimator, X):
    """Return encoded rows for prediction or validation, float64 (n_rows, n_features)."""
    X = from_arrow(X)
    encoder = estimator._encoder  # noqa: SLF001 - its own part
    if encoder is None:
        X = validate_data(estimator, X, reset=False, **CHECKS)
    else:
        X = encoder.transform(X)
    return as_finite_rows(X)


def as_finite_rows(X):
    """Return C-contiguous X with infinite values replaced by very large ones."""
    return np.ascontiguousarray(clip_infinite(X))
