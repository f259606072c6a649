"""Credit scoring with monotone constraints: a larger debt never lowers the risk."""

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import algorithms.compat.lightgbm as lgb

rng = np.random.default_rng(0)
applicants = pd.DataFrame(
    {
        "income": rng.lognormal(10, 0.5, 1000),
        "debt_ratio": rng.beta(2, 5, 1000),
        "late_payments": rng.poisson(0.7, 1000),
        "age": rng.integers(18, 80, 1000),
    }
)
logit = 5 * applicants.debt_ratio + applicants.late_payments - applicants.income / 20000 - 2
default = (rng.random(1000) < 1 / (1 + np.exp(-logit))).astype(int)
X_train, X_test, y_train, y_test = train_test_split(applicants, default, random_state=0)

model = lgb.LGBMClassifier(
    n_estimators=40,
    num_leaves=7,
    monotone_constraints=[-1, 1, 1, 0],
    class_weight="balanced",
    verbosity=-1,
)
model.fit(X_train, y_train)
auc = roc_auc_score(y_test, model.predict_proba(X_test)[:, 1])
print(f"AUC {auc:.3f}")

applicant = X_test.iloc[[0] * 50].assign(debt_ratio=np.linspace(0, 1, 50))
risk = model.predict_proba(applicant)[:, 1]
print(f"risk of one applicant from {risk[0]:.2f} without debts to {risk[-1]:.2f}")
assert (np.diff(risk) >= 0).all()
