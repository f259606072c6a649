"""Speed up numba's compilation of kernels by caching and by skipping passes.

- For each call of an operator, numba tries all overloads in turn; of the 6 300 such lookups for the
  exact tree grower, nine in ten repeat an earlier one. They are cached.
- numba allocates many small objects that live until the end of a compilation, which triggers the
  garbage collector again and again in vain. It is disabled during compilation.
- After each pass, numba lists the variables of every statement by generic type checks. A faster
  function replaces these.
- Some passes handle features that kernels do not use. They are removed.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import ir, typed_passes, untyped_passes
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.targetconfig import TargetConfig
from numba.core.types.functions import BaseFunction

WITHOUT_VARIABLES = frozenset(
    {str, int, bool, float, type(None), ir.Loc, ir.Const, ir.Global, ir.FreeVar, ir.Arg}
)
UNUSED_PASSES = (  # passes for `with` blocks, closures, and expressions of whole arrays
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.LiteralUnroll,
    typed_passes.NopythonRewrites,
    typed_passes.AnnotateTypes,
)


def kernel_pipeline(state, instead=None):
    """Return numba's nopython pipeline without the passes that do nothing for kernels.

    Parameters
    ----------
    state : StateDict, of the compilation
    instead : dict, optional
        Maps passes to the passes that replace them.
    """
    pipeline = DefaultPassBuilder.define_nopython_pipeline(state)
    pipeline.passes = [
        ((instead or {}).get(step, step), description)
        for step, description in pipeline.passes
        if step not in UNUSED_PASSES
    ]
    pipeline.finalize()
    return pipeline


class KernelCompiler(Compiler):
    """numba's compiler with faster compilation and the same result."""

    def define_pipelines(self):
        """Return the one pipeline."""
        return [kernel_pipeline(self.state)]

    def compile_extra(self, func):
        """Compile a Python function."""
        with cached_call_types(), fast_variable_lists(), without_garbage_collection():
            return super().compile_extra(func)


@contextmanager
def patched(of: type, name: str, by) -> Iterator[None]:
    """Replace a method of a class inside the context."""
    before = getattr(of, name)
    setattr(of, name, by)
    try:
        yield
    finally:
        setattr(of, name, before)


@contextmanager
def cached_call_types() -> Iterator[None]:
    """Cache the types of calls of builtin functions inside the context.

    numba compiles under one lock, so no other compilation runs at the same time.
    """
    ask = BaseFunction.get_call_type
    known: dict = {}

    def get_call_type(self, context, args, kws):
        question = (self, context, tuple(args), tuple(sorted(kws.items())))
        if question not in known:
            known[question] = ask(self, context, args, kws)
        return known[question]

    with patched(BaseFunction, "get_call_type", get_call_type):
        yield


@contextmanager
def fast_variable_lists() -> Iterator[None]:
    """List the variables of statements and the values of options faster inside the context."""
    defaults: dict = {}

    def values(self):
        kind = type(self)
        if kind not in defaults:
            defaults[kind] = {name: option.default for name, option in kind.options.items()}
        return defaults[kind] | self._values

    with (
        patched(ir.Inst, "_rec_list_vars", lambda _, part: variables_in((part,))),
        patched(TargetConfig, "values", values),
    ):
        yield


def variables_in(parts):
    """Return the variables in parts of a statement in the order of numba's own method."""
    variables = []
    for part in parts:
        kind = type(part)
        if kind is ir.Var:
            variables.append(part)
        elif kind in WITHOUT_VARIABLES:
            continue
        elif isinstance(part, ir.Inst):
            variables += part.list_vars()
        elif isinstance(part, (list, tuple)):
            variables += variables_in(part)
        elif isinstance(part, dict):
            variables += variables_in(part.values())
    return variables


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector inside the context."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
