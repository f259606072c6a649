"""Rows of a rank, and their numbers in the whole table.

Rounding, samples and bags depend on a row's number in the whole table, not on its rank.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.gbdt.kernels.row_sampling import draw_rows
from algorithms.gbdt.sampling import ALL


@dataclass(frozen=True)
class Rows:
    """Runs of consecutive rows of the whole table.

    Run i has the local numbers ``start[i] … start[i + 1] − 1`` at the rank. Its first row has the
    number ``number[i]`` in the whole table of ``total`` rows.
    """

    start: np.ndarray  # int64 (n_runs + 1,)
    number: np.ndarray  # int64 (n_runs,)
    total: int

    @classmethod
    def of_parts(cls, lengths, parts):
        """Return the rows of a rank that holds some parts of a table, in their order.

        Parameters
        ----------
        lengths : number of rows of each part of the table
        parts : numbers of the parts that the rank holds
        """
        ends = np.cumsum([0, *lengths])
        start = np.cumsum([0, *(lengths[part] for part in parts)])
        return cls(start, ends[list(parts)].astype(np.int64), int(ends[-1]))

    def __len__(self):
        return int(self.start[-1])

    def runs(self):
        """Yield (first, last + 1, number of the first in the table) of each run."""
        for i, number in enumerate(self.number.tolist()):
            yield int(self.start[i]), int(self.start[i + 1]), number

    def numbers(self):
        """Return the number of each row in the table, int64."""
        runs = [number + np.arange(last - first) for first, last, number in self.runs()]
        return np.concatenate([*runs, np.empty(0, np.int64)]).astype(np.int64)

    def draw(self, seed, below):
        """Return a sample of the rank's rows, drawn by a hash of their numbers; uint32, ascending.

        Parameters
        ----------
        seed : int below 2³²
        below : a row is drawn with probability below / 2³²
        """
        drawn = [np.empty(0, np.uint32)]
        for first, last, number in self.runs():
            out = np.empty(last - first + 1, np.uint32)
            count = draw_rows(np.uint32(seed), int(below), number, number + last - first, out)
            drawn.append(out[:count] - np.uint32(number % ALL) + np.uint32(first))
        return np.concatenate(drawn)
