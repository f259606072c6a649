"""Training, predicting and the loss of rotated-forest beside its reference.

Tasks, params and how it is driven are what the plugin declares. Names are written here, because asv
knows a case by its place in these lists: never make them at run time.
"""

import numpy as np
from sklearn import datasets
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from harness import Spec, Task
from harness.plugins.registry import load_registry

ALGORITHMS = ["rotated-forest", "sklearn.random_forest"]
TASKS = {"breast_cancer": Task.BINARY, "wine": Task.MULTICLASS, "diabetes": Task.REGRESSION}
DATASETS = ["breast_cancer", "wine", "diabetes"]


class Models:
    """Raise `version` when what is measured changes its meaning.

    Two rounds of 5 to 10 samples, each round after a call that does not count: asv's test of
    significance is blind at six samples in all.
    """

    version = "1"
    timeout = 300
    rounds = 2
    repeat = (5, 10, 30.0)
    warmup_time = 0.1
    params = (ALGORITHMS, DATASETS)
    param_names = ("algorithm", "dataset")
    model = None

    def setup(self, algorithm, dataset):
        """Train once; asv sets up again before every sample, and then there is nothing to do."""
        if self.model is not None:
            return
        task = TASKS[dataset]
        declared = load_registry().algorithm(algorithm)
        if task not in declared.tasks:
            raise NotImplementedError(f"{algorithm} is not for {task}")  # asv: n/a
        X, y = getattr(datasets, f"load_{dataset}")(return_X_y=True)
        X, self.X, y, self.y = train_test_split(np.ascontiguousarray(X), y, random_state=0)
        classes = len(np.unique(y)) if task.is_classification else 0
        spec = Spec(task, declared.params, seed=0, threads=1, n_classes=classes)
        model = declared.adapter(spec)
        self.native = model.prepare(X, y, None)
        model.fit(self.native)
        self.model = model

    def time_fit(self, algorithm, dataset):
        """Seconds to train from the native form."""
        self.model.fit(self.native)

    def time_predict(self, algorithm, dataset):
        """Seconds to predict the test rows."""
        self.model.predict(self.X)

    def track_loss(self, algorithm, dataset):
        """Log loss, or RMSE in standard deviations of the target: asv takes lower for better."""
        found = self.model.predict(self.X)
        if TASKS[dataset].is_classification:
            return log_loss(self.y, found, labels=range(found.shape[1]))
        return float(np.sqrt(np.mean((found - self.y) ** 2)) / np.std(self.y))
