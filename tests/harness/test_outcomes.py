import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import HarnessError
from harness.core.model import Failure, Outcome, Sample, Split, Status, Task, Trial, to_json
from harness.core.outcome_files import outcome_path, read_outcome, write_arrays, write_outcome

TRIAL = Trial("a", {"x": 1}, "native", "d", Split(), 0, 1, "c" * 16, "t" * 16, Task.BINARY)
OUTCOME = Outcome(
    TRIAL,
    Status.FAILED,
    samples=(Sample("fit", 1.0, 2.0, 3, cold=True),),
    failure=Failure("ValueError", "no", "traceback"),
    facts={"notes": ["é <b>"]},
)


def test_outcome_is_read_back_equal_with_absolute_array_paths(tmp_path):
    write_arrays(tmp_path / "t.predictions.npz", {"y": np.arange(3)})
    path = outcome_path(tmp_path, TRIAL.id)
    named = Outcome(TRIAL, Status.DONE, arrays={"predictions": "t.predictions.npz"})
    write_outcome(path, named)
    result = read_outcome(path)
    assert result.trial == TRIAL
    assert result.arrays == {"predictions": str(tmp_path / "t.predictions.npz")}
    write_outcome(path, OUTCOME)
    assert read_outcome(path) == OUTCOME
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, "t.predictions.npz"])


def test_object_arrays_are_refused_and_no_file_stays(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle"):
        write_arrays(tmp_path / "x.npz", {"y": np.array([{}], dtype=object)})
    assert list(tmp_path.iterdir()) == []


def test_failing_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = outcome_path(tmp_path, TRIAL.id)
    write_outcome(path, OUTCOME)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("harness.core.outcome_files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_outcome(path, Outcome(TRIAL, Status.DONE))
    assert read_outcome(path) == OUTCOME
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["absent.npz", "../other.npz", "sub/inside.npz", "/etc/passwd"])
def test_arrays_outside_the_folder_or_missing_are_refused(tmp_path, name):
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "other.npz").touch()
    (folder / "sub" / "inside.npz").touch()
    path = outcome_path(folder, TRIAL.id)
    path.write_text(json.dumps(to_json(Outcome(TRIAL, Status.DONE, arrays={"x": name}))))
    with pytest.raises(HarnessError, match="not an outcome file"):
        read_outcome(path)


WHOLE = json.dumps(to_json(OUTCOME)).encode()
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.binary(max_size=200)
    | st.integers(0, len(WHOLE) - 1).map(lambda n: WHOLE[:n])
    | json_values.map(lambda value: json.dumps(value).encode())
    | st.tuples(st.sampled_from(sorted(to_json(OUTCOME))), json_values).map(
        lambda pair: json.dumps({**to_json(OUTCOME), pair[0]: pair[1]}).encode()
    )
)
def test_any_file_content_gives_an_outcome_or_an_error(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzzed.outcome.json"
    path.write_bytes(content)
    try:
        result = read_outcome(path)
    except HarnessError:
        return
    assert isinstance(result, Outcome)


def test_deeply_nested_file_is_refused(tmp_path):
    path = tmp_path / "deep.outcome.json"
    path.write_bytes(b"[" * 100_000)
    with pytest.raises(HarnessError, match="not an outcome file"):
        read_outcome(path)
