"""Progress output of a verbose fit."""

import sys
from time import time

MINUTE = 60
TEN = 10


class Report:
    """Progress report that prints some rounds, or each round if ``verbose`` is above 1.

    Parameters
    ----------
    model : BaseGradientBoosting
    first : index of the first trained round
    """

    def __init__(self, model, first):
        self.model, self.first, self.every, self.start = model, first, 1, time()
        self.samples = model.subsample < 1.0
        titles = ["Train Loss", *["OOB Improve"] * self.samples, "Remaining Time"]
        say(f"{'Iter':>10s} " + "".join(f"{title:>16s} " for title in titles))

    def print_round(self, i):
        """Print the line of a round if it is due."""
        model, done = self.model, i - self.first + 1
        if done % self.every == 0:
            left = (model.n_estimators - i - 1) * (time() - self.start) / done
            cells = [f"{model.train_score_[i]:>16.4f}"]
            if self.samples:
                cells.append(f"{model.oob_improvement_[i]:>16.4f}")
            remaining = f"{left / MINUTE:.2f}m" if left > MINUTE else f"{left:.2f}s"
            say(" ".join([f"{i + 1:>10d}", *cells, f"{remaining:>16s}"]))
            if model.verbose == 1 and done // (self.every * TEN) > 0:
                self.every *= TEN


def say(line):
    """Print a line."""
    sys.stdout.write(f"{line}\n")
