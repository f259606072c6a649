"""Tests that Ctrl-C stops a fit or a prediction at once, with one and several threads."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from algorithms.runtime import interrupt_flag
from algorithms.runtime.interrupts import NEVER
from algorithms.runtime.threads import Workers

MAX_SECONDS = 2.0  # half a second on an idle machine; tests run beside others
SCRIPT = """
import sys, warnings
import numpy as np
import algorithms
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=({rows}, 20)).astype(np.float32)
y = (X[:, 0] * X[:, 1] + rng.normal(size=len(X)) > 0).astype(int)
make = lambda n: algorithms.{make}
model = make(2).fit(X[:2000], y[:2000])  # compiles
if {predicts}:
    model.predict(X[:2000])
    task = lambda: [model.predict(X) for _ in range(1000)]
else:
    task = lambda: make(100_000).fit(X, y)
print("begins", flush=True)
try:
    task()
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("done", flush=True)
"""
FITS = {
    "tree": "DecisionTreeClassifier(max_features=None)",
    "tree in threads": "DecisionTreeClassifier(n_jobs=2)",
    "tree as scikit-learn": "DecisionTreeClassifier(parity='scikit-learn')",
    "forest": "RandomForestClassifier(n_estimators=n, n_jobs=2)",
    "bagging": "BaggingClassifier(n_estimators=n, n_jobs=2)",
    "AdaBoost": "AdaBoostClassifier(n_estimators=n, n_jobs=2)",
    "gradient boosting": "GradientBoostingClassifier(n_estimators=n, n_jobs=2)",
    "histograms": "HistogramBoostingClassifier(n_estimators=n, num_leaves=1000, n_jobs=2)",
    "histograms as LightGBM": "HistogramBoostingClassifier(n_estimators=n, parity='lightgbm')",
    "histograms as scikit-learn": (
        "HistogramBoostingClassifier(n_estimators=n, parity='scikit-learn')"
    ),
    "Newton": "NewtonBoostingClassifier(n_estimators=n, n_jobs=2)",
    "Newton, exact": "NewtonBoostingClassifier(n_estimators=n, tree_method='exact', n_jobs=2)",
    "Symmetric": "SymmetricBoostingClassifier(n_estimators=n, n_jobs=2)",
    "Newton as XGBoost": "NewtonBoostingClassifier(n_estimators=n, parity='xgboost')",
}
PREDICTIONS = {
    "forest": "RandomForestClassifier(n_estimators=400, n_jobs=2)",
    "histograms": "HistogramBoostingClassifier(n_estimators=400, n_jobs=2)",
}


def seconds_to_answer(make, *, predicts):
    """Return the seconds until a process ends after SIGINT, sent one second after its start."""
    script = SCRIPT.format(rows=400_000, make=make, predicts=predicts)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begins\n"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        sent = time.perf_counter()
        assert process.stdout.readline() == "interrupted\n"
        return time.perf_counter() - sent
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("make", FITS.values(), ids=FITS)
def test_fit_stops_at_once(make):
    assert seconds_to_answer(make, predicts=False) < MAX_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("make", PREDICTIONS.values(), ids=PREDICTIONS)
def test_prediction_stops_at_once(make):
    assert seconds_to_answer(make, predicts=True) < MAX_SECONDS


def test_forest_in_two_threads_stops_at_once():
    assert seconds_to_answer(FITS["forest"], predicts=False) < MAX_SECONDS


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_helper_threads_share_the_flag_of_the_main_thread():
    begun = threading.Event()

    def task(workers, i):
        if i == 0:
            begun.wait()
            interrupt()
            time.sleep(60)
        begun.set()
        while True:  # ends by the flag alone
            workers.check()
            time.sleep(0.001)

    def run():
        with Workers(2) as workers:
            assert interrupt_flag.interrupt_flag() is not NEVER
            workers.each(lambda i: task(workers, i), [0, 1])

    with pytest.raises(KeyboardInterrupt):
        run()
    assert interrupt_flag.interrupt_flag() is NEVER


def test_no_task_starts_after_an_interrupt():
    done = []

    def task(i):
        done.append(i)
        if len(done) == 4:
            interrupt()
            time.sleep(60)

    with pytest.raises(KeyboardInterrupt), Workers(1) as workers:
        workers.each(task, list(range(1000)))
    assert len(done) == 4


def test_flag_is_cleared_before_reuse():
    def run():
        with interrupt_flag.watch_interrupts():
            interrupt()
            time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        run()
    with interrupt_flag.watch_interrupts():
        interrupt_flag.check_interrupt(interrupt_flag.interrupt_flag())


def test_other_threads_of_a_program_are_not_interrupted():
    results = []

    def work():
        with Workers(1) as workers:
            results.append(interrupt_flag.interrupt_flag())
            workers.check()

    with interrupt_flag.watch_interrupts():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert results == [NEVER]


def test_user_signal_handler_does_not_interrupt_kernels():
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(1))
    try:
        with interrupt_flag.watch_interrupts():
            interrupt()
            time.sleep(0.01)
            interrupt_flag.check_interrupt(interrupt_flag.interrupt_flag())
    finally:
        signal.signal(signal.SIGINT, before)
    assert came == [1]


def test_other_signals_do_not_interrupt_and_reach_their_handlers():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    other = signal.set_wakeup_fd(writer)
    try:
        with interrupt_flag.watch_interrupts():
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.01)
            assert interrupt_flag.interrupt_flag()[0] == signal.SIGUSR1
            interrupt_flag.check_interrupt(interrupt_flag.interrupt_flag())
        assert os.read(reader, 8) == bytes([signal.SIGUSR1])
        assert signal.set_wakeup_fd(other) == writer
    finally:
        signal.signal(signal.SIGUSR1, before)
        os.close(reader)
        os.close(writer)


def test_forked_process_has_its_own_flag():
    with interrupt_flag.watch_interrupts():
        child = os.fork()
        if child == 0:
            is_alone = interrupt_flag.interrupt_flag() is NEVER and signal.set_wakeup_fd(-1) == -1
            os._exit(0 if is_alone else 1)
        _, status = os.waitpid(child, 0)
    assert status == 0
    assert np.array_equal(NEVER, [0])
