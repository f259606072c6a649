"""Raw scores of the link "ascending", whose predictions of a row ascend.

With raw scores F_0 … F_K the predictions are P_0 = F_0 and P_k = P_{k−1} + 10⁻⁶ + log(1 + e^F_k).
XGBoost's "reg:expectileerror" with several levels uses this link.
"""

import numpy as np

from harness import TreeEnsemble

MIN_GAP = TreeEnsemble.MIN_GAP  # between two predictions of a row


def scores_of(predictions):
    """Return the raw scores of predictions, float64 (n_scores,).

    A gap between two predictions counts as at least 2 · 10⁻⁶, as in XGBoost.
    """
    predictions = np.asarray(predictions, np.float64)
    gap = np.maximum(np.diff(predictions) - MIN_GAP, MIN_GAP)
    return np.concatenate([predictions[:1], gap + np.log(-np.expm1(-gap))])
