"""Tests of a mirror: every shared dataset equals what its own reader reads."""

import gzip
import hashlib
import importlib.util
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from harness.cli.data import command
from harness.config.experiment import parse_experiment
from harness.core.errors import DataError
from harness.core.libraries import Surroundings
from harness.core.model import DatasetRef
from harness.data import dataset_from_file, load_table, resolve
from harness.data.cards import every_card
from harness.data.columns import labels_of
from harness.data.development_split import half_of
from harness.data.loading import table_of
from harness.data.mirror import entries
from harness.data.remote import place_of
from harness.data.streams import magic
from harness.data.tables import facts_of
from harness.planning.candidates import choose_datasets
from harness.planning.plan import make_plan
from harness.plugins.registry import load_registry

MODULES = ["harness.data.providers.cards", "harness.data.providers.mirror"]
QUICK = 200_000  # bytes of a set that is read in every test run; larger ones where it may be slow


def make_mirror(folder, monkeypatch, **changes):
    """Write a mirror of one small dataset and configure it."""
    content = b"a,b,y\n1,u,no.\n2,v,yes\n3,?,no\n4,u,yes\n"
    (folder / "m").mkdir(parents=True)
    (folder / "m/iris.csv").write_bytes(content)
    entry = {
        "name": "iris",
        "files": ["m/iris.csv"],
        "rows": 4,
        "n_columns": 2,
        "n_categorical": 1,
        "n_classes": 2,
        "task": "binary",
        "target": "y",
        "missing": True,
        "read": {"kind": "csv"},
        "na": ["?"],
        "label_map": {"no.": "no"},
        "file_details": [{"file": "m/iris.csv", "sha256": hashlib.sha256(content).hexdigest()}],
        "notes": "for people",
    }
    (folder / "MANIFEST.json").write_text(json.dumps([entry | changes]))
    monkeypatch.setenv("HARNESS_MIRROR", str(folder))
    return entry


def registry():
    return load_registry(modules=MODULES)


def test_mirror_takes_precedence_over_a_card_and_is_recorded(tmp_path, monkeypatch):
    card = resolve("iris", registry())
    make_mirror(tmp_path / "mirror", monkeypatch)
    mirrored = resolve("iris", registry())
    assert (card.source, mirrored.source) == ("bundled", "mirror")
    assert card.digest != mirrored.digest
    assert mirrored.suites == (*card.suites, "mirror", half_of("iris"))
    table = table_of(mirrored)
    assert table.classes == ("no", "yes")
    assert table.X["b"].isna().tolist() == [False, False, True, False]
    with pytest.raises(DataError, match=f"{mirrored.digest[:16]}.*{card.digest[:16]}"):
        load_table(DatasetRef("iris", card.digest), registry())


def test_dataset_name_is_reserved(tmp_path, monkeypatch):
    make_mirror(tmp_path / "mirror", monkeypatch, name="theirs")
    file = str(tmp_path / "mirror/m/iris.csv")
    words = ["add", file, "--target", "y", "--name", "theirs"]
    refused = CliRunner().invoke(command, words).exception
    assert isinstance(refused, DataError)
    assert "choose another" in str(refused)


def test_changed_file_is_refused_even_if_cached(tmp_path, monkeypatch):
    make_mirror(tmp_path / "mirror", monkeypatch)
    dataset = resolve("iris", registry())
    table_of(dataset)
    with (tmp_path / "mirror/m/iris.csv").open("ab") as file:
        file.write(b"5,u,no\n")
    with pytest.raises(DataError, match=r"iris\.csv has SHA-256"):
        table_of(dataset)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "survival"}, "task"),
        ({"files": ["../secret.csv"]}, "outside the mirror"),
        ({"files": ["/etc/passwd"]}, "outside the mirror"),
        ({"files": ["m/other.csv"]}, "no SHA-256"),
        ({"read": {"kind": "csv", "converters": "os"}}, "unknown key 'converters'"),
        ({"read": {"kind": "pickle"}}, "read.kind"),
        ({"rows": None}, "rows"),
    ],
)
def test_unusable_dataset_is_refused_with_a_reason(tmp_path, monkeypatch, changes, message):
    make_mirror(tmp_path / "mirror", monkeypatch, name="mine", **changes)
    with pytest.raises(DataError, match=message):
        resolve("mine", registry())


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read"), (b"{", "is not JSON"), (b"{}", "not a list"), (b"[1]", "not a list"),
     (b"[" * 100_000, "is not JSON")],
)  # fmt: skip
def test_broken_manifest_breaks_only_the_mirror(tmp_path, monkeypatch, content, message):
    monkeypatch.setenv("HARNESS_MIRROR", str(tmp_path / "mirror"))
    if content is not None:
        (tmp_path / "mirror").mkdir()
        (tmp_path / "mirror/MANIFEST.json").write_bytes(content)
    with pytest.raises(DataError, match=message):
        entries()
    result = load_registry(strangers=False)
    assert [b.plugin for b in result.broken] == ["harness.data.providers.mirror"]
    assert "iris" in result.names("dataset")


@pytest.mark.parametrize("name", ["iris", "friedman1"])
def test_missing_mirror_is_an_error_and_uses_no_network(monkeypatch, name):
    monkeypatch.setenv("HARNESS_MIRROR", "/nowhere/mistyped")
    result = load_registry(strangers=False)
    assert name in result.names("dataset"), "a card or a generator would do"
    for look_up in (lambda: resolve(name, result), lambda: choose_datasets([name], result, {})):
        with pytest.raises(DataError, match="HARNESS_MIRROR names /nowhere/mistyped, but") as error:
            look_up()
        assert "unset it" in str(error.value)


def test_broken_mirror_prevents_planning_even_of_user_files(tmp_path, monkeypatch):
    (tmp_path / "mine.csv").write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    mine = dataset_from_file(tmp_path / "mine.csv", "y")
    experiment = parse_experiment(
        {"name": "x", "datasets": [mine.name], "algorithms": ["sklearn.decision_tree"]}, "here"
    )
    result = load_registry(modules=["algorithms.reference.sklearn"])
    around = Surroundings("machine", lambda _: "1")
    assert make_plan(experiment, result, around, [mine]).jobs
    monkeypatch.setenv("HARNESS_MIRROR", str(tmp_path / "absent"))
    with pytest.raises(DataError, match="HARNESS_MIRROR"):  # it would fail in every worker
        make_plan(experiment, result, around, [mine])


def test_invalid_mirror_dataset_is_not_taken_from_its_card(tmp_path, monkeypatch):
    make_mirror(tmp_path / "mirror", monkeypatch, rows=None)
    with pytest.raises(DataError, match="rows"):
        resolve("iris", registry())
    assert resolve("wine", registry()).source == "bundled"


def test_symbolic_link_cannot_leave_the_mirror(tmp_path, monkeypatch):
    entry = make_mirror(tmp_path / "mirror", monkeypatch, name="mine")
    outside = tmp_path / "outside.csv"
    (tmp_path / "mirror" / entry["files"][0]).rename(outside)
    (tmp_path / "mirror" / entry["files"][0]).symlink_to(outside)
    with pytest.raises(DataError, match="outside the mirror"):
        resolve("mine", registry())


def test_groups_come_from_the_manifest_or_the_card(tmp_path, monkeypatch):
    """The card of musk2 groups the conformations of a molecule, whose column the mirror drops."""
    content = b"molecule_name,b,y\nm1,1,no\nm1,2,yes\nm2,3,no\nm2,4,yes\n"
    sha256 = hashlib.sha256(content).hexdigest()
    plain = {"name": "musk2", "n_columns": 1, "n_categorical": 0, "missing": False, "label_map": {}}
    plain |= {"file_details": [{"file": "m/iris.csv", "sha256": sha256}]}
    changes = {
        "dropped": {"drop": ["molecule_name"]},
        "named": {"group": "molecule_name"},
        "a feature": {"n_columns": 2, "n_categorical": 1},
    }
    results = {}
    for case, change in changes.items():
        make_mirror(tmp_path / case, monkeypatch, **plain | change)
        (tmp_path / case / "m/iris.csv").write_bytes(content)
        dataset = resolve("musk2", registry())
        table = table_of(dataset)
        assert dataset.grouped == (table.group is not None)
        results[case] = None if table.group is None else table.group.tolist()
        assert len(table.X.columns) == dataset.columns
    assert results == {"dropped": [0, 0, 1, 1], "named": [0, 0, 1, 1], "a feature": None}


# ------------------------------------------------------------------ the shared mirror


def manifest_names(quick):
    """Return the datasets to compare, from the environment at collection."""
    folder = os.environ.get("HARNESS_MIRROR")
    if not folder:
        return []
    content = json.loads(Path(folder, "MANIFEST.json").read_text())
    return [m["name"] for m in content if (m["size_bytes"] < QUICK) == quick]


def mirrored_cards():
    """Return the small datasets whose exact file a card names by address and checksum."""
    small = manifest_names(quick=True)
    cards = [card for _, card in every_card() if card.source == "url" and card.name in small]
    return [card.name for card in cards if all(file.sha256 for file in card.files)]


def own_reader(folder):
    """Return the reader in the shared mirror."""
    spec = importlib.util.spec_from_file_location("mirror_reader", folder / "load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_labels(values):
    return labels_of(pd.Series(values)).to_numpy(dtype=object)


def assert_same_column(expected, result, is_categorical):
    assert isinstance(result.dtype, pd.CategoricalDtype) == is_categorical
    if not is_categorical:
        np.testing.assert_array_equal(expected.to_numpy(float), result.to_numpy())
        return
    kind = float if expected.cat.categories.dtype.kind in "if" else str
    a, b = (as_labels(values.astype(kind)) for values in (expected, result))
    missing = expected.isna().to_numpy()
    np.testing.assert_array_equal(missing, result.isna().to_numpy())
    np.testing.assert_array_equal(a[~missing], b[~missing])


def compare(folder, name):
    dataset = resolve(name, registry())
    assert dataset.source == "mirror"
    table = table_of(dataset)
    assert facts_of(table) == {fact: getattr(dataset, fact) for fact in facts_of(table)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not compared
        other = own_reader(folder).load(name)
    y = other["y"]
    if table.classes:
        labels = np.array(table.classes, dtype=object)[table.y]
        np.testing.assert_array_equal(labels, as_labels(y))
    else:
        np.testing.assert_array_equal(table.y, np.asarray(y, dtype=float))
    if other["weight"] is not None:
        np.testing.assert_array_equal(table.weight, other["weight"])
    if other["qid"] is not None:
        np.testing.assert_array_equal(table.group, pd.factorize(other["qid"])[0])
    X = other["X"]
    if dataset.sparse:
        assert (table.X != X).nnz == 0
    elif isinstance(X, pd.DataFrame):
        assert [str(c) for c in X.columns] == list(table.X.columns)
        for column in X.columns:
            assert_same_column(X[column], table.X[str(column)], column in other["categorical"])
    else:
        np.testing.assert_array_equal(table.X.to_numpy(), np.asarray(X, dtype=float))


def test_shared_mirror_is_registered(shared_mirror):
    content = json.loads((shared_mirror / "MANIFEST.json").read_text())
    assert not [e.name for e in entries() if e.refused]
    registered = {d.name for d in registry().all("dataset") if d.source == "mirror"}
    assert registered == {m["name"] for m in content}


@pytest.mark.parametrize("name", manifest_names(quick=True))
def test_small_dataset_equals_its_own_reader(shared_mirror, name):
    compare(shared_mirror, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", manifest_names(quick=False))
def test_large_dataset_equals_its_own_reader(shared_mirror, name):
    compare(shared_mirror, name)


@pytest.mark.parametrize("name", mirrored_cards())
def test_pinned_card_reads_the_bytes_of_the_mirror(mirror, monkeypatch, name):
    """If the mirror has a card's exact file, the card makes the same table of it."""
    content = json.loads((mirror / "MANIFEST.json").read_text())
    (facts,) = (m for m in content if m["name"] == name)
    (card,) = (card for _, card in every_card() if card.name == name)
    for file, detail in zip(card.files, facts["file_details"], strict=True):
        path = mirror / detail["file"]
        bytes_ = path.read_bytes()
        if hashlib.sha256(bytes_).hexdigest() != file.sha256 and magic(path) == "gzip":
            bytes_ = gzip.decompress(bytes_)
        if hashlib.sha256(bytes_).hexdigest() != file.sha256:
            pytest.skip("the mirror holds a converted file")
        place_of(file.url).parent.mkdir(parents=True, exist_ok=True)
        place_of(file.url).write_bytes(bytes_)
    by_card = table_of(resolve(name, registry()))
    monkeypatch.setenv("HARNESS_MIRROR", str(mirror))
    by_mirror = table_of(resolve(name, registry()))
    np.testing.assert_array_equal(by_card.y, by_mirror.y)
    assert by_card.classes == by_mirror.classes
    if isinstance(by_card.X, pd.DataFrame):
        pd.testing.assert_frame_equal(by_card.X, by_mirror.X)
    else:
        assert (by_card.X != by_mirror.X).nnz == 0
