"""Walk rows down trees that also ask for categories, or read zeros as missing values.

Such an odd question takes several times as long as a comparison, and which kind comes next cannot
be guessed. So all odd questions of a tree are answered for all rows of a block before they walk,
one question after another. The answers, 0 for left and more for right, stand in columns behind
those of X, and the walk that asks numbers alone (`plain_walk`) reads them as numbers. A block lies
column by column: the rows of one question lie together.

A question for a set has a word of bits for what is no code (a missing value, and zero, which may
count as one), words for codes, and a word for what is beyond these: a bit is 1 where a value goes
right. So each answer is one look at a bit.
"""

import numpy as np

from algorithms.prediction.kernels.numeric_walk import EIGHT, descend, eight_of
from algorithms.prediction.kernels.walk import BLOCK, IS_SET, add_leaves, goes_left
from algorithms.runtime.jit import inner_kernel, kernel

BETWEEN = 0.5  # the threshold of a node that reads an answer
WORD = 64  # codes
OF_MISSING, OF_ZERO = np.int64(0), np.int64(1)
RIGHT = np.int64(62)  # this bit alone makes the float64 2.0
LARGEST = 2.0**31  # codes are below
BEYOND = np.int64(1 << 32)


@kernel
def add_odd_trees(
    nodes,
    roots,
    paths,
    values,
    output,
    questions,
    begins,
    ends,
    asked,
    coded,
    bits,
    X,
    reading,
    block,
    codes,
    at,
    out,
):
    """Add the trees' leaves to the scores of the rows of X.

    Parameters
    ----------
    nodes, roots, paths, values, output, at, out : as in `plain_walk.add_plain_trees`, but what a
        node asks is the place in ``block`` of a column's first row
    questions : (n_questions,) walk.STEP, whose features are such places
        Of those for sets, ``threshold`` is the first word and ``words`` how many are for codes.
    begins, ends : (n_trees,) int64, which of them are of a tree
    asked : int64, columns of X, in the order in which they stand in a block
    coded : int64, which of these columns are asked for sets
    bits : uint64
    X : (n_rows, n_features) float32 or float64, C-contiguous
    reading : walk.Reading
    block : float64, room for BLOCK rows of these columns and of the most answers of a tree
    codes : int64, room for BLOCK rows of these columns
    """
    answers = block.view(np.int64)
    for start in range(0, len(out), BLOCK):
        n = min(BLOCK, len(out) - start)
        lay_out(X, asked, block, start, n)
        for j in coded:
            encode(reading, block, codes, j * BLOCK, n)
        for t in range(len(roots)):
            to = len(asked) * BLOCK
            for k in range(begins[t], ends[t]):
                answer(questions[k], bits, reading, block, answers, codes, to, n)
                to += BLOCK
            for i in range(0, n, EIGHT):
                descend(nodes, block, i, 1, eight_of(roots[t]), paths[t], True, at, i)
            add_leaves(values, at, output[t], reading.rounds_sums, out, start, n)


@inner_kernel
def lay_out(X, asked, block, start, n):
    """Write n rows of the columns that are asked, each column's rows together."""
    for j in range(len(asked)):
        for i in range(n):
            block[j * BLOCK + i] = X[start + i, asked[j]]


@inner_kernel
def encode(reading, block, codes, first, n):
    """Write where n values of a column stand among the bits of any set: see `prediction.walk`."""
    for i in range(np.uint64(first), np.uint64(first + n)):
        x = block[i]
        value = np.float64(np.float32(x)) if reading.rounds_values else x
        value = 0.0 if abs(value) <= reading.zero else value
        code = np.int64(value) + WORD if 0.0 <= value < LARGEST else BEYOND
        code = OF_ZERO if value == 0.0 else code
        codes[i] = OF_MISSING if np.isnan(x) else code


@inner_kernel
def answer(question, bits, reading, block, answers, codes, to, n):
    """Write for n rows of a block whether a question sends them to the right."""
    own = np.uint64(question["feature"])
    if question["kind"] & IS_SET:
        first = np.uint64(question["threshold"])
        beyond = WORD * (question["words"] + 1)
        for i in range(np.uint64(n)):
            code = np.uint64(min(codes[own + i], beyond))
            word = bits[first + (code >> np.uint64(6))]
            found = np.int64((word >> (code & np.uint64(63))) & np.uint64(1))
            answers[np.uint64(to) + i] = found << RIGHT
        return
    for i in range(np.uint64(n)):
        block[np.uint64(to) + i] = (
            0.0 if goes_left(question, block[own + i], bits, reading) else 1.0
        )
