"""Input validation of X for the histogram booster; categorical columns of frames become codes.

Frames are pandas or polars. Sparse X stays sparse; its absent entries are zeros.
"""

from numbers import Integral

import numpy as np
from scipy import sparse

from algorithms.estimator.deferred_imports import is_frame, pd
from algorithms.estimator.fast_validation import plain_table, plain_training_rows
from algorithms.estimator.frame_to_array import as_they_are, codes_with_nan, is_plain, lay_out
from algorithms.estimator.frames import columns_of_lists, is_polars, validate_data, with_categories
from algorithms.estimator.validation import clip_infinite


def read_table(estimator, X, *, reset, y="no_validation", known=None, **options):
    """Return X as a C-contiguous float array, NaN where missing, with scikit-learn's validation.

    Sparse X becomes CSR or CSC, with duplicate entries added up. float32 and float64 are kept; all
    other dtypes become float64. Columns of a pandas or polars frame with a categorical dtype become
    codes, according to the categories of training. With ``reset``, these are stored in
    ``estimator.categories_``: column name (or position if names are not text) → categories.

    Parameters
    ----------
    estimator : the estimator; if its ``takes_infinity`` is True, infinite values become large ones
    X : table
    reset : bool, True in training
    y : targets, optional
    known : dict or list, optional
        ``categories_`` of an initial model. Their codes are kept; new categories get higher codes.

    Raises
    ------
    ValueError, TypeError
        scikit-learn's errors. For columns of a frame that are not numeric, the error names them.
    """
    if not reset:
        few = plain_table(estimator, X)
        if few is not None:
            return few
        X = with_known_names(estimator, X)
    X = given = with_categories(X, None if reset else estimator.categories_)
    if is_frame(X):
        X = encode_frame(estimator, X, reset=reset, known=known)
    elif reset:
        estimator.categories_ = go_on_with(known, {})
    is_ours = X is not given
    if reset and options.keys() <= {"y_numeric"}:
        plain = plain_training_rows(estimator, X, y, is_owned=is_ours)
        if plain is not None:
            return plain
    dtype = [np.float64, np.float32]
    takes_infinity = getattr(estimator, "takes_infinity", False)
    validated = validate_data(
        estimator,
        X,
        y,
        reset=reset,
        keeps_sparse=True,
        dtype=dtype,
        order="C",
        accept_sparse=["csr", "csc"],
        ensure_all_finite=False if takes_infinity else "allow-nan",
        **options,
    )
    X, rest = (validated[0], validated[1:]) if isinstance(validated, tuple) else (validated, None)
    X = clip_infinite(X) if takes_infinity else X
    if is_ours:
        X.flags.writeable = True  # pandas makes its arrays read-only
    X = add_up(X)
    return X if rest is None else (X, *rest)


def with_known_names(estimator, X):
    """Return a frame with a model's column names, if LightGBM's text writes both names alike.

    A blank is written as "_". The model has "_" if LightGBM saved it, the blank if we did.
    """
    trees, names = (getattr(estimator, n, None) for n in ("ensemble_", "feature_names_in_"))
    is_read = names is not None and getattr(trees, "library", "") == "lightgbm"
    if not is_read or not is_frame(X):
        return X
    written, known = (
        [n.replace(" ", "_") if isinstance(n, str) else n for n in own]
        for own in (X.columns, names)
    )
    return X.set_axis(names, axis=1) if written == known else X


def add_up(X):
    """Return X with duplicate entries of a sparse matrix added up."""
    if not sparse.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    if np.isinf(X.data).any():
        raise ValueError("Input X contains infinity or a value too large where entries add up")
    return X


def encode_frame(estimator, X, *, reset, known=None, dtype=np.float64):
    """Return a frame with categories replaced by codes; of one dtype if all others are numeric.

    Columns are identified by name, or by position if names are not text, as in scikit-learn. A
    LightGBM file may hold lists of categories without their columns. These lists then belong to
    the frame's categorical columns, in order, as in LightGBM.
    """
    if reset:
        kinds = X.dtypes.tolist()
        categorical = pd.CategoricalDtype
        places = [j for j, kind in enumerate(kinds) if isinstance(kind, categorical)]
        named = all(isinstance(name, str) for name in X.columns)
        keys = X.columns[places].tolist() if named else places
        categories_of = {k: kinds[j].categories for k, j in zip(keys, places, strict=True)}
        if getattr(estimator, "parity", None) == "scikit-learn":
            categories_of = {k: sort_names(categories) for k, categories in categories_of.items()}
        estimator.categories_ = go_on_with(known, categories_of)
    if estimator.categories_ is None and (X.dtypes == "category").any():
        raise ValueError(
            "the model is of a file that does not name its categories: give them as the codes "
            "that it was trained on, such as X[column].cat.codes"
        )
    if not estimator.categories_:
        return X
    if isinstance(estimator.categories_, list):
        places = columns_of_lists(X, len(estimator.categories_))
        return with_codes(X, dict(zip(places, estimator.categories_, strict=True)), dtype)
    place = places_of(estimator, X)
    categories_of = {place.get(key, key): own for key, own in estimator.categories_.items()}
    here = range(X.shape[1])  # scikit-learn's check reports missing columns
    return with_codes(X, {at: own for at, own in categories_of.items() if at in here}, dtype)


def with_codes(X, places, dtype):
    """Return a frame with the codes of some columns; NaN for values that are no category.

    If all other columns are numeric, the values share one C-contiguous array.

    Parameters
    ----------
    X : pandas.DataFrame
    places : dict, position of a column → its categories
    dtype : float dtype of that array
    """
    columns = [column for _, column in X.items()]  # `iloc` takes twice the time
    coded = {j: code_column(columns[j], categories) for j, categories in places.items()}
    if all(is_plain(one.dtype) for j, one in enumerate(columns) if j not in coded):
        values_array = np.empty(X.shape, dtype)
        for j, one in enumerate(columns):
            if j not in coded:
                coded[j] = one.to_numpy(), as_they_are
        lay_out([coded[j] for j in range(len(columns))], values_array)
        return pd.DataFrame(values_array, X.index, X.columns, copy=False)
    X = X.copy(deep=False)
    for j, (values, read) in coded.items():
        X.isetitem(j, read(values))
    return X


def code_column(column, categories):
    """Return the values of a column, and a function that maps some of them to float64 codes.

    The code is NaN for a value that is no category.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = codes_with_nan(places_of_own(column, categories))
        return column.array.codes, codes.__getitem__  # without a series of the codes
    return place_among(column, categories), codes_with_nan


def places_of(estimator, X):
    """Return name → position of a frame's columns; the first one if two share a name.

    A frame whose names are not text is read by position, as in scikit-learn.
    """
    names = X.columns.tolist()
    if not all(isinstance(name, str) for name in names):
        names = getattr(estimator, "feature_names_in_", np.empty(0)).tolist()
    return {name: at for at, name in reversed(list(enumerate(names)))}


def place_among(column, categories):
    """Return the index of each value of a column in the categories, intp; −1 if it is not there.

    Raises
    ------
    ValueError
        If the column holds numbers (probably codes), but all categories are text.
    """
    if not isinstance(column.dtype, pd.CategoricalDtype):
        numbers = column.dtype.kind in "iuf" and column.notna().any()
        if numbers and len(categories) and all(isinstance(name, str) for name in categories):
            raise ValueError(
                f"column {column.name!r} holds numbers, its categories are text: give these, or "
                "codes in an array of all columns"
            )
        return categories.get_indexer(column.astype(object))
    return places_of_own(column, categories)[column.array.codes]


def places_of_own(column, categories):
    """Return the index of each of a column's categories in ``categories``, followed by −1: intp.

    The code of a missing value, −1, selects the last entry.
    """
    own = column.array.categories
    if own is categories:
        return np.append(np.arange(len(own)), -1)
    return np.append(categories.get_indexer(own.astype(object)), -1)


def sort_names(categories):
    """Return categories in ascending order, as scikit-learn numbers them, if they are sortable."""
    try:
        return categories.sort_values()
    except TypeError:  # mixed types, which scikit-learn rejects
        return categories


def go_on_with(known, found):
    """Return a table's categories in the order of an initial model's codes.

    Raises
    ------
    ValueError
        If the categorical columns are not those of the initial model.
    """
    if known is None:
        return found
    if isinstance(known, list):  # from a file that does not name the columns
        if len(known) != len(found):
            raise ValueError(
                f"X has categories in the columns {list(found)}; the lists of categories of the "
                f"model to go on from are {len(known)}"
            )
        known = dict(zip(found, known, strict=True))
    if known.keys() != found.keys():
        raise ValueError(
            f"X has categories in the columns {list(found)}, the model to go on from in "
            f"{list(known)}"
        )
    new = {key: own.difference(known[key], sort=False) for key, own in found.items()}
    return {key: old.append(new[key]) if len(new[key]) else old for key, old in known.items()}


def are_ordered(X):
    """Return which columns of a frame are ordered categories, list of bool; empty for arrays."""
    kinds = X.dtypes if is_frame(X) or is_polars(X) else ()
    return [isinstance(kind, pd.CategoricalDtype) and bool(kind.ordered) for kind in kinds]


def reads_as_lightgbm(estimator):
    """Return whether ordered categories are numbers, as in LightGBM; see `find_categorical`."""
    as_lightgbm = getattr(estimator, "parity", None) == "lightgbm"
    return as_lightgbm or getattr(estimator, "reads_categories_as_lightgbm", False)


def find_categorical(estimator, wanted, ordered=()):
    """Return which columns are categorical, bool (n_features,).

    These are the columns of a frame with a categorical dtype, and those named by ``wanted``. With
    parity="lightgbm" and in `algorithms.compat.lightgbm`, as in LightGBM, ordered categories are
    numeric, and if a list is given, so are all columns that it does not name.

    Parameters
    ----------
    estimator : the estimator
    wanted : "auto", a list of column numbers or names, or a mask, bool (n_features,)
    ordered : list of bool, see `are_ordered`; read only if `reads_as_lightgbm` holds

    Raises
    ------
    ValueError
        If a column does not exist, or a mask has the wrong length.
    """
    n_features = estimator.n_features_in_
    names = list(getattr(estimator, "feature_names_in_", []))
    is_categorical = np.zeros(n_features, bool)
    is_auto = isinstance(wanted, str)
    as_lightgbm = reads_as_lightgbm(estimator)
    for key in estimator.categories_:
        at = names.index(key) if isinstance(key, str) else key
        is_categorical[at] = not as_lightgbm or (is_auto and not ordered[at])
    if is_auto:
        return is_categorical
    for column in columns_of_mask(wanted, n_features):
        at = names.index(column) if isinstance(column, str) and column in names else column
        if not isinstance(at, Integral) or isinstance(at, bool) or not 0 <= at < n_features:
            raise ValueError(f"categorical_feature names {column!r}, which is not a column of X")
        is_categorical[at] = True
    return is_categorical


def columns_of_mask(wanted, n_features):
    """Return the columns selected by a mask; a list of columns is returned unchanged."""
    is_mask = len(wanted) > 0 and all(isinstance(one, bool | np.bool_) for one in wanted)
    if not is_mask:
        return wanted
    if len(wanted) != n_features:
        raise ValueError(
            f"categorical_feature is a mask of {len(wanted)}; X has {n_features} columns"
        )
    return np.flatnonzero(wanted).tolist()


def trim(weight):
    """Return the weights, or None if all are 1."""
    return None if weight is None or (weight == 1.0).all() else weight
