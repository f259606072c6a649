"""Python functions for the commands: runs, duels and tree comparisons.

Each has the options of its command, with the same names, and returns an object with a display in
notebooks. Errors of the command line (``harness: …``) are raised as `HarnessError`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from harness.core.progress import Progress
from harness.data import describe
from harness.plugins.registry import load_registry
from harness.progress_display import Lines, new_progress
from harness.results import DuelResult, ParityResult, RunResult
from harness.runs import run as runs
from harness.runs.parity import run_parity
from harness.runs.request import (
    Params,
    RunOptions,
    default_results,
    duel_experiment,
    own_data,
    parity_experiment,
    whole_paths,
)
from harness.runs.rerun import RunAgain


def run(
    experiment: str | Path | Mapping[str, Any] | None = None,
    *,
    algorithms: Sequence[str] = (),
    datasets: Sequence[str] = (),
    data: Any = None,
    target: str | None = None,
    task: str | None = None,
    drop_flagged: bool = False,
    group: str | None = None,
    time: str | None = None,
    weight: str | None = None,
    drop: Sequence[str] = (),
    test: str | Path | None = None,
    metric: str | None = None,
    class_weight: str | None = None,
    early_stopping: int | None = None,
    overrides: Params = (),
    seed: int | None = None,
    threads: int | None = None,
    jobs: int | None = None,
    timeout: str | float | None = None,
    memory: str | int | None = None,
    budget: str | float | None = None,
    track: str | None = None,
    quick: bool = False,
    executor: str = "local",
    scheduler: str | None = None,
    plugins: Sequence[str | Path] = (),
    results: str | Path | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    wait: bool = True,
    progress: Progress | bool | None = None,
) -> RunResult:
    """Run an experiment; results stored by earlier runs are not measured again.

    Parameters
    ----------
    experiment
        A shipped name, the path of a TOML file, or a mapping with the content of one. By
        default ``own_data`` with ``data``: each library at its own defaults within ten minutes;
        else ``quick``.
    algorithms
        Globs; only these, and their references. The import path of a scikit-learn estimator is
        a name, too.
    datasets
        Only these: globs, ``suite:NAME``, or ``NAME:rows=1000``.
    data
        Data of your own: the path of a file or of several, a data frame, or (X, y). A table is
        kept in the folder of results, because trials run in processes of their own and can be
        repeated.
    target
        The column of ``data`` to predict; (X, y) needs none.
    task
        ``binary``, ``multiclass`` or ``regression``, if the guess is wrong.
    drop_flagged
        Leave out the columns of ``data`` that the checks flag as identifiers.
    group, time, weight, drop
        Columns of ``data``: rows of one group are never in both parts of a split; splits train on
        earlier rows than they test; weights of rows; columns to leave out.
    test
        A file of test rows; ``data`` is then for training alone.
    metric
        The metric to judge by; by default log loss or RMSE.
    class_weight
        ``"balanced"``: rows of rare classes have more weight in training.
    early_stopping
        Rounds without improvement on a tenth of the training rows, after which training stops.
    overrides
        Keys of the experiment to change: ``{"splits.folds": 5}`` or ``["splits.folds=5"]``.
    seed
        Of splits and algorithms.
    threads, jobs
        Threads of each algorithm; trials at the same time (default: as the cores allow).
    timeout, memory
        Limits of a trial: seconds or ``"60s"``, bytes or ``"4GiB"``.
    budget
        Time limit of the run: splits are reduced first, then training rows.
    track
        ``equal`` capacity, the libraries' own ``default`` params, ``tuned``, or ``ensembled``.
    quick
        A short comparison at equal capacity, with 20 trees each.
    executor, scheduler
        The executor that runs trials, and the address of its scheduler.
    plugins
        Plugin files to load too.
    results
        The folder of the store and the reports (default: ``HARNESS_RESULTS``, else ``results``).
    fresh, retry_failed
        Run again trials with stored results; failed trials.
    wait
        Whether to wait for another run that writes to the same store.
    progress
        True for lines on stderr, False for none; by default bars if stderr is a terminal.

    Raises
    ------
    HarnessError
        If the options cannot be used or the store cannot be written; a failed trial is an
        outcome and raises no error.
    """
    options = RunOptions(
        experiment=experiment,
        algorithms=algorithms,
        datasets=datasets,
        data=data,
        target=target,
        task=task,
        drop_flagged=drop_flagged,
        group=group,
        time=time,
        weight=weight,
        drop=drop,
        test=test,
        metric=metric,
        class_weight=class_weight,
        early_stopping=early_stopping,
        overrides=overrides,
        seed=seed,
        threads=threads,
        jobs=jobs,
        timeout=timeout,
        memory=memory,
        budget=budget,
        track=track,
        quick=quick,
        executor=executor,
        scheduler=scheduler,
        plugins=plugins,
        results=default_results() if results is None else results,
        fresh=fresh,
        retry_failed=retry_failed,
        wait=wait,
    )
    return carry_out(options, progress)


def carry_out(options: RunOptions | RunAgain, progress: Progress | bool | None = None) -> RunResult:
    """Run an experiment with these options."""
    registry = load_registry(options.plugins)
    request = options.request(registry)
    with closing(progress_display_for(progress)) as display:
        for line in (line for dataset in request.extra for line in describe(dataset)):
            display.message(line)
        end = runs.run_experiment(request, registry, display)
    return RunResult(end.run_id, request.results, registry, end.experiment, end.tally)


def duel(
    a: str,
    b: str,
    dataset: Any,
    *,
    target: str | None = None,
    task: str | None = None,
    launches: int | None = None,
    blocks: int = 4,
    precision: str | float | None = None,
    claim: float | None = None,
    phase: str = "train",
    threads: int = 1,
    capacity: Params = (),
    a_params: Params = (),
    b_params: Params = (),
    both_params: Params = (),
    seed: int = 0,
    timeout: str | float = "10m",
    plugins: Sequence[str | Path] = (),
    results: str | Path | None = None,
    fresh: bool = False,
    progress: Progress | bool | None = None,
) -> DuelResult:
    """Time two algorithms in interleaved pairs on one dataset, or return a stored result.

    The ratio is B's time over A's: above 1, A is faster. A against itself measures the noise floor.

    Parameters
    ----------
    a, b
        Names of algorithms.
    dataset
        A name (also ``NAME:rows=100000``), or data of your own: a `Path`, a data frame, (X, y).
    target, task
        Target and task of your own data, as in :func:`run`.
    launches
        Pairs of fresh processes (default: 8).
    blocks
        Interleaved blocks in each launch.
    precision, claim
        Continue up to 24 launches, until the interval is this narrow on either side (``"2%"``), or
        until it is decided whether the ratio is at least this. Not together with ``launches``.
    phase
        The phase of ``precision`` and ``claim``.
    threads
        Threads of each side.
    capacity, a_params, b_params, both_params
        As in :func:`parity`.
    seed, timeout
        Seed of the split and both algorithms; time limit of one call.
    plugins, results, fresh, progress
        As in :func:`run`.

    Raises
    ------
    HarnessError
        If the options cannot be used; a failed side sets ``status``.
    """
    registry, files = load_registry(plugins), whole_paths(plugins)
    folder = default_results() if results is None else Path(results)
    named = isinstance(dataset, str)
    extra = own_data(None if named else dataset, folder, target, task)
    experiment = duel_experiment(
        (a, b),
        dataset if named else extra[0].name,
        settings={"launches": launches, "blocks": blocks, "threads": threads, "phase": phase}
        | {"precision": precision, "claim": claim},
        params=(a_params, b_params),
        both=both_params,
        capacity=capacity,
        seed=seed,
        timeout=timeout,
    )
    request = runs.Request(experiment, extra, files, folder, fresh=fresh, command="duel")
    with closing(progress_display_for(progress)) as display:
        end = runs.run_duel_request(request, registry, display)
    return DuelResult(end.run_id, folder, registry, end.outcome, tuple(end.speeds))


def parity(
    a: str,
    b: str | None = None,
    *,
    datasets: Sequence[str] = (),
    data: Any = None,
    target: str | None = None,
    task: str | None = None,
    capacity: Params = (),
    a_params: Params = (),
    b_params: Params = (),
    both_params: Params = (),
    folds: int = 5,
    seed: int = 0,
    threads: int = 1,
    timeout: str | float = "10m",
    plugins: Sequence[str | Path] = (),
    results: str | Path | None = None,
    fresh: bool = False,
    progress: Progress | bool | None = None,
) -> ParityResult:
    """Compare the trees of A with those of B, node by node, on every chosen dataset.

    Parameters
    ----------
    a, b
        Names of algorithms; ``b`` is by default A's reference.
    datasets
        As in :func:`run`; without these and ``data`` the bundled ones.
    data, target, task
        Your own data, as in :func:`run`.
    capacity
        Size parameters of both, such as ``{"trees": 100}``.
    a_params, b_params, both_params
        Params of A, of B, of both: ``{"parity": "xgboost"}`` or ``["parity=xgboost"]``.
    folds, seed, threads, timeout
        Number of splits, seed, threads of each side, time limit of a trial.
    plugins, results, fresh, progress
        As in :func:`run`.
    """
    registry, files = load_registry(plugins), whole_paths(plugins)
    folder = default_results() if results is None else Path(results)
    extra = own_data(data, folder, target, task)
    names = [*(d.name for d in extra), *datasets] or ["suite:bundled"]
    experiment = parity_experiment(
        a,
        b,
        names,
        registry,
        params=(a_params, b_params),
        both=both_params,
        capacity=capacity,
        folds=folds,
        seed=seed,
        threads=threads,
        timeout=timeout,
    )
    with closing(progress_display_for(progress)) as display:
        run_id = run_parity(
            experiment,
            registry,
            results=folder,
            extra=extra,
            plugin_files=files,
            fresh=fresh,
            progress=display,
        )
    return ParityResult(run_id, folder, registry)


def progress_display_for(progress: Progress | bool | None) -> Progress:
    """Return the progress display: by default none if stderr is not a terminal."""
    if isinstance(progress, Progress):
        return progress
    if progress is None:
        return new_progress() if sys.stderr.isatty() else Progress()
    return Lines() if progress else Progress()
