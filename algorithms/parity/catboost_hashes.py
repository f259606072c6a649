"""The order of projections in CatBoost's hash sets.

A tree's combinations are listed in the order of a hash set of their bases, so the order decides
ties, and which random number belongs to which candidate.
"""

import numpy as np

from algorithms.symmetric.projections import Projection

BITS_64 = (1 << 64) - 1
FIRST, FACTOR = 1988712, 984121  # of the hash of a list
BUCKETS = (7, 17, 29, 53, 97, 193)  # sizes of a hash table


class ProjectionHashes:
    """Hashes of the projections of a table.

    Parameters
    ----------
    table : CategoricalTable
    """

    def __init__(self, table):
        numeric = [j for j in range(table.X.shape[1]) if j not in table.codes_of]
        self.numeric = {j: number for number, j in enumerate(numeric)}
        self.categorical = {j: number for number, j in enumerate(table.codes_of)}
        used = table.table.features.tolist()
        self.borders = dict(zip(used, table.table.borders, strict=True))

    def in_order(self, bases):
        """Return projections in the order of a hash set, list.

        Parameters
        ----------
        bases : list of Projection, in the order in which they are put into the set
            CatBoost's set also has the numeric and one-hot splits if there are none.
        """
        has_splits = bool(bases) and not bases[0].columns
        given = list(bases) if has_splits else [Projection(()), *bases]
        keys = [self.hash_of(one) for one in given]
        return [given[i] for i in iteration_order(keys) if has_splits or i]

    def hash_of(self, projection):
        """Return the hash of a projection, int below 2⁶⁴."""
        columns = hash_list([self.categorical[j] for j in projection.columns])
        borders = hash_list([self._hash_border(*one) for one in projection.borders])
        if not projection.levels:
            return hash_pair(columns, borders)
        levels = [hash_pair(self.categorical[j], level) for j, level in projection.levels]
        return hash_pair(columns, hash_pair(borders, hash_list(levels)))

    def _hash_border(self, column, border, _nan_right):
        """Return the hash of a numeric split."""
        number = int(np.searchsorted(self.borders[column], border))
        return hash_pair(self.numeric[column], number)


def iteration_order(keys):
    """Return the numbers of hashes in the order in which a hash set of them is read, list.

    Parameters
    ----------
    keys : list of int, distinct, in the order in which they are put into the set
    """
    size, buckets = BUCKETS[0], [[] for _ in range(BUCKETS[0])]
    for number, key in enumerate(keys):
        if number >= size:
            size = next(one for one in BUCKETS if one > number + 1)
            earlier, buckets = buckets, [[] for _ in range(size)]
            for old in (old for bucket in earlier for old in bucket):
                buckets[keys[old] % size].insert(0, old)
        buckets[key % size].insert(0, number)
    return [number for bucket in buckets for number in bucket]


def hash_list(values):
    """Return the hash of a list of integers, as an int32 with its sign extended to 64 bits."""
    found = FIRST
    for value in values:
        found = (FACTOR * found + value) & 0xFFFFFFFF
    return found if found < 1 << 31 else found | (BITS_64 ^ 0xFFFFFFFF)


def hash_pair(head, tail):
    """Return the hash of two hashes."""
    return mix(tail) ^ (head & BITS_64)


def mix(key):
    """Return Wang's hash of a 64-bit integer."""
    key &= BITS_64
    key = (key + ~(key << 32)) & BITS_64
    key ^= key >> 22
    key = (key + ~(key << 13)) & BITS_64
    key ^= key >> 8
    key = (key + (key << 3)) & BITS_64
    key ^= key >> 15
    key = (key + ~(key << 27)) & BITS_64
    return key ^ (key >> 31)
