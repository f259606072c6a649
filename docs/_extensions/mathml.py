"""Formulas as MathML: browsers draw it themselves, so a page needs neither scripts nor a network.

MathJax and KaTeX would be fetched from a foreign server, or carried along at some megabytes.
docutils translates TeX to MathML on its own; a formula that it cannot translate is a warning, and
so an error of the build.
"""

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)


def translate(node: nodes.Node, *, as_block: bool) -> str:
    """Return a formula's MathML; warn, with its place, where docutils cannot read it."""
    try:
        return latex2mathml.tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        log.warning("formula %r: %s", node.astext(), error, location=node)
        return ""


def visit_inline(writer, node) -> None:
    """Write a formula within a sentence."""
    writer.body.append(translate(node, as_block=False))
    raise nodes.SkipNode


def visit_block(writer, node) -> None:
    """Write a formula on lines of its own."""
    writer.body.append(f'<div class="math">{translate(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    """Make the renderer known to Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
