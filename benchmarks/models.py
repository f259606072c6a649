"""Fit, predict, loss and memory of every algorithm on small real and generated data."""

import numpy as np

from . import data
from .drive import Suite, loss, new_adapter
from .names import ALGORITHMS, DATASETS


class _Case(Suite):
    params = (ALGORITHMS, DATASETS)
    param_names = ("algorithm", "dataset")
    model = None

    def setup(self, cache, algorithm, dataset):
        # asv calls setup before every single call; the first one trains the model.
        if self.model is None:
            self.model = new_adapter(cache, algorithm, dataset)
            self.native = self.model.prepare(*self.rows(dataset, "train"), None)
            self.test = self.rows(dataset, "test")
            self.after_setup()

    def rows(self, dataset, part):
        return tuple(np.array(column) for column in data.read(dataset, part))

    def after_setup(self):
        pass


class Fit(_Case):
    def time_fit(self, cache, algorithm, dataset):
        self.model.fit(self.native)


class Predict(_Case):
    def after_setup(self):
        self.model.fit(self.native)

    def time_predict(self, cache, algorithm, dataset):
        self.model.predict(self.test[0])

    def track_loss(self, cache, algorithm, dataset):
        classes = cache["datasets"][dataset]["classes"]
        return loss(self.model.predict(self.test[0]), self.test[1], classes)

    track_loss.unit = "log loss or RMSE/sd"


class Memory(_Case):
    """Peak memory of the whole process; ``peakmem_ready`` is the peak before the fit."""

    params = (ALGORITHMS, ["friedman1"])

    def peakmem_ready(self, cache, algorithm, dataset):
        pass

    def peakmem_fit(self, cache, algorithm, dataset):
        self.model.fit(self.native)
