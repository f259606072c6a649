"""Register the writers of results under the names that the harness calls."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from harness import ReportWriter, hookimpl

WRITERS = {  # name → module and function
    "run-page": ("page.build", "write_report"),
    "run-page-text": ("page.build", "build_report"),
    "section": ("page.build", "build_section"),
    "index-page": ("page.index_page", "write_index"),
    "history-page": ("page.history_page", "write_history"),
    "run-markdown": ("page.digest", "markdown_summary"),
    "run-json": ("page.digest", "verdicts_json"),
    "gates-table": ("page.printed", "gates_table"),
    "gates-sentence": ("words.claim_words", "gate_sentence"),
    "gates-markdown": ("page.printed", "gates_markdown"),
    "gates-json": ("page.printed", "gates_json"),
    "comparison-json": ("page.printed", "comparison_json"),
    "comparison-markdown": ("page.printed", "comparison_markdown"),
    "comparison-sentence": ("page.printed", "comparison_sentence"),
    "comparison-tables": ("page.printed", "comparison_tables"),
}


@hookimpl
def register_report_writers(register: Callable[[ReportWriter], None]) -> None:
    """Register every writer; its module is imported when it is first called."""
    for name in WRITERS:
        register(ReportWriter(name, _call(name)))


def _call(name: str) -> Callable[..., Any]:
    module, function = WRITERS[name]

    def write(*args: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(f"reports.{module}"), function)(*args, **options)

    return write
