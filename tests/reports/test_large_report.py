"""Size of a report of two thousand outcomes: printed and limited.

python -m pytest -s -m slow tests/reports/test_large_report.py
"""

import time

import pytest

from reports import build_report

LARGEST = 8_000_000  # bytes


@pytest.mark.slow
@pytest.mark.parametrize(("datasets", "splits"), [(34, 2), (60, 1)])
def test_large_report_stays_small(views, sections, datasets, splits) -> None:
    view = views["large"](datasets, splits)
    began, worked = time.perf_counter(), time.process_time()
    page = build_report(view, sections)
    took, cpu = time.perf_counter() - began, time.process_time() - worked
    size = len(page.encode())
    outcomes = sum(len(cell.outcomes) for cell in view.cells)
    print(f"\n{outcomes} outcomes, 30 algorithms × {datasets} datasets: "  # noqa: T201 - asked for
          f"{size / 1e6:.1f} MB in {took:.1f} s ({cpu:.1f} s of CPU)")  # fmt: skip
    assert size < LARGEST
    assert "This section failed" not in page
