"""Run of XGBoost's own tests on `algorithms.compat.xgboost`.

``LIBRARY_TESTS`` names a folder with a checkout of XGBoost's repository, ``xgboost``, at the tag of
the version that is installed; its tests are not ours to ship. A case counts where it creates an
object of a replaced class and the library itself passes it. scikit-learn's own checks of estimators
do not count. The failures must be exactly those that ``tests/helpers/xgboost_failures.py`` lists
with their reasons.
"""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from xgboost_failures import FAILURES

HELPERS = Path(__file__).resolve().parents[1] / "helpers"
HOME = os.environ.get("LIBRARY_TESTS")
FILES = {
    "native": ["test_basic", "test_callback", "test_training_continuation"],
    "estimators": [
        *("test_with_sklearn", "test_early_stopping", "test_eval_metrics"),
        *("test_with_pandas", "test_with_polars", "test_with_arrow"),
    ],
}
LEAST = {"native": 0.9, "estimators": 0.7}  # share of the cases that must pass
SECONDS = 3600

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        HOME is None, reason="LIBRARY_TESTS names no folder of the libraries' tests"
    ),
]


def run_suite(files, folder, *, ours):
    """Return the result of each case, name → (outcome, number of objects that it created)."""
    env = {**os.environ, "REPLACE_NAMES_OURS": "1" if ours else "0"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HELPERS), env.get("PYTHONPATH")]))
    report = folder / f"{'ours' if ours else 'theirs'}.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "replace_xgboost_names"]
    command += ["-p", "no:cacheprovider", "-k", "not test_estimator_reg", f"--junitxml={report}"]
    command += [f"tests/python/{file}.py" for file in files]
    done = subprocess.run(
        command,
        cwd=Path(HOME) / "xgboost",
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]
    return read_outcomes(report)


def read_outcomes(report):
    """Return each case of a pytest report: (outcome, number of objects)."""
    results = {}
    for case in ET.parse(report).iter("testcase"):
        parts = {part.tag for part in case}
        made = [int(one.attrib["value"]) for one in case.iter("property")]
        outcome = "failed" if parts & {"failure", "error"} else "passed"
        outcome = "skipped" if "skipped" in parts else outcome
        name = f"{case.attrib['classname'].rpartition('.')[2]}::{case.attrib['name']}"
        results[name] = outcome, sum(made)
    return results


def is_meant(case, key):
    """Return True if a key matches a case: its module or class, function and parameter words."""
    function, *words = key.split()
    owner, _, function = function.rpartition("::")
    name, _, parameters = case.rpartition("::")[2].partition("[")
    is_same = name == function and case.startswith(f"{owner}::" if owner else "")
    return is_same and all(word in parameters for word in words)


@pytest.mark.parametrize("part", FILES)
def test_failures_equal_the_listed_ones(part, tmp_path, capsys):
    theirs = run_suite(FILES[part], tmp_path, ours=False)
    ours = run_suite(FILES[part], tmp_path, ours=True)
    cases = {case for case, (outcome, made) in theirs.items() if outcome == "passed" and made}
    failed = {case for case in cases if ours[case][0] != "passed"}
    with capsys.disabled():
        sys.stdout.write(f"\nxgboost, {part}: {len(cases - failed)} of {len(cases)} passed\n")
    assert len(failed) <= (1.0 - LEAST[part]) * len(cases)
    listed = {key: {case for case in cases if is_meant(case, key)} for key in FAILURES[part]}
    assert [key for key, result in listed.items() if not result] == [], "no case is meant by these"
    assert failed == set().union(*listed.values())
