"""Batches of boosting rounds, each added by one call of the growing kernel.

A batch gives the same bits as its rounds one by one. It is used by one thread: either there is only
one, or the trees are so small that the Python code between them takes longer than a second thread
saves.
"""

import numpy as np

from algorithms.gbdt.gradient_quantization import stride_of_sizes
from algorithms.gbdt.kernels import booster_arrays
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS, NODE, Rounds
from algorithms.gbdt.model import GrownTree
from algorithms.gbdt.phase_timer import ROUNDS, timed_phase
from algorithms.gbdt.resident_threads import empty_rounds, grow
from algorithms.runtime.exact_sum_kernels import SINGLE_EXPONENTS
from algorithms.runtime.interrupt_flag import check_interrupt
from algorithms.runtime.threads import make_team

MOST_ROUNDS = 64  # rounds in a batch
MOST_BYTES = 1 << 24  # size of the trees of a batch
MOST_WORK = 400_000  # work of a tree, about nanoseconds, up to which one thread adds rounds faster
NO_SCALE = booster_arrays.Scale(1.0, 1.0)  # the kernel computes that of each tree


def is_small(grower):
    """Return whether one thread adds rounds with a grower faster than several."""
    bins, rules = grower.bins, grower.rules
    n_values = bins.rows.size + len(bins.sparse.cells)
    leaves = min(rules.num_leaves, len(bins.rows) // max(rules.min_child_samples, 1) + 1)
    return grower.size == 1 or 2 * n_values + 3 * leaves * bins.layout.length.sum() <= MOST_WORK


def can_batch(booster):
    """Return whether a booster's further rounds can be added in batches, after the first one."""
    p, objective = booster.params, booster.target.objective
    samples = p.subsample < 1.0 or p.colsample_bytree < 1.0 or p.data_sample_strategy == "goss"
    is_plain = getattr(objective, "kind", None) is not None and objective.renewed is None
    return (
        is_plain
        and not samples
        and not p.extra_trees
        and len(booster.score) == len(booster.growers) == 1
        and not len(booster.order[0])
        and not booster.high_cardinality
        and is_small(booster.grower)
    )


def add_sets(trees, goes_left, codes):
    """Add the codes that categorical splits send left to trees, column by column.

    Parameters
    ----------
    trees : list of GrownTree, without sets
    goes_left : uint8 (at least n_trees, n_nodes, MAX_BINS)
    codes : list, for each categorical feature its codes, ascending, and their bins
    """
    places = [np.flatnonzero(tree.nodes["is_set"]) for tree in trees]
    tree_of = np.repeat(np.arange(len(trees)), [len(own) for own in places])
    node_of = np.concatenate([*places, np.empty(0, np.int64)])
    pairs = zip(trees, places, strict=True)
    features = [tree.nodes["feature"][own] for tree, own in pairs if len(own)]
    feature_of = np.concatenate([*features, np.empty(0, np.int64)])
    for f in np.unique(feature_of).tolist():
        feature_codes, bins = codes[f]
        own = np.flatnonzero(feature_of == f)
        is_left = goes_left[tree_of[own], node_of[own]][:, bins] == 1
        left_codes = feature_codes[np.nonzero(is_left)[1]]
        ends = np.cumsum(np.count_nonzero(is_left, axis=1)).tolist()
        firsts = [0, *ends[:-1]]
        for i, first, end in zip(own.tolist(), firsts, ends, strict=True):
            trees[tree_of[i]].sets[int(node_of[i])] = left_codes[first:end]


class RoundBatches:
    """Adds batches of rounds to a `Booster` for which `can_batch` holds.

    Parameters
    ----------
    booster : Booster
    """

    def __init__(self, booster):
        self.booster, self.grower = booster, booster.grower
        self.y = booster.target.y[0].astype(np.float64)  # a copy: the kernel takes no read-only y
        weight = booster.target.weight
        self.weight = np.empty(0) if weight is None else weight.copy()

    @timed_phase(ROUNDS)
    def add(self, count):
        """Add at most ``count`` rounds; return whether training may go on.

        It does not if a tree changes no score, because all further trees would be the same.
        """
        booster, grower = self.booster, self.grower
        rounds = self._rounds(min(count, self._most_rounds()))
        growth, team = grower.growth, make_team(1)
        growth.state[booster_arrays.ROWS] = len(growth.rows)
        records = booster.workspaces[0].records
        grow(
            NO_SCALE,
            team,
            0,
            grower.bins,
            records,
            growth,
            grower.scratch,
            grower.rules,
            rounds=rounds,
        )
        check_interrupt(team.flag)
        n_done = int(rounds.done[0])
        booster.rounds += [[tree] for tree in self._trees(rounds, n_done)]
        if n_done < len(rounds.seeds) and not self._is_settled():
            booster.boost()  # raises the error of gradients that are not finite
        return not self._is_settled()

    def _most_rounds(self):
        """Return the maximum number of rounds in a batch, which limits the size of its arrays."""
        n_nodes = len(self.grower.growth.nodes)
        per_node = NODE.itemsize + (MAX_BINS if len(self.grower.bins.sizes) else 0)
        return max(1, min(MOST_ROUNDS, MOST_BYTES // (n_nodes * per_node)))

    def _rounds(self, n_rounds):
        """Return the `Rounds` of the next batch."""
        booster, grower = self.booster, self.grower
        first = booster.first + len(booster.rounds)
        seeds = [booster.rounding_seed(number, 0) for number in range(first, first + n_rounds)]
        n_nodes = len(grower.growth.nodes)
        n_set_nodes = n_nodes if len(grower.bins.sizes) else 0
        objective = booster.target.objective
        return Rounds(
            kind=int(objective.kind),
            constant=float(objective.constant),
            rate=float(booster.rate),
            weight_unit=float(booster.weight_unit),
            stride=stride_of_sizes(len(self.y)),
            seeds=np.array(seeds, np.uint32),
            score=booster.score[0],
            y=self.y,
            weight=self.weight,
            g=booster.g[0],
            h=booster.h[0],
            tables=np.empty((1, 2, SINGLE_EXPONENTS + 1), np.int64),
            steps=np.ones(2),
            bounds=np.ones(2, np.int64),
            no_rows=np.empty(0, np.uint32),
            **empty_rounds(n_rounds, n_nodes, n_set_nodes),
        )

    def _trees(self, rounds, n_done):
        """Return the trees of the finished rounds."""
        n_leaves = rounds.n_leaves[:n_done].tolist()
        trees = [GrownTree(rounds.nodes[at, : 2 * n - 1], {}) for at, n in enumerate(n_leaves)]
        if len(self.grower.bins.sizes):
            add_sets(trees, rounds.goes_left, self.grower.codes)
        return trees

    def _is_settled(self):
        """Return whether the last tree changed no score."""
        return not np.count_nonzero(self.booster.rounds[-1][0].nodes["value"])
