"""Tests of ranks on three hosts: network namespaces, one behind a slow, lossy link.

Not every kernel can slow a link down; then the test says so and goes on without. Slow links are
tested in any case, by a relay, in `test_distributed_boosting`.
"""

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from rank_process import LENGTHS, MODEL, table
from ranks_kit import digest_of, train_ranks

from algorithms.gbdt.model import join_trees

ROOT = Path(__file__).resolve().parents[2]
HOSTS = ["10.77.41.1", "10.77.41.2", "10.77.41.3"]
SCRIPT = ROOT / "tests" / "helpers" / "rank_process.py"
SLOW = ("netem", "delay", "3ms", "loss", "1%")


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20, text=True)


def make_host(switch, name, end, host):
    """Create a namespace with one address and a link to the namespace of the switch."""
    ip("link", "add", end, "type", "veth", "peer", "name", f"{end}s")
    ip("link", "set", f"{end}s", "netns", switch)
    ip("-n", switch, "link", "set", f"{end}s", "master", "bridge", "up")
    ip("link", "set", end, "netns", name)
    ip("-n", name, "addr", "add", f"{host}/24", "dev", end)
    ip("-n", name, "link", "set", end, "up")


def slow_down(name, end):
    """Return the reason why a link could not be slowed down, or an empty text."""
    requested = ["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", end, "root", *SLOW]
    try:
        subprocess.run(requested, check=True, capture_output=True, timeout=20, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        return str(getattr(error, "stderr", "") or error).strip()
    return ""


@pytest.fixture
def hosts(record_property):
    """Yield three network namespaces; the first link has 3 ms of delay and 1 % of loss."""
    if not shutil.which("ip") or os.geteuid():
        pytest.skip("making network namespaces needs `ip` and root")
    names = [f"th-{os.getpid()}-{side}" for side in "sabc"]
    ends = [f"th{os.getpid() % 100000}{side}" for side in "abc"]
    with ExitStack() as stack:
        try:
            for name in names:
                ip("netns", "add", name)
                stack.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
            ip("-n", names[0], "link", "add", "bridge", "type", "bridge")
            ip("-n", names[0], "link", "set", "bridge", "up")
            for name, end, host in zip(names[1:], ends, HOSTS, strict=True):
                make_host(names[0], name, end, host)
        except (OSError, subprocess.SubprocessError) as error:
            why = getattr(error, "stderr", "") or error
            pytest.skip(f"network namespaces cannot be made here: {why}")
        why = slow_down(names[1], ends[0])
        message = f"no link could be slowed down: {why}" if why else "one link is slow"
        record_property("slow link", message)
        sys.stdout.write(f"{message}\n")
        yield names[1:]


@pytest.mark.slow
def test_ranks_on_three_hosts_give_the_same_model(hosts, tmp_path):
    path = os.pathsep.join([str(ROOT), str(SCRIPT.parent), os.environ.get("PYTHONPATH", "")])
    messages = [",".join(HOSTS), "4711", str(tmp_path)]
    running = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, str(SCRIPT), str(rank), *messages],
            env={**os.environ, "PYTHONPATH": path},
        )
        for rank, name in enumerate(hosts)
    ]
    assert [one.wait(120) for one in running] == [0, 0, 0]
    parts = [(0, length) for length in LENGTHS]
    alone = train_ranks(MODEL, *table(), parts=parts, size=1, seed=5)[0]
    expected = join_trees(alone.rounds, alone.binner, alone.base)
    assert (tmp_path / "digest").read_text() == digest_of(expected)
