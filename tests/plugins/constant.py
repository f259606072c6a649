"""A regressor that predicts the mean of its training targets times a factor."""

import numpy as np

from harness import Algorithm, Spec, Task, hookimpl


class Constant:
    """The mean of the training targets, times ``factor``."""

    def __init__(self, spec: Spec):
        self.factor = spec.params["factor"]

    def prepare(self, X, y, weight):
        return y

    def fit(self, native):
        self.value = self.factor * float(np.mean(native))

    def predict(self, X):
        return np.full(len(X), self.value)

    def predict_one(self, x):
        return self.predict(x)


@hookimpl
def register_algorithms(register):
    tasks = frozenset({Task.REGRESSION})
    register(Algorithm("constant", Constant, tasks, origin="reference", params={"factor": 1.0}))
