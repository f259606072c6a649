"""Base class of the two estimators with scikit-learn's HistGradientBoosting names."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_consistent_length,
    check_is_fitted,
)

from algorithms.estimator.fit_context import fit_context
from algorithms.estimator.frames import read_targets
from algorithms.estimator.library_versions import warn_of_other_version
from algorithms.estimator.verbose import say
from algorithms.estimator.warm_start import describe_data, refuse_other_data
from algorithms.prediction.predictor import FastPredictor
from algorithms.runtime.threads import count_threads
from algorithms.sklearn_hgb.default_training import DefaultTraining, drop_unweighted_rows
from algorithms.sklearn_hgb.features import encode, fit_encode
from algorithms.sklearn_hgb.params import (
    CONSTRAINTS,
    LossObjective,
    make_loss,
    read_constraints,
    to_histogram_params,
)
from algorithms.sklearn_hgb.scores import RoundScores, Rows, split_validation

ROWS_TO_STOP = 10_000  # with more rows early_stopping="auto" is True


class BaseHistGradientBoosting(BaseEstimator, ABC):
    """Base class of the classifier and the regressor."""

    _parameter_constraints: ClassVar = CONSTRAINTS

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Train the model.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            NaN is a missing value. Infinite values are allowed.
        y : array-like of shape (n_rows,)
            Class labels or target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row.
        X_val, y_val : array-like, default=None
            Validation rows for early stopping. Without them they are drawn from X and y.
        sample_weight_val : array-like, default=None
            Weights of the validation rows.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If parameters, X, y or weights are invalid.
        """
        is_first = not (self.warm_start and hasattr(self, "ensemble_"))
        before = describe_data(self)
        rows, validation = self._read_rows((X, y, sample_weight), (X_val, y_val, sample_weight_val))
        if not is_first:
            refuse_other_data(before, describe_data(self))
        self._draw_seed(is_first)
        constraints = read_constraints(self, self.n_trees_per_iteration_)
        self._loss = make_loss(self, self.n_trees_per_iteration_, rows.weight)
        self.do_early_stopping_ = self.early_stopping
        if self.early_stopping == "auto":
            self.do_early_stopping_ = len(rows.y) > ROWS_TO_STOP
        if self.do_early_stopping_ and validation is None and self.validation_fraction is not None:
            stratify = hasattr(self._loss, "predict_proba")
            fraction, seed = self.validation_fraction, self._random_seed
            rows, validation = split_validation(rows, fraction, stratify, seed)
        n_rounds = self._rounds_to_add(is_first)
        scores = self._make_scores(rows, validation, is_first)
        self._train(rows, constraints, scores, n_rounds, is_first)
        self._predictor = FastPredictor(self.ensemble_)
        self.n_iter_ = self.ensemble_.n_trees // self.n_trees_per_iteration_
        if scores is not None:
            self.train_score_ = np.asarray(scores.train_scores)
            self.validation_score_ = np.asarray(scores.validation_scores)
        if self.verbose:
            n_leaves = int((self.ensemble_.left < 0).sum())
            say(f"Fit {self.ensemble_.n_trees} trees ({n_leaves} total leaves)")
        return self

    def _read_rows(self, train, validation):
        """Return the training `Rows`, and the validation `Rows` or None.

        Raises
        ------
        ValueError
            If they are invalid.
        """
        X, y, weight = train
        X = fit_encode(self, X)
        y = self._encode_y(_check_y(read_targets(self, y), estimator=self))
        check_consistent_length(X, y)
        if weight is not None:
            weight = _check_sample_weight(weight, X, dtype=np.float64)
        rows = Rows(X, y, self._weigh_classes(y, weight))
        X, y, weight = validation
        if X is None and y is None:
            return rows, None
        for given, name, other in ((y, "X_val", "y_val"), (X, "y_val", "X_val")):
            if given is None:
                raise ValueError(f"{name} is provided, but {other} was not provided.")
        X = encode(self, X)
        y = self._encode_validation_y(_check_y(read_targets(self, y), estimator=self))
        check_consistent_length(X, y)
        if weight is not None:
            weight = _check_sample_weight(weight, X, dtype=np.float64)
        if self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is "
                "False. When passing X_val and y_val to fit,early_stopping should be set to "
                "either 'auto' or True."
            )
        return rows, Rows(X, y, weight)

    def _draw_seed(self, is_first):
        """Draw the seed of bins, validation rows and rounding; a warm start keeps it."""
        if is_first:
            random = check_random_state(self.random_state)
            self._random_seed = random.randint(np.iinfo(np.uint32).max, dtype="u8")

    def _rounds_to_add(self, is_first):
        """Return the number of rounds to add; raise ValueError if it is negative."""
        if is_first:
            return self.max_iter
        if self.max_iter < self.n_iter_:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to n_iter_={self.n_iter_} "
                "when warm_start==True"
            )
        return self.max_iter - self.n_iter_

    def _make_scores(self, rows, validation, is_first):
        """Return the `RoundScores`, or None without early stopping."""
        if is_first:
            self.train_score_ = self.validation_score_ = np.empty(0)
        if not self.do_early_stopping_:
            return None
        if self.parity is None:
            rows = drop_unweighted_rows(rows)
        scores = RoundScores(self, self._loss, rows, validation, self._random_seed)
        scores.train_scores = self.train_score_.tolist()
        scores.validation_scores = self.validation_score_.tolist()
        return scores

    def _train(self, rows, constraints, scores, n_rounds, is_first):
        """Train and set `ensemble_`."""
        is_categorical = self.is_categorical_
        if is_categorical is None:
            is_categorical = np.zeros(self.n_features_in_, bool)
        if self.parity is not None:
            from algorithms.parity.hgb_training import ParityTraining

            warn_of_other_version(self.parity, stacklevel=4)
            self._refuse_constraints(constraints)
            earlier = None if is_first else self.ensemble_
            given = rows, self._loss, is_categorical, self._random_seed
            self.ensemble_ = ParityTraining(self, *given, earlier).run(n_rounds, scores)
            return
        options = to_histogram_params(
            self, self.n_trees_per_iteration_, is_categorical, constraints
        )
        if not isinstance(self.loss, str):
            options["objective"] = LossObjective(self._loss)
        # scikit-learn draws nothing if it uses all rows; gradients are rounded at random here
        seed = 0 if self.random_state is None else int(self._random_seed)
        model = self._make_model(options | {"random_state": seed, "n_estimators": self.max_iter})
        earlier = None if is_first else self._model
        training = DefaultTraining(model, drop_unweighted_rows(rows), earlier)
        self._model = training.run(n_rounds, scores)
        self.ensemble_ = self._model.ensemble_

    def _refuse_constraints(self, constraints):
        """Raise ValueError if the parity mode does not support the constraints or sampling."""
        given = {
            "monotonic_cst": constraints.monotone.any(),
            "interaction_cst": constraints.interactions is not None,
            "max_features": self.max_features != 1.0,
        }
        for name, is_given in given.items():
            if is_given:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not supported with parity={self.parity!r}"
                )

    def _raw_predict(self, X):
        """Return the raw scores of rows, float64 (n_rows, n_scores)."""
        if hasattr(self, "_in_fit"):  # a scorer predicts during training
            known, raw, training = self._in_fit
            return raw if X is known else training.predict_current(X)
        check_is_fitted(self)
        X = encode(self, X)
        return self._predictor.raw(X, count_threads(-1, len(X)))

    def _staged_raw_predict(self, X):
        """Yield the raw scores of rows after each round."""
        check_is_fitted(self)
        X = encode(self, X)
        raw, k = self._predictor.raw(X, 1, slice(0)), self.n_trees_per_iteration_
        for number in range(self.n_iter_):
            self._predictor.add(X, raw, 1, slice(number * k, (number + 1) * k))
            yield raw.copy()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "ensemble_") or hasattr(self, "_in_fit")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _weigh_classes(self, _y, weight):
        """Return the weights of the rows."""
        return weight

    @abstractmethod
    def _encode_y(self, y):
        """Return y as float64; set `n_trees_per_iteration_`."""

    @abstractmethod
    def _encode_validation_y(self, y):
        """Return the targets of validation rows as float64."""

    @abstractmethod
    def _make_model(self, options):
        """Return the `HistogramBoosting` estimator with the given parameters."""
