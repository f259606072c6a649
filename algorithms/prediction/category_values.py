"""Number category codes anew, so that sets of far-reaching codes need few bits.

A set is looked up as a row of bits, one for each code up to its largest: ten million for one
identifier. But trees only tell codes apart that some set has and another has not. Codes of a
feature that stand in the same sets share a number, and a column more of X holds it. Number 0 is
code 0 alone, and its values stay as they are, as zeros may count as missing and 0.5 not; number 1
stands for every code that is in no set.
"""

from dataclasses import replace

import numpy as np

IN_NO_SET = 1
ENDLESS = np.iinfo(np.int64).max  # how many codes are in no set
BATCH = 1 << 22  # codes sorted at once
WORD = 64


def count_words(e):
    """Return how many words of bits the sets of an ensemble need, int64 (n_sets,)."""
    words = np.ones(len(e.members_left), np.int64)
    some = np.diff(e.set_indptr) > 0
    words[some] += e.set_codes[e.set_indptr[1:][some] - 1] // WORD  # codes ascend
    return words


class CategoryNumbers:
    """An ensemble whose sets ask columns of numbers, and what makes these columns.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble

    Attributes
    ----------
    ensemble : harness.TreeEnsemble
        The same trees, for the columns that ``widen`` adds.
    """

    def __init__(self, ensemble):
        e = self.given = ensemble
        asking = np.flatnonzero(e.categories >= 0)
        pairs, own = np.unique(
            np.stack([e.feature[asking], e.categories[asking]]), axis=1, return_inverse=True
        )
        self.tables, members = [], []
        for f in np.unique(pairs[0]).tolist():
            sets = [codes_of(e, k) for k in pairs[1, pairs[0] == f].tolist()]
            codes = distinct(sets)
            number, found = number_codes(codes, sets)
            self.tables.append((f, codes.astype(np.float64), number.astype(np.float64)))
            members += found
        column = np.searchsorted([f for f, _, _ in self.tables], pairs[0])
        feature, categories = e.feature.copy(), e.categories.copy()
        feature[asking], categories[asking] = (e.n_features + column)[own], own
        self.ensemble = replace(
            e,
            feature=feature,
            categories=categories,
            set_indptr=np.cumsum([0] + [len(one) for one in members]),
            set_codes=np.concatenate(members).astype(np.int32),
            members_left=e.members_left[pairs[1]],
            n_features=e.n_features + len(self.tables),
        )

    def widen(self, X):
        """Return rows of X with the columns of numbers, C-contiguous and in X's dtype."""
        e = self.given
        wide = np.empty((len(X), e.n_features + len(self.tables)), X.dtype)
        wide[:, : e.n_features] = X
        for j, (f, codes, number) in enumerate(self.tables, e.n_features):
            with np.errstate(over="ignore"):
                x = X[:, f].astype(e.input_dtype).astype(np.float64)
            x[abs(x) <= e.zero_within] = 0.0
            code = np.floor(x)
            at = np.minimum(np.searchsorted(codes, code), len(codes) - 1)
            found = np.where(codes[at] == code, number[at], IN_NO_SET)
            wide[:, j] = np.where(np.isnan(x) | (code == 0.0), x, found)
        return wide


def codes_of(e, k):
    """Return the codes of a category set, ascending, int32."""
    return e.set_codes[e.set_indptr[k] : e.set_indptr[k + 1]]


def distinct(sets):
    """Return all codes of sets, and 0, ascending."""
    found, waiting, size = np.zeros(1, np.int32), [], 0
    for own in [*sets, None]:
        if own is None or size > BATCH:
            found, waiting, size = np.sort(np.concatenate([found, *waiting])), [], 0
            found = found[np.append(True, found[1:] > found[:-1])]
        if own is not None:
            waiting.append(own)
            size += len(own)
    return found


def number_codes(codes, sets):
    """Return the number of each code, and the numbers of each set, ascending.

    Parameters
    ----------
    codes : ascending, 0 first; all that are in a set
    sets : list of arrays of ascending codes
    """
    number = np.full(len(codes), IN_NO_SET)
    number[0] = 0
    sizes = np.array([1, ENDLESS])
    has_gaps = len(codes) <= codes[-1]
    for own in sets:  # each parts the numbers of which it has some codes
        at = np.searchsorted(codes, own) if has_gaps else own
        inside = np.bincount(number[at], minlength=len(sizes))
        parted = np.flatnonzero((inside > 0) & (inside < sizes))
        new = np.arange(len(sizes))
        new[parted] = len(sizes) + np.arange(len(parted))
        number[at] = new[number[at]]
        sizes[parted] -= inside[parted]
        sizes = np.append(sizes, inside[parted])
    first = np.full(len(sizes), -1, np.int64)  # a code of each number; none of number 1
    first[number] = codes
    return number, [np.flatnonzero(np.isin(first, own)) for own in sets]
