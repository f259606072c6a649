"""Explain why a trial or duel would be run, or its stored result reused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.core.errors import ConfigError
from harness.core.model import FAILURES, Duel, DuelOutcome, Outcome, Status, Trial
from harness.planning.reuse import Pins

if TYPE_CHECKING:
    from harness.store.read import Reader

_MISSING = "none"
_SHOWN = 12  # characters of a digest


def explain(store: Reader, name: str, planned: Trial | None = None) -> list[str]:
    """Return sentences on the stored results of a trial, and on why it is run or reused.

    Parameters
    ----------
    name
        Start of a trial id or of a cell id; ignored if ``planned`` is given.
    planned
        Trial as it would be run now. Without it, the newest stored one is explained.

    Raises
    ------
    ConfigError
        If ``name`` matches no stored trial, or trials of more than one cell.
    """
    trial = planned or _stored(store, name)
    head = f"{trial.algorithm} on {trial.dataset}, {trial.split.label}, seed {trial.seed}"
    attempts = store.history(trial.cell)
    same = [attempt for attempt in attempts if attempt[0].trial.id == trial.id]
    if same:
        lines = _known(*same[-1], reusable=trial.id in store.known([trial.id]))
    elif attempts:
        lines = _stale(*attempts[-1], trial)
    else:
        lines = ["new: no trial of this cell was ever measured here"]
    return [_plain(line) for line in (f"{head} (trial {trial.id}, cell {trial.cell})", *lines)]


def explain_duel(store: Reader, name: str, planned: Duel | None = None) -> list[str]:
    """Return sentences on the stored results of a duel; empty if ``name`` matches no duel.

    Parameters are as for :func:`explain`; ``planned`` is the duel of the same two algorithms as
    it would be run now.
    """
    attempts = store.find_duels(name) if name else []
    if not attempts:
        return []
    duel_ids = {outcome.duel.id for outcome, _ in attempts}
    if len(duel_ids) > 1:
        raise ConfigError(f"{name!r} matches {len(duel_ids)} duels; give more characters of the id")
    outcome, run = attempts[-1]
    duel = outcome.duel
    head = f"{duel.a.name} against {duel.b.name} on {duel.a.dataset.name}"
    if planned is None or planned.id == duel.id:
        lines = _known_duel(outcome, run)
    else:
        lines = ["stale, so it is timed again", f"last timed in {_run(run)}; since then:"]
        lines += _duel_changes(duel, planned)
    return [_plain(line) for line in (f"{head} (duel {duel.id})", *lines)]


def _known_duel(outcome: DuelOutcome, run: str) -> list[str]:
    at = f"on {outcome.ended[:16].replace('T', ' ')}" if outcome.ended else "at an unknown time"
    timed = f"timed {at} in {_run(run)}"
    if outcome.status in FAILURES:
        message = f": {outcome.failure.message}" if outcome.failure else ""
        failed = f"failed last time ({_words(outcome.status)}{message}), {timed}"
        return [failed, _next(outcome, ("is timed", "time"))]
    return [f"known: {timed}, so it is reused; add --fresh to time it again"]


def _duel_changes(old: Duel, new: Duel) -> list[str]:
    sides = ((old.a, new.a), (old.b, new.b))
    trials = [pair for was, now in sides for pair in zip(was.trials, now.trials, strict=False)]
    changes = dict.fromkeys(change for was, now in trials for change in _changes(was, now))
    return list(changes) or ["the timed phases or the number of calls changed"]


def _stored(store: Reader, name: str) -> Trial:
    """Return the newest stored trial whose trial or cell id starts with ``name``."""
    stored = store.find(name) if name else []
    if not stored:
        raise ConfigError(
            f"no stored trial or cell id starts with {name!r}; `harness export` lists some"
        )
    cells = {trial.cell for trial in stored}
    if len(cells) > 1:
        some = ", ".join(sorted(cells)[:5])
        raise ConfigError(
            f"{name!r} matches {len(cells)} cells ({some}, …); give more characters of the id"
        )
    return stored[0]


def _known(outcome: Outcome, run: str, *, reusable: bool) -> list[str]:
    """Return sentences on a trial that was run before under the same id."""
    measured = f"measured {_when(outcome)} in {_run(run)}"
    if outcome.status in FAILURES:
        message = f": {outcome.failure.message}" if outcome.failure else ""
        failed = f"failed last time ({_words(outcome.status)}{message}), {measured}"
        return [failed, _next(outcome, ("runs", "run"))]
    if not Pins().agree(outcome.facts):
        return [f"{measured}, but on other data than the data pinned here, so it runs again"]
    if not reusable:
        return [f"{measured}, but its stored arrays are missing, so it runs again"]
    if outcome.status is Status.SKIPPED:
        return [f"known: skipped ({outcome.reason}), recorded {_when(outcome)} in {_run(run)}"]
    return [f"known: {measured}, so it is reused; add --fresh to run it again"]


def _next(failed: Outcome | DuelOutcome, words: tuple[str, str]) -> str:
    """Return whether a failed trial or duel runs again, as a sentence; see `reuse`."""
    happens, verb = words
    if failed.facts.get("failed_in") == "start":
        return f"it never started, so it {happens} again"
    if failed.status is Status.TIMEOUT and failed.facts.get("machine_load", {}).get("loaded"):
        return f"the machine was loaded, so it {happens} again"
    limits = {Status.TIMEOUT: "a longer --timeout", Status.OUT_OF_MEMORY: "a larger --memory"}
    limit = limits.get(failed.status)
    retry = f"--retry-failed or {limit}" if limit else "--retry-failed"
    return f"it is reused as a failure; add {retry} to {verb} it again"


def _stale(outcome: Outcome, run: str, planned: Trial) -> list[str]:
    """Return sentences on a trial that was run before under another id."""
    changes = list(_changes(outcome.trial, planned))
    changes = changes or ["ids are computed differently"]
    last = f"last measured {_when(outcome)} in {_run(run)} ({_words(outcome.status)}); since then:"
    return ["stale, so it runs again", last, *changes]


def _changes(old: Trial, new: Trial) -> Iterator[str]:
    """Yield a sentence for each ingredient of the trial id that differs."""
    if old.timed != new.timed:
        yield "a timed trial is needed now" if new.timed else "no timed trial is needed now"
    before, after = dict(old.ingredients), dict(new.ingredients)
    for key in dict.fromkeys([*before, *after]):
        was, now = before.get(key), after.get(key)
        if was == now or key == "cell":
            continue
        if key == "versions" and isinstance(was, Mapping) and isinstance(now, Mapping):
            yield from _versions(was, now)
        else:
            yield _change(key, was, now, str(after.get("plugin", new.algorithm)))


def _versions(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for library in sorted({*was, *now}):
        old, new = was.get(library), now.get(library)
        if old != new:
            yield f"{library} {old or _MISSING} → {new or _MISSING}"


def _change(key: str, was: Any, now: Any, plugin: str) -> str:
    digests = f"digest {_short(was)} → {_short(now)}"
    match key:
        case "code":
            return f"the code of {plugin} changed ({digests})"
        case "plugin":
            return f"another plugin registers the algorithm ({_short(was)} → {_short(now)})"
        case "dataset":
            return f"the dataset's rows or reading options changed ({digests})"
        case "machine":
            return f"measured on another machine ({_short(was)}; this is {_short(now)})"
        case "measurement":
            return f"trials are measured in a new way (version {was} → {now})"
        case _:
            return f"{key} changed ({_short(was)} → {_short(now)})"


def _short(value: Any) -> str:
    if value is None:
        return _MISSING
    shown = str(value)
    is_digest = len(shown) > _SHOWN and all(c in "0123456789abcdef" for c in shown)
    return shown[:_SHOWN] if is_digest else shown[:200]


def _words(status: Status) -> str:
    return status.value.replace("_", " ")


def _when(outcome: Outcome) -> str:
    return f"on {outcome.ended[:16].replace('T', ' ')}" if outcome.ended else "at an unknown time"


def _run(run: str) -> str:
    return f"run {run}" if run else "a run that was removed since"


def _plain(line: str) -> str:
    """Replace control characters with spaces."""
    return "".join(c if c.isprintable() else " " for c in line)
