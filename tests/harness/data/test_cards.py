"""Tests of dataset cards: all shipped ones are complete, and all mistakes of a card are listed."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from harness.core.errors import DataError
from harness.core.model import Task
from harness.data import resolve
from harness.data.bundled import OPTIONS
from harness.data.cards import every_card, fault_of, read_card
from harness.data.folders import card_folders
from harness.data.loading import table_of
from harness.plugins.registry import load_registry

CARDS = [card for _, card in every_card()]
GOOD = """
name = "mine"
task = "binary"
target = "y"
rows = 4
columns = 2
classes = 2
source = "file"
[[files]]
path = "mine.csv"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
"""


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "cards"
    path.mkdir()
    return path


def registry():
    return load_registry(modules=["harness.data.providers.cards"])


def test_every_shipped_card_is_complete():
    assert [str(card) for card in CARDS if isinstance(card, DataError)] == []
    assert len(CARDS) >= 60
    assert all(card.summary and card.origin and card.license for card in CARDS)


def test_suites_are_complete():
    """The expected numbers are those of the published suites."""
    members = Counter(suite for card in CARDS for suite in card.suites)
    assert members["cc18"] == 72
    assert members["ctr23"] == 35
    assert members["bundled"] == len(OPTIONS) == 5
    papers = {card.name for card in CARDS if "papers" in card.suites}
    expected = {"higgs", "covertype", "adult", "california_housing", "year_msd", "airlines"}
    assert expected | {"bank_marketing", "electricity", "epsilon", "rcv1"} <= papers


def test_no_two_cards_name_the_same_openml_dataset():
    ids = Counter(card.openml for card in CARDS if card.openml)
    assert [number for number, n in ids.items() if n > 1] == []
    suites = {"cc18": range(3, 41_028), "ctr23": range(41_021, 45_403)}
    for card in CARDS:
        for suite, numbers in suites.items():
            assert suite not in card.suites or card.openml in numbers


def test_every_downloaded_file_is_pinned():
    files = {card.name: card.files for card in CARDS if card.source == "url"}
    assert len(files) >= 42
    assert [name for name, each in files.items() if not all(f.sha256 for f in each)] == []


def test_regression_has_no_classes_and_names_a_target():
    for card in CARDS:
        assert card.task.is_classification == (card.classes >= 2)
        assert card.task is not Task.BINARY or card.classes == 2
        assert card.target or card.source == "sklearn"


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_bundled_datasets_load_without_a_network(name):
    dataset = resolve(name, registry())
    table = table_of(dataset)
    assert table.X.shape == (dataset.rows, dataset.columns)
    assert len(table.classes) == dataset.n_classes
    again = table_of(dataset)
    np.testing.assert_array_equal(table.X, again.X)
    np.testing.assert_array_equal(table.y, again.y)


def test_changed_bundled_values_are_refused(folder):
    text = Path(card_folders()[0], "iris.toml").read_text().replace("3544e1126921", "000000000000")
    (folder / "iris.toml").write_text(text)
    dataset = read_card(folder / "iris.toml").dataset(folder)
    with pytest.raises(DataError, match=r"SHA-256 3544e.*, not 00000"):
        table_of(dataset)


def test_declaring_imports_no_heavy_library():
    code = (
        "import sys; from harness.plugins.registry import load_registry;"
        "r = load_registry(modules=['harness.data.providers.cards',"
        "'harness.data.providers.generators',"
        "'harness.data.providers.mirror']); assert len(r.names('dataset')) > 100;"
        "from harness.data import default_splits, resolve;"
        "default_splits(resolve('higgs_like:rows=1000', r), 5, 1, 0);"
        "print(sorted({'pandas', 'numpy', 'scipy', 'sklearn', 'pooch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_mistakes_are_reported_at_once(folder):
    text = GOOD.replace("rows = 4", 'rows = "many"').replace("task", "tsak")
    text = text.replace("[[files]]", "[read]\nseparater = ';'\n[[files]]")
    (folder / "mine.toml").write_text(text)
    with pytest.raises(DataError, match="4 mistakes") as caught:
        read_card(folder / "mine.toml")
    message = str(caught.value)
    assert "task: Field required" in message
    assert "unknown key 'tsak': did you mean 'task'?" in message
    assert "rows: Input should be a valid integer" in message
    assert "unknown key 'separater': did you mean 'separator'?" in message
    assert "\n" not in message


def test_card_of_an_older_version_is_read(folder):
    (folder / "mine.toml").write_text(GOOD.replace("rows = 4", 'rows = 4\nlicence = "CC0"'))
    assert read_card(folder / "mine.toml").license == "CC0"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('name = "mine"', 'name = "other"', "name the file other.toml"),
        ('name = "mine"', 'name = "../x"', "name: String should match"),
        ("classes = 2", "classes = 0", "at least 2 for classification"),
        ('source = "file"', 'source = "openml"', "needs the number"),
        ('source = "file"', 'source = "ftp"', "source: Input should be"),
        ('path = "mine.csv"', 'url = "http://x.org/a"', "url: String should match"),
        ('path = "mine.csv"', 'path = "a"\nurl = "https://x.org/a"', "either url or path"),
        ('sha256 = "0', 'sha256 = "X0', "sha256: String should match"),
        ("rows = 4", "rows = ", "is not TOML"),
    ],
)
def test_invalid_cards(folder, before, after, message):
    assert before in GOOD
    (folder / "mine.toml").write_text(GOOD.replace(before, after, 1))
    with pytest.raises(DataError, match=message):
        read_card(folder / "mine.toml")


def test_broken_card_is_an_error_only_when_used(folder):
    (folder / "mine.toml").write_text(GOOD.replace("rows = 4", ""))
    assert "iris" in registry().names("dataset")
    with pytest.raises(DataError, match=r"mine\.toml: 1 mistake: rows: Field required"):
        resolve("mine", registry())


def test_unreadable_card_is_reported(folder):
    (folder / "mine.toml").mkdir()
    assert "iris" in registry().names("dataset")
    with pytest.raises(DataError, match=r"mine\.toml cannot be read: Is a directory"):
        resolve("mine", registry())


def test_cached_cards_follow_their_files(folder):
    from harness.data import cards

    def rows():
        cards._cards_of.cache_clear()  # as in another process
        return registry().dataset("mine").rows

    (folder / "mine.toml").write_text(GOOD)
    assert [rows(), rows()] == [4, 4]
    (folder / "mine.toml").write_text(GOOD.replace("rows = 4", "rows = 5"))
    assert rows() == 5


def test_card_cannot_take_the_name_of_a_shipped_one(folder):
    shutil.copy(Path(card_folders()[0], "wine.toml"), folder / "iris.toml")
    text = (folder / "iris.toml").read_text().replace('name = "wine"', 'name = "iris"')
    (folder / "iris.toml").write_text(text)
    assert resolve("iris", registry()).rows == 150
    assert "has the same name as" in fault_of("iris")


def test_user_card_reads_a_file_beside_it(folder):
    import hashlib

    content = b"a;b;y\n1;u;no\n2;v;yes\n3;u;no\n4;v;yes\n"
    (folder / "mine.csv").write_bytes(content)
    text = GOOD.replace("0" * 64, hashlib.sha256(content).hexdigest())
    text = text.replace("rows = 4", "rows = 4\ncategorical = 1")
    text += '[read]\nseparator = ";"\n[read.labels]\nno = "nein"\n'
    (folder / "mine.toml").write_text(text)
    table = table_of(resolve("mine", registry()))
    assert table.classes == ("nein", "yes")
    assert table.X["b"].tolist() == ["u", "v", "u", "v"]
    (folder / "mine.csv").write_bytes(content + b"5;u;no\n")
    with pytest.raises(DataError, match="SHA-256"):
        table_of(resolve("mine", registry()))


def test_digest_depends_on_checksum_options_and_task(folder):
    variants = {
        "": "",
        'sha256 = "0': 'sha256 = "1',
        'target = "y"': 'target = "z"',
        'task = "binary"': 'task = "multiclass"',
        "[[files]]": "[read]\nencoding = 'latin1'\n[[files]]",
        'summary = ""': "",
    }
    digests = []
    for before, after in variants.items():
        (folder / "mine.toml").write_text(GOOD.replace(before, after, 1))
        digests.append(read_card(folder / "mine.toml").dataset(folder).digest)
    assert digests[0] == digests[-1], "the summary is for people"
    assert len(set(digests)) == len(digests) - 1
