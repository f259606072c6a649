"""Base class of the two gradient boosting estimators: rounds, steps, early stopping, prediction."""

from numbers import Integral, Real
from typing import ClassVar
from warnings import warn

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Hidden, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from algorithms.boosting.boosted_trees import BoostedWalker
from algorithms.boosting.fitted_model import BoostedModel
from algorithms.boosting.gradient_rounds import Rounds
from algorithms.boosting.gradient_trees import TreeMaker, level_depth
from algorithms.boosting.losses import KernelLoss
from algorithms.estimator.fit_context import fit_context
from algorithms.estimator.frames import validate_data
from algorithms.estimator.library_versions import AS_SKLEARN, warn_of_other_version
from algorithms.estimator.sample_weight import bring_near_one, drop_unweighted, split_unit
from algorithms.estimator.validation import check_array
from algorithms.estimator.warm_start import check_warm_start
from algorithms.runtime.threads import Workers, count_threads
from algorithms.trees.cart import TREE_CONSTRAINTS, count_features
from algorithms.trees.categorical_columns import CATEGORICAL, count_codes
from algorithms.trees.category_encoder import CategoryEncoder, encoder_of

TREE_PARAMETERS = (
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "min_impurity_decrease",
    "max_features",
    "max_leaf_nodes",
    "ccp_alpha",
)


class BaseGradientBoosting(BoostedModel):
    """Gradient boosting of regression trees, or of any regressor."""

    _parameter_constraints: ClassVar = {
        **{name: TREE_CONSTRAINTS[name] for name in TREE_PARAMETERS},
        "learning_rate": [Interval(Real, 0.0, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "criterion": [
            StrOptions({"squared_error"}),
            Hidden(StrOptions({"deprecated", "friedman_mse"})),
        ],
        "subsample": [Interval(Real, 0.0, 1.0, closed="right")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "random_state": ["random_state"],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "step": [StrOptions({"leaf", "global"})],
        "leaf_penalty": [Interval(Real, 0.0, None, closed="left")],
        "l2_regularization": [Interval(Real, 0.0, None, closed="left")],
        "categorical_features": CATEGORICAL,
        "parity": AS_SKLEARN,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        loss="log_loss",
        learning_rate=0.1,
        n_estimators=100,
        subsample=1.0,
        criterion="deprecated",
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_depth=3,
        min_impurity_decrease=0.0,
        init=None,
        random_state=None,
        max_features=None,
        verbose=0,
        max_leaf_nodes=None,
        warm_start=False,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-4,
        ccp_alpha=0.0,
        estimator=None,
        step="leaf",
        leaf_penalty=0.0,
        l2_regularization=0.0,
        categorical_features=None,
        parity=None,
        n_jobs=None,
    ):
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha
        self.estimator = estimator
        self.step = step
        self.leaf_penalty = leaf_penalty
        self.l2_regularization = l2_regularization
        self.categorical_features = categorical_features
        self.parity = parity
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, monitor=None):
        """Train the rounds.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of numbers (n_rows, n_features), NaN where missing
            Rounded to float32; a sparse matrix is converted to dense. Missing values are refused if
            ``estimator`` or ``init`` is a model that does not accept them. Columns of
            ``categorical_features`` hold values of any type.
        y : array-like (n_rows,)
            Labels of any type, or numbers.
        sample_weight : array-like (n_rows,), optional
        monitor : callable, optional
            Called after each round with the round's index, the estimator, and a dict of variables
            (``y``, ``raw_predictions``, ``sample_weight``, ``sample_mask``). Training stops if it
            returns True.

        Returns
        -------
        The estimator.

        Raises
        ------
        ValueError, TypeError
            As in scikit-learn, if parameters, X, y or weights are invalid.
        """
        if not self.warm_start:
            self._reset()
        if self.criterion != "deprecated":
            warn(
                "The parameter `criterion` is deprecated and has no effect: trees are grown by "
                "the squared error of the gradients.",
                FutureWarning,
                stacklevel=2,
            )
        warn_of_other_version(self.parity, stacklevel=3)
        self._check_base_learner()
        X = self._encode_categories(X)
        # A float32 copy is as large as all other data kept of X, so it is made only if needed.
        finite = "allow-nan" if self.__sklearn_tags__().input_tags.allow_nan else True
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float32, np.float64],
            multi_output=True,
            ensure_all_finite=finite,
        )
        X = X.toarray() if issparse(X) else X
        if self._walks_rows():
            X = check_array(
                X,
                dtype=np.float32,
                order="C",
                estimator=self,
                input_name="X",
                ensure_all_finite=finite,
            )
        weighted = sample_weight is not None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if not (self.parity or self.leaf_penalty or self.l2_regularization):
            weight, _ = bring_near_one(weight)  # penalties depend on the scale of the weights
        y = column_or_1d(self._read_y(y, weight if weighted else None), warn=True)
        if weighted and self.parity is None:
            X, y, weight, weighted = self._drop_unweighted(X, y, weight)
        check_warm_start(self)
        self.max_features_ = count_features(self.max_features, self.n_features_in_)
        self._check_same_learner()
        self.learning_rate_, self._has_trees = self.learning_rate, self.estimator is None
        self._loss = self._make_loss()
        self._walker = BoostedWalker()
        self.n_trees_per_iteration_ = getattr(self._loss, "n_outputs", 1)
        X, y, weight, held_out = self._hold_out(X, y, weight)
        with Workers(count_threads(self.n_jobs)) as workers:
            if isinstance(self._loss, KernelLoss):
                self._loss.share = workers.share
            raw = self._begin(X, y, weight, weighted=weighted)
            rounds = Rounds(self, X, y, weight if weighted else None, raw, held_out, workers)
            rounds.run(monitor)
            self._loss = rounds.end()
        return self

    def _drop_unweighted(self, X, y, weight):
        """Return the rows with nonzero weight, their weights, and whether these differ."""
        if (weight >= 0.0).all():
            weight, X, y = drop_unweighted(weight, X, y)
        if self.leaf_penalty or self.l2_regularization:
            return X, y, weight, True
        differing, _ = split_unit(weight)
        if differing is None:
            return X, y, np.ones(len(weight)), False
        return X, y, weight, True

    def _encode_categories(self, X):
        """Return X with codes in place of categories; set the encoder, or None without categories.

        Raises
        ------
        ValueError
            If a warm start has other categories than the fit before.
        """
        encoder = encoder_of(self.estimator)
        if self.categorical_features is not None:
            encoder = CategoryEncoder(self.categorical_features)
        if encoder is not None:
            X = encoder.fit_transform(X)
        none = CategoryEncoder(None)
        if self._is_trained() and not (encoder or none).has_categories_of(self._encoder or none):
            raise ValueError(
                "the categories of X are not those of the fit that is continued: with "
                "warm_start=True they must be the same"
            )
        self._encoder = encoder
        return X

    def _has_categories(self):
        """Return whether trees of this class split categorical columns."""
        return self._encoder is not None and bool(self._encoder.categories_)

    def base_learner(self):
        """Return ``estimator``; our trees get the indices of the categorical columns."""
        if self._encoder is None:
            return self.estimator
        return self._encoder.set_columns(clone(self.estimator))

    def _check_base_learner(self):
        """Raise ValueError if an estimator is given together with parameters of our own trees."""
        names = ("leaf_penalty", "l2_regularization", "parity")
        given = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name)]
        if self.categorical_features is not None:
            if self.parity is not None:
                raise ValueError(
                    "categorical_features is not supported with parity: use parity=None"
                )
            given.append("categorical_features")
        if self.estimator is not None and given:
            raise ValueError(
                f"{', '.join(given)} cannot be used with an estimator, only with trees"
            )

    def _check_same_learner(self):
        """Raise ValueError if a warm start would mix trees and other models."""
        if self._is_trained() and self._has_trees != (self.estimator is None):
            raise ValueError(
                "estimator is of another kind than in the fit that is continued: with "
                "warm_start=True it must be the same"
            )

    def _hold_out(self, X, y, weight):
        """Return the training rows, and the validation rows or None."""
        if self.n_iter_no_change is None:
            return X, y, weight, None
        from sklearn.model_selection import train_test_split

        X, X_out, y, y_out, weight, weight_out = train_test_split(
            X,
            y,
            weight,
            random_state=self.random_state,
            test_size=self.validation_fraction,
            stratify=y if is_classifier(self) else None,
        )
        if is_classifier(self) and len(np.unique(y)) != self.n_classes_:
            raise ValueError(
                "The training data after the early stopping split is missing some classes. Try "
                "using another random seed."
            )
        return np.ascontiguousarray(X), y, weight, (np.ascontiguousarray(X_out), y_out, weight_out)

    def _begin(self, X, y, weight, *, weighted):
        """Return the initial scores; drop the earlier rounds unless ``warm_start`` is set."""
        if not self._is_trained():
            self._rng = check_random_state(self.random_state)
            self.estimators_ = np.empty((0, self.n_trees_per_iteration_), object)
            self.steps_ = np.empty((0, self.n_trees_per_iteration_))
            self.train_score_ = np.empty(0)
            if self.subsample < 1.0:
                self.oob_improvement_, self.oob_scores_ = np.empty(0), np.empty(0)
            self._fit_init(X, y, weight if weighted else None)
        elif self.n_estimators < len(self.estimators_):
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"estimators_.shape[0]={len(self.estimators_)} when warm_start==True"
            )
        return self._raw(X)

    def _fit_init(self, X, y, weight):
        """Fit the initial model, or the best constant."""
        self.init_ = self.init
        self._constant = np.zeros(self.n_trees_per_iteration_)
        if self.init is None:
            self.init_ = "constant"
            self._constant = np.asarray(self._loss.start(y, weight), np.float64)
        elif not isinstance(self.init, str):
            self.init_ = clone(self.init)
            given = {} if weight is None else {"sample_weight": weight}
            try:
                self.init_.fit(X, y, **given)
            except (TypeError, ValueError) as error:
                if not takes_no_weight(error):
                    raise
                raise ValueError(
                    f"The initial estimator {type(self.init_).__name__} does not support sample "
                    "weights."
                ) from error

    def _is_trained(self):
        return len(getattr(self, "estimators_", ())) > 0

    def _reset(self):
        names = ("estimators_", "train_score_", "oob_improvement_", "oob_scores_", "oob_score_")
        for name in (*names, "steps_", "init_", "_rng", "_constant"):
            self.__dict__.pop(name, None)

    def _walks_rows(self):
        """Return whether whole rows of X are needed, by other models or to predict by trees."""
        return (
            self._is_trained()
            or self.n_iter_no_change is not None
            or not (self.init is None or isinstance(self.init, str))
            or self.estimator is not None
            or self.parity is not None
            or self.ccp_alpha > 0.0
            or self._has_categories()
            or not level_depth(self, self.n_features_in_)
        )

    def tree_maker(self, X, workers):
        """Return the `TreeMaker` of a fit."""
        return TreeMaker(
            self._tree_class(**{name: getattr(self, name) for name in TREE_PARAMETERS}),
            X,
            workers,
            type(self).__name__,
            leaf_penalty=self.leaf_penalty,
            l2=self.l2_regularization,
            as_library=self.parity is not None,
            counts=self._count_codes(),
        )

    def _count_codes(self):
        """Return the number of codes of each feature, int64 (n_features,), or None."""
        if not self._has_categories():
            return None
        return count_codes(self._encoder.categories_, self.n_features_in_)

    def member(self, tree):
        """Return a tree as an estimator."""
        member = self._tree_class(**{name: getattr(self, name) for name in TREE_PARAMETERS})
        member.n_features_in_ = self.n_features_in_
        member.n_outputs_ = 1
        member.max_features_ = self.max_features_
        member.tree_ = tree
        return member


def takes_no_weight(error):
    """Return whether an error means that an estimator's fit accepts no weights."""
    message = str(error)
    if isinstance(error, TypeError):
        return "unexpected keyword argument 'sample_weight'" in message
    return (
        "pass parameters to specific steps of your pipeline using the stepname__parameter"
        in message
    )
