import gc
import time

import numpy as np
import pytest

from harness.core import phase_timer
from harness.core.phase_timer import Meter


def touch(mebibytes):
    return np.ones(mebibytes * 2**17).sum()


def hold(mebibytes):
    held = np.ones(mebibytes * 2**17)
    time.sleep(0.3)  # who samples every 10 ms looks meanwhile, on a busy machine too
    return held.sum()


@pytest.mark.parametrize("kernel_peak", [True, False])
def test_peak_of_a_phase_starts_from_the_warm_process_and_is_reset(kernel_peak):
    meter = Meter(kernel_peak=kernel_peak)
    if kernel_peak and meter.approximate:
        pytest.skip("this kernel does not let VmHWM be reset")

    large_peak = meter.take("fit", lambda: hold(100)).peak
    small_peak = meter.take("predict", lambda: hold(10)).peak
    assert 90 * 2**20 < large_peak < 130 * 2**20
    assert small_peak < 40 * 2**20


def test_leftover_memory_of_a_phase_counts_later_until_the_meter_is_warmed():
    meter = Meter()
    held = []
    meter.take("native", lambda: held.append(np.ones(50 * 2**17)))
    assert meter.take("fit", lambda: None).peak > 45 * 2**20
    meter.warm()
    assert meter.take("fit", lambda: None).peak < 10 * 2**20


def test_cpu_time_covers_the_process_and_excludes_sleep():
    meter = Meter()
    slept = meter.take("sleep", lambda: time.sleep(0.05))
    worked = meter.take("work", lambda: [touch(8) for _ in range(5)])
    assert slept.wall >= 0.05
    assert slept.cpu < slept.wall
    assert worked.cpu > 0


def test_first_sample_of_a_phase_is_cold():
    meter = Meter()
    colds = [meter.take(name, lambda: None).cold for name in ("fit", "fit", "predict", "fit")]
    assert colds == [True, False, True, False]


def test_garbage_collector_is_off_inside_and_restored_outside():
    meter = Meter()
    assert gc.isenabled()
    seen = []
    meter.take("fit", lambda: seen.append(gc.isenabled()))
    assert seen == [False]
    assert gc.isenabled()


def test_raising_phase_is_measured_and_the_collector_restored():
    meter = Meter()
    with pytest.raises(ZeroDivisionError), meter.phase("fit"):
        _ = 1 / 0
    assert meter.last.phase == "fit"
    assert gc.isenabled()


def test_sampled_peak_is_marked_approximate(monkeypatch, tmp_path):
    monkeypatch.setattr(phase_timer, "CLEAR_REFS", tmp_path / "absent" / "clear_refs")
    monkeypatch.setattr(phase_timer, "STATUS", tmp_path / "absent" / "status")
    meter = Meter()
    assert meter.approximate
    assert meter.take("fit", lambda: (touch(64), time.sleep(0.05))).peak >= 0
    assert phase_timer.resident_now() > 2**20
