"""Tests of the style sheet and the script, read as text."""

import re
from pathlib import Path

import pytest

import reports

ASSETS = Path(reports.__file__).parent / "assets"
CSS = (ASSETS / "report.css").read_text(encoding="utf-8")
JS = (ASSETS / "report.js").read_text(encoding="utf-8")
HIGHLIGHT = (ASSETS / "highlight.js").read_text(encoding="utf-8")
COMPARE = (ASSETS / "compare.js").read_text(encoding="utf-8")
COLORS = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\)", CSS))
TEXT = [(ink, paper) for ink in ("ink", "muted", "link") for paper in ("paper", "card")]
TINTED = [(tone, f"{tone}-tint") for tone in ("good", "same", "bad", "unsure")]
TINTED += [("ink", "bad-tint"), ("link", "bad-tint")]
MARKS = [(c, "paper") for c in ("blue", "orange", "green", "purple", "amber", "sky", "muted")]


def luminance(color: str) -> float:
    """Return the relative luminance of WCAG 2.2 of #rrggbb."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(front: str, back: str) -> float:
    light, dark = sorted(map(luminance, (front, back)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back", "least"),
    [(*pair, 4.5) for pair in TEXT + TINTED] + [(*pair, 3.0) for pair in MARKS],
)
def test_colors_contrast_with_their_background(theme, front, back, least) -> None:
    shades = [COLORS[name].split(", ")[theme] for name in (front, back)]
    assert contrast(*shades) >= least


def test_every_variable_is_defined() -> None:
    assert set(re.findall(r"var\(--([\w-]+)\)", CSS)) <= set(re.findall(r"--([\w-]+):", CSS))


def test_assets_can_be_inlined_and_load_nothing() -> None:
    for text in (CSS, JS, HIGHLIGHT, COMPARE):
        assert "</" not in text
        assert "\r" not in text
        assert not re.search(r"https?:|url\(|@import|@font-face", text)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", JS + HIGHLIGHT + COMPARE
    )


def test_page_works_without_the_script() -> None:
    assert len(JS.splitlines()) <= 110
    assert len(HIGHLIGHT.splitlines()) <= 60
    assert len(COMPARE.splitlines()) <= 60
