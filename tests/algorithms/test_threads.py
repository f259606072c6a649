"""Tests of helper threads: work while spinning or sleeping, and reporting of errors."""

import threading
import time
import weakref

import numpy as np
import pytest

from algorithms.runtime import threads
from algorithms.runtime.threads import Workers


@pytest.fixture(params=[0, 10, 4000])
def set_spin_count(request, monkeypatch):
    """Set the spin count of threads, on a machine with enough processors."""
    monkeypatch.setattr(threads, "MAX_SPINS", request.param)
    monkeypatch.setattr(threads, "count_processors", lambda: 8)


@pytest.mark.usefixtures("set_spin_count")
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("pause", [0.0, 0.002])
def test_each_index_is_in_exactly_one_part(size, pause):
    with Workers(size) as workers:
        for count in (0, 1, 2, 7, 100):
            seen = np.zeros(count, int)

            def task(first, last, seen=seen):
                seen[first:last] += 1
                time.sleep(pause)

            workers.share(task, count)
            assert (seen == 1).all()
            time.sleep(pause)


@pytest.mark.usefixtures("set_spin_count")
def test_results_are_in_item_order():
    with Workers(3) as workers:
        for items in ([], [4], list(range(50))):
            assert workers.each(lambda item: -item, items) == [-item for item in items]


@pytest.mark.usefixtures("set_spin_count")
@pytest.mark.parametrize("part", [0, 1, 2])
def test_error_is_raised_when_all_parts_have_ended(part):
    ended = []

    def task(first, last):
        if first == part:
            raise ValueError(f"part {first}")
        time.sleep(0.005)
        ended.append(last)

    with Workers(3) as workers:
        with pytest.raises(ValueError, match=f"part {part}"):
            workers.share(task, 3)
        assert len(ended) == 2
        with pytest.raises(ZeroDivisionError):
            workers.each(lambda item: 1 // item, [1, 1, 0])
        assert workers.each(abs, [-1, 2]) == [1, 2]


def test_threads_end_with_the_block():
    before = set(threading.enumerate())
    with Workers(3) as workers:
        assert set(threading.enumerate()) == before  # threads start when first needed
        workers.share(lambda first, last: None, 3)
        assert len(set(threading.enumerate()) - before) == 2
    assert set(threading.enumerate()) == before


def test_threads_end_when_garbage_collected():
    before = set(threading.enumerate())
    workers = Workers(3)
    workers.share(lambda first, last: None, 3)
    helpers = set(threading.enumerate()) - before
    assert len(helpers) == 2
    del workers  # as after an interrupt between two lines
    for helper in helpers:
        helper.join(timeout=10)
        assert not helper.is_alive()


def test_arguments_are_released():
    class Large:
        pass

    def task(first, last, large):
        assert isinstance(large, Large)

    with Workers(2) as workers:
        large = Large()
        seen = weakref.ref(large)
        workers.share(lambda first, last, large=large: task(first, last, large), 2)
        del large
        for _ in range(100):
            if seen() is None:
                break
            time.sleep(0.01)
        assert seen() is None


def test_more_threads_than_processors_do_not_spin(monkeypatch):
    monkeypatch.setattr(threads, "count_processors", lambda: 2)
    monkeypatch.setattr(
        threads,
        "spin_until",
        lambda counters, index, target, max_spins: given.append(max_spins),
    )
    given = []
    for size, expected in ((2, {threads.MAX_SPINS}), (3, {0})):
        given.clear()
        with Workers(size) as workers:
            workers.share(lambda first, last: None, size)
        assert set(given) == expected


@pytest.mark.usefixtures("set_spin_count")
def test_helper_threads_spin_by_the_latest_setting():
    seen = [[], []]
    spin_until = threads.spin_until

    def wait_function(which):
        def wait(counters, index, target, max_spins):
            seen[which].append(threading.get_ident())
            spin_until(counters, index, target, max_spins)

        return wait

    first, second = ([wait_function(which), wait_function(which)] for which in (0, 1))
    with Workers(3) as workers:
        assert len(workers.set_wait_functions(first)) == 2
        workers.share(lambda first, last: None, 3)
        assert len(set(seen[0])) == 2
        workers.set_wait_functions(second)
        count = len(seen[0])
        assert workers.set_wait_functions(second) == workers.set_wait_functions(second)
        for _ in range(3):
            workers.share(lambda first, last: None, 3)
        assert len(seen[0]) == count
        assert len(set(seen[1])) == 2
