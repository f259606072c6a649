"""Tests that the example sessions on the pages give the shown output."""

import doctest

import pytest
from pages import DOCS, blocks, pages

SESSIONS = [page for page in pages() if ">>>" in (DOCS / page).read_text()]


@pytest.mark.filterwarnings("ignore:The set_(bad|over|under) function:PendingDeprecationWarning")
@pytest.mark.parametrize("page", SESSIONS, ids=str)
def test_every_session_on_the_page_gives_the_shown_output(page):
    text = (DOCS / page).read_text()
    session = "\n".join(blocks(text, "pycon"))
    assert session.count(">>>") == text.count(">>>"), "every session stands in a pycon block"
    test = doctest.DocTestParser().get_doctest(session, {}, str(page), str(page), 0)
    messages = []
    runner = doctest.DocTestRunner(verbose=False)
    failed = runner.run(test, out=messages.append).failed
    assert failed == 0, "".join(messages)


def test_pages_contain_sessions():
    assert "worked-examples.md" in map(str, SESSIONS)
