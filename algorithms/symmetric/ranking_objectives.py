"""Ranking objectives under CatBoost's names: YetiRank and PairLogit.

`symmetric/kernels/pairs.py` has the formulas.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.gbdt.query_groups import local_order
from algorithms.gbdt.sampling import seed_of
from algorithms.symmetric.kernels.pairs import (
    PAIR_SCALE,
    differentiate_orders,
    differentiate_pairs,
    write_pair_losses,
)
from algorithms.symmetric.objectives import PAIRWISE, Objective
from algorithms.symmetric.query_pairs import Pairs

YETIRANK, PAIRLOGIT = "YetiRank", "PairLogit"
NAMES = (YETIRANK, PAIRLOGIT)
N_ORDERS, DECAY = 10, 0.85  # defaults of YetiRank
DRAW = 200  # purpose of the seeds of YetiRank, beside those of `Booster`


@dataclass(frozen=True)
class RankingObjective(Objective):
    """A pairwise ranking loss with its settings."""

    n_orders: int = N_ORDERS
    decay: float = DECAY

    is_pairwise = True
    default_one_hot = 10
    is_exp = True
    starts_from_average = False
    default_method = "Newton"

    @property
    def default_l2(self):
        """Default of ``l2_leaf_reg``."""
        return 0.0 if self.name == YETIRANK else super().default_l2

    @property
    def default_ctr(self):
        """Default of ``simple_ctr`` and ``combinations_ctr``."""
        return "Counter" if self.name == PAIRLOGIT else None

    @property
    def can_backtrack(self):
        """Whether the loss can be computed: that of drawn pairs changes with each draw."""
        return self.name == PAIRLOGIT


def find_ranking_objective(given):
    """Return the `RankingObjective` of a loss function such as "YetiRank:decay=0.9".

    Parameters
    ----------
    given : str, or None for YetiRank

    Raises
    ------
    ValueError
        If the loss or one of its options is not supported.
    """
    if not isinstance(given, str | None):
        raise TypeError(f"a ranking needs the name of a loss_function: use one of {NAMES}")
    name, _, options = (given or YETIRANK).partition(":")
    if name not in NAMES:
        raise ValueError(f"loss_function {name!r} is not supported for ranking: use one of {NAMES}")
    settings = {}
    for option in filter(None, options.split(";")):
        key, _, value = option.partition("=")
        if name == YETIRANK and key == "permutations" and value.isdigit() and int(value) > 0:
            settings["n_orders"] = int(value)
        elif name == YETIRANK and key == "decay" and is_share(value):
            settings["decay"] = float(value)
        elif option != "mode=Classic" or name != YETIRANK:
            raise ValueError(
                f"loss_function {given!r}: the option {option!r} is not supported; YetiRank has "
                "permutations, a number above 0, and decay, between 0 and 1"
            )
    return RankingObjective(name, PAIRWISE, "identity", 1, **settings)


def is_share(text):
    """Return whether a text is a number from 0 to 1."""
    try:
        return 0.0 <= float(text) <= 1.0
    except ValueError:
        return False


class PairDerivatives:
    """Derivatives of a ranking objective on the rows of a table.

    Parameters
    ----------
    objective : RankingObjective
    label : (n_rows,)
    bounds : from `query_pairs.read_group_id`
    weight : float64 (n_queries,)
    pairs : Pairs, or None for YetiRank
    """

    def __init__(self, objective, label, bounds, weight, pairs):
        self.objective, self.bounds, self.weight, self.pairs = objective, bounds, weight, pairs
        self.label = label.astype(np.float64)
        self.order, self.longest = local_order(bounds), int(np.diff(bounds).max())
        self.noisy = np.empty(len(label))
        self.draws = 0

    def write(self, score, sums, seed, workers):
        """Write the derivatives and the weights of the pairs of each row.

        Each call of YetiRank draws new orders.

        Parameters
        ----------
        score : float64 (n_rows,), eᶠ
        sums : float64 (3, n_rows), written: g, h and the weights
        seed : int
        workers : Workers
        """
        bounds, pairs, objective = self.bounds, self.pairs, self.objective
        seed = np.uint32(seed_of(seed, self.draws, DRAW))
        self.draws += 1

        def share(first, last):
            if pairs is not None:
                given = pairs.winner, pairs.loser, pairs.weight, pairs.spans, bounds
                differentiate_pairs(score, *given, sums, first, last)
                return
            given = score, self.label, self.weight, bounds, objective.n_orders, objective.decay
            scratch = self.noisy, self.order, np.empty(self.longest, np.int32)
            differentiate_orders(*given, seed, *scratch, sums, first, last)

        workers.share(share, len(bounds) - 1)

    def loss(self, score, workers):
        """Return the mean loss of the pairs.

        Parameters
        ----------
        score : float64 (n_rows,), eᶠ
        workers : Workers
        """
        pairs, out = self.pairs, np.empty(len(self.bounds) - 1)

        def share(first, last):
            given = pairs.winner, pairs.loser, pairs.weight, pairs.spans
            write_pair_losses(score, *given, out, first, last)

        workers.share(share, len(out))
        return float(out.sum()) / max(float(pairs.weight.sum()), np.finfo(np.float64).tiny)


def draw_pairs(objective, label, bounds, weight, raw):
    """Return pairs of neighbors in the orders that YetiRank draws, with their weights.

    The seed is always 0, so the loss of a model does not change from call to call.

    Parameters
    ----------
    objective : RankingObjective, YetiRank
    label : float64 (n_rows,)
    bounds : from `query_pairs.read_group_id`
    weight : float64 (n_queries,)
    raw : float64 (n_rows,), raw scores

    Returns
    -------
    Pairs, of different labels only
    """
    rng, n_rows = np.random.default_rng(0), len(label)
    query = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    rank = (np.arange(n_rows) - bounds[query])[:-1]
    of_rank = PAIR_SCALE * weight[query[:-1]] * objective.decay**rank / objective.n_orders
    is_pair = query[:-1] == query[1:]
    found = []
    for _ in range(objective.n_orders):
        order = np.lexsort((-(raw + rng.logistic(size=n_rows)), query))
        a, b = order[:-1][is_pair], order[1:][is_pair]
        gap = label[a] - label[b]
        rows = np.where((gap > 0.0)[:, None], np.column_stack([a, b]), np.column_stack([b, a]))
        found.append((rows, of_rank[is_pair] * np.abs(gap)))
    rows, weights = (np.concatenate(own) for own in zip(*found, strict=True))
    kept = weights > 0.0
    return Pairs.from_rows(rows[kept], bounds, weights[kept])
