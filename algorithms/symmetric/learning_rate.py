"""Automatic learning rate, as CatBoost fits it to the number of rows and iterations.

η = min(1/2, e^(A ln n + B) · e^(C (ln m − ln 1000)))        n rows, m iterations
"""

import math

COEFFICIENTS = {  # loss, use_best_model → A, B, C
    ("RMSE", False): (0.158, -4.287, -0.813),
    ("RMSE", True): (0.157, -4.062, -0.61),
    ("Logloss", False): (0.427, -7.525, -0.917),
    ("Logloss", True): (0.247, -5.158, -0.435),
    ("MultiClass", False): (0.051, -2.889, -0.845),
    ("MultiClass", True): (0.02, -2.364, -0.382),
}
DEFAULT_RATE, MAX_RATE, DIGITS = 0.03, 0.5, 6


def find_learning_rate(params, loss, n_rows, *, uses_best):
    """Return the learning rate of a fit.

    Parameters
    ----------
    params : the estimator, as the user set it
    loss : name of the objective
    n_rows : number of training rows
    uses_best : whether the model ends at the best iteration of the evaluation set
    """
    if params.learning_rate is not None:
        return float(params.learning_rate)
    others = params.l2_leaf_reg, params.leaf_estimation_method, params.leaf_estimation_iterations
    found = COEFFICIENTS.get((loss, uses_best))
    if found is None or any(one is not None for one in others):
        return DEFAULT_RATE
    a, b, c = found
    scale = math.exp(c * (math.log(params.iterations) - math.log(1000)))
    return round(min(MAX_RATE, math.exp(a * math.log(n_rows) + b) * scale), DIGITS)
