"""Tests of inner kernels, which are compiled only into the kernels that call them."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest
from numba import config, njit, types
from numba.core import ir
from numba.core.compiler import DefaultPassBuilder, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.targetconfig import TargetConfig
from numba.core.types.functions import BaseFunction

from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.linking import LinkedLibrary
from algorithms.runtime.type_lookups import (
    UNUSED_PASSES,
    cached_call_types,
    fast_variable_lists,
    kernel_pipeline,
    without_garbage_collection,
)


@inner_kernel
def double(x):
    return x + x


@inner_kernel
def sum_doubled(values):
    total = values.dtype.type(0)
    for value in values:
        total += double(value)
    return total


@kernel
def sum_two(a, b):
    return sum_doubled(a) + double(sum_doubled(b))


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_inner_kernels_nest_and_take_several_types(dtype):
    a, b = np.arange(5, dtype=dtype), np.arange(3, dtype=dtype)
    assert sum_two(a, b) == 2 * a.sum() + 4 * b.sum()


def test_inner_kernel_has_no_machine_code_of_its_own():
    sum_two(np.zeros(1), np.zeros(1))
    for compiled in (*double.overloads.values(), *sum_doubled.overloads.values()):
        assert isinstance(compiled.library, LinkedLibrary)
        assert "define" in compiled.library.get_llvm_str()
    made = [compiled.library for compiled in sum_two.overloads.values()]
    assert not any(isinstance(library, LinkedLibrary) for library in made)


@inner_kernel
def step(x, backwards, by):
    return x - by if backwards else x + by


@kernel
def wander(x):
    return step(step(x, True, 5), x > 0, by=7)


def test_inner_kernel_is_compiled_once_for_all_literals():
    assert [wander(x) for x in (-3, 3)] == [-1, -9]
    if not config.DISABLE_JIT:  # the kernel may come from the cache, so it is inspected itself
        for by in (1, 2):
            step.get_call_template([types.int64, types.literal(by == 1)], {"by": types.literal(by)})
        assert step.signatures == [(types.int64, types.boolean, types.int64)]


@linked_kernel
def sort_in_place(values):
    for i in range(1, len(values)):
        for j in range(i, 0, -1):
            if values[j] < values[j - 1]:
                values[j], values[j - 1] = values[j - 1], values[j]


@kernel
def sort_one(values):
    sort_in_place(values)


@kernel
def sort_both(a, b):
    sort_in_place(a)
    sort_one(b)  # has its own copy


def test_linked_kernels_may_stay_calls_in_several_kernels():
    a, b = np.array([3, 1, 2]), np.array([5, 4])
    sort_one(a)
    assert a.tolist() == [1, 2, 3]
    a = a[::-1].copy()
    sort_both(a, b)
    assert (a.tolist(), b.tolist()) == ([1, 2, 3], [4, 5])
    if not config.DISABLE_JIT:
        sort_in_place.compile((types.int64[::1],))  # the kernels may have come from the cache
        (compiled,) = sort_in_place.overloads.values()
        assert isinstance(compiled.library, LinkedLibrary)
        assert "alwaysinline" not in compiled.library.get_llvm_str()
        with global_compiler_lock:
            shared = compiled.library._get_module_for_linking()
        made = [f for f in shared.functions if not f.is_declaration]
        assert {f.linkage.name for f in made} <= {"linkonce_odr", "linkonce", "internal"}


def test_kernel_is_compiled_once_and_numba_is_restored():
    before, requested = BaseFunction.get_call_type, []

    def count(self, context, args, kws):
        requested.append((self, tuple(args)))
        return before(self, context, args, kws)

    BaseFunction.get_call_type = count
    try:
        with cached_call_types():
            njit(lambda a, b: (a + b) * (a + b) + (b + a) * (a + b))(1.0, 2.0)
        assert BaseFunction.get_call_type is count
    finally:
        BaseFunction.get_call_type = before
    assert requested
    assert len(requested) == len(set(requested))


def test_numba_statement_variables_and_option_values_are_unchanged():
    where = ir.Loc("here", 1)
    a, b = (ir.Var(None, name, where) for name in "ab")
    call = ir.Expr.call(a, (b, a), {"k": b}, where)
    parts = [a, [b, (a, call)], {"x": call, "y": 1}, ir.Assign(call, b, where), call, 3, "a", None]
    flags = Flags()
    flags.nrt = True
    listed, values = [call._rec_list_vars(p) for p in parts], flags.values()
    before = ir.Inst._rec_list_vars, TargetConfig.values
    with fast_variable_lists():
        assert [call._rec_list_vars(p) for p in parts] == listed
        assert list(flags.values().items()) == list(values.items())
        assert (ir.Inst._rec_list_vars, TargetConfig.values) != before
    assert (ir.Inst._rec_list_vars, TargetConfig.values) == before
    assert sum(map(len, listed)) > 10


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_only_idle_compiler_passes_are_skipped():
    state = SimpleNamespace(func_ir=None, flags=Flags())
    state.flags.enable_ssa = True
    every = [step for step, _ in DefaultPassBuilder.define_nopython_pipeline(state).passes]
    assert set(UNUSED_PASSES) <= set(every)
    kept = [step for step, _ in kernel_pipeline(state).passes]
    assert kept == [step for step in every if step not in UNUSED_PASSES]


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_after_compilation(collects):
    (gc.enable if collects else gc.disable)()
    try:
        with without_garbage_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is collects
    finally:
        gc.enable()
