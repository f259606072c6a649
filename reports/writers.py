"""Register the writers of results under the names that the harness calls."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from harness import ReportWriter, hookimpl

WRITERS = {  # name → module and function
    "run-page": ("build", "write_report"),
    "run-page-text": ("build", "build_report"),
    "section": ("build", "build_section"),
    "index-page": ("index_page", "write_index"),
    "history-page": ("history_page", "write_history"),
    "run-markdown": ("digest", "markdown_summary"),
    "run-json": ("digest", "verdicts_json"),
    "gates-table": ("printed", "gates_table"),
    "gates-sentence": ("printed", "gates_sentence"),
    "gates-markdown": ("printed", "gates_markdown"),
    "gates-json": ("printed", "gates_json"),
    "comparison-json": ("printed", "comparison_json"),
    "comparison-markdown": ("printed", "comparison_markdown"),
    "comparison-sentence": ("printed", "comparison_sentence"),
    "comparison-tables": ("printed", "comparison_tables"),
}


@hookimpl
def register_report_writers(register: Callable[[ReportWriter], None]) -> None:
    """Register every writer; its module is imported when it is first called."""
    for name in WRITERS:
        register(ReportWriter(name, _call(name)))


def _call(name: str) -> Callable[..., Any]:
    module, function = WRITERS[name]

    def write(*args: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(f"reports.page.{module}"), function)(
            *args, **options
        )

    return write
