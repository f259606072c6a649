"""Train ours, lightgbm.dask and xgboost.dask on one cluster in turn and print ratios of time.

    python -m costs.dask_comparison
    python -m costs.dask_comparison --rows 1e5 --trees 20 --rounds 3 --workers 2 --threads 1

All use the same workers, threads and blocks of a table that is already on the workers: binary,
``--rows`` × ``--columns`` float32, with equal leaves, bins and learning rate. A fit is timed
from the call to the model, so it includes set-up, binning and the transfer of the model. In
each round all are fitted, in an order that changes; ratios are taken within rounds. The log loss on
unseen rows compares the accuracy of the models.

MB per tree is the traffic of the loopback device during a fit, including Dask's messages and data
sent once per fit, divided by the trees. A network namespace has no other traffic:

    unshare -rn sh -c 'ip link set lo up; python -m costs.dask_comparison'

For ours, the traffic between ranks is also printed by purpose.
"""

import argparse
import logging
import math
import sys
import time
import warnings
from dataclasses import dataclass, field
from itertools import cycle, permutations

import numpy as np
from sklearn.metrics import log_loss

from costs.wire import bytes_sent
from harness.analysis.stats import hodges_lehmann, transformed

PARTS_EACH = 2  # of a worker
TEST_ROWS = 50_000
RATE = 0.1


def block_of(seed, rows, columns):
    """Return X and the probability of class 1, for some rows drawn from a seed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    raw = X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2]) + X[:, 3] * (X[:, 4] > 0) + 0.5 * X[:, 5]
    return X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-raw))).astype(np.int32)


def table_of(client, args):
    """Return X and y, Dask arrays whose blocks are on the workers."""
    import dask.array as da
    from dask import delayed
    from distributed import wait

    count = args.workers * PARTS_EACH
    lengths = np.diff(int(args.rows) * np.arange(count + 1) // count).tolist()
    X, y = [], []
    for number, length in enumerate(lengths):
        part = delayed(block_of)(number, length, args.columns)
        X.append(da.from_delayed(part[0], (length, args.columns), np.float32))
        y.append(da.from_delayed(part[1], (length,), np.int32))
    result = client.persist([da.concatenate(X), da.concatenate(y)])
    wait(result)
    return result


def settings(client, args):
    """Return the parameters common to the two libraries with a scikit-learn interface."""
    return {
        "client": client,
        "n_estimators": args.trees,
        "num_leaves": args.leaves,
        "max_bin": args.bins,
        "learning_rate": RATE,
        "n_jobs": args.threads,
    }


def fit_ours(client, X, y, args):
    """Train ours; return a function that predicts probabilities, and the bytes sent by ranks."""
    from algorithms import DaskHistogramBoostingClassifier

    model = DaskHistogramBoostingClassifier(**settings(client, args)).fit(X, y)
    local, sent = model.to_local(), model.communication_["sent"]
    return lambda table: local.predict_proba(table)[:, 1], sent


def fit_lightgbm(client, X, y, args):
    """Train LightGBM on all workers."""
    from lightgbm import DaskLGBMClassifier

    model = DaskLGBMClassifier(**settings(client, args), tree_learner="data", verbose=-1).fit(X, y)
    return lambda table: model.to_local().predict_proba(table)[:, 1], None


def fit_xgboost(client, X, y, args):
    """Train XGBoost leaf-wise on all workers, like the others."""
    import xgboost
    from xgboost import dask as rival

    params = {"objective": "binary:logistic", "tree_method": "hist", "grow_policy": "lossguide"}
    params |= {"max_leaves": args.leaves, "max_depth": 0, "max_bin": args.bins + 1}
    params |= {"learning_rate": RATE, "nthread": args.threads, "verbosity": 0}
    table = rival.DaskQuantileDMatrix(client, X, y, max_bin=args.bins + 1)
    booster = rival.train(client, params, table, num_boost_round=args.trees)["booster"]
    return lambda rows: booster.predict(xgboost.DMatrix(rows)), None


FITS = {"ours": fit_ours, "lightgbm.dask": fit_lightgbm, "xgboost.dask": fit_xgboost}


@dataclass
class Measurement:
    """Measurements of one library."""

    seconds: list = field(default_factory=list)  # of each round
    wire: list = field(default_factory=list)  # bytes a tree of each round
    loss: float = 0.0  # log loss
    sent: dict | None = None  # purpose → bytes and messages of all ranks, if reported


def measure(client, args):
    """Return the `Measurement` of each library by name."""
    X, y = table_of(client, args)
    test_X, test_y = block_of(10**6, TEST_ROWS, args.columns)
    results = {name: Measurement() for name in args.only or FITS}
    orders = cycle(permutations(results))
    for turn in range(-1, args.rounds):  # the first round is a warm-up
        for name in next(orders):
            one, before, began = results[name], bytes_sent(), time.perf_counter()
            predict, one.sent = FITS[name](client, X, y, args)
            took, wire = time.perf_counter() - began, (bytes_sent() - before) / args.trees
            one.loss = log_loss(test_y, np.asarray(predict(test_X), np.float64))
            if turn >= 0:
                one.seconds.append(took)
                one.wire.append(wire)
                print_line(
                    f"  round {turn + 1}: {name:14} {took:7.2f} s  {wire / 1e6:7.2f} MB a tree"
                )
    return results


def print_table(result, trees):
    """Print times and traffic, and ratios of times to ours with intervals."""
    print_line("                 median s  log loss  MB a tree   times ours [95 %]")
    for name, one in result.items():
        line = f"{name:14} {np.median(one.seconds):10.2f}  {one.loss:8.4f}"
        line += f"  {np.median(one.wire) / 1e6:9.2f}"
        if name != "ours" and "ours" in result:
            logs = np.log(one.seconds) - np.log(result["ours"].seconds)
            ratio = transformed(hodges_lehmann(logs), math.exp)
            line += f"   {ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
        print_line(line)
        if one.sent is not None:
            each = {what: message["bytes"] / trees / 1e3 for what, message in one.sent.items()}
            parts = ", ".join(f"{what} {count:.1f}" for what, count in each.items())
            print_line(f"  its ranks sent each other {sum(each.values()):.1f} kB a tree: {parts}")


def print_line(text):
    """Print a line and flush."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def parse_arguments(words):
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--bins", type=int, default=255)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--only", nargs="+", choices=list(FITS), help="some of them")
    return parser.parse_args(words)


def main(words=None):
    """Run the comparison; see the module."""
    requested = parse_arguments(words)
    from distributed import Client, LocalCluster

    warnings.simplefilter("ignore")  # messages of the libraries about ports and versions
    options = {"n_workers": requested.workers, "threads_per_worker": requested.threads}
    options |= {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "processes": True}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        print_table(measure(client, requested), requested.trees)


if __name__ == "__main__":
    main()
