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
        self.before, self.n_rows = 0.0, np.float32(0.0)

    def start_tree(self, n_rows):
        """Begin a tree of some sampled rows."""
        self.before, self.n_rows = 0.0, np.float32(n_rows)

    def penalize(self, scores, columns):
        """Return the scores minus the penalties.

        Parameters
        ----------
        scores : float64 (n,)
        columns : int64 (n,), or list of n tuples of columns
        """
        of_rows = self.per_object * self.n_rows
        penalties = [np.where(self.is_used, 0, one) for one in (self.first_use, of_rows)]
        for own in penalties:
            total = add_up(own.astype(np.float32), columns) * self.coefficient
            scores = scores - total.astype(np.float64)
        return scores

    def weights_of(self, columns):
        """Return the weight of each candidate, float64 (n,); columns as in `penalize`."""
        if isinstance(columns, np.ndarray):
            return self.weights[columns].astype(np.float64)
        found = [np.prod(self.weights[list(own)], dtype=np.float32) for own in columns]
        return np.array(found, np.float64)

    def weigh(self, gains, columns):
        """Return the gains times the weights; −∞ stays."""
        return np.where(np.isneginf(gains), gains, gains * self.weights_of(columns))

    def choose(self, scores, columns):
        """Return the number of the candidate with the largest gain, and use its columns.

        Parameters
        ----------
        scores : float64 (n,), penalized
        columns : as in `penalize`
        """
        at = int(self.weigh(scores - self.before, columns).argmax())
        self.before = scores[at]
        self.use(columns[at])
        return at

    def use(self, columns):
        """Record that the model uses one or several columns."""
        self.is_used[np.atleast_1d(columns)] = True


def add_up(values, columns):
    """Return the float32 sum of the values of each candidate's columns."""
    if isinstance(columns, np.ndarray):
        return values[columns]
    found = np.zeros(len(columns), np.float32)
    for number, own in enumerate(columns):
        for column in own:
            found[number] += values[column]
    return found


def columns_of_source(source):
    """Return the columns of X of an `Indicator` or a `Statistic`, tuple.

    A column with several borders in a combination counts once for each.
    """
    projection = getattr(source, "projection", None)
    if projection is None:
        return (source.column,)
    parts = *projection.borders, *projection.levels
    return (*projection.columns, *(one[0] for one in parts))


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
    given = [read_numbers(getattr(params, name), name, names, n_features) for name in DEFAULTS]
    usual = zip(given, DEFAULTS.values(), strict=True)
    if all((values == default).all() for values, default in usual):
        return None
    if given[2].any() and params.grow_policy != "SymmetricTree":
        raise ValueError(
            "per_object_feature_penalties needs grow_policy='SymmetricTree': use "
            "first_feature_use_penalties"
        )
    return FeaturePenalties(*given, params.penalties_coefficient)


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
    found = np.full(n_features, DEFAULTS[parameter], np.float32)
    if wanted is None:
        return found
    if isinstance(wanted, str):
        wanted = read_number_text(wanted, parameter)
    columns = list(range(len(wanted)))
    if isinstance(wanted, dict):
        columns = [find_column(one, n_features, names, parameter) for one in wanted]
        wanted = list(wanted.values())
    if len(columns) > n_features:
        raise ValueError(f"{parameter} has {len(columns)} numbers; X has {n_features} columns")
    numbers = np.asarray(wanted, np.float64)
    if numbers.ndim != 1 or not (np.isfinite(numbers) & (numbers >= 0.0)).all():
        raise ValueError(f"{parameter} must hold finite numbers of at least 0")
    found[columns] = numbers
    return found


def read_number_text(text, parameter):
    """Return the list or the dict that a text stands for."""
    example = "(1,0.5)' or 'age:0.5,3:2"
    if ":" not in text:
        return read_text(text, parameter, example)
    found = {}
    for pair in text.strip("()[]{} ").split(","):
        column, _, number = pair.rpartition(":")
        column = column.strip()
        try:
            found[int(column) if column.isdigit() else column] = float(number)
        except ValueError:
            message = f"{parameter}={text!r} cannot be read: write it as in '{example}'"
            raise ValueError(message) from None
    return found
