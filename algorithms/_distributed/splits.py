"""Best splits as ranks tell each other of them: a fixed number of bytes a leaf.

A split's record (`hist_layout.BEST`), and a bit for each bin that goes left where it is a set.
"""

import numpy as np

from algorithms._kernels.hist_layout import BEST, MAX_BINS, NO_FEATURE

SIZE = BEST.itemsize + MAX_BINS // 8  # bytes


def tell(desk, which):
    """Return what a rank tells of its best split of a leaf."""
    best, members = desk.best[0, which : which + 1].copy(), desk.members[0, which]
    if best["feature"][0] == NO_FEATURE:  # all else in it is of an earlier leaf
        best[:] = np.zeros(1, BEST)
        best["feature"] = NO_FEATURE
    if not best["is_set"][0]:
        members = np.zeros_like(members)
    return best.tobytes() + np.packbits(members).tobytes()


def read(told):
    """Return (split, bins that go left) of each leaf that was told of."""
    starts = range(0, len(told), SIZE)
    bests = [np.frombuffer(told, BEST, 1, start)[0] for start in starts]
    ends = [np.frombuffer(told, np.uint8, MAX_BINS // 8, at + BEST.itemsize) for at in starts]
    return [(best, np.unpackbits(end)) for best, end in zip(bests, ends, strict=True)]


def better(one, other):
    """Return, for each leaf, the split that gains more; of equals the one of the lower feature."""
    found = b""
    for start, (mine, _), (theirs, _) in zip(
        range(0, len(one), SIZE), read(one), read(other), strict=True
    ):
        first = (-mine["gain"], mine["feature"]) <= (-theirs["gain"], theirs["feature"])
        found += (one if first else other)[start : start + SIZE]
    return found
