"""Contributions of the features to each prediction (SHAP values)."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

import algorithms.compat.lightgbm as lgb

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = lgb.LGBMRegressor(n_estimators=30, num_leaves=7, verbosity=-1, random_state=0)
model.fit(X, y)

contributions = model.predict(X, pred_contrib=True)
by_feature, expected = contributions[:, :-1], contributions[0, -1]
np.testing.assert_allclose(contributions.sum(axis=1), model.predict(X))

ranking = pd.Series(np.abs(by_feature).mean(axis=0), index=X.columns).sort_values(ascending=False)
print(f"mean prediction {expected:.1f}; mean size of the contributions:")
print(ranking.head(3).round(1).to_string())

row = int(y.argmax())
largest = X.columns[by_feature[row].argmax()]
print(f"row {row}: {model.predict(X.iloc[[row]])[0]:.0f}, raised most by {largest!r}")
