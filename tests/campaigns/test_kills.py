"""Real runs of the command line, killed repeatedly at random moments.

``SOAK_KILLS`` (100) kills drawn from ``SOAK_SEED`` (1), each in a stage drawn at random as far as
the run comes to it: starting, compiling, trials, comparing trees, duels, writing the report. What
must hold at the end of each run is the guarantee of the store: exactly the planned
outcomes, duels and comparisons, each stored once, nothing run again that was stored, nothing
half-written, a whole report, no process and no file left over.
"""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing

import psutil
import pytest
from jobs import wait_until
from kill_campaign import SIDE_BY_SIDE, STAGES, Campaign, is_in_ledger, key_of, stage_of, workers_of

from harness.core.model import FAILURES, Status
from harness.store import DATABASE, Store

KINDS = ("SIGKILL", "SIGKILL", "worker", "worker", "both", "SIGTERM", "SIGINT")
PATIENCE = 10.0  # seconds, on average, that a stage is waited for once trials have begun
TRIALS = STAGES.index("trials")
MOMENT = 1.0  # seconds, on average, from the beginning of a stage to a kill
MANY = 50  # kills from which on each stage must have had some
OLD = 2 * 86_400.0  # seconds after which what a killed process left is swept


@pytest.fixture(autouse=True)
def _restore_ctrl_c():
    """Restore the default of SIGINT, which background processes of a shell ignore."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def wait_for_a_moment(process, chance):
    """Wait for a random time in a random stage, or less if the stage takes long to come."""
    aim, patience = chance.randrange(len(STAGES)), chance.expovariate(1 / PATIENCE)
    until = None
    while process.poll() is None and (stage := stage_of(process)) < aim:
        if stage >= TRIALS and until is None:
            until = time.monotonic() + patience
        if until is not None and time.monotonic() > until:
            break
        time.sleep(0.01)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(chance.expovariate(1 / MOMENT))


def kill_one(process, kind, chance):
    """Kill a process; return True if one was killed."""
    if kind in ("worker", "both"):
        workers = workers_of(process)
        if not workers:
            return False
        with contextlib.suppress(psutil.NoSuchProcess):
            chance.choice(workers).kill()
    if kind != "worker":
        process.send_signal(signal.SIGKILL if kind == "both" else signal.Signals[kind])
    return True


def ended(process, kind):
    """Wait for the end of a terminated run, and check its message."""
    process.communicate(timeout=60)
    err = process.log.read_text()
    if kind in ("SIGKILL", "both"):
        assert process.returncode in (-signal.SIGKILL, 3)
    elif process.returncode != 3:  # 3: it had just ended by itself
        if process.returncode == 130:
            assert "harness: interrupted" in err
            assert "Traceback" not in err, err
        else:  # it came while Python itself was starting
            assert process.returncode in (1, -signal.Signals[kind]), (process.returncode, err)
            assert "in started" not in err, err


def run_with_kills(campaign, chance, kills):
    """Run until the end with kills on the way; return the output of the run that completed."""
    while True:
        process = campaign.start()
        if kills <= 0:
            message = finished(process)  # it reads the output, which may be larger than a pipe
            campaign.note()
            return message
        while True:
            wait_for_a_moment(process, chance)
            if process.poll() is not None:
                break
            kind, stage = chance.choice(KINDS), STAGES[stage_of(process)]
            if not kill_one(process, kind, chance):
                continue
            kills -= 1
            campaign.kills[kind] += 1
            campaign.hit[stage] += 1
            print(kind, stage, campaign.executions().total(), end="; ", flush=True)  # noqa: T201
            if kind != "worker":
                ended(process, kind)
                break
        campaign.note()
        if not process.stdout.closed:  # it was not killed
            return finished(process)


def finished(process):
    """Return the output of a run that was not killed."""
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 3, process.log.read_text()
    return json.loads(out)


def check_whole(campaign, message):
    """Check that store and reports are complete, and that the results folder holds nothing else."""
    with Store.open(campaign.results) as store:
        named = {sha for o, _ in store.outcomes() for sha in o.arrays.values()}
        for sha256 in named:
            store.artifact(sha256)
        files = {store.artifacts.hash_of(path) for path in store.artifacts.files()}
        assert files == named
    with closing(sqlite3.connect(campaign.results / DATABASE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    pages = list(campaign.results.glob("report-*.html"))
    assert str(campaign.results / f"report-{message['run']}.html") == message["report"]
    assert campaign.results / f"report-{message['run']}.html" in pages
    for page in pages:  # those of runs that were killed soon after, too
        assert page.read_text().rstrip().endswith("</html>"), page
    left = {path.name for path in campaign.results.iterdir()}
    halves = {name for name in left if name.startswith(".report-") and name.endswith(".tmp")}
    assert len(halves) <= campaign.hit["report"]
    rest = left - halves - {f"{DATABASE}.lock"} - {page.name for page in pages}
    assert rest == {DATABASE, "artifacts"}
    wait_until(lambda: not campaign.processes())


def check_outcomes(campaign):
    """Check that everything planned has one outcome; return the outcomes caused by our kills."""
    outcomes = campaign.outcomes()
    assert len(outcomes) == len(campaign.planned)
    assert {o.trial.id for o in outcomes} == campaign.planned
    killed = [o for o in outcomes if o.failure and o.failure.kind == "SIGKILL"]
    expected = {"work": Status.DONE, "crash": Status.CRASHED, "hang": Status.TIMEOUT}
    for outcome in outcomes:
        if outcome not in killed:
            assert outcome.status is expected[outcome.trial.params.get("deed", "work")], outcome
    with Store.open(campaign.results) as store:
        duels = [outcome for outcome, _ in store.duels()]
        comparisons = [(what["id"], status) for what, status, _ in store.parities()]
    assert sorted(o.duel.id for o in duels) == sorted(campaign.duels)
    assert sorted(name for name, _ in comparisons) == sorted(campaign.comparisons)
    statuses = [*(o.status for o in duels), *(status for _, status in comparisons)]
    return killed, [status for status in statuses if status in FAILURES]


def stored(campaign):
    """Return the number of outcomes of trials, duels and comparisons in the store, of all runs.

    A time-out on a loaded machine that a later outcome of its trial replaces is not counted.
    """
    with closing(sqlite3.connect(campaign.results / DATABASE)) as database:
        tables = ("outcome", "duel_outcome", "parity_outcome")
        counts = [f"SELECT count(*) FROM {table}" for table in tables]
        trials, *others = (database.execute(count).fetchone()[0] for count in counts)
    return [trials - campaign.repeated_timeouts(), *others]


def run_campaign(folder, chance, kills):
    """Run one experiment through its kills to its end, and check all of it."""
    campaign = Campaign(folder, kernels=folder.parent / "kernels")  # the first compiles them
    message = run_with_kills(campaign, chance, kills)
    killed, broken = check_outcomes(campaign)
    planned = [len(campaign.planned), len(campaign.duels), len(campaign.comparisons)]
    assert sum(message["outcomes"].values()) == planned[0]
    assert stored(campaign) == planned, "each is stored once"
    hits = campaign.kills["worker"] + campaign.kills["both"]
    assert len(killed) + len(broken) <= hits
    executions = campaign.executions()
    assert {key: executions[key] for key in campaign.noted} == campaign.noted, "run twice"
    never = {key_of(o) for o in campaign.outcomes() if is_in_ledger(o)} - set(executions)
    assert never <= {key_of(o) for o in killed if is_in_ledger(o)}, "stored, though never run"
    extra = executions.total() - len(executions)
    extra -= campaign.repeated_timeouts()
    assert extra <= SIDE_BY_SIDE * (campaign.kills.total() - campaign.kills["worker"])
    check_whole(campaign, message)

    for half in campaign.results.glob(".report-*.tmp"):
        os.utime(half, (time.time() - OLD,) * 2)
    message = finished(campaign.start("--retry-failed"))
    assert check_outcomes(campaign) == ([], [])
    assert campaign.executions().total() <= executions.total() + len(killed) + 4
    assert sum(stored(campaign)[1:]) == sum(planned[1:]) + len(broken)
    check_whole(campaign, message)
    assert not list(campaign.results.glob(".report-*.tmp"))
    return campaign, executions.total(), extra, len(killed) + len(broken)


@pytest.mark.slow
def test_run_killed_at_random_moments_ends_as_planned(tmp_path):
    chance = random.Random(int(os.environ.get("SOAK_SEED", "1")))
    expected = int(os.environ.get("SOAK_KILLS", "100"))
    began, kills, hit, number = time.monotonic(), Counter(), Counter(), 0
    while kills.total() < expected:
        folder = tmp_path / str(number := number + 1)
        folder.mkdir()
        campaign, executions, extra, killed = run_campaign(folder, chance, expected - kills.total())
        kills += campaign.kills
        hit += campaign.hit
        print(  # noqa: T201 - the figures of the campaign
            f"\nrun {number}: {len(campaign.planned)} trials, {dict(campaign.kills)}, "
            f"{dict(campaign.hit)}; {executions} executions, {extra} of them for trials in flight; "
            f"{killed} trials, duels and comparisons ended by a kill"
        )
    seconds = time.monotonic() - began
    print(f"{kills.total()} kills in {seconds:.0f} s: {dict(kills)}, {dict(hit)}")  # noqa: T201
    if expected >= MANY:
        short = {"start", "parity"}  # over within a second: kills hit them by chance only
        assert set(hit) >= set(STAGES) - short, "a stage had no kill"


@pytest.mark.slow
def test_two_concurrent_runs_share_the_work(tmp_path):
    campaign = Campaign(tmp_path, numbers=40)
    messages = [finished(process) for process in [campaign.start(), campaign.start()]]
    everything = sum(map(len, (campaign.planned, campaign.duels, campaign.comparisons)))
    repeated = campaign.repeated_timeouts()
    assert sorted(t["reused"] for t in messages) == [0, everything - repeated]
    assert check_outcomes(campaign) == ([], [])
    executions = campaign.executions()
    assert executions.total() == len(executions) + repeated
    for one in messages:
        check_whole(campaign, one)


@pytest.mark.slow
def test_waiting_run_takes_over_from_a_killed_one(tmp_path):
    campaign = Campaign(tmp_path, numbers=40)
    first = campaign.start()
    wait_until(lambda: campaign.executions().total() > 5, 120)
    second = campaign.start()
    wait_until(lambda: "waiting" in second.log.read_text(), 60)
    campaign.note()
    first.kill()
    first.communicate()
    message = finished(second)
    assert message["reused"] >= len(campaign.noted) > 0
    assert check_outcomes(campaign) == ([], [])
    executions = campaign.executions()
    assert {key: executions[key] for key in campaign.noted} == campaign.noted
    assert executions.total() <= len(executions) + SIDE_BY_SIDE
    check_whole(campaign, message)
