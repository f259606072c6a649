"""Ctrl-C during a fit or a prediction is answered at once, in one thread and in several."""

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

MOST_SECONDS = 2.0  # half a second on an idle machine; tests run beside others
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
    """Return how long a process takes to answer SIGINT, sent a second after it began."""
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
def test_a_fit_answers_at_once(make):
    assert seconds_to_answer(make, predicts=False) < MOST_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("make", PREDICTIONS.values(), ids=PREDICTIONS)
def test_a_prediction_answers_at_once(make):
    assert seconds_to_answer(make, predicts=True) < MOST_SECONDS


def test_a_forest_in_two_threads_answers_at_once():
    assert seconds_to_answer(FITS["forest"], predicts=False) < MOST_SECONDS


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_threads_that_work_for_the_main_thread_share_its_flag():
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


def test_no_task_begins_after_an_interrupt():
    done = []

    def task(i):
        done.append(i)
        if len(done) == 4:
            interrupt()
            time.sleep(60)

    with pytest.raises(KeyboardInterrupt), Workers(1) as workers:
        workers.each(task, list(range(1000)))
    assert len(done) == 4


def test_the_flag_is_cleared_before_it_is_used_again():
    def run():
        with interrupt_flag.watch_interrupts():
            interrupt()
            time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        run()
    with interrupt_flag.watch_interrupts():
        interrupt_flag.check_interrupt(interrupt_flag.interrupt_flag())


def test_other_threads_of_a_program_are_not_interrupted():
    found = []

    def work():
        with Workers(1) as workers:
            found.append(interrupt_flag.interrupt_flag())
            workers.check()

    with interrupt_flag.watch_interrupts():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [NEVER]


def test_a_handler_of_the_users_own_leaves_kernels_alone():
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


def test_signals_of_another_kind_interrupt_nothing_and_reach_who_waited_for_them():
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


def test_a_forked_process_has_a_flag_of_its_own():
    with interrupt_flag.watch_interrupts():
        child = os.fork()
        if child == 0:
            is_alone = interrupt_flag.interrupt_flag() is NEVER and signal.set_wakeup_fd(-1) == -1
            os._exit(0 if is_alone else 1)
        _, status = os.waitpid(child, 0)
    assert status == 0
    assert np.array_equal(NEVER, [0])
