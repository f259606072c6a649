"""Tests of virtual ensembles against CatBoost."""

import catboost
import numpy as np
import pytest

from algorithms import SymmetricBoostingClassifier, SymmetricBoostingRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4)).astype(np.float32)
Y = X[:, 0] + rng.normal(size=300)
FIXED = {"bootstrap_type": "No", "random_strength": 0, "random_seed": 0, "learning_rate": 0.3}


@pytest.mark.parametrize("kind", ["VirtEnsembles", "TotalUncertainty"])
@pytest.mark.parametrize(("iterations", "count"), [(20, 10), (25, 5), (7, 3)])
@pytest.mark.parametrize("loss", ["RMSE", "RMSEWithUncertainty", "Logloss", "MultiClass"])
def test_values_are_catboosts(loss, iterations, count, kind):
    is_classifier = loss in ("Logloss", "MultiClass")
    y = np.digitize(Y, [0.0] if loss == "Logloss" else [-0.5, 0.5]) if is_classifier else Y
    their_class = catboost.CatBoostClassifier if is_classifier else catboost.CatBoostRegressor
    our_class = SymmetricBoostingClassifier if is_classifier else SymmetricBoostingRegressor
    params = FIXED | {"loss_function": loss, "iterations": iterations, "depth": 3}
    theirs = their_class(verbose=0, allow_writing_files=False, **params).fit(X, y)
    ours = our_class(**params).fit(X, y)
    options = {"prediction_type": kind, "virtual_ensembles_count": count}
    expected = theirs.virtual_ensembles_predict(X, **options)
    found = ours.virtual_ensembles_predict(X, **options)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_invalid_arguments_are_refused():
    model = SymmetricBoostingRegressor(iterations=6).fit(X, Y)
    with pytest.raises(ValueError, match="between 1 and 3"):
        model.virtual_ensembles_predict(X, virtual_ensembles_count=4)
    with pytest.raises(ValueError, match="prediction_type is"):
        model.virtual_ensembles_predict(X, prediction_type="Probability")


def test_losses_with_a_link_have_no_total_uncertainty():
    model = SymmetricBoostingRegressor(iterations=6, loss_function="Poisson").fit(X, np.exp(Y))
    with pytest.raises(ValueError, match="use prediction_type='VirtEnsembles'"):
        model.virtual_ensembles_predict(X, "TotalUncertainty", 2)
