"""Errors and messages of the LightGBM interface."""

import warnings
from contextlib import contextmanager

from algorithms.estimator.verbose import say

MODEL_CLASS = "NativeModel"  # estimator of a Booster; errors name the Booster


class LightGBMError(ValueError):
    """Error in data, parameters or a model."""


@contextmanager
def as_lightgbm_errors():
    """Raise each ValueError of the block as a `LightGBMError`.

    A TypeError keeps its type. The messages name the Booster.
    """
    try:
        yield
    except LightGBMError:
        raise
    except ValueError as error:
        raise LightGBMError(str(error).replace(MODEL_CLASS, "Booster")) from error
    except TypeError as error:
        if MODEL_CLASS not in str(error):
            raise
        raise TypeError(str(error).replace(MODEL_CLASS, "Booster")) from error


class Logger:
    """Logger that is used until `register_logger` is called: prints, and warns."""

    def info(self, message):
        """Print a message."""
        say(message)

    def warning(self, message):
        """Issue a UserWarning."""
        warnings.warn(message, stacklevel=4)


_USED = {"logger": Logger(), "info": "info", "warning": "warning"}


def register_logger(logger, info_method_name="info", warning_method_name="warning"):
    """Use a logger of one's own for all messages.

    Parameters
    ----------
    logger : object with the two methods
    info_method_name, warning_method_name : str

    Raises
    ------
    TypeError
        If it lacks one of the methods.
    """
    for name in (info_method_name, warning_method_name):
        if not callable(getattr(logger, name, None)):
            raise TypeError(
                f"Logger must provide '{info_method_name}' and '{warning_method_name}' method"
            )
    _USED.update(logger=logger, info=info_method_name, warning=warning_method_name)


def info(message):
    """Pass a message to the logger."""
    getattr(_USED["logger"], _USED["info"])(message)


def warn(message):
    """Pass a warning to the logger."""
    getattr(_USED["logger"], _USED["warning"])(message)
