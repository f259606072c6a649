"""Random malformed files, cards and names, and the invariants of reading them."""

import bz2
import gzip
import io
import json
import lzma
import pickle
import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from harness.core.errors import HarnessError
from harness.core.model import DatasetRef
from harness.data import dataset_from_file, dataset_from_mapping, load_table, resolve
from harness.data.cards import read_card
from harness.data.loading import table_of
from harness.data.mirror import entries
from harness.data.parsers import parse
from harness.data.reading import Reading
from harness.plugins.registry import Registry, load_registry

PATIENCE = 60  # seconds; nothing that small may take so long, on however busy a machine
REGISTRY = load_registry(modules=["harness.data.providers.generators"])


@contextmanager
def time_limit():
    """Turn a hang into a failure with a traceback."""

    def late(*_):
        raise TimeoutError(f"still running after {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def survives(call):
    """Return the result of a call, or None if it raised a one-line error; other errors pass."""
    with time_limit():
        try:
            return call()
        except HarnessError as error:
            message = str(error)
    assert "\n" not in message, "a message is one line"
    assert len(message) < 2000
    return None


def file_survives(name, content, target, monkeypatch):
    """Read bytes as a user's file, twice, and check that nothing else was written."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        monkeypatch.setenv("HARNESS_CACHE", str(root / "cache"))
        monkeypatch.setenv("HARNESS_MAX_BYTES", "32MiB")
        (root / "data").mkdir()
        path = root / "data" / name
        path.write_bytes(content)
        dataset = survives(lambda: dataset_from_file(path, target))
        if dataset is not None:
            mapping = json.loads(json.dumps(dataset.file))
            assert dataset_from_mapping(mapping) == dataset
            ref = DatasetRef(dataset.name, dataset.digest, {}, mapping)
            table = load_table(ref, Registry())
            assert table.X.shape == (dataset.rows, dataset.columns)
        assert {p.name for p in root.iterdir()} <= {"data", "cache"}
        assert [p.name for p in (root / "data").iterdir()] == [name]


def mutated(content):
    """Return a strategy of damaged copies of some bytes."""

    def damage(edits):
        result = bytearray(content)
        for place, kind, value in edits:
            at = place % (len(result) + 1)
            match kind:
                case "set" if at < len(result):
                    result[at] = value
                case "cut":
                    del result[at : at + value]
                case "insert":
                    result[at:at] = bytes([value]) * (1 + value % 7)
                case "copy":
                    result[at:at] = result[: value * 4]
        return bytes(result)

    kinds = st.sampled_from(["set", "cut", "insert", "copy"])
    edit = st.tuples(st.integers(0, 2**20), kinds, st.integers(0, 255))
    return st.lists(edit, max_size=12).map(damage)


def lines_of(tokens, separators, most=12):
    """Return a strategy of texts made of unusual tokens."""
    line = st.lists(st.one_of(st.sampled_from(tokens), st.text(max_size=6)), max_size=6)
    joined = st.tuples(line, st.sampled_from(separators)).map(lambda p: p[1].join(p[0]))
    text = st.lists(joined, max_size=most).map("\n".join)
    return text.map(lambda t: t.encode("utf-8", "surrogatepass"))


def _frame():
    return pd.DataFrame(
        {
            "a": [1.5, None, 3.0, 4.0],
            "b": ["u", "v", None, "u"],
            "d": pd.to_datetime(["2020-01-01"] * 4),
            "y": [0, 1, 0, 1],
        }
    )


def _bytes_of(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


CSV_TOKENS = ["a", "y", "1", "0", "-1e999", "inf", "NA", "?", '"', '""', "\0", "'", "#", "\r"]
CSV_TOKENS += ["\ufeff", "1e5", "0x1f", "true", "x" * 50, "2020-01-01", "=1+1", "\x1b[2J", "é"]
ARFF_TOKENS = ["@relation", "@attribute", "@data", "y", "a", "numeric", "{0,1}", "{", "}", "?"]
ARFF_TOKENS += ["1", "0", "'", '"', "\\", "%", "{0 1}", "string", "date", "1e400", "{a b,c}"]
SVM_TOKENS = ["1", "-1", "0", "1:1", "2:0.5", "qid:1", "3:nan", "0:1", "-2:1", "9999999:1", "#"]
SVM_TOKENS += ["1:", ":", "1:1e999", "4294967297:1", "18446744073709551617:2"]
VALID = {
    "mine.csv": b"a,b,y\n1,u,0\n2.5,v,1\n,u,0\n4,,1\n",
    "mine.tsv": b"a\tb\ty\n1\tu\t0\n2.5\tv\t1\n",
    "mine.csv.gz": gzip.compress(b"a,y\n" + b"1,0\n2,1\n" * 40, mtime=0),
    "mine.csv.bz2": bz2.compress(b"a,y\n" + b"1,0\n2,1\n" * 40),
    "mine.csv.xz": lzma.compress(b"a,y\n" + b"1,0\n2,1\n" * 40),
    "mine.parquet": _bytes_of(lambda file: _frame().to_parquet(file)),
    "mine.arff": b"@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n1,0\n?,1\n2,1\n",
    "sparse.arff": b"@relation r\n@attribute a numeric\n@attribute b {0,1}\n@attribute y {0,1}\n"
    b"@data\n{0 1.5}\n{1 1,2 1}\n{}\n{0 ?,2 1}\n",
    "mine.svm": b"1 1:0.5 3:2\n-1 2:1\n1 1:3 # x\n",
    "mine.npz": _bytes_of(lambda f: np.savez(f, X=np.ones((4, 2)), y=np.arange(4) % 2)),
    "mine.txt": pickle.dumps({"a": [1, 2]}),
}

TEXTS = {
    "mine.csv": lines_of(CSV_TOKENS, [",", ";", "\t", " "]),
    "mine.arff": lines_of(ARFF_TOKENS, [" ", ","]),
    "mine.svm": lines_of(SVM_TOKENS, [" "]),
    "mine.csv.gz": lines_of(CSV_TOKENS, [","]).map(gzip.compress),
}
files = st.sampled_from(sorted(VALID)).flatmap(
    lambda name: st.tuples(st.just(name), st.one_of(mutated(VALID[name]), st.binary(max_size=200)))
)
texts = st.one_of(st.tuples(st.just(name), made) for name, made in TEXTS.items())


def bytes_of(name):
    """Return a strategy of contents for a file of that name."""
    kinds = [mutated(VALID[name]), st.binary(max_size=200)]
    return st.one_of(*kinds, *([TEXTS[name]] if name in TEXTS else []))


targets = st.one_of(st.sampled_from(["y", "a", None]), st.text(max_size=5))

CARD = b"""name = "mine"
task = "binary"
target = "y"
rows = 4
columns = 2
classes = 2
source = "file"
[[files]]
path = "mine.csv"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
[read]
separator = ";"
missing = ["?"]
"""
cards = st.one_of(mutated(CARD), st.binary(max_size=100))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
ENTRY = {
    "name": "mine",
    "files": ["mine.csv"],
    "rows": 4,
    "n_columns": 2,
    "n_categorical": 1,
    "n_classes": 2,
    "task": "binary",
    "target": "y",
    "missing": True,
    "read": {"kind": "csv"},
    "na": ["?"],
    "file_details": [{"file": "mine.csv", "sha256": "0" * 64}],
}
changes = st.dictionaries(st.sampled_from([*ENTRY, "cat", "drop", "label_map"]), json_values)
topics = {
    "rows": mutated(b"1  1:0.5 3:2\n2  2:1\n3  1:3\n"),
    "topics": mutated(b"A 1 1\nB 2 1\nA 3 1\nB 3 1\nC 4 1\n"),
}
names = st.one_of(
    st.text(max_size=40),
    st.from_regex(r"(friedman1|higgs_like|x):[a-z]{0,8}=?[-0-9.e]{0,12}(,[a-z=0-9]*)?"),
)


def file_case(case, target, monkeypatch):
    """Check a user's file; svmlight files have no column names."""
    target = None if case[0].endswith(".svm") else target
    file_survives(case[0], case[1], target, monkeypatch)


def card_case(content, monkeypatch):
    """Check a card: read it and, if it is valid, load it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mine.toml")
        path.write_bytes(content)
        Path(folder, "mine.csv").write_bytes(b"a;b;y\n1;?;0\n2;v;1\n3;u;0\n4;v;1\n")
        monkeypatch.setenv("HARNESS_CACHE", f"{folder}/cache")
        card = survives(lambda: read_card(path))
        if card is not None:
            survives(lambda: table_of(card.dataset(path.parent)))


def topics_case(rows, topics, monkeypatch):
    """Check a file of rows that begin with ids, and a file of their topics."""
    with tempfile.TemporaryDirectory() as folder:
        contents = {"rows": rows, "topics": topics}
        paths = [Path(folder, name) for name in contents]
        for path, content in zip(paths, contents.values(), strict=True):
            path.write_bytes(content)
        monkeypatch.setenv("HARNESS_MAX_BYTES", "32MiB")
        reading = Reading(format="svmlight", target="label", topics={"A": "yes", "B": "no"})
        parsed = survives(lambda: parse(paths, reading))
        assert parsed is None or set(parsed.target[~pd.isna(parsed.target)]) <= {"yes", "no"}


def mirror_case(change, monkeypatch):
    """Check a manifest with some of its values replaced."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "MANIFEST.json").write_text(json.dumps([ENTRY | change]))
        Path(folder, "mine.csv").write_bytes(b"a,b,y\n1,?,0\n2,v,1\n3,u,0\n4,v,1\n")
        monkeypatch.setenv("HARNESS_MIRROR", folder)
        monkeypatch.setenv("HARNESS_CACHE", f"{folder}/cache")
        for entry in survives(entries) or []:
            assert entry.refused or entry.dataset().name == entry.name
            if not entry.refused:
                survives(lambda entry=entry: table_of(entry.dataset()))


def name_case(name):
    """Check a name with options."""
    survives(lambda: resolve(name, REGISTRY))
