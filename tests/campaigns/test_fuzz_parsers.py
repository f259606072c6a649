"""Random damage to parsed input other than data: experiments, outcomes, replies, model files.

Answers of OpenML, pins and results of asv are among them, see ``damaged_files``. ``FUZZ_SECONDS``
(60) are shared by the kinds, ``FUZZ_EACH`` is of each of them; a fast part of each is in the
ordinary suite. The parsers of data are in ``tests/harness/data/test_fuzz.py``, the store
in ``tests/harness/store``.
"""

import contextlib
import json
import os
import time

import damaged_files
import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.config.experiment import Experiment, load_experiment
from harness.config.files import shipped_experiments
from harness.core.errors import ConfigError, HarnessError
from harness.core.model import Outcome, Sample, Split, Status, Task, Trial, to_json
from harness.core.outcome_files import read_outcome
from harness.core.units import parse_duration, parse_size
from harness.execution.channel import Channel, GarbledError

TRIAL = Trial("a", {"n": 1}, "native", "d", Split(), 0, 1, "c" * 16, "f" * 16, Task.BINARY)
OUTCOME = to_json(Outcome(TRIAL, Status.DONE, (Sample("fit", 0.1, 0.1),)))
REPLY = {"v": 1, "n": 0, "ok": False, "failure": {"kind": "k", "message": "m", "detail": ""}}
EXPERIMENTS = [path.read_text() for path in shipped_experiments().values()]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
fragments = st.sampled_from(
    [
        "[run]\n",
        "[[algorithms]]\n",
        "=",
        '"',
        "threads = ",
        "1e999",
        "nan",
        "[",
        "{",
        "}",
        "]",
        "\n",
    ]
) | st.text(max_size=12)


@st.composite
def spliced(draw, texts):
    """Draw a valid text with a few pieces removed and others inserted."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 30))
        text = text[:start] + draw(fragments) + text[end:]
    return text


@st.composite
def changed(draw, whole):
    """Draw valid JSON with one value replaced, as bytes that may be truncated."""
    copy = json.loads(json.dumps(whole))
    place = copy
    while True:
        key = draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or not place[key] or draw(st.booleans()):
            break
        place = place[key]
    place[key] = draw(values)
    content = json.dumps(copy).encode()
    return content[: draw(st.sampled_from([len(content), draw(st.integers(0, len(content)))]))]


def read_experiment(drawn, folder):
    text, override = drawn
    path = folder / "fuzzed.toml"
    path.write_text(text, encoding="utf-8", errors="replace", newline="")
    with contextlib.suppress(ConfigError):
        assert isinstance(load_experiment(str(path), overrides=override), Experiment)


def read_units(text, folder):
    for parse in (parse_duration, parse_size):
        with contextlib.suppress(ConfigError):
            assert parse(text) >= 0


def read_outcome_file(content, folder):
    path = folder / "fuzzed.outcome.json"
    path.write_bytes(content)
    with contextlib.suppress(HarnessError):
        assert isinstance(read_outcome(path), Outcome)


def read_reply(content, folder):
    channel = Channel()
    os.write(channel.write_end, content[:60_000])
    channel.release()
    try:
        while channel.receive():
            with contextlib.suppress(GarbledError):
                result = channel.reply()
                assert result is None or isinstance(result["ok"], bool)
    except EOFError:
        pass
    finally:
        channel.close()


overrides = st.lists(
    st.text(max_size=30) | spliced(["run.threads=2", "splits.folds=3"]), max_size=2
)
lines = changed(REPLY).map(lambda content: content + b"\n")
KINDS = {
    "experiments": (read_experiment, st.tuples(spliced(EXPERIMENTS), overrides)),
    "units": (read_units, spliced(["60s", "4GiB", "1h30m"]) | values),
    "outcomes": (read_outcome_file, changed(OUTCOME) | st.binary(max_size=200)),
    "replies": (
        read_reply,
        lines | st.binary(max_size=200) | st.tuples(lines, lines).map(b"".join),
    ),
    **damaged_files.KINDS,
}
FEW = {"answers of OpenML": 40, "results of asv": 60}  # examples at a time, of slow ones
RELAXED = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}


@pytest.fixture(autouse=True)
def _own_cache_and_no_network(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HARNESS_OFFLINE", "1")


def attempt(kind, folder, examples, seed):
    read, strategy = KINDS[kind]

    @hypothesis.seed(seed)
    @settings(max_examples=examples, **RELAXED)
    @given(drawn=strategy)
    def once(drawn):
        read(drawn, folder)

    once()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_input_is_read_or_refused(kind, tmp_path):
    attempt(kind, tmp_path, FEW.get(kind, 150), seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_long_damage_campaign_finds_no_failure(kind, tmp_path):
    share = float(os.environ.get("FUZZ_SECONDS", "60")) / len(KINDS)
    until = time.monotonic() + float(os.environ.get("FUZZ_EACH", share))
    size = FEW.get(kind, 300)
    rounds, seed = 0, int(os.environ.get("FUZZ_SEED", "1"))
    while time.monotonic() < until:
        attempt(kind, tmp_path, size, seed + rounds)
        rounds += 1
    print(f"\n{kind}: {size * rounds} examples")  # noqa: T201
    assert rounds
