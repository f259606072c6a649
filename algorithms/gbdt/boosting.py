"""The boosting loop: derivatives, records, a tree, scores, and when to stop.

    F₀ = the constant that fits best
    F_m = F_{m−1} + η · tree_m            tree_m grown on g, h of the loss at F_{m−1}

Several scores a row (classes) get a tree each in every round, from the same scores.
"""

from dataclasses import dataclass, field
from queue import SimpleQueue

import numpy as np

from algorithms.estimator.constraints import read_signs
from algorithms.estimator.eval_sets import count_arguments, read_derivatives
from algorithms.gbdt.gradient_quantization import IN_ORDER, ROWS_TO_PACK, pack_rows
from algorithms.gbdt.high_cardinality import find_frequent, give_bins, share_bins, sum_places
from algorithms.gbdt.kernels.gradient_packing import BLOCK, MEAN_BITS
from algorithms.gbdt.kernels.gradients import ROWS, differentiate, differentiate_classes
from algorithms.gbdt.objectives import CLASSES, to_values, weighted_quantile
from algorithms.gbdt.params import make_rules
from algorithms.gbdt.sampling import (
    at_least_one,
    draw_features,
    draw_share,
    one_side_rule,
    seed_of,
    size_rows,
    take_one_side,
)
from algorithms.runtime.threads import ALONE

NOTHING = np.empty(0, np.float32)
NO_WEIGHT = np.empty(0)
LEAST_STEP = 2.0 ** (-126 - MEAN_BITS)  # of gradients that float32 mostly holds in full
ANY_STEP = 1.0  # also that of gradients that are all 0
NEAR = 1e-12  # share by which a constant may lie beside equal targets
BAG, COLUMNS, ROUNDING, EXTRA, ONE_SIDE, DROPS = range(6)  # what a seed is for


@dataclass
class Target:
    """What is to be explained: y as the objective takes it, and weights."""

    objective: object  # Objective, or a callable (y, raw) → (g, h)
    y: np.ndarray  # (n_scores, n_rows), of `Objective.targets`; float64 for a callable
    weight: np.ndarray | None
    constant: np.ndarray | None = None  # (n_scores,), of first trees without a split; None: 0


@dataclass
class Lane:
    """What trees are grown in, one after another."""

    grower: object  # Grower
    records: np.ndarray  # int64 (n_rows,), scratch space

    @property
    def workers(self):
        """The threads that share a pass over its rows, or one where these are few."""
        return self.grower.workers if len(self.records) >= ROWS_TO_PACK else ALONE


@dataclass
class Booster:
    """Grows rounds of trees.

    Parameters
    ----------
    params : the estimator, whose parameters are read
    growers : one Grower; or several of one thread each, in which trees of a round, one a score,
        are grown side by side
    threads : Workers
    target : Target
    score : float64 (n_scores, n_rows), written to
    seed : int
    order : of rows that lie otherwise than they are numbered, as `pack_rows` takes it
    crowds : columns of more categories than bins
    first : number of the first round: how many a model has that boosting goes on from. What is
        drawn goes by a round's number, so none is drawn twice.
    weight_unit : factor of gains; see `weights.split_unit_of_params`
    """

    params: object
    growers: list
    threads: object
    target: Target
    score: np.ndarray
    seed: int
    order: tuple = IN_ORDER  # as `pack_rows` takes it
    crowds: list = field(default_factory=list)  # of `Crowd`
    first: int = 0
    rounds: list = field(default_factory=list)  # of lists of trees, one a score
    weight_unit: float = 1.0

    def __post_init__(self):
        n_scores, n_rows = self.score.shape
        self.g = np.empty((n_scores, n_rows), np.float32)
        has_h = self.target.weight is not None or not getattr(
            self.target.objective, "constant_h", False
        )
        self.h = np.empty((n_scores, n_rows if has_h else 0), np.float32)
        self.grower = self.growers[0]
        self.lanes = [Lane(own, np.empty(n_rows, np.int64)) for own in self.growers]
        self.bag = None
        self.rate = self.params.learning_rate

    @property
    def n_rows(self):
        """Number of rows of the whole table."""
        return self.score.shape[1]

    def reset_rules(self):
        """Read parameters again that a callback has changed, for the rounds to come."""
        p = self.params
        self.rate = p.learning_rate
        names = list(getattr(p, "feature_names_in_", []))
        signs = read_signs(p.monotone_constraints, p.n_features_in_, names, every=True)
        new = make_rules(p, signs, self.target.objective)
        for grower in self.growers:
            grower.rules = new._replace(num_leaves=grower.rules.num_leaves)

    def boost(self):
        """Add a round of trees; return them."""
        number = self.first + len(self.rounds)
        self.differentiate()
        rows, g, h = self.sample(number)
        free = SimpleQueue()
        for lane in self.lanes:
            free.put(lane)

        def grow(k):
            lane = free.get()
            try:
                return self.grow_one(lane, number, k, rows, g[k], h[k])
            finally:
                free.put(lane)

        side_by_side = self.threads if len(self.lanes) > 1 else ALONE
        trees = side_by_side.each(grow, range(len(self.score)))
        self.rounds.append(trees)
        return trees

    def grow_one(self, lane, number, k, rows, g, h):
        """Return the tree of one score, and add it."""
        p, grower = self.params, lane.grower
        tree_seed = seed_of(self.seed, number, k)
        scale = self.pack(lane, g, h, np.uint32(seed_of(tree_seed, ROUNDING)))
        if not self.rounds and not LEAST_STEP <= scale.g != ANY_STEP:
            self.check_sizes(k, scale.g)
        features = None
        if p.colsample_bytree < 1.0:
            n_features = len(grower.bins.count)
            features = draw_features(seed_of(tree_seed, COLUMNS), n_features, p.colsample_bytree)
        self.choose_categories(lane, scale)
        extra = seed_of(tree_seed, EXTRA) >> 1
        tree = grower.grow(lane.records, scale, extra, rows, features)
        quantile = getattr(self.target.objective, "renewed", None)
        if quantile is not None:
            self.renew(grower, tree, k, quantile)
        if self.weight_unit != 1.0:
            tree.nodes["gain"] *= self.weight_unit
        tree.nodes["value"] *= self.rate
        if not self.rounds and tree.n_leaves == 1 and self.target.constant is not None:
            tree.nodes["value"] = self.target.constant[k]  # as LightGBM: else it says nothing
        grower.add_to(self.score[k], tree)
        return tree

    def pack(self, lane, g, h, seed):
        """Write the records of all rows; return their `Scale`."""
        return pack_rows(g, h, seed, lane.records, lane.workers, self.order)

    def choose_categories(self, lane, scale):
        """Assign the bins of columns that have more categories than bins, for the next tree."""
        grower, cat_smooth = lane.grower, self.params.cat_smooth
        smooth = cat_smooth / (self.weight_unit * scale.h)
        for crowd in self.crowds:
            sums = self.add_up(sum_places(crowd, lane.records, lane.workers))
            frequent = find_frequent(sums, self.n_rows, cat_smooth)
            numbers = share_bins(sums[:-1], frequent, smooth, crowd.room)
            give_bins(crowd, numbers, grower.bins, lane.workers)
            grower.codes[crowd.feature] = crowd.codes, numbers

    def check_sizes(self, k, step):
        """Raise ValueError where there is something to explain, and float32 takes all of g for 0.

        Parameters
        ----------
        k : number of the score
        step : of g
        """
        objective, weight = self.target.objective, self.target.weight
        if callable(objective):
            return  # what its scores mean is not known
        y, found = self.target.y[min(k, len(self.target.y) - 1)], self.score[k]
        if objective.name not in CLASSES:
            found = to_values(found[:, None], objective.link)
        is_open = ~np.isclose(y, found, rtol=NEAR, atol=0.0)
        if weight is not None:
            is_open &= weight > 0.0
        n_open, n_seen = self.add_up([is_open.sum(), np.count_nonzero(self.g[k])])
        if n_open and (step < LEAST_STEP or not n_seen):
            raise ValueError(
                "gradients of the loss are too small to be told from 0: targets or weights are too "
                "small; multiply them by a constant"
            )

    @property
    def workers(self):
        """The threads that share a pass over all scores, or one where these are few."""
        return self.threads if self.score.size >= ROWS_TO_PACK else ALONE

    def differentiate(self):
        """Write g and h at the present scores."""
        target, objective = self.target, self.target.objective
        weight = NO_WEIGHT if target.weight is None else target.weight
        if not hasattr(objective, "kind"):
            self.ask(objective)
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

    def ask(self, function):
        """Take g and h from a user's function.

        Weights are applied to both, unless the function takes them as its third argument.

        Raises
        ------
        TypeError, ValueError
            Those of `read_derivatives`, and where a number is not finite.
        """
        raw = np.array(self.score[0] if len(self.score) == 1 else self.score.T)  # theirs to change
        n_arguments = count_arguments(function)
        given = self.target.y[0], raw, self.target.weight, None  # no query groups
        found = read_derivatives(function(*given[:n_arguments]), raw.shape)
        weighs = self.target.weight is not None and n_arguments == 2
        weight = self.target.weight if weighs else 1.0
        wanted = ("gradients", self.g), ("hessians", self.h)
        for (what, to), values in zip(wanted, found, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):
                to[:] = values.T.reshape(to.shape) * weight
            if not np.isfinite(to).all():
                told = "of the loss are not finite: the objective returned such numbers"
                raise ValueError(f"{what} {told}")

    def sample(self, number):
        """Return the rows of this round, or None for all, and their derivatives.

        These are g and h themselves; one-side sampling weighs some of them up, until the next
        round writes them anew.
        """
        p, n_rows = self.params, self.score.shape[1]
        if p.data_sample_strategy == "goss":
            if number + 1.0 <= 1.0 / p.learning_rate:  # which may be infinite
                return None, self.g, self.h
            return self.sample_one_side(number)
        if p.subsample < 1.0 and p.subsample_freq > 0:
            since = number % p.subsample_freq
            if since == 0 or self.bag is None:
                seed = seed_of(self.seed, number - since, BAG)
                self.bag = draw_share(seed, n_rows, p.subsample, self.order[0])
            return self.bag, self.g, self.h
        return None, self.g, self.h

    def sample_one_side(self, number):
        """Return the rows of one-side sampling, and g and h, in which the others weigh more."""
        p, seed = self.params, seed_of(self.seed, number, ONE_SIDE)
        h = self.h if self.h.shape[1] else np.ones_like(self.g)
        sized_by = np.ones_like(self.g) if p.goss_rank == "g" else h
        sizes, counts = size_rows(self.g, sized_by, self.workers)
        rule = one_side_rule(self.add_up(counts), p.top_rate, p.other_rate, seed)
        rows = take_one_side(sizes, rule, self.g, h, self.runs(), self.workers, self.order[0])
        return self.at_least_one(rows), self.g, h

    def add_up(self, counts):
        """Return counts or whole sums over all rows of the table: these are all of them."""
        return counts

    def at_least_one(self, rows):
        """Return the rows of a sample, or the first row of the whole table where it is empty."""
        return at_least_one(rows, self.order[0])

    def runs(self):
        """Return the runs of rows: (first, last + 1, number of the first in the whole table)."""
        return [(0, self.score.shape[1], 0)]

    def renew(self, grower, tree, k, quantile):
        """Make the quantile of what is left to explain each leaf's value."""
        y, weight, objective = self.target.y[k], self.target.weight, self.target.objective
        nodes = grower.leaves["node"]
        for leaf, rows in enumerate(grower.rows_of_leaves()):
            own = None if weight is None else weight[rows]
            own = objective.quantile_weights(y[rows], own)
            left = y[rows] - self.score[k, rows]
            tree.nodes["value"][nodes[leaf]] = weighted_quantile(left, own, quantile)
