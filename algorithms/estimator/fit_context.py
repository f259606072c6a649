"""Decorators of `fit` and `load_model`: a call that fails or is interrupted changes nothing.

A call may raise at any point, also by Ctrl-C. The estimator then gets back the attributes it had
before the call: it is the earlier model, or unfitted. Only references are kept, never copies of
arrays, so the cost is that of copying one dict. For this, a call must never write into an array or
a list of the earlier model: it makes a new one. What a class names in ``_progress_attributes``
stays as the failed call left it: a later call resumes from it, and no prediction depends on it.
"""

from functools import wraps

import numpy as np
from sklearn import config_context, get_config


def fit_context(*, prefer_skip_nested_validation):
    """Return a decorator of `fit` that validates parameters and undoes a call that fails.

    It is scikit-learn's `_fit_context`, and adds one frame to the stack, as that one does.

    Parameters
    ----------
    prefer_skip_nested_validation : bool
        Whether estimators that are fitted inside do not validate their parameters.
    """

    def decorate(fit):
        @wraps(fit)
        def fit_or_undo(estimator, *args, **kwargs):
            before, states = estimator.__dict__.copy(), random_states_of(estimator)
            skips = get_config()["skip_parameter_validation"]
            try:
                if not skips:
                    estimator._validate_params()  # noqa: SLF001 - scikit-learn's convention
                with config_context(
                    skip_parameter_validation=prefer_skip_nested_validation or skips
                ):
                    return fit(estimator, *args, **kwargs)
            except BaseException:
                # no call stands before the assignment: a second Ctrl-C cannot come between
                now, estimator.__dict__ = estimator.__dict__, before
                finish_undo(estimator, now, states)
                raise

        return fit_or_undo

    return decorate


def undo_on_failure(method):
    """Return a method that leaves its object as it was where it raises."""

    @wraps(method)
    def call_or_undo(estimator, *args, **kwargs):
        before, states = estimator.__dict__.copy(), random_states_of(estimator)
        try:
            return method(estimator, *args, **kwargs)
        except BaseException:
            now, estimator.__dict__ = estimator.__dict__, before
            finish_undo(estimator, now, states)
            raise

    return call_or_undo


def random_states_of(estimator):
    """Return each random generator among the attributes of an estimator, with its state."""
    values = estimator.__dict__.values()
    generators = [value for value in values if isinstance(value, np.random.RandomState)]
    return [(generator, generator.get_state(legacy=False)) for generator in generators]


def finish_undo(estimator, failed, random_states):
    """Set random generators back, and keep the progress that a later call may resume.

    Parameters
    ----------
    estimator : with the attributes of before the call
    failed : dict, the attributes it had when the call failed
    random_states : of `random_states_of`, before the call
    """
    for generator, state in random_states:
        generator.set_state(state)
    for name in getattr(type(estimator), "_progress_attributes", ()):
        if name in failed:
            estimator.__dict__[name] = failed[name]
