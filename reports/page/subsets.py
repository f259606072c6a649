"""Subsets of a run's datasets by task, number of rows, and share of categorical columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from harness.core.model import Task
from reports.page.page import Page
from reports.text.format import count

MIN_DATASETS = 2  # datasets of a subset
ALL = "all datasets"
TASKS = [f"task: {task}" for task in Task]
SIZES = {  # title → most rows
    f"rows: up to {count(1_000)}": 1_000,
    f"rows: {count(1_001)} to {count(10_000)}": 10_000,
    f"rows: more than {count(10_000)}": math.inf,
}
CATEGORIES = {  # title → largest share of the columns
    "categorical columns: none": 0.0,
    "categorical columns: up to half": 0.5,
    "categorical columns: more than half": math.inf,
}
TITLES = (*TASKS, *SIZES, *CATEGORIES)


def dataset_subsets(page: Page) -> dict[str, list[str]]:
    """Return title → datasets: first all of them, then each subset of two or more.

    A subset that holds all datasets is left out, and so is a dataset's unknown property.
    """
    every = list(page.by_dataset)
    subsets: dict[str, list[str]] = {title: [] for title in TITLES}
    for dataset in every:
        facts = page.view.datasets.get(dataset, {})
        task = page.by_dataset[dataset][0][1].task
        for title in (f"task: {task}", _size(facts), _categories(facts)):
            if title in subsets:
                subsets[title].append(dataset)
    kept = {t: part for t, part in subsets.items() if MIN_DATASETS <= len(part) < len(every)}
    return {ALL: every, **kept}


def _size(facts: Mapping[str, Any]) -> str:
    """Return the title of the range that holds the number of rows, or "" if it is unknown."""
    rows = facts.get("rows") or 0
    return next((t for t, most in SIZES.items() if 0 < rows <= most), "")


def _categories(facts: Mapping[str, Any]) -> str:
    """Return the title of the share of categorical columns, or "" if it is unknown."""
    columns = facts.get("columns") or 0
    if not columns:
        return ""
    share = (facts.get("categorical") or 0) / columns
    return next(title for title, most in CATEGORIES.items() if share <= most)
