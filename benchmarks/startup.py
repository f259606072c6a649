"""Waiting time before the first result, in a new process for every sample."""

from .drive import Suite
from .names import ALGORITHMS


class Startup:
    version = "1"
    timeout = 120
    rounds = 2
    repeat = (5, 10, 20.0)
    number = 1

    def timeraw_import(self):
        return "import harness"

    def timeraw_help(self):
        return """
        import contextlib, io, sys
        from harness.__main__ import main
        sys.argv = ["harness", "--help"]
        with contextlib.redirect_stdout(io.StringIO()):
            main()
        """

    def timeraw_registry(self):
        return "from harness.plugins.registry import load_registry; load_registry(strangers=False)"


class VeryFirstFit:
    """Time from a new interpreter to a fitted model on a new machine: every kernel is compiled.

    Two represent all: one small tree, and the booster with the most kernels.
    """

    version = "1"
    timeout = 600
    rounds = 2
    repeat = (4, 5, 120.0)
    number = 1
    params = (["decision_tree", "histogram_boosting"],)
    param_names = ("algorithm",)

    def timeraw_fit(self, algorithm):
        return f"""
        import os, shutil, tempfile
        os.environ["HARNESS_KERNEL_CACHE"] = folder = tempfile.mkdtemp()
        os.environ["HARNESS_PACKAGED_KERNELS"] = "0"
        import numpy as np
        from harness import Spec, Task
        from harness.plugins.registry import load_registry
        declared = load_registry(modules=["algorithms." + {algorithm!r}]).algorithm({algorithm!r})
        X = np.random.default_rng(0).normal(size=(300, 4))
        model = declared.adapter(Spec(Task.REGRESSION, {{**declared.params}}))
        model.fit(model.prepare(X, X[:, 0], None))
        model.predict(X)
        shutil.rmtree(folder)
        """


class FirstFit(Suite):
    """Time from a new interpreter to a fitted model, with compiled kernels in the cache."""

    params = (ALGORITHMS,)
    param_names = ("algorithm",)
    number = 1

    def setup(self, cache, algorithm):
        if algorithm not in cache["plugins"]:
            raise NotImplementedError(f"no {algorithm} at this commit")

    def timeraw_fit(self, cache, algorithm):
        return f"""
        import numpy as np
        from harness import Spec, Task
        from harness.plugins.registry import load_registry
        declared = load_registry(modules=[{cache["plugins"][algorithm]!r}]).algorithm({algorithm!r})
        X, y = (np.load(f"diabetes-train-{{axis}}.npy") for axis in "Xy")
        task = Task.REGRESSION if Task.REGRESSION in declared.tasks else Task.RANKING
        y = y if task is Task.REGRESSION else y // 100
        model = declared.adapter(Spec(task, declared.params))
        model.fit(model.prepare(X, y, None))
        """
