"""Compile a kernel without asking twice for the same type, or for garbage that is not there.

Where an operator stands, numba tries all its overloads in turn: of the 6 300 such questions that
the exact tree grower asks, nine in ten repeat an earlier one. And it fills the memory with small
objects that live until the end, so that the garbage collector, which counts them, looks through
all of them again and again in vain.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.compiler import Compiler
from numba.core.types.functions import BaseFunction


class KernelCompiler(Compiler):
    """numba's compiler, quicker for a function and all that it calls; its result is the same."""

    def compile_extra(self, func):
        """Compile a function of Python."""
        with remembering(), without_collecting():
            return super().compile_extra(func)


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

    BaseFunction.get_call_type = get_call_type
    try:
        yield
    finally:
        BaseFunction.get_call_type = ask


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
