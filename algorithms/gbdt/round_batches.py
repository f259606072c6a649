"""Batches of boosting rounds, each added by one call of the growing kernel.

A batch gives the same bits as its rounds one by one. One thread adds all of it, or the threads of a
team divide the trees of a round, or they grow each tree together; see `gbdt.thread_choice`.
"""

from time import perf_counter

import numpy as np

from algorithms.gbdt.boosting import EXTRA, ROUNDING
from algorithms.gbdt.gradient_quantization import checked, stride_of_sizes
from algorithms.gbdt.grower import EVERY
from algorithms.gbdt.high_cardinality import collect_columns, for_batch
from algorithms.gbdt.kernels import booster_arrays
from algorithms.gbdt.kernels.booster_arrays import MAX_BINS, NODE, RoundArrays
from algorithms.gbdt.kernels.gradients import SOFTMAX
from algorithms.gbdt.model import GrownTree
from algorithms.gbdt.objectives import Objective
from algorithms.gbdt.phase_timer import ROUNDS, timed_phase
from algorithms.gbdt.resident_threads import (
    ThreadTrial,
    empty_rounds,
    grow,
    packing_arrays,
    rows_of_trees,
    work_arrays,
)
from algorithms.gbdt.thread_choice import ROWS_TO_MARK, is_faster_alone
from algorithms.runtime.interrupt_flag import check_interrupt
from algorithms.runtime.threads import ALONE, make_team

MAX_ROUNDS = 64  # rounds in a batch
TRIAL_ROUNDS = 2  # rounds in the first batch whose trees several threads grow together
MAX_SHARED = 16  # maximum number of such rounds; then their time is compared with one thread's
MAX_BYTES = 1 << 24  # size of the trees of a batch
RIGHT, LEFT = range(2)  # values of `Growth.goes_left`
NO_SCALE = booster_arrays.Scale(1.0, 1.0)  # the kernel computes that of each tree


def can_batch(booster):
    """Return whether a booster's further rounds can be added in batches, after the first one."""
    p, objective = booster.params, booster.target.objective
    samples = p.subsample < 1.0 or p.colsample_bytree < 1.0 or p.data_sample_strategy == "goss"
    samples = samples or p.feature_fraction_bynode < 1.0
    is_plain = isinstance(objective, Objective) and not objective.is_ranking
    return (
        is_plain
        and objective.renewed is None
        and not samples
        and not len(booster.order[0])
        and booster.linear is None
        and booster.n_rows < ROWS_TO_MARK
    )


def add_sets(trees, nodes, goes_left, codes, side):
    """Write the category sets of trees: the categories that each split sends to ``side``.

    Parameters
    ----------
    trees : list of GrownTree or NewtonTree, whose ``sets`` are written
    nodes : NODE (n_trees, n_nodes); unused nodes come after those of the tree
    goes_left : uint8 (at least n_trees, n_nodes, MAX_BINS)
    codes : list by feature; for a categorical one (categories, bins): integer (n_codes,),
        ascending, and integer bins (n_codes,), or (n_trees, n_codes) if each tree has its own
    side : LEFT or RIGHT
    """
    sizes = np.array([len(tree.nodes) for tree in trees])
    is_used = np.arange(nodes.shape[1]) < sizes[:, None]
    tree_of, node_of = np.nonzero(is_used & (nodes["is_categorical"] != 0))
    feature_of = nodes["feature"][tree_of, node_of]
    used = np.flatnonzero(np.bincount(feature_of)).tolist()
    shared = [f for f in used if codes[f][1].ndim == 1]  # the bins of all trees are the same
    for features in ([shared] if shared else []) + [[f] for f in used if f not in shared]:
        own = np.flatnonzero(np.isin(feature_of, features))
        n_codes = np.array([len(codes[f][0]) for f in features])
        number = np.searchsorted(features, feature_of[own])
        split = np.repeat(np.arange(len(own)), n_codes[number])  # of each pair of split and code
        code = np.arange(len(split))
        code += np.repeat((np.cumsum(n_codes) - n_codes)[number], n_codes[number])
        code -= np.repeat(np.cumsum(n_codes[number]) - n_codes[number], n_codes[number])
        tree, node = tree_of[own][split], node_of[own][split]
        bins = np.concatenate([codes[f][1] for f in features], axis=-1)
        is_sent = goes_left[tree, node, bins[code] if bins.ndim == 1 else bins[tree, code]]
        is_sent = is_sent == side
        sent_codes = np.concatenate([codes[f][0] for f in features])[code[is_sent]]
        ends = np.cumsum(np.bincount(split[is_sent], minlength=len(own))).tolist()
        places = tree_of[own].tolist(), node_of[own].tolist(), [0, *ends[:-1]], ends
        for tree, node, first, end in zip(*places, strict=True):
            trees[tree].sets[node] = sent_codes[first:end]


class RoundBatches:
    """Adds batches of rounds to a `Booster` for which `can_batch` holds.

    If the booster has several growers, each thread grows trees with one of them. Otherwise several
    threads grow each tree together, if that is faster than one thread.

    Parameters
    ----------
    booster : Booster
    rows : uint32, ascending; rows that the trees are grown on; (0,): all
    held_out : uint32, the other rows

    Attributes
    ----------
    held_out_scores : float64 (n_rounds, n_scores, n_held_out)
        Scores of the held-out rows after each round of the last batch.
    """

    rounding = ROUNDING  # purpose of the seeds of the rounding of gradients
    side = LEFT  # side of the codes in the category sets

    def __init__(self, booster, rows=EVERY, held_out=EVERY):
        self.rows, self.held_out, self.held_out_scores = rows, held_out, None
        self.booster, self.grower = booster, booster.grower
        self.is_divided = len(booster.growers) > 1
        self.workers, self.size, self.trial = booster.threads, len(booster.growers), None
        if not self.is_divided and not is_faster_alone(self.grower):
            self.workers, self.trial = self.grower.workers, ThreadTrial()
        self.max_shared = TRIAL_ROUNDS
        self.categories = self._collect_categories()
        self.y = np.require(booster.target.y, np.float64, ["C", "W"])  # as the kernel is compiled
        weight = booster.target.weight
        self.weight = np.empty(0) if weight is None else weight.copy()

    @timed_phase(ROUNDS)
    def add(self, count):
        """Add at most ``count`` rounds; return whether further rounds would change the scores.

        They would not if a round changes no score and thresholds are not random, because all
        further trees are the same.

        Raises
        ------
        ValueError
            If gradients are not finite.
        """
        count, began = self._plan(min(count, self._max_rounds())), perf_counter()
        rounds = self._rounds(count)

        def run(rank, _):
            self._grow(rounds._replace(rank=rank, **self._arrays_of_thread(rounds)))

        workers = self.workers if self.size > 1 else ALONE
        workers.share(run, self.size, rounds.team)
        check_interrupt(rounds.team.flag)
        n_done = int(rounds.n_leaves.all(axis=1).sum())
        self._check_steps(rounds.steps, n_done)
        if self.trial is not None:
            self.trial.note(perf_counter() - began, count)
        self.booster.rounds += self._trees(rounds, n_done)
        self.held_out_scores = rounds.held_out_scores[:n_done]
        return bool(rounds.continues[n_done - 1] or self.grower.rules.extra_trees)

    def _check_steps(self, steps, _n_done):
        """Raise ValueError if a step is NaN: then gradients are not finite.

        Parameters
        ----------
        steps : float64 (n_scores, 2), of g and h
        _n_done : number of finished rounds of the batch
        """
        for step_g, step_h in steps:
            checked(step_g, "gradients")
            checked(step_h, "hessians")

    def _plan(self, count):
        """Choose the number of threads; return the number of rounds of the next batch."""
        if self.trial is None:
            return count
        if self.trial.alone:
            self.size, self.max_shared = 1, TRIAL_ROUNDS
            return min(count, self.trial.alone)
        self.size, most = self.grower.size, self.max_shared
        self.max_shared = min(2 * most, MAX_SHARED)
        return min(count, most)

    def _arrays_of_thread(self, rounds):
        """Return the arrays that a thread does not share with the others, by name."""
        own = work_arrays(len(rounds.score))
        return own | packing_arrays(1) if self.is_divided else own

    def _grow(self, rounds):
        """Grow the trees of one thread, or its part of all trees."""
        workspace = self.booster.workspaces[rounds.rank if self.is_divided else 0]
        grower, records = workspace.grower, workspace.records
        growth, rules = grower.growth, grower.rules
        growth.state[booster_arrays.ROWS] = len(self.rows) or len(growth.rows)
        given = grower.bins, records, growth, grower.scratch, rules
        team = (make_team(1), 0) if self.is_divided else (rounds.team, rounds.rank)
        grow(NO_SCALE, *team, *given, rounds=rounds)

    def _max_rounds(self):
        """Return the maximum number of rounds in a batch, which limits the size of its arrays."""
        n_nodes = len(self.grower.growth.nodes) * len(self.booster.score)
        per_node = NODE.itemsize + (MAX_BINS if len(self.grower.bins.sizes) else 0)
        per_score = 8 * len(self.held_out) + self.categories.first[-1]
        of_scores = per_score * len(self.booster.score)
        return max(1, min(MAX_ROUNDS, MAX_BYTES // (n_nodes * per_node + of_scores)))

    def _rounds(self, n_rounds):
        """Return the `RoundArrays` of the next batch, with the work arrays of the first thread."""
        booster, grower = self.booster, self.grower
        first, n_scores = booster.first + len(booster.rounds), len(booster.score)
        numbers, scores = np.arange(first, first + n_rounds)[:, None], np.arange(n_scores)
        n_nodes = len(grower.growth.nodes)
        n_set_nodes = n_nodes if len(grower.bins.sizes) else 0
        objective = booster.target.objective
        return RoundArrays(
            team=make_team(self.size),
            rank=0,
            kind=SOFTMAX if objective.kind is None else int(objective.kind),
            constant=float(objective.constant),
            learning_rate=float(booster.rate),
            weight_unit=float(booster.weight_unit),
            stride=stride_of_sizes(booster.n_rows),
            seeds=booster.seeds(numbers, scores, self.rounding).astype(np.uint32),
            extra_seeds=(booster.seeds(numbers, scores, EXTRA) >> 1).astype(np.uint32),
            score=booster.score,
            y=self.y,
            weight=self.weight,
            g=booster.g,
            h=booster.h,
            categories=for_batch(self.categories, n_rounds, n_scores, self.size),
            **rows_of_trees(self.rows, self.held_out),
            **work_arrays(n_scores),
            **packing_arrays(self.size),
            **empty_rounds(n_rounds, n_scores, n_nodes, n_set_nodes, len(self.held_out)),
        )

    def _collect_categories(self):
        """Return the `CategoryBins` of the table."""
        booster = self.booster
        rules = booster.params.cat_smooth, booster.weight_unit
        return collect_columns(booster.high_cardinality, *rules)

    def _trees(self, rounds, n_done):
        """Return the trees of the finished rounds, a list for each round."""
        n_scores = len(rounds.score)
        nodes = rounds.nodes[:n_done].reshape(n_done * n_scores, -1)
        n_leaves = rounds.n_leaves[:n_done].ravel().tolist()
        trees = self._make_trees(nodes, n_leaves)
        if len(self.grower.bins.sizes):
            goes_left = rounds.goes_left[:n_done]
            goes_left = goes_left.reshape(len(trees), -1, MAX_BINS)
            add_sets(trees, nodes, goes_left, self._codes(rounds.categories, n_done), self.side)
        return [trees[i : i + n_scores] for i in range(0, len(trees), n_scores)]

    def _make_trees(self, nodes, n_leaves):
        """Return a list of trees, one for each row of ``nodes``, without category sets."""
        return [GrownTree(own[: 2 * n - 1], {}) for own, n in zip(nodes, n_leaves, strict=True)]

    def _codes(self, categories, n_done):
        """Return the codes and their bins of each categorical feature, as in `add_sets`."""
        codes = list(self.grower.codes)
        n_scores, n_codes = categories.bins.shape[1:]
        bins = categories.bins[:n_done].reshape(n_done * n_scores, n_codes)
        for column, first in zip(self.booster.high_cardinality, categories.first, strict=False):
            last = first + len(column.categories)
            codes[column.feature] = column.categories, bins[:, first:last]
        return codes
