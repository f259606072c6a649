"""Survival objectives under XGBoost's names: derivatives and metrics.

survival:cox: proportional hazards (Cox, 1972) with the prediction exp(F), a relative hazard. |y| is
the time, and a row with y < 0 is censored at it. With R(t) = Σ exp(F) over the rows whose time is
at least t, and δ = 1 at events:

    L = −Σ_events (F_i − log R(t_i))
    g_i = exp(F_i) Σ 1/R(t) − δ_i        h_i = exp(F_i) Σ 1/R(t) − exp(F_i)² Σ 1/R(t)²

The sums are over the events up to row i in the order of times. As in XGBoost, rows with equal times
(Breslow's method) keep their order.

survival:aft: accelerated failure time, log T = F + σ Z, with the prediction exp(F). The time of a
row lies between two bounds l and u; it is censored on the right if u = ∞, and on the left if l ≤ 0.
With the density f and the distribution function Φ of Z, and z = (log t − F) / σ:

    L = −log(f(z) / (σ t)) if l = u = t, else −log(Φ(z_u) − Φ(z_l))

As in XGBoost the derivatives are limited, and have limit values where a density vanishes (Barnwal,
Cho, Hocking: Survival regression with accelerated failure time model in XGBoost. JCGS 2022).
"""

import numpy as np
from scipy.special import expit, ndtr

BOUND = 15.0  # most |g|, and most h
MIN_H = 1e-16
EPS = 1e-12  # least density or probability
MAX_Z = 100.0  # exp(−exp(z)) is 0 from there on
DISTRIBUTIONS = ("normal", "logistic", "extreme")


# ---------------------------------------------------------------------- proportional hazards


def differentiate_cox(score, y, _constant):
    """Return g and h of proportional hazards, float64 (n_rows,); see the module's docstring."""
    hazard = np.exp(score - score.max())  # derivatives do not change with the unit of R
    order, at_risk = find_risk(hazard, y)
    event = y[order] > 0.0
    first = np.cumsum(event / at_risk)
    second = np.cumsum(event / at_risk**2)
    own, g, h = hazard[order], np.empty(len(y)), np.empty(len(y))
    g[order] = own * first - event
    h[order] = np.maximum(own * first - own**2 * second, 0.0)
    return g, h


def find_risk(hazard, y):
    """Return the order of the rows by time, and R at each of them in that order."""
    time = np.abs(y)
    order = np.argsort(time, kind="stable")
    from_here = np.cumsum(hazard[order][::-1])[::-1]
    first = np.searchsorted(time[order], time[order], side="left")
    return order, from_here[first]


def cox_nloglik(y, hazard, _weight):
    """Return the mean of −log(exp(F) / R) over the events, float; weights are ignored."""
    hazard = hazard.astype(np.float64)
    order, at_risk = find_risk(hazard, y)
    event = y[order] > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(at_risk[event]) - np.log(hazard[order][event])
    return float(loss.mean()) if len(loss) else float("nan")


# ---------------------------------------------------------------------- accelerated failure time


def differentiate_aft(distribution, score, y, sigma):
    """Return g and h of accelerated failure time, float64 (n_rows,).

    Parameters
    ----------
    distribution : one of `DISTRIBUTIONS`
    score : (n_rows,) float64
    y : (n_rows, 2) float64, bounds of the time
    sigma : float
    """
    known, left, right = kinds_of(y)
    with np.errstate(all="ignore"):
        low, high = terms_of(distribution, score, y, sigma)
        density = np.where(known, low["pdf"], high["cdf"] - low["cdf"])
        slope = np.where(known, low["first"], high["pdf"] - low["pdf"])
        curve = np.where(known, low["second"], high["first"] - low["first"])
        g = slope / (sigma * density)
        h = (slope**2 - density * curve) / (sigma * density) ** 2
        above = (low["z"] > 0.0) | (high["z"] > 0.0)
        g_limit, h_limit = limits_of(distribution, sigma, above, left, right)
        g = np.where((sigma * density < EPS) & ~np.isfinite(g), g_limit, g)
        h = np.where(((sigma * density) ** 2 < EPS) & ~np.isfinite(h), h_limit, h)
    return np.clip(g, -BOUND, BOUND), np.clip(h, MIN_H, BOUND)


def aft_loss(distribution, sigma, y, prediction):
    """Return the negative log likelihood of each row; ``prediction`` is exp(F), (n_rows,)."""
    known, _, _ = kinds_of(y)
    with np.errstate(all="ignore"):
        low, high = terms_of(distribution, np.log(prediction.astype(np.float64)), y, sigma)
        density = low["pdf"] / (sigma * y[:, 0])
        share = high["cdf"] - low["cdf"]
        return -np.log(np.maximum(np.where(known, density, share), EPS))


def is_within_bounds(y, prediction):
    """Return 1 for each row whose prediction lies within the bounds of its time, otherwise 0."""
    return ((prediction >= y[:, 0]) & (prediction <= y[:, 1])).astype(np.float64)


def kinds_of(y):
    """Return which rows have a known time, are censored on the left, and on the right."""
    known = y[:, 0] == y[:, 1]
    return known, ~known & (y[:, 0] <= 0.0), ~known & np.isposinf(y[:, 1])


def terms_of(distribution, score, y, sigma):
    """Return the terms of the distribution at both bounds, two dicts; see `evaluate`.

    Where a row is censored, the density is 0 at its infinite bound, and Φ is 0 or 1.
    """
    _, left, right = kinds_of(y)
    found = []
    for bounds, censored, share in ((y[:, 0], left, 0.0), (y[:, 1], right, 1.0)):
        z = np.where(censored, 0.0, (np.log(bounds) - score) / sigma)
        terms = {"z": z, **evaluate(distribution, z)}
        for name in ("pdf", "first", "second"):
            terms[name] = np.where(censored, 0.0, terms[name])
        terms["cdf"] = np.where(censored, share, terms["cdf"])
        found.append(terms)
    return found


def evaluate(distribution, z):
    """Return the density ("pdf"), its derivatives ("first", "second") and Φ ("cdf") at z."""
    if distribution == "normal":
        pdf = np.exp(-z * z / 2.0) / np.sqrt(2.0 * np.pi)
        first, second, cdf = -z * pdf, (z * z - 1.0) * pdf, ndtr(z)
    elif distribution == "logistic":
        cdf = expit(z)
        pdf = cdf * expit(-z)
        first, second = pdf * (1.0 - 2.0 * cdf), pdf * (1.0 - 6.0 * pdf)
    else:
        w = np.exp(np.minimum(z, MAX_Z))
        pdf, cdf = w * np.exp(-w), -np.expm1(-w)
        first, second = (1.0 - w) * pdf, (w * w - 3.0 * w + 1.0) * pdf
    return {"pdf": pdf, "cdf": cdf, "first": first, "second": second}


def limits_of(distribution, sigma, above, left, right):
    """Return the limits of g and h where the density of a row vanishes, as in XGBoost.

    Parameters
    ----------
    above : bool (n_rows,), whether a bound of the time is above the prediction
    left, right : bool (n_rows,), whether the row is censored on that side
    """
    if distribution == "normal":
        g_above, g_below, h_above, h_below = -BOUND, BOUND, sigma**-2, sigma**-2
    elif distribution == "logistic":
        g_above, g_below, h_above, h_below = -1.0 / sigma, 1.0 / sigma, MIN_H, MIN_H
    else:
        g_above, g_below, h_above, h_below = -BOUND, 1.0 / sigma, BOUND, MIN_H
    g = np.where(above, np.where(left, 0.0, g_above), np.where(right, 0.0, g_below))
    h = np.where(above, np.where(left, MIN_H, h_above), np.where(right, MIN_H, h_below))
    return g, h


def read_bounds(lower, upper):
    """Return the bounds of the times as one table, float64 (n_rows, 2).

    Raises
    ------
    ValueError
        If there are none, or they are not possible.
    """
    if not len(lower) or len(lower) != len(upper):
        raise ValueError(
            "survival:aft needs label_lower_bound and label_upper_bound, one of each for a row"
        )
    y = np.column_stack([lower, upper]).astype(np.float64)
    known = y[:, 0] == y[:, 1]
    if not (y[:, 0] <= y[:, 1]).all() or np.isposinf(y[:, 0]).any() or (y[known, 0] <= 0.0).any():
        raise ValueError(
            "label_lower_bound must be at most label_upper_bound, and above 0 where they are equal"
        )
    return y
