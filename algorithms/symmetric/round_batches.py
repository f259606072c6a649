"""Batches of rounds of plain boosting of small tables, each added by one kernel call.

A batch gives the same bits as its rounds one by one.
"""

import numpy as np

from algorithms.gbdt.gradient_quantization import checked
from algorithms.gbdt.resident_threads import packing_arrays
from algorithms.gbdt.sampling import seeds_of
from algorithms.runtime.batch_size import BatchSize
from algorithms.runtime.threads import make_team
from algorithms.symmetric.boosting import GROWTH, NEWTON_SCORES, SAMPLE, Booster
from algorithms.symmetric.category_grower import CategoryGrower
from algorithms.symmetric.grower import (
    NO_NOISE,
    NORMAL,
    PACKING,
    SymmetricGrower,
)
from algorithms.symmetric.kernels.boosting_rounds import (
    ALL_ROWS,
    BERNOULLI,
    MVS,
    LeafRules,
    LossRows,
    RoundArrays,
    RoundRules,
    RoundScratch,
    SampleRules,
    add_category_rounds,
    add_rounds,
)
from algorithms.symmetric.kernels.row_sampling import BLOCK
from algorithms.symmetric.leaf_values import FEW_ROWS
from algorithms.symmetric.objectives import Objective
from algorithms.symmetric.tree import SymmetricTree
from algorithms.symmetric.tree_split import describe_splits

MAX_ROUNDS = 64  # rounds in a batch
SAMPLINGS = {"No": ALL_ROWS, "MVS": MVS, "Bernoulli": BERNOULLI}


def can_batch(booster):
    """Return whether one kernel can add the rounds of a `Booster`.

    It does so in the calling thread, for losses of one score per row.
    """
    p, grower = booster.params, booster.grower
    return (
        type(booster) is Booster
        and type(grower) in BATCHES
        and type(booster.objective) is Objective
        and grower.grows_alone
        and booster.leaves.uses_single_kernel
        and len(booster.leaves.y) < FEW_ROWS
        and p.leaf_estimation_method != "Exact"
        and p.bootstrap_type in SAMPLINGS
        and not p.model_shrink_rate
        and booster.langevin is None
        and p.score_function not in NEWTON_SCORES
        and len(grower.features) > 0
    )


def add_in_batches(booster, count, after=None):
    """Add rounds to a `Booster` for which `can_batch` holds, until it has ``count`` trees.

    Parameters
    ----------
    booster : Booster
    count : int
    after : function without arguments that is called after each batch, optional

    Raises
    ------
    ValueError
        If a derivative or a leaf value is not finite.
    """
    if len(booster.done) >= count:  # a snapshot has all trees
        return
    booster.boost()
    batches = BATCHES[type(booster.grower)](booster)
    size = BatchSize(MAX_ROUNDS)
    while len(booster.done) < count:
        booster.workers.check()
        n_rounds = min(count - len(booster.done), size.wanted)
        size.run(n_rounds, batches.add, n_rounds)
        if after is not None:
            after()


class RoundBatches:
    """Adds batches of rounds to a `Booster` that has at least one tree, on numeric columns.

    Parameters
    ----------
    booster : Booster
    """

    split_width, key_width = 2, 0  # of `RoundArrays`

    def __init__(self, booster):
        self.booster, self.grower = booster, booster.grower
        p, objective = booster.params, booster.objective
        given = objective.slope, objective.is_exp, booster.y, booster.weight
        loss = LossRows(objective.kind, *given)
        has_steps = p.leaf_estimation_iterations > 1
        leaves = LeafRules(
            p.leaf_estimation_iterations,
            p.leaf_estimation_method == "Newton",
            has_steps and p.leaf_estimation_backtracking != "No",
            booster.rate,
        )
        kind = ALL_ROWS if p.subsample >= 1.0 else SAMPLINGS[p.bootstrap_type]
        mvs_reg = np.nan if p.mvs_reg is None else float(p.mvs_reg)
        sampling = SampleRules(kind, float(p.subsample), mvs_reg)
        self.rules = RoundRules(loss, leaves, sampling, NORMAL)
        self.scratch = make_scratch(booster)

    def add(self, count):
        """Add rounds.

        Parameters
        ----------
        count : int, at most MAX_ROUNDS
        """
        booster, grower = self.booster, self.grower
        rounds = self._rounds(count)
        last = np.ascontiguousarray(booster.done[-1].values[:, 0])
        scoring = grower.scoring(NO_NOISE)
        self._run(self.rules, grower.arrays, scoring, last, self.scratch, rounds)
        step_g, step_h = self.scratch.steps.tolist()
        checked(step_g, "gradients")
        checked(step_h, "hessians")
        n_done = count if rounds.n_splits[-1] >= 0 else int(np.argmin(rounds.n_splits))
        if n_done < count:
            booster.check(rounds.values[n_done])
        booster.done += self._trees(rounds)

    def _run(self, *given):
        """Call the kernel; parameters are those of `add_rounds`."""
        add_rounds(*given)

    def _rounds(self, count):
        """Return the `RoundArrays` of the next rounds."""
        booster, depth = self.booster, self.grower.depth
        numbers = np.arange(len(booster.done), len(booster.done) + count)
        growth = seeds_of(booster.seed, numbers, GROWTH)
        usable = [self.grower.draw_features(seed) for seed in growth.tolist()]
        decay = np.array([booster.noise_decay(number) for number in numbers.tolist()])
        strength = np.full(count, float(booster.params.random_strength))
        return RoundArrays(
            seeds_of(booster.seed, numbers, SAMPLE).astype(np.uint32),
            seeds_of(growth, PACKING, 0).astype(np.uint32),
            self.grower.level_seeds(growth[:, None, None]),
            np.array([self.grower.are_usable(one) for one in usable]),
            np.column_stack([strength, decay, 1.0 + decay]),
            np.array([self._permutation(seed) for seed in growth.tolist()], np.int64),
            np.empty((count, depth, self.split_width), np.int64),
            np.empty((count, depth, self.key_width), np.int64),
            np.full(count, -1, np.int64),
            np.empty((count, 1 << depth)),
            np.empty((count, 1 << depth)),
        )

    def _permutation(self, _seed):
        """Return the number of the permutation of a tree; numeric columns have none."""
        return 0

    def _trees(self, rounds):
        """Return the `SymmetricTree`s of the rounds, list."""
        splits = self._describe(rounds)
        of_leaves = rounds.values, rounds.weights
        trees = []
        for n, own, *leaves in zip(rounds.n_splits.tolist(), splits, *of_leaves, strict=True):
            values, weights = (one[: 1 << n] for one in leaves)
            trees.append(SymmetricTree(*own, values[:, None], weights))
        return trees

    def _describe(self, rounds):
        """Return the splits of each tree, list of tuples as in `GrownTree.describe`."""
        table = self.booster.table
        ends = np.cumsum(rounds.n_splits).tolist()
        is_split = np.arange(self.grower.depth) < rounds.n_splits[:, None]
        features, bins = rounds.splits[is_split].T
        columns = table.features[features]
        first = np.cumsum([0, *map(len, table.borders[:-1])])
        borders = np.concatenate(table.borders)[first[features] + bins]
        fields = columns, borders, table.nan_right[columns]
        spans = zip([0, *ends], ends, strict=False)
        return [tuple(one[a:b] for one in fields) for a, b in spans]


class CategoryRoundBatches(RoundBatches):
    """Adds batches of rounds on a table with categorical columns.

    Parameters
    ----------
    booster : Booster
    """

    def __init__(self, booster):
        super().__init__(booster)
        self.search = booster.grower.search
        self.split_width = self.search.splits.shape[1]
        self.key_width = self.search.tree.search.keys.shape[1]

    def _run(self, *given):
        """Call the kernel; parameters are those of `add_rounds`."""
        self.search.reserve(MAX_ROUNDS)
        scratch = self.search.take_scratch()
        add_category_rounds(*given, self.search.tree, scratch)
        self.search.scratch.append(scratch)

    def _permutation(self, seed):
        """Return the number of the permutation whose statistics choose the splits of a tree."""
        return self.grower.draw_permutation(seed)

    def _describe(self, rounds):
        """Return the splits of each tree, list of tuples as in `GrownTree.describe`."""
        found = []
        given = rounds.n_splits.tolist(), rounds.splits.tolist(), rounds.keys.tolist()
        for n, splits, keys in zip(*given, strict=True):
            pairs = zip(splits[:n], keys[:n], strict=True)
            read = [self.search.read_split(split, key) for split, key in pairs]
            found.append(describe_splits(read, self.booster.table))
        return found


BATCHES = {SymmetricGrower: RoundBatches, CategoryGrower: CategoryRoundBatches}


def make_scratch(booster):
    """Return the `RoundScratch` of a `Booster`."""
    n_rows, leaves = len(booster.y), 1 << booster.grower.depth
    return RoundScratch(
        team=make_team(1),
        score=booster.score[0],
        g=booster.g,
        records=booster.grower.records,
        rows=np.empty(n_rows, np.uint32),
        drawn=np.empty(n_rows, np.float32),
        packed=np.empty((2, n_rows), np.float32),
        values=np.empty((2, BLOCK)),
        noise=np.empty(len(NORMAL)),
        leaf_of=np.empty(n_rows, np.uint16),
        steps=np.ones(2),
        order=np.empty(0, np.uint32),
        leaves=booster.leaves.make_scratch(leaves),
        **packing_arrays(1),
    )
