"""Tables to watch that lie on Dask's workers: they come to the client before training.

One worker holds them in training, so they have to fit into one process anyway; and a task that
computes a collection would wait for a place among tasks that wait for it.
"""

import numpy as np
from sklearn.utils.validation import column_or_1d

from algorithms.distributed.blocks import is_collection
from algorithms.distributed.worker_check import settle
from algorithms.estimator import eval_sets


def read_tables(tables, weights):
    """Return the list of pairs that ``eval_set`` stands for: it may be one, or None.

    Raises
    ------
    TypeError
        Where tables are no pairs, or weights no list.
    ValueError
        Where there are not as many weights as tables.
    """
    tables = eval_sets.read_tables(tables, may_be_one=True)
    eval_sets.read_weights(weights, len(tables))
    return tables


def bring_tables(client, tables, weights, workers):
    """Return tables and their weights with arrays and frames in place of Dask's collections.

    Parameters
    ----------
    tables : list of pairs (X, y)
    weights : list of arrays or None, one a table, or None
    workers : addresses that may compute collections, or None for all
    """
    flat = [one for table in tables for one in table] + list(weights or ())
    lazy = {id(one): one for one in flat if is_collection(one)}
    where = {"workers": workers, "allow_other_workers": False}
    futures = [client.compute(one, **where) for one in lazy.values()]
    settle(client, futures, workers)
    found = dict(zip(lazy, client.gather(futures), strict=True))

    def column(one):
        return column_or_1d(np.asarray(found[id(one)])) if id(one) in found else one

    tables = [(found.get(id(X), X), column(y)) for X, y in tables]
    return tables, None if weights is None else [column(one) for one in weights]
