"""scikit-learn's own tests of its ensembles and trees, with our classes in place of its own.

Tests of classes that have no twin here, such as extremely randomised trees, run and count too.
Each file runs in a process of its own. What fails must be exactly what
``tests/helpers/rebound_failures.py`` lists, with the reason of each. ``SKLEARN_FILES`` names the
files, such as "test_forest test_tree", or "all"; without it those of ``QUICK`` run.
"""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from rebound_failures import FAILURES

HELPERS = Path(__file__).resolve().parents[1] / "helpers"
HOMES = {
    "test_voting": "sklearn.ensemble.tests",
    "test_stacking": "sklearn.ensemble.tests",
    "test_weight_boosting": "sklearn.ensemble.tests",
    "test_gradient_boosting": "sklearn.ensemble.tests",
    "test_bagging": "sklearn.ensemble.tests",
    "test_forest": "sklearn.ensemble.tests",
    "test_tree": "sklearn.tree.tests",
}
QUICK = "test_voting test_weight_boosting test_gradient_boosting test_tree"
ASKED = os.environ.get("SKLEARN_FILES", QUICK).split()
CHOSEN = list(HOMES) if ASKED == ["all"] else ASKED
SECONDS = 1800  # each takes one to three minutes on an idle machine

pytestmark = pytest.mark.slow


def run_file(name, folder):
    """Return what became of each test of a file: passed, failed or skipped, by its id."""
    env = {key: value for key, value in os.environ.items() if key != "REBOUND"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HELPERS), env.get("PYTHONPATH")]))
    env["OPENBLAS_NUM_THREADS"] = "1"  # its threads spin: a file took ten times as long
    command = [sys.executable, "-m", "pytest", "-q", "-p", "rebound", "-p", "no:cacheprovider"]
    command += ["--junitxml=found.xml", "--pyargs", f"{HOMES[name]}.{name}"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]
    cases = ET.parse(folder / "found.xml").iter("testcase")
    return {case.attrib["name"]: outcome_of(case) for case in cases}


def outcome_of(case):
    """Return what became of one test."""
    told = {part.tag for part in case}
    if told & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in told else "passed"


def is_meant(case, key):
    """Say whether a key of the list means a test: its name, and words of its parameters."""
    name, *words = key.split()
    found, _, parameters = case.partition("[")
    return found == name and all(word in parameters for word in words)


@pytest.mark.parametrize("name", CHOSEN)
def test_what_fails_is_what_is_listed_with_its_reason(name, tmp_path, capsys):
    found, reasons = run_file(name, tmp_path), FAILURES[name]
    failed = {case for case, outcome in found.items() if outcome == "failed"}
    skipped = {case for case, outcome in found.items() if outcome == "skipped"}
    ran = len(found) - len(skipped)
    with capsys.disabled():
        told = f"{ran - len(failed)} of {ran} passed, {len(skipped)} skipped"
        sys.stdout.write(f"\n{name}: {told}\n")
    told = {key: {case for case in found if is_meant(case, key)} for key in reasons}
    assert [key for key, cases in told.items() if not cases] == [], "no test is meant by these"
    assert failed == set().union(*told.values())
