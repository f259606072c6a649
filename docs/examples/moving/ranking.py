"""Ranking of documents by query with LambdaMART."""

import numpy as np
from sklearn.metrics import ndcg_score

import algorithms.compat.lightgbm as lgb

rng = np.random.default_rng(0)
n_queries, n_documents = 60, 12
X = rng.normal(size=(n_queries * n_documents, 6))
utility = X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=len(X))
relevance = np.digitize(utility, [0.5, 1.5, 2.5])
n_train = 40 * n_documents

ranker = lgb.LGBMRanker(
    n_estimators=40, num_leaves=7, min_child_samples=5, verbosity=-1, random_state=0
)
ranker.fit(
    X[:n_train],
    relevance[:n_train],
    group=[n_documents] * 40,
    eval_set=[(X[n_train:], relevance[n_train:])],
    eval_group=[[n_documents] * 20],
    eval_at=[3, 5],
    callbacks=[lgb.early_stopping(10, verbose=False)],
)
print(f"NDCG@5 {ranker.best_score_['valid_0']['ndcg@5']:.3f}")

of_query = X[n_train : n_train + n_documents]
order = np.argsort(-ranker.predict(of_query))
print("relevance in the predicted order:", relevance[n_train:][order])

scores = ranker.predict(X[n_train:]).reshape(20, n_documents)
quality = ndcg_score(relevance[n_train:].reshape(20, n_documents), scores, k=5)
chance = ndcg_score(relevance[n_train:].reshape(20, n_documents), rng.random(scores.shape), k=5)
print(f"mean NDCG@5 {quality:.3f}, of a random order {chance:.3f}")
