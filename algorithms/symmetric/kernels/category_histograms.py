"""Integer histograms of the statistics of a combination that is new at a level of a tree."""

from algorithms.runtime.jit import kernel
from algorithms.symmetric.kernels.split_scores import build_leaf


@kernel
def build_all_leaves(
    bins, records, rows, starts, ends, n_leaves, features, stride, planes, work, sums
):
    """Write the histograms of all leaves, each summed from its rows.

    Parameters
    ----------
    n_leaves : int
    bins, records, rows, starts, ends, features, stride, planes, work, sums : as in `build_level`
    """
    n_columns = bins.shape[1]
    for leaf in range(n_leaves):
        build_leaf(
            bins, records, rows, starts[leaf], ends[leaf], features, 0, n_columns, stride,
            planes[leaf], work, sums,
        )  # fmt: skip
