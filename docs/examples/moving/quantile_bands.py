"""Prediction bands from quantile regression."""

import numpy as np
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import train_test_split

import algorithms.compat.lightgbm as lgb

rng = np.random.default_rng(0)
x = rng.uniform(0, 6, 800)
y = np.sin(x) + (0.1 + 0.15 * x) * rng.normal(size=800)
X_train, X_test, y_train, y_test = train_test_split(x[:, None], y, random_state=0)

bands = {}
for share in (0.1, 0.5, 0.9):
    model = lgb.LGBMRegressor(
        objective="quantile",
        alpha=share,
        n_estimators=40,
        num_leaves=7,
        min_child_samples=20,
        verbosity=-1,
    )
    bands[share] = model.fit(X_train, y_train).predict(X_test)
    loss = mean_pinball_loss(y_test, bands[share], alpha=share)
    print(f"quantile {share}: pinball loss {loss:.3f}")

inside = (y_test >= bands[0.1]) & (y_test <= bands[0.9])
coverage = inside.mean()
width = bands[0.9] - bands[0.1]
left, right = X_test[:, 0] < 2, X_test[:, 0] > 4
print(f"{coverage:.0%} of the test rows lie in the band of 80 %")
print(f"mean width {width[left].mean():.2f} for x < 2, {width[right].mean():.2f} for x > 4")
