"""Ranks on two hosts: network namespaces, with a slow link that loses packets if it can be had."""

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from rank_process import LENGTHS, MODEL, table
from ranks_kit import digest_of, train_ranks

from algorithms._common.hist_model import join_trees

ROOT = Path(__file__).resolve().parents[2]
HOSTS = ["10.77.41.1", "10.77.41.2"]
SCRIPT = ROOT / "tests" / "helpers" / "rank_process.py"


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)


@pytest.fixture
def hosts():
    """Return two network namespaces, joined by a link; with 3 ms of delay and 1 % of loss."""
    if not shutil.which("ip") or os.geteuid():
        pytest.skip("making network namespaces needs `ip` and root")
    names = [f"th-{os.getpid()}-{side}" for side in "ab"]
    ends = [f"th{os.getpid() % 100000}{side}" for side in "ab"]
    with ExitStack() as stack:
        try:
            for name in names:
                ip("netns", "add", name)
                stack.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
            ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
            for name, end, host in zip(names, ends, HOSTS, strict=True):
                ip("link", "set", end, "netns", name)
                ip("-n", name, "addr", "add", f"{host}/24", "dev", end)
                ip("-n", name, "link", "set", end, "up")
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"network namespaces cannot be made here: {error}")
        slow = ["tc", "qdisc", "add", "dev", ends[0], "root", "netem", "delay", "3ms", "loss", "1%"]
        asked = ["ip", "netns", "exec", names[0], *slow]  # not every kernel can
        subprocess.run(asked, check=False, capture_output=True, timeout=20)
        yield names


@pytest.mark.slow
def test_ranks_on_two_hosts_give_the_same_model(hosts, tmp_path):
    path = os.pathsep.join([str(ROOT), str(SCRIPT.parent), os.environ.get("PYTHONPATH", "")])
    told = [",".join(HOSTS), "4711", str(tmp_path)]
    running = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, str(SCRIPT), str(rank), *told],
            env={**os.environ, "PYTHONPATH": path},
        )
        for rank, name in enumerate(hosts)
    ]
    assert [one.wait(120) for one in running] == [0, 0]
    parts = [(0, length) for length in LENGTHS]
    alone = train_ranks(MODEL, *table(), parts=parts, size=1, seed=5)[0]
    wanted = join_trees(alone.rounds, alone.binner, alone.base)
    assert (tmp_path / "digest").read_text() == digest_of(wanted)
