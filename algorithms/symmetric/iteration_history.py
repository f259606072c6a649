"""Metrics of the training rows by iteration, and callbacks after each iteration.

``after_iteration(info)`` of a callback is called with ``info.iteration``, the number of trained
trees, and ``info.metrics``: evaluation set → metric → list of the values so far. "learn" are the
training rows, if their metrics are recorded. Training goes on if it returns true.
"""

from types import SimpleNamespace

import numpy as np

NOT_ON_TRAINING_ROWS = ("AUC", "NDCG", "MAP")  # metrics, as in CatBoost


class IterationHistory:
    """Metrics of the training rows by iteration, and callbacks.

    Parameters
    ----------
    model : the estimator
    metrics : list of (name, function, whether higher is better)
    callbacks : list of objects with ``after_iteration``
    records : bool, whether metrics of the training rows are recorded
    """

    def __init__(self, model, metrics, callbacks, *, records):
        self.model, self.metrics, self.callbacks, self.records = model, metrics, callbacks, records
        self.values, self.link_model = {}, None

    @property
    def is_used(self):
        """Whether something is done after each iteration."""
        return self.records or bool(self.callbacks)

    @property
    def training_metrics(self):
        """The metrics of the training rows: {"learn": metric → list}, or {} if not recorded."""
        return {"learn": self.values} if self.values else {}

    def record_iteration(self, booster, stopping):
        """Record the metrics of an iteration and call the callbacks.

        Parameters
        ----------
        booster : Booster
        stopping : SymmetricEarlyStopping

        Returns
        -------
        bool, whether a callback ends the training
        """
        if self.records:
            self._record(booster)
        if not self.callbacks:
            return False
        metrics = self.training_metrics | stopping.named_history()
        info = SimpleNamespace(iteration=len(booster.done), metrics=metrics)
        answers = [one.after_iteration(info) for one in self.callbacks]
        return not all(answers)

    def _record(self, booster):
        """Record the metrics of the training rows."""
        if self.link_model is None:  # of one tree: only its link is used
            self.link_model = self.model._join(booster.done[:1], first=False)  # noqa: SLF001 - same package
        score = np.log(booster.score) if booster.objective.is_exp else booster.score
        raw = score.T.copy()
        prediction = self.link_model.from_raw(raw.astype(np.float32))
        weight = booster.weight if len(booster.weight) else None
        for name, metric, _ in self.metrics:
            if name.partition(":")[0] in NOT_ON_TRAINING_ROWS:
                continue
            given = raw if getattr(metric, "takes_scores", False) else prediction
            self.values.setdefault(name, []).append(float(metric(booster.y, given, weight)))


def read_callbacks(callbacks):
    """Return the callbacks as a list.

    Raises
    ------
    TypeError
        If one has no method ``after_iteration``.
    """
    listed = list(callbacks or ())
    for one in listed:
        if not callable(getattr(one, "after_iteration", None)):
            raise TypeError(
                f"callbacks must have a method after_iteration(info); {type(one).__name__} has none"
            )
    return listed
