"""Fake runs: outcomes and arrays made without a worker, with the interface of a store."""

import dataclasses
import hashlib

import numpy as np

from harness.analysis.build_view import view_run
from harness.core.errors import StoreError
from harness.core.model import Outcome, Sample, Split, Status, Task, Trial
from harness.core.outcome_files import write_arrays
from harness.store import Store

FOLDS = 5
DECLARED = {
    "algorithms": {
        "ours": {"origin": "scratch", "reference": "theirs", "summary": "a tree"},
        "theirs": {"origin": "reference", "reference": None},
        "weak": {"origin": "reference", "reference": None},
    },
    "datasets": {"blobs": {"task": "binary"}, "line": {"task": "regression"}},
    "pairs": [["weak", "theirs"]],
    "margin": 0.02,
}


def trial(algorithm, dataset, fold, seed=0, task=Task.BINARY, **fields):
    split = fields.pop("split", Split(folds=FOLDS, fold=fold))
    params = fields.pop("params", {})
    preparation = fields.pop("preparation", "native")
    name = "-".join([algorithm, dataset, split.label, str(seed), str(params), preparation])
    return Trial(algorithm, params, preparation, dataset, split, seed, 1, name, name, task)


class FakeRun:
    """A run with made-up outcomes and the read interface of `Store`."""

    def __init__(self, declared=DECLARED):
        self.config = {"declared": declared}
        self.trial_outcomes = []
        self.duel_outcomes = []
        self.arrays = {}

    def run(self, run_id):
        return {"id": run_id, "name": "test", "config": self.config}

    def outcomes(self, run_id):
        return [(outcome, False) for outcome in self.trial_outcomes]

    def duels(self, run_id):
        return [(outcome, False) for outcome in self.duel_outcomes]

    def parities(self, run_id):
        return []

    def events(self, run_id):
        return []

    def artifact(self, sha256):
        if sha256 not in self.arrays:
            raise StoreError(f"the arrays {sha256} are missing")
        return self.arrays[sha256]

    def view(self, registry):
        return view_run(self, "latest", registry)

    def classify(self, algorithm, dataset="blobs", sharpness=2.0, seed=0, n=200, **fields):
        """Add one trial a fold; larger ``sharpness`` gives more confident, correct predictions."""
        for fold in range(FOLDS):
            rng = np.random.default_rng(fold)
            y = (rng.random(n) < 0.4).astype(np.int64)
            signal = (2 * y - 1) + rng.normal(0, 1, n)
            noise = np.random.default_rng([seed, fold, sum(map(ord, algorithm))])
            odds = sharpness * signal + noise.normal(0, fields.get("jitter", 0.0), n)
            p = 1 / (1 + np.exp(-odds))
            arrays = {"output": np.stack([1 - p, p], axis=1), "y": y, "scale": np.float64(1)}
            facts = {"train_rows": 4 * n, "test_rows": n, "train_prior": [0.6, 0.4]}
            self.add(
                trial(algorithm, dataset, fold, seed, **fields.get("trial", {})), arrays, facts
            )

    def regress(self, algorithm, noise, dataset="line", **facts):
        for fold in range(FOLDS):
            y = np.random.default_rng(fold).normal(3, 2, 100)
            output = y + np.random.default_rng(fold + 10).normal(0, noise, 100)
            arrays = {"output": output, "y": y, "scale": np.float64(2.0)}
            self.add(trial(algorithm, dataset, fold, task=Task.REGRESSION), arrays, facts)

    def add(self, the_trial, arrays=None, facts=None, **fields):
        digests = {}
        if arrays is not None:
            content = b"".join(arrays[name].tobytes() for name in sorted(arrays))
            sha256 = hashlib.sha256(content).hexdigest()
            self.arrays[sha256] = arrays
            digests = {"predictions": sha256}
        samples = (Sample("fit", 1.0, 1.0, 1000, cold=True), Sample("fit", 0.5, 0.5, 2000))
        status = fields.pop("status", Status.DONE)
        self.trial_outcomes.append(
            Outcome(the_trial, status, samples, arrays=digests, facts=facts or {}, **fields)
        )


def store_fake_run(fake, folder):
    """Write a fake run into a real store and return the id of the run."""
    with Store.open(folder / "results", write=True) as store:
        run = store.begin_run("test", fake.config, "hash", machine={})
        store.plan_trials(run, [o.trial for o in fake.trial_outcomes])
        for number, outcome in enumerate(fake.trial_outcomes):
            path = folder / f"{number}.npz"
            write_arrays(path, fake.arrays[outcome.arrays["predictions"]])
            store.record(run, dataclasses.replace(outcome, arrays={"predictions": str(path)}))
        store.finish_run(run, "done")
    return run
