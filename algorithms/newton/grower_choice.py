"""Choice of the grower of second-order boosting, by tree method and table."""

from scipy import sparse

from algorithms.gbdt.input_table import find_categorical
from algorithms.newton.approx_grower import ProposalGrower
from algorithms.newton.exact_grower import ExactGrower
from algorithms.newton.histogram_grower import HistGrower
from algorithms.newton.levelwise_grower import LevelwiseGrower
from algorithms.newton.levelwise_grower import fits as fits_levelwise
from algorithms.newton.params import make_limits
from algorithms.newton.vector_grower import VectorGrower
from algorithms.runtime.threads import ALONE

SMALL_EXACT = 3_000_000  # rows × columns² below which one thread is faster for exact trees
SMALL_APPROX = 1 << 15  # rows below which one thread is faster for the approximate method


def make_grower(model, params, X, weight, least_gain, workers, n_outputs=1):
    """Return the grower of the trees.

    Parameters
    ----------
    model : the estimator, after it has read X
    params : the estimator, with None replaced by defaults
    X : (n_rows, n_features) as `newton.input_table.read_rows` returns it
    weight : (n_rows,), or None if all weights are equal
    least_gain : float, minimum gain of any split
    workers : Workers
    n_outputs : int, number of values of each leaf

    Raises
    ------
    ValueError
        If there are categorical columns and the method does not support them.
    """
    names = list(getattr(model, "feature_names_in_", []))
    limits = make_limits(params, X.shape[1], names, least_gain)
    if n_outputs > 1:
        return VectorGrower(X, limits, params, workers, weight, n_outputs)
    categorical = find_categorical(model, "auto")
    name = type(model).__name__
    workers = workers if is_large(params, X) else ALONE
    is_local = params.tree_method == "approx" and params.proposal == "local"
    if categorical.any() and (is_local or params.tree_method == "exact"):
        option = "proposal='local'" if is_local else "tree_method='exact'"
        raise ValueError(f"{option} does not support categorical columns: use tree_method='hist'")
    if params.tree_method == "exact" and fits_levelwise(X, limits, params):
        return LevelwiseGrower(X, limits, workers, name)
    if params.tree_method == "exact":
        return ExactGrower(X, limits, workers, name)
    if is_local:
        step = 1.0 / params.max_bin if params.sketch_eps is None else params.sketch_eps
        return ExactGrower(X, limits, workers, name, step)
    if params.tree_method == "approx":
        return ProposalGrower(X, categorical, limits, params, workers, name)
    return HistGrower(X, categorical, limits, params, workers, weight)


def is_large(params, X):
    """Return whether several threads are faster than one."""
    n_rows, n_columns = X.shape
    n_values = X.nnz if sparse.issparse(X) else n_rows * n_columns
    if params.tree_method == "exact":
        return n_values * n_columns >= SMALL_EXACT
    return params.tree_method == "hist" or n_rows >= SMALL_APPROX
