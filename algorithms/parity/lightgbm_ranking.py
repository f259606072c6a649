"""LightGBM's lambdarank gradients on the training rows."""

import numpy as np

from algorithms.gbdt.kernels.ranking import write_max_dcg
from algorithms.gbdt.query_groups import find_discounts, local_order
from algorithms.parity.kernels.lightgbm_ranking import (
    N_ENTRIES,
    differentiate_lambdarank_by_lightgbm,
    write_logistic_table,
)

LONGEST = 10_000  # rows of a query, at most, in LightGBM


class LightGBMRanking:
    """Gradients of lambdarank with LightGBM's arithmetic.

    Parameters
    ----------
    objective : RankingObjective
    label : (n_rows,) float32
    weight : (n_rows,) float32, or (0,)
    bounds : from `read_group`
    """

    def __init__(self, objective, label, weight, bounds):
        if np.diff(bounds).max() > LONGEST:
            raise ValueError(f"a query has more than {LONGEST} rows, LightGBM's limit")
        gain, discount = np.array(objective.gains), find_discounts(bounds)
        max_dcg, counts = np.empty(len(bounds) - 1), np.empty(len(gain), np.int64)
        labels = label.astype(np.float64)
        write_max_dcg(labels, bounds, gain, discount, objective.level, counts, max_dcg)
        table = np.empty(N_ENTRIES)
        write_logistic_table(objective.constant, table)
        self.rows = label, gain, weight, bounds, max_dcg, discount
        settings = objective.level, objective.constant, objective.normalized, table
        self.settings = (*settings, local_order(bounds), np.empty(len(discount), np.int32))

    def write(self, score, g, h):
        """Write g and h, (n_rows,) float32, at the scores, (n_rows,) float64."""
        differentiate_lambdarank_by_lightgbm(score, *self.rows, *self.settings, g, h)
