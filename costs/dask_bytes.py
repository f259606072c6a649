"""Bytes on the wire a tree, of two ranks: ours beside LightGBM's and XGBoost's data-parallel mode.

    unshare -rn sh -c 'ip link set lo up; python -m costs.dask_bytes'
    unshare -rn sh -c 'ip link set lo up; python -m costs.dask_bytes --rows 1e6'

All that crosses the loopback device is counted, headers too, so it is run in a network namespace
of its own. A tree is the difference of a longer and a shorter training. Both libraries are driven
by their own interfaces, without Dask, whose messages would be counted as well.
"""

import argparse
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from costs.dask_cost import Crew, Shape, say, table_of
from costs.wire import crossed

FEW, MANY = 5, 15  # trees
RANKS = 2
PATIENCE = 900  # seconds for one training


def half_of(shape, rank):
    """Return the rows of a rank."""
    X, y = table_of(shape.rows, shape.columns)
    own = slice(len(y) * rank // RANKS, len(y) * (rank + 1) // RANKS)
    return X[own], y[own]


def be_lightgbm(shape, rank, trees, ports):
    """Train as one of two ranks of LightGBM."""
    import lightgbm

    params = {"objective": "regression", "num_leaves": shape.leaves, "max_bin": shape.bins}
    params |= {"tree_learner": "data", "num_machines": RANKS, "pre_partition": True}
    params |= {"machines": ",".join(f"127.0.0.1:{port}" for port in ports), "min_data_in_leaf": 1}
    params |= {"local_listen_port": ports[rank], "num_threads": 1, "verbose": -1}
    lightgbm.train(params, lightgbm.Dataset(*half_of(shape, rank)), trees)


def be_xgboost(shape, rank, trees, ports):
    """Train as one of two ranks of XGBoost."""
    import xgboost
    from xgboost import collective

    params = {"tree_method": "hist", "grow_policy": "lossguide", "max_leaves": shape.leaves}
    params |= {"max_depth": 0, "max_bin": shape.bins + 1, "nthread": 1, "verbosity": 0}
    place = {"dmlc_tracker_uri": "127.0.0.1", "dmlc_tracker_port": ports[0]}
    with collective.CommunicatorContext(**place, dmlc_task_id=str(rank)):
        table = xgboost.QuantileDMatrix(*half_of(shape, rank), max_bin=shape.bins + 1)
        xgboost.train(params, table, trees)


RIVALS = {"lightgbm": be_lightgbm, "xgboost": be_xgboost}


def free_ports():
    """Return as many ports as there are ranks that nobody listens at."""
    with ExitStack() as stack:
        doors = [stack.enter_context(socket.socket()) for _ in range(RANKS)]
        for door in doors:
            door.bind(("127.0.0.1", 0))
        return [door.getsockname()[1] for door in doors]


def train_rival(name, shape, trees):
    """Train with two processes of a library."""
    ports = free_ports()
    if name == "xgboost":
        from xgboost.tracker import RabitTracker

        tracker = RabitTracker(host_ip="127.0.0.1", n_workers=RANKS, port=ports[0])
        tracker.start()  # and lives as long as its name

    def run(rank):
        asked = [sys.executable, "-m", "costs.dask_bytes", *words_of(shape)]
        asked += ["--be", name, *map(str, (rank, trees, *ports))]
        quiet = {"stdout": subprocess.DEVNULL, "timeout": PATIENCE}
        subprocess.run(asked, check=True, **quiet)  # noqa: S603 - our own module

    with ThreadPoolExecutor(RANKS) as pool:
        list(pool.map(run, range(RANKS)))


def words_of(shape):
    """Return the options that ask for a shape."""
    names = ("rows", "columns", "bins", "leaves")
    return [f"--{name}={getattr(shape, name)}" for name in names]


def bytes_of(train):
    """Return the bytes a tree of ``train(trees)``."""
    ends = []
    for trees in (FEW, MANY):
        before = crossed()
        train(trees)
        ends.append(crossed() - before)
    return (ends[1] - ends[0]) / (MANY - FEW)


def main(words=None):
    """Compare; or be one rank of a library."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=float, default=1e5)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--bins", type=int, default=255)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--be", nargs="+", help="a library, rank, trees, ports: be that rank")
    asked = parser.parse_args(words)
    shape = Shape(int(asked.rows), asked.columns, asked.bins, asked.leaves, RANKS)
    if asked.be:
        name, (rank, trees, *ports) = asked.be[0], map(int, asked.be[1:])
        RIVALS[name](shape, rank, trees, ports)
        return
    with Crew(RANKS) as crew:
        found = {"ours": bytes_of(lambda trees: crew.train(shape, trees))}
    for name in RIVALS:
        found[name] = bytes_of(lambda trees, n=name: train_rival(n, shape, trees))
    say(f"{shape}: kB a tree, both ranks together")
    for name, count in found.items():
        say(f"{name:10} {count / 1e3:9.1f}   {count / found['ours']:.2f} times ours")


if __name__ == "__main__":
    main()
