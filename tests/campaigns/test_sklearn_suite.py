"""Run of scikit-learn's own tests of ensembles and trees on our classes.

Tests of classes without a counterpart here, such as extremely randomized trees, count too.
Those of HistGradientBoosting run on our classes of the same names, by default ("hist:") and with
``parity="scikit-learn"`` ("parity:"). Of these, a test that creates no estimator does not count,
and neither do the library's files on binning, histograms, splitting, growing and its predictors. A
"public" test creates an estimator, reads no private attribute and matches no error text.

Each file runs in a process of its own. The failures must be exactly those that
``tests/helpers/sklearn_failures.py`` lists with their reasons. ``SKLEARN_FILES`` names the files,
such as "test_forest test_tree", or "all"; without it those of ``QUICK`` run.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from sklearn_failures import FAILURES

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
HGB = "sklearn.ensemble._hist_gradient_boosting.tests"
OF_HGB = (
    "test_gradient_boosting",
    "test_warm_start",
    "test_monotonic_constraints",
    "test_compare_lightgbm",
)
HOMES |= {f"{mode}:{name}": HGB for mode in ("hist", "parity") for name in OF_HGB}
QUICK = (
    "test_voting test_weight_boosting test_gradient_boosting test_tree "
    "hist:test_gradient_boosting hist:test_warm_start hist:test_monotonic_constraints "
    "hist:test_compare_lightgbm parity:test_gradient_boosting"
)
ASKED = os.environ.get("SKLEARN_FILES", QUICK).split()
CHOSEN = list(HOMES) if ASKED == ["all"] else ASKED
SECONDS = 1800  # each takes one to three minutes on an idle machine

pytestmark = pytest.mark.slow


def run_file(name, folder):
    """Return the result of each test of a file, by its id, and the ids of public tests."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("REPLACE_CLASSES")}
    mode, _, file = name.rpartition(":")
    if mode == "parity":
        env["REPLACE_CLASSES_PARITY"] = "1"
    plugin = "replace_hgb_classes" if mode else "replace_sklearn_classes"
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HELPERS), env.get("PYTHONPATH")]))
    # Their threads spin while others work: a file took ten times as long.
    env |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider"]
    command += ["--junitxml=found.xml", "--pyargs", f"{HOMES[name]}.{file}"]
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
    cases = list(ET.parse(folder / "found.xml").iter("testcase"))
    public = {case.attrib["name"] for case in cases if is_public(case)}
    return {case.attrib["name"]: outcome_of(case) for case in cases}, public


def is_public(case):
    """Return whether a test neither reads private attributes nor matches an error's text."""
    made = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
    return made.get("private") == "0" and made.get("made") != "0"


def outcome_of(case):
    """Return the result of a test: passed, failed, skipped, or foreign (without our estimators)."""
    messages = {part.tag for part in case}
    if messages & {"failure", "error"}:
        return "failed"
    if "skipped" in messages:
        return "skipped"
    made = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
    return "foreign" if made.get("made") == "0" else "passed"


def matches_key(case, key):
    """Return True if a key of the list matches a test: its name, and words of its parameters."""
    name, *words = key.split()
    result, _, parameters = case.partition("[")
    return result == name and all(word in parameters for word in words)


@pytest.mark.parametrize("name", CHOSEN)
def test_failures_equal_the_listed_ones(name, tmp_path, capsys):
    (result, public), reasons = run_file(name, tmp_path), FAILURES[name]
    failed = {case for case, outcome in result.items() if outcome == "failed"}
    count = Counter(result.values())
    with capsys.disabled():
        message = f"{count['passed']} of {count['passed'] + len(failed)} passed"
        rest = ", ".join(f"{count[kind]} {kind}" for kind in ("skipped", "foreign") if count[kind])
        share = f"{len(public - failed)} of {len(public)} public" if public else ""
        sys.stdout.write(f"\n{name}: {', '.join(filter(None, [message, share, rest]))}\n")
    assert result
    message = {key: {case for case in result if matches_key(case, key)} for key in reasons}
    assert [key for key, cases in message.items() if not cases] == [], "keys that match no test"
    assert failed == set().union(*message.values())
