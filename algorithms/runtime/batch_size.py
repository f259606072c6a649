"""Number of rounds in a batch, from the time of the batch before.

A kernel does not check for Ctrl-C within a batch, so a batch should take a fraction of a second.
"""

from time import perf_counter

MAX_SECONDS = 0.1  # wanted time of a batch
MAX_GROWTH = 8  # maximum ratio of the rounds of a batch to those of the one before


class BatchSize:
    """Number of rounds of the next batch, ``wanted``; 1 at first.

    Parameters
    ----------
    largest : int, maximum number of rounds in a batch
    """

    def __init__(self, largest):
        self.largest, self.wanted = largest, 1

    def run(self, n_rounds, function, *given):
        """Call a function that adds so many rounds, and choose the size of the next batch."""
        start = perf_counter()
        function(*given)
        seconds = max(perf_counter() - start, 1e-9)
        growth = min(MAX_GROWTH, MAX_SECONDS / seconds)
        self.wanted = max(1, min(self.largest, int(n_rounds * growth)))
