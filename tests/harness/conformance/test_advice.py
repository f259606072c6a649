"""Tests that each result of a check is a sentence, with advice after a failure."""

import pytest

from harness.conformance import checks
from harness.conformance.advice import ADVICE, sentences
from harness.conformance.claims import CHECK
from harness.conformance.findings import CHECKS, Finding

NAMES = sorted({check.name for check in CHECKS} | {CHECK})


def test_every_check_has_advice():
    assert checks.MODULES
    assert sorted(ADVICE) == NAMES
    assert all(advice[0].isupper() and advice.endswith(".") for advice in ADVICE.values())


@pytest.mark.parametrize(
    ("state", "message", "expected"),
    [
        ("ok", "", "Nothing is printed (binary, regression)."),
        (
            "failed",
            "it printed 'x'",
            (
                "The check that nothing is printed failed (binary, regression): it printed 'x'. "
                "Turn the library's messages off."
            ),
        ),
        (
            "skipped",
            "it has no output.",
            (
                "The check that nothing is printed does not apply (binary, regression): "
                "it has no output."
            ),
        ),
    ],
)
def test_result_is_a_sentence_for_all_tasks(state, message, expected):
    found = [
        Finding("nothing is printed", task, state, message) for task in ("binary", "regression")
    ]
    assert sentences(found) == expected


def test_name_of_a_method_keeps_its_case():
    found = Finding("predict_one agrees with predict", "", "ok")
    assert sentences([found]) == "The method predict_one agrees with predict."
