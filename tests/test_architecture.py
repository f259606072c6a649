"""Tests of the rules of docs/architecture.md, read from the syntax of the source."""

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

# The packages in their order: a package may import itself and those before it, never one after it.
# A line is one package, or several that do not import each other. docs/architecture.md draws it.
HARNESS_ORDER = (
    {"core"},
    {"trees", "progress_display"},
    {"plugins"},
    {"config"},
    {"analysis", "data", "store"},
    {"checks"},
    {"planning", "worker"},
    {"execution"},
    {"measurement"},
    {"executors"},
    {"runs"},
    {"notebook", "reporting", "doctor"},
    {"conformance", "results"},
    {"api", "best", "testing", "gate"},
    {"history", "pytest_plugin"},
    {"cli"},
    {"__main__"},
)
ALGORITHMS_ORDER = (
    {"runtime", "declarations"},
    {"estimator"},
    {"prediction"},
    {"model_io"},
    {"compat"},
    {"trees"},
    {"levelwise", "forest"},
    {"boosting", "gbdt"},
    {"newton", "distributed"},
    {"symmetric"},
    {"parity"},
    {"blending", "reference", "sklearn_hgb"},
    {"inspection"},
    {"."},  # the estimators, one file each
    {"compat/lightgbm", "compat/catboost", "compat/xgboost"},  # interfaces, on the estimators
)
INTERFACES = {
    "compat/lightgbm",
    "compat/catboost",
    "compat/xgboost",
}  # packages inside another one, with a place of their own
REPORTS_ORDER = (
    {"text"},
    {"blocks"},
    {"words", "charts"},
    {"page"},
    {"sections"},
    {"writers", "__init__"},
)
# Only these may import `algorithms.parity`, and only inside a function: most fits do not need it.
PARITY_USERS = {
    "algorithms/boosting/gradient_trees.py",
    "algorithms/gbdt/library_training.py",
    "algorithms/newton/base.py",
    "algorithms/symmetric/base.py",
    "algorithms/trees/base_tree.py",
}
ROOT_MODULES = 12  # at most, in harness/

# Functions over 60 lines: the length each may have, and why. It only shrinks.
LONG: dict[str, tuple[int, str]] = {
    "algorithms/gbdt/base.py:__init__": (64, "LightGBM's parameters, one a line"),
    "algorithms/symmetric/base.py:__init__": (64, "CatBoost's parameters, one a line"),
    "harness/api.py:run": (69, "every option of a run, one a line, twice"),
}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), str(path))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


def running_statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the executed statements: all except those under ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from running_statements(child)


@cache
def imports(path: Path) -> tuple[tuple[str, str], ...]:
    """Return (module, name) of everything a file imports; the name is empty for ``import x``."""
    package = list(path.relative_to(ROOT).parent.parts)
    results = []
    for node in running_statements(tree(path)):
        if isinstance(node, ast.Import):
            results += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            results += [(module, alias.name) for alias in node.names]
    return tuple(results)


def package_of(path: Path, top: str) -> str:
    """Return the package below ``top`` of a file; a module directly below is its own package."""
    parts = path.relative_to(ROOT / top).parts
    nested = "/".join(parts[:2])
    return nested if nested in INTERFACES else parts[0].removesuffix(".py")


def place(order: tuple[set[str], ...], package: str) -> int:
    for number, names in enumerate(order):
        if package in names:
            return number
    raise AssertionError(f"{package} has no place in the order of packages")


def imported_package(module: str, name: str, top: str) -> str | None:
    """Return the package below ``top`` of an import: "store" for ``harness.store.rows``."""
    parts = [*module.split("."), name]
    if parts[0] != top or len(parts) == 1:
        return None
    if "/".join(parts[1:3]) in INTERFACES:
        return "/".join(parts[1:3])
    is_package = (ROOT / top / parts[1]).is_dir() or (ROOT / top / f"{parts[1]}.py").is_file()
    return parts[1] if parts[1] and is_package else None


def upward_imports(top: str, order: tuple[set[str], ...]) -> list[str]:
    """Return the imports of one package that the order of packages forbids."""
    results = []
    for path in SOURCES:
        if not relative(path).startswith(f"{top}/") or path == ROOT / top / "__init__.py":
            continue
        own = package_of(path, top)
        for module, name in imports(path):
            other = imported_package(module, name, top)
            if other is None or other == own:
                continue
            here = place(order, "." if top == "algorithms" and path.parent.name == top else own)
            there = place(
                order,
                "." if (ROOT / top / f"{other}.py").is_file() and top == "algorithms" else other,
            )
            if relative(path) in PARITY_USERS and other == "parity":
                continue
            if here < there or (here == there and order[here] != {"."}):
                results.append(f"{relative(path)} imports {module}.{name}".removesuffix("."))
    return results


@pytest.mark.parametrize(
    ("top", "order"),
    [
        ("harness", HARNESS_ORDER),
        ("algorithms", ALGORITHMS_ORDER),
        ("reports", REPORTS_ORDER),
    ],
)
def test_packages_import_only_those_before_them(top: str, order: tuple[set[str], ...]) -> None:
    assert upward_imports(top, order) == []


def test_parity_is_imported_only_when_used() -> None:
    at_import = [
        relative(path)
        for path in SOURCES
        if relative(path).startswith("algorithms/") and package_of(path, "algorithms") != "parity"
        for node in tree(path).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("algorithms.parity")
    ]
    assert at_import == []


def test_harness_has_few_modules_at_its_root() -> None:
    assert len(list((ROOT / "harness").glob("*.py"))) <= ROOT_MODULES


def test_imports_have_no_cycles() -> None:
    files = {relative(path).removesuffix(".py").replace("/", "."): path for path in SOURCES}
    graph = {
        name: {f"{m}.{n}" if f"{m}.{n}" in files else m for m, n in imports(path)} & files.keys()
        for name, path in files.items()
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(files)


@pytest.mark.parametrize(
    ("top", "order"),
    [
        ("harness", HARNESS_ORDER),
        ("algorithms", ALGORITHMS_ORDER),
        ("reports", REPORTS_ORDER),
    ],
)
def test_order_names_existing_packages(top: str, order: tuple[set[str], ...]) -> None:
    missing = [
        name
        for name in set().union(*order)
        if not (ROOT / top / name).is_dir() and not (ROOT / top / f"{name}.py").is_file()
    ]
    assert missing == []


def offenders(package: str, allowed: object) -> list[str]:
    """Return the imports of a package that ``allowed(path, module, name)`` refuses."""
    return [
        f"{relative(path)} imports {name} from {module}" if name else f"{relative(path)}: {module}"
        for path in SOURCES
        if relative(path).startswith(f"{package}/")
        for module, name in imports(path)
        if not allowed(path, module, name)
    ]


def test_harness_imports_neither_algorithms_nor_reports() -> None:
    def allowed(path: Path, module: str, name: str) -> bool:
        return module.split(".", maxsplit=1)[0] not in {"algorithms", "reports"}

    assert offenders("harness", allowed) == []


def test_tree_format_needs_only_numpy() -> None:
    def allowed(path: Path, module: str, name: str) -> bool:
        top = module.split(".", maxsplit=1)[0]
        ours = module.startswith(("harness.trees", "harness.core.errors"))
        return ours or top == "numpy" or top in sys.stdlib_module_names

    assert offenders("harness/trees", allowed) == []


def test_algorithms_use_public_names_of_harness_only() -> None:
    def allowed(path: Path, module: str, name: str) -> bool:
        if module.split(".", maxsplit=1)[0] == "reports":
            return False
        return not module.startswith("harness") or (module == "harness" and name in harness.__all__)

    assert offenders("algorithms", allowed) == []


def test_kernels_import_numpy_numba_and_each_other() -> None:
    def allowed(path: Path, module: str, name: str) -> bool:
        if path.parent.name != "kernels":
            return True
        ours = module.startswith("algorithms.runtime") or ".kernels" in f"{module}.{name}"
        top = module.split(".", maxsplit=1)[0]
        return ours or top in {"numpy", "numba"} or top in sys.stdlib_module_names

    assert offenders("algorithms", allowed) == []


def test_reports_are_made_from_the_store_only() -> None:
    def allowed(path: Path, module: str, name: str) -> bool:
        part = imported_package(module, name, "harness")
        return part in {None, "analysis", "store", "core"} and not module.startswith("algorithms")

    assert offenders("reports", allowed) == []


def test_only_the_worker_runs_an_algorithm() -> None:
    callers = {
        relative(path)
        for path in SOURCES
        for node in nodes(path)
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
        for node in nodes(path)
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
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    }
    assert {p for p in printers if not p.startswith("harness/cli/")} == set()


def test_datasets_hold_no_python() -> None:
    assert list((ROOT / "datasets").rglob("*.py*")) == []


def test_plugin_contract_stays_one_short_page() -> None:
    assert len((ROOT / "harness/plugins/hookspecs.py").read_text().splitlines()) < 75


@cache
def lengths() -> dict[str, tuple[int, int]]:
    """Return (length, usual limit) of every function, without docstring."""
    results = {}
    for path in SOURCES:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef):
                text = node.body[0] if ast.get_docstring(node) else None
                docstring = text.end_lineno - text.lineno + 1 if text else 0
                length = node.end_lineno - node.lineno + 1 - docstring
                results[f"{relative(path)}:{node.name}"] = (length, 60)
    return results


def test_functions_stay_short() -> None:
    long = {
        place: length
        for place, (length, limit) in lengths().items()
        if length > LONG.get(place, (limit, ""))[0]
    }
    assert long == {}, "part them, or name them in LONG with a reason that a reader accepts"


@pytest.mark.parametrize("place", LONG)
def test_long_function_exceptions_are_still_long(place: str) -> None:
    length, limit = lengths()[place]
    assert length > limit, f"{place} is short now: take it off LONG"
    assert LONG[place][1]
