import math
import re
from typing import get_args

import pytest

from harness.config.diagnostics import Name
from harness.config.experiment import Choice, load_experiment, parse_experiment
from harness.config.files import experiments_of, shipped_experiments
from harness.core.errors import ConfigError
from harness.data.splits import HOLDOUT_ROWS, TEST_SHARE
from harness.plugins.registry import load_registry


def write(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


def test_every_shipped_experiment_is_valid():
    names = shipped_experiments()
    assert "quick" in names
    for name in names:
        assert load_experiment(name).name == name.rpartition("/")[2]


def test_first_reports_name_common_settings_and_one_experiment_runs_everything():
    quick, standard, diagnose = map(load_experiment, ("quick", "standard", "diagnose"))
    for experiment in (quick, standard):
        assert set(experiment.parity.datasets) <= set(experiment.datasets)
        assert experiment.parity.datasets
    assert standard.duels.noise
    assert set(standard.diagnostics.names) == {"staged", "determinism", "importance"}
    assert diagnose.diagnostics.names == list(get_args(Name))
    assert diagnose.splits.training_sets


def test_series_is_a_folder_of_experiments_shipped_or_user_made(tmp_path):
    assert experiments_of("quick") == ["quick"]
    shipped = experiments_of("speed")
    assert len(shipped) >= 10
    assert all(name in shipped_experiments() for name in shipped)
    with pytest.raises(ConfigError, match="holds no experiment"):
        experiments_of(str(tmp_path))
    for name in ("b", "a"):
        (tmp_path / f"{name}.toml").write_text('datasets = ["iris"]')
    assert experiments_of(str(tmp_path)) == [str(tmp_path / "a.toml"), str(tmp_path / "b.toml")]
    assert experiments_of("no such thing") == ["no such thing"]


def test_newton_boosting_is_compared_by_each_method_with_the_same_of_the_library():
    planned = set()
    for name in experiments_of("newton_speed"):
        result = load_experiment(name)
        ours, theirs = (Choice(name=c) if isinstance(c, str) else c for c in result.algorithms)
        method = ours.params["tree_method"]
        assert result.duels.pairs == result.verdicts.pairs == [("newton_boosting", theirs.name)]
        assert theirs.name == f"xgboost.{method}"
        assert theirs.params == {k: v for k, v in ours.params.items() if k != "tree_method"}
        assert result.duels.datasets == result.datasets
        assert result.duels.threads == result.run.threads == 2
        size = (result.capacity.get("leaves"), result.capacity.get("depth"))
        planned.add((method, *result.datasets, *size))
    higgs = [f"higgs_like:rows={rows}" for rows in (133_334, 1_333_334)]
    both = {(method, data) for method in ("exact", "approx", "hist") for data in higgs}
    deep = {"exact": (None, 8), "approx": (255, None), "hist": (255, None)}
    expected = {(*pair, *size) for pair in both for size in ((None, 6), deep[pair[0]])}
    assert planned == expected | {("hist", "onehot_sparse:rows=666667", None, 6)}


RIVALS = {  # of the histogram booster in every race
    "lightgbm.row_wise",
    "lightgbm.column_wise",
    "lightgbm.quantised",
    "xgboost.hist",
    "catboost.plain",
    "sklearn.hist_gradient_boosting",
}
TRAINED = {
    "categories": 500_000,
    "constant_hessian": 1_000_000,
    "heavy_tail": 10_000_000,
    "higgs_10m": 10_000_000,
    "higgs_255": 1_000_000,
    "higgs_31": 1_000_000,
    "multiclass": 300_000,
    "onehot": 500_000,
    "rare_positives": 1_000_000,
    "small": 1_000,
    "wide": 50_000,
}


@pytest.mark.parametrize("name", experiments_of("speed"))
def test_every_speed_experiment_compares_every_rival_on_the_stated_rows(name):
    experiment = load_experiment(name)
    [(data, on)] = zip(experiment.datasets, experiment.duels.datasets, strict=True)
    assert data == on
    pairs = experiment.duels.pairs
    assert pairs == experiment.verdicts.pairs
    assert {rival for _, rival in pairs} == RIVALS
    assert {ours for ours, _ in pairs} == {"histogram_boosting"}
    requested = {"trees", "leaves", "rate", "bins", "l2", "min_samples", "min_hessian"}
    assert set(experiment.capacity) == requested
    rows = int(re.search(r"rows=(\d+)", data)[1])
    trained = trained_rows(rows, experiment.splits.folds)
    assert trained == TRAINED[experiment.name]
    assert f"{trained:,}".replace(",", " ") in experiment.summary


def trained_rows(rows, folds):
    """Return the number of training rows of a table with the default splits."""
    if rows >= HOLDOUT_ROWS:
        return rows - math.ceil(rows * TEST_SHARE)
    return rows - rows // folds


def test_accuracy_is_measured_on_every_shipped_dataset():
    experiment = load_experiment("accuracy")
    registry = load_registry(strangers=False)
    suites = {"bundled", "generated"}
    ours = {d.name for d in registry.all("dataset") if suites.intersection(d.suites)}
    assert {name.partition(":")[0] for name in experiment.datasets} == ours
    [*pairs, newton] = experiment.verdicts.pairs
    layouts = {"lightgbm.row_wise", "lightgbm.column_wise"}  # they grow the same trees
    assert {rival for _, rival in pairs} == RIVALS - layouts | {"lightgbm.gbdt"}
    assert newton == ("newton_boosting", "xgboost.hist")
    assert experiment.duels.pairs == []
    assert experiment.parity.datasets == []
    assert experiment.capacity["min_hessian"] == 1.0


def test_all_four_mistakes_are_reported_at_once_with_suggestions(tmp_path):
    path = write(
        tmp_path,
        'datasets = ["iris"]\nalgoritms = ["x"]\n'
        '[run]\nthredas = 2\ntimeout = "soon"\n[splits]\nfolds = 1\n',
    )
    with pytest.raises(ConfigError) as error:
        load_experiment(path)
    text = str(error.value)
    assert "4 mistakes" in text
    assert "algoritms: unknown key 'algoritms': did you mean 'algorithms'?" in text
    assert "run.thredas: unknown key 'thredas': did you mean 'threads'?" in text
    assert "run.timeout: 'soon' is not a duration" in text
    assert "splits.folds: " in text


def test_unknown_key_without_a_similar_one_lists_the_known_keys(tmp_path):
    path = write(tmp_path, 'datasets = ["iris"]\n[run]\nzzz = 1\n')
    known = "known here: budget, jobs, memory, seeds, threads, timeout"
    with pytest.raises(ConfigError, match=known):
        load_experiment(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("datasets = [", "is not TOML"), ("\xff", "is not TOML"), ("", "datasets: Field required")],
)
def test_unusable_file_gives_the_reason(tmp_path, text, message):
    path = tmp_path / "x.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=message):
        load_experiment(str(path))


@pytest.mark.parametrize("half", ["training_sets = 3", "training_rows = [10]"])
def test_training_sets_need_a_number_and_a_size(tmp_path, half):
    path = write(tmp_path, f'datasets = ["iris"]\n[splits]\n{half}\n')
    with pytest.raises(ConfigError, match="splits: training_sets and training_rows are given tog"):
        load_experiment(path)


def test_unknown_names():
    with pytest.raises(ConfigError, match="did you mean 'quick'"):
        load_experiment("quik")
    with pytest.raises(ConfigError, match=r"no experiment file nowhere/x\.toml"):
        load_experiment("nowhere/x.toml")


def test_overrides_are_toml_values_or_text():
    sets = ["run.threads=2", "run.timeout=90s", "capacity.trees=7"]
    experiment = load_experiment("quick", overrides=sets)
    assert experiment.run.threads == 2
    assert experiment.run.timeout == 90
    assert experiment.capacity["trees"] == 7


@pytest.mark.parametrize("text", ["run.threads", "=3", "name.x=1"])
def test_invalid_override(text):
    with pytest.raises(ConfigError):
        load_experiment("quick", overrides=[text])


def test_choice_has_params_and_a_grid():
    experiment = parse_experiment(
        {
            "name": "x",
            "datasets": ["iris"],
            "algorithms": ["a", {"name": "b", "params": {"p": 1}, "grid": {"q": [1, 2]}}],
        },
        "here",
    )
    assert experiment.algorithms[1].grid == {"q": [1, 2]}
    with pytest.raises(ConfigError, match="pramas"):
        parse_experiment(
            {"name": "x", "datasets": ["iris"], "algorithms": [{"name": "b", "pramas": {}}]}, "here"
        )
