"""Search the configurations of a tuned trial inside its ``fit``, by cross-validation.

The search uses only the training rows of the trial. Every configuration is trained on the same
inner folds, which follow the rule of the trial's split: a group is not divided, and with rows
ordered by time, each fold is predicted by models trained on earlier rows. The configuration with
the least mean loss (the primary metric) is trained again on all training rows, or several are
averaged. Successive halving tries many configurations on few rows and the best of them on more.
Optuna proposes configurations after those that were drawn. All of this counts as the trial's fit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np

from harness.config.search_space import TUNE, one_of_each
from harness.core.errors import DataError
from harness.core.model import JSON, Adapter, Algorithm, Predicted, Spec, Split, Table, Task, Trial
from harness.data.splits import split_rows
from harness.plugins.metrics import log_loss, ndcg_at_10, rmse_sd
from harness.worker.ensemble_selection import select_ensemble

MIN_ROWS = 200  # the least share of the first iteration, in training rows
Parts = list[tuple[np.ndarray, np.ndarray]]  # rows to train on and held-out rows of each fold


class Training(NamedTuple):
    """Prepared training rows; each configuration builds its own training data from them."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    query: np.ndarray | None = None  # number of the query of each row, ascending, for ranking

    def part(self, rows: np.ndarray) -> Training:
        """Return some of the rows."""
        X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        weight, query = (None if of is None else of[rows] for of in (self.weight, self.query))
        return Training(X, self.y[rows], weight, query)

    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments of an adapter's ``prepare``."""
        given = self.X, self.y, self.weight
        if self.query is None:
            return given
        return *given, np.unique(self.query, return_counts=True)[1]


def build_adapter(algorithm: Algorithm, spec: Spec, table: Table | None = None) -> Adapter:
    """Return the algorithm's adapter, or a `Tuned` one for a tuned trial.

    ``table`` is the result of `inner_table`; without it the inner folds are random.
    """
    if TUNE not in spec.params:
        return algorithm.adapter(spec)
    search = spec.params[TUNE]
    kind = Ensembled if "ensemble" in search else Tuned
    return kind(algorithm.adapter, spec, table, **search)


def plain_specs(spec: Spec) -> Iterator[Spec]:
    """Yield the spec, or for a tuned trial a spec for each kind of configuration."""
    return (replace(spec, params=params) for params in one_of_each(spec.params))


class Evaluation(NamedTuple):
    """Result of a configuration over the inner folds: its loss and its predictions.

    ``loss`` is the mean over the folds, infinite if a fold failed; ``output`` has a prediction for
    each training row, of the model that did not see it, or None.
    """

    loss: float
    output: np.ndarray | None


class Tuned:
    """Adapter that searches configurations and delegates to the adapter of the best one.

    Attributes
    ----------
    table : Table or None
        Targets, groups and times of the training rows, from `inner_table`. The inner folds depend
        on them; they are random for None. Not pickled.
    configurations : list of dict
        Params of each configuration; Optuna's proposals are appended.
    losses : list of float
        Mean inner loss of each configuration when it was last tried; infinite if it failed.
    iterations : list of (share of the rows, configurations)
        Iterations of successive halving; one with all rows for random search.
    tried : dict of int to Evaluation
        Results of the configurations of the last iteration; not pickled.
    folds : int array (n,)
        Inner fold of each training row, -1 for rows that are never held out; not pickled.
    trajectory : list of (index, share of the rows, loss, seconds)
        Configurations in the order in which they were tried; seconds since the search began.
    chosen : int
        Index of the chosen configuration.
    """

    def __init__(
        self,
        build: Callable[[Spec], Adapter],
        spec: Spec,
        table: Table | None,
        configurations: list[JSON],
        inner_folds: int,
        halving: int = 0,
        optuna: JSON | None = None,
    ) -> None:
        self.build, self.spec, self.table = build, spec, table
        self.given, self.inner_folds = configurations, inner_folds
        self.configurations = configurations
        self.halving, self.optuna = halving, optuna
        self.losses: list[float] = []
        self.iterations: list[tuple[float, list[int]]] = []
        self.trajectory: list[tuple[int, float, float, float]] = []
        self.tried: dict[int, Evaluation] = {}
        self.folds = np.empty(0, np.int64)
        self.chosen = 0
        self.adapter: Any = None

    def prepare(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None, group: np.ndarray | None = None
    ) -> Training:
        """Keep the rows: the library's training data may depend on the configuration (its bins)."""
        query = None if group is None else np.repeat(np.arange(len(group)), group)
        return Training(X, y, weight, query)

    def fit(self, native: Training) -> None:
        """Search, then train the best configuration on all rows; ties go to the first."""
        self._search(native)
        self.adapter = self._trained(self.configurations[self.chosen], native)

    def predict(self, X: Any) -> np.ndarray:
        """Predict with the chosen configuration."""
        output: np.ndarray = self.adapter.predict(X)
        return output

    def predict_one(self, x: Any) -> np.ndarray:
        """Predict a row with the chosen configuration."""
        output: np.ndarray = self.adapter.predict_one(x)
        return output

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the chosen adapter, such as its trees or stages."""
        if name == "adapter":
            raise AttributeError(name)
        return getattr(self.adapter, name)

    def __getstate__(self) -> JSON:
        """Return the attributes to pickle: all that predictions and facts need."""
        left_out = {"build", "table", "tried", "folds"}
        return {key: value for key, value in vars(self).items() if key not in left_out}

    def __setstate__(self, state: JSON) -> None:
        """Restore the pickled attributes."""
        self.__dict__.update(state)

    def facts(self) -> JSON:
        """Return the result of the search."""
        losses = [loss if math.isfinite(loss) else None for loss in self.losses]
        return {
            "chosen": self.chosen,
            "params": self.configurations[self.chosen],
            "losses": losses,
            "inner_folds": self.inner_folds,
            "trajectory": [
                [i, share, loss if math.isfinite(loss) else None, round(seconds, 4)]
                for i, share, loss, seconds in self.trajectory
            ],
            **({"iterations": [list(one) for one in self.iterations]} if self.halving else {}),
            **({"proposed": self.configurations[len(self.given) :]} if self.optuna else {}),
        }

    def held_out(self, y: np.ndarray) -> dict[str, np.ndarray]:
        """Return the held-out predictions of the last iteration's configurations, as arrays.

        Parameters
        ----------
        y : (n,) array
            Target of the training rows.

        Returns
        -------
        dict
            ``index`` (k,) and ``loss`` (k,) of the configurations; ``output`` (k, n[, n_classes]),
            NaN for rows that are never held out; ``fold`` (n,), the inner fold that held a row
            out, or -1; ``y`` (n,).
        """
        kept = {i: one for i, one in self.tried.items() if one.output is not None}
        return {
            "index": np.fromiter(kept, np.int64),
            "loss": np.array([one.loss for one in kept.values()]),
            "output": np.array([one.output for one in kept.values()]),
            "fold": self.folds,
            "y": y,
        }

    def _search(self, training: Training) -> dict[int, Evaluation]:
        """Try the configurations, choose the best one, and return the last iteration's results.

        With successive halving, one of ``halving`` configurations is kept for the next iteration,
        which has ``halving`` times as many rows.
        """
        parts = inner_parts(training.y, self.inner_folds, self.spec, self.table)
        self.folds = np.full(len(training.y), -1)
        for fold, (_, held) in enumerate(parts):
            self.folds[held] = fold
        self.configurations = list(self.given)
        left = list(range(len(self.configurations)))
        self.losses = [math.inf] * len(left)
        self.iterations, self.trajectory = [], []
        began = time.perf_counter()
        errors: list[Exception] = []
        tried: dict[int, Evaluation] = {}
        for share in shares_of_rows(len(left), self.halving, len(training.y)):
            if self.iterations:
                left = sorted(left, key=self.losses.__getitem__)
                left = sorted(left[: math.ceil(len(left) / self.halving)])
            self.iterations.append((share, left))
            tried = {}
            for i in left:
                tried[i] = self._try(i, training, parts, share, errors)
                self.losses[i] = loss = tried[i].loss
                self.trajectory.append((i, share, loss, time.perf_counter() - began))
        if self.optuna:
            for i in self._propose(self.optuna):
                tried[i] = self._try(i, training, parts, 1.0, errors)
                self.losses.append(tried[i].loss)
                self.trajectory.append((i, 1.0, tried[i].loss, time.perf_counter() - began))
                left.append(i)
        self.tried = tried
        self.chosen = min(left, key=self.losses.__getitem__)
        if not math.isfinite(self.losses[self.chosen]):
            unknown = ValueError("no configuration of the search has a finite loss")
            raise next(iter(errors), unknown)
        return tried

    def _propose(self, optuna: JSON) -> Iterator[int]:
        """Append configurations proposed by Optuna, and yield the index of each.

        The loss of the last one is read when the next one is asked for. The defaults may lie
        outside the search space, so Optuna does not know their loss.
        """
        from harness.worker.optuna_search import Proposals

        proposals = Proposals(optuna["space"], optuna["seed"])
        for configuration, loss in zip(self.given[1:], self.losses[1:], strict=True):
            proposals.add(configuration, loss)
        for _ in range(optuna["proposed"]):
            self.configurations.append({**optuna["base"], **proposals.propose()})
            yield len(self.configurations) - 1
            proposals.tell(self.losses[-1])

    def _try(
        self, i: int, training: Training, parts: Parts, share: float, errors: list[Exception]
    ) -> Evaluation:
        """Train a configuration on a share of the rows of each inner fold, and score it."""
        losses, outputs = [], []
        for rows, held in parts:
            sample = sampled(rows, training, share, self.spec)
            try:
                adapter = self._trained(self.configurations[i], training.part(sample))
                tested = training.part(held)
                outputs.append(np.asarray(adapter.predict(tested.X), np.float64))
                losses.append(self._score(tested, outputs[-1]))
            except Exception as error:  # noqa: BLE001 - a failing configuration gets an infinite loss
                errors.append(error)
                return Evaluation(math.inf, None)
        mean = fmean(losses)
        if not math.isfinite(mean):
            return Evaluation(math.inf, None)
        output = np.full((len(training.y), *outputs[0].shape[1:]), math.nan)
        for (_, held), predicted in zip(parts, outputs, strict=True):
            output[held] = predicted
        return Evaluation(mean, output)

    def _trained(self, params: Mapping[str, Any], training: Training) -> Adapter:
        adapter = self.build(replace(self.spec, params=params))
        adapter.fit(adapter.prepare(*training.arguments()))
        return adapter

    def _score(self, held: Training, output: np.ndarray) -> float:
        predicted = Predicted(held.y, output, held.weight, 1.0, held.query)
        if self.spec.task is Task.RANKING:
            return 1.0 - ndcg_at_10(predicted)
        return log_loss(predicted) if self.spec.task.is_classification else rmse_sd(predicted)


class Ensembled(Tuned):
    """Adapter that searches configurations and averages several of them.

    The weights are selected by the predictions of training rows that were held out; see
    :mod:`harness.worker.ensemble_selection`.

    Attributes
    ----------
    weights : dict of int to float
        Weight of each configuration that is used.
    members : list of Adapter
        Adapters of these configurations, trained on all rows.
    """

    def __init__(
        self,
        build: Callable[[Spec], Adapter],
        spec: Spec,
        table: Table | None,
        configurations: list[JSON],
        inner_folds: int,
        halving: int = 0,
        optuna: JSON | None = None,
        ensemble: int = 1,
    ) -> None:
        super().__init__(build, spec, table, configurations, inner_folds, halving, optuna)
        self.rounds = ensemble
        self.weights: dict[int, float] = {}
        self.members: list[Any] = []

    def fit(self, native: Training) -> None:
        """Search, select configurations and weights, and train each on all rows."""
        tried = self._search(native)
        rows = np.flatnonzero(self.folds >= 0)
        held = native.part(rows)
        outputs = {i: trial.output[rows] for i, trial in tried.items() if trial.output is not None}
        weights = select_ensemble(
            list(outputs.values()), lambda output: self._score(held, output), self.rounds
        )
        pairs = zip(outputs, weights.tolist(), strict=True)
        self.weights = {i: weight for i, weight in pairs if weight > 0}
        self.chosen = max(self.weights, key=self.weights.__getitem__)
        self.members = [self._trained(self.configurations[i], native) for i in self.weights]

    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the predictions of the members."""
        return self._mean([member.predict(X) for member in self.members])

    def predict_one(self, x: Any) -> np.ndarray:
        """Predict a row with each member and return the weighted mean."""
        return self._mean([member.predict_one(x) for member in self.members])

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError: an ensemble has no trees and no stages of one adapter."""
        raise AttributeError(name)

    def facts(self) -> JSON:
        """Return the result of the search, and the weight of each configuration."""
        used = [[i, weight] for i, weight in self.weights.items()]
        return {**super().facts(), "weights": used}

    def _mean(self, outputs: list[np.ndarray]) -> np.ndarray:
        weights = np.array(list(self.weights.values()))
        mean: np.ndarray = np.tensordot(weights, np.array(outputs, np.float64), axes=1)
        return mean


def shares_of_rows(configurations: int, halving: int, rows: int) -> list[float]:
    """Return the share of the training rows of each iteration, ascending; the last one is 1.

    An iteration is added as long as at least ``halving`` configurations are left and the share of
    the first iteration is at least `MIN_ROWS` of the rows.
    """
    shares = [1.0]
    while halving > 1 and configurations >= halving and rows / halving >= MIN_ROWS:
        configurations, rows = math.ceil(configurations / halving), rows // halving
        shares.append(shares[-1] / halving)
    return shares[::-1]


def sampled(rows: np.ndarray, training: Training, share: float, spec: Spec) -> np.ndarray:
    """Return a random sample of some rows in their order; all for share 1.

    It is stratified by class; that of a ranking consists of whole queries.
    """
    if share == 1.0:
        return rows
    rng = np.random.default_rng(spec.seed)
    if training.query is not None:
        queries = rng.permutation(np.unique(training.query[rows]))
        chosen = queries[: max(1, round(share * len(queries)))]
        return rows[np.isin(training.query[rows], chosen)]
    order = rng.permutation(rows)
    if spec.task.is_classification:
        order = order[np.argsort(training.y[order], kind="stable")]
    number = max(1, round(share * len(order)))
    evenly_spaced = np.arange(number) * len(order) // number
    return np.sort(order[evenly_spaced])


def inner_table(trial: Trial, table: Table, rows: np.ndarray) -> Table | None:
    """Return the targets, groups and times of the training rows, which `inner_parts` divides.

    The times are left out unless the split is ordered by time. The result is None if the trial is
    not tuned.
    """
    if TUNE not in trial.params:
        return None
    group = None if table.group is None else table.group[rows]
    order = None
    if table.order is not None and trial.split.scheme == "ordered":
        order = np.searchsorted(np.sort(table.order[rows]), table.order[rows])
    return Table(table.X[:0], table.y[rows], table.classes, group=group, order=order)


def inner_parts(y: np.ndarray, k: int, spec: Spec, table: Table | None) -> Parts:
    """Return (training rows, held-out rows) of each inner fold.

    Raises
    ------
    DataError
        If the groups or times do not suffice for ``k`` folds.
    """
    if table is None or (table.group is None and table.order is None):
        fold = inner_folds(y, k, spec)
        return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(k)]
    scheme: Literal["kfold", "ordered"] = "kfold" if table.order is None else "ordered"
    try:
        return [split_rows(Split(scheme, k, i, seed=spec.seed), table, spec.task) for i in range(k)]
    except DataError as error:
        raise DataError(f"tuning.inner_folds = {k}, in the training rows: {error}") from None


def inner_folds(y: np.ndarray, k: int, spec: Spec) -> np.ndarray:
    """Return the fold of each training row, int (n,), stratified by class."""
    order = np.random.default_rng([spec.seed, k]).permutation(len(y))
    if spec.task.is_classification:
        order = order[np.argsort(y[order], kind="stable")]
    part = np.empty(len(y), np.int64)
    part[order] = np.arange(len(y)) % k
    return part
