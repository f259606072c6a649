"""Rules of XGBoost that differ between the versions that ``parity="xgboost"`` follows.

`RELEASES` is the only place where rules are chosen by version; the installed version decides.
"""

from dataclasses import dataclass
from types import MappingProxyType

from algorithms.estimator.library_versions import followed_version


@dataclass(frozen=True)
class Release:
    """Rules that a version has.

    Attributes
    ----------
    cuts_by_rank : bool
        Whether cuts are values at evenly spaced ranks of a summary, and the first bin has no lower
        bound, as since 3.3. Otherwise the summary is pruned to the cuts.
    gain_by_weight : bool
        Whether gains are computed from the float32 weight, in float64, and `min_child_weight`
        restricts splits only, as since 3.4. Otherwise it also sets the weights of nodes below it
        to 0.
    smooths_quantiles : bool
        Whether absolute and quantile errors are smoothed, and leaves are Newton steps, as since
        3.4. Otherwise leaf values are quantiles of the residuals.
    """

    cuts_by_rank: bool
    gain_by_weight: bool
    smooths_quantiles: bool


RELEASES = MappingProxyType(
    {
        "3.2.0": Release(cuts_by_rank=False, gain_by_weight=False, smooths_quantiles=False),
        "3.4.1": Release(cuts_by_rank=True, gain_by_weight=True, smooths_quantiles=True),
    }
)


def find_release():
    """Return the `Release` that parity follows with the installed XGBoost."""
    return RELEASES[followed_version("xgboost")]
