"""Choose what grows the trees of second-order boosting, by its method and the table."""

from scipy import sparse

from algorithms.gbdt.input_table import find_categorical
from algorithms.newton.approx_grower import ProposalGrower
from algorithms.newton.exact_grower import ExactGrower
from algorithms.newton.histogram_grower import HistGrower
from algorithms.newton.levelwise_grower import LeveledGrower
from algorithms.newton.levelwise_grower import fits as levels_serve
from algorithms.newton.params import make_limits
from algorithms.runtime.threads import ALONE

SMALL_EXACT = 3_000_000  # rows × columns² below which one thread is faster, of exact trees
SMALL_APPROX = 1 << 15  # rows below which it is, where bins are chosen anew for each tree


def make_grower(model, params, X, weight, least_gain, workers):
    """Return what grows the trees.

    Parameters
    ----------
    model : the estimator, which has read X
    params : the estimator, None replaced by defaults
    X : (n_rows, n_features) as `newton.tables.read_rows` returns it
    weight : (n_rows,), or None where all rows weigh the same
    least_gain : float, what a split must gain in any case
    workers : Workers

    Raises
    ------
    ValueError
        Where the method takes no categories and there are some.
    """
    names = list(getattr(model, "feature_names_in_", []))
    limits = make_limits(params, X.shape[1], names, least_gain)
    categorical = find_categorical(model, "auto")
    name = type(model).__name__
    workers = workers if is_large(params, X) else ALONE
    is_local = params.tree_method == "approx" and params.proposal == "local"
    if categorical.any() and (is_local or params.tree_method == "exact"):
        asked = "proposal='local'" if is_local else "tree_method='exact'"
        raise ValueError(f"{asked} takes no categories: use tree_method='hist'")
    if params.tree_method == "exact" and levels_serve(X, limits, params):
        return LeveledGrower(X, limits, workers, name)
    if params.tree_method == "exact":
        return ExactGrower(X, limits, workers, name)
    if is_local:
        step = 1.0 / params.max_bin if params.sketch_eps is None else params.sketch_eps
        return ExactGrower(X, limits, workers, name, step)
    if params.tree_method == "approx":
        return ProposalGrower(X, categorical, limits, params, workers, name)
    return HistGrower(X, categorical, limits, params, workers, weight)


def is_large(params, X):
    """Return whether threads pay: to tell them of a task takes as long as a small one."""
    n_rows, n_columns = X.shape
    n_values = X.nnz if sparse.issparse(X) else n_rows * n_columns
    if params.tree_method == "exact":
        return n_values * n_columns >= SMALL_EXACT
    return params.tree_method == "hist" or n_rows >= SMALL_APPROX
