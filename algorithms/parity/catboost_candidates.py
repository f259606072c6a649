"""The candidates that are the same at all levels of CatBoost's trees.

They are, in this order: numeric columns with several borders; one-hot columns with several levels;
bundles; packs of eight columns with two bins, numeric ones first.
"""

from dataclasses import dataclass

import numpy as np

from algorithms.parity.catboost_bundles import find_bundles
from algorithms.symmetric.kernels.segment_scores import (
    BUNDLE,
    FLOATS,
    ONE_HOT,
    PACK,
    UNUSED,
    BundleParts,
    Candidates,
)

PACK_SIZE = 8  # columns of a pack


@dataclass(frozen=True)
class SourceColumn:
    """A numeric or categorical column with more than one bin."""

    feature: int  # column of X
    bins: np.ndarray  # integers (n_rows,); of a category 0 is the most frequent level
    n_bins: int
    number: int  # used column of the table, or column of X if it is categorical
    kind: int  # FLOATS, ONE_HOT, or UNUSED for a categorical column without one-hot splits

    @property
    def n_splits(self):
        """Number of splits of this column in a bundle."""
        return {FLOATS: self.n_bins - 1, ONE_HOT: self.n_bins, UNUSED: 0}[self.kind]


def numeric_sources(table):
    """Return the `SourceColumn`s of a `BinnedTable`, list."""
    pairs = zip(table.features.tolist(), table.n_bins.tolist(), strict=True)
    return [
        SourceColumn(feature, table.columns[f], n_bins, f, FLOATS)
        for f, (feature, n_bins) in enumerate(pairs)
    ]


class StaticCandidates:
    """Candidates and the columns from which they are made.

    Attributes
    ----------
    arrays : Candidates
    rows : uint8 or uint16 (n_rows, n_candidates)
    widths : int64 (n_candidates,), bins of each candidate

    Parameters
    ----------
    sources : list of SourceColumn
    n_rows : int
    """

    def __init__(self, sources, n_rows):
        sources = sorted(sources, key=lambda one: one.feature)
        bundles = [
            [sources[i] for i in positions]
            for positions in find_bundles([(s.feature, s.bins, s.n_bins) for s in sources])
        ]
        bundled = {source.feature for bundle in bundles for source in bundle}
        free = [source for source in sources if source.feature not in bundled]
        floats = [s for s in free if s.kind == FLOATS and s.n_bins > 2]
        one_hot = [s for s in free if s.kind == ONE_HOT and s.n_bins > 2]
        bits = sorted((s for s in free if s.n_bins == 2), key=lambda one: one.kind != FLOATS)
        packs = [bits[i : i + PACK_SIZE] for i in range(0, len(bits), PACK_SIZE)]
        self.source_columns = [*([s] for s in (*floats, *one_hot)), *bundles, *packs]
        sizes = (FLOATS, floats), (ONE_HOT, one_hot), (BUNDLE, bundles), (PACK, packs)
        kinds = np.array([kind for kind, own in sizes for _ in own], np.int8)
        self.arrays = self._make_arrays(kinds, n_rows)
        self.widths = np.array(
            [width_of(*one) for one in zip(kinds, self.source_columns, strict=True)], np.int64
        )
        self.rows = np.ascontiguousarray(self.arrays.columns.T)
        self._list_drawn()

    def __len__(self):
        return len(self.source_columns)

    def _make_arrays(self, kinds, n_rows):
        """Return the `Candidates`."""
        pairs = list(zip(kinds, self.source_columns, strict=True))
        columns = [column_of(kind, own) for kind, own in pairs]
        dtype = np.result_type(np.uint8, *(own.dtype for own in columns))
        columns = np.array(columns, dtype).reshape(-1, n_rows)
        counts = [split_count(kind, own) for kind, own in pairs]
        masks = [mask_of(kind, own) for kind, own in pairs]
        parts = [own if kind == BUNDLE else [] for kind, own in pairs]
        first = np.cumsum([0, *map(len, parts)])
        ends = [np.cumsum([one.n_bins - 1 for one in own]) for own in parts]
        kept = np.array([one.kind for own in parts for one in own], np.int8)
        bundle_parts = BundleParts(
            first, np.concatenate([*ends, np.empty(0)]).astype(np.int64), kept, kept != UNUSED
        )
        counts, masks = np.array(counts, np.int64), np.array(masks, np.int64)
        return Candidates(columns, counts, kinds, masks, bundle_parts)

    def _list_drawn(self):
        """List the candidate, the bit and the part of each column that `rsm` may leave out."""
        drawn, part = [], 0
        for number, own in enumerate(self.source_columns):
            is_bundle = self.arrays.kinds[number] == BUNDLE
            for place, one in enumerate(own):
                bit = 1 << place if self.arrays.kinds[number] == PACK else 1
                if one.kind != UNUSED:
                    drawn.append((number, bit, part if is_bundle else -1))
                part += is_bundle
        self.drawn = np.array(drawn, np.int64).reshape(-1, 3).T

    def keep(self, is_kept):
        """Return the `Candidates` with some of their columns.

        Parameters
        ----------
        is_kept : bool (n_drawn,), one a column with splits, in the order of the candidates
        """
        candidate, bit, part = self.drawn
        masks = np.zeros(len(self), np.int64)
        np.bitwise_or.at(masks, candidate[is_kept], bit[is_kept])
        kept = np.zeros(len(self.arrays.parts.kept), bool)
        kept[part[is_kept & (part >= 0)]] = True
        return self.arrays._replace(masks=masks, parts=self.arrays.parts._replace(kept=kept))

    def split_of(self, candidate, split):
        """Return the `SourceColumn` of a split, and its bin or level."""
        source_columns, kind = self.source_columns[candidate], self.arrays.kinds[candidate]
        if kind == PACK:
            source = source_columns[split]
            return source, 0 if source.kind == FLOATS else 1
        for source in source_columns:
            if kind != BUNDLE or split < source.n_splits:
                return source, split
            split -= source.n_splits
        raise IndexError(f"candidate {candidate} has no split {split}")


def split_count(kind, source_columns):
    """Return the number of splits of a candidate."""
    if kind == PACK:
        return len(source_columns)
    return sum(one.n_splits for one in source_columns)


def mask_of(kind, source_columns):
    """Return the usable bits of a pack; of another candidate 1, or 0 if it has no splits."""
    bits = [1 << place for place, one in enumerate(source_columns) if one.kind != UNUSED]
    return sum(bits) if kind == PACK else int(bool(bits))


def width_of(kind, source_columns):
    """Return the number of bins of a candidate."""
    if kind == PACK:
        return 1 << len(source_columns)
    return sum(one.n_bins - 1 for one in source_columns) + 1


def column_of(kind, source_columns):
    """Return the bins of a candidate, uint8 or uint16 (n_rows,)."""
    bins = [one.bins for one in source_columns]
    if kind == PACK:
        return pack_bits(np.array(bins, np.uint8))
    if kind != BUNDLE:
        return bins[0].astype(np.uint8)
    width = width_of(kind, source_columns)
    column, begin = np.full(len(bins[0]), width - 1), 0
    for one in source_columns:
        rows = np.flatnonzero(one.bins)
        column[rows] = begin + one.bins[rows].astype(np.int64) - 1
        begin += one.n_bins - 1
    return column.astype(np.uint8 if width <= 256 else np.uint16)


def pack_bits(columns):
    """Return columns of 0 and 1 as the bits of one column, the first one lowest."""
    bits = np.arange(len(columns), dtype=np.uint8)[:, None]
    return np.bitwise_or.reduce(columns << bits, axis=0)
