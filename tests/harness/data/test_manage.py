"""Tests of the ``data`` commands: list, show, fetch, verify, add."""

import json
import tomllib
import urllib.error
import urllib.request

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.cli.data import command
from harness.core.errors import DataError
from harness.data import manage, resolve
from harness.data.cards import Card, every_card, read_card
from harness.data.loading import table_of
from harness.plugins.registry import load_registry

LABELS = ("no", "yes")
CSV = "id,a,b,y\n" + "".join(f"{i},{i / 7},{'uv'[i % 2]},{LABELS[i % 2]}\n" for i in range(9))


def registry():
    return load_registry(
        modules=["harness.data.providers.cards", "harness.data.providers.generators"]
    )


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(CSV)
    return path


def test_list_shows_ready_fetchable_and_broken_datasets(tmp_path):
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards/half.toml").write_text('name = "half"\n')
    rows = {row["name"]: row for row in manage.list_datasets(registry())}
    assert rows["iris"]["state"] == "ready"
    assert rows["friedman1"]["state"] == "ready"
    assert rows["adult"]["state"] == "to fetch"
    assert rows["higgs"]["state"] == "to fetch"
    assert rows["half"]["state"] == "broken"
    assert "rows: Field required" in rows["half"]["reason"]
    json.dumps(list(rows.values()))


def test_list_shows_refused_datasets_of_a_mirror(tmp_path, monkeypatch):
    (tmp_path / "MANIFEST.json").write_text('[{"name": "mine", "task": "survival"}]')
    monkeypatch.setenv("HARNESS_MIRROR", str(tmp_path))
    rows = manage.list_datasets(load_registry(modules=["harness.data.providers.mirror"]))
    (reason,) = [row["reason"] for row in rows if row["state"] == "refused"]
    assert "task" in reason


def test_list_reports_a_broken_mirror(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_MIRROR", str(tmp_path / "absent"))
    rows = {row["name"]: row for row in manage.list_datasets(registry())}
    assert "cannot be read" in rows["(mirror)"]["reason"]


@pytest.mark.parametrize("name", ["iris", "adult", "higgs", "friedman1:rows=50"])
def test_show_is_json_and_names_the_source(name):
    facts = manage.show(resolve(name, registry()))
    json.dumps(facts)
    if name == "adult":
        assert (facts["openml"], facts["sha256"]) == (1590, "at the first fetch")
    if name == "higgs":
        assert facts["files"][0]["place"].startswith("https://")
    assert facts["described"]


def test_fetch_downloads_everything_available():
    assert manage.fetch(resolve("wine", registry()))["rows"] == 178
    with pytest.raises(DataError, match="HARNESS_OFFLINE"):
        manage.fetch(resolve("adult", registry()))


def test_unreachable_host_is_tried_once(monkeypatch):
    requested = []

    def https_open(self, request):
        requested.append(request.host)
        raise urllib.error.URLError("Temporary failure in name resolution")

    monkeypatch.setattr(urllib.request.HTTPSHandler, "https_open", https_open)
    monkeypatch.delenv("HARNESS_OFFLINE")
    done = CliRunner().invoke(command, ["fetch", "wine", "suite:ctr23", "pol"])
    lines = done.stderr.splitlines()
    assert requested == ["www.openml.org", "raw.githubusercontent.com"]
    assert len(lines) == 3
    assert "could not be fetched: Temporary failure" in lines[0]
    assert "pol could not be fetched" in lines[1]
    assert lines[2] == "34 more datasets of www.openml.org not tried: it cannot be reached"
    assert "178" in done.stdout, "what needs no network is there"


def test_verify_checks_bytes_and_facts(tmp_path, csv_file):
    manage.add(csv_file, "y", "mine", drop=("id",))
    dataset = resolve("mine", registry())
    rows = manage.verify(dataset)
    assert [row["check"] for row in rows][:3] == ["bytes", "rows", "columns"]
    assert all(row["ok"] for row in rows)
    csv_file.write_text(CSV + "9,9,u,no\n")
    (row,) = manage.verify(dataset)
    assert (row["check"], row["ok"]) == ("bytes", False)
    assert "SHA-256" in row["found"]


def test_add_writes_a_card_that_names_the_file(tmp_path, csv_file):
    place = manage.add(
        csv_file, "y", "mine", drop=("id",), suites=("own",), summary='a "b"\n\x7f', license="CC0"
    )
    assert place == tmp_path / "cards/mine.toml"
    card = read_card(place)
    assert (card.summary, card.license, card.suites) == ('a "b"\n\x7f', "CC0", ("own",))
    dataset = resolve("mine", registry())
    assert (dataset.rows, dataset.columns, dataset.categorical) == (9, 2, 1)
    table = table_of(dataset)
    assert table.classes == ("no", "yes")
    assert list(table.X.columns) == ["a", "b"]


def test_file_is_added_from_the_command_line_with_weight_and_group(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("a,w,g,y\n" + "".join(f"{i},{1 + i % 3},{i // 4},{i % 2}\n" for i in range(24)))
    words = ["add", str(path), "--target", "y", "--name", "own", "--weight", "w", "--group", "g"]
    message = CliRunner().invoke(command, [*words, "--json"], catch_exceptions=False)
    assert json.loads(message.output)["card"] == str(tmp_path / "cards/own.toml")
    table = table_of(resolve("own", registry()))
    assert list(table.X.columns) == ["a"]
    assert table.weight.tolist() == [1.0 + i % 3 for i in range(24)]
    assert len(set(table.group)) == 6


@pytest.mark.parametrize("name", ["iris", "mine"])
def test_add_refuses_an_existing_name(csv_file, name):
    manage.add(csv_file, "y", "mine")
    with pytest.raises(DataError, match="choose another name"):
        manage.add(csv_file, "y", name)


def test_add_refuses_the_name_of_a_generator(tmp_path, csv_file):
    words = ["add", str(csv_file), "--target", "y", "--name", "friedman1"]
    refused = CliRunner().invoke(command, words).exception
    assert isinstance(refused, DataError)
    assert "choose another" in str(refused)
    assert not (tmp_path / "cards").exists()


@pytest.mark.parametrize("name", ["../x", "", "a/b", "a" * 65, "-a", "a b", "a\n"])
def test_add_refuses_names_that_could_be_paths(tmp_path, csv_file, name):
    with pytest.raises(DataError, match="cannot name a dataset"):
        manage.add(csv_file, "y", name)
    assert not (tmp_path / "cards").exists()


def test_add_into_an_unwritable_folder(tmp_path, csv_file):
    (tmp_path / "cards").write_text("a file")
    with pytest.raises(DataError, match="cannot be written"):
        manage.add(csv_file, "y", "mine")


def test_every_shipped_card_survives_rewriting():
    for path, card in every_card():
        assert Card.model_validate(tomllib.loads(manage.card_text(card))) == card, path


texts = st.text(st.characters(codec="utf-8"), max_size=30)


@given(texts, st.dictionaries(texts, texts, max_size=3), st.lists(texts, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_survives_in_a_card(summary, labels, drop):
    data = {
        "name": "mine",
        "task": "regression",
        "target": summary,
        "summary": summary,
        "rows": 2,
        "columns": 1,
        "source": "openml",
        "openml": 1,
        "read": {"labels": labels, "drop": drop},
    }
    card = Card.model_validate(data)
    assert Card.model_validate(tomllib.loads(manage.card_text(card))) == card
