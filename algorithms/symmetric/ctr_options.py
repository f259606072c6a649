"""Parameters of target statistics: `simple_ctr`, `combinations_ctr`, `ctr_target_border_count`.

A description is a text such as "Borders:TargetBorderCount=2:CtrBorderCount=15:Prior=0:Prior=1/1".
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from algorithms.symmetric.borders import CHOOSERS, find_borders

BORDERS, BUCKETS, MEAN, COUNTER = "Borders", "Buckets", "BinarizedTargetMeanValue", "Counter"
PRIORS = {
    BORDERS: (0.0, 0.5, 1.0),
    BUCKETS: (0.0, 0.5, 1.0),
    MEAN: (0.0, 0.5, 1.0),
    COUNTER: (0.0,),
}
CTR_BORDERS = 15
MAX_BORDERS = 255


@dataclass(frozen=True)
class CtrOptions:
    """Options of one kind of target statistic (CTR in CatBoost)."""

    kind: str
    priors: tuple = ()  # float
    n_borders: int = CTR_BORDERS  # borders of the statistic
    target_borders: int | None = None  # number of borders of the target; None: the default
    target_border_type: str = "MinEntropy"

    @property
    def shifts(self):
        """Shift of each prior, float32: negative priors lower the range of the statistic."""
        return ranges_of(self.priors)[1]

    @property
    def norms(self):
        """Width of the range of the statistic for each prior, float32."""
        return ranges_of(self.priors)[2]


@lru_cache
def ranges_of(priors):
    """Return priors, and their `shifts` and `norms`, as float32 arrays, which are not changed."""
    priors = np.array(priors, np.float32)
    shifts = -np.minimum(np.float32(0.0), priors)
    return priors, shifts, np.maximum(np.float32(1.0), priors) + shifts


DEFAULT = (CtrOptions(BORDERS, PRIORS[BORDERS]), CtrOptions(COUNTER, PRIORS[COUNTER]))


def read_ctrs(given, name):
    """Return the `CtrOptions` of a parameter, tuple; the default is Borders and Counter.

    Parameters
    ----------
    given : None, a text with descriptions separated by commas, or a sequence of descriptions
    name : str, name of the parameter in error messages

    Raises
    ------
    ValueError
        If a description is invalid or is for GPUs only.
    """
    if given is None:
        return DEFAULT
    texts = given.split(",") if isinstance(given, str) else list(given)
    found = tuple(read_ctr(text, name) for text in texts)
    if not found:
        raise ValueError(f"{name} is empty")
    return found


def read_ctr(text, name):
    """Return the `CtrOptions` of one description."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be text, not {text!r}")
    kind, *options = text.split(":")
    if kind not in PRIORS:
        raise ValueError(f"{name}={text!r}: the kind of statistic must be one of {tuple(PRIORS)}")
    found, priors = CtrOptions(kind), []
    for option in options:
        key, _, value = option.partition("=")
        key = key.lower()
        if key == "prior":
            priors.append(read_prior(value, text, name))
        elif key == "ctrbordercount":
            found = replace(found, n_borders=read_count(value, text, name))
        elif key == "ctrbordertype" and value == "Uniform":
            continue
        elif key == "targetbordercount" and kind != COUNTER:
            found = replace(found, target_borders=read_count(value, text, name))
        elif key == "targetbordertype" and kind != COUNTER and value in CHOOSERS:
            found = replace(found, target_border_type=value)
        else:
            raise ValueError(f"{name}={text!r}: the option {option!r} is not supported")
    return replace(found, priors=tuple(priors) or PRIORS[kind])


def read_prior(value, text, name):
    """Return the prior of a text such as "0.5" or "0.5/1", float."""
    above, _, below = value.partition("/")
    try:
        prior, weight = float(above), float(below or 1.0)
    except ValueError:
        prior, weight = np.nan, 1.0
    if not np.isfinite(prior) or weight != 1.0:
        raise ValueError(f"{name}={text!r}: {value!r} is not a prior; its denominator must be 1")
    return prior


def read_count(value, text, name):
    """Return the number of borders of a text, int."""
    if not value.isdigit() or not 1 <= int(value) <= MAX_BORDERS:
        raise ValueError(
            f"{name}={text!r}: {value!r} is not a number of borders from 1 to {MAX_BORDERS}"
        )
    return int(value)


class TargetClasses:
    """Classes of the target by its borders, for each number and type of borders.

    Parameters
    ----------
    y : float32 (n_rows,)
    n_classes : number of classes of "MultiClass", else 0
    default_count : `ctr_target_border_count`, or None
    """

    def __init__(self, y, n_classes, default_count):
        self.y, self.n_classes, self.default_count = y, n_classes, default_count
        self.known, self.arrays = {}, {}  # by number and type of borders, by options

    def of(self, options):
        """Return the class of each row, int32 (n_rows,), and the number of classes.

        For Counter, which ignores the target, they are None and 0.
        """
        if options.kind == COUNTER:
            return None, 0
        usual = self.default_count or (self.n_classes - 1 if self.n_classes else 1)
        key = options.target_borders or usual, options.target_border_type
        if key not in self.known:
            self.known[key] = self._divide(*key)
        return self.known[key]

    def _divide(self, count, border_type):
        """Return the class of each row and the number of classes, for a number of borders."""
        if self.n_classes:
            borders = np.arange(count, dtype=np.float32) + np.float32(0.5)
        else:
            borders = find_borders(self.y, border_type, count, "Forbidden")
            if not len(borders):
                borders = self.y[:1]
        return np.searchsorted(borders, self.y).astype(np.int32), len(borders) + 1
