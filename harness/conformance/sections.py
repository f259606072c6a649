"""Checks of report sections: they fit any run, depend only on it, and escape names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from harness.analysis.run_view import RunView
from harness.conformance import views
from harness.conformance.findings import BrokenError, NotApplicableError, contract_check, require
from harness.conformance.registered_object import RegisteredObject
from harness.reporting import writer

VIEWS: dict[str, Callable[[], RunView]] = {
    "an empty run": views.empty,
    "a run of one trial": views.one,
    "a run with hostile names": views.hostile,
}
RAW = re.compile(f"<b[^>]*id=.?{views.MARK}")


@contract_check("the declaration is complete", kind="section")
def complete(registered: RegisteredObject) -> None:
    """Check that the section has a title and an order."""
    section = registered.value
    require(bool(str(section.title).strip()), "title is empty")
    require(isinstance(section.order, int), f"order is {section.order!r}, not a whole number")


def _builds(what: str) -> Callable[[RegisteredObject], None]:
    """Return the check that a section can be built for a run."""

    def check(registered: RegisteredObject) -> None:
        fragment = built(registered, VIEWS[what]())
        if fragment is None:
            raise NotApplicableError("it is omitted from such a report")

    return check


for _what in VIEWS:
    contract_check(f"it can be built for {_what}, or is omitted", kind="section")(_builds(_what))


@contract_check("markup in names is escaped", kind="section")
def escaped(registered: RegisteredObject) -> None:
    """Search the page for markup from a name."""
    view = views.hostile()
    built(registered, view)
    require(not RAW.search(page_text(view, [registered.value])), "markup in a name was not escaped")


@contract_check("the same run gives the same section", kind="section")
def repeatable(registered: RegisteredObject) -> None:
    """Build the page twice."""
    pages = [page_text(views.one(), [registered.value]) for _ in range(2)]
    require(pages[0] == pages[1], "two reports of one run differ")


def page_text(view: RunView, sections: list[Any]) -> str:
    """Return the page of a run with only these sections."""
    text: str = writer("run-page-text")(view, sections)
    return text


def built(registered: RegisteredObject, view: RunView) -> Any:
    """Return the fragment of a section for a run, and check that it can be rendered."""
    try:
        fragment = writer("section")(registered.value, view)
    except TypeError as error:
        require("reports.Fragment" not in str(error), str(error))
        raise
    if fragment is None:
        return None
    try:
        page_text(view, [registered.value])
    except Exception as error:
        raise BrokenError(f"it cannot be rendered: {type(error).__name__}: {error}") from error
    return fragment
