"""Evaluation tables in Dask collections: they are computed and sent to the client before training.

One worker holds them during training, so they must fit into one process anyway. Computing them
inside the training tasks could deadlock: these tasks occupy the threads that would compute them.
"""

import numpy as np
from sklearn.utils.validation import column_or_1d

from algorithms.distributed.blocks import is_collection
from algorithms.distributed.worker_check import wait_for_futures
from algorithms.estimator import eval_sets


def read_tables(tables, weights):
    """Return ``eval_set`` (a list of pairs, a pair or None) as a list of pairs.

    Raises
    ------
    TypeError
        If tables are not pairs, or weights not a list.
    ValueError
        If the numbers of weights and tables differ.
    """
    tables = eval_sets.read_tables(tables, may_be_one=True)
    eval_sets.read_weights(weights, len(tables))
    return tables


def bring_tables(client, tables, weights, workers):
    """Return tables and weights with Dask collections replaced by arrays and frames.

    Parameters
    ----------
    client : distributed.Client
    tables : list of pairs (X, y)
    weights : list of arrays or None, one per table, or None
    workers : addresses that may compute collections, or None for all
    """
    flat = [one for table in tables for one in table] + list(weights or ())
    lazy = {id(one): one for one in flat if is_collection(one)}
    where = {"workers": workers, "allow_other_workers": False}
    futures = [client.compute(one, **where) for one in lazy.values()]
    wait_for_futures(client, futures, workers)
    computed = dict(zip(lazy, client.gather(futures), strict=True))

    def column(one):
        return column_or_1d(np.asarray(computed[id(one)])) if id(one) in computed else one

    tables = [(computed.get(id(X), X), column(y)) for X, y in tables]
    return tables, None if weights is None else [column(one) for one in weights]
