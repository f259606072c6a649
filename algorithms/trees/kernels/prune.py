"""Minimal cost-complexity pruning: weakest links first.

Breiman, Friedman, Olshen, Stone (1984), chapter 3. With R(t) the impurity of node t times its
share of the weight, and R(T_t) the sum of that over the |T_t| leaves below it, the next branch to
be cut is the one with the smallest

    g(t) = (R(t) − R(T_t)) / (|T_t| − 1).
"""

from algorithms.runtime.jit import inner_kernel, kernel

GONE, INNER, LEAF = 0, 1, 2


@kernel
def cut_branches(nodes, parent, limit, status, risk, branch, n_leaves, strength, alphas, risks):
    """Cut the weakest branches while their g(t) is at most ``limit``.

    Parameters
    ----------
    nodes : (n,) NODE
    parent : (n,) int64, -1 at the root
    status : (n,) int64, written: whether a node is GONE, INNER or LEAF
    risk, branch, strength : (n,) float64, scratch for R(t), R(T_t), g(t)
    n_leaves : (n,) int64, scratch
    alphas, risks : (n,) float64, written: g of each cut, from 0, and R of the tree after it

    Returns
    -------
    int : how many entries of ``alphas`` and ``risks`` were written
    """
    sum_branches(nodes, parent, status, risk, branch, n_leaves)
    for i in range(len(nodes)):
        strength[i] = link_strength(i, risk, branch, n_leaves)
    alphas[0] = 0.0
    risks[0] = branch[0]
    count = 1
    while status[0] == INNER:
        weakest = -1
        for i in range(len(nodes)):
            if status[i] == INNER and (weakest < 0 or strength[i] < strength[weakest]):
                weakest = i
        if limit < strength[weakest]:
            break
        alphas[count] = strength[weakest]
        remove_below(nodes, weakest, status)
        status[weakest] = LEAF
        lost = n_leaves[weakest] - 1
        rise = risk[weakest] - branch[weakest]
        i = parent[weakest]
        while i >= 0:
            n_leaves[i] -= lost
            branch[i] += rise
            strength[i] = link_strength(i, risk, branch, n_leaves)
            i = parent[i]
        branch[weakest] = risk[weakest]
        risks[count] = branch[0]
        count += 1
    return count


@inner_kernel
def sum_branches(nodes, parent, status, risk, branch, n_leaves):
    """Write R(t), R(T_t) and |T_t| of each node."""
    for i in range(len(nodes)):
        risk[i] = nodes[i]["weight"] * nodes[i]["impurity"] / nodes[0]["weight"]  # R(t)
        branch[i] = 0.0
        n_leaves[i] = 0
        status[i] = LEAF if nodes[i]["left"] < 0 else INNER
    for leaf in range(len(nodes)):
        if status[leaf] == LEAF:
            branch[leaf] = risk[leaf]
            i = parent[leaf]
            while i >= 0:
                branch[i] += risk[leaf]  # R(T_t)
                n_leaves[i] += 1
                i = parent[i]


@inner_kernel
def link_strength(i, risk, branch, n_leaves):
    """Return g(t)."""
    return (risk[i] - branch[i]) / (n_leaves[i] - 1)


@inner_kernel
def remove_below(nodes, top, status):
    """Mark all nodes below one as gone; children come after their parents."""
    status[nodes[top]["left"]] = GONE
    status[nodes[top]["right"]] = GONE
    for i in range(top + 1, len(nodes)):
        if status[i] == GONE and nodes[i]["left"] >= 0:
            status[nodes[i]["left"]] = GONE
            status[nodes[i]["right"]] = GONE
