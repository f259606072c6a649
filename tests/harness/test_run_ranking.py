"""A run on a file with queries, with real workers: whole queries, NDCG, and the report."""

import numpy as np

import harness
from harness.core.model import Status, Task

RANKERS = ["lightgbm.lambdarank", "xgboost.ranking"]  # they compile nothing


def write_letor(path, n_queries=30):
    """Write svmlight rows with qid; the first column determines most of the grade."""
    rng = np.random.default_rng(0)
    lines = []
    for query in range(n_queries):
        for _ in range(rng.integers(8, 20)):
            x = rng.normal(size=3)
            grade = int(np.clip(np.round(x[0] + 0.3 * rng.normal() + 1.0), 0, 4))
            values = " ".join(f"{j + 1}:{value:.3f}" for j, value in enumerate(x))
            lines.append(f"{grade} qid:{query + 1} {values}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_run_of_a_letor_file_compares_rankers(tmp_path):
    experiment = {
        "name": "ranking",
        "algorithms": [*RANKERS, "xgboost.hist"],
        "datasets": ["iris"],
        "capacity": {"trees": 10},
        "splits": {"folds": 2},
        "duels": {"pairs": []},
        "verdicts": {"pairs": [RANKERS]},
    }
    path = write_letor(tmp_path / "letor.svm")
    run = harness.run(experiment, data=path, results=tmp_path / "results")
    frame = run.to_frame()
    assert set(frame["algorithm"]) == set(RANKERS)  # the others are not for rankings
    assert run.tally.ends["trial"] == {Status.DONE: 2 * len(RANKERS)}
    for cell in run.view.cells:
        assert cell.task == Task.RANKING
        assert np.mean(cell.scores["ndcg_at_10"]) > np.mean(cell.constant) + 0.1
        assert np.mean(cell.scores["mean_average_precision"]) > 0.8
        for outcome in cell.outcomes:
            arrays = run.view.predictions(outcome)
            for query in np.unique(arrays["group"]):
                rows = arrays["rows"][arrays["group"] == query]
                assert (np.diff(rows) == 1).all()
    judged = {(one.algorithm, one.metric) for one in run.verdicts if one.dataset}
    assert judged == {("lightgbm.lambdarank", "ndcg_at_10")}
    (answer,) = run.answers
    assert not answer.lower_is_better
    assert "ndcg_at_10" in run.report().read_text()
