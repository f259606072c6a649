"""Training of a histogram booster at one rank: the local booster with sums over all ranks."""

from dataclasses import dataclass, field, replace

import numpy as np

from algorithms.distributed.binning import find_shared_bins
from algorithms.distributed.collective import Ranks
from algorithms.distributed.feature_voting import VotingGrower
from algorithms.distributed.grower import RankGrower
from algorithms.distributed.rows import Rows
from algorithms.distributed.sockets import LinkError
from algorithms.estimator.constraints import read_interactions, read_signs
from algorithms.estimator.sample_weight import split_unit_of_params
from algorithms.gbdt.binning import bin_table
from algorithms.gbdt.boosting import BAG, Booster, Target
from algorithms.gbdt.early_stopping import Evaluation, EvaluationLoop
from algorithms.gbdt.gradient_quantization import IN_ORDER, step_of, stride_of_sizes
from algorithms.gbdt.high_cardinality import find_high_cardinality
from algorithms.gbdt.init_score import Start
from algorithms.gbdt.kernels.booster_arrays import Scale
from algorithms.gbdt.kernels.distributed_rows import pack_run
from algorithms.gbdt.model import join_trees
from algorithms.gbdt.params import make_rules, whole
from algorithms.gbdt.sampling import ALL, seed_of
from algorithms.gbdt.sparse_edges import EdgeLimits
from algorithms.prediction.predictor import FastPredictor
from algorithms.runtime.exact_sum_kernels import add_sizes
from algorithms.runtime.exact_sums import merge_sizes, size_table, sum_table, total_of
from algorithms.runtime.threads import Workers, count_threads


@dataclass
class Training:
    """Description of a training, the same for all ranks."""

    params: object  # the unfitted local estimator, with the attributes that depend on X and y
    categorical: np.ndarray  # bool (n_features,)
    seed: int
    tree_learner: str  # "data", "feature" or "voting"
    top_k: int = 20  # features that a rank votes for
    has_tables: bool = False  # whether there are evaluation tables
    eval_set: list | None = None  # only at rank 0, as the next two
    eval_sample_weight: list | None = None
    eval_metric: object = None
    rounds: list = field(default_factory=list)  # rounds of an interrupted training


@dataclass
class Table:
    """Rows of one rank."""

    X: np.ndarray  # (n_rows, n_features) float32 or float64
    y: np.ndarray  # float64 (n_rows,), values or class codes
    weight: np.ndarray | None  # float64 (n_rows,)
    rows: object  # Rows


@dataclass
class Result:
    """Result of a rank: the model, or the rounds finished before a connection was lost."""

    rank: int
    rounds: list
    binner: object = None
    base: np.ndarray | None = None
    watched: tuple = (0, {}, {})  # best round, best score, history
    sent: dict = field(default_factory=dict)  # purpose → (bytes, messages)
    lost: str = ""  # why the rank stopped early; empty if it did not


class RankBooster(Booster):
    """`Booster` of one rank; rounding and bags depend on row numbers in the whole table.

    Parameters
    ----------
    ranks : Ranks
    rows : Rows
    *args : arguments of `Booster`
    """

    def __init__(self, ranks, rows, *args):
        self.ranks, self.rows = ranks, rows
        super().__init__(*args)
        constant = self.target.objective.constant_h
        self.has_h = self.target.weight is not None or not constant
        self.is_weighed = False  # whether one-side sampling reweights rows in this round

    @property
    def n_rows(self):
        """Number of rows of the whole table, over all ranks."""
        return self.rows.total

    def pack(self, workspace, g, h, seed):
        """Write the packed gradients of the rank's rows; return the common `Scale` of all ranks."""
        kinds = (g, h) if self.has_h or self.is_weighed else (g,)
        tables = np.stack([self.count_sizes(values) for values in kinds])
        received = self.ranks.tables(tables, "steps")
        steps = [1.0, 1.0]
        for i, what in enumerate(("gradients", "hessians")[: len(kinds)]):
            steps[i] = step_of(merge_sizes([part[i] for part in received]), self.rows.total, what)
        for first, last, number in self.rows.runs():
            per_g, per_h = 1.0 / steps[0], 1.0 / steps[1]
            pack_run(g, h, per_g, per_h, seed, number, workspace.records, first, last)
        return Scale(*steps)

    def count_sizes(self, values):
        """Return the table of |v| of the rank's rows that enter the mean on one machine."""
        table, stride = size_table(), stride_of_sizes(self.rows.total)
        for first, last, number in self.rows.runs():
            add_sizes(values, first + -number % stride, first, last, stride, table)
        return table

    def sample(self, number):
        """Return the rank's rows of this round, or None for all, and g and h."""
        p = self.params
        if p.data_sample_strategy == "goss":
            self.is_weighed = number + 1.0 > 1.0 / p.learning_rate
            return self.sample_one_side(number) if self.is_weighed else (None, self.g, self.h)
        if p.subsample < 1.0 and p.subsample_freq > 0:
            since = number % p.subsample_freq
            if since == 0 or self.bag is None:
                seed = seed_of(self.seed, number - since, BAG)
                self.bag = self.at_least_one(self.rows.draw(seed, int(p.subsample * ALL)))
            return self.bag, self.g, self.h
        return None, self.g, self.h

    def add_up(self, counts):
        """Return counts or integer sums, added up over all ranks."""
        return np.sum(self.ranks.tables(counts, "steps"), axis=0)

    def at_least_one(self, rows):
        """Return the rank's rows of a sample; if no rank has any, the table's first row."""
        if self.ranks.total([len(rows)], "steps")[0]:
            return rows
        return np.flatnonzero(self.rows.numbers() == 0).astype(np.uint32)

    def runs(self):
        """Return the runs of consecutive rows of the rank."""
        return self.rows.runs()


def train(ranks, training, table):
    """Train at one rank, together with all others.

    Parameters
    ----------
    ranks : Ranks
    training : Training
    table : Table

    Returns
    -------
    Result
        If a connection is lost, it holds the rounds finished before.
    """
    p = training.params
    rounds = list(training.rounds)
    with Workers(count_threads(p.n_jobs)) as workers:
        try:
            booster, loop = prepare(ranks, training, table, workers)
            rounds = booster.rounds
            over = bool(rounds) and is_over(ranks, training, loop, rounds)
            while len(rounds) < p.n_estimators and not over:
                booster.boost()
                over = is_over(ranks, training, loop, rounds)
        except LinkError as error:
            return Result(ranks.rank, rounds, lost=str(error))
    sent = {what: (ranks.sent[what], ranks.calls[what]) for what in ranks.sent}
    if ranks.rank:
        return Result(ranks.rank, [], sent=sent)
    watched = loop.best_round, loop.best_score, loop.history
    return Result(0, rounds, p._binner, p._base, watched, sent)  # noqa: SLF001 - its own part


def prepare(ranks, training, table, workers):
    """Return the booster before its next round, and the `EvaluationLoop` (at rank 0) or None."""
    p, rows = training.params, table.rows
    objective = p._objective  # noqa: SLF001 - its own part

    def total(values):
        return total_of(np.sum(ranks.tables(sum_table(values), "start"), axis=0))

    base_weight = split_shared_unit(ranks, p, table.weight)[1]
    weight = objective.weigh(table.y, table.weight, total)
    params, weight, unit = split_shared_unit(ranks, p, weight)
    in_leaf = whole(p.min_child_samples) if weight is None else 0
    limits = EdgeLimits(p.max_bin, whole(p.min_data_in_bin), in_leaf)
    sample = whole(p.subsample_for_bin)
    binner = find_shared_bins(ranks, table.X, rows, training.categorical, limits, sample, workers)
    n_features = len(binner.missing)
    known = n_features, list(getattr(p, "feature_names_in_", []))
    monotone = read_signs(p.monotone_constraints, *known, every=True)
    groups = read_interactions(p.interaction_constraints, *known, others_alone=False)
    bins = bin_table(table.X, binner, monotone, groups, workers)
    base = objective.first_scores(table.y, base_weight, total)
    p._binner = binner  # noqa: SLF001 - its own part
    p._base = base if p.boost_from_average else np.zeros(len(base))  # noqa: SLF001 - its own part
    score = first_scores(p, training.rounds, table.X)
    by_features = training.tree_learner == "feature"
    y, rows_here = table.y, rows
    high_cardinality = find_high_cardinality(table.X, binner, IN_ORDER[0])
    if by_features:
        bins, score, y, weight, high_cardinality = gather_rows(
            ranks, rows, bins, score, y, weight, high_cardinality
        )
        rows_here = Rows.of_parts([rows.total], [0])
    rules = make_rules(params, monotone, objective)
    grown = ranks, bins, binner, rules, workers, rows.total
    if training.tree_learner == "voting":
        grower = VotingGrower(*grown, top_k=training.top_k)
    else:
        grower = RankGrower(*grown, by_features=by_features)
    constant = None if p.boost_from_average else base
    target = Target(objective, objective.targets(y), weight, constant)
    together = Ranks() if by_features else ranks
    given = p, [grower], workers, target, score, training.seed, IN_ORDER, high_cardinality
    booster = RankBooster(together, rows_here, *given)
    booster.rounds, booster.weight_unit = list(training.rounds), unit
    return booster, start_loop(ranks, training)


def split_shared_unit(ranks, params, weight):
    """Return `split_unit_of_params` of the weights of all ranks."""
    if weight is None:
        return split_unit_of_params(params, None)
    extremes_here = np.array([weight.min(initial=np.inf), weight.max(initial=0.0)])
    parts = np.stack(ranks.tables(extremes_here.view(np.int64), "start")).view(np.float64)
    extremes = float(parts[:, 0].min()), float(parts[:, 1].max())
    return split_unit_of_params(params, weight, extremes)


def first_scores(params, rounds, X):
    """Return the scores of the rank's rows after the given rounds, float64 (n_scores, n_rows)."""
    base = params._base  # noqa: SLF001 - its own part
    if not rounds:
        return np.repeat(base[:, None], len(X), axis=1)
    trees = join_trees(rounds, params._binner, base, params._link)  # noqa: SLF001 - its own part
    return np.ascontiguousarray(FastPredictor(trees).raw(X).T)


def gather_rows(ranks, rows, bins, score, y, weight, high_cardinality):
    """Return bins, scores, targets and weights of all ranks, in the order of the whole table."""
    numbers = ranks.gather(rows.numbers().tobytes(), "rows")
    order = np.concatenate([np.frombuffer(part, np.int64) for part in numbers])

    def collect(values):
        parts = ranks.gather(np.ascontiguousarray(values).tobytes(), "rows")
        gathered = np.frombuffer(b"".join(parts), values.dtype).reshape(-1, *values.shape[1:])
        placed = np.empty_like(gathered)
        placed[order] = gathered
        return placed

    whole = collect(bins.rows)
    bins = bins._replace(rows=whole, columns=np.ascontiguousarray(whole.T))
    weight = None if weight is None else collect(weight)
    high_cardinality = [
        replace(one, codes=collect(one.codes[:, None])[:, 0]) for one in high_cardinality
    ]
    return bins, np.ascontiguousarray(collect(score.T).T), collect(y), weight, high_cardinality


def start_loop(ranks, training):
    """Return the `EvaluationLoop`; None at other ranks than 0 if there are evaluation tables."""
    p = training.params
    if training.has_tables and ranks.rank:
        return None
    tables = training.eval_set, training.eval_sample_weight, None, training.eval_metric
    loop = EvaluationLoop(p, Start(p, None, None, None), Evaluation(*tables))
    for done in range(1, len(training.rounds)):
        loop.is_over(training.rounds[:done])
    return loop


def is_over(ranks, training, loop, rounds):
    """Return whether boosting ends after these rounds; rank 0 decides for all ranks."""
    over = loop is not None and loop.is_over(rounds)
    if training.has_tables:
        over = ranks.gather(bytes([over]), "stopping")[0] == b"\x01"
    return over
