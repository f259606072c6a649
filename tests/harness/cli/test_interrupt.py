"""Tests of Ctrl-C and SIGTERM at any moment: the state is saved and the resume command printed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from jobs import wait_until

from harness.store import Store

LEDGER = Path(__file__).resolve().parents[2] / "plugins" / "ledger.py"
RESUMES = "harness: interrupted; the same command goes on where it stopped"


def start(folder, *arguments):
    command = [sys.executable, "-m", "harness", *arguments, "--results", str(folder / "results")]
    # A background job may be deaf to Ctrl-C and, under nohup, to a closed terminal; what it
    # starts would be so too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    return subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | {"HARNESS_LEDGER": str(folder / "ledger")},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_terminated_run_saves_and_prints_how_to_resume(tmp_path, sent):
    (tmp_path / "x.toml").write_text('datasets = ["few"]\nalgorithms = ["ledger"]\n')
    command = ["run", "x.toml", "--plugin", str(LEDGER), "--no-report"]
    command += ["--set", f"run.seeds={list(range(400))}"]
    process = start(tmp_path, *command)
    ledger = tmp_path / "ledger"
    wait_until(lambda: ledger.exists() and len(ledger.read_text().splitlines()) > 2, 60)
    process.send_signal(sent)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == RESUMES
    assert "Traceback" not in err
    with Store.open(tmp_path / "results") as store:
        assert store.run()["status"] == "interrupted"
        assert store.counts()["outcomes"] + len(store.pending()) == 400


def test_interrupt_raised_inside_a_plugin_import_is_reported(tmp_path):
    plugin = tmp_path / "interrupted.py"
    plugin.write_text('exec("raise KeyboardInterrupt")\n')
    process = start(tmp_path, "run", "--plugin", str(plugin))
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.splitlines()[-1]) == (130, RESUMES)
