"""Numba intrinsics: prefetch, bits of doubles, atomic counters, pause.

Each one compiles to a single LLVM instruction, or to none on processors that lack it. Results do
not depend on the processor.
"""

import platform

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

ir = cgutils.ir  # llvmlite's, which numba brings
_BYTE_POINTER = ir.IntType(8).as_pointer()
_INT = ir.IntType(32)
_LONG = ir.IntType(64)
MANTISSA = 23  # bits of a float32
_PAIR = ir.VectorType(ir.DoubleType(), 2)
_FOUR_INTS = ir.VectorType(_INT, 4)
READ, KEEP, DATA = _INT(0), _INT(3), _INT(1)  # kinds of llvm.prefetch
PAUSES = {  # by processor: the intrinsic for a waiting loop, and its arguments
    "x86_64": ("llvm.x86.sse2.pause", []),
    "amd64": ("llvm.x86.sse2.pause", []),
    "aarch64": ("llvm.aarch64.hint", [_INT(1)]),
    "arm64": ("llvm.aarch64.hint", [_INT(1)]),
}


def _entry(context, builder, kind, array, index):
    """Return the address of an array's entry, by flat index."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def prefetch(_, array, index):
    """Prefetch an entry of an array into the cache; the index is not checked."""

    def build(context, builder, signature, given):
        address = builder.bitcast(
            _entry(context, builder, signature.args[0], *given), _BYTE_POINTER
        )
        kind = ir.FunctionType(ir.VoidType(), [_BYTE_POINTER, _INT, _INT, _INT])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(fetch, [address, READ, KEEP, DATA])
        return context.get_dummy_value()

    return types.void(array, index), build


def _sides_of_pair(context, builder, kind, pairs, i):
    """Return w, 1, max(s, 0) and max(−s, 0) of a pair (w, s), as one vector."""
    address = _entry(context, builder, kind, pairs, builder.shl(i, i.type(1)))
    pair = builder.load(builder.bitcast(address, _PAIR.as_pointer()), align=8)
    negative = builder.fsub(ir.Constant(_PAIR, [1.0, 0.0]), pair)  # its second entry is −s
    four = builder.shuffle_vector(pair, negative, ir.Constant(_FOUR_INTS, [0, 0, 1, 3]))
    four = builder.insert_element(four, ir.Constant(ir.DoubleType(), 1.0), _INT(1))
    zero = ir.Constant(four.type, [0.0] * 4)
    return builder.select(builder.fcmp_ordered(">", four, zero), four, zero)


def _add_vector(context, builder, kind, sums, at, added):
    """Add a vector to the four entries of ``sums`` that begin at ``at``."""
    address = _entry(context, builder, kind, sums, at)
    four = builder.bitcast(address, added.type.as_pointer())
    builder.store(builder.fadd(builder.load(four, align=8), added), four, align=8)


@intrinsic
def add_sides(_, sums, places, pairs, i):
    """Add w, 1, max(s, 0) and max(−s, 0) of a pair (w, s) to four entries at each of some places.

    One vector store replaces four scalar ones; a core executes only one or two stores per cycle.

    Parameters
    ----------
    sums : float64, C-contiguous
    places : tuple of uint64, flat indices of the first of each four entries
    pairs : float64 (n, 2), C-contiguous, w ≥ 0; ``i`` is the index of a row
    """

    def build(context, builder, signature, given):
        added = _sides_of_pair(context, builder, signature.args[2], *given[2:])
        for at in cgutils.unpack_tuple(builder, given[1]):
            _add_vector(context, builder, signature.args[0], given[0], at, added)
        return context.get_dummy_value()

    return types.void(sums, places, pairs, i), build


@intrinsic
def double_of_bits(_, bits):  # noqa: ARG001 - numba reads the types of what `build` is given
    """Return the float64 that has the bits of an int64."""

    def build(_context, builder, _signature, given):
        return builder.bitcast(given[0], ir.DoubleType())

    return types.float64(types.int64), build


@intrinsic
def bits_of_double(_, value):  # noqa: ARG001 - numba reads the types of what `build` is given
    """Return the bits of a float64 as an int64."""

    def build(_context, builder, _signature, given):
        return builder.bitcast(given[0], _LONG)

    return types.int64(types.float64), build


@intrinsic
def multiply_by_power_of_two(_, value, shifted):  # noqa: ARG001 - numba reads the types of what `build` is given
    """Return value · 2ⁿ, where the lowest bits of the float32 ``shifted`` are the integer n."""

    def build(_context, builder, _signature, given):
        value, shifted = (builder.bitcast(one, _INT) for one in given)
        bits = builder.add(value, builder.shl(shifted, _INT(MANTISSA)))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(types.float32, types.float32), build


@intrinsic
def first_bit(_, bits):  # noqa: ARG001 - numba reads the types of what `build` is given
    """Return the index of the lowest set bit of a uint64, int64; 64 if there is none."""

    def build(_context, builder, _signature, given):
        return builder.cttz(given[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), build


@intrinsic
def add_atomic(_, array, index, amount):  # noqa: ARG001 - numba reads the types of what `build` is given
    """Add to an int64 entry atomically; return the previous value."""

    def build(context, builder, signature, given):
        address = _entry(context, builder, signature.args[0], given[0], given[1])
        return builder.atomic_rmw("add", address, given[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), build


@intrinsic
def load_atomic(_, array, index):  # noqa: ARG001 - numba reads the types of what `build` is given
    """Load an int64 entry atomically."""

    def build(context, builder, signature, given):
        address = _entry(context, builder, signature.args[0], given[0], given[1])
        return builder.load_atomic(address, "seq_cst", 8)

    return types.int64(array, types.int64), build


@intrinsic
def pause(_):
    """Execute the processor's hint for waiting loops, which frees its core for other threads."""

    def build(context, builder, _signature, _given):
        name, given = PAUSES.get(platform.machine().lower(), ("", []))
        if name:
            kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), given)
        return context.get_dummy_value()

    return types.void(), build


yield_processor = types.ExternalFunction("sched_yield", types.int32())
