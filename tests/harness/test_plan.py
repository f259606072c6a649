from dataclasses import replace

import pytest

from harness.analysis.interim_analysis import INTERIM_LAUNCHES
from harness.config.experiment import parse_experiment
from harness.core.errors import ConfigError, PluginError
from harness.core.libraries import Surroundings
from harness.core.model import ALL_TASKS, Accepts, Algorithm, Argument, Dataset, Status, Task
from harness.planning.plan import make_plan, plan_duel
from harness.plugins.registry import HOOKS, Registry

EXPECTED = dict(HOOKS.values())


def refuse_to_load(**_):
    raise AssertionError("planning must load no data")


def dataset(name, task=Task.BINARY, **facts):
    return Dataset(
        name=name, task=task, load=refuse_to_load, digest=f"digest-{name}", rows=100, columns=3,
        **facts,
    )  # fmt: skip


def algorithm(name, **facts):
    declared = {"adapter": refuse_to_load, "tasks": ALL_TASKS, "params": {"n": 1}} | facts
    return Algorithm(name=name, **declared)


def registry_of(*things):
    registry = Registry()
    for thing in things:
        kind = "algorithm" if isinstance(thing, Algorithm) else "dataset"
        registry.add(kind, EXPECTED[kind], thing, "plugin", __file__)
    return registry


OURS = algorithm("ours", reference="theirs", capacity={"trees": Argument("n")})
THEIRS = algorithm("theirs", origin="reference", accepts=Accepts(missing=True, categorical=True))


HERE = Surroundings()


def plan(registry, surroundings=HERE, **keys):
    experiment = parse_experiment({"name": "x", "datasets": ["*"]} | keys, "here")
    return make_plan(experiment, registry, surroundings)


def test_jobs_are_one_algorithm_on_one_dataset_and_share_splits():
    made = plan(registry_of(OURS, THEIRS, dataset("d"), dataset("e")), splits={"folds": 3})
    assert [(j.algorithm, j.dataset.name) for j in made.jobs] == [
        ("ours", "d"), ("ours", "e"), ("theirs", "d"), ("theirs", "e"),
    ]  # fmt: skip
    assert all(len(job.trials) == 3 for job in made.jobs)
    first, second = made.jobs[0], made.jobs[2]
    assert [t.split for t in first.trials] == [t.split for t in second.trials]
    assert len({t.id for t in made.trials()}) == 12


def test_training_sets_replace_folds_and_each_has_its_cell():
    made = plan(
        registry_of(OURS, dataset("d")), splits={"training_sets": 3, "training_rows": [10, 20]}
    )
    trials = list(made.trials())
    assert [(t.split.train_rows, t.split.repeat) for t in trials] == [
        (n, r) for n in (10, 20) for r in range(3)
    ]
    assert len({t.cell for t in trials}) == 6


def test_worker_gets_the_plugin_of_a_dataset():
    registry = registry_of(OURS)
    for name, plugin in [
        ("a", "stranger.data"),
        ("b", "harness.data.providers.cards"),
        ("c", "/c.py"),
    ]:
        registry.add("dataset", Dataset, dataset(name, options={"n": 1}), plugin, __file__)
    experiment = parse_experiment({"name": "x", "datasets": ["a:n=2", "b", "c"]}, "here")
    made = make_plan(experiment, registry, Surroundings(), plugin_files=("/c.py",))
    assert {job.dataset.name: job.plugins for job in made.jobs} == {
        "a:n=2": ("/c.py", "stranger.data"), "b": ("/c.py",), "c": ("/c.py",),
    }  # fmt: skip


def test_planning_twice_gives_equal_ids():
    registry = registry_of(OURS, THEIRS, dataset("d"))
    assert plan(registry) == plan(registry)


def test_pair_has_equal_preparation_and_a_single_algorithm_the_most_native():
    d = dataset("d", categorical=1, missing=True)
    made = plan(registry_of(OURS, THEIRS, algorithm("loner", accepts=THEIRS.accepts), d))
    prepared = {job.algorithm: {t.preparation for t in job.trials} for job in made.jobs}
    assert prepared == {
        "ours": {"ordinal+impute"}, "theirs": {"ordinal+impute"}, "loner": {"native"},
    }  # fmt: skip


def test_sparse_data_unsupported_by_an_algorithm_is_a_skip_with_a_reason():
    made = plan(registry_of(OURS, dataset("d", sparse=True)))
    assert made.jobs == ()
    assert {o.status for o in made.skipped} == {Status.SKIPPED}
    assert "sparse" in made.skipped[0].reason


def test_algorithm_may_give_its_own_reason_to_skip():
    picky = algorithm("picky", skip=lambda d: "too wide" if d.columns > 2 else None)
    made = plan(registry_of(picky, dataset("d")))
    assert made.skipped[0].reason == "too wide"


def test_unsupported_task_is_left_out():
    only = algorithm("only", tasks=frozenset({Task.REGRESSION}))
    made = plan(registry_of(only, dataset("d"), dataset("r", Task.REGRESSION)))
    assert {job.dataset.name for job in made.jobs} == {"r"}


def test_capacity_known_to_other_algorithms_only_is_no_mistake():
    registry = registry_of(OURS, THEIRS, dataset("d"))
    assert plan(registry, algorithms=["theirs"], capacity={"trees": 7}).jobs


def test_capacity_is_translated_to_the_parameters_of_each_algorithm():
    made = plan(registry_of(OURS, THEIRS, dataset("d")), capacity={"trees": 7})
    params = {t.algorithm: t.params for t in made.trials()}
    assert params == {"ours": {"n": 7}, "theirs": {"n": 1}}
    with pytest.raises(ConfigError, match="did you mean 'trees'"):
        plan(registry_of(OURS, dataset("d")), capacity={"tree": 7})


def test_grid_makes_variants():
    choice = {"name": "ours", "params": {"q": 0}, "grid": {"n": [1, 2], "m": [3]}}
    made = plan(registry_of(OURS, dataset("d")), algorithms=[choice], splits={"folds": 2})
    params = {(t.params["n"], t.params["m"], t.params["q"]) for t in made.trials()}
    assert params == {(1, 3, 0), (2, 3, 0)}
    assert len(made.jobs) == 1


def test_suites_and_unknown_names():
    registry = registry_of(OURS, dataset("d", suites=("small",)), dataset("e"))
    made = plan(registry, datasets=["suite:small"])
    assert {job.dataset.name for job in made.jobs} == {"d"}
    with pytest.raises(ConfigError, match="did you mean 'small'"):
        plan(registry, datasets=["suite:smal"])
    with pytest.raises(ConfigError, match="unknown dataset 'zzz'"):
        plan(registry, datasets=["zzz"])
    with pytest.raises(ConfigError, match="did you mean 'ours'"):
        plan(registry, algorithms=["our"])


def test_all_misspelled_names_are_reported_at_once():
    registry = registry_of(OURS, dataset("d", suites=("small",)))
    with pytest.raises(ConfigError) as caught:
        plan(registry, datasets=["zzz", "d", "suite:smal"])
    lines = str(caught.value).splitlines()
    assert lines[0] == "2 mistakes"
    assert "unknown dataset 'zzz'" in lines[1]
    assert lines[2] == "  unknown suite 'smal': did you mean 'small'?"
    with pytest.raises(
        ConfigError, match=r"^2 mistakes\n  .*'our'.*did you mean 'ours'.*\n.*'x\*'"
    ):
        plan(registry, algorithms=["our", "ours", "x*"])
    with pytest.raises(ConfigError) as caught:
        plan(registry, algorithms=["our", "x*"], datasets=["zzz"], duels={"datasets": ["zzz", "q"]})
    lines = str(caught.value).splitlines()
    assert lines[0] == "4 mistakes"
    assert all(name in str(caught.value) for name in ("'our'", "'x*'", "'zzz'", "'q'"))


def one_trial(surroundings=HERE, **changes):
    registry = registry_of(OURS, replace(dataset("d"), **changes))
    return next(plan(registry, surroundings).trials())


def test_changes_of_trial_id_and_cell_id():
    base = one_trial()
    other_data = one_trial(digest="other")
    other_numpy = one_trial(Surroundings(version_of=lambda library: "9.9"))
    other_machine = one_trial(Surroundings(machine="another"))
    assert base.cell == other_data.cell == other_numpy.cell == other_machine.cell
    assert len({base.id, other_data.id, other_numpy.id}) == 3
    assert other_machine.id == base.id  # accuracy does not depend on the machine


def test_duels_cover_pairs_on_the_duel_datasets_and_depend_on_the_machine():
    registry = registry_of(OURS, THEIRS, dataset("d"), dataset("e"))
    made = plan(registry, duels={"datasets": ["d"], "blocks": 3, "threads": 2})
    (duel,) = made.duels
    assert (duel.a.algorithm, duel.b.algorithm, duel.blocks) == ("ours", "theirs", 3)
    assert duel.a.trials[0].timed
    assert duel.a.trials[0].threads == duel.a.threads == 2
    elsewhere = plan(registry, Surroundings(machine="m2"), duels={"datasets": ["d"], "blocks": 3})
    assert elsewhere.duels[0].id != duel.id


def test_duels_are_limited_to_chosen_algorithms_against_their_references():
    third = algorithm("third", reference="theirs")
    registry = registry_of(OURS, third, THEIRS, dataset("d"))
    keys = {"datasets": ["d"], "algorithms": ["th*"]}
    names = [(d.a.algorithm, d.b.algorithm) for d in plan(registry, duels=keys).duels]
    assert names == [("third", "theirs")]
    keys["pairs"] = [["ours", "theirs"]]
    assert plan(registry, duels=keys).duels[0].a.algorithm == "ours"
    some = plan(registry, duels={"datasets": ["d"], "algorithms": ["third"]}, algorithms=["ours"])
    assert some.duels == ()
    with pytest.raises(ConfigError, match="did you mean 'third'"):
        plan(registry, duels={"datasets": ["d"], "algorithms": ["thirt"]})


def test_duel_with_early_stopping_has_interim_analyses_and_its_own_id():
    registry = registry_of(OURS, THEIRS, dataset("d"))
    fixed, early, other = (
        plan(registry, duels={"datasets": ["d"], **keys}).duels[0]
        for keys in ({}, {"precision": "2%"}, {"precision": 0.02, "claim": 1.5})
    )
    assert (fixed.launches, fixed.stop) == (8, None)
    assert (early.launches, early.stop.looks, early.stop.precision) == (24, INTERIM_LAUNCHES, 0.02)
    assert len({fixed.id, early.id, other.id}) == 3


def test_one_noise_duel_a_dataset_has_a_precision_rule_only():
    registry = registry_of(OURS, THEIRS, algorithm("third"), dataset("d"), dataset("e"))
    pairs = [["ours", "theirs"], ["third", "theirs"]]
    keys = {"datasets": ["d", "e"], "pairs": pairs, "noise": True, "claim": 1.0}
    duels = plan(registry, duels=keys).duels
    own = [d for d in duels if d.a == d.b]
    assert [(d.a.algorithm, d.a.dataset.name) for d in own] == [("ours", "d"), ("ours", "e")]
    assert all(d.stop is None and d.launches == 8 for d in own)
    assert len(duels) == 6
    precise = plan(registry, duels=keys | {"precision": "1%"}).duels
    rules = {(d.stop.precision, d.stop.claim) for d in precise if d.a == d.b}
    assert rules == {(0.01, 0.0)}


def test_declared_pairs_replace_the_references():
    registry = registry_of(OURS, THEIRS, algorithm("third"), dataset("d"))
    keys = {"duels": {"datasets": ["d"], "pairs": [["third", "theirs"]]}}
    made = plan(registry, **keys, verdicts={"pairs": [["third", "ours"]]})
    assert [(d.a.algorithm, d.b.algorithm) for d in made.duels] == [("third", "theirs")]
    assert made.declared["pairs"] == [["third", "ours"]]
    with pytest.raises(ConfigError, match="unknown algorithm 'nobody'"):
        plan(registry, verdicts={"pairs": [["nobody", "ours"]]})


def test_impossible_named_duel_gives_the_reason():
    registry = registry_of(OURS, algorithm("r", tasks=frozenset({Task.REGRESSION})), dataset("d"))
    experiment = parse_experiment({"name": "x", "datasets": ["d"]}, "here")
    with pytest.raises(ConfigError, match="r is for regression; d is binary"):
        plan_duel(experiment, registry, Surroundings(), dataset("d"), ("ours", "r"))
    made = plan_duel(experiment, registry, Surroundings(), dataset("d"), ("ours", "ours"))
    (duel,) = made.duels
    assert duel.a == duel.b
    assert set(made.declared["algorithms"]) == {"ours"}


def fails(_dataset):
    raise ValueError("no such column")


@pytest.mark.parametrize(
    ("skip", "kind", "message"),
    [
        (fails, "ValueError", "`skip` of odd failed on d: ValueError: no such column"),
        (
            lambda _: True,
            "PluginError",
            "`skip` of odd returned True; it must return a reason or None",
        ),
    ],
)
def test_failing_skip_fails_only_its_own_trials(skip, kind, message):
    odd = algorithm("odd", skip=skip, reference="theirs")
    registry = registry_of(odd, THEIRS, dataset("d"))
    made = plan(registry, splits={"folds": 2}, duels={"datasets": ["d"]})
    assert [job.algorithm for job in made.jobs] == ["theirs"]
    assert made.duels == ()
    assert {o.status for o in made.skipped} == {Status.FAILED}
    assert {(o.failure.kind, o.failure.message) for o in made.skipped} == {(kind, message)}
    assert ("no such column" in made.skipped[0].failure.detail) == (skip is fails)
    assert made.skipped[0].facts == {"failed_in": "start"}  # so it is tried again
    experiment = parse_experiment({"name": "x", "datasets": ["d"]}, "here")
    with pytest.raises(PluginError, match="`skip` of odd"):
        plan_duel(experiment, registry, HERE, dataset("d"), ("odd", "theirs"))


def test_many_splits_make_as_many_trials_with_unique_ids():
    registry = registry_of(OURS, *(dataset(f"d{i}") for i in range(4)))
    made = plan(registry, splits={"folds": 10, "repeats": 50})
    assert len({trial.id for trial in made.trials()}) == 2_000


# ------------------------------------------------------------------ tracks

SPACED = {"space": {"n": {"low": 1, "high": 50}}}


def test_tracks_are_separate_variants_with_the_same_budget():
    ours = replace(OURS, **SPACED)
    theirs = replace(THEIRS, capacity={"trees": Argument("n")}, **SPACED)
    registry = registry_of(ours, theirs, dataset("d"))
    keys = {"capacity": {"trees": 9}, "splits": {"folds": 2}, "tuning": {"configurations": 4}}
    made = plan(registry, tracks=["equal", "default", "tuned"], **keys)
    params = [t.params for t in made.jobs[0].trials][::2]
    assert params[:2] == [{"n": 9}, {"n": 1}]
    tune = [next(t.params["tune"] for t in j.trials if "tune" in t.params) for j in made.jobs]
    assert [len(t["configurations"]) for t in tune] == [4, 4]
    assert tune[0] == tune[1]  # one space: the same configurations for both sides of the pair
    declared = {(v["algorithm"], tuple(v["tracks"])) for v in made.declared["tracks"]}
    assert declared == {
        (a, (t,)) for a in ("ours", "theirs") for t in ("equal", "default", "tuned")
    }
    assert len({t.id for t in made.trials()}) == len(list(made.trials())) == 12
    assert plan(registry, tracks=["equal", "default", "tuned"], **keys) == made


def test_searches_keep_predictions_only_if_the_experiment_says_so():
    registry = registry_of(replace(OURS, space={"depth": [1, 2]}), dataset("d"))
    for keep, tracks, exports in (
        (True, ["tuned"], ("search",)),
        (True, ["equal"], ()),
        (False, ["tuned"], ()),
    ):
        made = plan(registry, tracks=tracks, tuning={"keep_predictions": keep})
        assert [job.exports for job in made.jobs] == [exports]


def test_ensembled_track_has_the_configurations_of_the_tuned_one():
    registry = registry_of(replace(OURS, **SPACED), dataset("d"))
    made = plan(registry, tracks=["tuned", "ensembled"], tuning={"configurations": 4})
    tuned, ensembled = (v["params"]["tune"] for v in made.declared["tracks"])
    assert ensembled == {**tuned, "ensemble": 25}
    assert [v["tracks"] for v in made.declared["tracks"]] == [["tuned"], ["ensembled"]]


def test_params_on_two_tracks_run_once():
    made = plan(registry_of(OURS, dataset("d")), tracks=["equal", "default", "tuned"])
    assert {tuple(v["tracks"]) for v in made.declared["tracks"]} == {("equal", "default")}
    assert all("tune" not in trial.params for trial in made.trials())  # it declares no space


def test_track_runs_on_its_datasets_only():
    registry = registry_of(OURS, THEIRS, dataset("d"), dataset("e"))
    keys = {"capacity": {"trees": 9}, "splits": {"folds": 2}, "tracks": ["equal", "default"]}
    made = plan(registry, track_datasets={"default": ["e"]}, **keys)
    params = {(j.algorithm, j.dataset.name): [t.params for t in j.trials[::2]] for j in made.jobs}
    assert params["ours", "d"] == [{"n": 9}]
    assert params["ours", "e"] == [{"n": 9}, {"n": 1}]
    # the parameters of the other algorithm are those of both tracks
    assert params["theirs", "d"] == params["theirs", "e"] == [{"n": 1}]
    only = plan(registry, track_datasets={"default": ["e"]}, **keys | {"tracks": ["default"]})
    assert {job.dataset.name for job in only.jobs} == {"e"}
    with pytest.raises(ConfigError, match="unknown dataset of a track 'f'"):
        plan(registry, track_datasets={"default": ["f"]}, **keys)


def test_duel_never_times_a_search():
    ours, theirs = (replace(a, **SPACED) for a in (OURS, THEIRS))
    keys = {"duels": {"datasets": ["d"]}, "capacity": {"trees": 9}}
    for tracks in (["tuned"], ["tuned", "equal"], ["tuned", "ensembled"]):
        (duel,) = plan(registry_of(ours, theirs, dataset("d")), tracks=tracks, **keys).duels
        assert duel.a.trials[0].params == {"n": 9}


def test_misspelled_capacity_of_a_duel_is_refused():
    registry = registry_of(OURS, THEIRS, dataset("d"))
    experiment = parse_experiment({"name": "x", "datasets": ["d"], "capacity": {"tres": 3}}, "here")
    with pytest.raises(ConfigError, match="did you mean 'trees'"):
        plan_duel(experiment, registry, HERE, dataset("d"), ("ours", "theirs"))


def test_splitting_library_is_part_of_the_id_and_a_plugin_folder_is_not():
    registry = Registry()
    registry.add("algorithm", Algorithm, OURS, "/some/folder/mine.py", __file__)
    registry.add("dataset", Dataset, dataset("d"), "plugin", __file__)
    trial = next(plan(registry).trials())
    assert "scikit-learn" in trial.ingredients["versions"]
    assert trial.ingredients["plugin"] == "mine.py"
