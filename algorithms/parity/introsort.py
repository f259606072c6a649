"""The order in which libc++'s ``std::sort`` leaves equal keys.

It is a quicksort with insertion sort for short ranges. Equal keys keep their order in short ranges
only. Musser: Introspective sorting and selection algorithms. 1997; Peters: Pattern-defeating
quicksort. 2021. The heap sort after 2 log₂ n bad pivots is left out. Bundles that follow this order
of more than 23 columns are not CatBoost's in every case.
"""

SHORT, LONG = 24, 128  # ranges below are sorted by insertion; ranges above take a median of nine
FEW = 5  # keys that insertion always sorts
MOST_MOVES = 8  # keys that insertion may move before a range counts as unsorted


def sort_order(keys):
    """Return the positions of keys in ascending order, list of int.

    Parameters
    ----------
    keys : sequence of comparable values
    """
    return _Sorter(keys).sort()


class _Sorter:
    """Positions of keys while they are sorted."""

    def __init__(self, keys):
        self.keys, self.at = keys, list(range(len(keys)))

    def sort(self):
        """Sort all positions and return them."""
        ranges = [(0, len(self.at), True)]
        while ranges:
            ranges += self._sort_range(*ranges.pop())
        return self.at

    def _key(self, i):
        """Return the key at a place."""
        return self.keys[self.at[i]]

    def _swap(self, i, j):
        """Exchange two places."""
        self.at[i], self.at[j] = self.at[j], self.at[i]

    def _sort_range(self, first, last, leftmost):
        """Sort a short range, or split a range; return the ranges that are left to sort."""
        if last - first < SHORT:
            self._insert(first, first + 1, last)
            return []
        self._choose_pivot(first, last)
        if not leftmost and not self._key(first - 1) < self._key(first):
            middle, _ = self._split(first, last, lambda key, pivot: not pivot < key)
            return [(middle + 1, last, False)]
        middle, was_split = self._split(first, last, lambda key, pivot: key < pivot)
        left, right = (first, middle, leftmost), (middle + 1, last, False)
        if not was_split:
            return [left, right]
        left_is_sorted = self._insert_some(first, middle)
        if self._insert_some(middle + 1, last):
            return [] if left_is_sorted else [left]
        return [(middle + 1, last, leftmost)] if left_is_sorted else [left, right]

    def _choose_pivot(self, first, last):
        """Put the median of three keys, or of three such medians, into the first place."""
        half = first + (last - first) // 2
        if last - first <= LONG:
            self._sort_three(half, first, last - 1)
            return
        for shift, middle in enumerate((half, half - 1, half + 1)):
            self._sort_three(first + shift, middle, last - 1 - shift)
        self._sort_three(half - 1, half, half + 1)
        self._swap(first, half)

    def _sort_three(self, x, y, z):
        """Sort three places."""
        if not self._key(y) < self._key(x):
            if self._key(z) < self._key(y):
                self._swap(y, z)
                if self._key(y) < self._key(x):
                    self._swap(x, y)
        elif self._key(z) < self._key(y):
            self._swap(x, z)
        else:
            self._swap(x, y)
            if self._key(z) < self._key(y):
                self._swap(y, z)

    def _split(self, first, last, is_left):
        """Move the keys of the left side before the pivot, which is the first key.

        Returns
        -------
        place of the pivot, and whether all keys were on their side before
        """
        begin, pivot = first, self._key(first)
        low, high = first + 1, last - 1
        while low < last and is_left(self._key(low), pivot):
            low += 1
        while high >= low and not is_left(self._key(high), pivot):
            high -= 1
        was_split = low >= high
        while low < high:
            self._swap(low, high)
            low += 1
            while is_left(self._key(low), pivot):
                low += 1
            high -= 1
            while not is_left(self._key(high), pivot):
                high -= 1
        middle = low - 1
        self._swap(begin, middle)
        return middle, was_split

    def _insert(self, first, start, last, most=None):
        """Insert the keys from ``start`` on into a sorted range that begins at ``first``.

        Returns
        -------
        whether the range is sorted: after ``most`` moved keys the rest is left as it is
        """
        moved = 0
        for i in range(start, last):
            j, position = i, self.at[i]
            while j > first and self.keys[position] < self._key(j - 1):
                self.at[j] = self.at[j - 1]
                j -= 1
            self.at[j] = position
            moved += j < i
            if j < i and moved == most:
                return i + 1 == last
        return True

    def _insert_some(self, first, last):
        """Sort by insertion unless many keys are out of place; return whether it succeeded."""
        if last - first <= FEW:
            return self._insert(first, first + 1, last)
        self._insert(first, first + 1, first + 3)
        return self._insert(first, first + 3, last, MOST_MOVES)
