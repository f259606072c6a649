"""Run of LightGBM's own tests on `algorithms.compat.lightgbm`.

``LIBRARY_TESTS`` names a folder with a checkout of the library's repository, ``LightGBM``, at the
tag of the version that is installed; its tests are not ours to ship. A case counts where it creates
an object that is replaced (an estimator, a Dataset or a Booster) and the library itself passes it.
Scikit-learn's own checks of estimators do not count; two cases are left out because they need
several gigabytes of memory. The failures must be exactly those that
``tests/helpers/lightgbm_failures.py`` lists with their reasons.
"""

import sys

from library_suite import NEEDS_CHECKOUT, compare, run_suite
from lightgbm_failures import FAILURES

FILES = [
    f"LightGBM/tests/python_package_test/{name}.py" for name in ("test_sklearn", "test_engine")
]
CHOSEN = "not test_sklearn_integration and not int32_max and not test_model_size"

pytestmark = NEEDS_CHECKOUT


def test_failures_equal_the_listed_ones(tmp_path, capsys):
    theirs, ours = (
        run_suite("replace_lightgbm_names", FILES, tmp_path, ours=ours, chosen=CHOSEN)
        for ours in (False, True)
    )
    cases, failed = compare(theirs, ours, FAILURES)
    with capsys.disabled():
        for file in sorted({case.partition("::")[0] for case in cases}):
            own = {case for case in cases if case.startswith(f"{file}::")}
            sys.stdout.write(f"\n{file}: {len(own - failed)} of {len(own)} passed\n")
