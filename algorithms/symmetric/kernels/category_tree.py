"""Choice of the splits of a tree with categorical columns, and the combinations that follow it.

A projection is a row of integers, its *key*: the numbers of its categorical columns plus 1,
ascending; its numeric splits in the order of the tree; and its one-hot splits in this order. Each
part ends with zeros. All combinations of a tree are numbered by first appearance.
"""

from typing import NamedTuple

import numpy as np

from algorithms.runtime.jit import inner_kernel, kernel, linked_kernel
from algorithms.runtime.math_functions import hash_of
from algorithms.symmetric.kernels.base_categories import divide_categories, start_categories
from algorithms.symmetric.kernels.combinations import (
    MULTIPLIER,
    CombinationParts,
    CombinationSums,
    LevelCombinations,
)
from algorithms.symmetric.kernels.leaf_steps import copy_to
from algorithms.symmetric.kernels.split_scores import NOISE_BITS

NUMERIC, INDICATOR = -1, -2  # kinds of static columns; others are places of categorical columns
STATIC = -1  # instead of the number of a combination, in a split
COMBINATION, COLUMN, BIN = range(3)  # fields of a split
# Fields of `CombinationArrays.state`: numbers of bases, of combinations, of those of a level and of
# new ones; the base of the numeric splits (−1: none) and the last such base; the clock of the
# cache, and its value at the start of the tree; the number of projections in `UsedProjections`, and
# of columns in `added`; the permutation that chooses splits.
BASES, KNOWN, LISTED, NEW, OF_SPLITS, LAST_SPLITS = range(6)
CLOCK, START, USED, ADDED, PERMUTATION, FIELDS = range(6, 12)
UNUSED = -1  # last use of an empty slot
SHIFT = np.uint64(29)


class StaticColumns(NamedTuple):
    """The columns that are candidates in all trees."""

    rows: np.ndarray  # uint8 (n_permutations, n_rows, n_columns), bins
    columns: np.ndarray  # uint8 (n_permutations, n_columns, n_rows), bins
    kinds: np.ndarray  # int64 (n_columns,): NUMERIC, INDICATOR, or the categorical column's place
    groups: np.ndarray  # int64 (n_columns,): columns with equal numbers are exempted together
    levels: np.ndarray  # int64 (n_columns,), levels of a statistic; 0 of other columns
    is_exempt: np.ndarray  # bool (n_columns,), exempt from `model_size_reg`; written


class UsedProjections(NamedTuple):
    """Combinations that earlier splits use: a hash table of keys."""

    keys: np.ndarray  # int64 (capacity, width)
    is_exempt: np.ndarray  # bool (capacity, n_statistics), exempt from `model_size_reg`
    buckets: np.ndarray  # int64 (a power of 2, at least 2 capacity,), numbers of keys; −1: none


class CombinationSlots(NamedTuple):
    """Keys of the statistics in a `StatisticCache`."""

    keys: np.ndarray  # int64 (n_slots, width)
    permutations: np.ndarray  # int64 (n_slots,)
    hashes: np.ndarray  # int64 (n_slots,), of the keys
    last_use: np.ndarray  # int64 (n_slots,), value of the clock; UNUSED: empty
    n_kept: int  # maximum number of slots of earlier trees, unless no other slot is free


class CombinationArrays(NamedTuple):
    """The bases and combinations of a tree, with at most one base for each split."""

    state: np.ndarray  # int64 (FIELDS,)
    n_columns: int  # length of the columns in a key
    max_ctr_complexity: int
    is_usable: np.ndarray  # bool (n_columns,), the static columns that the tree may use
    added: np.ndarray  # int64 (n_counted,), places of the columns that may be added to a base
    split_key: np.ndarray  # int64 (width,), key of all numeric and one-hot splits
    base_keys: np.ndarray  # int64 (depth, width)
    is_statistic: np.ndarray  # bool (depth,), whether a base is the projection of a statistic
    combinations_of_base: np.ndarray  # int64 (depth, n_counted), combinations of each base
    n_combinations_of_base: np.ndarray  # int64 (depth,)
    keys: np.ndarray  # int64 (n_combinations, width)
    hashes: np.ndarray  # int64 (n_combinations,)
    known: LevelCombinations  # of the tree
    is_exempt: np.ndarray  # bool (n_combinations, n_statistics), exempt from `model_size_reg`
    new: LevelCombinations  # those whose statistics are to be computed
    kept: CombinationSums
    listed: np.ndarray  # int64 (n_combinations,), numbers of those of a level
    listed_slots: np.ndarray  # int64 (n_combinations,)
    is_listed: np.ndarray  # bool (n_combinations,), scratch space
    same_kind: np.ndarray  # bool (n_statistics, n_statistics): statistics are of one kind
    parts: CombinationParts
    slots: CombinationSlots
    used: UsedProjections


class Candidates(NamedTuple):
    """Best splits of the candidates at a level, before noise and penalties."""

    static_score: np.ndarray  # float64 (n_columns,)
    static_bin: np.ndarray  # int64 (n_columns,)
    score: np.ndarray  # float64 (n_combinations, n_statistics), in the order of the level
    bin: np.ndarray  # int64 (n_combinations, n_statistics)


@kernel
def start_search(search, static, is_usable, order, permutation):
    """Forget the bases and combinations of the last tree.

    Parameters
    ----------
    search : CombinationArrays
    static : StaticColumns
    is_usable : bool (n_columns,), the static columns that the tree may use
    order : uint32 (n_rows,), the permutation whose statistics choose the splits; (0,): ascending
    permutation : its number
    """
    state, bases = search.state, search.parts.bases
    start_categories(bases, len(bases.rows) - 1, order)
    copy_to(is_usable, search.is_usable)
    state[PERMUTATION], state[ADDED] = permutation, 0
    for place in range(len(search.added)):
        for f in range(len(is_usable)):
            if is_usable[f] and static.kinds[f] == place:
                search.added[state[ADDED]] = place
                state[ADDED] += 1
                break
    for field in (BASES, KNOWN, LISTED, NEW):
        state[field] = 0
    state[OF_SPLITS] = state[LAST_SPLITS] = -1
    state[START] = state[CLOCK]
    search.split_key[:] = 0
    search.kept.n_leaves[:] = 0


@inner_kernel
def hash_key(key):
    """Return a hash of a key, int64 and at least 0."""
    mixed = np.uint64(0)
    for i in range(len(key)):
        mixed = (mixed ^ np.uint64(key[i])) * MULTIPLIER
        mixed ^= mixed >> SHIFT
    return np.int64(mixed >> np.uint64(1))


@inner_kernel
def is_equal(key, other):
    """Return whether two keys are equal."""
    differs = False
    for i in range(len(key)):
        differs |= key[i] != other[i]
    return not differs


@kernel
def list_combinations(search, static, splits, n_splits, scratch):
    """List the combinations of the next level; those without statistics are `new`.

    Parameters
    ----------
    search : CombinationArrays
    static : StaticColumns
    splits : int64 (depth, 3), the splits of the tree
    n_splits : int; a base is added for the last one
    scratch : CategoryScratch
    """
    state = search.state
    state[NEW] = state[LISTED] = 0
    if n_splits > 0:
        add_base(search, static, splits[n_splits - 1], scratch)
    for number in range(state[KNOWN]):
        search.is_listed[number] = False
    if state[OF_SPLITS] >= 0:
        list_combinations_of_base(search, state[OF_SPLITS])
    for base in range(state[BASES]):
        if search.is_statistic[base]:
            list_combinations_of_base(search, base)


@inner_kernel
def list_combinations_of_base(search, base):
    """Add the combinations of a base to those of the level, unless they are there already."""
    state = search.state
    for i in range(search.n_combinations_of_base[base]):
        number = search.combinations_of_base[base, i]
        if not search.is_listed[number]:
            search.is_listed[number] = True
            search.listed[state[LISTED]] = number
            search.listed_slots[state[LISTED]] = search.known.slots[number]
            state[LISTED] += 1


@linked_kernel
def add_base(search, static, split, scratch):
    """Add the base that a split makes, and its combinations, unless there is no column to add."""
    state, number = search.state, search.state[BASES]
    key = search.base_keys[number]
    kind = NUMERIC if split[COMBINATION] >= 0 else static.kinds[split[COLUMN]]
    is_statistic = split[COMBINATION] >= 0 or kind >= 0
    if split[COMBINATION] >= 0:
        copy_to(search.keys[split[COMBINATION]], key)
    elif is_statistic:
        key[:] = 0
        key[0] = kind + 1
    else:
        state[OF_SPLITS] = -1
        append_split(search.split_key, search.n_columns, kind, split)
        copy_to(search.split_key, key)
    if is_statistic:
        for base in range(number):
            if search.is_statistic[base] and is_equal(search.base_keys[base], key):
                return
    if not can_extend(search, key):
        return
    state[BASES] += 1
    search.is_statistic[number] = is_statistic
    group_base(search, static, split, kind, number, scratch)
    if not is_statistic:
        state[OF_SPLITS] = state[LAST_SPLITS] = number
    extend_base(search, number)


@inner_kernel
def append_split(key, n_columns, kind, split):
    """Add a numeric or one-hot split to the key of all such splits."""
    size = (len(key) - n_columns) // 2
    at = n_columns if kind == NUMERIC else n_columns + size
    while key[at] != 0:
        at += 1
    key[at] = split[COLUMN] * 256 + split[BIN] + 1


@inner_kernel
def can_extend(search, key):
    """Return whether there is a column to add to a base, and the base has no part twice."""
    n_columns, complexity, has_splits = search.n_columns, 0, False
    for i in range(n_columns):
        complexity += np.int64(key[i] != 0)
    for i in range(n_columns, len(key)):
        if key[i] == 0:
            continue
        has_splits = True
        size = (len(key) - n_columns) // 2
        first = n_columns if i < n_columns + size else n_columns + size
        for j in range(first, i):
            if key[j] == key[i]:
                return False
    n_missing = 0
    for i in range(search.state[ADDED]):
        n_missing += np.int64(not has_column(key, n_columns, search.added[i]))
    return n_missing > 0 and complexity + np.int64(has_splits) < search.max_ctr_complexity


@inner_kernel
def has_column(key, n_columns, place):
    """Return whether a projection contains a categorical column."""
    found = False
    for i in range(n_columns):
        found |= key[i] == place + 1
    return found


@inner_kernel
def group_base(search, static, split, kind, number, scratch):
    """Group the rows by the categories of a new base."""
    parts, known = search.parts, search.known
    counts, last = scratch.statistics.counts, len(parts.bases.rows) - 1
    if split[COMBINATION] >= 0:
        parent, place = known.bases[split[COMBINATION]], known.columns[split[COMBINATION]]
        column, n_levels = parts.columns[place], parts.n_levels[place]
    elif kind >= 0:
        parent, column, n_levels = np.int64(last), parts.columns[kind], parts.n_levels[kind]
    else:
        parent = search.state[LAST_SPLITS] if search.state[LAST_SPLITS] >= 0 else np.int64(last)
        column, n_levels = scratch.codes, np.int64(2)
        bins = static.columns[search.state[PERMUTATION], split[COLUMN]]
        for i in range(len(column)):
            column[i] = np.int32(bins[i] > split[BIN])
    divide_categories(parts.bases, parent, column, n_levels, counts, number)


@inner_kernel
def extend_base(search, base):
    """Add the combinations of a base."""
    state, added, count = search.state, search.added, 0
    for i in range(state[ADDED]):
        if has_column(search.base_keys[base], search.n_columns, added[i]):
            continue
        key = search.keys[state[KNOWN]]
        insert_column(search.base_keys[base], added[i], key)
        number, hashed = state[KNOWN], hash_key(key)
        for other in range(state[KNOWN]):
            if search.hashes[other] == hashed and is_equal(search.keys[other], key):
                number = other
                break
        if number == state[KNOWN]:
            state[KNOWN] += 1
            search.hashes[number] = hashed
            search.known.bases[number], search.known.columns[number] = base, added[i]
            search.known.slots[number] = find_slot(search, number, state[PERMUTATION])
            copy_exemptions(search, number)
        search.combinations_of_base[base, count] = number
        count += 1
    search.n_combinations_of_base[base] = count


@inner_kernel
def insert_column(base, place, key):
    """Write the key of a base with one more categorical column."""
    copy_to(base, key)
    at = 0
    while key[at] != 0 and key[at] < place + 1:
        at += 1
    own = place + 1
    while own != 0:
        own, key[at] = key[at], own
        at += 1


@linked_kernel
def find_slot(search, number, permutation):
    """Return the slot of a combination; if it lacks the statistics, add it to the `new` ones."""
    slots, state, key = search.slots, search.state, search.keys[number]
    empty = oldest = -1
    n_old = 0
    state[CLOCK] += 1
    for slot in range(len(slots.last_use)):
        if slots.last_use[slot] == UNUSED:
            empty = slot if empty < 0 else empty
            continue
        is_same = slots.hashes[slot] == search.hashes[number]
        if is_same and slots.permutations[slot] == permutation and is_equal(slots.keys[slot], key):
            slots.last_use[slot] = state[CLOCK]
            return slot
        if slots.last_use[slot] <= state[START]:
            n_old += 1
            if oldest < 0 or slots.last_use[slot] < slots.last_use[oldest]:
                oldest = slot
    slot = empty if empty >= 0 and n_old <= slots.n_kept else oldest
    copy_to(key, slots.keys[slot])
    slots.hashes[slot], slots.permutations[slot] = search.hashes[number], permutation
    slots.last_use[slot] = state[CLOCK]
    new, at = search.new, state[NEW]
    new.bases[at], new.columns[at] = search.known.bases[number], search.known.columns[number]
    new.slots[at] = slot
    state[NEW] += 1
    return slot


@inner_kernel
def find_bucket(used, key, hashed):
    """Return the bucket of a key, or an empty one."""
    mask = len(used.buckets) - 1
    at = hashed & mask
    while used.buckets[at] >= 0 and not is_equal(used.keys[used.buckets[at]], key):
        at = (at + 1) & mask
    return at


@inner_kernel
def copy_exemptions(search, number):
    """Write which statistics of a combination are exempt from `model_size_reg`."""
    used = search.used
    at = used.buckets[find_bucket(used, search.keys[number], search.hashes[number])]
    for s in range(search.is_exempt.shape[1]):
        search.is_exempt[number, s] = at >= 0 and used.is_exempt[at, s]


@kernel
def fill_buckets(used, count):
    """Write the buckets of the first keys."""
    used.buckets[:] = -1
    for number in range(count):
        used.buckets[find_bucket(used, used.keys[number], hash_key(used.keys[number]))] = number


@inner_kernel
def mark_used(search, number, statistic):
    """Exempt the statistics of the same kind of a combination from `model_size_reg`."""
    used, state = search.used, search.state
    bucket = find_bucket(used, search.keys[number], search.hashes[number])
    at = used.buckets[bucket]
    if at < 0:
        at = used.buckets[bucket] = state[USED]
        copy_to(search.keys[number], used.keys[at])
        used.is_exempt[at, :] = False
        state[USED] += 1
    for s in range(search.is_exempt.shape[1]):
        if search.same_kind[statistic, s]:
            used.is_exempt[at, s] = True
        search.is_exempt[number, s] = used.is_exempt[at, s]


@kernel
def choose_split(search, static, candidates, n_levels, noise, seed, model_size_reg, split):
    """Write the best split of a level; exempt its statistics from the penalty.

    Candidates are numbered for their noise: usable static columns, then the statistics of the
    combinations. The first one wins a tie.

    Parameters
    ----------
    search : CombinationArrays
    static : StaticColumns
    candidates : Candidates
    n_levels : int64 (n_slots,), as in `StatisticCache`
    noise : float64 (2 ** NOISE_BITS,), quantiles of the noise; (0,): no noise
    seed : uint32
    model_size_reg : float
    split : int64 (3,), written: combination or STATIC, static column or statistic, bin
    """
    most = count_most_levels(search, static, n_levels)
    best = choose_static(search, static, candidates, most, noise, seed, model_size_reg, split)
    choose_combination(search, candidates, n_levels, best, most, noise, seed, model_size_reg, split)
    if split[COMBINATION] >= 0:
        mark_used(search, split[COMBINATION], split[COLUMN])
    elif static.kinds[split[COLUMN]] >= 0:
        for f in range(len(static.groups)):
            if static.groups[f] == static.groups[split[COLUMN]]:
                static.is_exempt[f] = True


@inner_kernel
def count_most_levels(search, static, n_levels):
    """Return the largest number of levels of a candidate, at least 1, float64."""
    most = 1
    for f in range(len(search.is_usable)):
        if search.is_usable[f]:
            most = max(most, static.levels[f])
    for c in range(search.state[LISTED]):
        most = max(most, n_levels[search.listed_slots[c]])
    return np.float64(most)


@inner_kernel
def choose_static(search, static, candidates, most, noise, seed, model_size_reg, split):
    """Write the best split by a static column; return its score."""
    best, count = -np.inf, 0
    split[COMBINATION], split[COLUMN] = STATIC, -1
    for f in range(len(search.is_usable)):
        if not search.is_usable[f]:
            continue
        score = with_noise(candidates.static_score[f], noise, seed, count)
        if not static.is_exempt[f]:
            score *= (1.0 + static.levels[f] / most) ** -model_size_reg
        if score > best or split[COLUMN] < 0:
            best = score
            split[COLUMN], split[BIN] = f, candidates.static_bin[f]
        count += 1
    return best


@inner_kernel
def choose_combination(
    search, candidates, n_levels, best, most, noise, seed, model_size_reg, split
):
    """Write the best split by a combination, if its score is above ``best``."""
    count = 0
    for f in range(len(search.is_usable)):
        count += np.int64(search.is_usable[f])
    for c in range(search.state[LISTED]):
        number = search.listed[c]
        factor = (1.0 + n_levels[search.listed_slots[c]] / most) ** -model_size_reg
        for s in range(candidates.score.shape[1]):
            score = with_noise(candidates.score[c, s], noise, seed, count)
            if not search.is_exempt[number, s]:
                score *= factor
            if score > best:
                best = score
                split[COMBINATION], split[COLUMN] = number, s
                split[BIN] = candidates.bin[c, s]
            count += 1


@inner_kernel
def with_noise(score, noise, seed, number):
    """Return a candidate's score plus its noise."""
    if len(noise):
        score += noise[np.int64(hash_of(seed, number) >> np.uint32(32 - NOISE_BITS))]
    return score
