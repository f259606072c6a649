"""Cross-fitted boosting: members that leave out one fold each, stopped by its loss.

The rows are binned once. Each of K members is trained on all folds but one, and stops when the loss
on its left-out fold has not improved for a number of rounds. The model is the mean of the members:

    F = F₀ + 1/K Σ_k Σ_m η · tree_km

Every row has a raw score of a member that was not trained on it. These out-of-fold scores choose
the temperature T of a classifier, which divides all raw scores.

Every second member may use some extra columns that the others do not use. Then the members differ
more, and extra columns that overfit affect only half of the members.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.estimator.sample_weight import split_unit_of_params
from algorithms.gbdt.boosting import Booster, Target
from algorithms.gbdt.grower import make_growers
from algorithms.gbdt.linear_leaves import fitter_of
from algorithms.gbdt.model import join_trees
from algorithms.gbdt.round_batches import RoundBatches, can_batch
from algorithms.gbdt.sampling import seed_of
from algorithms.prediction.predictor import FastPredictor
from algorithms.runtime.threads import Workers

MEMBER = 11  # purpose of derived seeds
PARTS = 10  # parts of a left-out fold, whose losses are compared
MIN_DECREASE = 0.03  # relative decrease of the loss from which a change of columns is adopted
MIN_ERRORS = 0.5  # the decrease must also exceed so many of its standard errors
TEMPERATURES = np.geomspace(0.5, 2.0, 41)
MIN_RELATIVE_GAIN = 0.3  # of the mean gain; training without columns of smaller gains is tried
MAX_SCORES = 1 << 18  # number of scores whose loss is computed in one call


@dataclass(frozen=True)
class StoppingRule:
    """Limits of the rounds of a member."""

    n_folds: int
    max_rounds: int
    patience: int  # rounds without improvement after which a member stops


@dataclass(frozen=True)
class CrossFit:
    """Result of training the members."""

    rounds: tuple  # rounds that each member keeps
    loss: float  # out-of-fold loss
    temperature: float


@dataclass(frozen=True)
class LossCurve:
    """Held-out losses of a member."""

    lowest: list  # the lowest loss up to each round
    best_round: int

    def is_not_beaten_by(self, lowest):
        """Return whether another member's loss is not below this one at a checked round.

        Checked are the best round and the round in the middle before it. The result does not
        depend on the sizes of batches.

        Parameters
        ----------
        lowest : list, the lowest losses of the other member up to each of its rounds
        """
        checked = (self.best_round + 1) // 2, self.best_round
        return len(lowest) in checked and lowest[-1] >= self.lowest[len(lowest) - 1]


class MemberBooster(Booster):
    """Booster whose trees are grown on some rows; it keeps the scores of all rows."""

    rows = None  # uint32, ascending positions of the rows to grow on

    def sample(self, _number):
        """Return the rows of every round, and g and h."""
        return self.rows, self.g, self.h


class CrossFitTrainer:
    """Trains the members on binned rows.

    Parameters
    ----------
    rows : Rows, from `BaseHistogramBoosting._read_and_bin`
    fold : (n_rows,) int64, the fold of each row
    rule : StoppingRule
    seed : int
    shared : bool (n_features,), the columns that all members use
        Members 1, 3, 5, … use the other columns, too.
    """

    def __init__(self, rows, fold, rule, seed, shared):
        self.binned, self.rule, self.seed, self.shared = rows.binned, rule, seed, shared
        order = self.binned.order[0]
        self.order = order if len(order) else slice(None)
        self.model = model = rows.model
        self.objective = model._objective  # noqa: SLF001 - same package
        model.parity_ = None
        self.fold = fold[self.order]
        self.y = np.asarray(rows.y)[self.order]
        unit = split_unit_of_params(model, rows.weight)[1]
        self.base = self.objective.first_scores(rows.y, unit)
        params, weight, self.weight_unit = model._split_unit(rows.y, rows.weight)  # noqa: SLF001
        self.linear = fitter_of(params, rows.X, model._is_categorical)  # noqa: SLF001
        self.weight = None if weight is None else weight[self.order]
        targets = self.objective.targets(rows.y)
        self.targets = np.ascontiguousarray(targets[:, self.order])
        self.metric = model._metric("")  # noqa: SLF001
        self.held_out_scores = np.empty((len(self.base), len(self.y)))
        self.kept = []  # rounds of trees that each trained member keeps
        self.is_dropped = np.zeros(len(shared), bool)  # columns that no member uses
        self.loss_curve = None  # of the last trained member

    def train_first_member(self, reference_curve=None):
        """Train the first member; return its losses on parts of its left-out fold, (PARTS,).

        Parameters
        ----------
        reference_curve : LossCurve, default=None
            Training stops early where its `is_not_beaten_by` holds. Then the loss is not below
            the lowest one of this curve.
        """
        self._train_members([0], reference_curve)
        return self._losses_of_parts()

    def drop_columns(self, losses):
        """Train the first member again without the columns of small gains.

        If its losses are clearly lower, no member uses these columns. Otherwise the first member
        stays as it was.

        Parameters
        ----------
        losses : float64 (PARTS,), from `train_first_member`
        """
        before = self.is_dropped, self.kept, self.held_out_scores.copy()
        gains = self.gains()
        self.is_dropped = self.shared & (gains < MIN_RELATIVE_GAIN * gains[self.shared].mean())
        self.kept = []
        self._train_members([0], self.loss_curve)
        if not is_better(self._losses_of_parts(), losses):
            self.is_dropped, self.kept, self.held_out_scores = before

    def _losses_of_parts(self):
        """Return the losses of the first member on parts of its left-out fold, (PARTS,)."""
        parts = np.array_split(np.flatnonzero(self.fold == 0), PARTS)
        scores = self.held_out_scores
        return np.array([self.loss(np.ascontiguousarray(scores[:, p]), p) for p in parts])

    def gains(self):
        """Return the sum of gains of each feature in the first member."""
        nodes = np.concatenate([tree.nodes for trees in self.kept[0] for tree in trees])
        nodes = nodes[nodes["left"] >= 0]
        n_features = len(self.binned.binner.missing)
        return np.bincount(nodes["feature"], nodes["gain"], n_features)

    def train(self):
        """Train all remaining members; return the `CrossFit` and set the model's trees."""
        self._train_members(range(len(self.kept), self.rule.n_folds))
        temperature = self._choose_temperature()
        loss = self.loss(self.held_out_scores / temperature, slice(None))
        self._set_trees(self.kept, temperature)
        return CrossFit(tuple(len(rounds) for rounds in self.kept), loss, temperature)

    def _train_members(self, members, reference_curve=None):
        """Train some members, and keep their rounds."""
        with Workers(self.model._threads()) as workers:  # noqa: SLF001
            growers = make_growers(self.binned, workers, len(self.base))
            for member in members:
                is_used = (self.shared | (member % 2 == 1)) & ~self.is_dropped
                for grower in growers:
                    grower.use_features(is_used)
                self.kept.append(self._train_member(member, growers, workers, reference_curve))

    def _train_member(self, member, growers, workers, reference_curve):
        """Return the rounds of trees that a member keeps."""
        score = np.repeat(self.base[:, None], len(self.y), axis=1)
        target = Target(self.objective, self.targets, self.weight)
        seed = seed_of(self.seed, member, MEMBER)
        binned = self.binned
        extra = seed, binned.order, binned.high_cardinality
        booster = MemberBooster(self.model, growers, workers, target, score, *extra)
        booster.weight_unit, booster.linear = self.weight_unit, self.linear
        booster.rows = np.flatnonzero(self.fold != member).astype(np.uint32)
        held_out = np.flatnonzero(self.fold == member)
        return self._boost_until_worse(booster, held_out, reference_curve)

    def _boost_until_worse(self, booster, held_out, reference_curve):
        """Add rounds until the held-out loss stops improving; return the rounds to keep.

        With several scores a row, rounds after the best one are kept, too: the mean of the members
        overfits later than a member does.
        """
        best_loss, best_round, best_scores, batches = np.inf, 0, None, None
        number, last, lowest = 0, self.rule.max_rounds, []
        while number < last:
            rounds = self._add_rounds(booster, batches, last - number, held_out)
            for scores, loss in zip(rounds, self.losses(rounds, held_out), strict=True):
                number += 1
                if loss < best_loss or number == 1:
                    best_loss, best_round, best_scores = loss, number, scores.copy()
                lowest.append(best_loss)
                if reference_curve is not None and reference_curve.is_not_beaten_by(lowest):
                    last = number
                    break
            else:
                last = min(best_round + self.rule.patience, self.rule.max_rounds)
            if batches is None and can_batch(booster):
                batches = RoundBatches(booster, booster.rows, held_out.astype(np.uint32))
        self.loss_curve = LossCurve(lowest, best_round)
        keeps_all = len(self.base) > 1
        self.held_out_scores[:, held_out] = scores if keeps_all else best_scores
        return booster.rounds if keeps_all else booster.rounds[:best_round]

    @staticmethod
    def _add_rounds(booster, batches, most, held_out):
        """Add one round, or up to ``most`` in a batch.

        Returns
        -------
        float64 (n_rounds, n_scores, n_held_out), the held-out scores after each round
        """
        if batches is None:
            booster.boost()
            return booster.score[None, :, held_out]
        batches.add(most)
        return batches.held_out_scores

    def loss(self, scores, rows):
        """Return the mean loss of raw scores (n_scores, n) of some rows."""
        return float(self.losses(scores[None], rows)[0])

    def losses(self, rounds, rows):
        """Return the mean loss of some rows after each round, (n_rounds,).

        Parameters
        ----------
        rounds : float64 (n_rounds, n_scores, n), raw scores
        rows : index of the n rows
        """
        scores = np.ascontiguousarray(rounds.transpose(0, 2, 1)).reshape(-1, rounds.shape[1])
        prediction = self.model._predict_scores(scores)  # noqa: SLF001
        losses = self.metric.loss(np.tile(self.y[rows], len(rounds)), prediction)
        weight = None if self.weight is None else self.weight[rows]
        return np.average(losses.reshape(len(rounds), -1), axis=1, weights=weight)

    def _choose_temperature(self):
        """Return the temperature of the lowest out-of-fold loss; 1 unless scores are log odds."""
        if self.objective.link not in ("sigmoid", "softmax") or self.objective.n_scores == 0:
            return 1.0
        scores, losses = self.held_out_scores, []
        n_parts = max(1, TEMPERATURES.size * scores.size // MAX_SCORES)
        for temperatures in np.array_split(TEMPERATURES, n_parts):
            losses += self.losses(scores / temperatures[:, None, None], slice(None)).tolist()
        return float(TEMPERATURES[int(np.argmin(losses))])

    def _set_trees(self, kept, temperature):
        """Make the mean of the members the fitted trees of the model."""
        model, share = self.model, 1.0 / (temperature * len(kept))
        rounds = [trees for rounds in kept for trees in rounds]
        for trees in rounds:
            for tree in trees:
                tree.scale(share)
        model._binner, model._base = self.binned.binner, self.base / temperature  # noqa: SLF001
        codes = getattr(model, "classes_", None)
        link = model._link  # noqa: SLF001
        model.ensemble_ = join_trees(rounds, self.binned.binner, model._base, link, codes)  # noqa: SLF001
        model._walker = FastPredictor(model.ensemble_)  # noqa: SLF001
        model.n_estimators_ = len(rounds)
        model.n_iter_, model.best_iteration_ = len(rounds), 0
        model.best_score_, model.evals_result_ = {}, {}


def is_better(losses, others):
    """Return whether losses on parts of a fold are clearly lower than others on the same parts.

    The mean must be lower by the share `MIN_DECREASE` of the others' mean, and by `MIN_ERRORS`
    standard errors.
    """
    decrease = others - losses
    error = decrease.std(ddof=1) / np.sqrt(len(decrease))
    return decrease.mean() > max(MIN_DECREASE * others.mean(), MIN_ERRORS * error)


def stratified_folds(y, n_folds, seed, *, is_classifier):
    """Return the fold of each row, int64 (n_rows,).

    Rows are sorted by target. Of each n_folds consecutive rows, each fold gets one. So each fold
    has about the same share of every class, or the same distribution of targets.

    Parameters
    ----------
    y : (n_rows,) class codes or targets
    n_folds : int
    seed : int
    is_classifier : bool
        Rows of one class are ordered at random.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    shuffled = rng.permutation(len(y))
    order = shuffled[np.argsort(y[shuffled], kind="stable")]
    fold = np.empty(len(y), np.int64)
    if is_classifier:
        fold[order] = (np.arange(len(y)) + rng.integers(n_folds)) % n_folds
        return fold
    blocks = -(-len(y) // n_folds)
    numbers = np.argsort(rng.random((blocks, n_folds)), axis=1).ravel()
    fold[order] = numbers[: len(y)]
    return fold
