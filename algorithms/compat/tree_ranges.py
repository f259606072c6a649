"""Extraction of a range of rounds from an ensemble."""

from dataclasses import replace

import numpy as np

from harness import TreeEnsemble


def take_rounds(ensemble, first, last):
    """Return the rounds ``first`` to ``last`` − 1; if ``first`` is not 0, the base is 0.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    first, last : int
    """
    k = ensemble.n_outputs
    trees = slice(first * k, last * k)
    n_trees = len(range(ensemble.n_trees)[trees])
    if n_trees == ensemble.n_trees:
        return ensemble
    base = ensemble.base if first == 0 else np.zeros_like(ensemble.base)
    if not n_trees:
        raise ValueError("there is no tree in this range of rounds")
    shorter = TreeEnsemble.join(
        [ensemble.tree(t) for t in range(ensemble.n_trees)[trees]],
        n_features=ensemble.n_features,
        base=base,
        weight=ensemble.weight[trees],
        output=ensemble.output[trees],
    )
    kept = (
        *("comparison", "combination", "against", "link", "temperature", "input_dtype"),
        *("zero_within", "sum_dtype", "base_first", "absent", "classes", "library", "version"),
        "cover_kind",
    )
    return replace(shorter, **{name: getattr(ensemble, name) for name in kept})
