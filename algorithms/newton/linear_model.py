"""Linear models under XGBoost's ``booster="gblinear"``: coordinate descent on g and h.

A round takes, for each score, a Newton step of the bias and then of one coefficient after another,
in the order of the columns. With the sums over rows G = Σ g x, H = Σ h x² and the weights' sum W:

    w ← w + η δ      δ = −(G + λ W w ± α W) / (H + λ W), which does not change the sign of w
    g ← g + h x η δ

Missing values count as 0, as absent entries of a sparse matrix do.
"""

import json
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from algorithms.model_io.xgboost_writer import VERSION
from algorithms.runtime.threads import ALONE

MIN_H = 1e-5  # least Σ h x² of a step, as in XGBoost
ZERO_MARGIN = {"sigmoid": 0.5, "exp": 1.0}  # base score whose raw score is 0, by link


@dataclass(frozen=True)
class LinearModel:
    """Coefficients of a linear model, or of the step of one round.

    Parameters
    ----------
    weights : float64 (n_features + 1, n_scores); the last row is the bias
    trees : harness.TreeEnsemble without trees, for its link
    """

    weights: np.ndarray
    trees: object

    def add(self, X, score):
        """Add the values of rows to their raw scores, (n_rows, n_scores)."""
        score += zero_missing(X) @ self.weights[:-1] + self.weights[-1]

    def from_raw(self, score):
        """Return the values or probabilities of raw scores."""
        return self.trees.from_raw(score)


@dataclass
class LinearRounds:
    """Rounds of coordinate descent, with the interface of `newton.rounds.Rounds`.

    Parameters
    ----------
    params : the estimator; its λ and α are for the weights divided by ``weight_unit``
    X : (n_rows, n_features) float32, NaN where missing; or CSR
    objective, y, weight, score, weight_unit : as in `newton.rounds.Rounds`
    trees : harness.TreeEnsemble without trees
    done : list of LinearModel, the step of each round
    """

    params: object
    X: object
    objective: object
    y: np.ndarray
    weight: np.ndarray | None
    score: np.ndarray
    trees: object
    weight_unit: float = 1.0
    done: list = field(default_factory=list)

    def __post_init__(self):
        self.columns = sparse.csc_matrix(zero_missing(self.X), dtype=np.float64)
        self.weights = np.zeros((self.X.shape[1] + 1, len(self.score)))
        total = len(self.y) if self.weight is None else self.weight.sum()
        self.l2 = self.params.reg_lambda * total * self.weight_unit
        self.l1 = self.params.reg_alpha * total * self.weight_unit

    def boost(self):
        """Change the coefficients of all scores by one round; return the step."""
        g, h = np.empty((2, *self.score.shape), np.float32)
        self.objective.differentiate(self.score, self.y, self.weight, g, h, ALONE)
        before = self.weights.copy()
        for k in range(len(self.score)):
            self.descend(k, g[k].astype(np.float64), h[k].astype(np.float64))
        step = LinearModel(self.weights - before, self.trees)
        step.add(self.X, self.score.T)
        if not np.isfinite(self.weights).all():
            raise ValueError("a linear model has diverged: set a lower learning_rate")
        self.done.append(step)
        return step

    def descend(self, k, g, h):
        """Update the bias and the coefficients of one score; ``g`` is changed."""
        rate, weights, columns = self.params.learning_rate, self.weights[:, k], self.columns
        total = h.sum()
        bias = -rate * g.sum() / total if total >= MIN_H else 0.0
        weights[-1] += bias
        g += h * bias
        for f in range(columns.shape[1]):
            part = slice(columns.indptr[f], columns.indptr[f + 1])
            rows, x = columns.indices[part], columns.data[part]
            sums = g[rows] @ x, h[rows] @ (x * x)
            step = rate * best_step(*sums, weights[f], self.l1, self.l2)
            weights[f] += step
            g[rows] += h[rows] * x * step


def best_step(g, h, w, l1, l2):
    """Return the step of a coefficient w that minimizes the loss; see the module's docstring."""
    if h < MIN_H:
        return 0.0
    g, h = g + l2 * w, h + l2
    if w - g / h >= 0.0:
        return max(-(g + l1) / h, -w)
    return min(-(g - l1) / h, -w)


def zero_missing(X):
    """Return rows with 0 in place of missing values."""
    if not sparse.issparse(X):
        return np.nan_to_num(X, nan=0.0, posinf=np.inf, neginf=-np.inf)
    X = X.copy()
    X.data = np.nan_to_num(X.data, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return X


def write_linear(model, objective, n_classes, n_rounds, names):
    """Return a linear model as XGBoost's JSON text.

    The bias includes the base scores: XGBoost starts all scores of a linear model at the first one.

    Parameters
    ----------
    model : LinearModel
    objective : dict, the name of the objective and its parameters
    n_classes : int, number of classes if there is a score for each, otherwise 0
    n_rounds : int
    names : list of str, the column names; or empty
    """
    n_features, n_scores = model.weights.shape[0] - 1, model.weights.shape[1]
    bases = [ZERO_MARGIN.get(model.trees.link, 0.0)] * n_scores
    weights = model.weights.copy()
    weights[-1] += model.trees.base
    learner = {
        "attributes": {},
        "feature_names": names,
        "feature_types": [],
        "gradient_booster": {
            "model": {
                "boosted_rounds": n_rounds,
                "weights": weights.astype(np.float32).astype(float).ravel().tolist(),
            },
            "name": "gblinear",
        },
        "learner_model_param": {
            "base_score": f"[{','.join(map(str, bases))}]",
            "boost_from_average": "1",
            "num_class": str(n_classes),
            "num_feature": str(n_features),
            "num_target": str(1 if n_classes else n_scores),
        },
        "objective": objective,
    }
    return json.dumps({"learner": learner, "version": VERSION}, separators=(",", ":"))
