"""Compile a kernel without asking twice for the same type, or for what is not there.

Where an operator stands, numba tries all its overloads in turn: of the 6 300 such questions that
the exact tree grower asks, nine in ten repeat an earlier one. It fills the memory with small
objects that live until the end, so that the garbage collector, which counts them, looks through
all of them again and again in vain. After each of its passes it lists the variables of every
statement, by asking each of its parts what it is, and some passes look for what no kernel has.
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
IDLE = (  # passes that look for `with`, closures, and operators on whole arrays
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.LiteralUnroll,
    typed_passes.NopythonRewrites,
    typed_passes.AnnotateTypes,
)


def kernel_pipeline(state, instead=None):
    """Return numba's pipeline of pure machine code without the passes that are idle in kernels.

    Parameters
    ----------
    state : StateDict, of the compilation
    instead : dict, optional
        Passes by those that they stand in for.
    """
    pipeline = DefaultPassBuilder.define_nopython_pipeline(state)
    pipeline.passes = [
        ((instead or {}).get(step, step), description)
        for step, description in pipeline.passes
        if step not in IDLE
    ]
    pipeline.finalize()
    return pipeline


class KernelCompiler(Compiler):
    """numba's compiler, quicker for a function and all that it calls; its result is the same."""

    def define_pipelines(self):
        """Return the one pipeline."""
        return [kernel_pipeline(self.state)]

    def compile_extra(self, func):
        """Compile a function of Python."""
        with remembering(), listing_quickly(), without_collecting():
            return super().compile_extra(func)


@contextmanager
def replaced(of: type, name: str, by) -> Iterator[None]:
    """Put another method in a class, inside."""
    before = getattr(of, name)
    setattr(of, name, by)
    try:
        yield
    finally:
        setattr(of, name, before)


@contextmanager
def remembering() -> Iterator[None]:
    """Remember the type of each call of a builtin function, inside.

    numba compiles under one lock, so nothing else can be compiled meanwhile.
    """
    ask = BaseFunction.get_call_type
    known: dict = {}

    def get_call_type(self, context, args, kws):
        question = (self, context, tuple(args), tuple(sorted(kws.items())))
        if question not in known:
            known[question] = ask(self, context, args, kws)
        return known[question]

    with replaced(BaseFunction, "get_call_type", get_call_type):
        yield


@contextmanager
def listing_quickly() -> Iterator[None]:
    """List a statement's variables, and the values of options, in fewer steps, inside."""
    defaults: dict = {}

    def values(self):
        kind = type(self)
        if kind not in defaults:
            defaults[kind] = {name: option.default for name, option in kind.options.items()}
        return defaults[kind] | self._values

    with (
        replaced(ir.Inst, "_rec_list_vars", lambda _, part: variables_in((part,))),
        replaced(TargetConfig, "values", values),
    ):
        yield


def variables_in(parts):
    """Return the variables in parts of a statement, in their order, as numba's method does."""
    found = []
    for part in parts:
        kind = type(part)
        if kind is ir.Var:
            found.append(part)
        elif kind in WITHOUT_VARIABLES:
            continue
        elif isinstance(part, ir.Inst):
            found += part.list_vars()
        elif isinstance(part, (list, tuple)):
            found += variables_in(part)
        elif isinstance(part, dict):
            found += variables_in(part.values())
    return found


@contextmanager
def without_collecting() -> Iterator[None]:
    """Stop the garbage collector, inside."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
