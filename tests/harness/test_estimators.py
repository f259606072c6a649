"""Tests of algorithms named by the import path of a scikit-learn estimator."""

import sys
import textwrap

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor

import harness
from harness.config.experiment import parse_experiment
from harness.core.errors import ConfigError
from harness.core.libraries import Surroundings
from harness.core.model import CLASSIFICATION, Dataset, Spec, Task
from harness.planning.plan import make_plan
from harness.plugins.estimators import build_estimator, declare_estimator, is_estimator_path
from harness.plugins.registry import ESTIMATORS, Registry, load_registry

TREES = "sklearn.ensemble.ExtraTreesClassifier"
NEIGHBORS = "sklearn.neighbors.KNeighborsClassifier"
STUMP = DecisionTreeRegressor(max_depth=1)
ARROW = "; did you mean "


def dataset(name, task=Task.BINARY):
    return Dataset(name, task, lambda: None, f"digest-{name}", rows=100, columns=3)


CLASSES = dataset("d")


def plan(*algorithms, datasets=(CLASSES,), **keys):
    names = [one.name for one in datasets]
    data = {"name": "x", "algorithms": list(algorithms), "datasets": names, **keys}
    return make_plan(parse_experiment(data, "here"), Registry(), Surroundings(), datasets)


def fault(name):
    with pytest.raises(ConfigError) as caught:
        Registry().matching("algorithm", [name])
    return str(caught.value)


def test_tags_declare_tasks_and_accepted_data():
    trees, neighbors = declare_estimator(TREES), declare_estimator(NEIGHBORS)
    assert trees.tasks == neighbors.tasks == CLASSIFICATION
    assert (trees.accepts.missing, trees.accepts.sparse, trees.accepts.weights) == (True,) * 3
    assert (neighbors.accepts.missing, neighbors.accepts.weights) == (False, False)
    assert not trees.accepts.categorical
    assert (trees.libraries, trees.origin) == (("scikit-learn",), "reference")
    assert trees.estimators == (TREES, "")
    ridge = declare_estimator("sklearn.linear_model.Ridge")
    assert (ridge.tasks, ridge.estimators[0]) == (frozenset({Task.REGRESSION}), "")
    two = declare_estimator("sklearn.gaussian_process.GaussianProcessClassifier")
    assert Task.BINARY in two.tasks


def test_common_parameters_have_scikit_learn_names():
    capacity = declare_estimator(TREES).capacity
    assert {key: one.name for key, one in capacity.items()} == {
        "trees": "n_estimators",
        "depth": "max_depth",
        "leaves": "max_leaf_nodes",
        "min_samples": "min_samples_leaf",
    }
    assert (capacity["depth"].convert(0), capacity["depth"].convert(4)) == (None, 4)
    # Its learning rate is the name of a schedule, not a number.
    assert "rate" not in declare_estimator("sklearn.neural_network.MLPClassifier").capacity


def test_adapter_uses_seed_threads_and_params():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    spec = Spec(Task.BINARY, {"n_estimators": 5}, seed=3, threads=2, n_classes=3)
    adapter = declare_estimator(TREES).adapter(spec)
    adapter.fit(adapter.prepare(X, y, np.ones(60)))
    assert adapter.model.get_params()["random_state"] == 3
    assert (adapter.model.n_jobs, len(adapter.model.estimators_)) == (2, 5)
    shares = adapter.predict(X)
    assert shares.shape == (60, 3)
    assert not shares[:, 2].any()  # a class without training rows


class Bag(BaggingRegressor):
    """Bagging with a member of its own, whose params can be set."""

    def __init__(self, estimator=STUMP, random_state=None):
        super().__init__(estimator=estimator, random_state=random_state)


def test_params_of_a_member_are_set_on_it():
    model = build_estimator(Bag, Spec(Task.REGRESSION, {"estimator__max_depth": 2}, seed=4))
    assert (model.estimator.max_depth, model.random_state) == (2, 4)


def test_output_of_one_column_is_one_value_per_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    spec = Spec(Task.REGRESSION)
    adapter = declare_estimator("sklearn.cross_decomposition.PLSRegression").adapter(spec)
    adapter.fit(adapter.prepare(X, X[:, 0], None))
    assert adapter.predict(X).shape == (30,)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sklearn.ensemble.ExtraTreesClassifer", f"unknown estimator .*{ARROW}'{TREES}'"),
        ("sklearn.ensemble.extratreesclassifier", f"unknown estimator .*{ARROW}'{TREES}'"),
        ("sklearn.ensembl.ExtraTreesClassifier", f"no module 'sklearn.ensembl'{ARROW}'{TREES}'"),
        ("sklearn.ExtraTreesClassifier", f"unknown estimator .*{ARROW}'{TREES}'"),
        ("sklearn.ensembl.Forest", f"no module 'sklearn.ensembl'{ARROW}'sklearn.ensemble'"),
        ("skleern.ensemble.Forest", f"no module 'skleern'{ARROW}'sklearn'"),
        ("zzzqqq.Forest", "no module 'zzzqqq'; install its package, or correct the name"),
        ("sklearn.cluster.KMeans", r"neither a classifier nor a regressor \(it is a clusterer\)"),
        ("sklearn.preprocessing.StandardScaler", "it has no method predict"),
        ("sklearn.linear_model.MultiTaskLasso", "needs several targets"),
        ("sklearn.model_selection.KFold", "it has no methods fit, predict"),
        ("random_forst", "unknown algorithm 'random_forst'"),
    ],
)
def test_errors_name_what_the_user_wrote(name, message):
    text = fault(name)
    assert name in text
    with pytest.raises(ConfigError, match=message):
        raise ConfigError(text)


def test_misspelled_registered_names_are_not_import_paths():
    assert not is_estimator_path("myforest.Fast", ["myforest.Fastest"])
    assert is_estimator_path("skleern.ensemble.Forest", ["random_forest"])
    assert not is_estimator_path("sklearn.random_forst")
    assert not is_estimator_path("sklearn.ensemble.*")


def test_module_that_fails_to_import_is_named(tmp_path, monkeypatch):
    (tmp_path / "breaks_on_import.py").write_text("import a_module_that_is_absent\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = fault("breaks_on_import.Forest")
    assert text.startswith("breaks_on_import.Forest cannot be imported")
    assert "a_module_that_is_absent" in text
    sys.modules.pop("breaks_on_import", None)


def test_wrong_params_are_refused_when_planning():
    wrong = [
        {"name": NEIGHBORS, "params": {"n_neigbors": 5}},
        {"name": "sklearn.ensemble.VotingClassifier"},
    ]
    for choice, message in zip(
        wrong, ["did you mean 'n_neighbors'", "needs the parameter 'estimators'"], strict=True
    ):
        with pytest.raises(ConfigError, match=message):
            plan(choice)
    (job,) = plan({"name": NEIGHBORS, "params": {"n_neighbors": 5}}).jobs
    assert (job.algorithm, job.plugin) == (NEIGHBORS, ESTIMATORS)
    assert job.trials[0].params == {"n_neighbors": 5}


def test_estimator_runs_on_its_own_tasks_only():
    numbers = dataset("numbers", Task.REGRESSION)
    made = plan(TREES, datasets=(dataset("d"), numbers))
    assert {job.dataset.name for job in made.jobs} == {"d"}
    with pytest.raises(ConfigError, match=r"is a classifier, .* numbers .*Regressor'"):
        plan(TREES, datasets=(numbers,))
    with pytest.raises(ConfigError, match=r"is a regressor.*did you mean 'sklearn.svm.SVC'"):
        plan("sklearn.svm.SVR")


def test_version_of_the_library_and_own_code_identify_a_result(tmp_path, monkeypatch):
    registry = load_registry(modules=[ESTIMATORS])
    assert registry.names("algorithm") == []
    assert registry.entry("algorithm", TREES).path.endswith("estimators.py")
    code = """
        from sklearn.dummy import DummyRegressor

        class OwnMean(DummyRegressor):
            pass
    """
    (tmp_path / "own_means.py").write_text(textwrap.dedent(code))
    monkeypatch.syspath_prepend(tmp_path)
    entry = registry.entry("algorithm", "own_means.OwnMean")
    assert (entry.path, entry.value.origin) == (str(tmp_path / "own_means.py"), "scratch")
    assert entry.value.libraries == ()


def test_run_with_two_estimators_and_a_command(tmp_path):
    experiment = {
        "algorithms": [TREES, {"name": NEIGHBORS, "params": {"n_neighbors": 3}}],
        "datasets": ["iris"],
        "capacity": {"trees": 5},
        "splits": {"folds": 2},
    }
    result = harness.run(experiment, results=tmp_path)
    frame = result.to_frame()
    assert set(frame["algorithm"]) == {TREES, NEIGHBORS}
    assert frame["status"].tolist() == ["done"] * 4
    params = {cell.algorithm: dict(cell.params) for cell in result.view.cells}
    assert params == {TREES: {"n_estimators": 5}, NEIGHBORS: {"n_neighbors": 3}}
    again = harness.run(experiment, algorithms=[NEIGHBORS], results=tmp_path)
    assert again.to_frame()["algorithm"].tolist() == [NEIGHBORS] * 2
