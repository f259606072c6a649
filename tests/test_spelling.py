"""Tests that names, comments, messages and pages have American spelling."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BRITISH = re.compile(
    r"""(?:amort|categor|custom|daemon|discret|equal|factor|final|general|initial|material|maxim
    |memor|minim|neutral|normal|optim|organ|parallel|penal|prior|quant|random|recogn|regular|serial
    |special|stabil|standard|student|summar|symmetr|synchron|util|vector|virtual|visual)
    is(?:e(?![a-z])|e[drs]|ing|ation|able)
    |analys(?:ed|ing)|emphasise|behaviour|colour|favour|flavour|honour|labour|neighbour
    |(?:cancel|label|model|travel)l(?:ed|ing)|centre(?![a-z])|centred|centring|grey|judgement
    |licence|programme(?![a-z])|artefact|catalogue|dialogue|learnt|misspelt|whilst""",
    re.IGNORECASE | re.VERBOSE,
)
# Not ours, or kept because stored results and users' files have it.
ALLOWED = re.compile(
    r"aria-labelledby|CancelledError|\.cancelled\(|lightgbm\.quantised"
    r"|[\"'`](?:quantised|licence|colour|Cancelled)[\"'`]|(?:licence|colour) ?="
)


@cache
def is_british(word: str) -> bool:
    """Return whether a word has British spelling."""
    return BRITISH.search(word) is not None


def spelled_wrongly(text: str) -> list[str]:
    """Return the British words of a text, without those that are allowed."""
    if not any(map(is_british, set(re.findall("[a-z]+", text, re.IGNORECASE)))):
        return []  # most files; this is faster than searching the text
    return BRITISH.findall(ALLOWED.sub("", text))


def test_spelling_is_american() -> None:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("no git here (a source archive), so no list of the project's files")
    found = {}
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if not path.is_file() or path == Path(__file__) or path.suffix in {".png", ".lock"}:
            continue
        if words := spelled_wrongly(f"{name}\n{path.read_text(encoding='utf-8')}"):
            found[name] = words
    assert found == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a normalised loss", ["normalised"]),
        ("Centre, NEIGHBOURS", ["Centre", "NEIGHBOUR"]),
        ("an analysis, a raise, an optimistic size", []),
        ("`lightgbm.quantised` beside a quantised gradient", ["quantised"]),
    ],
)
def test_british_words_are_found(text: str, words: list[str]) -> None:
    assert spelled_wrongly(text) == words
