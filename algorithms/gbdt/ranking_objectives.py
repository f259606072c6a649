"""Ranking objectives: lambdarank and rank_xendcg (`gbdt/kernels/ranking.py` has the formulas)."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils import assert_all_finite

from algorithms.gbdt.kernels.ranking import (
    PARTS,
    differentiate_lambdarank,
    differentiate_xendcg,
    write_max_dcg,
)
from algorithms.gbdt.objectives import Objective
from algorithms.gbdt.query_groups import find_discounts, local_order
from algorithms.gbdt.sampling import seed_of

ALIASES = dict.fromkeys(("xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart"), "rank_xendcg")
NAMES = ("lambdarank", "rank_xendcg")
N_LABELS = 31  # default number of labels, as in LightGBM: 2³⁰ − 1 is the largest gain
NOISE = 6  # purpose of the seed of u in rank_xendcg; `gbdt/boosting.py` has those before it
NO_WEIGHT = np.empty(0)


@dataclass(frozen=True)
class RankingObjective(Objective):
    """A ranking objective with its settings."""

    gains: tuple = ()  # gain of each label
    level: int = 30  # truncation level of lambdarank
    normalized: bool = True

    is_ranking = True
    constant_h = False
    renewed = None
    first_quantile = None

    def targets(self, y):
        """Return the labels, float64 (1, n_rows)."""
        return np.ascontiguousarray(y, np.float64)[None]

    def first_scores(self, _y, _weight, _total=None):
        """Return the initial score, 0: a constant changes no ranking."""
        return np.zeros(1)


def find_ranking_objective(params):
    """Return the `RankingObjective` according to the parameters.

    Parameters
    ----------
    params : the estimator

    Raises
    ------
    ValueError
        If the objective is not one for ranking, or a setting is invalid.
    """
    given = params.objective or "lambdarank"
    name = ALIASES.get(given, given)
    if name not in NAMES:
        known = ", ".join(sorted([*NAMES, *ALIASES]))
        raise ValueError(f"objective {given!r} is not one for ranking: these are {known}")
    slope, level = params.sigmoid, params.lambdarank_truncation_level
    if not isinstance(slope, Real) or not 0.0 < slope < np.inf:
        raise ValueError(f"sigmoid must be a number above 0, not {slope!r}")
    if not isinstance(level, Integral) or level < 1:
        raise ValueError(f"lambdarank_truncation_level must be at least 1, not {level!r}")
    return RankingObjective(
        name,
        None,
        float(slope),
        1,
        "identity",
        gains=read_gains(params.label_gain),
        level=int(level),
        normalized=bool(params.lambdarank_norm),
    )


def read_gains(given):
    """Return the gain of each label; by default 2^label − 1 for the labels 0 … 30.

    Parameters
    ----------
    given : sequence of numbers, text such as "0,1,3", or None

    Raises
    ------
    ValueError
        If gains are not finite, or a label has a larger gain than the one above it.
    """
    if given is None or (np.iterable(given) and not len(given)):
        return tuple(float((1 << label) - 1) for label in range(N_LABELS))
    given = given.split(",") if isinstance(given, str) else given
    gains = np.asarray(given, np.float64).ravel()
    if not np.isfinite(gains).all() or (np.diff(gains) < 0.0).any():
        raise ValueError("label_gain must hold finite numbers that do not decrease with the label")
    return tuple(gains.tolist())


def check_labels(y, n_labels=None, where=""):
    """Return the labels of a ranking, float64 (n_rows,).

    Parameters
    ----------
    y : array (n_rows,)
    n_labels : int, optional
        Number of labels that have a gain.
    where : str, name of the table for the error message

    Raises
    ------
    ValueError
        If they are not whole numbers from 0 on that have a gain.
    """
    y = y.astype(np.float64, copy=False)
    assert_all_finite(y, input_name=f"y{where}")
    wrong = y[(y != np.floor(y)) | (y < 0.0)]
    if len(wrong):
        raise ValueError(
            f"labels of a ranking must be whole numbers from 0 on; y{where} has {wrong[0]}"
        )
    if n_labels is not None and len(y) and y.max() >= n_labels:
        raise ValueError(
            f"label {int(y.max())} of y{where} has no gain: label_gain is of {n_labels} labels"
        )
    return y


class RankingGradients:
    """Gradients of a ranking objective on the training rows.

    Parameters
    ----------
    objective : RankingObjective
    y : (n_rows,) float64, labels
    bounds : from `read_group`
    seed : int
    """

    def __init__(self, objective, y, bounds, seed):
        self.objective, self.bounds, self.seed = objective, bounds, seed
        self.positions = None  # or a `PositionBias`
        self.longest = int(np.diff(bounds).max())
        if objective.name == "rank_xendcg":
            self.power = np.exp2(y)
            return
        gains = np.array(objective.gains)
        self.gains = gains[y.astype(np.intp)]
        self.discount = find_discounts(bounds)
        self.max_dcg = np.empty(len(bounds) - 1)
        counts = np.empty(len(gains), np.int64)
        write_max_dcg(y, bounds, gains, self.discount, objective.level, counts, self.max_dcg)
        self.order = local_order(bounds)

    def write(self, score, weight, g, h, number, workers):
        """Write g and h of all rows.

        Parameters
        ----------
        score : (n_rows,) float64
        weight : (n_rows,) float64, or None
        g, h : (n_rows,) float32
        number : int, number of the round
        workers : Workers
        """
        weight = NO_WEIGHT if weight is None else weight
        if self.positions is not None:
            score = self.positions.adjust(score)
        objective, bounds = self.objective, self.bounds
        seed = np.uint32(seed_of(self.seed, number, NOISE))

        def share(first, last):
            work = np.empty((PARTS, self.longest))
            if objective.name == "rank_xendcg":
                given = score, self.power, weight, bounds, seed
                differentiate_xendcg(*given, work, g, h, first, last)
                return
            spare = np.empty(self.longest, np.int32)
            given = score, self.gains, weight, bounds, self.max_dcg, self.discount
            settings = objective.level, objective.constant, objective.normalized
            differentiate_lambdarank(*given, *settings, self.order, spare, work, g, h, first, last)

        workers.share(share, len(bounds) - 1)
        if self.positions is not None:
            self.positions.update(g, h)
