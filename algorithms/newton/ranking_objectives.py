"""Ranking objectives under XGBoost's names; `newton/kernels/ranking.py` has the formulas."""

from dataclasses import dataclass

import numpy as np

from algorithms.gbdt.kernels.ranking import write_max_dcg
from algorithms.gbdt.query_groups import find_discounts, local_order
from algorithms.newton.kernels.ranking import MAP, NDCG, PAIRWISE, PARTS, differentiate_ranking
from algorithms.newton.position_bias import MAX_POSITIONS, NoPositionBias, PositionBias

KINDS = {"rank:ndcg": NDCG, "rank:pairwise": PAIRWISE, "rank:map": MAP}
MAX_LABEL = 31  # largest label of exponential gains, as in XGBoost
LEVELS = {"topk": 32, "mean": 1}  # pair method → default of lambdarank_num_pair_per_sample
NO_WEIGHT = np.empty(0)


@dataclass(frozen=True)
class RankingSettings:
    """Parameters of a ranking objective."""

    level: int = LEVELS["topk"]  # number of first ranks, or of random pairs of each document
    normalized: bool = True
    by_difference: bool = True
    exponential: bool = True  # whether the gain of label y is 2^y − 1
    is_random: bool = False  # whether pairs are random instead of those of the first ranks
    unbiased: bool = False  # whether positions have a bias
    bias_norm: float = 1.0

    @property
    def truncation(self):
        """Number of ranks that count in the objective and its metric, or None: all."""
        return None if self.is_random else self.level


def read_ranking_settings(params):
    """Return the `RankingSettings` of parameters under XGBoost's names.

    Parameters
    ----------
    params : dict, name → value; None or an absent name is the default

    Raises
    ------
    ValueError
        If a value is not valid.
    """
    method = params.get("lambdarank_pair_method")
    method = "topk" if method is None else method
    if method not in LEVELS:
        raise ValueError(f"lambdarank_pair_method must be 'topk' or 'mean', not {method!r}")
    level = params.get("lambdarank_num_pair_per_sample")
    level = LEVELS[method] if level is None else int(level)
    if level < 1:
        raise ValueError(f"lambdarank_num_pair_per_sample must be at least 1, not {level}")
    bias_norm = params.get("lambdarank_bias_norm")
    bias_norm = 1.0 if bias_norm is None else float(bias_norm)
    if not bias_norm >= 0.0:
        raise ValueError(f"lambdarank_bias_norm must be at least 0, not {bias_norm}")
    return RankingSettings(
        level,
        normalized=is_true(params, "lambdarank_normalization", default=True),
        by_difference=is_true(params, "lambdarank_score_normalization", default=True),
        exponential=is_true(params, "ndcg_exp_gain", default=True),
        is_random=method == "mean",
        unbiased=is_true(params, "lambdarank_unbiased", default=False),
        bias_norm=bias_norm,
    )


def is_true(params, name, *, default):
    """Return True if a parameter is True, 1, "1" or "true"; ``default`` if it is not given."""
    value = params.get(name)
    return default if value is None else str(value).lower() in ("1", "true")


class RankingObjective:
    """A ranking objective on the rows of one table.

    Parameters
    ----------
    name : "rank:ndcg", "rank:pairwise" or "rank:map"
    settings : RankingSettings
    y : (n_rows,) float64, labels
    bounds : (n_queries + 1,) int64, first rows of the queries, of which none is empty
    weight : (n_queries,) float64, or None

    Raises
    ------
    ValueError
        If a label is not possible.
    """

    renewed = None
    n_scores = 1
    link = "identity"
    by_query = True

    def __init__(self, name, settings, y, bounds, weight=None):
        self.name, self.settings, self.bounds = name, settings, bounds
        self.label = check_labels(name, settings, y)
        self.gain = gains_of(self.label, exponential=settings.exponential)
        self.longest = int(np.diff(bounds).max())
        self.discount, self.order = find_discounts(bounds), local_order(bounds)
        self.query_weight = NO_WEIGHT
        if weight is not None:  # XGBoost scales them so that their mean is 1
            self.query_weight = weight * (len(weight) / weight.sum())
        level = settings.truncation or self.longest
        self.max_dcg = find_max_dcg(self.gain, bounds, self.discount, level)
        self.n_rounds, self.bias = 0, NoPositionBias()
        if settings.unbiased:
            n_positions = settings.truncation or min(self.longest, MAX_POSITIONS)
            self.bias = PositionBias(bounds, n_positions, settings.bias_norm)

    def weigh(self, _y, _weight):
        """Return None: the queries have weights, not the rows."""
        return

    def first_scores(self, _y, _weight, _given, _workers):
        """Return the initial score, 0: a constant changes no ranking."""
        return np.zeros(1, np.float32)

    def differentiate(self, score, y, _weight, g, h, workers):
        """Write g and h of all rows for the next round; update the position bias.

        Parameters are as in `Objective.differentiate`.
        """
        if len(y) != len(self.label):
            raise ValueError("a ranking needs all rows of its queries")
        settings, n_queries = self.settings, len(self.bounds) - 1
        seed = (self.n_rounds + 1) * n_queries if settings.is_random else -1

        def share(first, last):
            work = np.empty((PARTS, self.longest))
            spare, by_label = np.empty((2, self.longest), np.int32)
            given = score[0], self.label, self.gain, self.query_weight, self.bounds
            pairs = self.max_dcg, self.discount, settings.level, seed
            flags = settings.normalized, settings.by_difference
            biases = self.bias.plus, self.bias.minus, self.bias.costs
            scratch = self.order, spare, by_label, work
            kind = KINDS[self.name]
            differentiate_ranking(
                kind, *given, *pairs, *flags, *biases, *scratch, g[0], h[0], first, last
            )

        workers.share(share, n_queries)
        self.bias.update()
        self.n_rounds += 1


def check_labels(name, settings, y):
    """Return the labels of a ranking, float64; raise ValueError if one is not possible."""
    y = np.ascontiguousarray(y, np.float64)
    if name == "rank:map":
        if not np.isin(y, (0.0, 1.0)).all():
            raise ValueError("rank:map can only be used with binary labels.")
    elif name == "rank:ndcg" and settings.exponential:
        if ((y < 0) | (y > MAX_LABEL) | (y != np.floor(y))).any():
            raise ValueError(
                f"rank:ndcg needs whole numbers from 0 to {MAX_LABEL} as labels. Set "
                "`ndcg_exp_gain` to False for other labels"
            )
    elif (y < 0).any():
        raise ValueError(f"labels of {name} must not be negative")
    return y


def gains_of(label, *, exponential):
    """Return the gain of each label, 2^y − 1 or y."""
    return np.exp2(label) - 1.0 if exponential else label


def find_max_dcg(gain, bounds, discount, level):
    """Return the largest possible DCG of each query, (n_queries,); 1 where it is 0."""
    values, codes = np.unique(gain, return_inverse=True)
    found, counts = np.empty(len(bounds) - 1), np.empty(len(values), np.int64)
    write_max_dcg(codes.astype(np.float64), bounds, values, discount, level, counts, found)
    found[found <= 0.0] = 1.0
    return found
