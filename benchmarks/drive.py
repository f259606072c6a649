"""Calls of an algorithm through its plugin's adapter, as the harness makes them."""

import contextlib
import os

import numpy as np

from . import data

TREES = 50  # keeps a fit well under a second for any default


class Suite:
    """Base class of all cases. ``version`` is raised when the meaning of a measurement changes.

    Two rounds of 5 to 10 samples: asv's test of significance is blind at six samples in all, and
    too weak below. A positive ``warmup_time`` means one call that does not count.
    """

    version = "1"
    timeout = 300
    rounds = 2
    repeat = (5, 10, 30.0)
    warmup_time = 0.1

    def setup_cache(self):
        return make_cache(os.curdir)

    setup_cache.timeout = 1800


def make_cache(folder):
    """Write the data, compile the kernels, and return the facts of the tables."""
    from harness.plugins.registry import load_registry

    registry = load_registry(strangers=False)
    names = registry.names("algorithm")  # at the commit under test
    plugins = {name: registry.entry("algorithm", name).plugin for name in names}
    cache = {"datasets": data.write(folder), "plugins": plugins}
    for algorithm in names:
        if registry.algorithm(algorithm).origin == "scratch":
            for dataset in cache["datasets"]:
                # A failure here is repeated and reported by its own case.
                with contextlib.suppress(Exception):
                    warm(cache, algorithm, dataset)
    return cache


def new_adapter(cache, algorithm, dataset):
    """Return an unfitted adapter; skip (n/a) an algorithm that the commit lacks."""
    if algorithm not in cache["plugins"]:
        raise NotImplementedError(f"no {algorithm} at this commit")
    # Only the plugin contract is used: these lines run with every commit, old and new.
    from harness import Spec, Task
    from harness.plugins.registry import load_registry

    declared = load_registry(modules=[cache["plugins"][algorithm]]).algorithm(algorithm)
    classes = cache["datasets"][dataset]["classes"]
    tasks = {0: Task.REGRESSION, 2: Task.BINARY}
    task = tasks.get(classes, Task.MULTICLASS)
    if task not in declared.tasks:
        raise NotImplementedError(f"{algorithm} is not for {task}")
    params = dict(declared.params)
    if "trees" in declared.capacity:
        params[declared.capacity["trees"].name] = TREES
    return declared.adapter(Spec(task, params, seed=0, threads=1, n_classes=classes))


def warm(cache, algorithm, dataset):
    """Compile every kernel, so that compilation counts in no case's time or memory."""
    adapter = new_adapter(cache, algorithm, dataset)
    X, y = (np.array(part[:200]) for part in data.read(dataset, "train"))
    adapter.fit(adapter.prepare(X, y, None))
    adapter.predict(X[:10])


def loss(output, y, classes):
    """Return log loss, or RMSE in standard deviations of y; lower is better, as asv expects."""
    from sklearn.metrics import log_loss, root_mean_squared_error

    if classes:
        output = output / output.sum(axis=1, keepdims=True)  # float32 sums differ slightly from 1
        return log_loss(y, output, labels=range(classes))
    return root_mean_squared_error(y, output) / np.std(y)
