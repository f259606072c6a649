"""Tests that the example programs run on our module, and on LightGBM if the import is changed."""

import pytest
from pages import DOCS

FOLDER = DOCS / "examples" / "moving"
OURS, THEIRS = "import algorithms.compat.lightgbm as lgb", "import lightgbm as lgb"
CHECKS = {
    "cross_validation": lambda p: p["auc"] > 0.96 and 5 < p["n_rounds"] < 60,
    "parameter_search": lambda p: p["accuracy"] > 0.9,
    "contributions": lambda p: p["ranking"].index[0] in ("s5", "bmi"),
    "ranking": lambda p: p["quality"] > p["chance"] + 0.3,
    "quantile_bands": lambda p: (
        0.65 < p["coverage"] < 0.9
        and p["width"][p["right"]].mean() > 1.5 * p["width"][p["left"]].mean()
    ),
    "credit_scoring": lambda p: p["auc"] > 0.75 and p["risk"][-1] > p["risk"][0] + 0.2,
    "custom_objective": lambda p: p["over"] < 0.45,
    "continued_training": lambda p: p["loss"](p["more"]) < p["loss"](p["old"]),
    "categorical_columns": lambda p: p["quality"] > 0.95 and len(set(p["prediction"])) > 1,
    "save_and_load": lambda p: p["booster"].num_trees() == 30,
}


def test_each_example_is_checked_linked_and_short():
    programs = {path.stem: path.read_text() for path in FOLDER.glob("*.py")}
    assert programs.keys() == CHECKS.keys()
    page = (DOCS / "moving.md").read_text()
    for name, program in programs.items():
        assert f"examples/moving/{name}.py" in page
        assert len(program.splitlines()) <= 40
        assert program.count(OURS) == 1


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.parametrize("module", [OURS, THEIRS], ids=["ours", "LightGBM"])
@pytest.mark.parametrize("name", CHECKS)
def test_example_runs(name, module):
    program = (FOLDER / f"{name}.py").read_text().replace(OURS, module)
    names = {"__name__": "example"}
    exec(compile(program, f"{name}.py", "exec"), names)
    assert CHECKS[name](names)
