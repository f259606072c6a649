"""Count the bytes sent per tree by two ranks: ours, LightGBM and XGBoost in data-parallel mode.

    unshare -rn sh -c 'ip link set lo up; python -m costs.dask_bytes'
    unshare -rn sh -c 'ip link set lo up; python -m costs.dask_bytes --rows 1e6'

All traffic of the loopback device is counted, including headers, so run it in a network namespace
of its own. The cost of a tree is the difference of a longer and a shorter training. The libraries
are used without Dask, whose messages would be counted as well.
"""

import argparse
import multiprocessing
import os
import socket
from contextlib import ExitStack
from pathlib import Path

from costs.dask_cost import RankProcesses, Shape, print_line, table_of
from costs.wire import bytes_sent

FEW, MANY = 5, 15  # trees
RANKS = 2
PATIENCE = 900  # seconds for one training


def rows_of_rank(shape, rank):
    """Return the rows of a rank."""
    X, y = table_of(shape.rows, shape.columns)
    own = slice(len(y) * rank // RANKS, len(y) * (rank + 1) // RANKS)
    return X[own], y[own]


def run_lightgbm_rank(shape, rank, trees, ports):
    """Train as one of two LightGBM ranks."""
    import lightgbm

    params = {"objective": "regression", "num_leaves": shape.leaves, "max_bin": shape.bins}
    params |= {"tree_learner": "data", "num_machines": RANKS, "pre_partition": True}
    params |= {"machines": ",".join(f"127.0.0.1:{port}" for port in ports), "min_data_in_leaf": 1}
    params |= {"local_listen_port": ports[rank], "num_threads": 1, "verbose": -1}
    lightgbm.train(params, lightgbm.Dataset(*rows_of_rank(shape, rank)), trees)


def run_xgboost_rank(shape, rank, trees, ports):
    """Train as one of two XGBoost ranks."""
    import xgboost
    from xgboost import collective

    params = {"tree_method": "hist", "grow_policy": "lossguide", "max_leaves": shape.leaves}
    params |= {"max_depth": 0, "max_bin": shape.bins + 1, "nthread": 1, "verbosity": 0}
    place = {"dmlc_tracker_uri": "127.0.0.1", "dmlc_tracker_port": ports[0]}
    with collective.CommunicatorContext(**place, dmlc_task_id=str(rank)):
        table = xgboost.QuantileDMatrix(*rows_of_rank(shape, rank), max_bin=shape.bins + 1)
        xgboost.train(params, table, trees)


RIVALS = {"lightgbm": run_lightgbm_rank, "xgboost": run_xgboost_rank}


def free_ports():
    """Return one unused port for each rank."""
    with ExitStack() as stack:
        sockets_bound = [stack.enter_context(socket.socket()) for _ in range(RANKS)]
        for bound in sockets_bound:
            bound.bind(("127.0.0.1", 0))
        return [bound.getsockname()[1] for bound in sockets_bound]


def run_rank(name, *args):
    """Run one rank of a library without output."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    RIVALS[name](*args)


def train_library(name, shape, trees):
    """Train with two processes of a library."""
    ports = free_ports()
    if name == "xgboost":
        from xgboost.tracker import RabitTracker

        tracker = RabitTracker(host_ip="127.0.0.1", n_workers=RANKS, port=ports[0])
        tracker.start()  # keep a reference while training
    context = multiprocessing.get_context("forkserver")  # the server is that of `RankProcesses`
    requested = [(name, shape, rank, trees, ports) for rank in range(RANKS)]
    ranks = [context.Process(target=run_rank, args=one, daemon=True) for one in requested]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(PATIENCE)
    if any(rank.exitcode != 0 for rank in ranks):
        raise RuntimeError(f"{name} did not train {trees} trees on {shape}")


def bytes_of(train):
    """Return the bytes per tree of ``train(trees)``."""
    ends = []
    for trees in (FEW, MANY):
        before = bytes_sent()
        train(trees)
        ends.append(bytes_sent() - before)
    return (ends[1] - ends[0]) / (MANY - FEW)


def main(words=None):
    """Count the bytes and print the comparison; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=float, default=1e5)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--bins", type=int, default=255)
    parser.add_argument("--leaves", type=int, default=31)
    requested = parser.parse_args(words)
    shape = Shape(int(requested.rows), requested.columns, requested.bins, requested.leaves, RANKS)
    with RankProcesses(RANKS) as workers:
        results = {"ours": bytes_of(lambda trees: workers.train(shape, trees))}
    for name in RIVALS:
        results[name] = bytes_of(lambda trees, n=name: train_library(n, shape, trees))
    print_line(f"{shape}: kB a tree, both ranks together")
    for name, count in results.items():
        print_line(f"{name:10} {count / 1e3:9.1f}   {count / results['ours']:.2f} times ours")


if __name__ == "__main__":
    main()
