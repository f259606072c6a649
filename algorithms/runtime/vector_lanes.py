"""Numba intrinsics for eight or sixteen numbers at a time: sums and scores of vector leaves.

Numba vectorizes loops over many numbers, not the few lanes of a histogram entry. Each intrinsic
compiles to the processor's vector instructions. The order of all operations, and so the result,
does not depend on the processor.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

ir = cgutils.ir  # llvmlite's, which numba brings
WIDTH = 8  # lanes of a vector
_DOUBLE = ir.DoubleType()
_EIGHT = ir.VectorType(_DOUBLE, WIDTH)
INT = ir.IntType(32)
EIGHT_INTS = ir.VectorType(INT, WIDTH)
_SIXTEEN_INTS = ir.VectorType(INT, 2 * WIDTH)
EIGHT_SINGLES = ir.VectorType(ir.FloatType(), WIDTH)
_SIXTEEN_SINGLES = ir.VectorType(ir.FloatType(), 2 * WIDTH)


class VectorBuilder:
    """Instructions on vectors of eight numbers.

    Parameters
    ----------
    context, builder : of numba
    kind : type of a vector of numbers: float64 or float32
    """

    def __init__(self, context, builder, kind=_EIGHT):
        self.context, self.builder, self.kind = context, builder, kind
        self.zeros, self.ones = (ir.Constant(kind, [number] * WIDTH) for number in (0.0, 1.0))

    def address(self, kind, array, index, vector):
        """Return the address of an array's entries index … index + 7."""
        data = self.context.make_array(kind)(self.context, self.builder, array).data
        return self.builder.bitcast(self.builder.gep(data, [index]), vector.as_pointer())

    def load(self, kind, array, index, vector=EIGHT_INTS):
        """Return an array's entries index … index + 7."""
        return self.builder.load(self.address(kind, array, index, vector), align=4)

    def scaled(self, whole, kind, units, index):
        """Return integers times units[index : index + 8]."""
        units = self.load(kind, units, index, self.kind)
        return self.builder.fmul(self.builder.sitofp(whole, self.kind), units)

    def splat(self, number):
        """Return a vector of eight equal numbers, which may be integers."""
        vector = ir.Constant(ir.VectorType(number.type, WIDTH), ir.Undefined)
        first = self.builder.insert_element(vector, number, INT(0))
        return self.pick(first, first, [0] * WIDTH)

    def pick(self, first, second, numbers):
        """Return a vector of the numbered entries of two vectors, one after the other."""
        places = ir.Constant(ir.VectorType(INT, len(numbers)), list(numbers))
        return self.builder.shuffle_vector(first, second, places)

    def join(self, first, second):
        """Return two vectors of eight numbers as one."""
        return self.pick(first, second, range(2 * WIDTH))

    def halves(self, vector):
        """Return both halves of a vector of sixteen numbers."""
        return [self.pick(vector, vector, range(k, k + WIDTH)) for k in (0, WIDTH)]

    def has_true(self, flags):
        """Return whether a vector of eight booleans has a true one."""
        bits = ir.IntType(WIDTH)
        return self.builder.icmp_unsigned("!=", self.builder.bitcast(flags, bits), bits(0))

    def shrunk_squares(self, g, alpha):
        """Return T(g)² of vectors g and α."""
        negative = self.builder.fsub(self.zeros, g)
        is_positive = self.builder.fcmp_ordered(">", g, self.zeros)
        size = self.builder.fsub(self.builder.select(is_positive, g, negative), alpha)
        size = self.builder.select(
            self.builder.fcmp_ordered(">", size, self.zeros), size, self.zeros
        )
        return self.builder.fmul(size, size)

    def values_and_sizes(self, g, h, limits):
        """Return T(g)² and h + λ; 0 and 1 where h is too small.

        Parameters
        ----------
        g, h : vectors
        limits : vectors of the minimum of h, of λ and of α
        """
        least, reg_lambda, reg_alpha = limits
        has_value = self.builder.fcmp_ordered(">=", h, least)
        squares = self.builder.select(has_value, self.shrunk_squares(g, reg_alpha), self.zeros)
        return squares, self.builder.select(has_value, self.builder.fadd(h, reg_lambda), self.ones)

    def total(self, vector):
        """Return the sum of a vector's numbers, added in halves."""
        count = WIDTH
        while count > 1:
            count //= 2
            halves = [
                self.builder.shuffle_vector(
                    vector, vector, ir.Constant(ir.VectorType(INT, count), list(lanes))
                )
                for lanes in (range(count), range(count, 2 * count))
            ]
            vector = self.builder.fadd(*halves)
        return self.builder.extract_element(vector, INT(0))


@intrinsic
def add_eight(_, target, at, source, start):
    """Add source[start : start + 8] to target[at : at + 8], int32; indices are not checked."""

    def build(context, builder, signature, given):
        lanes, kinds = VectorBuilder(context, builder), signature.args
        old = lanes.load(kinds[0], given[0], given[1])
        new = builder.add(old, lanes.load(kinds[2], given[2], given[3]))
        builder.store(new, lanes.address(kinds[0], given[0], given[1], EIGHT_INTS), align=4)
        return context.get_dummy_value()

    return types.void(target, at, source, start), build


@intrinsic
def add_sixteen(_, target, firsts, codes, columns, source, start):
    """Add source[start : start + 16] to the entry of each of some columns.

    Parameters
    ----------
    target, source : int32; indices are not checked
    firsts : tuple of int64, first entry of each of the columns
    codes : (bins, at)
        uint8, and the flat index of column 0 of a row, uint64.
    columns : tuple of int64
    start : uint64
    """

    def build(context, builder, signature, given):
        lanes, kinds = VectorBuilder(context, builder), signature.args
        target, firsts, codes, columns, source, start = given
        bins, at = cgutils.unpack_tuple(builder, codes)
        bin_data = context.make_array(kinds[2][0])(context, builder, bins).data
        added = lanes.load(kinds[4], source, start, _SIXTEEN_INTS)
        pairs = [cgutils.unpack_tuple(builder, one) for one in (firsts, columns)]
        for first, column in zip(*pairs, strict=True):
            code = builder.load(builder.gep(bin_data, [builder.add(at, column)]))
            entry = builder.add(first, builder.zext(code, first.type))
            place = builder.mul(entry, entry.type(2 * WIDTH))
            new = builder.add(added, lanes.load(kinds[0], target, place, _SIXTEEN_INTS))
            builder.store(new, lanes.address(kinds[0], target, place, _SIXTEEN_INTS), align=4)
        return context.get_dummy_value()

    return types.void(target, firsts, codes, columns, source, start), build


@intrinsic
def load_each(_, array, indices):
    """Return the entries of a one-dimensional array at a tuple of indices, as a tuple."""

    def build(context, builder, signature, given):
        data = context.make_array(signature.args[0])(context, builder, given[0]).data
        indices = cgutils.unpack_tuple(builder, given[1])
        loaded = [builder.load(builder.gep(data, [index])) for index in indices]
        return context.make_tuple(builder, signature.return_type, loaded)

    return types.UniTuple(array.dtype, len(indices))(array, indices), build


@intrinsic
def copy_eight(_, target, at, source, start):
    """Copy source[start : start + 8] to target[at : at + 8], int32; indices are not checked."""

    def build(context, builder, signature, given):
        lanes, kinds = VectorBuilder(context, builder), signature.args
        new = lanes.load(kinds[2], given[2], given[3])
        builder.store(new, lanes.address(kinds[0], given[0], given[1], EIGHT_INTS), align=4)
        return context.get_dummy_value()

    return types.void(target, at, source, start), build


@intrinsic
def subtract_eight(_, target, at, source, start):
    """Subtract source[start : start + 8] from target[at : at + 8], int32."""

    def build(context, builder, signature, given):
        lanes, kinds = VectorBuilder(context, builder), signature.args
        old = lanes.load(kinds[0], given[0], given[1])
        new = builder.sub(old, lanes.load(kinds[2], given[2], given[3]))
        builder.store(new, lanes.address(kinds[0], given[0], given[1], EIGHT_INTS), align=4)
        return context.get_dummy_value()

    return types.void(target, at, source, start), build


@intrinsic
def clear_eight(_, target, at):
    """Set target[at : at + 8], int32, to 0; indices are not checked."""

    def build(context, builder, signature, given):
        lanes = VectorBuilder(context, builder)
        address = lanes.address(signature.args[0], *given, EIGHT_INTS)
        builder.store(ir.Constant(EIGHT_INTS, [0] * WIDTH), address, align=4)
        return context.get_dummy_value()

    return types.void(target, at), build


@intrinsic
def transpose_eight(_, target, at, source, start):
    """Write eight numbers of each of eight rows of ``source`` as eight rows of ``target``.

    Parameters
    ----------
    target, source : int32, C-contiguous, two dimensions
    at, start : uint64, flat indices of the first number; they are not checked
    """

    def build(context, builder, signature, given):
        lanes, kinds = VectorBuilder(context, builder), signature.args
        target, at, source, start = given
        widths = [
            builder.extract_value(context.make_array(kind)(context, builder, array).shape, 1)
            for kind, array in ((kinds[0], target), (kinds[2], source))
        ]
        rows = [
            lanes.load(kinds[2], source, builder.add(start, builder.mul(widths[1], at.type(k))))
            for k in range(WIDTH)
        ]
        for distance in (1, 2, 4):  # exchanges blocks of this size, as in a butterfly network
            for k in range(WIDTH):
                if not k & distance:
                    pair = rows[k], rows[k + distance]
                    rows[k], rows[k + distance] = _exchange(builder, *pair, distance)
        for k, row in enumerate(rows):
            place = builder.add(at, builder.mul(widths[0], at.type(k)))
            builder.store(row, lanes.address(kinds[0], target, place, EIGHT_INTS), align=4)
        return context.get_dummy_value()

    return types.void(target, at, source, start), build


def _exchange(builder, first, second, distance):
    """Exchange the later blocks of one vector for the earlier blocks of another one."""
    own = [k if not k & distance else k - distance + WIDTH for k in range(WIDTH)]
    other = [k + distance if not k & distance else k + WIDTH for k in range(WIDTH)]
    kind = ir.VectorType(INT, WIDTH)
    return [builder.shuffle_vector(first, second, ir.Constant(kind, one)) for one in (own, other)]


@intrinsic
def is_zero(_, values, at):
    """Return whether values[at : at + 8], int32, are all 0."""

    def build(context, builder, signature, given):
        lanes = VectorBuilder(context, builder)
        own = lanes.load(signature.args[0], *given)
        differs = builder.icmp_signed("!=", own, ir.Constant(EIGHT_INTS, [0] * WIDTH))
        return builder.not_(lanes.has_true(differs))

    return types.boolean(values, at), build


@intrinsic
def score_eight(_, side, totals, units, at, h_at, limits):
    """Return the sum of the scores of both sides of a threshold, for eight outputs.

    Parameters
    ----------
    side, totals : int32, sums of one side and of the node
    units : float64, unit of each lane
    at, h_at : uint64, index of the first G and of the first H
    limits : three numbers: the minimum H of a side that has a value, λ and α
    """

    def build(context, builder, signature, given):
        lanes, kinds = VectorBuilder(context, builder), signature.args
        side, totals, units, at, h_at, limits = given
        limits = [lanes.splat(builder.extract_value(limits, k)) for k in range(3)]
        sums = []
        for index in (at, h_at):
            own = lanes.load(kinds[0], side, index)
            other = builder.sub(lanes.load(kinds[1], totals, index), own)
            sums.append([lanes.scaled(one, kinds[2], units, index) for one in (own, other)])
        sides = [lanes.values_and_sizes(*one, limits) for one in zip(*sums, strict=True)]
        scores = [builder.fdiv(*one) for one in sides]
        return lanes.total(builder.fadd(*scores))

    return types.float64(side, totals, units, at, h_at, limits), build


def _approximate(lanes, sums, totals, constants):
    """Return the approximate score of a threshold, float32; see `score_group`.

    Both sides are computed in one vector.

    Parameters
    ----------
    lanes : VectorBuilder of float32
    sums, totals : vectors of sixteen integers, G and H of one side and of the node
    constants : vectors of sixteen numbers, the same for both sides, and the factor of the score
    """
    builder, (unit_h, least, reg_lambda, weight) = lanes.builder, constants
    zeros, ones = (ir.Constant(_SIXTEEN_SINGLES, [number] * 2 * WIDTH) for number in (0.0, 1.0))
    sides = [builder.sitofp(one, _SIXTEEN_SINGLES) for one in (sums, builder.sub(totals, sums))]
    g = lanes.pick(*sides, [*range(WIDTH), *range(2 * WIDTH, 3 * WIDTH)])
    h = lanes.pick(*sides, [*range(WIDTH, 2 * WIDTH), *range(3 * WIDTH, 4 * WIDTH)])
    scaled = builder.fmul(h, unit_h)
    has_value = builder.fcmp_ordered(">=", scaled, least)
    squares = builder.select(has_value, builder.fmul(g, g), zeros)
    sizes = builder.select(has_value, builder.fadd(scaled, reg_lambda), ones)
    other_sizes = lanes.pick(sizes, sizes, [*range(WIDTH, 2 * WIDTH), *range(WIDTH)])
    products = lanes.halves(builder.fmul(squares, other_sizes))
    score = builder.fdiv(builder.fadd(*products), builder.fmul(*lanes.halves(sizes)))
    return lanes.total(builder.fmul(score, weight))


@intrinsic
def score_group(_, bins, entry, count, sides, lane, constants):
    """Add the approximate scores of eight outputs to each threshold; return the highest sum.

    Scores are float32, without α, with one division. Running sums and constants stay in registers.

    Parameters
    ----------
    bins : (cells, numbers)
        int32 histogram, and int64 (count,), bins in scan order.
    entry : uint64, histogram entry of bin 0
    count : uint64, number of thresholds
    sides : (totals, scores)
        int32 (2 n,), sums of the node; float32 (count,), added to, NaN becomes ∞.
    lane : uint64, lane of the first G; at lane 0 scores are written instead of added
    constants : four float32 (n,), by output
        Factor of H, minimum H, λ and factor of the score. H is at lane + n.
    """

    def build(context, builder, signature, given):
        lanes, kinds = VectorBuilder(context, builder, EIGHT_SINGLES), signature.args
        bins, entry, count, sides, lane, constants = given
        own, numbers = cgutils.unpack_tuple(builder, bins)
        totals, scores = cgutils.unpack_tuple(builder, sides)
        (own_kind, numbers_kind), (totals_kind, scores_kind) = kinds[0], kinds[3]
        arrays, one_kind = cgutils.unpack_tuple(builder, constants), kinds[5][0]
        n = context.make_array(one_kind)(context, builder, arrays[0]).nitems
        values = [lanes.load(one_kind, array, lane, EIGHT_SINGLES) for array in arrays]
        places = lane, builder.add(lane, n)
        whole = lanes.join(*[lanes.load(totals_kind, totals, place) for place in places])
        values = [*[lanes.join(one, one) for one in values[:3]], values[3]]
        number_data, score_data = (
            context.make_array(kind)(context, builder, array).data
            for kind, array in ((numbers_kind, numbers), (scores_kind, scores))
        )
        single = ir.FloatType()
        lowest, infinite = single(float("-inf")), single(float("inf"))
        is_first = builder.icmp_unsigned("==", lane, lane.type(0))
        before = builder.block
        loop, end = (builder.append_basic_block(name) for name in ("thresholds", "scored"))
        builder.cbranch(builder.icmp_unsigned("==", count, count.type(0)), end, loop)
        builder.position_at_end(loop)
        k = builder.phi(count.type)
        sums, highest = builder.phi(_SIXTEEN_INTS), builder.phi(single)
        number = builder.load(builder.gep(number_data, [k]))
        stride = builder.add(n, n)
        source = builder.mul(builder.add(entry, number), stride)
        following = builder.add(k, count.type(1))
        added = [lanes.load(own_kind, own, builder.add(source, place)) for place in places]
        new = builder.add(sums, lanes.join(*added))
        score = _approximate(lanes, new, whole, values)
        place = builder.gep(score_data, [k])
        earlier = builder.select(is_first, single(0.0), builder.load(place))
        score = builder.fadd(earlier, score)
        is_number = builder.fcmp_ordered("ord", score, score)
        score = builder.select(is_number, score, infinite)
        builder.store(score, place)
        higher = builder.select(builder.fcmp_ordered(">", score, highest), score, highest)
        for phi, start, later in zip(
            (k, sums, highest),
            (k.type(0), _SIXTEEN_INTS(None), lowest),
            (following, new, higher),
            strict=True,
        ):
            phi.add_incoming(start, before)
            phi.add_incoming(later, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, count), loop, end)
        builder.position_at_end(end)
        found = builder.phi(single)
        found.add_incoming(lowest, before)
        found.add_incoming(higher, loop)
        return found

    return types.float32(bins, entry, count, sides, lane, constants), build


@intrinsic
def sum_prefixes(_, sums, bins, entry, count, lane):
    """Write running sums of eight lanes of the listed bins to rows 1 … count of ``sums``.

    Parameters
    ----------
    sums : int32 (MAX_BINS + 1, lanes), written
    bins, entry, count : as in `score_group`
    lane : uint64, the first lane
    """

    def build(context, builder, signature, given):
        lanes, kinds = VectorBuilder(context, builder), signature.args
        sums, bins, entry, count, lane = given
        (own, numbers), (own_kind, numbers_kind) = cgutils.unpack_tuple(builder, bins), kinds[1]
        shape = context.make_array(kinds[0])(context, builder, sums).shape
        stride = builder.extract_value(shape, 1)
        number_data = context.make_array(numbers_kind)(context, builder, numbers).data
        before = builder.block
        loop, end = (builder.append_basic_block(name) for name in ("bins", "added"))
        builder.cbranch(builder.icmp_unsigned("==", count, count.type(0)), end, loop)
        builder.position_at_end(loop)
        k, old = builder.phi(count.type), builder.phi(EIGHT_INTS)
        following = builder.add(k, count.type(1))
        number = builder.load(builder.gep(number_data, [k]))
        source = builder.add(builder.mul(builder.add(entry, number), stride), lane)
        new = builder.add(old, lanes.load(own_kind, own, source))
        place = builder.add(builder.mul(following, stride), lane)
        builder.store(new, lanes.address(kinds[0], sums, place, EIGHT_INTS), align=4)
        for phi, start, later in (
            (k, count.type(0), following),
            (old, ir.Constant(EIGHT_INTS, None), new),
        ):
            phi.add_incoming(start, before)
            phi.add_incoming(later, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, count), loop, end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return types.void(sums, bins, entry, count, lane), build


@intrinsic
def sum_squares(_, side, totals, units, at, limits):
    """Return the sums of T(G)² of eight outputs on both sides of a threshold.

    Parameters
    ----------
    side, totals, limits : as in `score_eight`
    units : float64, unit of each lane; 0 in lanes that are not of G
    at : uint64, index of the first G
    """

    def build(context, builder, signature, given):
        lanes, kinds = VectorBuilder(context, builder), signature.args
        side, totals, units, at, limits = given
        reg_alpha = lanes.splat(builder.extract_value(limits, 2))
        own = lanes.load(kinds[0], side, at)
        other = builder.sub(lanes.load(kinds[1], totals, at), own)
        found = []
        for one in (own, other):
            g = lanes.scaled(one, kinds[2], units, at)
            found.append(lanes.total(lanes.shrunk_squares(g, reg_alpha)))
        return context.make_tuple(builder, signature.return_type, found)

    pair = types.UniTuple(types.float64, 2)
    return pair(side, totals, units, at, limits), build


@intrinsic
def sum_sizes(_, values, first, count):
    """Return Σ |values[first : first + count]|, float64; eight partial sums.

    Parameters
    ----------
    values : float32, C-contiguous; indices are not checked
    first : uint64
    count : uint64, a multiple of eight, above 0
    """

    def build(context, builder, signature, given):
        lanes, (values, first, count) = VectorBuilder(context, builder), given
        before = builder.block
        loop, end = (builder.append_basic_block(name) for name in ("sizes", "summed"))
        builder.branch(loop)
        builder.position_at_end(loop)
        i, old = builder.phi(count.type), builder.phi(_EIGHT)
        own = lanes.load(signature.args[0], values, builder.add(first, i), EIGHT_SINGLES)
        own = builder.fpext(own, _EIGHT)
        is_negative = builder.fcmp_ordered("<", own, lanes.zeros)
        size = builder.select(is_negative, builder.fsub(lanes.zeros, own), own)
        new, following = builder.fadd(old, size), builder.add(i, count.type(WIDTH))
        for phi, start, later in ((i, count.type(0), following), (old, lanes.zeros, new)):
            phi.add_incoming(start, before)
            phi.add_incoming(later, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, count), loop, end)
        builder.position_at_end(end)
        return lanes.total(new)

    return types.float64(values, first, count), build
