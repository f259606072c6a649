import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import ids
from harness.core.errors import ConfigError
from harness.core.model import Split

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
PARAMS = st.dictionaries(st.text(max_size=5), SCALARS, max_size=4)


def cell(params, **changes):
    given_ = {
        "algorithm": "a", "params": params, "preparation": "native", "dataset": "d",
        "split": Split(), "seed": 0, "threads": 1,
    }  # fmt: skip
    return ids.cell_id(**(given_ | changes))


def test_cell_id_is_stable_across_versions_of_the_harness():
    # A changed id would cut every stored history in two.
    assert cell({"n_estimators": 100, "depth": None}) == "40bde55a852a1da1"


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_order_of_params_does_not_matter(params):
    backwards = dict(reversed(params.items()))
    assert cell(params) == cell(backwards)


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": "b"}, {"preparation": "onehot"}, {"dataset": "e"}, {"seed": 1},
        {"threads": 2}, {"split": Split(fold=1)}, {"split": Split(seed=1)},
        {"split": Split(repeat=1)}, {"split": Split("holdout")}, {"params": {"x": 2}},
    ],
)  # fmt: skip
def test_every_part_of_a_cell_changes_its_id(change):
    assert cell(**({"params": {"x": 1}} | change)) != cell({"x": 1})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}.__iter__(), object()])
def test_params_that_are_not_finite_json_are_refused(value):
    with pytest.raises(ConfigError, match="finite JSON"):
        ids.canonical({"x": value})


def package(folder):
    root = folder / "pack"
    (root / "kernels").mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "kernels" / "__init__.py").write_text("")
    (root / "kernels" / "used.py").write_text("from . import deep\n")
    (root / "kernels" / "deep.py").write_text("x = 1\n")
    (root / "kernels" / "unused.py").write_text("x = 1\n")
    (root / "plugin.py").write_text("import numpy\nfrom .kernels.used import x\n")
    return root


def digest_of(root):
    ids.code_digest.cache_clear()
    return ids.code_digest(str(root / "plugin.py"))


def test_code_digest_covers_exactly_the_imports_of_a_plugin(tmp_path):
    root = package(tmp_path)
    before = digest_of(root)
    (root / "kernels" / "unused.py").write_text("x = 2\n")
    assert digest_of(root) == before
    (root / "kernels" / "deep.py").write_text("x = 2\n")
    assert digest_of(root) != before


def test_code_digest_does_not_depend_on_the_location(tmp_path):
    assert digest_of(package(tmp_path / "one")) == digest_of(package(tmp_path / "two"))


def test_digest_of_a_single_plugin_file_is_that_of_the_file(tmp_path):
    alone = tmp_path / "alone.py"
    alone.write_text("from harness import hookimpl\n")
    before = ids.code_digest(str(alone))
    ids.code_digest.cache_clear()
    alone.write_text("from harness import hookimpl  # edited\n")
    assert ids.code_digest(str(alone)) != before
