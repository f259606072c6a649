"""Categorical columns of a pandas frame, without an encoding of one's own."""

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

import algorithms.compat.lightgbm as lgb

rng = np.random.default_rng(0)
cities = [f"city_{number}" for number in range(12)]
flats = pd.DataFrame(
    {
        "city": rng.choice(cities, 900),
        "heating": rng.choice(["gas", "oil", "district"], 900),
        "area": rng.uniform(20, 150, 900),
    }
)
level = dict(zip(cities, rng.uniform(8, 20, 12), strict=True))
rent = flats.area * flats.city.map(level) * (1 - 0.1 * (flats.heating == "oil"))
flats = flats.astype({"city": "category", "heating": "category"})
flats.loc[rng.random(900) < 0.05, "heating"] = np.nan
X_train, X_test, y_train, y_test = train_test_split(flats, rent, random_state=0)

model = lgb.LGBMRegressor(
    n_estimators=60, num_leaves=15, min_data_per_group=10, cat_smooth=1, verbosity=-1
)
model.fit(X_train, y_train, categorical_feature="auto")
quality = r2_score(y_test, model.predict(X_test))
print(f"R² {quality:.3f}")
print(dict(zip(model.feature_name_, model.feature_importances_.tolist(), strict=True)))

unknown = X_test.head(3).assign(city=pd.Categorical(["city_1", "elsewhere", None]))
prediction = model.predict(unknown)
print("a known, an unknown and a missing city:", prediction.round())
