"""Configurations of a search, drawn at planning time and stored in the trials' params.

A tuned trial is a plain trial whose params are ``{"tune": {"configurations": […], "inner_folds":
k}}``; ``halving`` in it asks for successive halving, ``ensemble`` for an ensemble. It contains
every configuration in full, so its ids cover exactly what was searched, and a worker does not need
the search space. The first configuration is the algorithm's own defaults. With ``optuna``, the
worker tries these configurations first, and Optuna proposes the others: the params hold the search
space, the seed and the version of Optuna, which determine the proposals.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness.core.class_weights import without_class_weight
from harness.core.errors import ConfigError, PluginError
from harness.core.model import JSON, Algorithm

TUNE = "tune"  # the one key of a tuned trial's params
DRAWN_FIRST = 10  # maximum number of random configurations before Optuna's proposals


def tuned_params(
    algorithm: Algorithm, fixed: Mapping[str, Any], tuning: Any, *, ensembled: bool = False
) -> JSON | None:
    """Return the params of an algorithm on a track that searches; None without a search space.

    Parameters
    ----------
    algorithm
        Its ``space`` maps a param to a list of values, or to ``{"low": …, "high": …}``: integers
        if both are, on a logarithmic scale with ``"log": True``.
    fixed
        Params that the experiment sets; they are not searched.
    tuning
        Number of ``configurations``, ``inner_folds``, the ``method``, and the ``seed`` of the
        random draws.
    ensembled
        Whether several configurations are averaged.

    Raises
    ------
    PluginError
        If a search space is invalid.
    ConfigError
        If the method is ``optuna`` and Optuna is not installed.
    """
    space = {key: values for key, values in algorithm.space.items() if key not in fixed}
    if not algorithm.space:
        return None
    base = {**algorithm.params, **fixed}
    first = {**algorithm.params, **algorithm.defaults, **fixed}
    for key, choices in space.items():
        _check(algorithm.name, key, choices)
    drawn = draw(space, tuning.configurations - 1, tuning.seed)
    search: JSON = {"halving": tuning.reduction} if tuning.method == "halving" else {}
    if tuning.method == "optuna":
        kept = min(DRAWN_FIRST, math.ceil(len(drawn) / 2))
        proposed = len(drawn) - kept
        drawn = drawn[:kept]
        search = {"optuna": _proposals(space, base, proposed, tuning.seed)}
    return {
        TUNE: {
            "configurations": [first, *({**base, **values} for values in drawn)],
            "inner_folds": tuning.inner_folds,
            **search,
            **({"ensemble": tuning.ensemble_rounds} if ensembled else {}),
        }
    }


def _proposals(space: Mapping[str, Any], base: JSON, number: int, seed: int) -> JSON:
    """Return all that determines Optuna's proposals."""
    try:
        installed = version("optuna")
    except PackageNotFoundError:
        raise ConfigError(
            'tuning.method = "optuna" needs the package optuna: '
            'pip install "tree-harness[optuna]", or use "random" or "halving"'
        ) from None
    return {
        "space": dict(space),
        "base": base,
        "proposed": number,
        "seed": seed,
        "version": installed,
    }


def draw(space: Mapping[str, Any], number: int, seed: int) -> list[JSON]:
    """Return distinct random configurations; fewer than ``number`` if the space is too small.

    Two algorithms with the same space get the same configurations.
    """
    rng = random.Random(f"{json.dumps(space)} {seed}")  # noqa: S311 - repeatable, not secret
    configurations: dict[str, JSON] = {}
    for _ in range(20 * number if space else 0):
        values = {key: _value(choices, rng) for key, choices in space.items()}
        configurations.setdefault(json.dumps(values), values)
        if len(configurations) == number:
            break
    return list(configurations.values())[:number]


def _value(choices: Any, rng: random.Random) -> Any:
    """Return one random value; numbers are rounded to six digits for readability."""
    if isinstance(choices, Sequence):
        return rng.choice(choices)
    low, high = choices["low"], choices["high"]
    if choices.get("log"):
        value = math.exp(rng.uniform(math.log(low), math.log(high)))
    else:
        value = rng.uniform(low, high)
    if isinstance(low, int) and isinstance(high, int):
        return min(high, max(low, round(value)))
    return float(f"{value:.6g}")


def _check(name: str, key: str, choices: Any) -> None:
    if isinstance(choices, (list, tuple)) and choices:
        return
    if isinstance(choices, Mapping) and {"low", "high"} <= set(choices) <= {"low", "high", "log"}:
        least = 0 if choices.get("log") else -math.inf
        if least < choices["low"] < choices["high"]:
            return
    raise PluginError(
        f"space of {name}: {key} = {choices!r} must be a list of values, or "
        '{"low": …, "high": …}; with "log": True both must be above 0'
    )


def one_of_each(params: Mapping[str, Any]) -> list[JSON]:
    """Return params to compile with; of a tuned trial, those that differ in more than numbers."""
    if TUNE not in params:
        return [without_class_weight(params)]
    kinds: dict[str, JSON] = {}
    for chosen in params[TUNE]["configurations"]:
        kind = {
            k: type(v).__name__ if isinstance(v, (int, float)) else v for k, v in chosen.items()
        }
        kinds.setdefault(json.dumps(kind, sort_keys=True), chosen)
    return list(kinds.values())
