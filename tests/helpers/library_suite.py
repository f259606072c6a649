"""Run of a library's own tests, with its names or with ours, in a child process."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

HELPERS = Path(__file__).parent
HOME = os.environ.get("LIBRARY_TESTS")  # folder with a checkout of each library
SECONDS = 3600

NEEDS_CHECKOUT = [
    pytest.mark.slow,
    pytest.mark.skipif(
        HOME is None, reason="LIBRARY_TESTS names no folder of the libraries' tests"
    ),
]


def run_suite(plugin, files, folder, *, ours, chosen):
    """Return the result of each case, name → (outcome, number of replaced objects it created).

    Parameters
    ----------
    plugin : str
        Helper module that replaces the names if ``REPLACE_NAMES_OURS`` is 1.
    files : list of str
        Test files, in the folder `LIBRARY_TESTS`; the first part is the checkout's folder.
    folder : Path
        Folder for the report.
    ours : bool
    chosen : str
        Expression that selects cases (pytest's option ``-k``).
    """
    env = {**os.environ, "REPLACE_NAMES_OURS": "1" if ours else "0"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HELPERS), env.get("PYTHONPATH")]))
    report = folder / f"{'ours' if ours else 'theirs'}.xml"
    checkout = files[0].partition("/")[0]
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider"]
    command += ["-k", chosen, f"--junitxml={report}"]
    command += [file.partition("/")[2] for file in files]
    done = subprocess.run(
        command,
        cwd=Path(HOME, checkout),
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]
    return read_outcomes(report)


def read_outcomes(report):
    """Return each case of a pytest report: (outcome, number of replaced objects)."""
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
    """Return True if a key of a list of failures matches a case.

    A key is a test's function, with its module or class if others have it too, and words of its
    parameters: "test_engine::test_metrics fair".
    """
    function, *words = key.split()
    owner, _, function = function.rpartition("::")
    name, _, parameters = case.rpartition("::")[2].partition("[")
    is_same = name == function and case.startswith(f"{owner}::" if owner else "")
    return is_same and all(word in parameters for word in words)


def compare(theirs, ours, reasons):
    """Return the cases that count and those that fail; check that these are exactly the listed.

    Parameters
    ----------
    theirs, ours : dict, from `run_suite`
        A case counts if the library passes it and creates a replaced object in it.
    reasons : dict, key of `is_meant` → reason
    """
    cases = {case for case, (outcome, made) in theirs.items() if outcome == "passed" and made}
    failed = {case for case in cases if ours[case][0] != "passed"}
    listed = {key: {case for case in cases if is_meant(case, key)} for key in reasons}
    assert cases
    assert [key for key, result in listed.items() if not result] == [], "no case is meant by these"
    expected = set().union(*listed.values())
    assert sorted(failed - expected) == [], "these failures have no reason"
    assert sorted(expected - failed) == [], "these have a reason but pass"
    return cases, failed
