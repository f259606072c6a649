"""Tests of generated datasets: declared shape, reproducible, seed-dependent, learnable."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from harness.core.errors import DataError
from harness.data import resolve
from harness.data.loading import check
from harness.data.providers.generators import GENERATORS
from harness.data.tables import facts_of
from harness.plugins.registry import load_registry

NAMES = [generator.name for generator in GENERATORS]


@pytest.fixture(scope="module")
def registry():
    return load_registry(modules=["harness.data.providers.generators"])


def drawn(dataset):
    return check(dataset.load(**dataset.options), dataset)


def values_of(table):
    if not isinstance(table.X, pd.DataFrame):
        return table.X.toarray()
    return table.X.apply(lambda c: c.cat.codes if c.dtype == "category" else c).to_numpy(float)


@pytest.mark.parametrize("name", NAMES)
def test_small_dataset_matches_its_declaration(registry, name):
    table = drawn(dataset := resolve(f"{name}:rows=2000,seed=5", registry))
    facts = facts_of(table)
    assert facts == {fact: getattr(dataset, fact) for fact in facts}
    assert facts["rows"] == 2000


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_give_equal_data_and_others_do_not(registry, name):
    a, b, c = (drawn(resolve(f"{name}:rows=1500,seed={s}", registry)) for s in (1, 1, 2))
    np.testing.assert_array_equal(values_of(a), values_of(b))
    np.testing.assert_array_equal(a.y, b.y)
    assert not np.array_equal(values_of(a), values_of(c), equal_nan=True)


@pytest.mark.parametrize("name", ["friedman1", "waveform", "onehot_sparse", "heavy_tailed"])
def test_number_of_columns_can_be_chosen(registry, name):
    dataset = resolve(f"{name}:rows=500,columns=75", registry)
    assert dataset.columns == 75
    assert drawn(dataset).X.shape == (500, 75)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("friedman1:columns=4", "columns must be at least 5, not 4"),
        ("waveform:columns=20", "at least 21"),
        ("onehot_sparse:columns=59", "at least 60"),
        ("friedman2:noise_kind=pink", "noise_kind is normal or laplace, not 'pink'"),
        ("categorical_high:levels=3", "levels must be at least 10"),
        ("rare_positive:rows=100", "leaves one class only"),
        ("rare_positive:share=1.0", "leaves one class only"),
        ("multiclass_like:rows=20", "too few for seven classes"),
        ("waveform:rows=2", "fewer than 3 classes"),
    ],
)
def test_invalid_options(registry, name, message):
    with pytest.raises(DataError, match=message):
        drawn(resolve(name, registry))


@pytest.mark.parametrize("name", ["friedman1", "friedman2", "friedman3"])
def test_noise_of_either_kind_has_the_declared_size_and_changes_no_column(registry, name):
    size = resolve(name, registry).options["noise"]
    clean = drawn(resolve(f"{name}:rows=20000,seed=4,noise=0", registry))
    shapes = {}
    for kind in ("normal", "laplace"):
        table = drawn(resolve(f"{name}:rows=20000,seed=4,noise_kind={kind}", registry))
        assert table.X.equals(clean.X)
        noise = (table.y - clean.y) / size
        assert abs(noise.mean()) < 0.03
        assert noise.std() == pytest.approx(1.0, abs=0.03)
        shapes[kind] = np.mean(noise**4)
    assert shapes == {"normal": pytest.approx(3, abs=0.3), "laplace": pytest.approx(6, abs=1)}


def test_friedman1_equals_the_published_function(registry):
    table = drawn(resolve("friedman1:rows=1000,noise=0", registry))
    x = table.X.to_numpy().T
    y = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    np.testing.assert_allclose(table.y, y)


def test_hastie_equals_the_published_rule(registry):
    table = drawn(resolve("hastie_10_2:rows=1000", registry))
    np.testing.assert_array_equal(table.y, (table.X**2).sum(axis=1) > 9.34)


def test_waveform_means_equal_the_waves(registry):
    table = drawn(resolve("waveform:rows=60000", registry))
    place = np.arange(1, 22)
    h1, h2, h3 = (np.maximum(6 - np.abs(place - c), 0) for c in (7, 15, 11))
    for label, (a, b) in enumerate([(h1, h2), (h1, h3), (h2, h3)]):
        result = table.X[table.y == label].mean().to_numpy()
        np.testing.assert_allclose(result, (a + b) / 2, atol=0.06)


def test_one_hot_rows_have_one_level_of_each_field(registry):
    table = drawn(resolve("onehot_sparse:rows=300,columns=100", registry))
    np.testing.assert_array_equal(np.diff(table.X.indptr), 30)
    assert (table.X.data == 1).all()
    assert (table.X.toarray().max() == 1).all()


def test_missing_values_are_where_one_hot_rows_have_no_entry(registry):
    sparse, dense = (
        drawn(resolve(f"{name}:rows=300,columns=100,seed=2", registry))
        for name in ("onehot_sparse", "onehot_gaps")
    )
    np.testing.assert_array_equal(np.nan_to_num(dense.X.to_numpy()), sparse.X.toarray())
    assert dense.X.isna().to_numpy().sum() == 300 * 70
    np.testing.assert_array_equal(dense.y, sparse.y)


def test_rare_positives_have_exactly_the_requested_share(registry):
    table = drawn(resolve("rare_positive:rows=10000,share=0.0012", registry))
    assert table.y.sum() == 12


def test_heavy_tails_are_heavy(registry):
    y = drawn(resolve("heavy_tailed:rows=50000", registry)).y
    assert y.min() > 0
    assert y.max() > 1000 * np.median(y)


@pytest.mark.parametrize(
    "name", ["higgs_like", "rare_positive", "multiclass_like", "categorical_high"]
)
def test_generated_tasks_can_be_learned_but_not_perfectly(registry, name):
    table = drawn(resolve(f"{name}:rows=20000", registry))
    X, half = np.nan_to_num(values_of(table)), len(table.y) // 2
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X[:half], table.y[:half])
    shares = model.predict_proba(X[half:])
    shares = shares[:, 1] if shares.shape[1] == 2 else shares
    assert 0.53 < roc_auc_score(table.y[half:], shares, multi_class="ovr") < 0.95
