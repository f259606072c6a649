"""Randomly damaged files of other programs: models, OpenML responses, pins, asv results.

Each of ``KINDS`` is a reader, called with drawn content and a folder, and the strategy that draws
the content. A reader fails if its file raises anything but one of our errors.
"""

import contextlib
import copy
import gzip
import json
import re
import shutil

import numpy as np
from ensembles import random_ensemble, random_symmetric_ensemble
from hypothesis import strategies as st
from openml_kit import DENSE, SPARSE, dataset_of, responses_of

from algorithms import (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    SymmetricBoostingClassifier,
    SymmetricBoostingRegressor,
    read_model,
    serve,
)
from algorithms.model_io import catboost_writer, json_format, lightgbm_writer, xgboost_writer
from algorithms.model_io.errors import ModelFileError
from harness import Missing
from harness.core.errors import HarnessError
from harness.data.folders import cache_folder
from harness.data.loading import table_of
from harness.data.remote import pin, pin_of
from harness.history.commits import read_history

MAX_FEATURES = 10_000  # of a damaged model, to predict rows with it
PLAIN = (int(Missing.NONE), int(Missing.NAN), int(Missing.NAN_AS_ZERO))  # what XGBoost has
PINS = {"https://example.org/a": "a" * 64, "openml:7": "b" * 64}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
ODD = [
    "",
    "{",
    "}",
    "[",
    "]",
    ",",
    '"',
    "null",
    "-1",
    "1e999",
    "NaN",
    "2147483648",
    "\n",
    "[" * 3000,
]


@st.composite
def text_with_changes(draw, texts):
    """Draw one of some texts with pieces removed and others inserted, as bytes."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        piece = draw(st.sampled_from(ODD) | st.text(max_size=8))
        text = text[:start] + piece + text[start + draw(st.integers(0, 30)) :]
    return text.encode(errors="surrogatepass")


@st.composite
def json_with_changes(draw, texts):
    """Draw one of some JSON texts with a value replaced or removed, as bytes."""
    whole = [json.loads(draw(st.sampled_from(texts)))]
    for _ in range(draw(st.integers(1, 3))):
        inside, key = whole, 0
        while isinstance(inside[key], (dict, list)) and inside[key] and draw(st.integers(0, 4)):
            inside = inside[key]
            keys = sorted(inside) if isinstance(inside, dict) else range(len(inside))
            key = draw(st.sampled_from(keys))
        if draw(st.booleans()) or inside is whole:
            inside[key] = copy.deepcopy(draw(values))
        else:
            del inside[key]
        if not whole[0]:
            break
    return json.dumps(whole[0]).encode()


NEAR = [0, 1, 7, 8, 15, 16, 31, 32, 53, 63, 64]  # powers of two that integers are drawn around
whole_numbers = st.builds(
    lambda sign, power, by: sign * (1 << power) + by,
    st.sampled_from([1, -1]),
    st.sampled_from(NEAR),
    st.integers(-2, 2),
)


@st.composite
def with_large_integers(draw, texts):
    """Draw one of some texts with one to three of its integers replaced, as bytes.

    The new ones are near powers of two, 2³¹ and 2⁶³ among them, where arithmetic wraps.
    """
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 3))):
        places = [result.span() for result in re.finditer(r"(?<![\w.+-])-?\d+(?![\w.])", text)]
        start, end = draw(st.sampled_from(places))
        text = text[:start] + str(draw(whole_numbers)) + text[end:]
    return text.encode()


def damaged(texts):
    """Return a strategy of JSON texts with either damage, or other bytes."""
    return text_with_changes(texts) | json_with_changes(texts) | st.binary(max_size=60)


# ------------------------------------------------------------------ models


def _models(write, **form):
    results = (random_ensemble(np.random.default_rng(seed), **form) for seed in range(3))
    return [write(trees) for trees in results]


OWN = _models(json_format.write)
XGBOOST = _models(
    xgboost_writer.write,
    tree={"kinds": PLAIN},
    comparison="<",
    input_dtype="float32",
    sum_dtype="float32",
)
LIGHTGBM = _models(lightgbm_writer.write, tree={"sets": False})

CATBOOST = [
    catboost_writer.write(random_symmetric_ensemble(np.random.default_rng(seed), **form))
    for seed, form in enumerate(
        ({}, {"link": "sigmoid"}, {"n_scores": 3, "link": "softmax"}), start=5
    )
]


ESTIMATORS = (
    HistogramBoostingClassifier,
    HistogramBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    SymmetricBoostingClassifier,
    SymmetricBoostingRegressor,
)


def model_file(content, folder):
    """Check that a model that can be read can predict, as trees and as an estimator."""
    path = folder / "model.json"
    path.write_bytes(content)
    with contextlib.suppress(ModelFileError), np.errstate(all="ignore"):
        trees = read_model(path)
        if trees.n_features <= MAX_FEATURES:
            X = np.zeros((2, trees.n_features))
            scores = trees.raw(X)
            assert scores.shape[0] == 2
            assert np.array_equal(serve(trees).raw(X), scores, equal_nan=True)
    for kind in ESTIMATORS:
        with contextlib.suppress(ModelFileError), np.errstate(all="ignore"):
            model = kind().load_model(path)
            if model.n_features_in_ <= MAX_FEATURES and not hasattr(model, "feature_names_in_"):
                assert len(model.predict(np.zeros((2, model.n_features_in_)))) == 2


# ------------------------------------------------------------------ OpenML and pins


@st.composite
def openml_responses(draw):
    """Draw OpenML's responses about one dataset, one of them damaged: address → bytes."""
    result = draw(
        st.sampled_from([responses_of(DENSE), responses_of(SPARSE, format_="Sparse_ARFF")])
    )
    url = draw(st.sampled_from(sorted(result)))
    kind = text_with_changes if url.endswith(".arff") else damaged
    return result | {url: draw(kind([result[url].decode()]))}


def openml_answers(drawn, folder):
    """Check that OpenML's responses give a table or an error."""
    del folder
    shutil.rmtree(cache_folder(), ignore_errors=True)
    for url, content in drawn.items():
        path = cache_folder() / "openml/7/openml/openml.org" / (url.split("/", 3)[3] + ".gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content))
    with contextlib.suppress(HarnessError):
        table = table_of(dataset_of(version=0))
        assert table.X.shape[0] == len(table.y)


def pins(content, folder):
    """Check that a file of pins is read and extended, or refused and left unchanged."""
    del folder
    path = cache_folder() / "pins.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    try:
        result = pin_of("openml:7")
        pin("openml:8", "c" * 64, "mine")
    except HarnessError:
        assert path.read_bytes() == content
    else:
        assert (pin_of("openml:7"), pin_of("openml:8")) == (result, "c" * 64)


# ------------------------------------------------------------------ asv

BENCHMARKS = {
    "version": 2,
    "time_fit": {
        "name": "time_fit",
        "param_names": ["algorithm"],
        "unit": "seconds",
        "version": "1",
    },
}
MACHINE = {"machine": "m", "os": "", "arch": "", "cpu": "", "num_cpu": "2", "ram": "", "version": 1}


def _result(commit, date, seconds):
    return {
        "commit_hash": commit * 40,
        "env_name": "e",
        "date": date,
        "params": {"machine": "m", "python": "3"},
        "python": "3",
        "requirements": {},
        "env_vars": {},
        "result_columns": ["result", "params", "version", "started_at", "duration"],
        "results": {"time_fit": [[seconds, seconds], [["'a'", "'b'"]], "1", date, 0.1]},
        "durations": {},
        "version": 2,
    }


ASV = {
    "benchmarks.json": BENCHMARKS,
    "m/machine.json": MACHINE,
    **{f"m/{c}-e.json": _result(c, 1000 * n, 1.0 + n) for n, c in enumerate("abcdef")},
}


@st.composite
def asv_folders(draw):
    """Draw asv's result files, up to two of them damaged: path → bytes."""
    files = {name: json.dumps(value) for name, value in ASV.items()}
    hurt = draw(st.sets(st.sampled_from(sorted(files)), min_size=1, max_size=2))
    whole = {name: text.encode() for name, text in files.items()}
    return whole | {name: draw(damaged([files[name]])) for name in sorted(hurt)}


def asv_results(drawn, folder):
    """Check that asv's results give a history, also as data, or one error."""
    for name, content in drawn.items():
        (folder / "asv" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "asv" / name).write_bytes(content)
    with contextlib.suppress(HarnessError):
        json.dumps(read_history(folder / "none", None, asv=folder / "asv").to_json()).encode()


KINDS = {
    "models of ours": (model_file, damaged(OWN) | with_large_integers(OWN)),
    "models of XGBoost": (model_file, damaged(XGBOOST) | with_large_integers(XGBOOST)),
    "models of CatBoost": (model_file, damaged(CATBOOST) | with_large_integers(CATBOOST)),
    "models of LightGBM": (model_file, text_with_changes(LIGHTGBM) | with_large_integers(LIGHTGBM)),
    "answers of OpenML": (openml_answers, openml_responses()),
    "pins": (pins, damaged([json.dumps(PINS)])),
    "results of asv": (asv_results, asv_folders()),
}
