"""Rows held out by ``eval_fraction``, and files of models with ``ignored_features``."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from algorithms import SymmetricBoostingRegressor

X = np.random.default_rng(0).normal(size=(200, 3))
Y = X[:, 0] + X[:, 1] ** 2
GIVEN = {"iterations": 10, "thread_count": 1, "random_seed": 0}


def test_weights_of_held_out_rows_count_in_the_metric():
    wrong = np.arange(200) % 2 == 0
    model = SymmetricBoostingRegressor(eval_fraction=0.4, **GIVEN)
    model.fit(X, np.where(wrong, 1000.0, Y), sample_weight=np.where(wrong, 0.0, 1.0))
    assert max(model.evals_result_["validation"]["RMSE"]) < 5.0


def test_lengths_are_checked():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SymmetricBoostingRegressor(eval_fraction=0.2, **GIVEN).fit(X, np.r_[Y, Y])


def test_rows_of_any_sparse_format_are_held_out():
    found = [
        SymmetricBoostingRegressor(eval_fraction=0.2, **GIVEN).fit(form(X), Y).predict(X)
        for form in (sparse.coo_matrix, sparse.csr_array)
    ]
    np.testing.assert_array_equal(*found)


def test_files_keep_the_ignored_columns(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(d="some text")
    model = SymmetricBoostingRegressor(ignored_features=["d"], **GIVEN).fit(frame, Y)
    model.save_model(tmp_path / "model.json", format="harness")
    loaded = SymmetricBoostingRegressor().load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
