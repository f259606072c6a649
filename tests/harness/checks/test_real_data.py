"""Tests of the judged alarms on real data: few are wrong, and the checks raise exactly them."""

import json
import os
import re
from pathlib import Path

import pytest

from harness.checks.own_data import source_of
from harness.checks.table_checks import TABLE_CHECKS, check_table
from harness.checks.table_sample import Source
from harness.core.errors import DataError
from harness.data import dataset_from_file
from harness.data.loading import table_of
from harness.data.mirror import entries

PAGE = (Path(__file__).resolve().parents[3] / "docs/checks-on-real-data.md").read_text()
MAX_WRONG = 0.05
MIRROR = os.environ.get("HARNESS_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="HARNESS_MIRROR names no folder of tables")


def judged(heading: str) -> list[tuple[str, str, str]]:
    """Return (data, code, right or wrong) of each alarm below a heading."""
    part = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    matches = re.findall(
        r"^\| ([\w]+) \| (DATA\d{3}) \| .+ \| (right|wrong) \| .+ \|$", part, re.MULTILINE
    )
    assert len(matches) == len(re.findall(r"^\| \w+ \| DATA", part, re.MULTILINE))
    return matches


DECLARED, OWN = judged("As their cards declare them"), judged("As a person's own file")


@pytest.mark.parametrize("alarms", [DECLARED, OWN], ids=["declared", "own"])
def test_at_most_one_alarm_in_twenty_is_wrong(alarms):
    wrong = [alarm for alarm in alarms if alarm[2] == "wrong"]
    assert len(alarms) > 40
    assert len(wrong) <= MAX_WRONG * len(alarms)
    assert {code for _, code, _ in alarms} <= {check.code for check in TABLE_CHECKS}
    assert len({alarm[:2] for alarm in alarms}) == len(alarms)


def test_page_counts_its_alarms():
    alarms = [*DECLARED, *OWN]
    wrong = sum(judgment == "wrong" for *_, judgment in alarms)
    assert f"Of {len(alarms)} alarms, {wrong} are wrong ({wrong / len(alarms):.1%})" in PAGE


@needs_mirror
@pytest.mark.slow
def test_checks_raise_the_judged_alarms_on_declared_tables():
    raised = set()
    for entry in entries():
        if not entry.refused:
            dataset = entry.dataset()
            source = Source(target=entry.facts.target)
            findings = check_table(table_of(dataset), dataset.task, source)
            raised |= {(entry.name, finding.code) for finding in findings}
    assert raised == {alarm[:2] for alarm in DECLARED}


@needs_mirror
@pytest.mark.slow
def test_checks_raise_the_judged_alarms_on_user_files():
    raised = set()
    for facts in json.loads(Path(MIRROR, "MANIFEST.json").read_text()):
        kind = facts["read"]["kind"]
        target = facts["target"] if kind == "csv" else None
        try:
            path = Path(MIRROR, facts["files"][0])
            dataset = dataset_from_file(path, target, drop_missing_target=True)
        except DataError:
            continue  # most of these files have no header row
        findings = check_table(table_of(dataset), dataset.task, source_of(dataset))
        raised |= {(facts["name"], finding.code) for finding in findings}
    assert raised == {alarm[:2] for alarm in OWN}
