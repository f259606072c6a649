"""Numba intrinsics for eight packed histogram entries at a time.

An entry is an int64 with the sum of g in its upper and that of h in its lower 32 bits. LLVM
vectorizes loops over 16 or 32 entries and leaves the rest to a scalar loop; many columns have fewer
bins. These intrinsics read and write whole groups of eight entries, so the entries of a column must
be followed by unused ones up to a multiple of eight.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from algorithms.runtime.vector_lanes import EIGHT_INTS, EIGHT_SINGLES, INT, WIDTH, VectorBuilder

ir = cgutils.ir  # llvmlite's, which numba brings
_LONG = ir.IntType(64)
_FOUR = ir.VectorType(_LONG, WIDTH // 2)
_ORDER = [0, 1, 4, 5, 2, 3, 6, 7]  # thresholds in the lanes of a test; one shuffle gives this order


def _cumulate(lanes, four):
    """Return the cumulative sums of four numbers, and their total in all four lanes."""
    zeros = ir.Constant(_FOUR, [0] * 4)
    four = lanes.builder.add(four, lanes.pick(four, zeros, [4, 0, 1, 2]))
    four = lanes.builder.add(four, lanes.pick(four, zeros, [4, 4, 0, 1]))
    return four, lanes.pick(four, zeros, [3, 3, 3, 3])


class _ThresholdTest:
    """Test of the thresholds of a leaf.

    Parameters
    ----------
    lanes : VectorBuilder
    limits : six float32, of `narrow_leaf.score_limits`
    factor : float32, of `narrow_leaf.factor_to_exceed`
    """

    def __init__(self, lanes, limits, factor):
        self.lanes, self.builder = lanes, lanes.builder
        numbers = *[self.builder.extract_value(limits, k) for k in range(6)], factor
        self.limits = [lanes.splat(number) for number in numbers]

    def is_used(self, count):
        """Return which lanes hold the first ``count`` thresholds, an int64, of a group."""
        count = self.lanes.splat(self.builder.trunc(count, INT))
        return self.builder.icmp_signed("<", ir.Constant(EIGHT_INTS, _ORDER), count)

    def exceeds(self, sums):
        """Return which thresholds are allowed and may have a score above the bound.

        ``sums`` are two vectors with the cumulative sums of four entries.
        """
        builder = self.builder
        slope, reg_lambda, margin, most_h, least, most, factor = self.limits
        halves = [builder.bitcast(four, EIGHT_INTS) for four in sums]
        h, g = (
            builder.sitofp(
                self.lanes.pick(*halves, [side + k for k in (0, 2, 8, 10, 4, 6, 12, 14)]),
                EIGHT_SINGLES,
            )
            for side in range(2)
        )
        is_allowed = builder.and_(
            builder.fcmp_ordered(">=", h, least), builder.fcmp_ordered("<=", h, most)
        )
        h = builder.fadd(h, reg_lambda)
        distance = builder.fsub(g, builder.fmul(slope, h))
        size = builder.and_(
            builder.bitcast(distance, EIGHT_INTS), ir.Constant(EIGHT_INTS, [0x7FFFFFFF] * WIDTH)
        )
        distance = builder.fadd(builder.bitcast(size, EIGHT_SINGLES), margin)
        product = builder.fmul(builder.fmul(factor, h), builder.fsub(most_h, h))
        exceeds = builder.fcmp_unordered(">=", builder.fmul(distance, distance), product)
        return builder.and_(exceeds, is_allowed)


@intrinsic
def take_sums(_, entries, first, count, sums, rest, limits, factors):
    """Take the cumulative sums of entries, subtract them from the parent's, and test both.

    The last of the ``count`` sums is not a threshold.

    Parameters
    ----------
    entries : int64; entries[first : first + count] are read and set to 0
    first, count : uint64; ``count`` is rounded up to a multiple of eight, except for the tests
    sums : int64; the cumulative sums are written to sums[: count]
    rest : int64; the cumulative sums are subtracted from rest[first : first + count]
    limits, factors : pairs of the arguments of `_ThresholdTest`, for ``sums`` and for ``rest``

    Returns
    -------
    Two booleans: whether a threshold of ``sums``, and of ``rest``, may have a score above the bound
    """

    def build(context, builder, signature, given):
        entries, first, count, sums, rest, limits, factors = given
        lanes, kinds, four = VectorBuilder(context, builder), signature.args, _LONG(WIDTH // 2)
        zeros = ir.Constant(_FOUR, [0] * 4)
        pairs = (cgutils.unpack_tuple(builder, two) for two in (limits, factors))
        tests = [_ThresholdTest(lanes, *pair) for pair in zip(*pairs, strict=True)]
        n_thresholds = builder.sub(count, _LONG(1))
        total = cgutils.alloca_once_value(builder, zeros)
        no_lanes = ir.Constant(ir.VectorType(ir.IntType(1), WIDTH), [False] * WIDTH)
        flags = [cgutils.alloca_once_value(builder, no_lanes) for _ in tests]
        with cgutils.for_range_slice(builder, _LONG(0), count, _LONG(WIDTH), _LONG) as (at, _count):
            taken = [], []
            for k in range(2):
                place = builder.add(at, four) if k else at
                here = builder.add(first, place)
                own = lanes.address(kinds[0], entries, here, _FOUR)
                below, more = _cumulate(lanes, builder.load(own, align=8))
                builder.store(zeros, own, align=8)
                before = builder.load(total)
                below = builder.add(below, before)
                builder.store(builder.add(before, more), total)
                to = lanes.address(kinds[3], sums, place, _FOUR)
                builder.store(below, to, align=8)
                other = lanes.address(kinds[4], rest, here, _FOUR)
                left = builder.sub(builder.load(other, align=8), below)
                builder.store(left, other, align=8)
                taken[0].append(below)
                taken[1].append(left)
            is_used = tests[0].is_used(builder.sub(n_thresholds, at))
            for test, own, flag in zip(tests, taken, flags, strict=True):
                exceeds = builder.and_(test.exceeds(own), is_used)
                builder.store(builder.or_(builder.load(flag), exceeds), flag)
        found = [lanes.has_true(builder.load(flag)) for flag in flags]
        return context.make_tuple(builder, signature.return_type, found)

    pair = types.UniTuple(types.boolean, 2)
    return pair(entries, first, count, sums, rest, limits, factors), build


@intrinsic
def any_exceeds(_, sums, at, last, limits, factor):
    """Return whether a threshold may have a score above a bound.

    Parameters
    ----------
    sums : int64, cumulative sums; the thresholds at … at + 7 are tested
    at : uint64
    last : uint64, number of thresholds; those from there on are ignored
    limits, factor : as in `_ThresholdTest`
    """

    def build(context, builder, signature, given):
        sums, at, last, *limits = given
        lanes, taken = VectorBuilder(context, builder), []
        test = _ThresholdTest(lanes, *limits)
        for k in range(2):
            place = builder.add(at, _LONG(k * WIDTH // 2))
            address = lanes.address(signature.args[0], sums, place, _FOUR)
            taken.append(builder.load(address, align=8))
        exceeds = builder.and_(test.exceeds(taken), test.is_used(builder.sub(last, at)))
        return lanes.has_true(exceeds)

    return types.boolean(sums, at, last, limits, factor), build
