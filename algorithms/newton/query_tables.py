"""Query groups and query weights of the tables that a ranker is trained and evaluated on."""

from dataclasses import dataclass

import numpy as np

from algorithms.compat.inputs import as_vector
from algorithms.gbdt.query_groups import group_from_qid, read_group


@dataclass(frozen=True)
class QueryTables:
    """The arguments of ``fit`` about queries.

    Parameters
    ----------
    group : array-like of int (n_queries,), number of rows of each query; or None
    qid : array-like (n_rows,), query of each row; or None
    eval_group, eval_qid : lists of them, an entry for each evaluation table; or None
    """

    group: object
    qid: object
    eval_group: list | None
    eval_qid: list | None

    def read_bounds(self, n_rows):
        """Return the first row of each training query and the number of rows, int64.

        Raises
        ------
        ValueError
            If neither or both arguments are given, or they do not fit the rows.
        """
        return read_bounds(self.group, self.qid, n_rows)

    def read_eval_bounds(self, tables):
        """Return the bounds of the queries of each evaluation table, list of int64 arrays.

        Parameters
        ----------
        tables : list of (X, y)

        Raises
        ------
        ValueError
            As in `read_bounds`.
        """
        given = {"eval_group": self.eval_group, "eval_qid": self.eval_qid}
        entries = [read_entries(name, one, len(tables)) for name, one in given.items()]
        pairs = zip(*entries, tables, strict=True)
        return [
            read_bounds(group, qid, len(y), f" of table {number} of eval_set", prefix="eval_")
            for number, (group, qid, (_, y)) in enumerate(pairs)
        ]


def read_entries(name, given, n_tables):
    """Return a list with an entry for each table of ``eval_set``; None if nothing is given.

    Raises
    ------
    ValueError
        If it has another length.
    """
    entries = [None] * n_tables if given is None else list(given)
    if len(entries) != n_tables:
        raise ValueError(f"{name} has {len(entries)} entries for {n_tables} tables of eval_set")
    return entries


def read_bounds(group, qid, n_rows, where="", prefix=""):
    """Return the first row of each query and the number of rows, int64.

    Parameters
    ----------
    group : array-like of int (n_queries,), or None
    qid : array-like (n_rows,), or None
    n_rows : int
    where, prefix : str, the table and the prefix of arguments for error messages

    Raises
    ------
    ValueError
        If neither or both are given, or they do not fit the rows.
    """
    names = f"`{prefix}group` or `{prefix}qid`"
    if group is None and qid is None:
        raise ValueError(f"Either {names} is required for ranking task{where}")
    if group is not None and qid is not None:
        raise ValueError(f"Either one of {names} should be specified{where}.")
    if group is not None:
        return read_group(as_vector(group), n_rows, f"{prefix}group")
    qid = np.asarray(as_vector(qid)).ravel()
    if len(qid) != n_rows:
        raise ValueError(f"{prefix}qid has {len(qid)} entries for {n_rows} rows{where}")
    return read_group(group_from_qid(qid, f"{prefix}qid"), n_rows)


def read_query_weight(given, bounds, name="sample_weight"):
    """Return the weights of queries, float64 (n_queries,), or None.

    Parameters
    ----------
    given : array-like (n_queries,), or None
    bounds : from `read_bounds`
    name : str, name of the argument for error messages

    Raises
    ------
    ValueError
        If their number is not that of the queries, or they are not finite and at least 0 with a
        positive sum.
    """
    if given is None:
        return None
    weight = np.asarray(as_vector(given), np.float64).ravel()
    n_queries = len(bounds) - 1
    if len(weight) != n_queries:
        raise ValueError(
            f"{name} has {len(weight)} entries for {n_queries} queries: it must hold a weight for "
            "each query, so its length must be equal to the number of query groups"
        )
    if not (np.isfinite(weight).all() and (weight >= 0.0).all() and weight.any()):
        raise ValueError(f"{name} must hold finite numbers that are at least 0, not all of them 0")
    return weight
