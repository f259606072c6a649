"""Git repositories with planted faults: a plugin project, and a clone of this project."""

import subprocess
import textwrap

PLUGIN = textwrap.dedent(
    '''
    """Ridge regression by its normal equations, after a set piece of work."""

    import time

    import numpy as np

    from harness import Algorithm, Task, hookimpl

    NUMBERS = np.random.default_rng(0).normal(size=20_000)


    class Ridge:
        def __init__(self, spec):
            self.penalty = spec.params["penalty"]

        def prepare(self, X, y, weight):
            return np.asarray(X, dtype=np.float64), y

        def work(self, sorts=30):
            for _ in range(sorts):
                np.sort(NUMBERS)

        def fit(self, native):
            X, y = native
            began = time.thread_time()
            self.work()
            self.slow_down(time.thread_time() - began)
            self.center, self.base = X.mean(axis=0), y.mean()
            Z = X - self.center
            A = Z.T @ Z + self.penalty * np.eye(X.shape[1])
            self.weights = np.linalg.solve(A, Z.T @ (y - self.base))

        def slow_down(self, seconds):
            pass

        def predict(self, X):
            self.work(6)
            return (np.asarray(X, dtype=np.float64) - self.center) @ self.weights + self.base

        def predict_one(self, x):
            return self.predict(x)


    @hookimpl
    def register_algorithms(register):
        only = frozenset({Task.REGRESSION})
        register(Algorithm("ridge", Ridge, only, params={"penalty": 1.0}))
    '''
)
EXPERIMENT = textwrap.dedent(
    """
    name = "short"
    datasets = ["friedman1:rows=20000"]
    [splits]
    folds = 8
    [duels]
    datasets = ["friedman1:rows=2000"]
    launches = 24
    blocks = 8
    """
)
UNTIMED = EXPERIMENT.partition("[duels]")[0]  # faults other than speed are found within seconds
# fault → (old text, new text)
FAULTS = {
    "slowdown": (
        "def slow_down(self, seconds):\n        pass",
        """def slow_down(self, seconds):
        until = time.thread_time() + 0.15 * seconds
        while time.thread_time() < until:
            pass""",
    ),
    "accuracy": ("Z = X - self.center", "Z = (X - self.center) * (np.arange(X.shape[1]) > 0)"),
    "default": ('params={"penalty": 1.0}', 'params={"penalty": 1e5}'),
    "leak": ("X, y = native\n", "X, y = native\n        self.kept = X.copy()\n"),
    "hoard": (
        "self.work(6)\n",
        "self.work(6)\n        self.seen = np.repeat(np.asarray(X), 10, axis=0)\n",
    ),
    "crash": ("X, y = native\n", "raise RuntimeError('this was planted')\n"),
    "import": ("import time\n", "import time\n\nraise RuntimeError('this was planted')\n"),
    "comment": ("import time\n", "import time  # nothing else\n"),
}


def git(folder, *arguments):
    names = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    command = ["git", *names, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def new_project(folder, plugin=PLUGIN):
    """Make a repository with one commit on ``main`` and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "ridge.py").write_text(plugin)
    (folder / "short.toml").write_text(EXPERIMENT)
    (folder / "untimed.toml").write_text(UNTIMED)
    commit(folder, "the base")
    return folder


def commit(folder, message):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)


def plant(folder, fault):
    """Change the plugin in the working tree."""
    before, after = FAULTS[fault]
    text = (folder / "ridge.py").read_text()
    assert text.count(before) == 1
    (folder / "ridge.py").write_text(text.replace(before, after))


# What is added to a file of this repository. A fit goes on for 15 % of its time.
OWN = {
    "slow tree": (
        "algorithms/decision_tree.py",
        """

def _slowed(fit):
    import time

    def slower(self, X, y, sample_weight=None, check_input=True):
        began = time.perf_counter()
        fit(self, X, y, sample_weight, check_input)
        until = time.perf_counter() + 0.15 * (time.perf_counter() - began)
        while time.perf_counter() < until:
            pass
        return self

    return slower


BaseDecisionTree.fit = _slowed(BaseDecisionTree.fit)
""",
    ),
}
OWN_EXPERIMENT = textwrap.dedent(
    """
    name = "own"
    datasets = ["friedman1:rows=4000"]
    [splits]
    folds = 8
    [duels]
    datasets = ["friedman1:rows=4000"]
    launches = 24
    blocks = 3
    """
)


def clone_with(repository, folder, fault):
    """Clone a repository, plant a fault of `OWN` in its working tree, and return its folder."""
    git(repository, "clone", "--quiet", "--local", str(repository), str(folder))
    file, text = OWN[fault]
    with (folder / file).open("a") as source:
        source.write(text)
    (folder / "own.toml").write_text(OWN_EXPERIMENT)
    return folder
