"""Objects to fill a store with, and actions on a store in another process.

Run as a script, it is such a process: ``python store_kit.py COMMAND FOLDER [NUMBER]``.
"""

import json
import os
import random
import resource
import sqlite3
import sys
from pathlib import Path

from harness.core.errors import StoreError
from harness.core.model import (
    Block,
    DatasetRef,
    Duel,
    DuelOutcome,
    Environment,
    Failure,
    Job,
    Outcome,
    Sample,
    Split,
    Status,
    Task,
    Trial,
)
from harness.core.outcome_files import outcome_path, write_outcome
from harness.store import Store, insert

SAMPLES = tuple(Sample(phase, 0.25, 0.5, 4096) for phase in ("import", "fit", "predict"))
INGREDIENTS = {
    "plugin": "algorithms.bagging",
    "code": "a1b2c3d4e5f60718",
    "versions": {"numba": "0.68.0", "numpy": "2.4.0"},
    "dataset": "d" * 64,
    "measurement": 1,
}


def trial(number=0, **changes):
    cell = f"{number:016x}"
    fields = {
        "algorithm": "bagging",
        "params": {"n_estimators": 10},
        "preparation": "native",
        "dataset": "wine",
        "split": Split(fold=number % 5),
        "seed": number,
        "threads": 1,
        "cell": cell,
        "id": f"f{number:015x}",
        "task": Task.MULTICLASS,
        "ingredients": {"cell": cell, **INGREDIENTS},
    }
    return Trial(**{**fields, **changes})


def outcome(number=0, status=Status.DONE, *, of=None, arrays=None, **changes):
    failure = None
    if status not in {Status.DONE, Status.SKIPPED}:
        failure = Failure("ValueError", "no such thing", "Traceback …")
    fields = {
        "samples": SAMPLES,
        "failure": failure,
        "arrays": arrays or {},
        "facts": {"rows": 178, "versions": {"numba": "0.68.0"}},
        "started": "2026-11-21T09:42:00.000+00:00",
        "ended": "2026-11-21T09:42:01.500+00:00",
    }
    return Outcome(of or trial(number), status, **{**fields, **changes})


def duel_outcome(number=0, status=Status.DONE):
    sides = [
        Job(name, f"algorithms.{name}", DatasetRef("wine", "d" * 64), (trial(number, timed=True),))
        for name in ("bagging", "forest")
    ]
    pair = (Sample("fit", 1.5, 1.25, 4096), Sample("fit", 1.75, 1.5, 4096))
    blocks = tuple(
        Block(launch, index, "fit", ("ABBA", "BAAB")[index % 2], pair, pair[::-1])
        for launch in range(2)
        for index in range(2)
    )
    failure = None if status is Status.DONE else Failure("SIGSEGV", "the process died")
    return DuelOutcome(
        Duel(*sides, id=f"d{number:015x}"), status, blocks, failure, facts={"load": 0.5}
    )


def begin(store, name="quick"):
    return store.begin_run(name, {"name": name}, "c0ffee", {"cpu": "one"}, [Environment()])


def record_all(store, run, outcomes):
    """Store many outcomes without arrays in one transaction, which is fast."""
    with store.writing() as database:
        for result in outcomes:
            insert.trial_outcome(database, store._key(run), result, {})


def finish_in(folder, number, arrays=2):
    """Write the arrays, then the outcome file that names them, like a worker."""
    names = {}
    for index in range(arrays):
        names[f"array{index}"] = f"{number}-{index}.npz"
        content = random.Random(f"{number} {index}").randbytes(3000)
        (folder / names[f"array{index}"]).write_bytes(content)
    result = outcome(number, arrays=names)
    path = outcome_path(folder, result.trial.id)
    write_outcome(path, result)
    return result, path


# ------------------------------------------------------------------ another process


def fill(folder, number):
    """Run the first ``number`` unknown trials; print each stored trial."""
    with Store.open(folder, write=True) as store:
        run = begin(store)
        trials = [trial(i) for i in range(number)]
        store.plan_trials(run, trials)
        known = store.known([t.id for t in trials])
        store.attach(run, *known)
        work = store.workdir(run)
        for i in (t.seed for t in trials if t.id not in known):
            result, path = finish_in(work, i)
            store.record(run, result, source=path)
            print_line(result.trial.id)
        store.finish_run(run, "done")


def hold(folder, _):
    """Hold the writer's lock until the parent continues or kills this process."""
    with Store.open(folder, write=True) as store:
        begin(store)
        print_line("held")
        sys.stdin.readline()


def overflow(folder, limit):
    """Record onto a full disk; ``limit`` simulates one."""
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    stored = []
    try:
        with Store.open(folder, write=True) as store:
            run = begin(store)
            for i in range(10_000):
                result, path = finish_in(store.workdir(run), i)
                store.record(run, result, source=path)
                stored.append(result.trial.id)
    except StoreError as error:
        message = str(error)
    except OSError as error:  # the worker's own file did not fit: the store has to be right still
        message = f"worker: {error}"
    with Store.open(folder) as store:
        result = [o.trial.id for o, _ in store.outcomes()]
    with sqlite3.connect(f"file:{folder}/harness.db?mode=ro", uri=True) as database:
        whole = database.execute("PRAGMA integrity_check").fetchone()[0]
    print_line(json.dumps({"message": message, "stored": stored, "found": result, "whole": whole}))


def look(folder, _):
    """Read a store, then try to write to it."""
    result, message = None, ""
    try:
        with Store.open(folder) as store:
            result = len(store.outcomes())
        Store.open(folder, write=True).close()
    except StoreError as error:
        message = str(error)
    print_line(json.dumps({"message": message, "found": result}))


def die_writing(folder, _):
    """Be killed within a transaction that has already reached the file."""
    database = sqlite3.connect(Path(folder) / "harness.db", isolation_level=None)
    database.execute("PRAGMA cache_size = 1")
    database.execute("BEGIN IMMEDIATE")
    database.execute("UPDATE outcome SET facts = '{\"half\":true}', reason = 'half'")
    database.execute("UPDATE trial SET algorithm = 'half'")
    os.kill(os.getpid(), 9)


def print_line(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    command, place, *rest = sys.argv[1:]
    commands = {f.__name__: f for f in (fill, hold, overflow, look, die_writing)}
    commands[command](place, int(rest[0]) if rest else 0)
