"""Build one self-contained HTML file from the view of a run and the sections."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from harness import __version__
from harness.analysis.run_view import RunView
from harness.core.errors import StoreError
from harness.core.model import Section
from reports.blocks.blocks import Block, Callout, Details, Fragment, Paragraph, Verbatim
from reports.page.page import Page
from reports.page.render import Renderer
from reports.text.format import moment, short
from reports.text.palette import LABEL

ASSETS = Path(__file__).parents[1] / "assets"


@dataclass(frozen=True)
class Shown:
    """A section in the form that the page template needs."""

    anchor: str
    title: str
    badge: str
    html: Markup


def build_report(view: RunView, sections: Iterable[Section]) -> str:
    """Return the report of a run as the text of one HTML file.

    Parameters
    ----------
    view
        The stored results of the run; nothing else is read.
    sections
        The sections of the page, sorted by ``order``, then by name. A section that raises an
        exception is replaced by a box with the error.
    """
    page = Page(view)
    renderer = Renderer()
    ordered = sorted(sections, key=lambda section: (section.order, section.name))
    shown = (_shown(section, page, renderer) for section in ordered)
    name = short(", ".join(page.own_files) or page.of_run("name") or "run", 120)
    return page_of(
        renderer,
        name,
        _subtitle(page),
        [section for section in shown if section],
        ("report.js", "highlight.js"),
        algorithms=_algorithms(page),
    )


def build_section(section: Section, view: RunView) -> Fragment | None:
    """Return the fragment of a section for a run, or None to leave the section out."""
    return _fragment(section, Page(view))


def page_of(
    renderer: Renderer,
    name: str,
    subtitle: str,
    sections: Iterable[Shown],
    scripts: Iterable[str] = ("report.js",),
    *,
    algorithms: Iterable[str] = (),
) -> str:
    """Return a page of rendered sections with style, scripts and content security policy."""
    css = (ASSETS / "report.css").read_text(encoding="utf-8")
    js = "\n".join((ASSETS / script).read_text(encoding="utf-8") for script in scripts)
    return renderer.page(
        policy=policy(css, js),
        css=Markup(css),  # noqa: S704 - our own file, as it was hashed
        js=Markup(js),  # noqa: S704 - our own file, as it was hashed
        title=f"{name}: harness report",
        name=name,
        subtitle=subtitle,
        sections=list(sections),
        algorithms=list(algorithms),
        version=__version__,
    )


def write_report(view: RunView, sections: Iterable[Section], path: Path) -> None:
    """Write the report of a run atomically: the path holds the old or the new file."""
    write_page(build_report(view, sections), path)


def write_page(text: str, path: Path) -> None:
    """Write a page atomically: the path holds the old or the new file.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        message = (
            f"cannot write the report {path}: {error.strerror}; delete files, or name another path"
        )
        raise StoreError(message) from error
    finally:
        with contextlib.suppress(OSError):  # it was renamed, or could not be made
            temporary.unlink()


def policy(css: str, js: str) -> str:
    """Return a content security policy that allows only these two inline texts."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{digest(js)}'; style-src 'sha256-{digest(css)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _shown(section: Section, page: Page, renderer: Renderer) -> Shown | None:
    """Return a section for the page, or None if it has nothing to show."""
    try:
        fragment = _fragment(section, page)
        if fragment is None:
            return None
        html = renderer.blocks(fragment.blocks)
    except Exception as error:  # noqa: BLE001 - a stranger's section may raise anything
        fragment = _broken(section, error)
        html = renderer.blocks(fragment.blocks)
    return Shown(renderer.unique(section.name), section.title, fragment.badge, html)


def _fragment(section: Section, page: Page) -> Fragment | None:
    fragment = section.build(page)
    if fragment is None or isinstance(fragment, Fragment):
        return fragment
    kind = type(fragment).__name__
    raise TypeError(f"{section.name} must return a reports.Fragment or None, not a {kind}")


def _broken(section: Section, error: Exception) -> Fragment:
    """Return the box that replaces a section that raised an exception."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{Path(f.filename).name}:{f.lineno} in {f.name}" for f in frames]
    what = f"{type(error).__name__}: {error}"
    blocks: list[Block] = [
        Paragraph(short(what, 400)),
        Details(
            "Where it was raised", [Verbatim("\n".join([*lines, what]), "Where it was raised")]
        ),
    ]
    return Fragment(
        [Callout(f"This section failed: {section.name}", blocks, "bad")], badge="failed"
    )


def _algorithms(page: Page) -> list[str]:
    """Return the algorithms of which a reader can choose two; none if there are only two."""
    names = {cell.algorithm for cell in page.view.cells}
    names |= {name for pair in page.pairs for name in (pair.algorithm, pair.reference)}
    return sorted(short(name, LABEL) for name in names) if len(names) > 2 else []


def _subtitle(page: Page) -> str:
    own = page.of_run("name") if page.own_files else ""
    parts = [own, page.of_run("id"), page.of_run("status"), moment(page.of_run("started"))]
    return " · ".join(short(part, 80) for part in parts if part)
