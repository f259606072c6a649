"""Metrics of the evaluation sets, CatBoost's overfitting detectors, and the best iteration.

The last evaluation set decides. "Iter" stops after `od_wait` iterations without improvement.
"IncToDec" stops where p < `od_pval`, with the metric e (lower is better) and the best one e*:

    p = e^(−1/2x)    x = E / (e − e*)    E = max_i 0.99ⁱ (e_{t−i} − e_t), or 0.99 E if larger
"""

import math
from collections import deque

import numpy as np

from algorithms.gbdt.early_stopping import improves
from algorithms.newton.early_stopping import EarlyStopping

WAIT = 20  # iterations before "IncToDec" may stop, and default od_wait
DECAY = 0.99
MEMORY = 2000  # iterations that count
TINY = 1e-10
STATE = ("history", "rounds", "best_round", "best")  # attributes that a snapshot stores


class IncToDec:
    """Detector that stops where the metric has fallen behind its best value by too much."""

    def __init__(self, p_value, wait):
        self.p_value, self.wait = p_value, wait
        self.values = deque(maxlen=MEMORY)
        self.best, self.since_best, self.expected = np.inf, 0, 0.0

    def stops(self, value):
        """Take the next value, lower is better; return whether to stop."""
        self.since_best = 0 if value < self.best else self.since_best + 1
        self.best = min(self.best, value)
        self.values.appendleft(value)
        falls = DECAY ** np.arange(len(self.values)) * (np.array(self.values) - value)
        self.expected = max(self.expected * DECAY, falls.max())
        if self.since_best < self.wait:
            return False
        x = self.expected / max(value - self.best, TINY)
        return math.exp(-0.5 / max(x, TINY)) < self.p_value


class SymmetricEarlyStopping(EarlyStopping):
    """Metrics by iteration, and the decision to stop.

    Parameters
    ----------
    model : the estimator
    eval_sets : EvaluationSets
    metrics : list of (name, function, whether higher is better); the first one decides
    start : float64 (n_scores,), scores before the first tree
    """

    def __init__(self, model, eval_sets, metrics, start):
        super().__init__(model, eval_sets, metrics, start)
        self.wait, self.detector = find_detector(model)
        self.patience = None  # `is_over` of the base class records and prints only

    def shrink(self, factor):
        """Multiply the scores of the evaluation sets by a factor."""
        for table in self.eval_sets:
            table.score *= factor

    def is_over(self, ensemble):
        """Add an iteration's tree and compute the metrics; return whether to stop."""
        super().is_over(ensemble)
        if not self.history:
            return False
        name, _, higher = self.metrics[0]
        value = next(reversed(self.history.values()))[name][-1]
        if improves(value, self.best, higher):
            self.best_round, self.best = self.rounds - 1, value
        if self.best is None and self.wait is not None and self.rounds >= self.wait:
            raise ValueError(
                f"eval_metric {name!r} has been NaN for {self.rounds} iterations: it cannot decide "
                "when to stop"
            )
        if self.detector is not None:
            return self.detector.stops(-value if higher else value)
        return self.wait is not None and self.rounds - 1 - self.best_round >= self.wait

    def get_state(self):
        """Return the arrays and the JSON values from which a snapshot continues, two dicts."""
        arrays = {f"eval_score_{n}": table.score for n, table in enumerate(self.eval_sets)}
        values = {name: getattr(self, name) for name in STATE}
        if self.detector is not None:
            values["detector"] = vars(self.detector) | {"values": list(self.detector.values)}
        return arrays, values

    def set_state(self, arrays, values):
        """Continue from the arrays and the JSON values of a snapshot."""
        for n, table in enumerate(self.eval_sets):
            table.score[:] = arrays[f"eval_score_{n}"]
        for name in STATE:
            setattr(self, name, values[name])
        if self.detector is not None:
            vars(self.detector).update(values["detector"])
            self.detector.values = deque(self.detector.values, maxlen=MEMORY)

    def named_history(self):
        """Return the metrics under CatBoost's names: "validation", or with numbers if several."""
        if len(self.history) == 1:
            return {"validation": next(iter(self.history.values()))}
        return self.history


def find_detector(params):
    """Return the patience of "Iter", or None, and the `IncToDec` detector, or None.

    Raises
    ------
    ValueError
        If two parameters contradict each other.
    """
    patience = params.early_stopping_rounds
    wait = params.od_wait if patience is None else patience
    if patience is not None and params.od_type == "IncToDec":
        raise ValueError("early_stopping_rounds is for od_type='Iter'; IncToDec has od_wait")
    if params.od_type == "Iter" or patience is not None:
        return (WAIT if wait is None else wait), None
    if params.od_pval:
        return None, IncToDec(params.od_pval, WAIT if wait is None else wait)
    return None, None
