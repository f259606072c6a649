"""Compile the kernels of an algorithm, run trials and print the kernels compiled meanwhile.

``python kernel_calls.py ALGORITHM DATASET...`` prints a JSON object of the kernels and signatures
that trials called and that ``compile_all`` did not compile. Kernels loaded from the cache count
like compiled ones, so the result does not depend on the cache.
"""

import importlib
import json
import sys

from numba.core.dispatcher import Dispatcher

from harness.config.experiment import parse_experiment
from harness.core.libraries import Surroundings
from harness.core.model import to_json
from harness.execution.compiling import kinds_of
from harness.planning.plan import make_plan
from harness.plugins.registry import load_registry
from harness.worker.state import WorkerState
from harness.worker.warm_up import compile_all


def signatures():
    """Return the compiled or loaded kernels, each with the types of its arguments."""
    modules = [module for name, module in sys.modules.items() if name.startswith("algorithms.")]
    results = [thing for module in modules for thing in vars(module).values()]
    kernels = {id(thing): thing for thing in results if isinstance(thing, Dispatcher)}.values()
    return {
        (f"{kernel.py_func.__module__}.{kernel.py_func.__name__}", str(types))
        for kernel in kernels
        for types in kernel.overloads
    }


def main(algorithm, *datasets):
    registry = load_registry(())
    keys = {"name": "x", "algorithms": [algorithm], "datasets": list(datasets)}
    keys["capacity"] = {"trees": 20}
    plan = make_plan(parse_experiment(keys, "x"), registry, Surroundings())
    jobs = [job for job in plan.jobs if job.algorithm == algorithm]
    bench = WorkerState()
    bench.hello(jobs[0].plugin, jobs[0].plugins, algorithm, 1)
    kinds = frozenset().union(*(kinds_of(registry, job.dataset.name) for job in jobs))
    params = {json.dumps(to_json(t.params)): t.params for job in jobs for t in job.trials}
    # Not by `WorkerState.warm`: it skips this stage where the package has the kernels.
    done = compile_all(registry.algorithm(algorithm), list(params.values()), 1, sorted(kinds))
    assert not done["notes"], done["notes"]
    warmed = signatures()
    assert warmed, "no kernel was found"
    missed = {}
    for job in jobs:
        bench.load(to_json(job.dataset))
        for trial in {json.dumps(to_json(t.params)): t for t in job.trials}.values():
            bench.prepare(to_json(trial))
            bench.fit()
            bench.predict()
            bench.predict_one(20)
            for name, types in sorted(signatures() - warmed):
                missed.setdefault(f"{name}{types}", job.dataset.name)
    sys.stdout.write(f"{json.dumps(missed)}\n")


if __name__ == "__main__":
    importlib.import_module("algorithms")
    main(*sys.argv[1:])
