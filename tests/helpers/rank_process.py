"""One rank of a training in its own process: ``rank_process.py RANK HOST,HOST PORT FOLDER``.

It writes the digest of its model into FOLDER. The table is generated from a seed.
"""

import socket
import sys
import time
from pathlib import Path

import numpy as np
from ranks_kit import SECRET, digest_of, with_data_facts
from sklearn.base import clone

from algorithms import HistogramBoostingRegressor
from algorithms.distributed.boosting import Table, Training, train
from algorithms.distributed.collective import join
from algorithms.distributed.rows import Rows
from algorithms.gbdt.model import join_trees

MODEL = HistogramBoostingRegressor(n_estimators=2, num_leaves=7, random_state=1)
LENGTHS = [200, 100, 150]


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(sum(LENGTHS), 4))
    return X, X[:, 0] + rng.normal(size=len(X)) * 0.1


def main(rank, hosts, port, folder):
    model, X, y, _ = with_data_facts(clone(MODEL), *table())
    listener = socket.create_server((hosts[rank], port))
    Path(folder, f"ready-{rank}").touch()
    while not all(Path(folder, f"ready-{other}").exists() for other in range(len(hosts))):
        time.sleep(0.05)
    rows = Rows.of_parts(LENGTHS, [n for n in range(len(LENGTHS)) if n % len(hosts) == rank])
    own = Table(X[rows.numbers()], y[rows.numbers()], None, rows)
    message = Training(model, model._is_categorical, seed=5, tree_learner="data")
    addresses = [(host, port) for host in hosts]
    with join(rank, addresses, listener, SECRET, 30.0) as ranks:
        result = train(ranks, message, own)
    if rank == 0:
        ensemble = join_trees(result.rounds, result.binner, result.base)
        Path(folder, "digest").write_text(digest_of(ensemble))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3]), sys.argv[4])
