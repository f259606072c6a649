"""Oracles of the kernels that grow scikit-learn's trees."""

import math

SHORT = 15


def sort_pairs(values, rows):
    """Return (values, rows) in the order of the introsort, and the number of heapsorts."""
    pairs = list(zip(values, rows, strict=True))
    heaps = [0]
    if pairs:
        introsort(pairs, 0, len(pairs), 2 * int(math.log2(len(pairs))), heaps)
    return [v for v, _ in pairs], [r for _, r in pairs], heaps[0]


def introsort(pairs, start, end, depth, heaps):
    """Sort pairs[start:end] in place."""
    n = end - start
    if n <= SHORT:
        pairs[start:end] = sorted(pairs[start:end], key=lambda pair: pair[0])  # insertion is stable
        return
    if depth == 0:
        heaps[0] += 1
        pairs[start:end] = heapsort(pairs[start:end])
        return
    pivot = sorted([pairs[start][0], pairs[start + n // 2][0], pairs[end - 1][0]])[1]
    i, smaller, larger = start, start, end
    while i < larger:
        if pairs[i][0] < pivot:
            pairs[i], pairs[smaller] = pairs[smaller], pairs[i]
            i, smaller = i + 1, smaller + 1
        elif pairs[i][0] > pivot:
            larger -= 1
            pairs[i], pairs[larger] = pairs[larger], pairs[i]
        else:
            i += 1
    introsort(pairs, start, smaller, depth - 1, heaps)
    introsort(pairs, larger, end, depth - 1, heaps)


def heapsort(pairs):
    """Return sorted pairs; of equal children the left one is preferred."""

    def sift(root, end):
        largest = root
        for child in (2 * root + 1, 2 * root + 2):
            if child < end and pairs[largest][0] < pairs[child][0]:
                largest = child
        if largest != root:
            pairs[root], pairs[largest] = pairs[largest], pairs[root]
            sift(largest, end)

    for root in reversed(range(len(pairs) // 2)):
        sift(root, len(pairs))
    for last in reversed(range(1, len(pairs))):
        pairs[0], pairs[last] = pairs[last], pairs[0]
        sift(0, last)
    return pairs


def weighted_median(y, w):
    """Return the value where the weight of smaller ones reaches half; the midpoint if exactly."""
    pairs = sorted(zip(y, w, strict=True))
    half = sum(w) / 2
    below = 0.0
    for i, (value, weight) in enumerate(pairs):
        below += weight
        if below == half:
            return (value + pairs[i + 1][0]) / 2
        if below > half:
            return value
    raise AssertionError("weights are positive")


def absolute_error(y, w):
    """Return Σ w |y − m| about the weighted median."""
    m = weighted_median(y, w)
    return sum(weight * abs(value - m) for value, weight in zip(y, w, strict=True))
