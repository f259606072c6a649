"""Start of boosting: a constant, user-given scores, or an initial model."""

from dataclasses import replace

import numpy as np

from algorithms.prediction.predictor import FastPredictor
from harness import TreeEnsemble

RULES = {  # properties of a model that boosting can continue
    "comparison": "<=",
    "combination": "sum",
    "input_dtype": "float64",
    "sum_dtype": "float64",
    "base_first": True,
    "temperature": 1.0,
}


class Start:
    """Initial scores of training rows and evaluation tables.

    Parameters
    ----------
    params : the estimator
    model : EarlierModel, optional
        Initial model. Boosting starts from its scores, and its trees become part of the new model.
    score : array (n_rows,) or (n_rows, n_scores), optional
        Initial scores of the training rows. Predictions do not include them.
    of_tables : list of such arrays, one for each evaluation table, optional

    Raises
    ------
    ValueError
        If the model or the scores do not fit.
    """

    def __init__(self, params, model, score, of_tables):
        self.params = params
        self.given, self.of_tables = score, of_tables
        self.model = None if model is None else self.fitting(model)
        self.is_given = not (model is None and score is None)
        if model is not None and score is not None:
            raise ValueError("give init_model or init_score, not both")
        if of_tables is not None and score is None:
            raise ValueError("eval_init_score needs an init_score for the rows of training")
        if self.is_given and params.parity is not None:
            raise ValueError(f"parity={params.parity!r} starts from the library's own constant")

    def fitting(self, model):
        """Return a model's trees; raise ValueError if boosting cannot continue from them."""
        p, trees = self.params, model.trees
        odd = [name for name, value in RULES.items() if getattr(trees, name) != value]
        if odd or trees.value.shape[1] != 1:
            raise ValueError(
                f"boosting cannot continue a model with {', '.join(odd) or 'vector leaves'}"
            )
        if trees.n_features != p.n_features_in_:
            raise ValueError(
                f"init_model has {trees.n_features} features, X has {p.n_features_in_}"
            )
        if trees.n_outputs != p._n_scores or trees.link != p._link:  # noqa: SLF001 - its own part
            raise ValueError("init_model was trained for another objective or number of classes")
        if not np.isnan(trees.missing_value):
            raise ValueError(
                f"init_model reads {trees.missing_value} as missing: boosting goes on from models "
                "that read NaN alone so"
            )
        model.check_columns(p)
        return trees

    @property
    def base(self):
        """Base score of all predictions, float64 (n_scores,)."""
        n_scores = self.params._n_scores  # noqa: SLF001 - its own part
        return np.zeros(n_scores) if self.model is None else self.model.base

    def scores(self, X, table=None):
        """Return the initial scores of rows, float64 (n_rows, n_scores), or None for a constant.

        Parameters
        ----------
        X : (n_rows, n_features), validated
        table : int, optional
            Number of the evaluation table. None means the training rows.
        """
        if self.model is not None:
            return FastPredictor(self.model).raw(X)
        given = self.given
        if table is not None:
            given = None if self.of_tables is None else self.of_tables[table]
            if given is None and self.is_given:
                given = np.zeros((X.shape[0], len(self.base)))
        return None if given is None else self.shaped(given, X.shape[0])

    def check_given(self, n_rows):
        """Check and reshape the initial scores of the training rows, if any."""
        if self.given is not None:
            self.given = self.shaped(self.given, n_rows)

    def shaped(self, given, n_rows):
        """Return the user's scores, float64 (n_rows, n_scores)."""
        scores = np.asarray(given, np.float64)
        n_scores = len(self.base)
        if scores.size != n_rows * n_scores or scores.shape[0] != n_rows:
            raise ValueError(f"init_score has shape {scores.shape}, not ({n_rows}, {n_scores})")
        if not np.isfinite(scores).all():
            raise ValueError("init_score holds NaN or infinity")
        return scores.reshape(n_rows, n_scores)

    @property
    def n_rounds(self):
        """Number of rounds of the initial model."""
        return 0 if self.model is None else self.model.n_trees // self.model.n_outputs

    def extend(self, new):
        """Return the initial model with new trees appended."""
        if self.model is None:
            return new
        old = self.model
        return replace(
            TreeEnsemble.join(
                [*(e.tree(t) for e in (old, new) for t in range(e.n_trees))],
                n_features=new.n_features,
                base=old.base,
                weight=np.concatenate([old.weight, new.weight]),
                output=np.concatenate([old.output, new.output]),
                zero_within=old.zero_within,
            ),
            link=new.link,
            classes=new.classes,
            library=new.library,
            cover_kind=new.cover_kind if new.cover_kind == old.cover_kind else "",
        )
