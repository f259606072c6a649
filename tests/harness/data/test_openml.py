"""Tests of OpenML: responses are stored, verified and parsed. No test uses the network."""

import gzip
import hashlib
import io
import json
import urllib.error
import urllib.request
from email.message import Message

import numpy as np
import pytest
from openml_kit import API, DENSE, SPARSE, dataset_of, responses_of, stored

from harness.core.errors import DataError
from harness.data import remote
from harness.data.loading import table_of
from harness.data.manage import state_of


@pytest.fixture
def openml(tmp_path):
    folder = tmp_path / "cache/openml"
    stored(folder, DENSE)
    return folder


def test_dense_dataset_keeps_categories_and_missing_values(openml):
    table = table_of(dataset_of())
    assert list(table.X.columns) == ["age", "job"], "the row identifier is not a column"
    assert table.X["age"].isna().tolist() == [False, True, False, False]
    assert table.X["job"].tolist()[:2] == ["cook", "clerk"]
    assert (table.classes, table.y.tolist()) == (("no", "yes"), [0, 1, 0, 1])


def sparse_dataset():
    facts = {"rows": 4, "columns": 2, "categorical": 0, "missing": True, "sparse": True}
    return dataset_of(**facts)


def test_sparse_dataset_stays_sparse_with_absent_zeros(tmp_path):
    stored(tmp_path / "cache/openml", SPARSE, format_="Sparse_ARFF")
    table = table_of(sparse_dataset())
    expected = [[1.5, 0], [2.5, 0], [0, 0], [np.nan, 1]]
    np.testing.assert_array_equal(table.X.toarray(), expected, "no row identifier among them")
    assert table.X.nnz == 4
    assert (table.classes, table.y.tolist()) == (("no", "yes"), [0, 1, 0, 1])


def test_first_fetch_pins_the_bytes(openml):
    dataset = dataset_of()
    table_of(dataset)
    pinned = hashlib.sha256(DENSE.encode()).hexdigest()
    assert remote.pin_of("openml:7") == pinned
    stored(openml, DENSE.replace("20.5", "21.5"))
    with pytest.raises(DataError, match=f"not the expected {pinned[:16]}"):
        table_of(dataset, fresh=True)


def test_card_with_a_checksum_needs_no_pin(openml):
    table_of(dataset_of(sha256=hashlib.sha256(DENSE.encode()).hexdigest()))
    with pytest.raises(DataError, match="not the expected 0000000000000000"):
        table_of(dataset_of(sha256="0" * 64), fresh=True)


def test_another_version_is_refused(openml):
    with pytest.raises(DataError, match="version 2 of mine, not 3"):
        table_of(dataset_of(version=3))


def test_broken_response_is_one_line(openml):
    for path in openml.rglob("mine.arff.gz"):
        path.write_bytes(gzip.compress(b"@RELATION x\n@DATA\n,,,\n"))
    with pytest.raises(DataError, match=r"mine \(OpenML 7\) cannot be read|could not be fetched"):
        table_of(dataset_of())


def test_state_shows_whether_a_network_is_needed(tmp_path):
    assert state_of(dataset_of()) == "to fetch"
    with pytest.raises(DataError, match="HARNESS_OFFLINE"):
        table_of(dataset_of())
    stored(tmp_path / "cache/openml", DENSE)
    assert state_of(dataset_of()) == "ready"


@pytest.fixture
def served(monkeypatch):
    """Answer https requests from a table, and log the requested addresses."""
    answers, requested = responses_of(DENSE), []

    def https_open(self, request):
        requested.append(request.full_url)
        content = answers.get(request.full_url)
        if content is None:
            headers, body = Message(), io.BytesIO()
            raise urllib.error.HTTPError(request.full_url, 412, "Unknown dataset", headers, body)
        if isinstance(content, Exception):
            raise content
        headers = Message()
        headers["Content-Length"] = str(answers.get("length", len(content)))
        result = urllib.response.addinfourl(io.BytesIO(content), headers, request.full_url, 200)
        result.msg = "OK"
        return result

    monkeypatch.setattr(urllib.request.HTTPSHandler, "https_open", https_open)
    monkeypatch.delenv("HARNESS_OFFLINE")
    answers["asked"] = requested
    return answers


DATA = "https://openml.org/data/v1/download/7/mine.arff"


def fetched(tmp_path):
    """Return the names of the files in the folder of the dataset."""
    return sorted(p.name for p in (tmp_path / "cache/openml/7").rglob("*") if p.is_file())


def test_every_response_is_fetched_once_by_our_code(served):
    assert table_of(dataset_of()).y.tolist() == [0, 1, 0, 1]
    table_of(dataset_of(), fresh=True)
    assert served["asked"] == [f"{API}/7", f"{API}/features/7", f"{API}/qualities/7", DATA]


def test_killed_download_does_no_harm(tmp_path, served):
    folder = tmp_path / "cache/openml/7/openml/openml.org/data/v1/download/7"
    half = folder / "tmpq0w9x8/mine.arff.gz"
    half.parent.mkdir(parents=True)
    half.write_bytes(gzip.compress(DENSE.encode())[:30])
    (folder / ".part-abc").write_bytes(b"half")
    assert state_of(dataset_of()) == "to fetch"
    table_of(dataset_of())
    assert state_of(dataset_of()) == "ready"
    assert fetched(tmp_path) == ["7.gz", "7.gz", "7.gz", "mine.arff.gz"]
    assert not half.parent.exists()


def test_oversized_data_is_stopped_during_download(tmp_path, served, monkeypatch):
    served[DATA] = DENSE.encode() + b"% and so on\n" * 300_000
    monkeypatch.setenv("HARNESS_MAX_BYTES", "1MB")
    with pytest.raises(DataError, match=r"more than 1,000,000 bytes.*HARNESS_MAX_BYTES"):
        table_of(dataset_of())
    assert "mine.arff.gz" not in fetched(tmp_path)


def test_bytes_are_verified_before_parsing(tmp_path, served, monkeypatch):
    def parse(**_):
        pytest.fail("parsed before it was verified")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", parse)
    with pytest.raises(DataError, match="not the expected 0000000000000000"):
        table_of(dataset_of(sha256="0" * 64))
    assert "mine.arff.gz" not in fetched(tmp_path), "nothing of it is kept"
    served[DATA] = DENSE.replace("20.5", "21.5").encode()
    with pytest.raises(DataError, match=r"MD5 .*fetch it again"):
        table_of(dataset_of())
    assert "mine.arff.gz" not in fetched(tmp_path)


def test_early_closed_connection_is_an_error(tmp_path, served):
    served["length"] = len(DENSE) * 10
    with pytest.raises(DataError, match="could not be fetched: cut short"):
        table_of(dataset_of())
    assert fetched(tmp_path) == []


@pytest.mark.parametrize("path", ["/../../../../x", "/", "/" + "a/" * 300])
def test_redirect_to_another_address_is_refused(tmp_path, served, path):
    data = json.loads(served[f"{API}/7"])
    data["data_set_description"]["url"] = f"https://openml.org{path}"
    served[f"{API}/7"] = json.dumps(data).encode()
    with pytest.raises(DataError, match="invalid address"):
        table_of(dataset_of())


def test_unknown_openml_id_is_reported(served):
    served.pop(f"{API}/7")
    with pytest.raises(DataError, match="OpenML has no dataset 7: Unknown dataset"):
        table_of(dataset_of())


def test_unparsable_data_is_not_fetched_elsewhere(served):
    bad = DENSE.replace("1,20.5,cook,no", "1,20.5,cook")
    served |= responses_of(bad)
    with pytest.raises(DataError, match=r"mine \(OpenML 7\) cannot be read: (?!.*unknown url)"):
        table_of(dataset_of())
    assert len(served["asked"]) == 4


def test_damaged_response_names_the_file_to_delete(openml):
    (openml / "7/openml/openml.org/api/v1/json/data/7.gz").write_bytes(gzip.compress(b"{}"))
    with pytest.raises(DataError, match=r"cannot be read; delete .* and fetch it again"):
        table_of(dataset_of())


@pytest.mark.parametrize("feature", [b"null", b"5", b'["a"]', b'[{"iname": "a"}]'])
def test_missing_columns_are_reported(feature, tmp_path):
    stored(tmp_path / "cache/openml", SPARSE, format_="Sparse_ARFF")
    answer = b'{"data_features":{"feature":' + feature + b"}}"
    place = "cache/openml/7/openml/openml.org/api/v1/json/data/features/7.gz"
    (tmp_path / place).write_bytes(gzip.compress(answer))
    with pytest.raises(DataError, match="cannot be read"):
        table_of(sparse_dataset())
