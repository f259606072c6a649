"""Support of XGBoost's training callbacks in second-order boosting."""


class ModelAttributes:
    """Attributes of a model, name → text, in ``_attributes``."""

    def attributes(self):
        """Return the attributes: dict, name → str."""
        return dict(self._attributes)

    def attr(self, key):
        """Return an attribute, str, or None if there is none of this name."""
        return self._attributes.get(key)

    def set_attr(self, **values):
        """Set attributes as text; None removes one."""
        for name, value in values.items():
            if value is None:
                self._attributes.pop(name, None)
            else:
                self._attributes[name] = str(value)


class TrainingBooster(ModelAttributes):
    """View of the model in training, which callbacks receive.

    Parameters
    ----------
    params : parameters read by training
    rounds : list of rounds, extended by training
    """

    def __init__(self, params, rounds):
        self._params, self._rounds, self._attributes = params, rounds, {}

    def num_boosted_rounds(self):
        """Return the number of rounds so far."""
        return len(self._rounds)

    def set_param(self, params, value=None):
        """Change parameters for the following rounds."""
        pairs = [(params, value)] if isinstance(params, str) else dict(params).items()
        table = self._params._parameter_table  # noqa: SLF001 - its own part
        for name, one in pairs:
            row = table.by_name.get(name)
            if row is None or not row.attribute:
                raise ValueError(f"{name} cannot be changed while training goes on")
            setattr(self._params, row.attribute, one)

    @property
    def best_iteration(self):
        """Best round, counted from 0.

        Raises
        ------
        AttributeError
            If no callback has set it.
        """
        return int(self._set_by_callback("best_iteration"))

    @best_iteration.setter
    def best_iteration(self, value):
        self.set_attr(best_iteration=value)

    @property
    def best_score(self):
        """Metric of the best round."""
        return float(self._set_by_callback("best_score"))

    @best_score.setter
    def best_score(self, value):
        self.set_attr(best_score=value)

    def _set_by_callback(self, name):
        if name not in self._attributes:
            raise AttributeError(f"{name} is only there when early stopping is used")
        return self._attributes[name]

    def __getitem__(self, rounds):
        """Return the model of the first rounds, for a slice such as ``[:5]``."""
        if not isinstance(rounds, slice) or rounds.start not in (None, 0):
            raise IndexError("take the first rounds, such as model[:5]")
        shorter = TrainingBooster(self._params, self._rounds[rounds])
        shorter._attributes = dict(self._attributes)
        return shorter


class Callbacks:
    """Callbacks of one training.

    Parameters
    ----------
    given : list of callbacks, or None
    params : parameters read by training
    rounds : list of rounds, extended by training
    history : table → metric → list, extended by evaluation
    """

    def __init__(self, given, params, rounds, history):
        self.given = list(given or ())
        self.history = history
        self.model = TrainingBooster(params, rounds)
        self._save_best = [one for one in self.given if getattr(one, "save_best", False)]

    def __enter__(self):
        """Call all callbacks before the first round.

        ``save_best`` of XGBoost's early stopping only works for XGBoost models, so it is disabled
        here, and `end` returns the best round instead.
        """
        for callback in self._save_best:
            callback.save_best = False
        for callback in self.given:
            self._call(callback, "before_training")
        return self

    def __exit__(self, *error):
        for callback in self._save_best:
            callback.save_best = True

    def before(self):
        """Call all callbacks before a round; return whether one ends training."""
        epoch = self.model.num_boosted_rounds()
        return self._any("before_iteration", epoch)

    def after(self):
        """Call all callbacks after a round; return whether one ends training."""
        epoch = self.model.num_boosted_rounds() - 1
        return self._any("after_iteration", epoch)

    def end(self):
        """Call all callbacks after the last round; return the number of rounds to keep."""
        for callback in self.given:
            self._call(callback, "after_training")
        if self._save_best and self.model.attr("best_iteration") is not None:
            return self.model.best_iteration + 1
        return self.model.num_boosted_rounds()

    def _any(self, method, epoch):
        """Call a method of all callbacks; return whether one returns True."""
        results = [getattr(one, method)(self.model, epoch, self.history) for one in self.given]
        return any(results)

    def _call(self, callback, method):
        """Call a method of a callback and store the model that it returns."""
        model = getattr(callback, method)(self.model)
        if model is None:
            raise TypeError(f"{method} of a callback must return the model")
        self.model = model
