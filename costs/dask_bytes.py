"""Bytes on the wire a tree, of two ranks: ours beside LightGBM's and XGBoost's data-parallel mode.

    unshare -rn sh -c 'ip link set lo up; python -m costs.dask_bytes'

All that crosses the loopback device is counted, headers too, so it is run in a network namespace
of its own. A tree is the difference of a longer and a shorter training. Both libraries are driven
by their own interfaces, without Dask, whose messages would be counted as well.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from costs.dask_cost import Crew, Shape, say, table_of

SHAPE = Shape(100_000, 28, 255, 31, 2)
FEW, MANY = 5, 15  # trees


def crossed():
    """Return the bytes that have crossed the loopback device."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[9]) for line in lines if line.strip().startswith("lo:"))


def half_of(rank):
    """Return the rows of a rank."""
    X, y = table_of(SHAPE)
    own = slice(len(y) * rank // 2, len(y) * (rank + 1) // 2)
    return X[own], y[own]


def be_lightgbm(rank, trees, port):
    """Train as one of two ranks of LightGBM."""
    import lightgbm

    params = {"objective": "regression", "num_leaves": SHAPE.leaves, "max_bin": SHAPE.bins}
    params |= {"tree_learner": "data", "num_machines": 2, "pre_partition": True}
    params |= {"machines": f"127.0.0.1:{port},127.0.0.1:{port + 1}", "min_data_in_leaf": 1}
    params |= {"local_listen_port": port + rank, "num_threads": 1, "verbose": -1}
    lightgbm.train(params, lightgbm.Dataset(*half_of(rank)), trees)


def be_xgboost(rank, trees, port):
    """Train as one of two ranks of XGBoost."""
    import xgboost
    from xgboost import collective

    params = {"tree_method": "hist", "grow_policy": "lossguide", "max_leaves": SHAPE.leaves}
    params |= {"max_depth": 0, "nthread": 1, "verbosity": 0}
    place = {"dmlc_tracker_uri": "127.0.0.1", "dmlc_tracker_port": port, "dmlc_task_id": str(rank)}
    with collective.CommunicatorContext(**place):
        table = xgboost.QuantileDMatrix(*half_of(rank), max_bin=SHAPE.bins + 1)
        xgboost.train(params, table, trees)


def train_library(name, trees, port):
    """Train with two processes of a library."""
    if name == "xgboost":
        from xgboost.tracker import RabitTracker

        tracker = RabitTracker(host_ip="127.0.0.1", n_workers=2, port=port)
        tracker.start()  # and lives as long as its name

    def run(rank):
        command = [sys.executable, "-m", "costs.dask_bytes", name, rank, trees, port]
        quiet = {"stdout": subprocess.DEVNULL, "timeout": 120}
        subprocess.run(list(map(str, command)), check=True, **quiet)  # noqa: S603 - our own module

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(2)))


def bytes_of(train):
    """Return the bytes a tree of ``train(trees)``."""
    ends = []
    for trees in (FEW, MANY):
        before = crossed()
        train(trees)
        ends.append(crossed() - before)
    return (ends[1] - ends[0]) / (MANY - FEW)


def main(words):
    """Compare; or, with words, be one rank of a library."""
    if words:
        be = {"lightgbm": be_lightgbm, "xgboost": be_xgboost}[words[0]]
        be(*map(int, words[1:]))
        return
    with Crew(SHAPE.ranks) as crew:
        found = {"ours": bytes_of(lambda trees: crew.train(SHAPE, trees))}
    for name, port in (("lightgbm", 15_000), ("xgboost", 15_100)):
        found[name] = bytes_of(lambda trees, n=name, p=port: train_library(n, trees, p + trees))
    say(f"{SHAPE}: kB a tree, both ranks together")
    for name, count in found.items():
        say(f"{name:10} {count / 1e3:9.1f}   {count / found['ours']:.2f} times ours")


if __name__ == "__main__":
    main(sys.argv[1:])
