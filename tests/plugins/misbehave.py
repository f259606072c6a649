"""Algorithms that fail in every way a worker must survive, and a tiny dataset for them.

``params`` name the actions of each phase: ``{"fit": "flood+segfault"}`` runs two in ``fit``.
"""

import contextlib
import ctypes
import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from harness import Algorithm, Dataset, Spec, Table, Task, hookimpl
from harness.trees.ensemble import Tree, TreeEnsemble

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


def segfault(_):
    ctypes.string_at(0)


def flood(params):
    line = "all work and no play makes a dull plugin\n"
    for _ in range(params["megabytes"] * 2**20 // len(line)):
        sys.stdout.write(line)
    sys.stdout.flush()


def grow(params):
    held = []
    for _ in range(params["megabytes"]):
        held.append(np.ones(2**20 // 8))
        time.sleep(0.0005)
    time.sleep(params.get("hold", 0.0))


def brood(params):
    """Fork children that share this process's memory, and wait for them."""
    held = np.ones(params["megabytes"] * 2**20 // 8)
    children = []
    for _ in range(params["children"]):
        if not (pid := os.fork()):
            time.sleep(params["seconds"])
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    assert held[-1] == 1


def hang_with_child(params):
    """Write the process ids of two children into a file, and never return."""
    usual = subprocess.Popen(SLEEPER)
    pids = [os.getpid(), usual.pid]
    if params.get("runaway"):
        pids.append(subprocess.Popen(SLEEPER, start_new_session=True).pid)
    part = Path(params["pids"] + ".part")
    part.write_text(" ".join(map(str, pids)))
    part.replace(params["pids"])
    time.sleep(600)


def daemonize(params):
    """Start a daemon, whose parent ends at once, and wait until it has written its process id."""
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.closerange(0, 256)
            part = Path(params["daemon"] + ".part")
            part.write_text(str(os.getpid()))
            part.replace(params["daemon"])
            if params.get("program"):
                os.execv(SLEEPER[0], SLEEPER)
            time.sleep(600)
        os._exit(0)
    while not Path(params["daemon"]).exists():
        time.sleep(0.01)


def note_pid(params):
    with Path(params["pids"]).open("a") as file:
        file.write(f"{os.getpid()} ")


def draw(params):
    """Draw from the global random generators."""
    with Path(params["draws"]).open("a") as file:
        file.write(f"{random.random()} {np.random.random()}\n")  # noqa: NPY002


def meddle(_):
    """Set more threads than the spec allows."""
    import threadpoolctl

    threadpoolctl.threadpool_limits(3)


def once(params):
    """Exit if the mark does not exist yet; the same trial succeeds the second time."""
    if not Path(params["mark"]).exists():
        Path(params["mark"]).touch()
        os._exit(9)


def scribble(_):
    """Write to every descriptor that may be the reply channel."""
    for fd in range(3, 40):
        with contextlib.suppress(OSError):
            os.write(fd, b"not a reply\n")
    time.sleep(0.2)


def close_all(_):
    os.closerange(0, 256)


def raise_error(_):
    raise ValueError("the plugin's own error: é \ud800 <script>")


def long_error(_):
    raise ValueError("the beginning" + 20_000 * "." + "the end")


def compile_slowly(params):
    """Compile with numba for at least the given seconds."""
    import numba
    from numba.core import event

    @numba.njit
    def double(x):
        return 2 * x

    with event.trigger_event("numba:compile", {}):
        double(1)
        time.sleep(params["compiling"])


DEEDS = {
    "nothing": lambda _: None,
    "segfault": segfault,
    "exit": lambda _: os._exit(7),
    "sys_exit": lambda _: sys.exit("enough"),
    "interrupt": lambda _: signal.raise_signal(signal.SIGINT),
    "raise": raise_error,
    "long_error": long_error,
    "compile": compile_slowly,
    "memory_error": lambda _: np.ones(2**50),
    "sleep": lambda params: time.sleep(params["seconds"]),
    "hang": hang_with_child,
    "daemonize": daemonize,
    "brood": brood,
    "grow": grow,
    "flood": flood,
    "scribble": scribble,
    "close_all": close_all,
    "kill_self": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "kill_group": lambda _: os.killpg(0, signal.SIGKILL),
    "stdin": lambda _: sys.stdin.read(),
    "once": once,
    "draw": draw,
    "meddle": meddle,
    "note_pid": note_pid,
    "work": lambda params: sum(range(params["loops"])),
    "print": lambda _: sys.stderr.write("a word from the plugin\n"),
}

BAD_OUTPUTS = {
    "nan": lambda n, k: np.full((n, k), np.nan),
    "short": lambda n, k: np.full((n - 1, k), 1 / k),
    "flat": lambda n, k: np.zeros(n),
    "sums": lambda n, k: np.full((n, k), 0.9),
    "negative": lambda n, k: np.tile([1.5, -0.5], (n, 1)),
    "objects": lambda n, k: np.full((n, k), "x", dtype=object),
    "integers": lambda n, k: np.zeros((n, k), dtype=np.int64),
    "float32": lambda n, k: np.full((n, k), 1 / k, dtype=np.float32),
}


class Misbehaving:
    def __init__(self, spec: Spec):
        self.spec = spec
        self.do("make")

    def do(self, phase):
        for deed in self.spec.params.get(phase, "nothing").split("+"):
            DEEDS[deed](self.spec.params)

    def prepare(self, X, y, weight):
        self.do("prepare")
        return y, np.ones(self.spec.params.get("native_megabytes", 0) * 2**20 // 8)

    def fit(self, native):
        self.do("fit")
        self.native = native  # a model may keep its training data
        self.shares = np.bincount(native[0], minlength=self.spec.n_classes) / len(native[0])

    def predict(self, X):
        expected = self.spec.params.get("predict", "nothing")
        if expected in BAD_OUTPUTS:
            return BAD_OUTPUTS[expected](len(X), self.spec.n_classes)
        self.do("predict")
        return np.tile(self.shares, (len(X), 1))

    def predict_one(self, x):
        return self.predict(x)

    def export_trees(self):
        if self.spec.params.get("export") == "raise":
            raise RuntimeError("no tree today")
        none = np.array([-1], dtype=np.int32)
        leaf = Tree(none, np.zeros(1), none, none, self.shares[None, :])
        return TreeEnsemble.join([leaf], n_features=2)

    def staged(self, X):
        for _ in range(self.spec.params.get("stages", 3)):
            yield self.predict(X)


def tiny(n=40, **_):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    notes = ("made for tests",)
    return Table(X, np.arange(n) % 2, ("no", "yes"), test_rows=np.arange(n) % 5 == 0, notes=notes)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


@hookimpl
def register_algorithms(register):
    register(Algorithm("misbehave", Misbehaving, frozenset({Task.BINARY}), libraries=("numpy",)))


@hookimpl
def register_datasets(register):
    for name in ("tiny", "tiny2"):
        register(
            Dataset(name, Task.BINARY, tiny, digest(name), 40, 2, n_classes=2, given_test=True)
        )
