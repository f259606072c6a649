"""Errors and warnings of the XGBoost interface."""

import functools
import inspect
import warnings
from contextlib import contextmanager

MODEL_CLASS = "NativeModel"  # estimator of a Booster; errors name the Booster


class XGBoostError(ValueError):
    """Error in data, parameters or a model."""


@contextmanager
def as_xgboost_errors():
    """Raise each ValueError and TypeError of the block as an `XGBoostError`."""
    try:
        yield
    except XGBoostError:
        raise
    except (ValueError, TypeError) as error:
        raise XGBoostError(str(error).replace(MODEL_CLASS, "Booster")) from error


def allow_positional(function):
    """Decorate a function: keyword-only arguments may be positional, with a FutureWarning."""
    known = inspect.signature(function).parameters.values()
    n_usual = sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in known)
    names = [one.name for one in known if one.kind is one.KEYWORD_ONLY]

    @functools.wraps(function)
    def calling(*given, **options):
        more = dict(zip(names, given[n_usual:], strict=False))
        if more:
            warnings.warn(
                f"Pass `{'`, `'.join(more)}` as keyword args.", FutureWarning, stacklevel=2
            )
        return function(*given[:n_usual], **{**options, **more})

    return calling
