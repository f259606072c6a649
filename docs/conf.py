"""How Sphinx builds the pages (`make docs`): warnings are errors, and no network is needed."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "tree-harness"
copyright = "the maintainers"  # noqa: A001 - the name that Sphinx reads
release = version = installed("tree-harness")

extensions = [
    "myst_parser",
    "mathml",
    "commands",
    "sphinx.ext.autodoc",
    "docstrings",
    "sphinx.ext.napoleon",
]
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
suppress_warnings = ["ref.python"]  # attributes of the same name in several classes
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "algorithms/figures", "examples/*"]

html_theme = "furo"
html_title = f"tree-harness {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["wide-tables.css"]
html_copy_source = False
