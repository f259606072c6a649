"""Check that an algorithm does not modify its inputs, for each kind of table it accepts."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from harness.conformance.findings import contract_check, require
from harness.conformance.kinds import MIXES
from harness.conformance.subject import N_TRAIN, NO_KINDS, Subject, make_table, stages
from harness.core.model import Accepts


@contract_check("inputs are not modified")
def no_mutation(subject: Subject) -> None:
    """Compare X, y and the weights before and after every call that gets them."""
    for kinds in native_kinds(subject.algorithm.accepts):
        _check_unchanged(subject, kinds)


def native_kinds(accepts: Accepts) -> list[Mapping[str, bool]]:
    """Return the kinds of tables that an algorithm accepts natively, plain tables first.

    Other tables are imputed or encoded first, which gives plain tables.
    """
    mixes = [mix for mix in MIXES if all(getattr(accepts, kind) for kind in mix)]
    sparse = [{"sparse": True}] if accepts.sparse else []
    return [NO_KINDS, *mixes, *sparse]


def _check_unchanged(subject: Subject, kinds: Mapping[str, bool]) -> None:
    """Call all methods of one adapter, each on a fresh copy of its input.

    Fresh copies are needed because writing the same values twice (an imputation) shows only once.
    """
    given = subject.given(make_table(subject.task, **kinds), kinds=kinds)
    weight = np.linspace(0.5, 2.5, N_TRAIN)  # unequal, and their mean is not 1, to detect scaling
    now = {
        "X of training": given.train,
        "y": given.y,
        "weight": weight,
        "X of predict": given.test,
        "X of predict_one": given.one_by_one(1)[0],
        "X of staged": copy.deepcopy(given.test),
    }
    before = copy.deepcopy(now)
    adapter = subject.algorithm.adapter(given.spec)
    takes = weight if subject.algorithm.accepts.weights else None
    adapter.fit(adapter.prepare(given.train, given.y, takes))
    adapter.predict(now["X of predict"])
    adapter.predict_one(now["X of predict_one"])
    stages(adapter, now["X of staged"])
    where = f", with {' and '.join(kinds)} values," if kinds else ""
    for name, value in now.items():
        require(_same(value, before[name]), f"{name}{where} was modified")


def _same(now: Any, before: Any) -> bool:
    """Return whether all values and indices are the same; NaN equals NaN."""
    if isinstance(now, pd.DataFrame):
        return now.equals(before)
    if issparse(now):
        parts = ("data", "indices", "indptr")
        return bool(now.shape == before.shape) and all(
            np.array_equal(getattr(now, part), getattr(before, part), equal_nan=True)
            for part in parts
        )
    return np.array_equal(now, before, equal_nan=True)
