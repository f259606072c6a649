"""Line search: the step that minimizes a loss along a direction, for many groups of rows at once.

    ρ = argmin Σ w L(y, F + ρ d)

The derivative −Σ w d g(F + ρ d) grows with ρ if L is convex. A bracket is widened until the
derivative changes sign. Then its zero is approached by the secant of the bracket's ends, with the
value at the stale end halved (the Illinois rule), and by bisection in every third step.
"""

import numpy as np

TRIES = 120
WIDEST = 1e9
EPSILON = float(np.finfo(np.float64).eps)


def search_steps(slope, n_groups, l2=0.0):
    """Return the step ρ of each group, float64 (n_groups,).

    Parameters
    ----------
    slope : callable
        Takes ρ of every group; returns Σ w d g(F + ρ d) of every group, the negative derivative.
    l2 : float
        λ; ½ λ ρ² is added to the loss.
    """

    def fall(at):
        return slope(at) - l2 * at

    start = fall(np.zeros(n_groups))
    near, at_near = np.zeros(n_groups), start
    far = np.sign(start)
    at_far = fall(far)
    for _ in range(TRIES):
        open_ended = (np.sign(at_far) == np.sign(start)) & (start != 0.0) & (abs(far) < WIDEST)
        if not open_ended.any():
            break
        near, at_near = np.where(open_ended, far, near), np.where(open_ended, at_far, at_near)
        far = np.where(open_ended, 2.0 * far, far)
        at_far = np.where(open_ended, fall(far), at_far)
    return close_in(fall, near, at_near, far, at_far)


def close_in(fall, near, at_near, far, at_far):
    """Return the zeros inside the brackets."""
    for turn in range(TRIES):
        width = abs(far - near)
        done = (at_near == 0.0) | (at_far == 0.0) | (np.sign(at_near) == np.sign(at_far))
        done |= width <= 2.0 * EPSILON * np.maximum(abs(near), abs(far))
        if done.all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            at = far - at_far * (far - near) / (at_far - at_near)
        inside = (at > np.minimum(near, far)) & (at < np.maximum(near, far))
        at = np.where(inside & (turn % 3 < 2), at, 0.5 * (near + far))
        at = np.where(done, far, at)
        value = fall(at)
        crossed = np.sign(value) != np.sign(at_far)
        near = np.where(done, near, np.where(crossed, far, near))
        at_near = np.where(done, at_near, np.where(crossed, at_far, 0.5 * at_near))
        far, at_far = np.where(done, far, at), np.where(done, at_far, value)
    return np.where(at_near == 0.0, near, far)
