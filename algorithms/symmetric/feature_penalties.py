"""Weights of columns, and penalties for their use, in the choice of a split.

With the score S of the best split of a candidate, and the score S₀ of the tree before it, the
candidate with the largest gain is chosen:

    gain = (S − c Σ p_f − c n Σ q_f − S₀) Π w_f

w_f is the column's weight (`feature_weights`). The penalties p_f (`first_feature_use_penalties`)
and q_f (`per_object_feature_penalties`) count until the first split of the model that uses the
column; n is the number of sampled rows, c is `penalties_coefficient`. A combination uses several
columns. Sums and products are float32, as in CatBoost.
"""

import numpy as np

from algorithms.estimator.constraints import find_column, read_text

DEFAULTS = {
    "feature_weights": 1.0,
    "first_feature_use_penalties": 0.0,
    "per_object_feature_penalties": 0.0,
}


class FeaturePenalties:
    """Weights and penalties of the columns of X, and which columns the model uses.

    Parameters
    ----------
    weights, first_use, per_object : float32 (n_features,)
    coefficient : float
    """

    def __init__(self, weights, first_use, per_object, coefficient):
        self.weights, self.first_use, self.per_object = weights, first_use, per_object
        self.coefficient = np.float32(coefficient)
        self.is_used = np.zeros(len(weights), bool)
        self.parent_score, self.n_rows = 0.0, np.float32(0.0)

    def start_tree(self, n_rows):
        """Begin a tree of some sampled rows."""
        self.parent_score, self.n_rows = 0.0, np.float32(n_rows)

    def penalize(self, scores, columns):
        """Return the scores minus the penalties.

        Parameters
        ----------
        scores : float64 (n,)
        columns : int64 (n,), or list of n tuples of columns
        """
        for penalty in (self.first_use, self.per_object * self.n_rows):
            unused = np.where(self.is_used, 0, penalty).astype(np.float32)
            total = sum_by_candidate(unused, columns) * self.coefficient
            scores = scores - total.astype(np.float64)
        return scores

    def weights_of(self, columns):
        """Return the weight of each candidate, float64 (n,); columns as in `penalize`."""
        if isinstance(columns, np.ndarray):
            return self.weights[columns].astype(np.float64)
        weights = [np.prod(self.weights[list(several)], dtype=np.float32) for several in columns]
        return np.array(weights, np.float64)

    def weight_gains(self, gains, columns):
        """Return the gains times the weights; −∞ stays."""
        return np.where(np.isneginf(gains), gains, gains * self.weights_of(columns))

    def pick_best_candidate(self, scores, columns):
        """Return the number of the candidate with the largest gain, and mark its columns as used.

        Parameters
        ----------
        scores : float64 (n,), penalized
        columns : as in `penalize`
        """
        best = int(self.weight_gains(scores - self.parent_score, columns).argmax())
        self.parent_score = scores[best]
        self.mark_used(columns[best])
        return best

    def mark_used(self, columns):
        """Record that the model uses one or several columns."""
        self.is_used[np.atleast_1d(columns)] = True


def sum_by_candidate(values, columns):
    """Return the float32 sum of the values of each candidate's columns."""
    if isinstance(columns, np.ndarray):
        return values[columns]
    sums = np.zeros(len(columns), np.float32)
    for candidate, several in enumerate(columns):
        for column in several:
            sums[candidate] += values[column]
    return sums


def columns_of_source(source):
    """Return the columns of X of an `Indicator` or a `Statistic`, tuple."""
    projection = getattr(source, "projection", None)
    return (source.column,) if projection is None else columns_of_projection(projection)


def columns_of_projection(projection):
    """Return the columns of X of a `Projection`, tuple.

    A column with several borders in a combination counts once for each.
    """
    parts = *projection.borders, *projection.levels
    return (*projection.columns, *(part[0] for part in parts))


def columns_of_split(split):
    """Return the columns of X of a `TreeSplit`, tuple."""
    return (split.numeric[0],) if split.numeric is not None else columns_of_source(split.feature)


def read_penalties(params, names, n_features):
    """Return the `FeaturePenalties`, or None if all columns are equal.

    Parameters
    ----------
    params : the estimator, with resolved parameters
    names : list of the columns' names, or empty
    n_features : int

    Raises
    ------
    ValueError, TypeError
        If a parameter cannot be parsed, or the training does not support it.
    """
    weights, first_use, per_object = (
        read_numbers(getattr(params, name), name, names, n_features) for name in DEFAULTS
    )
    if (weights == 1.0).all() and not first_use.any() and not per_object.any():
        return None
    if per_object.any() and params.grow_policy != "SymmetricTree":
        raise ValueError(
            "per_object_feature_penalties needs grow_policy='SymmetricTree': use "
            "first_feature_use_penalties"
        )
    return FeaturePenalties(weights, first_use, per_object, params.penalties_coefficient)


def read_numbers(wanted, parameter, names, n_features):
    """Return a number for each column, float32 (n_features,).

    Parameters
    ----------
    wanted : a sequence of at most n_features numbers, a dict by column number or name, text such
        as "(1,0.5)" or "age:0.5,3:2", or None
    parameter : str
    names : list of the columns' names, or empty
    n_features : int
    """
    numbers_by_column = np.full(n_features, DEFAULTS[parameter], np.float32)
    if wanted is None:
        return numbers_by_column
    if isinstance(wanted, str):
        example = "(1,0.5)' or 'age:0.5,3:2"
        if ":" in wanted:
            wanted = parse_column_numbers(wanted, parameter, float, example)
        else:
            wanted = read_text(wanted, parameter, example)
    columns = list(range(len(wanted)))
    if isinstance(wanted, dict):
        columns = [find_column(column, n_features, names, parameter) for column in wanted]
        wanted = list(wanted.values())
    if len(columns) > n_features:
        raise ValueError(f"{parameter} has {len(columns)} numbers; X has {n_features} columns")
    numbers = np.asarray(wanted, np.float64)
    if numbers.ndim != 1 or not (np.isfinite(numbers) & (numbers >= 0.0)).all():
        raise ValueError(f"{parameter} must hold finite numbers of at least 0")
    numbers_by_column[columns] = numbers
    return numbers_by_column


def parse_column_numbers(text, parameter, convert, example):
    """Return the dict of CatBoost's text "column:number,column:number", by column number or name.

    Parameters
    ----------
    text : str
    parameter : str
    convert : int or float, the type of the numbers
    example : str, for the error message

    Raises
    ------
    ValueError
        If the text cannot be parsed.
    """
    numbers = {}
    for pair in text.strip("()[]{} ").split(","):
        column, _, number = pair.rpartition(":")
        column = column.strip()
        try:
            numbers[int(column) if column.isdigit() else column] = convert(number)
        except ValueError:
            message = f"{parameter}={text!r} cannot be read: write it as in '{example}'"
            raise ValueError(message) from None
    return numbers
