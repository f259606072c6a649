"""Optuna's proposals of configurations, for a tuned trial with ``method = "optuna"``.

The tree-structured Parzen estimator (Bergstra et al. 2011, "Algorithms for Hyper-Parameter
Optimization") models the losses of the configurations that were tried and proposes the next one.
Its draws are seeded and its calls are sequential, so a trial that is run again repeats the search.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState, create_trial

from harness.core.model import JSON


class Proposals:
    """Proposals of configurations in a search space.

    Parameters
    ----------
    space
        Parameter → its values, as in :class:`harness.Algorithm`.
    seed
        Of the sampler.
    """

    def __init__(self, space: Mapping[str, Any], seed: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.space = {name: space[name] for name in sorted(space)}  # the order of the draws
        self.distributions = {name: _distribution(self.space[name]) for name in self.space}
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=0)
        self.study = optuna.create_study(sampler=sampler)
        self.trial: optuna.trial.Trial | None = None  # the last proposal

    def add(self, configuration: Mapping[str, Any], loss: float) -> None:
        """Add a configuration of the space with its loss; an infinite loss is a failure."""
        params = {name: _to_optuna(self.space[name], configuration[name]) for name in self.space}
        known: JSON = {"params": params, "distributions": self.distributions}
        if math.isfinite(loss):
            self.study.add_trial(create_trial(value=loss, **known))
        else:
            self.study.add_trial(create_trial(state=TrialState.FAIL, **known))

    def propose(self) -> JSON:
        """Return the values of the next configuration; call `tell` with its loss."""
        self.trial = self.study.ask(self.distributions)
        return {
            name: _from_optuna(self.space[name], value) for name, value in self.trial.params.items()
        }

    def tell(self, loss: float) -> None:
        """Add the loss of the last proposal; an infinite loss is a failure."""
        assert self.trial is not None  # proposed before
        if math.isfinite(loss):
            self.study.tell(self.trial, loss)
        else:
            self.study.tell(self.trial, state=TrialState.FAIL)


def _distribution(choices: Any) -> BaseDistribution:
    """Return Optuna's distribution; values of a list are represented by their positions."""
    if isinstance(choices, Sequence):
        return CategoricalDistribution(range(len(choices)))
    low, high, log = choices["low"], choices["high"], bool(choices.get("log"))
    if isinstance(low, int) and isinstance(high, int):
        return IntDistribution(low, high, log=log)
    return FloatDistribution(low, high, log=log)


def _to_optuna(choices: Any, value: Any) -> Any:
    """Return a value as Optuna represents it; rounded numbers are moved into their range."""
    if isinstance(choices, Sequence):
        return choices.index(value)
    return min(max(value, choices["low"]), choices["high"])


def _from_optuna(choices: Any, represented: Any) -> Any:
    """Return the value of the space; floats have six significant digits."""
    if isinstance(choices, Sequence):
        return choices[represented]
    return represented if isinstance(represented, int) else float(f"{represented:.6g}")
