"""Library versions that the parity modes follow, and a warning about other versions."""

import re
from importlib.metadata import PackageNotFoundError, version
from warnings import warn

from sklearn.utils._param_validation import StrOptions

# the versions whose rules were read and tested, ascending
FOLLOWED = {
    "scikit-learn": ("1.9.1",),
    "lightgbm": ("4.7.0",),
    "xgboost": ("3.2.0", "3.4.1"),
    "catboost": ("1.2.10",),
}

OTHER_DISTRIBUTIONS = {"xgboost": ("xgboost-cpu",)}  # that install the same module

AS_SKLEARN = [StrOptions({"scikit-learn"}), None]  # allowed values of ``parity``
AS_XGBOOST = [StrOptions({"xgboost"}), None]
AS_CATBOOST = [StrOptions({"catboost"}), None]


def installed_version(library):
    """Return the installed version of a library as text, or None."""
    for distribution in (library, *OTHER_DISTRIBUTIONS.get(library, ())):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return None


def followed_version(library):
    """Return the version whose rules parity follows.

    It is the newest one whose first two numbers are not larger than those of the installed version.
    If there is none, or the library is not installed, it is the oldest one.
    """
    installed, followed = installed_version(library), FOLLOWED[library]
    if installed is None:
        return followed[0]
    reached = [one for one in followed if read_series(one) <= read_series(installed)]
    return reached[-1] if reached else followed[0]


def read_series(text):
    """Return the first two numbers of a version, such as (3, 4)."""
    return tuple(map(int, re.findall(r"\d+", text)[:2]))


def warn_of_other_version(library, stacklevel=2):
    """Warn if the installed version of a library is not one that parity follows.

    Parameters
    ----------
    library : str or None
        Value of an estimator's ``parity``; None means no library.
    stacklevel : int
        1 attributes the warning to the caller of this function, 2 to its caller, and so on.
    """
    if library is None:
        return
    installed = installed_version(library)
    if installed is not None and installed not in FOLLOWED[library]:
        warn(
            f"parity='{library}' follows the rules of {library} {followed_version(library)}, but "
            f"{installed} is installed: its models may differ.",
            stacklevel=stacklevel + 1,
        )
