"""Decorators of `fit` and `load_model`: a call that fails or is interrupted changes nothing.

A call may raise at any point, also by Ctrl-C. The attributes of the estimator are then restored to
those before the call. Only references are kept, not copies of arrays, so the cost is that of
copying one dict. Therefore a call must not write into arrays or lists of the earlier model, but
create new ones. Attributes in ``_progress_attributes`` of a class are not restored: a later call
resumes from them, and no prediction depends on them.
"""

from functools import wraps

import numpy as np
from sklearn import config_context, get_config


def fit_context(*, prefer_skip_nested_validation):
    """Return a decorator of `fit` that validates parameters and undoes a call that fails.

    It replaces scikit-learn's `_fit_context`, and also adds one frame to the stack.

    Parameters
    ----------
    prefer_skip_nested_validation : bool
        Whether nested estimators skip the validation of their parameters.
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
                # no call before the assignment, so a second Ctrl-C cannot interrupt it
                now, estimator.__dict__ = estimator.__dict__, before
                finish_undo(estimator, now, states)
                raise

        return fit_or_undo

    return decorate


def undo_on_failure(method):
    """Return a method that restores its object's attributes if it raises."""

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
    """Restore random generators, and keep the progress that a later call may resume.

    Parameters
    ----------
    estimator : with the attributes from before the call
    failed : dict, the attributes at the time of the failure
    random_states : result of `random_states_of` before the call
    """
    for generator, state in random_states:
        generator.set_state(state)
    for name in getattr(type(estimator), "_progress_attributes", ()):
        if name in failed:
            estimator.__dict__[name] = failed[name]
