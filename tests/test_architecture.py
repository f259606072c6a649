"""The rules of docs/architecture.md, read from the source by its syntax."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import harness

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    path
    for package in ("harness", "algorithms", "reports", "benchmarks", "costs")
    for path in sorted((ROOT / package).rglob("*.py"))
]

# The parts of harness, highest first. One may import what stands below it, and its neighbours; a
# new part is named here and fits docs/architecture.md, or it belongs into one that is.
LAYERS = (
    {"__main__", "cli"},
    {"api", "results", "notebook", "against", "history", "asv_export"},
    {"doctor", "overhead", "reporting", "conformance", "testing", "pytest_plugin"}
    | {"scaffold", "best"},
    {"again"},
    {"parity_run"},
    {"options"},
    {"runs"},
    {"execute", "plan", "choose", "declared", "explain", "comparisons", "matches"}
    | {"narrow", "budget"}
    | {"made_duels", "answers", "diagnose", "probe", "questions"},
    {"analysis", "builtin", "reuse", "compiling", "supervise", "pool", "session"}
    | {"channel", "duel_side", "duelling", "starting", "worker"},
    {"data", "store", "outcomes", "measure", "preparation", "saved_model"},
    {"plugins", "config", "config_diagnostics", "config_splits", "noop", "progress", "tuning"}
    | {"experiment_files", "drawn", "class_weights"},
    {
        "hookspecs",
        "contract",
        "plugin_files",
        "adapters",
        "forks",
        "ids",
        "trees",
        "tree_check",
        "tree_predict",
        "processes",
        "machine",
    },
    {"model", "errors", "units", "surroundings", "terminal"},
)

# Files over 300 lines and functions over 60: the length each may have, and why. It only shrinks.
LONG: dict[str, tuple[int, str]] = {
    "algorithms/gbdt/base.py:__init__": (61, "LightGBM's parameters, one a line"),
    "harness/api.py:run": (67, "the options of a run, one a line"),
    "harness/core/model.py": (491, "the nouns belong on one page, and each is a few lines"),
}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), str(path))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def running_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are executed: all but what stands under ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from running_nodes(child)


@cache
def imports(path: Path) -> tuple[tuple[str, str], ...]:
    """Return (module, name) of everything a file imports; the name is empty for ``import x``."""
    package = list(path.relative_to(ROOT).parent.parts)
    found = []
    for node in running_nodes(tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [(module, alias.name) for alias in node.names]
    return tuple(found)


def harness_module(module: str, name: str) -> str | None:
    """Return which part of harness an import brings: "store" for ``harness.store.rows``."""
    parts = [*module.split("."), name]
    if parts[0] != "harness":
        return None
    return "" if parts[1] in ("", *harness.__all__, "__version__", "__plugin_api__") else parts[1]


def layer(part: str) -> int:
    for number, names in enumerate(LAYERS):
        if part in names:
            return number
    raise AssertionError(f"harness.{part} has no place in LAYERS; see docs/architecture.md")


def part_of(path: Path) -> str:
    return path.relative_to(ROOT / "harness").parts[0].removesuffix(".py")


def test_harness_imports_point_down() -> None:
    for path in SOURCES:
        if relative(path).startswith("harness/") and path != ROOT / "harness/__init__.py":
            part = part_of(path)
            for other in {harness_module(*i) for i in imports(path)} - {None, "", part}:
                assert layer(part) <= layer(other), (
                    f"{relative(path)} imports harness.{other}, which stands above it"
                )


def test_no_imports_make_a_circle() -> None:
    files = {relative(path).removesuffix(".py").replace("/", "."): path for path in SOURCES}
    graph = {
        name: {f"{m}.{n}" if f"{m}.{n}" in files else m for m, n in imports(path)} & files.keys()
        for name, path in files.items()
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(files)


def test_every_layer_names_modules_that_exist() -> None:
    gone = [
        part
        for part in set().union(*LAYERS)
        if not (ROOT / "harness" / part).is_dir() and not (ROOT / f"harness/{part}.py").is_file()
    ]
    assert gone == []


def offenders(package: str, allowed: object) -> list[str]:
    """Return the imports of a package that ``allowed(path, module, name)`` refuses."""
    return [
        f"{relative(path)} imports {name} from {module}" if name else f"{relative(path)}: {module}"
        for path in SOURCES
        if relative(path).startswith(f"{package}/")
        for module, name in imports(path)
        if not allowed(path, module, name)
    ]


def test_harness_knows_no_algorithm_and_builds_reports_in_one_place() -> None:
    def allowed(path: Path, module: str, name: str) -> bool:
        top = module.split(".", maxsplit=1)[0]
        shows = {"reporting", "conformance"}  # the second builds the sections that it checks
        return top != "algorithms" and (top != "reports" or part_of(path) in shows)

    assert offenders("harness", allowed) == []


def test_algorithms_use_public_names_of_harness_only() -> None:
    def allowed(path: Path, module: str, name: str) -> bool:
        if module.split(".", maxsplit=1)[0] == "reports":
            return False
        return not module.startswith("harness") or (module == "harness" and name in harness.__all__)

    assert offenders("algorithms", allowed) == []


def test_kernels_import_numpy_numba_and_each_other() -> None:
    def allowed(path: Path, module: str, name: str) -> bool:
        top = module.split(".", maxsplit=1)[0]
        ours = module.startswith("algorithms._kernels")
        cache_folder = path.name == "jit.py" and top == "platformdirs"
        return ours or cache_folder or top in {"numpy", "numba"} or top in sys.stdlib_module_names

    assert offenders("algorithms/_kernels", allowed) == []


def test_reports_are_made_from_the_store_alone() -> None:
    def allowed(path: Path, module: str, name: str) -> bool:
        part = harness_module(module, name)
        readable = {None, "", "analysis", "store", "model", "errors", "units", "hookspecs"}
        return part in readable and module.split(".", maxsplit=1)[0] != "algorithms"

    assert offenders("reports", allowed) == []


def test_only_the_worker_runs_an_algorithm() -> None:
    callers = {
        relative(path)
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "adapter"
    }
    allowed = ("harness/worker/", "harness/conformance/", "benchmarks/")
    outside = {c for c in callers if not c.startswith(allowed)}
    assert outside == set()


def test_numba_compiles_through_one_file() -> None:
    compilers = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil", "experimental"}
    users = {
        relative(path)
        for path in SOURCES
        for module, name in imports(path)
        if module.startswith("numba") and (name in compilers or "jitclass" in module + name)
    }
    attributes = {
        relative(path)
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and node.attr in compilers
        and isinstance(node.value, ast.Name)
        and node.value.id in {"numba", "nb"}
    }
    assert users | attributes <= {"algorithms/runtime/jit.py"}


def test_only_the_command_line_prints() -> None:
    printers = {
        relative(path)
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
    }
    assert {p for p in printers if not p.startswith("harness/cli/")} == set()


def test_datasets_hold_no_python() -> None:
    assert list((ROOT / "datasets").rglob("*.py*")) == []


def test_the_plugin_contract_stays_one_short_page() -> None:
    assert len((ROOT / "harness/plugins/hookspecs.py").read_text().splitlines()) < 60


def lengths() -> dict[str, tuple[int, int]]:
    """Return (length, usual limit) of every file and of every function, docstring not counted."""
    found = {}
    for path in SOURCES:
        found[relative(path)] = (len(path.read_text().splitlines()), 300)
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef):
                text = node.body[0] if ast.get_docstring(node) else None
                docstring = text.end_lineno - text.lineno + 1 if text else 0
                length = node.end_lineno - node.lineno + 1 - docstring
                found[f"{relative(path)}:{node.name}"] = (length, 60)
    return found


def test_files_and_functions_stay_short() -> None:
    long = {
        place: length
        for place, (length, limit) in lengths().items()
        if length > LONG.get(place, (limit, ""))[0]
    }
    assert long == {}, "part them, or name them in LONG with a reason that a reader accepts"


@pytest.mark.parametrize("place", LONG)
def test_what_may_be_long_still_is(place: str) -> None:
    length, limit = lengths()[place]
    assert length > limit, f"{place} is short now: take it off LONG"
    assert LONG[place][1]
