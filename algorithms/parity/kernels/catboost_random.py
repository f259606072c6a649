"""CatBoost's generator of random numbers, and the weights of rows that it draws.

A generator consists of two permuted congruential generators (O'Neill 2014, PCG-XSH-RR). Each has
the state x ← 6364136223846793005 x + c modulo 2⁶⁴ with an odd c, and outputs 32 bits of x. A number
has 64 bits: the output of the first one is its high half. A state is uint64 (4,): x and c of the
first one, then x and c of the second one.
"""

import math

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel

MULTIPLIER = np.uint64(6364136223846793005)
ZERO, ONE, LARGEST = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
LOW_32, LOW_31 = np.uint64(0xFFFFFFFF), np.uint64(0x7FFFFFFF)
HALF = np.uint64(32)
REAL_SHIFT, REAL_STEP = np.uint64(11), 1.0 / 9007199254740991.0
XOR_SHIFT, OUTPUT_SHIFT, ROTATION_SHIFT = np.uint64(18), np.uint64(27), np.uint64(59)
WARM_UP = 10  # numbers that a generator of a block drops first
GRADIENT_BLOCK, BAYESIAN_BLOCK = 8192, 1000  # rows that share a generator
MIN_PROBABILITY = np.finfo(np.float64).eps


@inner_kernel
def output_of(x):
    """Return the 32-bit output of one state, as uint64: shifted bits rotated to the right."""
    bits = (((x >> XOR_SHIFT) ^ x) >> OUTPUT_SHIFT) & LOW_32
    rotation = x >> ROTATION_SHIFT
    return ((bits >> rotation) | (bits << (HALF - rotation))) & LOW_32


@inner_kernel
def next_number(state):
    """Return the next number, uint64."""
    state[0] = state[0] * MULTIPLIER + state[1]
    state[2] = state[2] * MULTIPLIER + state[3]
    return (output_of(state[0]) << HALF) | output_of(state[2])


@inner_kernel
def next_real(state):
    """Return the next number between 0 and 1, both included."""
    return np.float64(next_number(state) >> REAL_SHIFT) * REAL_STEP


@inner_kernel
def next_normal(state):
    """Return the next normal number, by Marsaglia's polar method; half of each pair is unused."""
    while True:
        x = next_real(state) * 2.0 - 1.0
        y = next_real(state) * 2.0 - 1.0
        square = x * x + y * y
        if 0.0 < square <= 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)


@inner_kernel
def set_seed(seed, n_dropped, state):
    """Write the state that belongs to a seed, uint64, after some numbers that are dropped.

    A third generator, with c = 1, draws x and c of both generators.
    """
    x, other = seed, ZERO
    for part in range(2):
        x = x * MULTIPLIER + ONE
        low = output_of(x)
        x = x * MULTIPLIER + ONE
        state[2 * part] = (output_of(x) << HALF) | low
        x = x * MULTIPLIER + ONE
        sequence = output_of(x)
        if part == 1 and (sequence & LOW_31) == (other & LOW_31):
            sequence = sequence ^ LOW_32
        state[2 * part + 1] = (sequence << ONE) | ONE
        other = sequence
    for _ in range(n_dropped):
        next_number(state)


@kernel
def seed_generator(seed, state):
    """Write the state of the generator that belongs to a seed, uint64."""
    set_seed(seed, 0, state)


@kernel
def draw_numbers(state, out):
    """Write the next numbers, uint64."""
    for i in range(len(out)):
        out[i] = next_number(state)


@kernel
def draw_reals(state, out):
    """Write the next numbers between 0 and 1, float64."""
    for i in range(len(out)):
        out[i] = next_real(state)


@kernel
def draw_normals(state, out):
    """Write the next normal numbers, float64."""
    for i in range(len(out)):
        out[i] = next_normal(state)


@kernel
def shuffle(state, order):
    """Shuffle an array: each place is exchanged with a random one up to it, by whole numbers."""
    for i in range(1, len(order)):
        count = np.uint64(i + 1)
        limit = LARGEST - LARGEST % count
        number = next_number(state)
        while number >= limit:
            number = next_number(state)
        j = np.int64(number % count)
        order[i], order[j] = order[j], order[i]


@inner_kernel
def move_to_front(values, low, high, pivot, with_equal):
    """Move the values below the pivot, or up to it, to the front; return where the others begin.

    The first value in the wrong place is exchanged with the last one in the wrong place.
    """
    while True:
        while low < high and (values[low] < pivot or (with_equal and values[low] == pivot)):
            low += 1
        if low == high:
            return low
        high -= 1
        while low < high and not (values[high] < pivot or (with_equal and values[high] == pivot)):
            high -= 1
        if low == high:
            return low
        values[low], values[high] = values[high], values[low]
        low += 1


@inner_kernel
def find_threshold(values, n, wanted):
    """Return μ with Σ min(1, v / μ) = wanted over n values; they are reordered.

    The pivot is always the first value that is left, and sums follow the order of the values.
    """
    low, high = 0, n
    small, n_large = 0.0, 0
    while True:
        pivot = values[low]
        middle = move_to_front(values, low, high, pivot, False)
        end = move_to_front(values, middle, high, pivot, True)
        below = 0.0
        for i in range(low, middle):
            below += values[i]
        n_equal, n_above = end - middle, high - end
        equal = n_equal * pivot
        if (small + below) / pivot + n_large + n_above + n_equal > wanted:
            if end == high:
                return (small + below + equal) / (wanted - n_large)
            small += equal + below
            low = end
        else:
            if middle == low:
                return small / (wanted - n_large - n_equal - n_above)
            n_large += n_above + n_equal
            high = middle


@inner_kernel
def squared_gradient(g, i):
    """Return Σ g² of a row."""
    total = 0.0
    for k in range(len(g)):
        total += g[k, i] * g[k, i]
    return total


@kernel
def draw_by_gradients(g, share, l2, seed, values, state, out, first, last):
    """Write the weights that minimal variance sampling draws in the blocks first … last − 1.

    Parameters
    ----------
    g : float64 (n_outputs, n_rows)
    share : float32, fraction of the rows to keep
    l2 : λ
    seed : uint64
    values : (GRADIENT_BLOCK,) float64, scratch space
    state : uint64 (4,), scratch space
    out : float32 (n_rows,), written: 0 for rows that are left out
    """
    n_rows = g.shape[1]
    for block in range(first, last):
        set_seed(seed + np.uint64(block), WARM_UP, state)
        start, end = block * GRADIENT_BLOCK, min((block + 1) * GRADIENT_BLOCK, n_rows)
        for i in range(start, end):
            total = l2
            for k in range(len(g)):
                total += g[k, i] * g[k, i]
            values[i - start] = math.sqrt(total)
        wanted = np.float64(share * np.float32(end - start))
        threshold = find_threshold(values, end - start, wanted)
        for i in range(start, end):
            size = math.sqrt(squared_gradient(g, i) + l2)
            p = 1.0 if size > threshold else size / threshold
            out[i] = np.float32(0.0)
            if p > MIN_PROBABILITY and next_real(state) < p:
                out[i] = np.float32(1.0 / p)


@kernel
def draw_blocks(seed, state, out, first, last):
    """Write numbers between 0 and 1, for the blocks first … last − 1 of Bayesian weights.

    Parameters
    ----------
    seed : uint64
    state : uint64 (4,), scratch space
    out : float64 (n_rows,), written
    """
    for block in range(first, last):
        set_seed(seed + np.uint64(block), WARM_UP, state)
        for i in range(block * BAYESIAN_BLOCK, min((block + 1) * BAYESIAN_BLOCK, len(out))):
            out[i] = next_real(state)


@kernel
def raise_to_power(values, exponent):
    """Replace float32 values by their powers, by the C library's function of float32 numbers."""
    for i in range(len(values)):
        values[i] = values[i] ** exponent
