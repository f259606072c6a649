"""Inline elements of a sentence: plain text, code, emphasis, links and badges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from harness.core.field_errors import explain_fields


@explain_fields
@dataclass(frozen=True)
class Code:
    """A name or command, set in the typeface of code.

    Attributes
    ----------
    text
        Name or command.
    """

    text: str
    kind: ClassVar[str] = "code"


@explain_fields
@dataclass(frozen=True)
class Strong:
    """Emphasized words.

    Attributes
    ----------
    text
        Emphasized words.
    """

    text: str
    kind: ClassVar[str] = "strong"


@explain_fields
@dataclass(frozen=True)
class Link:
    """A link to a place in the page (``#anchor``) or to an https address.

    Attributes
    ----------
    text
        Words of the link.
    href
        Target: ``#anchor`` in the page or an https address.
    """

    text: str
    href: str
    kind: ClassVar[str] = "link"

    def __post_init__(self) -> None:
        if not self.href.startswith(("#", "https://")):
            raise ValueError(
                f"a link must begin with #anchor or https://, not with {self.href[:80]!r}"
            )


@explain_fields
@dataclass(frozen=True)
class Badge:
    """A verdict in a few words, with a symbol so that it is readable without color.

    Attributes
    ----------
    text
        Verdict in a few words.
    tone
        Meaning that sets the color: good, same, bad, unsure or "".
    symbol
        Symbol that shows the meaning without color.
    """

    text: str
    tone: str
    symbol: str = ""
    kind: ClassVar[str] = "badge"


@explain_fields
@dataclass(frozen=True)
class Report:
    """A link to the report of a run, in the folder of the page."""

    run: str
    kind: ClassVar[str] = "report"

    @property
    def href(self) -> str:
        """The name of the file; an id that could lead elsewhere is an error."""
        if not self.run.replace("-", "").isalnum():
            raise ValueError(f"{self.run[:80]!r} is not the id of a run")
        return f"report-{self.run}.html"


@explain_fields
@dataclass(frozen=True)
class SitePage:
    """A link to another page in the folder of this page.

    Attributes
    ----------
    text
        Words of the link.
    file
        Name of the file, such as history.html.
    """

    text: str
    file: str
    kind: ClassVar[str] = "site_page"

    def __post_init__(self) -> None:
        name = self.file.removesuffix(".html")
        if name == self.file or not name.replace("-", "").isalnum():
            raise ValueError(f"{self.file[:80]!r} is not the name of a page in the same folder")

    @property
    def href(self) -> str:
        """The name of the file."""
        return self.file


Inline: TypeAlias = str | Code | Strong | Link | Report | SitePage | Badge
Words: TypeAlias = Inline | Sequence[Inline]
