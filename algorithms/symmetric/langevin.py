"""Stochastic gradient Langevin boosting: noise that lets boosting sample models near the best one.

Ustimenko and Prokhorenkova: SGLB: stochastic gradient Langevin boosting. ICML 2021. With the
learning rate η, T = ``diffusion_temperature`` and independent standard normal numbers z, a tree is
grown on noisy derivatives, and its leaf values come from noisy sums:

    g + σ z            of each row             σ = √(2 / (η T))
    G + σ √(W + λ′) z    of each leaf, for Gradient steps
    G + σ √(−H + λ′) z   of each leaf, for Newton steps

The noise falls as T rises. Before each tree the model is shrunk (`symmetric/shrinkage.py`).
"""

import math

import numpy as np
from scipy.special import ndtri

from algorithms.gbdt.sampling import hash_numbers, seed_of
from algorithms.symmetric.sampling import HASHES

TEMPERATURE = 1e4  # default of ``diffusion_temperature``
SHRINK_RATES = {"Constant": 1e-3, "Decreasing": 1e-2}  # defaults of ``model_shrink_rate``
DRAW = 300  # purpose of the seeds, beside those of `Booster`
MIN_WEIGHT = 1e-9  # a leaf of less weight has no noise


def resolve_langevin(found, n_rows):
    """Set the parameters of Langevin boosting, and those whose defaults depend on it.

    Parameters
    ----------
    found : the estimator with resolved parameters, changed
    n_rows : int

    Raises
    ------
    ValueError
        If the parameters contradict each other.
    """
    temperature, is_posterior = found.diffusion_temperature, bool(found.posterior_sampling)
    if is_posterior:
        if found.langevin is False:
            raise ValueError("posterior_sampling=True needs langevin=True")
        if temperature is not None:
            raise ValueError("posterior_sampling=True sets diffusion_temperature: leave it out")
        if found.model_shrink_mode != "Constant":
            raise ValueError("posterior_sampling=True needs model_shrink_mode='Constant'")
        found.model_shrink_rate, temperature = 1.0 / (2.0 * n_rows), float(n_rows)
    is_on = is_posterior or bool(temperature) if found.langevin is None else found.langevin
    found.langevin = is_on
    found.diffusion_temperature = TEMPERATURE if is_on and temperature is None else temperature
    if found.model_shrink_rate is None:
        found.model_shrink_rate = SHRINK_RATES[found.model_shrink_mode] if is_on else 0.0
    if found.leaf_estimation_backtracking is None:
        found.leaf_estimation_backtracking = "No" if is_on else "AnyImprovement"
    if is_on and found.parity is not None:
        raise ValueError("langevin is not supported with parity='catboost'")


def make_noise(params, seed):
    """Return the `LangevinNoise` of a training, or None if there is none.

    Parameters
    ----------
    params : the estimator, with resolved parameters
    seed : int
    """
    return LangevinNoise(params, seed) if params.langevin and params.diffusion_temperature else None


class LangevinNoise:
    """Noise of one training; each call draws new numbers.

    Parameters
    ----------
    params : the estimator, with resolved parameters
    seed : int
    """

    def __init__(self, params, seed):
        rate, temperature = (
            float(np.float32(own)) for own in (params.learning_rate, params.diffusion_temperature)
        )
        self.sigma = math.sqrt(2.0 / rate / temperature)
        self.is_newton = params.leaf_estimation_method == "Newton"
        self.seed, self.draws = seed, 0

    def _draw(self, shape):
        """Return σ z, float64 of some shape."""
        hashes = hash_numbers(seed_of(self.seed, self.draws, DRAW), math.prod(shape))
        self.draws += 1
        return self.sigma * ndtri((hashes + 0.5) / HASHES).reshape(shape)

    def add_to_derivatives(self, g):
        """Return noisy derivatives, float64 as ``g``: (n_scores, n_rows)."""
        return g + self._draw(g.shape)

    def add_to_sums(self, sums, curvature, l2):
        """Add noise to the sums of leaves.

        Parameters
        ----------
        sums : float64 (n_leaves, n_sums), ΣG of each score, others, and ΣW; written
        curvature : float64 (n_leaves, n_scores), −ΣH of each score
        l2 : float, λ′
        """
        weight, n_scores = sums[:, -1:], curvature.shape[1]
        scale = np.sqrt((np.abs(curvature) if self.is_newton else weight) + l2)
        noise = self._draw(curvature.shape) * scale
        sums[:, :n_scores] += np.where(weight >= MIN_WEIGHT, noise, 0.0)
