"""Prediction methods of AdaBoost: weighted votes for classes, weighted median for regression.

`algorithms.adaboost` trains the models; formulas and names are as there.
"""

import numpy as np
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import check_is_fitted

from algorithms.boosting.boosted_sums import median_of_trees, voting_walker, weighted_median
from algorithms.estimator.labels import codes_among
from algorithms.prediction.binary_probabilities import softmax_of_two
from algorithms.runtime.threads import count_threads

TWO = 2


class VotedClasses:
    """Prediction methods of the AdaBoost classifier."""

    def _finish(self):
        """Build the walker that sums our own trees' votes, so that predict changes no state."""
        if self._is_trees:
            trees, votes = self._trees_and_votes()
            self._walker = voting_walker(trees, votes, self.n_features_in_)

    def _votes(self, X):
        """Yield each model's votes, (n_rows, K): of the predicted class and of the others."""
        check_is_fitted(self)
        others = max(1, self.n_classes_ - 1)
        for vote, predictions in zip(self.estimator_weights_, self._each(X), strict=False):
            chosen = predictions[:, None] == self.classes_
            yield vote, np.where(chosen, vote, -1.0 / others * vote)

    def staged_decision_function(self, X):
        """Yield `decision_function` after each round."""
        total, votes = 0.0, 0.0
        for vote, given in self._votes(X):
            total, votes = total + given, votes + vote
            yield self._shape(total / votes)  # F_k

    def _shape(self, score):
        """Return F_k in scikit-learn's shape: for two classes one column, F_1 − F_0."""
        if self.n_classes_ == 1:
            return np.zeros((len(score), 1))
        return score[:, 1] - score[:, 0] if self.n_classes_ == TWO else score

    def decision_function(self, X):
        """Return F_k, float64 (n_rows, n_classes); for two classes F_1 − F_0, (n_rows,)."""
        check_is_fitted(self)
        votes = self.estimator_weights_.sum()
        if self._walker is None:
            return self._shape(sum(given for _, given in self._votes(X)) / votes)
        parts = [self._walker.sum(p, count_threads(self.n_jobs, len(p))) for p in self._parts(X)]
        score = np.concatenate(parts)
        score /= votes
        return 2.0 * score[:, 0] if self.n_classes_ == TWO else self._shape(score)  # F_0 = −F_1

    def predict(self, X):
        """Return the label with the largest F_k; the first one if equal."""
        return self._label(self.decision_function(X))

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for score in self.staged_decision_function(X):
            yield self._label(score)

    def _label(self, score):
        """Convert decision values to labels."""
        if self.n_classes_ == TWO:
            return self.classes_.take(score > 0)
        return self.classes_.take(score.argmax(axis=1))

    def predict_proba(self, X):
        """Return the softmax of F_k / (K − 1), float64 (n_rows, n_classes)."""
        return self._proba(self.decision_function(X))

    def staged_predict_proba(self, X):
        """Yield `predict_proba` after each round."""
        for score in self.staged_decision_function(X):
            yield self._proba(score)

    def _proba(self, score):
        """Convert decision values to probabilities."""
        if self.n_classes_ == 1:
            return np.ones((len(score), 1))
        if self.n_classes_ == TWO:
            return softmax_of_two(score)
        # Fortran order, as in scikit-learn, so that rows are summed in the same order
        return softmax(np.asfortranarray(score / (self.n_classes_ - 1)))

    def predict_log_proba(self, X):
        """Return the logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def staged_score(self, X, y, sample_weight=None):
        """Yield the accuracy after each round."""
        from sklearn.metrics import accuracy_score

        for predictions in self.staged_predict(X):
            yield accuracy_score(y, predictions, sample_weight=sample_weight)

    def margins(self, X, y):
        """Return the margin of each row, float64 (n_rows,) in −1 … 1.

        The margin is the vote share of the true class minus the largest vote share of another class
        (Schapire, Freund, Bartlett and Lee: Boosting the margin, 1998). It is below 0 if the
        prediction is wrong. With a single class it is 1.
        """
        check_is_fitted(self)
        codes = codes_among(self.classes_, y, "y has labels that the model was not trained on")
        if self.n_classes_ == 1:
            return np.ones(len(y))
        score = self.decision_function(X)
        if self.n_classes_ == TWO:
            score = np.column_stack([-score, score]) / 2.0
        share = (score * (self.n_classes_ - 1) + 1.0) / self.n_classes_
        rows = np.arange(len(y))
        right = share[rows, codes]
        share[rows, codes] = -np.inf
        return right - share.max(axis=1)

    @property
    def ensemble_(self):
        """Return the trees as a `harness.TreeEnsemble` that votes."""
        check_is_fitted(self)
        others = max(1, self.n_classes_ - 1)
        integer = np.issubdtype(self.classes_.dtype, np.integer)
        codes = self.classes_.tolist() if integer else range(self.n_classes_)
        return self._export(
            tuple(codes),
            combination="vote",
            against=-1.0 / others,
            link="softmax",
            temperature=others,
        )


class MedianOfValues:
    """Prediction methods of the AdaBoost regressor."""

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        predictions = np.column_stack(list(self._each(X)))
        for t in range(1, len(self.estimators_) + 1):
            yield weighted_median(predictions[:, :t], self.estimator_weights_[:t])

    def predict(self, X):
        """Return the weighted median of the models' predictions, float64 (n_rows,)."""
        check_is_fitted(self)
        trees, votes = self._trees_and_votes()
        if self._is_trees:

            def median(rows):
                return median_of_trees(trees, votes, rows, count_threads(self.n_jobs, len(rows)))

            return np.concatenate([median(rows) for rows in self._parts(X)])
        return weighted_median(np.column_stack(list(self._each(X))), votes)

    def staged_score(self, X, y, sample_weight=None):
        """Yield R² after each round."""
        from sklearn.metrics import r2_score

        for predictions in self.staged_predict(X):
            yield r2_score(y, predictions, sample_weight=sample_weight)

    @property
    def ensemble_(self):
        """Return the trees as a `harness.TreeEnsemble` that predicts a weighted median."""
        return self._export((), combination="median")
