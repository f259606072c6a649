"""Start the command line: ``python -m harness`` and the script ``harness`` are both `main`.

Until the path is right and the dependencies are known to be there, only ``os`` and ``sys`` are
used: a file of the user's in the current folder may carry any other name.
"""

from __future__ import annotations

import os
import sys

# What the harness itself imports: module → distribution. A missing reference library (CatBoost,
# LightGBM, XGBoost) only costs its own algorithms, so it does not stop the start.
NEEDED = {
    "arff": "liac-arff",
    "click": "click",
    "filelock": "filelock",
    "jinja2": "jinja2",
    "numba": "numba",
    "numpy": "numpy",
    "pandas": "pandas",
    "platformdirs": "platformdirs",
    "pluggy": "pluggy",
    "pooch": "pooch",
    "psutil": "psutil",
    "pyarrow": "pyarrow",
    "pydantic": "pydantic",
    "rich": "rich",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "threadpoolctl": "threadpoolctl",
    "vl_convert": "vl-convert-python",
}
INTERRUPTED = 130  # exit code, as `harness.cli` has it
ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - pathlib may be shadowed


def main() -> int:
    """Run the command line and return its exit code."""
    open_closed_streams()
    try:
        code = started()
    except KeyboardInterrupt:  # before the command line could listen
        sys.stderr.write("harness: interrupted before anything was done\n")
        code = INTERRUPTED
    if code == INTERRUPTED:
        # Where Ctrl-C came in the middle of an `exec`, as classes are made by, Python would end
        # this process by a signal of its own, although the interrupt was handled.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def started() -> int:
    """Make sure of the arguments, the path and the dependencies, then run the command line."""
    if complaint := unusable():
        sys.stderr.write(f"harness: {complaint}\n")
        return 2
    drop_current_folder()
    if complaint := missing():
        sys.stderr.write(f"harness: {complaint}\n")
        return 2
    from harness.cli import main as run

    return run()


def open_closed_streams() -> None:
    """Open the null device for each standard stream that is closed.

    Otherwise the next file that is opened, such as the store, would get its descriptor, and
    messages would be written into that file.
    """
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(fd)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != fd:
                os.dup2(opened, fd)
                os.close(opened)
            os.set_inheritable(fd, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(fd, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def unusable() -> str:
    """Return why the arguments or the current folder cannot be used, or an empty text."""
    for given in sys.argv[1:]:
        try:
            given.encode()
        except UnicodeEncodeError:
            return f"the argument {os.fsencode(given)!r} is not UTF-8; rename the file"
    try:
        os.getcwd()  # noqa: PTH109 - as for ROOT
    except OSError as error:
        return f"the current folder cannot be used: {error.strerror}; change to another one"
    return ""


def drop_current_folder() -> None:
    """Take the current folder off the path unless it is the checkout.

    ``python -m`` puts it first, and a user's own ``algorithms.py``, ``reports.py`` or
    ``numpy.py`` would be imported instead of ours or the library's.
    """
    here = os.path.realpath(os.curdir)
    if here != ROOT:
        sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or here) != here]


def missing() -> str:
    """Return the missing distributions and the command that installs them, or an empty text."""
    from importlib.util import find_spec

    absent = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if not absent:
        return ""
    if os.path.isfile(os.path.join(ROOT, "Makefile")):  # noqa: PTH113, PTH118 - as for ROOT
        command = f"make -C {ROOT} setup, and start it as {ROOT}/.venv/bin/python -m harness"
    else:
        command = f"{sys.executable} -m pip install {' '.join(absent)}"
    return f"not installed for {sys.executable}: {', '.join(absent)}; install with: {command}"


if __name__ == "__main__":
    sys.exit(main())
