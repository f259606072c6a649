"""Tests that every user mistake gives one line on stderr, exit code 2 and no file."""

import pytest
from command_line import run_command

CSV = "a,b,y\n1,x,0\n2,y,1\n3,x,0\n4,y,1\n5,x,1\n6,y,0\n7,x,0\n8,y,1\n"


def refused(folder, *arguments):
    """Run a command that must be refused; return the message."""
    before = sorted(folder.rglob("*"))
    done = run_command(folder, *arguments)
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert sorted(folder.rglob("*")) == before, "something was written"
    return done.stderr


def run_on(folder, content, *more, name="mine.csv", target="y"):
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content)
    return refused(folder, "run", "--data", name, "--target", target, *more)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "quik"], "did you mean 'quick'?"),
        (["run", "-a", "baging"], "did you mean 'bagging'?"),
        (["run", "-d", "irs"], "did you mean 'iris'?"),
        (["run", "-d", "suite:cc81"], "did you mean 'cc18'?"),
        (["run", "-d", "friedman1:rwos=10"], "did you mean 'rows'?"),
        (["run", "--set", "run.thredas=2"], "did you mean 'threads'?"),
        (["run", "--timeout", "soon"], "not a duration"),
        (["run", "--threads", "0"], "run.threads"),
        (["run", "--executor", "loacl"], "did you mean 'local'?"),
        (["run", "--executor", "loacl", "--dry-run"], "did you mean 'local'?"),
        (["run", "--timeout", "soon"], "with run.timeout as requested: 1 mistake"),
        (["run", "--plugin", "absent.py"], "no plugin file"),
        (["run", "--target", "y"], "--data FILE"),
        (["run", "--data", "mine.csv"], "--target COLUMN"),
        (["run", "--data", "absent.csv", "--target", "y"], "absent.csv"),
        (["run", "nowhere/x.toml"], "no experiment file"),
        (["rum"], "did you mean 'run'?"),
        (["duel", "decision_tree", "bagging", "-d", "irs"], "did you mean 'iris'?"),
        (["show", "no-such-thing"], "no-such-thing"),
        (["clean", "--older-than", "99999999h"], "no run is that old"),
        (["list"], "list needs a KIND: algorithms, datasets"),
    ],
)
def test_invalid_command_line(tmp_path, arguments, message):
    assert message in refused(tmp_path, *arguments)


def test_mistyped_mirror_is_reported_and_not_replaced_by_cards(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_MIRROR", "data/mistyped")
    for command in (["run", "-d", "iris"], ["duel", "decision_tree", "bagging", "-d", "iris"]):
        err = refused(tmp_path, *command)
        assert err.startswith("harness: HARNESS_MIRROR names data/mistyped, but ")
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("a,b,y\n", "no rows"),
        (CSV.replace("y\n", "z\n", 1), "unknown target 'y'"),
        ("a,y\n1,0\n2,0\n3,0\n", "one class"),
        ("a,y\n1,0\n2,\n3,1\n4,0\n", "target"),
        ("a,y\n1,0.5\n2,inf\n3,1.5\n4,0.25\n", "infinit"),
        ("a,y\ninf,0\n2,1\n3,1\n4,0\n", "infinit"),
        ("a,a,y\n1,2,0\n2,3,1\n", "several columns named"),
        (b"\x80\x04\x95pickle", "pickle"),
    ],
)
def test_unusable_file(tmp_path, content, message):
    assert message in run_on(tmp_path, content)


def test_file_with_four_mistakes_reports_all_four(tmp_path):
    (tmp_path / "bad.toml").write_text(
        'datasets = ["iris"]\nalgoritms = ["x"]\n'
        '[run]\nthredas = 2\ntimeout = "soon"\n[splits]\nfolds = 1\n'
    )
    message = refused(tmp_path, "run", "bad.toml")
    assert "4 mistakes" in message
    assert all(key in message for key in ("algoritms", "thredas", "timeout", "folds"))


def test_reading_commands_without_a_store(tmp_path):
    for command in ("report", "export", "clean"):
        done = run_command(tmp_path, command)
        assert done.returncode == 5, done
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_address_in_place_of_a_file_is_named(tmp_path):
    address = "https://example.invalid/mine.csv"
    message = refused(tmp_path, "run", "--data", address, "--target", "y")
    assert "example.invalid/mine.csv; download the file and pass its path" in message
