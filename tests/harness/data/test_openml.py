"""OpenML: what scikit-learn's fetcher has in its folder becomes a table, verified. No network."""

import gzip
import hashlib
import json

import pytest

from harness.data import remote
from harness.data.loading import table_of
from harness.data.manage import state_of
from harness.data.openml import OpenMLLoader
from harness.data.reading import Reading
from harness.errors import DataError
from harness.model import Dataset, Task

DENSE = """@RELATION mine
@ATTRIBUTE id INTEGER
@ATTRIBUTE age REAL
@ATTRIBUTE job {cook,clerk}
@ATTRIBUTE class {no,yes}
@DATA
1,20.5,cook,no
2,?,clerk,yes
3,40.5,?,no
4,50.5,clerk,yes
"""
SPARSE = """@RELATION mine
@ATTRIBUTE a REAL
@ATTRIBUTE b REAL
@ATTRIBUTE class {no,yes}
@DATA
{0 1.5}
{1 2.5,2 yes}
{0 3.5,2 yes}
"""


def stored(folder, arff, version="2", format_="ARFF", number=7):
    """Write what OpenML would have answered into the fetcher's own cache."""
    base = folder / str(number) / "openml" / "openml.org"
    lines = [line.split(maxsplit=2) for line in arff.splitlines() if line.startswith("@ATTR")]
    data_url = f"https://openml.org/data/v1/download/{number}/mine.arff"
    kinds = {"REAL": "numeric", "INTEGER": "numeric"}
    rows = arff.split("@DATA\n")[1].splitlines()
    features = [
        {
            "index": str(i),
            "name": name,
            "data_type": kinds.get(kind, "nominal"),
            "is_target": "true" if name == "class" else "false",
            "is_ignore": "false",
            "is_row_identifier": "true" if name == "id" else "false",
            "number_of_missing_values": "0",
            **({} if kind in kinds else {"nominal_value": kind.strip("{}").split(",")}),
        }
        for i, (_, name, kind) in enumerate(lines)
    ]
    description = {
        "id": str(number),
        "name": "mine",
        "version": version,
        "format": format_,
        "status": "active",
        "file_id": str(number),
        "url": data_url,
        "default_target_attribute": "class",
        "processing_date": "2020-01-01",
        "md5_checksum": hashlib.md5(arff.encode()).hexdigest(),
        "description": "",
    }
    qualities = [{"name": "NumberOfInstances", "value": str(len(rows))}]
    files = {
        f"api/v1/json/data/{number}": {"data_set_description": description},
        f"api/v1/json/data/features/{number}": {"data_features": {"feature": features}},
        f"api/v1/json/data/qualities/{number}": {"data_qualities": {"quality": qualities}},
    }
    contents = {name: json.dumps(value).encode() for name, value in files.items()}
    contents[f"data/v1/download/{number}/mine.arff"] = arff.encode()
    for name, content in contents.items():
        path = base / f"{name}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content))


def dataset_of(sha256="", version=2, **facts):
    reading = Reading(format="frame", target="class", drop_missing_target=True)
    loader = OpenMLLoader("mine", Task.BINARY, 7, version, sha256, reading)
    declared = {"rows": 4, "columns": 2, "n_classes": 2, "categorical": 1, "missing": True} | facts
    return Dataset("mine", Task.BINARY, loader, "d" * 64, source="openml", **declared)


@pytest.fixture
def openml(tmp_path):
    folder = tmp_path / "cache/openml"
    stored(folder, DENSE)
    return folder


def test_a_dense_set_keeps_categories_and_gaps(openml):
    table = table_of(dataset_of())
    assert list(table.X.columns) == ["age", "job"], "the row identifier is no column"
    assert table.X["age"].isna().tolist() == [False, True, False, False]
    assert table.X["job"].tolist()[:2] == ["cook", "clerk"]
    assert (table.classes, table.y.tolist()) == (("no", "yes"), [0, 1, 0, 1])


def test_a_sparse_set_is_refused_because_its_targets_cannot_be_trusted(tmp_path):
    stored(tmp_path / "cache/openml", SPARSE, format_="Sparse_ARFF")
    with pytest.raises(DataError, match="add it with `harness data add`"):
        table_of(dataset_of(rows=3))


def test_the_first_fetch_pins_the_bytes(openml):
    dataset = dataset_of()
    table_of(dataset)
    pinned = hashlib.sha256(DENSE.encode()).hexdigest()
    assert remote.pin_of("openml:7") == pinned
    stored(openml, DENSE.replace("20.5", "21.5"))
    with pytest.raises(DataError, match=f"not {pinned[:16]}"):
        table_of(dataset, fresh=True)


def test_a_card_with_a_checksum_needs_no_pin(openml):
    table_of(dataset_of(sha256=hashlib.sha256(DENSE.encode()).hexdigest()))
    with pytest.raises(DataError, match="not 0000000000000000"):
        table_of(dataset_of(sha256="0" * 64), fresh=True)


def test_another_version_is_refused(openml):
    with pytest.raises(DataError, match="version 2 of mine, not 3"):
        table_of(dataset_of(version=3))


def test_a_broken_answer_is_one_line(openml):
    for path in openml.rglob("mine.arff.gz"):
        path.write_bytes(gzip.compress(b"@RELATION x\n@DATA\n,,,\n"))
    with pytest.raises(DataError, match=r"mine \(OpenML 7\) cannot be read|could not be fetched"):
        table_of(dataset_of())


def test_state_tells_whether_a_network_is_needed(tmp_path):
    assert state_of(dataset_of()) == "to fetch"
    with pytest.raises(DataError, match="HARNESS_OFFLINE"):
        table_of(dataset_of())
    stored(tmp_path / "cache/openml", DENSE)
    assert state_of(dataset_of()) == "ready"
