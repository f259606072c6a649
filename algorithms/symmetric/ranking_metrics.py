"""Ranking metrics under CatBoost's names: NDCG, MAP and PairLogit.

Each is a mean over queries, or over pairs. Documents of equal score are ranked by rising label. A
query without a gain has the NDCG 1; one without a label above 0.5 has the average precision 0.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from algorithms.gbdt.ranking_metrics import ranking_metric
from algorithms.symmetric.query_pairs import Pairs

NAMES = ("NDCG", "MAP", "PairLogit")
KINDS = {"Base": lambda label: label, "Exp": lambda label: 2.0**label - 1.0}


@dataclass(frozen=True)
class QueryLabels:
    """Labels of an evaluation set, and its queries."""

    label: np.ndarray  # float64 (n_rows,)
    bounds: np.ndarray  # int64 (n_queries + 1,), as returned by `read_group_id`

    @cached_property
    def rows(self):
        """Rows sorted by query and, within a query, by rising label."""
        query = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        return np.lexsort((self.label, query))

    @cached_property
    def pairs(self):
        """All pairs of rows of a query with different labels."""
        return Pairs.from_labels(self.label, self.bounds)


def find_ranking_metric(wanted, objective):
    """Return a metric: (name, function (QueryLabels, scores, None), whether higher is better).

    Parameters
    ----------
    wanted : text such as "NDCG:top=10;type=Exp", "MAP:top=5" or "PairLogit", or None for the usual
        one of the loss: PairLogit, or NDCG for YetiRank
    objective : RankingObjective; not read if ``wanted`` is given

    Raises
    ------
    ValueError
        If the metric or an option is unknown.
    """
    text = wanted
    if wanted is None:
        text = "PairLogit" if objective.name == "PairLogit" else "NDCG"
    name, _, options = text.partition(":") if isinstance(text, str) else ("", "", "")
    if name not in NAMES:
        raise ValueError(f"the metric {wanted!r} is not supported for ranking: use {NAMES}")
    if name == "PairLogit":
        if options:
            raise ValueError(f"the metric {wanted!r}: PairLogit has no options here")
        return name, pair_loss, False
    top, kind = read_options(text, name, options)
    shown = [f"top={top}"] if top else []
    if name == "MAP":
        return ":".join(["MAP", *shown]), MeanAveragePrecision(top), True
    return f"NDCG:{';'.join([*shown, f'type={kind}'])}", DiscountedGain(top, kind), True


def read_options(text, name, options):
    """Return the number of ranks that count, or 0 for all, and the kind of gain."""
    top, kind = 0, "Base"
    for option in filter(None, options.split(";")):
        key, _, value = option.partition("=")
        if key == "top" and value.isdigit() and int(value) > 0:
            top = int(value)
        elif key == "type" and name == "NDCG" and value in KINDS:
            kind = value
        else:
            raise ValueError(
                f"eval_metric {text!r}: the option {option!r} is not supported; NDCG has top and "
                "type (Base or Exp), MAP has top"
            )
    return top, kind


@dataclass(frozen=True)
class DiscountedGain:
    """NDCG of the first ``top`` ranks, or of all if it is 0."""

    top: int
    kind: str

    def __call__(self, queries, score, weight=None):
        """Return the mean over the queries, weighted by those of the rows, (n_rows,), if given."""
        rows = queries.rows
        values, codes = np.unique(queries.label[rows], return_inverse=True)
        longest = int(np.diff(queries.bounds).max())
        metric = ranking_metric("ndcg", [self.top or longest], KINDS[self.kind](values))
        given = codes.astype(np.float64), np.asarray(score)[rows], weight, queries.bounds
        return metric(*given)[0][1]


@dataclass(frozen=True)
class MeanAveragePrecision:
    """Mean average precision at the rank ``top``, or at the last rank if it is 0."""

    top: int

    def __call__(self, queries, score, _weight=None):
        """Return the mean over the queries."""
        rows = queries.rows
        is_relevant = (queries.label[rows] > 0.5).astype(np.float64)
        longest = int(np.diff(queries.bounds).max())
        metric = ranking_metric("map", [self.top or longest], (0.0, 1.0))
        found = metric(is_relevant, np.asarray(score)[rows], None, queries.bounds)[0][1]
        counts = np.add.reduceat(is_relevant, queries.bounds[:-1])
        return found - float(np.mean(counts == 0.0))


def pair_loss(queries, score, _weight=None):
    """Return the mean loss of all pairs of rows of a query with different labels; NaN if none."""
    return mean_pair_loss(queries.pairs, score)


def mean_pair_loss(pairs, score):
    """Return the weighted mean loss of some pairs; NaN if there are none.

    Parameters
    ----------
    pairs : Pairs
    score : (n_rows,)
    """
    score = np.asarray(score, np.float64)
    gap = score[pairs.loser] - score[pairs.winner]
    return float(np.average(np.logaddexp(0.0, gap), weights=pairs.weight)) if len(gap) else np.nan
