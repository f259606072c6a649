"""XGBoost's `DMatrix`: rows with labels, weights and other fields."""

import numpy as np
import pandas as pd
from scipy import sparse

from algorithms.compat.inputs import as_vector
from algorithms.compat.xgboost.messages import XGBoostError, allow_positional, as_xgboost_errors
from algorithms.compat.xgboost.rows import CATEGORICAL, read_rows, write_saved
from algorithms.gbdt.query_groups import group_from_qid

VECTORS = ("label", "weight", "label_lower_bound", "label_upper_bound")
FLOATS = (*VECTORS, "base_margin", "feature_weights")
UINTS = ("group_ptr",)
FORBIDDEN = "[]<"  # characters that feature names may not have


class DMatrix:
    """Rows with labels, weights and other fields.

    Parameters
    ----------
    data : array, list, frame, sparse matrix or Arrow table (n_rows, n_features), or path of a file
        Converted to float32. A file is text in LibSVM's format (``"file?format=libsvm"``) or CSV
        (``"file?format=csv&label_column=0"``), or written by `save_binary`.
    label : array-like (n_rows,), default=None
    weight : array-like (n_rows,), default=None
        Weights of the rows; in ranking those of the queries, (n_queries,).
    base_margin : array-like (n_rows,) or (n_rows, n_scores), default=None
        Raw scores in place of the base score.
    missing : float, default=None
        Value that is read as missing, in addition to NaN.
    silent : bool
        It has no effect.
    feature_names, feature_types : list of str, default=None
        The type of a categorical column is "c"; other types are "q", "int", "float" and "i".
    nthread : int
        It has no effect.
    group : array-like of int (n_queries,), default=None
        Number of rows of each query.
    qid : array-like (n_rows,), default=None
        Query of each row; rows of a query are consecutive.
    label_lower_bound, label_upper_bound : array-like (n_rows,), default=None
        Bounds of the times of "survival:aft".
    feature_weights : array-like (n_features,), default=None
        Weights with which columns are drawn, if a parameter ``colsample_…`` is below 1.
    enable_categorical : bool, default=False
        Whether a frame may have categorical columns.
    data_split_mode : None
        It has no effect.
    """

    @allow_positional
    def __init__(
        self,
        data,
        label=None,
        *,
        weight=None,
        base_margin=None,
        missing=None,
        silent=False,  # noqa: ARG002 - it has no effect
        feature_names=None,
        feature_types=None,
        nthread=None,  # noqa: ARG002 - it has no effect
        group=None,
        qid=None,
        label_lower_bound=None,
        label_upper_bound=None,
        feature_weights=None,
        enable_categorical=False,
        data_split_mode=None,  # noqa: ARG002 - it has no effect
    ):
        if group is not None and qid is not None:
            raise ValueError("Either one of `group` or `qid` should be specified.")
        missing = np.nan if missing is None else missing
        rows = read_rows(data, missing, enable_categorical=enable_categorical)
        self._rows, self._fields = rows.table, {}
        self._names = self._types = None
        self.feature_names = rows.names if feature_names is None else feature_names
        self.feature_types = rows.types if feature_types is None else feature_types
        self.set_info(**(rows.fields or {}))
        self.set_info(
            label=label,
            weight=weight,
            base_margin=base_margin,
            group=group,
            qid=qid,
            label_lower_bound=label_lower_bound,
            label_upper_bound=label_upper_bound,
            feature_weights=feature_weights,
        )

    # ------------------------------------------------------------------ rows

    def rows(self):
        """Return the rows in a form that estimators accept: array, CSR matrix or frame.

        The columns of a frame are named 0, 1 and so on.
        """
        places = [at for at, kind in enumerate(self._types or ()) if kind == CATEGORICAL]
        if not places or isinstance(self._rows, pd.DataFrame):
            return self._rows
        codes = self._rows.toarray() if sparse.issparse(self._rows) else self._rows
        return pd.DataFrame(
            {at: as_categories(codes[:, at]) if at in places else codes[:, at]
             for at in range(codes.shape[1])}
        )  # fmt: skip

    def num_row(self):
        """Return the number of rows."""
        return self._rows.shape[0]

    def num_col(self):
        """Return the number of columns."""
        return self._rows.shape[1]

    def num_nonmissing(self):
        """Return the number of values that are not missing."""
        return self.get_data().nnz

    def get_data(self):
        """Return the rows as a float32 CSR matrix without missing values; categories as codes."""
        values = self._rows
        if isinstance(values, pd.DataFrame):
            columns = [
                column.cat.codes.where(column.cat.codes >= 0, np.nan)
                if isinstance(column.dtype, pd.CategoricalDtype)
                else column
                for _, column in values.items()
            ]
            values = np.column_stack(columns).astype(np.float32)
        if sparse.issparse(values):
            entries = values.tocoo()
            row, col, data = entries.row, entries.col, entries.data
        else:
            row, col = np.nonzero(~np.isnan(values))
            data = values[row, col]
        kept = ~np.isnan(data)
        found = sparse.csr_matrix(values.shape, dtype=np.float32)
        ends = np.cumsum(np.bincount(row[kept], minlength=values.shape[0]))
        found.indptr = np.concatenate([[0], ends]).astype(np.int32)
        found.indices, found.data = col[kept].astype(np.int32), data[kept]
        return found

    def slice(self, rindex, allow_groups=False):
        """Return a DMatrix with some rows.

        Parameters
        ----------
        rindex : list of int
            Positions of the rows.
        allow_groups : bool, default=False
            Whether rows with queries may be selected. The result has no queries.
        """
        at = np.asarray(rindex, np.intp)
        if "group_ptr" in self._fields and not allow_groups:
            raise XGBoostError("slice does not support group structure")
        values = self._rows.iloc[at] if isinstance(self._rows, pd.DataFrame) else self._rows[at]
        if isinstance(values, pd.DataFrame):
            values = values.reset_index(drop=True)
        part = object.__new__(DMatrix)
        part._rows, part._names, part._types = values, self._names, self._types
        whole = ("group_ptr", "feature_weights")
        part._fields = {k: v if k in whole else v[at] for k, v in self._fields.items()}
        part._fields.pop("group_ptr", None)
        return part

    def save_binary(self, fname, silent=True):  # noqa: ARG002 - it has no effect
        """Write the rows and all fields to a file that `DMatrix` can read."""
        if isinstance(self._rows, pd.DataFrame):
            raise XGBoostError("save_binary does not support frames with categorical columns")
        names = {"names": self._names, "types": self._types}
        named = {name: np.array(one) for name, one in names.items() if one is not None}
        write_saved(fname, self._rows, {**self._fields, **named})

    # ------------------------------------------------------------------ fields

    def set_info(
        self,
        *,
        label=None,
        weight=None,
        base_margin=None,
        group=None,
        qid=None,
        feature_names=None,
        feature_types=None,
        **others,
    ):
        """Set the given fields.

        Parameters
        ----------
        label, weight, base_margin, group, qid, feature_names, feature_types : as in `DMatrix`
        **others
            The other fields of `DMatrix`.
        """
        given = {"label": label, "weight": weight, "base_margin": base_margin, **others}
        for name, values in given.items():
            if values is None:
                continue
            if name in UINTS:
                self._fields[name] = np.asarray(values, np.uint32)
            else:
                self.set_float_info(name, values)
        if group is not None:
            self.set_group(group)
        if qid is not None:
            self._set_queries(qid)
        if feature_names is not None:
            self.feature_names = feature_names
        if feature_types is not None:
            self.feature_types = feature_types

    def set_float_info(self, field, data):
        """Set a field of floats by its name, from an array-like."""
        if field not in FLOATS:
            raise XGBoostError(f"Unknown float field name {field}")
        values = read_floats(data)
        if field == "label" and not np.isfinite(values).all():
            raise XGBoostError("Label contains NaN, infinity or a value too large.")
        if field == "weight" and not ((values >= 0.0) & np.isfinite(values)).all():
            raise XGBoostError("Weights must be positive values.")
        if field in VECTORS and values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if not values.size:
            self._fields.pop(field, None)
            return
        if field in ("label", "base_margin") and values.size % self.num_row():
            raise XGBoostError(f"{field} has {values.size} values for {self.num_row()} rows")
        self._fields[field] = values

    def set_uint_info(self, field, data):
        """Set the field "group" or "group_ptr" of integers from an array-like."""
        if field == "group":
            return self.set_group(data)
        self._fields["group_ptr"] = np.asarray(data, np.uint32)
        return None

    def get_float_info(self, field):
        """Return a field of floats by its name, float32; empty if it is not set."""
        if field not in FLOATS:
            raise XGBoostError(f"Unknown float field name {field}")
        return self._fields.get(field, np.empty(0, np.float32))

    def get_uint_info(self, field):
        """Return a field of integers by its name, uint32; empty if it is not set.

        The only one is "group_ptr": the first row of each query, and the number of rows.
        """
        if field not in UINTS:
            raise XGBoostError(f"Unknown uint field name {field}")
        return self._fields.get(field, np.empty(0, np.uint32))

    def set_label(self, label):
        """Set the labels, array-like (n_rows,)."""
        self.set_float_info("label", label)

    def set_weight(self, weight):
        """Set the weights, array-like (n_rows,); in ranking (n_queries,)."""
        self.set_float_info("weight", weight)

    def set_base_margin(self, margin):
        """Set the raw scores that replace the base score; see `DMatrix`."""
        self.set_float_info("base_margin", margin)

    def set_group(self, group):
        """Set the number of rows of each query, array-like (n_queries,)."""
        sizes = np.asarray(as_vector(group), np.int64).ravel()
        if sizes.sum() != self.num_row():
            raise XGBoostError(f"group has {sizes.sum()} rows, the data have {self.num_row()}")
        self._fields["group_ptr"] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)

    def _set_queries(self, qid):
        """Set the queries from the query of each row, array-like (n_rows,)."""
        with as_xgboost_errors():
            self.set_group(group_from_qid(as_vector(qid)))

    def get_label(self):
        """Return the labels, float32; empty if there are none."""
        return self.get_float_info("label")

    def get_weight(self):
        """Return the weights, float32; empty if there are none."""
        return self.get_float_info("weight")

    def get_base_margin(self):
        """Return the raw scores that replace the base score, float32; empty if there are none."""
        return self.get_float_info("base_margin")

    def get_group(self):
        """Return the number of rows of each query, int64 (n_queries,)."""
        return np.diff(self.get_uint_info("group_ptr").astype(np.int64))

    # ------------------------------------------------------------------ names

    @property
    def feature_names(self):
        """Names of the columns, list of str or None."""
        return self._names

    @feature_names.setter
    def feature_names(self, names):
        if names is None:
            self._names = None
            return
        names = [names] if isinstance(names, str) else [str(one) for one in names]
        if len(set(names)) != len(names):
            raise ValueError(f"feature_names must be unique; they are {names}")
        if len(names) != self.num_col() and self.num_col():
            raise ValueError(f"feature_names has {len(names)} entries for {self.num_col()} columns")
        if any(one in name for name in names for one in FORBIDDEN):
            raise ValueError("feature_names must be string, and may not contain [, ] or <")
        self._names = names or None

    @property
    def feature_types(self):
        """Types of the columns, list of str or None."""
        return self._types

    @feature_types.setter
    def feature_types(self, types):
        if types is None:
            self._types = None
            return
        types = [types] * self.num_col() if isinstance(types, str) else list(types)
        if not all(isinstance(one, str) for one in types):
            raise TypeError("feature_types must be a list of str")
        if len(types) != self.num_col() and self.num_col():
            raise ValueError(f"feature_types has {len(types)} entries for {self.num_col()} columns")
        self._types = types or None


class QuantileDMatrix(DMatrix):
    """`DMatrix` under another name: bins are computed in training.

    Parameters
    ----------
    data, label : as in `DMatrix`
    ref : DMatrix, default=None
    max_bin, max_quantile_batches : int
        These parameters and ``ref`` have no effect.
    **fields
        The other arguments of `DMatrix`.
    """

    def __init__(
        self,
        data,
        label=None,
        *,
        ref=None,  # noqa: ARG002 - it has no effect
        max_bin=None,  # noqa: ARG002 - it has no effect
        max_quantile_batches=None,  # noqa: ARG002 - it has no effect
        **fields,
    ):
        super().__init__(data, label, **fields)


def as_categories(codes):
    """Return codes as a pandas categorical with the categories 0, 1, …; NaN is missing."""
    is_valid = np.isnan(codes) | ((codes >= 0) & (codes == np.floor(codes)))
    if not is_valid.all():
        raise XGBoostError("Invalid categorical value in data: codes must be whole numbers from 0")
    whole = np.where(np.isnan(codes), -1, codes).astype(np.int64)
    return pd.Categorical.from_codes(whole, categories=range(int(whole.max(initial=-1)) + 1))


def read_floats(data):
    """Return labels, weights or scores as a float32 array."""
    values = as_vector(data)
    if isinstance(values, pd.Series | pd.DataFrame):
        values = values.to_numpy(np.float32, na_value=np.nan)
    with np.errstate(over="ignore"):
        return np.array(values, np.float32)
