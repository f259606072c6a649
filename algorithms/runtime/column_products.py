"""Numba intrinsic for sums of products of columns: the equations of linear leaves.

In a loop of numba, each addition to a sum waits for the previous one. Here the sums of four pairs
of columns are independent, so the processor computes them at the same time.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

ir = cgutils.ir  # llvmlite's, a dependency of numba
COLUMNS = 4  # columns whose products with another one are summed together
STEP = 4  # rows whose products are computed at a time, and number of partial sums
_DOUBLE = ir.DoubleType()
_FOUR = ir.VectorType(_DOUBLE, STEP)
_INT = ir.IntType(32)


def _load(context, builder, kind, array, index):
    """Return the entries index … index + 3 of a float64 array."""
    data = context.make_array(kind)(context, builder, array).data
    address = builder.bitcast(builder.gep(data, [index]), _FOUR.as_pointer())
    return builder.load(address, align=8)


def _add_halves(builder, four):
    """Return the sum (a + b) + (c + d) of a vector's numbers."""
    a, b, c, d = (builder.extract_element(four, _INT(k)) for k in range(STEP))
    return builder.fadd(builder.fadd(a, b), builder.fadd(c, d))


@intrinsic
def sum_products(_, x, x_at, y, y_at, stride, count):
    """Return Σ x[x_at + i] y[y_at + c · stride + i] over i < count, for c = 0 … 3.

    Each sum is (a + b) + (c + d), where a is the sum of the products 0, 4, 8, …, b of 1, 5, 9, … .

    Parameters
    ----------
    x, y : float64, C-contiguous; indices are not checked
    x_at, y_at, stride : uint64
    count : uint64, a multiple of `STEP`, above 0
    """

    def build(context, builder, signature, given):
        kinds = signature.args
        x, x_at, y, y_at, stride, count = given
        zeros = ir.Constant(_FOUR, [0.0] * STEP)
        places = [y_at]
        while len(places) < COLUMNS:
            places.append(builder.add(places[-1], stride))
        before = builder.block
        loop, end = (builder.append_basic_block(name) for name in ("rows", "sums"))
        builder.branch(loop)
        builder.position_at_end(loop)
        i = builder.phi(count.type)
        sums = [builder.phi(_FOUR) for _ in places]
        own = _load(context, builder, kinds[0], x, builder.add(x_at, i))
        others = [_load(context, builder, kinds[2], y, builder.add(at, i)) for at in places]
        new = [
            builder.fadd(old, builder.fmul(own, other))
            for old, other in zip(sums, others, strict=True)
        ]
        following = builder.add(i, count.type(STEP))
        starts = count.type(0), *[zeros] * COLUMNS
        for phi, first, later in zip((i, *sums), starts, (following, *new), strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(later, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, count), loop, end)
        builder.position_at_end(end)
        found = [_add_halves(builder, four) for four in new]
        return context.make_tuple(builder, signature.return_type, found)

    kinds = x, x_at, y, y_at, stride, count
    return types.UniTuple(types.float64, COLUMNS)(*kinds), build
