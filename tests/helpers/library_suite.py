"""Run of a library's own tests, with its names or with ours, in a child process."""

import hashlib
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

HELPERS = Path(__file__).parent
HOME = os.environ.get("LIBRARY_TESTS")  # folder with a checkout of each library
SECONDS = 3600

NEEDS_CHECKOUT = [
    pytest.mark.slow,
    pytest.mark.skipif(
        HOME is None,
        reason="LIBRARY_TESTS is not set: a folder with checkouts of the libraries",
    ),
]


def run_both(plugin, file, folder, chosen):
    """Return the results of a test file with the library's names and with ours.

    The library's own results are kept in the folder ``reports`` of `LIBRARY_TESTS`, for each
    version of the library and of those it uses, the test file, the plugin and the selection.

    Parameters
    ----------
    plugin : str
        Helper module that replaces the names if ``REPLACE_NAMES_OURS`` is 1.
    file : str
        Test file in the folder `LIBRARY_TESTS`; the first part is the checkout's folder.
    folder : Path
        Folder for the reports.
    chosen : str
        Expression that selects cases (pytest's option ``-k``).

    Returns
    -------
    theirs, ours : dict, from `read_outcomes`
    """
    used = sys.version, *(metadata.version(one) for one in ("numpy", "pandas", "scikit-learn"))
    parts = Path(HOME, file).read_bytes(), (HELPERS / f"{plugin}.py").read_bytes()
    parts += tuple(text.encode() for text in (chosen, *used))
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
    checkout = file.partition("/")[0]
    name = f"{Path(file).stem}-{metadata.version(checkout.lower())}-{key}.xml"
    saved = Path(HOME, "reports", name)
    if not saved.exists():
        report = run_file(plugin, file, folder, ours=False, chosen=chosen)
        saved.parent.mkdir(exist_ok=True)
        saved.write_bytes(report.read_bytes())
    report = run_file(plugin, file, folder, ours=True, chosen=chosen)
    return read_outcomes(saved), read_outcomes(report)


def run_file(plugin, file, folder, *, ours, chosen):
    """Run a test file with ours or the library's names; return the path of pytest's report.

    Parameters
    ----------
    plugin, file, folder, chosen : as in `run_both`
    ours : bool
    """
    env = {**os.environ, "REPLACE_NAMES_OURS": "1" if ours else "0"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HELPERS), env.get("PYTHONPATH")]))
    env["OMP_WAIT_POLICY"] = "passive"  # idle threads that spin take time from other programs
    report = folder / f"{'ours' if ours else 'theirs'}.xml"
    checkout, _, path = file.partition("/")
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider"]
    command += ["-k", chosen, f"--junitxml={report}", path]
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
    return report


def read_outcomes(report):
    """Return the cases of a report: name → (outcome, number of replaced objects it created)."""
    results = {}
    for case in ET.parse(report).iter("testcase"):
        parts = {part.tag for part in case}
        made = [int(one.attrib["value"]) for one in case.iter("property")]
        outcome = "failed" if parts & {"failure", "error"} else "passed"
        outcome = "skipped" if "skipped" in parts else outcome
        name = f"{case.attrib['classname'].rpartition('.')[2]}::{case.attrib['name']}"
        results[name] = outcome, sum(made)
    return results


def matches_key(case, key):
    """Return True if a key of a list of failures matches a case.

    A key is a test's function, with its class if others of the file have it too, and words of its
    parameters: "TestArrowTable::test_arrow_table None".
    """
    function, *words = key.split()
    owner, _, function = function.rpartition("::")
    name, _, parameters = case.rpartition("::")[2].partition("[")
    is_same = name == function and case.startswith(f"{owner}::" if owner else "")
    return is_same and all(word in parameters for word in words)


def check_file(capsys, theirs, ours, reasons, name):
    """Print how many cases of a file pass; check that the failures are exactly the listed ones.

    A case counts if the library passes it and the case creates a replaced object.

    Parameters
    ----------
    capsys : pytest's fixture
    theirs, ours : dict, from `run_both`
    reasons : dict, key of `matches_key` → reason
    name : str

    Returns
    -------
    int, int : number of the cases that pass, and of all
    """
    cases = {case for case, (outcome, made) in theirs.items() if outcome == "passed" and made}
    failed = {case for case in cases if ours[case][0] != "passed"}
    assert cases, f"{name}: no case counts"
    n_passed = len(cases) - len(failed)
    with capsys.disabled():
        share = n_passed / len(cases)
        sys.stdout.write(f"\n{name}: {n_passed} of {len(cases)} cases passed ({share:.1%})\n")
    listed = {key: {case for case in cases if matches_key(case, key)} for key in reasons}
    unused = [key for key, result in listed.items() if not result]
    expected = set().union(*listed.values())
    without, passing = sorted(failed - expected), sorted(expected - failed)
    assert unused == [], f"keys that match no case: {unused}"
    assert without == [], f"failures that are not listed: {without}"
    assert passing == [], f"listed, but passing: {passing}"
    return n_passed, len(cases)
