"""Effort of cross-fitted boosting: parameters by effort and size of the table, and a cost model.

The unit of effort is the time of LightGBM's default, 100 rounds of trees with 31 leaves. A fixed
model of that time turns a budget in seconds into an effort before training. So the trained model
does not depend on the speed of the machine at that moment.
"""

from dataclasses import asdict, dataclass

EFFORTS = {"low": 1.0, "medium": 4.0, "high": 24.0}
UNIT_SECONDS = 0.02  # of the cost model: start, of one score
UNIT_SECONDS_OF_VALUE = 4.5e-7  # and for each value of the table
MIN_EFFORT, MAX_EFFORT = 0.25, 1000.0
LEAVES = 10.5  # of a tree with one score, at 1 000 rows
LEAVES_OF_CLASSES = 8.0  # with three to ten classes
MANY_LEAVES = 16.0  # with 11 or more classes, or with one score and three members
MANY_CLASSES = 11
MAX_CAT_TO_ONEHOT = 16  # bins
ROWS_FOR_PAIRS = 1000, 200_000  # numbers of rows between which pairs of features are tried
BINS = 63, 255  # lowest and highest max_bin
ROWS_PER_BIN = 32
MAX_ROWS_FOR_RIDGE = 200_000  # maximum number of rows with columns of ridge regressions
MAX_ROWS_FOR_FOURIER = 50_000  # the regressors take 8 bytes a row and Fourier feature
N_FOURIER = 200
MULTICLASS_RATE_FACTOR = 1.2  # of the learning rate, with six members and several scores
RIDGE_TARGETS = 8, 32  # classes that have ridge regressions: with three members, with more
FIELDS_NOT_FOR_BOOSTER = (  # of `Plan`
    "n_folds",
    "max_rounds",
    "patience",
    "try_pairs",
    "adds_ridge",
    "ridge_targets",
    "n_fourier",
)


@dataclass(frozen=True)
class Plan:
    """Parameters that follow from the effort and from the size of the table."""

    n_folds: int
    max_rounds: int
    patience: int
    learning_rate: float
    num_leaves: int
    max_bin: int
    min_child_samples: int
    reg_lambda: float
    path_smooth: float
    max_cat_to_onehot: int  # bins up to which one category is split from the others
    extra_trees: bool  # one random threshold for each feature of a node
    try_pairs: bool  # whether differences and products of features are tried as columns
    adds_ridge: bool  # whether every second member uses columns of ridge regressions
    ridge_targets: int  # maximum number of classes, the most frequent ones, with regressions
    n_fourier: int  # random Fourier features of further regressions; 0: there are none

    def booster_params(self):
        """Return the parameters of the histogram booster."""
        plan = asdict(self)
        for name in FIELDS_NOT_FOR_BOOSTER:
            del plan[name]
        return plan


def seconds_of_unit(n_rows, n_columns, n_scores):
    """Return the modeled seconds of one unit of effort, on one thread of a usual machine."""
    return n_scores * (UNIT_SECONDS + UNIT_SECONDS_OF_VALUE * n_rows * n_columns)


def effort_of_budget(seconds, n_rows, n_columns, n_scores):
    """Return the effort that a budget in seconds allows by the cost model."""
    effort = seconds / seconds_of_unit(n_rows, n_columns, n_scores)
    return min(max(effort, MIN_EFFORT), MAX_EFFORT)


def make_plan(effort, n_rows, n_scores=1):
    """Return the `Plan` of an effort for a table.

    Parameters
    ----------
    effort : float, in units of LightGBM's default
    n_rows : int
    n_scores : int, number of trees of a round
    """
    has_rows = ROWS_FOR_PAIRS[0] <= n_rows <= ROWS_FOR_PAIRS[1]
    n_folds = 3 if effort < 2.0 else 6 if effort < 12.0 else 12
    has_three_members = n_folds == 3
    rate = 0.17 / effort**0.27
    if n_scores > 1 and n_folds == 6:
        rate *= MULTICLASS_RATE_FACTOR
    rate = min(0.25, max(0.02, rate))
    if n_scores == 1:
        leaves = MANY_LEAVES if has_three_members else LEAVES
    else:
        leaves = LEAVES_OF_CLASSES if n_scores < MANY_CLASSES else MANY_LEAVES
    fewest, most = BINS
    adds_fourier = n_scores > 1 and not has_three_members and n_rows <= MAX_ROWS_FOR_FOURIER
    return Plan(
        n_folds=min(n_folds, n_rows),
        max_rounds=round(60.0 / rate),
        patience=round(1.6 / rate),
        learning_rate=rate,
        num_leaves=max(4, min(64, round(leaves * (n_rows / 1000.0) ** 0.6))),
        max_bin=max(fewest, min(most, n_rows // ROWS_PER_BIN)),
        min_child_samples=max(2, min(20, n_rows // 200)),
        reg_lambda=0.01,
        path_smooth=1.0,
        max_cat_to_onehot=MAX_CAT_TO_ONEHOT,
        extra_trees=True,
        try_pairs=effort >= 2.0 and n_scores == 1 and has_rows,
        adds_ridge=n_rows <= MAX_ROWS_FOR_RIDGE,
        ridge_targets=RIDGE_TARGETS[not has_three_members],
        n_fourier=N_FOURIER if adds_fourier else 0,
    )
