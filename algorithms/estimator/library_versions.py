"""Which version of a library each parity mode follows, and a warning where it is another one."""

from importlib.metadata import PackageNotFoundError, version
from warnings import warn

from sklearn.utils._param_validation import StrOptions

# the versions whose rules were read and tested
FOLLOWED = {"scikit-learn": "1.9.1", "lightgbm": "4.7.0", "xgboost": "3.2.0"}

AS_SKLEARN = [StrOptions({"scikit-learn"}), None]  # what ``parity`` may be
AS_XGBOOST = [StrOptions({"xgboost"}), None]


def warn_of_other_version(library, stacklevel=2):
    """Warn where the installed version of a library is not the one whose rules are followed.

    Parameters
    ----------
    library : str or None
        Value of an estimator's ``parity``; None follows no library.
    stacklevel : int
        1 names the caller of this function as the place, 2 its caller, and so on.
    """
    if library is None:
        return
    try:
        installed = version(library)
    except PackageNotFoundError:
        return  # there is nothing to differ from
    followed = FOLLOWED[library]
    if installed != followed:
        warn(
            f"parity='{library}' follows the rules of {library} {followed}, but {installed} is "
            "installed: its models may differ.",
            stacklevel=stacklevel + 1,
        )
