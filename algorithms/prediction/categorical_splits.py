"""Set apart what trees ask beyond numbers, so that it is answered before they are walked."""

import numpy as np

from algorithms.prediction.kernels.categorical_walk import BETWEEN
from algorithms.prediction.kernels.walk import (
    BLOCK,
    IS_SET,
    MEMBERS_LEFT,
    MISSING_LEFT,
    ZERO_MISSING,
)

FEW_ROWS = 8  # that walk at once
ANSWERS_A_STEP = 6  # that take as long as a step which asks for a set
COST_OF_ZERO = 3  # of an answer that may take zero for missing; one about a set costs 1
MOST_PLACES = 2**31 - 1  # in a block of rows, that a question names by 32 bits
MOST_WORDS = 1 << 17  # of all questions, 64 codes each


class OddQuestions:
    """The questions of trees that are not for numbers, set apart for `odd_walk`.

    Parameters
    ----------
    steps : STEP (n_nodes,)
    bits : uint64, the words of all sets
    roots : int64 (n_trees,)
    """

    def __init__(self, steps, bits, roots):
        at = np.flatnonzero(steps["kind"] & (IS_SET | ZERO_MISSING))
        self.asked, column = np.unique(steps["feature"], return_inverse=True)
        self.begins = np.searchsorted(at, roots)
        self.ends = np.append(self.begins[1:], len(at))
        self.questions = steps[at]
        self.questions["feature"] = column[at] * BLOCK
        self.coded = np.unique(column[at[self.questions["kind"] & IS_SET > 0]])
        answers = np.arange(len(at)) - np.repeat(self.begins, self.ends - self.begins)
        column[at] = len(self.asked) + answers
        self._plain = steps.copy()
        self._plain["feature"] = column * BLOCK
        self._plain["threshold"][at] = BETWEEN
        self.asked = self.asked.astype(np.int64)
        asks_set = self.questions["kind"] & IS_SET > 0
        self._cost = np.concatenate([[0], np.cumsum(np.where(asks_set, 1, COST_OF_ZERO))])
        words = self.questions["words"][asks_set]
        self.width = int(column.max()) + 1
        places_fit = self.width * BLOCK <= MOST_PLACES
        self.fits = places_fit and int((words + 2).sum()) <= MOST_WORDS
        self.bits = self._turn(bits) if self.fits else bits[:0]

    def _turn(self, bits):
        """Return bits that say who goes right, those of each question for a set by themselves."""
        asks_set = np.flatnonzero(self.questions["kind"] & IS_SET)
        own = self.questions[asks_set]
        words, of_members = own["words"], (own["kind"] & MEMBERS_LEFT == 0).astype(np.uint64)
        of_missing = (own["kind"] & MISSING_LEFT == 0).astype(np.uint64)
        first = np.cumsum(words + 2) - (words + 2)
        turned = np.zeros((words + 2).sum(), np.uint64)
        to = np.arange(words.sum()) + np.repeat(2 * np.arange(len(own)) + 1, words)
        source = np.arange(words.sum()) - np.repeat(np.cumsum(words) - words, words)
        found = bits[source + np.repeat(own["threshold"].astype(np.int64), words)]
        turned[to] = np.where(np.repeat(of_members, words) == 1, found, ~found)
        of_zero = np.where(own["kind"] & ZERO_MISSING, of_missing, turned[first + 1] & np.uint64(1))
        turned[first] = of_missing + np.uint64(2) * of_zero
        turned[first + words + 1] = np.uint64(1) - of_members
        self.questions["threshold"][asks_set] = first
        return turned

    def take_plain(self):
        """Return the steps that ask numbers alone, some of them answers; they are not kept."""
        plain, self._plain = self._plain, None
        return plain

    def are_worth_it(self, n_rows, depth, trees):
        """Return whether answering all questions of some trees takes less than a walk that asks.

        Parameters
        ----------
        depth : (n_trees,) int64, of these trees
        """
        cost = (self._cost[self.ends[trees]] - self._cost[self.begins[trees]]).sum()
        return (
            n_rows >= FEW_ROWS
            and cost <= ANSWERS_A_STEP * depth.sum()
            and len(self.asked) <= ANSWERS_A_STEP * depth.sum()
            and self.fits
        )

    def of(self, trees):
        """Return what `add_odd_trees` takes of some trees."""
        own = self.questions, self.begins[trees], self.ends[trees]
        return *own, self.asked, self.coded, self.bits

    def new_block(self):
        """Return room for a block of rows, and for their codes."""
        return np.empty(self.width * BLOCK), np.empty(len(self.asked) * BLOCK, np.int64)
