"""Run of XGBoost's own tests on `algorithms.compat.xgboost`.

``LIBRARY_TESTS`` names a folder with a checkout of XGBoost's repository, ``xgboost``, at the tag of
the version that is installed; its tests are not ours to ship. A case counts where it creates an
object of a replaced class and the library itself passes it. scikit-learn's own checks of estimators
do not count. The failures must be exactly those that ``tests/helpers/xgboost_failures.py`` lists
with their reasons.
"""

import sys

import pytest
from library_suite import NEEDS_CHECKOUT, compare, run_suite
from xgboost_failures import FAILURES

FILES = {
    "native": ["test_basic", "test_callback", "test_training_continuation"],
    "estimators": [
        *("test_with_sklearn", "test_early_stopping", "test_eval_metrics"),
        *("test_with_pandas", "test_with_polars", "test_with_arrow"),
    ],
}
MIN_SHARE = {"native": 0.9, "estimators": 0.9}  # share of the cases that must pass
CHOSEN = "not test_estimator_reg"

pytestmark = NEEDS_CHECKOUT


@pytest.mark.parametrize("part", FILES)
def test_failures_equal_the_listed_ones(part, tmp_path, capsys):
    files = [f"xgboost/tests/python/{name}.py" for name in FILES[part]]
    theirs, ours = (
        run_suite("replace_xgboost_names", files, tmp_path, ours=ours, chosen=CHOSEN)
        for ours in (False, True)
    )
    cases, failed = compare(theirs, ours, FAILURES[part])
    with capsys.disabled():
        sys.stdout.write(f"\nxgboost, {part}: {len(cases - failed)} of {len(cases)} passed\n")
    assert len(failed) <= (1.0 - MIN_SHARE[part]) * len(cases)
