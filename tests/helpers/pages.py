"""Content of the documentation pages: their list, fenced blocks and toctrees."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HIDDEN = {"_build", "_extensions", "_static", "examples", "figures", "notebooks"}
FENCE = re.compile(r"^(`{3,})([^\n]*)\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Return every page of the site."""
    results = (p.relative_to(DOCS) for p in DOCS.rglob("*.md"))
    return sorted(p for p in results if not HIDDEN & set(p.parts))


def blocks(text: str, name: str) -> list[str]:
    """Return the contents of the fenced blocks that open with this word."""
    return [body for _, info, body in FENCE.findall(text) if info.split(" ")[0] == name]


def without_blocks(text: str) -> str:
    """Return a page without its fenced blocks."""
    return FENCE.sub("", text)


def listed(page: Path) -> set[Path]:
    """Return the pages that the toctrees of a page list, relative to the folder of all pages."""
    results = set()
    for body in blocks((DOCS / page).read_text(), "{toctree}"):
        lines = [line for line in body.splitlines() if line and not line.startswith(":")]
        for line in lines:
            named = re.sub(r"^.*<(.+)>$", r"\1", line).strip()
            hits = (DOCS / page.parent).glob(f"{named}.md")
            results |= {hit.relative_to(DOCS) for hit in hits} - {page}
    return results
