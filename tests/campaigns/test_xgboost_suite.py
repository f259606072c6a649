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

GROUPS = {  # files → share of their cases that must pass
    ("test_basic", "test_callback", "test_training_continuation"): 0.7,
    (
        *("test_with_sklearn", "test_early_stopping", "test_eval_metrics"),
        *("test_with_pandas", "test_with_polars", "test_with_arrow"),
    ): 0.9,
}
CHOSEN = "not test_estimator_reg"

pytestmark = NEEDS_CHECKOUT


@pytest.mark.parametrize("names", GROUPS)
def test_failures_equal_the_listed_ones(names, tmp_path, capsys):
    n_passed = n_cases = 0
    for name in names:
        file = f"xgboost/tests/python/{name}.py"
        theirs, ours = run_both("replace_xgboost_names", file, tmp_path, CHOSEN)
        passed, cases = check_file(capsys, theirs, ours, FAILURES.get(name, {}), name)
        n_passed, n_cases = n_passed + passed, n_cases + cases
    assert n_passed >= GROUPS[names] * n_cases
