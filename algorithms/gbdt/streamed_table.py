"""Training tables that are read in batches: a Parquet file, or a function that yields batches.

Only the bins, the targets and a sample of the rows are held in memory, so the table may be larger
than it. The rows are read once for each pass: to count and check them, to draw the sample that
determines the bin edges, to choose the row order (large tables), and to bin them. The model is
bitwise that of the same table in memory.
"""

from dataclasses import dataclass
from os import PathLike, fspath

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_y, column_or_1d

from algorithms.compat.inputs import as_rows, as_vector
from algorithms.gbdt.binning import SampledTable, bin_dense, sample_rows
from algorithms.gbdt.gradient_quantization import IN_ORDER
from algorithms.gbdt.input_table import read_table
from algorithms.gbdt.missing_values import replace_missing
from algorithms.gbdt.row_order import SAMPLE, find_order_tree, order_of_positions
from algorithms.gbdt.split_table import split_columns

PAIR = 2
PARQUET_ROWS = 1 << 16  # rows that are read together
BUFFER_BYTES = 1 << 20  # of a column; otherwise whole row groups are read into memory


@dataclass(frozen=True)
class Batches:
    """Training rows that are read in batches.

    `fit` raises ValueError if a later pass has another number of rows.

    Parameters
    ----------
    read : callable without arguments
        It returns an iterator over pairs of X, an array or frame (n, n_features), and y, (n,)
        targets. X is numeric, NaN where missing, without a categorical dtype. Each call must return
        the same rows in the same order.
    """

    read: object

    def __post_init__(self):
        if not callable(self.read):
            raise TypeError(
                f"Batches needs a function that returns a new iterator at each call, not "
                f"{type(self.read).__name__}"
            )

    def pairs(self):
        """Yield X and y of each batch; raise ValueError if one is not a pair of them."""
        batches = self.read()
        if batches is None:
            raise ValueError("the function of Batches returned None instead of an iterator")
        for batch in batches:
            if not isinstance(batch, tuple | list) or len(batch) != PAIR:
                raise ValueError("each batch must be a pair (X, y)")
            if sparse.issparse(batch[0]):
                raise ValueError("X of a batch is sparse: only dense batches are supported")
            yield batch

    def mapped(self, name_columns):
        """Return these batches with a function applied to each X, and Arrow tables read."""
        return Batches(lambda: ((name_columns(as_rows(X)), as_vector(y)) for X, y in self.pairs()))


def is_streamed(X):
    """Return whether the X of ``fit`` is read in batches: the path of a file, or `Batches`."""
    return isinstance(X, str | PathLike | Batches)


def open_batches(X, y):
    """Return the `Batches` of the X and y of ``fit``.

    Raises
    ------
    ValueError, TypeError
        If y is not the name of a column of the file; if it is given beside `Batches`.
    """
    if isinstance(X, Batches):
        if y is not None:
            raise ValueError("Batches yield the targets: call fit(batches, None)")
        return X
    if not isinstance(y, str):
        raise TypeError(
            "y must be the name of the target column if X is the path of a Parquet file, "
            f"not {type(y).__name__}"
        )
    return Batches(lambda: read_parquet(fspath(X), y))


def read_parquet(path, target):
    """Yield the columns of a Parquet file without the target, as frames, and the target."""
    from pyarrow import parquet

    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
        names = file.schema_arrow.names
        if target not in names:
            raise ValueError(f"{path} has no column {target!r}; it has {', '.join(names[:20])}")
        for batch in file.iter_batches(PARQUET_ROWS, use_threads=False):
            frame = batch.to_pandas(ignore_metadata=True)  # an index of pandas is a column
            yield frame, frame.pop(target).to_numpy()


class StreamedTable:
    """Checked training table whose rows are read in batches.

    Parameters
    ----------
    params : the estimator; its attributes about columns are set
    source : Batches

    Attributes
    ----------
    shape : (n_rows, n_features)
    dtype : float32, or float64 if a batch is
    y : (n_rows,) targets
    """

    sparse_columns = ()

    def __init__(self, params, source):
        refuse_options(params)
        self.params, self.source, self.dtype = params, source, np.dtype(np.float32)
        n_rows, targets = 0, []
        for X, y in source.read():
            if not len(X):
                continue
            table = read_table(params, X, reset=n_rows == 0)
            if params.categories_:
                raise ValueError(
                    "columns with a categorical dtype cannot be read in batches: read their codes, "
                    "or give the whole table"
                )
            self.dtype = np.promote_types(self.dtype, table.dtype)
            n_rows += len(table)
            targets.append(column_or_1d(y))
            if len(targets[-1]) != len(table):
                raise ValueError(
                    f"a batch has {len(table)} rows and {len(targets[-1])} values of y"
                )
        if not n_rows:
            raise ValueError("no batch has a row")
        self.shape, self.y = (n_rows, params.n_features_in_), np.concatenate(targets)

    @property
    def size(self):
        """Number of values."""
        return self.shape[0] * self.shape[1]

    def __getitem__(self, rows):
        """Raise ValueError: rows cannot be selected."""
        raise ValueError("sample_weight has zeros: remove these rows from the batches")

    def checked_targets(self, *, y_numeric=False):
        """Return y as scikit-learn validates it."""
        return _check_y(self.y, y_numeric=y_numeric, estimator=self.params)

    def batches(self):
        """Yield the number of the first row, and the rows, (n, n_features) with NaN if missing.

        Raises
        ------
        ValueError
            If there are more or fewer rows than in the first pass.
        """
        first = 0
        for X, _ in self.source.read():
            if not len(X):
                continue
            table = read_table(self.params, X, reset=False).astype(self.dtype, copy=False)
            if first + len(table) <= self.shape[0]:
                yield first, replace_missing(self.params, table)
            first += len(table)
        if first != self.shape[0]:
            raise ValueError(
                f"the batches have {first} rows; they had {self.shape[0]} before: each call of the "
                "function must return a new iterator over the same rows"
            )

    def sample(self, wanted):
        """Return the `SampledTable` of about so many rows, and the rows that determine the order.

        Parameters
        ----------
        wanted : int, as in `sample_rows`
        """
        drawn, of_order = (sample_rows(self.shape[0], count) for count in (wanted, SAMPLE))
        rows = np.union1d(drawn, of_order)
        values = np.empty((len(rows), self.shape[1]), self.dtype)
        any_missing = np.zeros(self.shape[1], bool)
        for first, X in self.batches():
            begin, end = np.searchsorted(rows, (first, first + len(X)))
            values[begin:end] = X[rows[begin:end] - first]
            any_missing |= np.isnan(X).any(axis=0)
        own = values if len(drawn) == len(rows) else values[np.searchsorted(rows, drawn)]
        sampled = SampledTable(split_columns(own, bundles=False), self.shape[0], any_missing)
        return sampled, values[np.searchsorted(rows, of_order)]

    def find_order(self, sample, binner, objective, targets, workers):
        """Return the row order, as `row_order.find_order` does.

        Parameters
        ----------
        sample : (n, n_features), from `sample`
        """
        drawn = sample_rows(self.shape[0], SAMPLE)
        walker = find_order_tree(sample, binner, objective, targets[:, drawn], workers)
        if walker is None:
            return IN_ORDER
        position = np.empty(self.shape[0], np.uint16)
        for first, X in self.batches():
            position[first : first + len(X)] = walker.raw(X, workers.threads)[:, 0]
        return order_of_positions(position)

    def bin(self, binner, workers, number, *, keeps_columns):
        """Return the bins of all rows, as `bin_dense` does."""
        n_rows, n_features = self.shape
        rows = np.empty((n_rows, n_features), np.uint8)
        columns = np.empty((n_features if keeps_columns else 0, n_rows), np.uint8)
        position = np.empty(len(number), np.uint32)
        position[number] = np.arange(len(number), dtype=np.uint32)
        for first, X in self.batches():
            table, here = split_columns(X, bundles=False), slice(first, first + len(X))
            bins, _ = bin_dense(table, binner, workers, IN_ORDER[0], keeps_columns=False)
            at = position[here] if len(number) else here
            rows[at] = bins
            if keeps_columns:
                columns[:, at] = bins.T
        return rows, columns


def refuse_options(params):
    """Raise ValueError if a parameter needs all values of the table in memory."""
    categorical = params.categorical_feature
    is_set = {
        "parity": params.parity is not None,
        "linear_tree": params.linear_tree,
        "boosting_type": params.boosting_type == "dart",
        "categorical_feature": not isinstance(categorical, str) and len(categorical) > 0,
    }
    for name, needs_values in is_set.items():
        if needs_values:
            raise ValueError(
                f"{name}={getattr(params, name)!r} needs the whole table in memory: give X as an "
                "array or a frame"
            )
