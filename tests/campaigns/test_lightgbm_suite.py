"""Run of LightGBM's own tests on our classes; `test_xgboost_suite` runs XGBoost's.

``LIBRARY_TESTS`` names a folder with a checkout of the library's repository, ``LightGBM``, at the
tag of the version that is installed; its tests are not ours to ship. A case counts where it creates
an object that is replaced (an estimator, a Dataset or a Booster) and the library itself passes it.
Scikit-learn's own checks of estimators do not count; two cases are left out because they need
several gigabytes of memory. The failures must be exactly those that
``tests/helpers/lightgbm_failures.py`` lists with their reasons.
"""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from lightgbm_failures import FAILURES

HELPERS = Path(__file__).resolve().parents[1] / "helpers"
HOME = os.environ.get("LIBRARY_TESTS")
FOLDER = "tests/python_package_test"
FILES = ["test_sklearn", "test_engine"]
CHOSEN = "not test_sklearn_integration and not int32_max and not test_model_size"
SECONDS = 3600

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        HOME is None, reason="LIBRARY_TESTS names no folder of the libraries' tests"
    ),
]


def run_suite(folder, *, ours):
    """Return the result of each case, name → (outcome, number of estimators it created)."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("REPLACE_CLASSES")}
    env["REPLACE_CLASSES_OURS"] = "1" if ours else "0"
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HELPERS), env.get("PYTHONPATH")]))
    report = folder / f"{'ours' if ours else 'theirs'}.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "replace_lightgbm_names"]
    command += ["-p", "no:cacheprovider", "-k", CHOSEN, f"--junitxml={report}"]
    command += [f"{FOLDER}/{file}.py" for file in FILES]
    done = subprocess.run(
        command,
        cwd=Path(HOME, "LightGBM"),
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]
    return read_outcomes(report)


def read_outcomes(report):
    """Return the outcome of each case of a pytest report, and its number of objects."""
    results = {}
    for case in ET.parse(report).iter("testcase"):
        parts = {part.tag for part in case}
        made = {one.attrib["name"]: int(one.attrib["value"]) for one in case.iter("property")}
        outcome = "failed" if parts & {"failure", "error"} else "passed"
        outcome = "skipped" if "skipped" in parts else outcome
        name = f"{case.attrib['classname'].rpartition('.')[2]}::{case.attrib['name']}"
        results[without_names(name)] = outcome, made.get("made", 0)
    return results


def without_names(case):
    """Return the name of a case without the names of the classes in its parameters."""
    return case.replace("HistogramBoosting", "LGBM")


def counted(theirs):
    """Return the cases that count: the library passes them and creates an object in them."""
    return {case for case, (outcome, made) in theirs.items() if outcome == "passed" and made}


def is_meant(case, key):
    """Return True if a key of the list matches a case: its function, and parameter words.

    A function of one file only is written with the file, "test_engine::test_metrics".
    """
    function, *words = key.split()
    file, _, function = function.rpartition("::")
    name, _, parameters = case.rpartition("::")[2].partition("[")
    return name == function and case.startswith(file) and all(word in parameters for word in words)


def test_failures_equal_the_listed_ones(tmp_path, capsys):
    theirs = run_suite(tmp_path, ours=False)
    ours = run_suite(tmp_path, ours=True)
    cases = counted(theirs)
    failed = {case for case in cases if ours[case][0] != "passed"}
    with capsys.disabled():
        for file in sorted({case.partition("::")[0] for case in cases}):
            own = {case for case in cases if case.startswith(f"{file}::")}
            sys.stdout.write(f"\n{file}: {len(own - failed)} of {len(own)} passed\n")
    assert cases
    listed = {key: {case for case in cases if is_meant(case, key)} for key in FAILURES}
    assert [key for key, result in listed.items() if not result] == [], "no case is meant by these"
    assert failed == set().union(*listed.values())
