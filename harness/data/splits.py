"""Training and test rows of splits, which depend only on the split and the table.

Every algorithm gets the same rows. Folds are stratified by class (classification), and a group is
never in both parts of a split. They use scikit-learn's splitters, seeded by split, so a split is
the same on every machine with the same scikit-learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from harness.core.errors import DataError
from harness.core.model import Dataset, Split, Table, Task
from harness.data.task_splits import rows_of_split

if TYPE_CHECKING:
    import numpy as np

HOLDOUT_ROWS = 100_000  # number of rows from which holdouts replace folds
TEST_SHARE = 0.25
TEST_ROWS = 2_000  # maximum number of test rows for drawn training sets
_CELLS = 2**20  # cells that are hashed at once
_SALT = 0x9E3779B97F4A7C15  # 2⁶⁴ divided by the golden ratio, odd


def default_splits(
    dataset: Dataset, folds: int, repeats: int, seed: int, most_train_rows: int | None = None
) -> list[Split]:
    """Return the splits of a dataset, in order, without loading data.

    If the source defines test rows, they are the only split. With ``HOLDOUT_ROWS`` rows or more
    there are as many holdouts as there would be folds, because a verdict needs the spread over
    splits; with fewer rows, ``repeats`` times ``folds`` folds. A dataset with fewer rows than
    folds gets as many folds as rows. Rows in order of time are cut into ``folds`` + 1
    blocks: each fold trains on all blocks before the one that it tests, without the rows of the
    groups that it tests.

    Parameters
    ----------
    most_train_rows
        Maximum number of training rows of a split; None: no limit.
    """
    splits = _whole_splits(dataset, folds, repeats, seed)
    return [replace(split, train_rows=most_train_rows or 0) for split in splits]


def _whole_splits(dataset: Dataset, folds: int, repeats: int, seed: int) -> list[Split]:
    if dataset.given_test:
        return [Split("given", folds=1, seed=seed)]
    if dataset.ordered:
        blocks = max(1, min(folds, dataset.rows - 1))
        return [Split("ordered", blocks, fold, seed=seed) for fold in range(blocks)]
    if dataset.rows >= HOLDOUT_ROWS:
        return [
            Split("holdout", folds=1, repeat=r, seed=seed, test_share=TEST_SHARE)
            for r in range(repeats * folds)
        ]
    k = max(2, min(folds, dataset.rows))
    return [Split("kfold", k, fold, r, seed) for r in range(repeats) for fold in range(k)]


def drawn_splits(dataset: Dataset, sets: int, rows: Sequence[int], seed: int) -> list[Split]:
    """Return ``sets`` training sets of each size, all tested on the same rows.

    The test rows are those of the source, or else a holdout of a quarter of the rows, at most
    ``TEST_ROWS``.
    """
    share = min(TEST_SHARE, TEST_ROWS / dataset.rows)
    return [
        Split("draw", sets, repeat=r, seed=seed, test_share=share, train_rows=n)
        for n in rows
        for r in range(sets)
    ]


def split_rows(split: Split, table: Table, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test rows of a split.

    Returns
    -------
    train, test
        int64 row numbers, each ascending; no row is in both. ``draw`` and splits with
        ``train_rows`` train on a part of the other rows, ``ordered`` on earlier rows and, with
        groups, only of groups that are not tested.

    Raises
    ------
    DataError
        If the table cannot be split: no given test rows, fewer groups or rows than folds, or too
        few rows for a training set.
    """
    import numpy as np

    if split.scheme == "openml":
        train, test = rows_of_split(split, len(table.y))
        return _sampled(split, train, None), test
    mask = np.zeros(len(table.y), bool)
    mask[_tested(split, table, task)] = True
    if mask.all() or not mask.any():
        raise DataError(f"the split {split.label} leaves no row to train on or none to test with")
    train, test = np.flatnonzero(~mask).astype(np.int64), np.flatnonzero(mask).astype(np.int64)
    if split.scheme == "draw":
        if task is Task.RANKING:
            raise DataError("training sets of a ranking cannot be drawn: use folds or a holdout")
        return _drawn(split, train), test
    if split.scheme == "ordered":
        train = _earlier(split, table, train, test)
    return _sampled(split, train, table.group if task is Task.RANKING else None), test


def _sampled(split: Split, train: np.ndarray, queries: np.ndarray | None) -> np.ndarray:
    """Return the training rows, or a random sample of them if the split limits their number.

    A sample of a ranking consists of whole queries, at least one; ``queries`` has the query of
    each row of the table.
    """
    import numpy as np

    if not 0 < split.train_rows < len(train):
        return train
    random = np.random.default_rng([split.seed, split.repeat, split.fold, split.train_rows])
    if queries is None:
        return np.sort(random.choice(train, split.train_rows, replace=False))
    codes, sizes = np.unique(queries[train], return_counts=True)
    order = random.permutation(len(codes))
    is_within = np.cumsum(sizes[order]) <= split.train_rows
    kept = codes[order[is_within]] if is_within.any() else codes[order[:1]]
    sample: np.ndarray = train[np.isin(queries[train], kept)]
    return sample


def drawn_apart(split: Split, pool: int) -> bool:
    """Return whether the training sets of a draw are disjoint: the pool is large enough."""
    return split.folds * split.train_rows <= pool


def split_notes(split: Split, table: Table, task: Task) -> list[str]:
    """Return sentences on a split: small classes, dropped rows, or the groups in a split file."""
    import numpy as np

    if split.scheme == "openml":
        return _notes_on_file(split, table)
    if split.scheme == "ordered":
        return _notes_on_groups(split, table, task)
    if not task.is_classification or split.scheme in ("given", "draw"):
        return []
    need = split.folds if split.scheme == "kfold" else 2
    counts = np.bincount(table.y, minlength=len(table.classes))
    small = [table.classes[i] for i in np.flatnonzero(counts < need)]
    if not small:
        return []
    from harness.data.safe_names import count, listed

    classes = count(len(small), "class", "classes")
    return [
        f"{classes} with fewer than {need} rows, absent in a part of the split: {listed(small)}"
    ]


def _notes_on_groups(split: Split, table: Table, task: Task) -> list[str]:
    """Return a note on earlier rows that are not trained on, because their group is tested."""
    import numpy as np

    from harness.data.safe_names import count

    if table.group is None:
        return []
    earlier, test = split_rows(replace(split, train_rows=0), replace(table, group=None), task)
    left_out = int(np.isin(table.group[earlier], table.group[test]).sum())
    if not left_out:
        return []
    return [f"{left_out:,} of {count(len(earlier), 'earlier row')} left out: their group is tested"]


def _notes_on_file(split: Split, table: Table) -> list[str]:
    """Return notes on groups and times that a file of splits divides."""
    import numpy as np

    from harness.data.safe_names import count

    train, test = rows_of_split(split, len(table.y))
    notes = []
    if table.group is not None and len(
        cut := np.intersect1d(table.group[train], table.group[test])
    ):
        notes.append(f"splits.files divides {count(len(cut), 'group')} into training and test rows")
    if table.order is not None and table.order[train].max() >= table.order[test].min():
        notes.append("splits.files trains on rows that are not earlier than all test rows")
    return notes


def duplicates_across(table: Table, train: np.ndarray, test: np.ndarray) -> int:
    """Return the number of test rows whose features also occur in a training row.

    Rows are compared by a 64-bit hash of their values; missing equals missing, −0 equals 0.
    """
    import numpy as np

    hashes = row_hashes(table.X)
    return int(np.isin(hashes[test], np.unique(hashes[train])).sum())


def _drawn(split: Split, pool: np.ndarray) -> np.ndarray:
    """Return one training set out of the rows that are not test rows.

    Disjoint sets are blocks of one permutation. If there are too few rows for that, each set is
    drawn separately without replacement.
    """
    import numpy as np

    n = split.train_rows
    if n > len(pool):
        raise DataError(f"a training set of {n:,} rows cannot be drawn from {len(pool):,}")
    if drawn_apart(split, len(pool)):
        order = np.random.default_rng([split.seed, n]).permutation(pool)
        return np.sort(order[split.repeat * n :][:n])
    random = np.random.default_rng([split.seed, n, split.repeat])
    return np.sort(random.choice(pool, n, replace=False))


def _tested(split: Split, table: Table, task: Task) -> np.ndarray:
    match split.scheme:
        case "given":
            return _given(table)
        case "holdout":
            return _holdout(split, table, task)
        case "ordered":
            return _later_block(split, table)
        case "draw" if table.test_rows is not None:
            return table.test_rows
        case "draw":
            return _holdout(replace(split, repeat=0), table, task)  # the same for every set
        case _:
            return _fold(split, table, task)


def _given(table: Table) -> np.ndarray:
    if table.test_rows is None:
        raise DataError("the split is given, but the dataset names no test rows; use kfold")
    return table.test_rows


def _order_of(table: Table) -> np.ndarray:
    if table.order is None:
        raise DataError("the split is by time, but the dataset has no column of time")
    return table.order


def _earlier(split: Split, table: Table, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the training rows that are earlier than all test rows and of no tested group."""
    import numpy as np

    order = _order_of(table)
    earlier: np.ndarray = train[order[train] < order[test].min()]
    if not len(earlier):
        raise DataError(f"the split {split.label} has no earlier row to train on")
    if table.group is None:
        return earlier
    kept: np.ndarray = earlier[~np.isin(table.group[earlier], table.group[test])]
    if not len(kept):
        raise DataError(
            f"the split {split.label} has no earlier row of another group to train on: every group "
            "lasts longer than a block of time; use fewer folds, or leave out the group or the time"
        )
    return kept


def _later_block(split: Split, table: Table) -> np.ndarray:
    """Return the test rows of a fold: a block of time; rows of equal time stay together.

    Blocks have about the same number of rows, and each has at least one time.
    """
    import numpy as np

    order = _order_of(table)
    times = np.unique(order)  # number of earlier rows of each time
    if len(times) <= split.folds:
        raise DataError(
            f"{split.folds} folds in order of time need {split.folds + 1} different times, but the "
            f"column of time has {len(times)}; use fewer folds"
        )
    even = np.linspace(0, len(order), split.folds + 2)[1:-1]
    block = np.arange(split.folds)
    first = np.searchsorted(times, even)  # of the times of each block
    first = np.maximum.accumulate(np.maximum(first, block + 1) - block) + block
    first = np.minimum(first, len(times) - split.folds + block)
    cuts = [*times[first], len(order)]
    return np.flatnonzero((order >= cuts[split.fold]) & (order < cuts[split.fold + 1]))


def _seed(split: Split) -> int:
    """Return the seed of a repeat, hashed so that neighboring seeds are unrelated."""
    import numpy as np

    return int(np.random.SeedSequence([split.seed, split.repeat]).generate_state(1)[0])


def _holdout(split: Split, table: Table, task: Task) -> np.ndarray:
    import numpy as np
    from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

    options: Any = {"n_splits": 1, "test_size": split.test_share, "random_state": _seed(split)}
    rows = np.arange(len(table.y))
    if table.group is not None:
        _check_groups(table.group, 2)
        return _first_test(GroupShuffleSplit(**options).split(rows, groups=table.group))
    if task.is_classification:
        # A class with a single row is used for training.
        common = rows[np.bincount(table.y, minlength=len(table.classes))[table.y] > 1]
        smaller = len(common) * min(split.test_share, 1 - split.test_share)
        if smaller >= len(np.unique(table.y[common])):  # each part can hold all classes
            splitter = StratifiedShuffleSplit(**options)
            chosen: np.ndarray = common[_first_test(splitter.split(common, table.y[common]))]
            return chosen
    return _first_test(ShuffleSplit(**options).split(rows))


def _first_test(parts: Iterator[tuple[np.ndarray, np.ndarray]], index: int = 0) -> np.ndarray:
    """Return the test rows of the part at an index."""
    return next(islice(parts, index, None))[1]


def _fold(split: Split, table: Table, task: Task) -> np.ndarray:
    import numpy as np
    from sklearn import model_selection as ms

    if split.folds > len(table.y):
        raise DataError(f"{len(table.y)} rows cannot be divided into {split.folds} folds")
    options: Any = {"n_splits": split.folds, "shuffle": True, "random_state": _seed(split)}
    stratify = task.is_classification and np.bincount(table.y).max() >= split.folds
    if table.group is not None:
        _check_groups(table.group, split.folds)
        splitter = ms.StratifiedGroupKFold if stratify else ms.GroupKFold
    else:
        splitter = ms.StratifiedKFold if stratify else ms.KFold
    with warnings.catch_warnings():
        # `split_notes` reports classes smaller than the number of folds.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        parts = splitter(**options).split(np.zeros((len(table.y), 1)), table.y, table.group)
        return _first_test(parts, split.fold)


def _check_groups(group: np.ndarray, parts: int) -> None:
    import numpy as np

    if (found := len(np.unique(group))) < parts:
        raise DataError(f"{found} groups cannot be divided into {parts}; use fewer folds")


def row_hashes(X: Any) -> np.ndarray:
    """Return a uint64 for each row of a frame or a CSR matrix: the sum over its mixed values."""
    import numpy as np
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        found = np.zeros(len(X), np.uint64)
        salts = np.arange(X.shape[1], dtype=np.uint64) * np.uint64(_SALT)
        is_text = np.array([isinstance(kind, pd.CategoricalDtype) for kind in X.dtypes])
        for j in np.flatnonzero(is_text).tolist():
            found += _mixed(X.iloc[:, j].cat.codes.to_numpy(np.float64), salts[j])
        numbers, salts = X.loc[:, ~is_text].to_numpy(np.float64), salts[~is_text]
        width = max(1, _CELLS // max(1, len(X)))
        for start in range(0, len(salts), width):  # single columns are slower
            part = slice(start, start + width)
            found += _mixed(numbers[:, part], salts[part]).sum(axis=1, dtype=np.uint64)
        return found
    kept = X.copy()
    kept.sum_duplicates()
    kept.eliminate_zeros()
    hashes = _mixed(kept.data, kept.indices.astype(np.uint64) * np.uint64(_SALT))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    by_row: np.ndarray = sums[kept.indptr[1:]] - sums[kept.indptr[:-1]]
    return by_row


def _mixed(values: np.ndarray, salt: Any) -> np.ndarray:
    """Return well-mixed 64 bits of each float64 (the finalizer of SplitMix64), salted by column."""
    import numpy as np

    clean = np.where(np.isnan(values), np.nan, values + 0.0)  # one form of NaN, and of zero
    bits = clean.view(np.uint64) + salt
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = bits ^ (bits >> np.uint64(31))
    return mixed
