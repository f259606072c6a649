"""Draw accuracy against training time of the boosters at their own defaults.

``python docs/figures/front.py`` needs matplotlib. It reads ``front.csv``, one line for each
library and table (loss on the test rows, processor seconds of training, number of training rows),
and writes ``docs/_static/accuracy-against-time.svg``.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from harness.analysis.elo import elo

mpl.use("svg")
mpl.rcParams |= {"svg.hashsalt": "front", "svg.fonttype": "none", "font.family": "sans-serif"}
from matplotlib import pyplot as plt  # noqa: E402 - after the choice of the backend

HERE = Path(__file__).parent
FILE = HERE.parent / "_static" / "accuracy-against-time.svg"
OURS, OTHERS = "#0b6aa8", "#777777"


def rate(results):
    """Return the rating and the time of each library, on the tables that all libraries finished.

    Parameters
    ----------
    results : frame with the columns library, table, loss, seconds and rows

    Returns
    -------
    table : frame with the columns library, low, elo, high (95 % interval) and seconds (processor
        seconds per 1000 rows, geometric mean), the fastest first
    n_tables : int
    """
    losses = results.pivot_table(index="table", columns="library", values="loss").dropna()
    results = results[results["table"].isin(losses.index)]
    seconds = np.log(1000 * results["seconds"] / results["rows"])
    ratings = elo(losses.to_numpy())
    table = pd.DataFrame(
        {
            "library": losses.columns,
            "low": [one.low for one in ratings],
            "elo": [one.value for one in ratings],
            "high": [one.high for one in ratings],
            "seconds": np.exp(seconds.groupby(results["library"]).mean()).to_numpy(),
        }
    )
    return table.sort_values("seconds", ignore_index=True), len(losses)


def draw(table, n_tables):
    """Write the figure: a dot with an interval for each library, and the Pareto front as a line."""
    figure, ax = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    front = table[table["elo"] >= table["elo"].cummax()]
    ax.step(front["seconds"], front["elo"], where="post", color=OURS, linewidth=1, alpha=0.5)
    for one in table.itertuples():
        color = OURS if one.library.startswith(("Boosting", "Histogram", "Newton")) else OTHERS
        error = [[one.elo - one.low], [one.high - one.elo]]
        ax.errorbar(one.seconds, one.elo, error, fmt="o", color=color, elinewidth=1)
        is_near = np.abs(np.log(table["seconds"] / one.seconds)) < 1.0
        is_below = (is_near & (table["elo"] - one.elo).between(1, 80)).any()  # another label
        place = {"xytext": (6, -12 if is_below else 4), "textcoords": "offset points"}
        ax.annotate(one.library, (one.seconds, one.elo), color=color, fontsize=9, **place)
    ax.set_xscale("log")
    ax.set_xticks([0.05, 0.1, 0.2, 0.5, 1, 2, 4])
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.set_xlabel("processor seconds of training per 1000 rows (geometric mean)")
    ax.set_ylabel("Elo (mean 1000)")
    ax.set_title(f"Defaults on {n_tables} tables; bars: 95 % intervals", fontsize=10, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(FILE, metadata={"Date": None})


if __name__ == "__main__":
    draw(*rate(pd.read_csv(HERE / "front.csv")))
