"""Library versions that the parity modes follow, and a warning about other versions."""

from importlib.metadata import PackageNotFoundError, version
from warnings import warn

from sklearn.utils._param_validation import StrOptions

# the versions whose rules were read and tested
FOLLOWED = {
    "scikit-learn": "1.9.1",
    "lightgbm": "4.7.0",
    "xgboost": "3.2.0",
    "catboost": "1.2.10",
}

AS_SKLEARN = [StrOptions({"scikit-learn"}), None]  # allowed values of ``parity``
AS_XGBOOST = [StrOptions({"xgboost"}), None]
AS_CATBOOST = [StrOptions({"catboost"}), None]


def warn_of_other_version(library, stacklevel=2):
    """Warn if the installed version of a library is not the one that parity follows.

    Parameters
    ----------
    library : str or None
        Value of an estimator's ``parity``; None means no library.
    stacklevel : int
        1 attributes the warning to the caller of this function, 2 to its caller, and so on.
    """
    if library is None:
        return
    try:
        installed = version(library)
    except PackageNotFoundError:
        return  # the library is not installed
    followed = FOLLOWED[library]
    if installed != followed:
        warn(
            f"parity='{library}' follows the rules of {library} {followed}, but {installed} is "
            "installed: its models may differ.",
            stacklevel=stacklevel + 1,
        )
