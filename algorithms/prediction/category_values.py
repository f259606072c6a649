"""Renumbering of category codes, so that sets with large codes need few bits.

A set is stored as a bit per code up to its largest code: ten million bits for one identifier. But
trees only distinguish codes that some set contains and another does not. Codes of a feature that
are in the same sets share a number, which is stored in an extra column of X. Number 0 is only for
code 0, whose values are unchanged, as zeros may count as missing but 0.5 does not; number 1 is for
all codes that are in no set.
"""

from dataclasses import replace

import numpy as np

IN_NO_SET = 1
ENDLESS = np.iinfo(np.int64).max  # number of codes that are in no set
BATCH = 1 << 22  # codes sorted together
WORD = 64


def count_words(e):
    """Return the number of 64-bit words of each category set, int64 (n_sets,)."""
    words = np.ones(len(e.members_left), np.int64)
    some = np.diff(e.set_indptr) > 0
    words[some] += e.set_codes[e.set_indptr[1:][some] - 1] // WORD  # codes are ascending
    return words


class CategoryNumbers:
    """An ensemble with renumbered category codes, and the columns of these numbers.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble

    Attributes
    ----------
    ensemble : harness.TreeEnsemble
        The same trees, with splits on the columns that ``widen`` adds.
    """

    def __init__(self, ensemble):
        e = self.given = ensemble
        categorical = np.flatnonzero(e.categories >= 0)
        pairs, pair = np.unique(
            np.stack([e.feature[categorical], e.categories[categorical]]),
            axis=1,
            return_inverse=True,
        )
        self.tables, members = [], []
        for f in np.unique(pairs[0]).tolist():
            sets = [codes_of(e, k) for k in pairs[1, pairs[0] == f].tolist()]
            codes = distinct(sets)
            number, numbered = number_codes(codes, sets)
            self.tables.append((f, codes.astype(np.float64), number.astype(np.float64)))
            members += numbered
        column = np.searchsorted([f for f, _, _ in self.tables], pairs[0])
        feature, categories = e.feature.copy(), e.categories.copy()
        feature[categorical], categories[categorical] = (e.n_features + column)[pair], pair
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
        """Return rows of X with the columns of code numbers, C-contiguous and in X's dtype."""
        e = self.given
        wide = np.empty((len(X), e.n_features + len(self.tables)), X.dtype)
        wide[:, : e.n_features] = X
        for j, (f, codes, number) in enumerate(self.tables, e.n_features):
            with np.errstate(over="ignore"):
                x = X[:, f].astype(e.input_dtype).astype(np.float64)
            x[abs(x) <= e.zero_within] = 0.0
            code = np.floor(x)
            at = np.minimum(np.searchsorted(codes, code), len(codes) - 1)
            numbers = np.where(codes[at] == code, number[at], IN_NO_SET)
            wide[:, j] = np.where(np.isnan(x) | (code == 0.0), x, numbers)
        return wide


def codes_of(e, k):
    """Return the codes of a category set, ascending, int32."""
    return e.set_codes[e.set_indptr[k] : e.set_indptr[k + 1]]


def distinct(sets):
    """Return the distinct codes of all sets, and 0, ascending."""
    result, waiting, size = np.zeros(1, np.int32), [], 0
    for codes in [*sets, None]:
        if codes is None or size > BATCH:
            result, waiting, size = np.sort(np.concatenate([result, *waiting])), [], 0
            result = result[np.append(True, result[1:] > result[:-1])]
        if codes is not None:
            waiting.append(codes)
            size += len(codes)
    return result


def number_codes(codes, sets):
    """Return the number of each code, and the numbers of each set, ascending.

    Parameters
    ----------
    codes : all codes that are in a set, ascending, starting with 0
    sets : list of arrays of ascending codes
    """
    number = np.full(len(codes), IN_NO_SET)
    number[0] = 0
    sizes = np.array([1, ENDLESS])
    has_gaps = len(codes) <= codes[-1]
    for codes_of_set in sets:  # each set splits the numbers of which it has only some codes
        at = np.searchsorted(codes, codes_of_set) if has_gaps else codes_of_set
        inside = np.bincount(number[at], minlength=len(sizes))
        divided = np.flatnonzero((inside > 0) & (inside < sizes))
        new = np.arange(len(sizes))
        new[divided] = len(sizes) + np.arange(len(divided))
        number[at] = new[number[at]]
        sizes[divided] -= inside[divided]
        sizes = np.append(sizes, inside[divided])
    first = np.full(len(sizes), -1, np.int64)  # one code of each number; −1 for number 1
    first[number] = codes
    return number, [np.flatnonzero(np.isin(first, codes_of_set)) for codes_of_set in sets]
