"""Run of XGBoost's own tests on `algorithms.compat.xgboost`.

``LIBRARY_TESTS`` names a folder with a checkout of XGBoost's repository, ``xgboost``, at the tag of
the version that is installed; its tests are not ours to ship. A case counts where it creates an
object of a replaced class and the library itself passes it. scikit-learn's own checks of estimators
do not count. The failures must be exactly those that ``tests/helpers/xgboost_failures.py`` lists
with their reasons.
"""

import pytest
from library_suite import NEEDS_CHECKOUT, check_file, run_both
from xgboost_failures import FAILURES

FILES = (
    *("test_basic", "test_callback", "test_training_continuation"),
    *("test_with_sklearn", "test_early_stopping", "test_eval_metrics"),
    *("test_with_pandas", "test_with_polars", "test_with_arrow"),
)
MIN_SHARE = 0.7  # share of the cases of a file that must pass
CHOSEN = "not test_estimator_reg"

pytestmark = NEEDS_CHECKOUT


@pytest.mark.parametrize("name", FILES)
def test_failures_equal_the_listed_ones(name, tmp_path, capsys):
    file = f"xgboost/tests/python/{name}.py"
    theirs, ours = run_both("replace_xgboost_names", file, tmp_path, CHOSEN)
    assert check_file(capsys, theirs, ours, FAILURES.get(name, {}), name) >= MIN_SHARE
