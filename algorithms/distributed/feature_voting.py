"""Voting parallel tree growing: only histograms of features with the most votes are summed.

After Meng et al., *A Communication-Efficient Parallel Algorithm for Decision Tree* (2016), PV-Tree:

    1. each rank builds histograms of its own rows, and finds the best split of each feature in them
    2. it votes for the top_k features of largest gain, in each new leaf
    3. the 2 top_k features with most votes are summed over all ranks; ties are broken by the
       better position in the votes, then by the lower feature number
    4. each rank scans some of these features, and all ranks receive the best split

A leaf's histograms are sent for min(2 top_k, F) features instead of F. But both children of a split
need histograms of their own features, so voting sends less only if F > 4 top_k. The model depends
on the partitioning of rows: it is the same for the same parts and number of ranks, and it is the
local model if top_k ≥ F.
"""

import numpy as np

from algorithms.distributed.binning import owners_of
from algorithms.distributed.collective import width_of
from algorithms.distributed.grower import RankGrower
from algorithms.gbdt.kernels import booster_arrays
from algorithms.gbdt.kernels.distributed_growth import (
    LARGEST,
    find_best_splits_of_features,
    propose,
)

NO_VOTE = 0xFFFFFFFF  # padding if a rank has fewer than top_k features with a gain
VOTE = np.dtype("<u4")


class VotingGrower(RankGrower):
    """Tree grower of a rank with voting; each rank votes for ``top_k`` features."""

    def __init__(self, *args, top_k):
        super().__init__(*args)
        self.top_k = top_k
        self.own_leaves = np.zeros(
            2, booster_arrays.LEAF
        )  # the new leaves, with the rank's own rows and sums
        self.own_sums = np.zeros((len(self.leaves), 2), np.int64)  # Σg and Σh of own rows, by leaf

    def use(self, features):
        """Allocate the histograms of the rank's own rows."""
        if self.features is not None and np.array_equal(features, self.features):
            return
        self.features = self.built = features
        counts = self.bins.count[features]
        self.places = np.cumsum(counts) - counts
        self.out = np.zeros((2, int(counts.sum())), np.int64)
        self.planes = np.empty((len(self.leaves), *self.out.shape), np.int64)
        self.gains = np.empty((2, len(features)))

    def scan_root(self, largest, h):
        """Find the best split of the root, after its histogram is built."""
        self.own_sums[0] = (
            self.sums[0, booster_arrays.TOTAL_G],
            self.sums[0, booster_arrays.TOTAL_H],
        )
        self.elect(0, -1, largest, h)

    def scan_children(self, n_left):
        """Write the children of the split leaf, and find their best splits."""
        state, sums = self.tree.state, self.sums[0]
        at, largest = state[booster_arrays.NEXT], int(state[LARGEST])
        h = int(self.leaves[at]["h"])
        totals = self.ranks.total([n_left, sums[booster_arrays.SPREAD]], "splits").tolist()
        small, large = self.write_children(*totals)
        whole = self.own_sums[at].copy()
        self.own_sums[small] = sums[booster_arrays.TOTAL_G], sums[booster_arrays.TOTAL_H]
        self.own_sums[large] = whole - self.own_sums[small]
        self.elect(small, large, largest, h)

    def elect(self, small, large, largest, h):
        """Find the best splits of new leaves among the features that the ranks vote for.

        Parameters
        ----------
        small, large : leaf whose histogram is built, and its sibling or −1
        largest, h : bounds on |Σg| and Σh of a histogram entry
        """
        self.export()
        self.propose(small, large)
        leaves = [small] if large < 0 else [small, large]
        shares = [self.share_out(chosen) for chosen in self.vote(len(leaves))]
        blocks = [
            np.concatenate([self.cells_of(*one) for one in zip(leaves, share, strict=True)], axis=1)
            for share in zip(*shares, strict=True)
        ]
        sums = self.ranks.add_up(blocks, (width_of(largest), width_of(h)), "histograms")
        self.scan(leaves, [share[self.ranks.rank] for share in shares], sums)
        self.exchange_splits(small, large)

    def propose(self, small, large):
        """Compute each feature's gain on the rank's own rows, in each new leaf."""
        may = np.zeros(3, np.int64)
        for which, leaf in enumerate((small, max(large, 0))):
            self.own_leaves[which] = self.leaves[leaf]
            record = self.own_leaves[which]
            record["start"], record["end"] = self.spans[leaf]
            record["g"], record["h"] = self.own_sums[leaf]
            may[which] = self.own_sums[leaf, 1] > 0 and self.may_split(leaf)
        may[2] = large >= 0
        may[1] *= may[2]
        size = self.ranks.size  # a rank has about 1/size of the rows
        rules = self.rules._replace(
            min_child_samples=max(self.rules.min_child_samples // size, 1),
            min_child_weight=self.rules.min_child_weight / size,
        )
        groups = self.tree.groups[[small, max(large, 0)]]
        args = (
            self.own_leaves,
            groups,
            self.features,
            self.places,
            self.planes,
            self.out,
            self.scratch,
        )
        propose(self.facts, *args, rules, self.scale, may, self.gains)

    def may_split(self, leaf):
        """Return whether a leaf has enough rows for two children and is not too deep."""
        one, rules = self.leaves[leaf], self.rules
        shallow = rules.max_depth <= 0 or one["depth"] < rules.max_depth
        return shallow and one["end"] - one["start"] >= max(2 * rules.min_child_samples, 2)

    def vote(self, n_leaves):
        """Return the features to sum, for each new leaf: positions in `features`."""
        count = min(self.top_k, len(self.features))
        ballot = np.full((n_leaves, count), NO_VOTE, VOTE)
        for which in range(n_leaves):
            gains = self.gains[which]
            best = np.argsort(-gains, kind="stable")[:count]
            best = best[gains[best] > 0.0]
            ballot[which, : len(best)] = best
        parts = self.ranks.gather(ballot.tobytes(), "votes")
        cast = np.stack([np.frombuffer(part, VOTE).reshape(ballot.shape) for part in parts])
        return [self.count_votes(cast[:, which]) for which in range(n_leaves)]

    def count_votes(self, cast):
        """Return the features with most votes, ascending; ``cast`` has shape (n_ranks, top_k)."""
        n = len(self.features)
        valid = cast != NO_VOTE
        place = np.broadcast_to(np.arange(cast.shape[1]), cast.shape)[valid]
        votes = np.bincount(cast[valid], minlength=n)
        ahead = np.bincount(cast[valid], place, minlength=n)  # sums of integers, so exact
        order = np.lexsort((np.arange(n), ahead, -votes))
        return np.sort(order[: min(2 * self.top_k, n)])

    def share_out(self, chosen):
        """Return the features that each rank scans, a list of arrays of positions."""
        owner = owners_of(self.bins.count[self.features[chosen]], self.ranks.size)
        return [chosen[owner == rank] for rank in range(self.ranks.size)]

    def cells_of(self, leaf, positions):
        """Return a leaf's histograms of some features over the rank's own rows, (2, n_cells)."""
        counts = self.bins.count[self.features[positions]]
        ends = np.cumsum(counts)
        at = np.arange(counts.sum()) + np.repeat(self.places[positions] - (ends - counts), counts)
        return self.planes[self.leaves[leaf]["slot"]][:, at]

    def scan(self, leaves, positions, sums):
        """Scan the rank's share of the summed features, for each new leaf."""
        self.own_best[:] = 0
        begin = 0
        for which, (leaf, selected) in enumerate(zip(leaves, positions, strict=True)):
            features = self.features[selected]
            counts = self.bins.count[features]
            cells = np.ascontiguousarray(sums[:, begin : begin + int(counts.sum())])
            begin += cells.shape[1]
            args = self.facts, self.tree, leaf, features, np.cumsum(counts) - counts, cells
            find_best_splits_of_features(*args, self.scratch, self.rules, self.scale, which)
