"""Boosting rounds: derivatives, packed gradients, row sampling, trees and score updates.

    F₀ = the constant that minimizes the loss
    F_m = F_{m−1} + η · tree_m            tree_m grown on g, h of the loss at F_{m−1}

With several scores per row (classes), each round grows one tree per score, all from the same
scores.
"""

from dataclasses import dataclass, field, replace
from queue import SimpleQueue

import numpy as np

from algorithms.estimator.constraints import read_signs
from algorithms.estimator.eval_sets import count_arguments, read_derivatives
from algorithms.gbdt.gradient_quantization import IN_ORDER, ROWS_TO_PACK, pack_rows
from algorithms.gbdt.high_cardinality import assign_bins, find_frequent, sum_by_category, write_bins
from algorithms.gbdt.kernels.gradient_packing import BLOCK, MEAN_BITS
from algorithms.gbdt.kernels.gradients import ROWS, differentiate, differentiate_classes
from algorithms.gbdt.objectives import CLASSES, to_values, weighted_quantile
from algorithms.gbdt.params import make_rules
from algorithms.gbdt.phase_timer import (
    CATEGORIES,
    GRADIENTS,
    LINEAR_LEAVES,
    PACKING,
    SCORES,
    timed_phase,
)
from algorithms.gbdt.position_bias import PositionBias
from algorithms.gbdt.ranking_objectives import RankingGradients
from algorithms.gbdt.sampling import (
    at_least_one,
    draw_features,
    draw_share,
    one_side_rule,
    seed_of,
    seeds_of,
    size_rows,
    take_one_side,
)
from algorithms.runtime.threads import ALONE

NO_WEIGHT = np.empty(0)
MIN_STEP = 2.0 ** (-126 - MEAN_BITS)  # below it most gradients are subnormal in float32
ANY_STEP = 1.0  # the step if all gradients are 0
NEAR = 1e-12  # relative tolerance within which a prediction equals its target
BAG, COLUMNS, ROUNDING, EXTRA, ONE_SIDE, DROPS = range(6)  # purposes of derived seeds


@dataclass
class Target:
    """Objective, targets and weights of a training."""

    objective: object  # Objective, or a callable (y, raw) → (g, h)
    y: np.ndarray  # (n_scores, n_rows), of `Objective.targets`; float64 for a callable
    weight: np.ndarray | None
    constant: np.ndarray | None = None  # (n_scores,), value of first-round trees without a split
    bounds: np.ndarray | None = None  # first row of each query, and after them the number of rows


@dataclass
class TreeWorkspace:
    """Grower and packed gradients, reused for one tree after another."""

    grower: object  # Grower
    records: np.ndarray  # int64 (n_rows,), packed gradients; overwritten for each tree

    @property
    def workers(self):
        """Threads for a pass over the rows; one thread if there are few rows."""
        return self.grower.workers if len(self.records) >= ROWS_TO_PACK else ALONE


@dataclass
class Booster:
    """Boosting rounds of gbdt and GOSS.

    Parameters
    ----------
    params : the estimator, whose parameters are read
    growers : list of Grower
        One; or several with one thread each, which grow the trees of a round concurrently, one
        tree per score.
    threads : Workers
    target : Target
    score : float64 (n_scores, n_rows), updated in place
    seed : int
    order : row order if rows are reordered, as in `pack_rows`
    high_cardinality : list of HighCardinalityColumn
    first : int
        Number of rounds of the initial model. Random draws depend on the round's number, so a
        continued training does not repeat those of the initial model.
    weight_unit : float, factor of gains; see `sample_weight.split_unit_of_params`
    linear : LinearLeafFitter, or None if leaves are constant
    """

    params: object
    growers: list
    threads: object
    target: Target
    score: np.ndarray
    seed: int
    order: tuple = IN_ORDER
    high_cardinality: list = field(default_factory=list)
    first: int = 0
    rounds: list = field(default_factory=list)  # of lists of trees, one per score
    weight_unit: float = 1.0
    linear: object = None

    def __post_init__(self):
        n_scores, n_rows = self.score.shape
        self.g = np.empty((n_scores, n_rows), np.float32)
        has_h = self.target.weight is not None or not getattr(
            self.target.objective, "constant_h", False
        )
        self.h = np.empty((n_scores, n_rows if has_h else 0), np.float32)
        self.grower = self.growers[0]
        self.workspaces = [TreeWorkspace(own, np.empty(n_rows, np.int64)) for own in self.growers]
        self.bag = None
        self.rate = self.params.learning_rate
        self.ranking = None
        if getattr(self.target.objective, "is_ranking", False):
            given = self.target.objective, self.target.y[0], self.target.bounds
            self.ranking = RankingGradients(*given, self.seed)
            positions = getattr(self.params, "_positions", None)
            if positions is not None and self.target.objective.name == "lambdarank":
                penalty = self.params.lambdarank_position_bias_regularization
                self.ranking.positions = PositionBias(positions, penalty, self.rate)

    @property
    def n_rows(self):
        """Number of rows of the whole table."""
        return self.score.shape[1]

    def reset_rules(self):
        """Reread the parameters after a callback has changed some of them."""
        p = self.params
        self.rate = p.learning_rate
        names = list(getattr(p, "feature_names_in_", []))
        signs = read_signs(p.monotone_constraints, p.n_features_in_, names, every=True)
        new = make_rules(p, signs, self.target.objective)
        for grower in self.growers:
            grower.rules = new._replace(num_leaves=grower.rules.num_leaves)
            grower.growth.leaf_weight[:] = grower.growth.weight

    def boost(self):
        """Add a round of trees; return them."""
        number = self.first + len(self.rounds)
        self.differentiate()
        rows, g, h = self.sample(number)
        free = SimpleQueue()
        for workspace in self.workspaces:
            free.put(workspace)

        def grow(k):
            workspace = free.get()
            try:
                return self.grow_one(workspace, number, k, rows, g[k], h[k])
            finally:
                free.put(workspace)

        side_by_side = self.threads if len(self.workspaces) > 1 else ALONE
        trees = side_by_side.each(grow, range(len(self.score)))
        self.rounds.append(trees)
        return trees

    def grow_one(self, workspace, number, k, rows, g, h):
        """Grow the tree of one score, add its values to the score, and return it."""
        p, grower = self.params, workspace.grower
        tree_seed = seed_of(self.seed, number, k)
        scale = self.pack(workspace, g, h, self.rounding_seed(number, k))
        if not self.rounds and not MIN_STEP <= scale.g != ANY_STEP:
            self.check_sizes(k, scale.g)
        features = None
        if p.colsample_bytree < 1.0:
            n_features = len(grower.bins.count)
            features = draw_features(seed_of(tree_seed, COLUMNS), n_features, p.colsample_bytree)
        self.choose_categories(workspace, scale)
        extra = seed_of(tree_seed, EXTRA) >> 1
        tree = grower.grow(workspace.records, scale, extra, rows, features)
        quantile = getattr(self.target.objective, "renewed", None)
        if quantile is not None:
            self.renew(grower, tree, k, quantile)
        if self.weight_unit != 1.0:
            tree.nodes["gain"] *= self.weight_unit
        if self.linear is not None and self.has_linear_leaves(number, tree):
            leaves = grower.grown_leaves()
            tree = self.fit_linear_leaves(grower, tree, leaves, k, (g, h))
        tree.scale(self.rate)
        if not self.rounds and tree.n_leaves == 1 and self.target.constant is not None:
            tree.nodes["value"] = self.target.constant[k]  # as in LightGBM
        if tree.linear is None:
            grower.add_to(self.score[k], tree)
        elif len(leaves.rows) < self.score.shape[1]:
            self.linear.add_to(self.score[k], grower.leaf_of, tree, leaves, grower)
        return tree

    def has_linear_leaves(self, number, tree):
        """Return whether a tree of a round gets linear leaves; as in LightGBM, not the first."""
        is_first = number == 0 and self.params.boosting_type != "rf"
        return not is_first and tree.n_leaves > 1

    @timed_phase(LINEAR_LEAVES)
    def fit_linear_leaves(self, grower, tree, leaves, k, derivatives):
        """Return the last tree of a grower with linear leaves.

        Its outputs, times the learning rate, are added to score k if it was grown on all rows.
        """
        score = self.score[k]
        updated = (score, self.rate) if len(leaves.rows) == len(score) else ()
        given = tree.nodes, leaves, *derivatives, grower.share_leaves, *updated
        return replace(tree, linear=self.linear.fit(*given))

    def rounding_seed(self, number, k):
        """Return the seed of the rounding of gradients for the tree of a round and a score."""
        return np.uint32(seed_of(seed_of(self.seed, number, k), ROUNDING))

    def seeds(self, numbers, k, purpose):
        """Return the seeds of a purpose of arrays of rounds and scores, uint64; they broadcast."""
        return seeds_of(seeds_of(self.seed, numbers, k), np.array(purpose))

    @timed_phase(PACKING)
    def pack(self, workspace, g, h, seed):
        """Write the packed gradients of all rows; return their `Scale`."""
        return pack_rows(g, h, seed, workspace.records, workspace.workers, self.order)

    @timed_phase(CATEGORIES)
    def choose_categories(self, workspace, scale):
        """Assign categories to bins for the next tree, in columns of more categories than bins."""
        grower, cat_smooth = workspace.grower, self.params.cat_smooth
        smooth = cat_smooth / (self.weight_unit * scale.h)
        columns, numbers = self.high_cardinality, []
        if not columns:
            return
        sums_of_columns = sum_by_category(columns, workspace.records, workspace.workers)
        for column, own in zip(columns, sums_of_columns, strict=True):
            sums = self.add_up(own)
            frequent = find_frequent(sums, self.n_rows, cat_smooth)
            numbers.append(assign_bins(sums[:-1], frequent, smooth, column.n_bins))
            grower.codes[column.feature] = column.categories, numbers[-1]
        write_bins(columns, numbers, grower.bins, workspace.workers)

    def check_sizes(self, k, step):
        """Raise ValueError if predictions differ from targets, but float32 gradients underflow.

        Parameters
        ----------
        k : number of the score
        step : step of g
        """
        objective, weight = self.target.objective, self.target.weight
        if callable(objective) or objective.is_ranking:
            return  # the link function is unknown, or scores do not approach the targets
        y, prediction = self.target.y[min(k, len(self.target.y) - 1)], self.score[k]
        if objective.name not in CLASSES:
            prediction = to_values(prediction[:, None], objective.link)
        differs = ~np.isclose(y, prediction, rtol=NEAR, atol=0.0)
        if weight is not None:
            differs &= weight > 0.0
        n_different, n_nonzero = self.add_up([differs.sum(), np.count_nonzero(self.g[k])])
        if n_different and (step < MIN_STEP or not n_nonzero):
            raise ValueError(
                "gradients of the loss are too small to be told from 0: targets or weights are too "
                "small; multiply them by a constant"
            )

    @property
    def workers(self):
        """Threads for a pass over all scores; one thread if there are few scores."""
        return self.threads if self.score.size >= ROWS_TO_PACK else ALONE

    @timed_phase(GRADIENTS)
    def differentiate(self):
        """Compute g and h at the current scores."""
        target, objective = self.target, self.target.objective
        if self.ranking is not None:
            number = self.first + len(self.rounds)
            given = self.score[0], target.weight, self.g[0], self.h[0]
            self.ranking.write(*given, number, self.workers)
            return
        weight = NO_WEIGHT if target.weight is None else target.weight
        if not hasattr(objective, "kind"):
            self.call_objective(objective)
            return
        n_rows = self.score.shape[1]

        def share(first, last):
            first, last = first * BLOCK, min(last * BLOCK, n_rows)
            if objective.kind is None:
                work = np.empty((len(self.score) + 2, ROWS))
                g, h = self.g, self.h
                differentiate_classes(self.score, target.y[0], weight, work, g, h, first, last)
                return
            for k in range(len(self.score)):
                differentiate(
                    objective.kind,
                    objective.constant,
                    self.score[k],
                    target.y[k],
                    weight,
                    self.g[k],
                    self.h[k],
                    first,
                    last,
                )

        self.workers.share(share, -(-n_rows // BLOCK))

    def call_objective(self, function):
        """Compute g and h with a user's function.

        Weights multiply both, unless the function takes them as its third argument.

        Raises
        ------
        TypeError, ValueError
            Those of `read_derivatives`; also if a number is not finite.
        """
        raw = np.array(self.score[0] if len(self.score) == 1 else self.score.T)  # a copy
        n_arguments = count_arguments(function)
        bounds = self.target.bounds
        group = None if bounds is None else np.diff(bounds)
        arguments = self.target.y[0], raw, self.target.weight, group
        derivatives = read_derivatives(function(*arguments[:n_arguments]), raw.shape)
        is_unweighted = self.target.weight is not None and n_arguments == 2
        weight = self.target.weight if is_unweighted else 1.0
        outputs = ("gradients", self.g), ("hessians", self.h)
        for (what, out), values in zip(outputs, derivatives, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):
                out[:] = values.T.reshape(out.shape) * weight
            if not np.isfinite(out).all():
                message = "of the loss are not finite: the objective returned such numbers"
                raise ValueError(f"{what} {message}")

    def sample(self, number):
        """Return the rows of this round, or None for all, and g and h.

        One-side sampling multiplies some entries of g and h in place.
        """
        p = self.params
        if p.data_sample_strategy == "goss":
            if number + 1.0 <= 1.0 / p.learning_rate:  # the quotient may be infinite
                return None, self.g, self.h
            return self.sample_one_side(number)
        if p.subsample < 1.0 and p.subsample_freq > 0:
            since = number % p.subsample_freq
            if since == 0 or self.bag is None:
                seed = seed_of(self.seed, number - since, BAG)
                self.bag = self.draw_bag(seed)
            return self.bag, self.g, self.h
        return None, self.g, self.h

    def draw_bag(self, seed):
        """Return the rows of a bag, ascending; rows of whole queries with ``bagging_by_query``."""
        p, bounds = self.params, self.target.bounds
        if not p.bagging_by_query:
            return draw_share(seed, self.n_rows, p.subsample, self.order[0])
        queries = draw_share(seed, len(bounds) - 1, p.subsample)
        first, sizes = bounds[queries], np.diff(bounds)[queries]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return (np.repeat(first, sizes) + within).astype(np.uint32)

    def sample_one_side(self, number):
        """Return the rows of one-side sampling, and g and h with the sampled rows reweighted."""
        p, seed = self.params, seed_of(self.seed, number, ONE_SIDE)
        h = self.h if self.h.shape[1] else np.ones_like(self.g)
        sized_by = np.ones_like(self.g) if p.goss_rank == "g" else h
        sizes, counts = size_rows(self.g, sized_by, self.workers)
        rule = one_side_rule(self.add_up(counts), p.top_rate, p.other_rate, seed)
        rows = take_one_side(sizes, rule, self.g, h, self.runs(), self.workers, self.order[0])
        return self.at_least_one(rows), self.g, h

    def add_up(self, counts):
        """Return counts or integer sums over all rows of the table; subclasses add up ranks."""
        return counts

    def at_least_one(self, rows):
        """Return the rows of a sample, or the first row of the whole table if it is empty."""
        return at_least_one(rows, self.order[0])

    def runs(self):
        """Return the runs of rows: (first, last + 1, number of the first in the whole table)."""
        return [(0, self.score.shape[1], 0)]

    @timed_phase(SCORES)
    def renew(self, grower, tree, k, quantile):
        """Set each leaf's value to the quantile of its rows' residuals."""
        y, weight, objective = self.target.y[k], self.target.weight, self.target.objective
        nodes = grower.leaves["node"]
        for leaf, rows in enumerate(grower.rows_of_leaves()):
            leaf_weight = None if weight is None else weight[rows]
            leaf_weight = objective.quantile_weights(y[rows], leaf_weight)
            residual = y[rows] - self.score[k, rows]
            tree.nodes["value"][nodes[leaf]] = weighted_quantile(residual, leaf_weight, quantile)
