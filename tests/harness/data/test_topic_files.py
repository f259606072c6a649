"""Tests of topic files: a row begins with its id, and the last file maps ids to topics."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import DataError
from harness.data.cards import read_card
from harness.data.loading import table_of
from harness.data.parsers import parse
from harness.data.reading import Reading
from harness.data.topics import labels_by_id, labels_of

CARD = """
name = "news"
task = "binary"
target = "label"
rows = {rows}
columns = 5
classes = 2
sparse = true
source = "file"
{files}
[read]
format = "svmlight"
columns = 5
zero_based = false
drop_missing_target = true
[read.topics]
CCAT = "1"
ECAT = "1"
GCAT = "-1"
MCAT = "-1"
"""
WITHOUT, _ = CARD.split("[read.topics]")
FILE = '[[files]]\npath = "{}"\nsha256 = "{}"'
# Two blanks after the id, as in the published file. 810596 is the largest id there is.
ROWS = b"2286  1:0.5 5:0.25\n2287  2:1\n2288  3:1\n2290  4:1\n2291  1:2\n810596  5:3\n"
TOPICS = b"""E11 2286 1
ECAT 2286 1
CCAT 2286 1
GCAT 810596 1
C11 2287 1
CCAT 2287 1
MCAT 2287 1
C11 2288 1
MCAT 2290 1
GCAT 9999 1
"""


def card_of(folder, *contents, rows=3, text=CARD):
    """Write files and their card, and return the card."""
    files = []
    for number, content in enumerate(contents):
        packed = gzip.compress(content, mtime=0)
        (folder / f"{number}.gz").write_bytes(packed)
        files.append(FILE.format(f"{number}.gz", hashlib.sha256(packed).hexdigest()))
    path = folder / "news.toml"
    path.write_text(text.format(rows=rows, files="\n".join(files)))
    return read_card(path)


def loaded(folder, *contents, **options):
    return table_of(card_of(folder, *contents, **options).dataset(folder))


def test_rows_get_the_label_of_their_topics(tmp_path):
    table = loaded(tmp_path, ROWS, TOPICS)
    assert table.classes == ("-1", "1")
    # 2287 is of both sides, 2288 of neither, 2291 has no topic at all
    assert [table.classes[code] for code in table.y] == ["1", "-1", "-1"]
    expected = [[0.5, 0, 0, 0, 0.25], [0, 0, 0, 1, 0], [0, 0, 0, 0, 3]]
    np.testing.assert_array_equal(table.X.toarray(), expected)
    assert table.notes == ("3 rows without a usable target left out",)


def test_only_the_last_of_several_files_holds_topics(tmp_path):
    head, tail = ROWS[: ROWS.index(b"2290")], ROWS[ROWS.index(b"2290") :]
    parts, whole = loaded(tmp_path, head, tail, TOPICS), loaded(tmp_path, ROWS, TOPICS)
    np.testing.assert_array_equal(parts.X.toarray(), whole.X.toarray())
    np.testing.assert_array_equal(parts.y, whole.y)


def test_test_rows_are_counted_before_rows_are_left_out(tmp_path):
    text = CARD.replace("[read.topics]", "test_rows = 4\n[read.topics]")
    assert loaded(tmp_path, ROWS, TOPICS, text=text).test_rows.tolist() == [False, True, True]


def test_rows_without_a_label_are_left_out_only_if_the_card_says_so(tmp_path):
    text = CARD.replace("drop_missing_target = true\n", "")
    with pytest.raises(DataError, match="'label' is missing in 3 of 6 rows"):
        loaded(tmp_path, ROWS, TOPICS, text=text)


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        (TOPICS.replace(b" 1\n", b" 1 0\n"), r"1\.gz has 4 columns, not 3"),
        (TOPICS + b"CCAT 5 1 0\n", r"1\.gz cannot be read as csv: Expected 3 fields in line 11"),
        (TOPICS + b"CCAT 5\n", r"1\.gz has 1 line other than topic, id and 1, such as 'CCAT 5'"),
        (TOPICS + b"CCAT five 1\n", r"1\.gz has 1 line other .* such as 'CCAT five 1'"),
        (TOPICS + b"CCAT 5.5 1\n" * 2, r"1\.gz has 2 lines other .* such as 'CCAT 5\.5 1'"),
        (TOPICS + b"CCAT 5 0\n", r"1\.gz has 1 line other .* such as 'CCAT 5 0'"),
        (TOPICS + b"CCAT 9007199254740993 1\n", r"1\.gz has 1 line other than topic, id"),
        (TOPICS + b"\xff 5 1\n", r"1\.gz is not UTF-8: line 11 holds byte 0xff"),
        (b"\n", r"1\.gz has no table"),
        (b"XCAT 2286 1\n", "no row has a usable target 'label'"),
        (b"CCAT 2286 1\n", "one class only"),
    ],
)
def test_broken_topic_file_is_reported_in_one_line(tmp_path, topics, message):
    with pytest.raises(DataError, match=message) as caught:
        loaded(tmp_path, ROWS, topics)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", [b"0.5", b"nan", b"inf", b"9007199254740992"])
def test_number_that_is_no_id_is_refused(tmp_path, number):
    with pytest.raises(DataError, match=r"1\.gz: .* in front of a row is not an id"):
        loaded(tmp_path, ROWS, number + b" 1:1\n", TOPICS)


def test_topics_need_ids_and_their_own_file(tmp_path):
    with pytest.raises(DataError, match=r"1 mistake: .*topics need two files or more"):
        card_of(tmp_path, ROWS)
    with pytest.raises(DataError, match='1 mistake: read: topics need format = "svmlight"'):
        card_of(tmp_path, ROWS, TOPICS, text=CARD.replace('"svmlight"', '"csv"'))


def test_topics_are_part_of_the_digest(tmp_path):
    texts = [CARD, CARD.replace('MCAT = "-1"', ""), WITHOUT]
    cards = [card_of(tmp_path, ROWS, TOPICS, text=text) for text in texts]
    assert len({card.dataset(tmp_path).digest for card in cards}) == 3


def test_topics_are_matched_exactly(tmp_path):
    """A topic may be a number, a quote or a marker of missing values."""
    text = WITHOUT + '[read.topics]\nNA = "a"\n"01" = "b"\n"\\"" = "b"\n'
    message = b'NA 2286 1\n1 2287 1\n01 2288 1\n" 2290 1\n'
    table = loaded(tmp_path, ROWS, message, text=text)
    assert [table.classes[code] for code in table.y] == ["a", "b", "b"]


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=12),
    st.lists(st.tuples(st.sampled_from("ABCDE"), st.integers(0, 12))),
)
def test_join_equals_a_loop(ids, told):
    labels = {"A": "x", "B": "x", "C": "y", "D": "z"}
    expected = []
    for row in ids:
        results = {labels[topic] for topic, of in told if of == row and topic in labels}
        expected.append(results.pop() if len(results) == 1 else None)
    lines = pd.DataFrame([(topic, str(of), "1") for topic, of in told], columns=range(3), dtype=str)
    joined = labels_of(np.array(ids, np.float64), labels_by_id(lines, labels, Path("told")))
    assert [None if pd.isna(label) else label for label in joined] == expected


def test_topics_only_are_no_table(tmp_path):
    with pytest.raises(DataError, match="no file of rows comes before it"):
        parse([tmp_path / "topics"], Reading(format="svmlight", topics={"A": "a"}))
