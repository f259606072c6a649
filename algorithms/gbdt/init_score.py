"""What a histogram booster starts from: a constant, scores that the user has, or a model."""

from dataclasses import replace

import numpy as np

from algorithms.prediction.predictor import FastPredictor
from harness import TreeEnsemble

RULES = {  # a model whose trees ours can be added to
    "comparison": "<=",
    "combination": "sum",
    "input_dtype": "float64",
    "sum_dtype": "float64",
    "base_first": True,
    "temperature": 1.0,
}


class Start:
    """Where boosting begins.

    Parameters
    ----------
    params : the estimator
    model : EarlierModel, optional
        Its scores are where boosting begins, and its trees stay in the model.
    score : array (n_rows,) or (n_rows, n_scores), optional
        Where boosting begins; predictions do not contain it.
    of_tables : list of such arrays, one for each evaluation table, optional

    Raises
    ------
    ValueError
        Where the model or the scores do not fit.
    """

    def __init__(self, params, model, score, of_tables):
        self.params = params
        self.given, self.of_tables = score, of_tables
        self.model = None if model is None else self.fitting(model)
        self.is_given = not (model is None and score is None)
        if model is not None and score is not None:
            raise ValueError("give init_model or init_score: a model's scores are its own")
        if of_tables is not None and score is None:
            raise ValueError("eval_init_score needs an init_score for the rows of training")
        if self.is_given and params.parity is not None:
            raise ValueError(f"parity={params.parity!r} starts from the library's own constant")

    def fitting(self, model):
        """Return a model's trees if new ones can be added to them."""
        p, trees = self.params, model.trees
        odd = [name for name, value in RULES.items() if getattr(trees, name) != value]
        if odd or trees.value.shape[1] != 1:
            raise ValueError(f"boosting cannot go on from its {', '.join(odd) or 'vector leaves'}")
        if trees.n_features != p.n_features_in_:
            raise ValueError(f"init_model knows {trees.n_features} features, X {p.n_features_in_}")
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
        """What every prediction contains, float64 (n_scores,)."""
        n_scores = self.params._n_scores  # noqa: SLF001 - its own part
        return np.zeros(n_scores) if self.model is None else self.model.base

    def scores(self, X, table=None):
        """Return the first scores of rows, float64 (n_rows, n_scores), or None: a constant.

        Parameters
        ----------
        X : (n_rows, n_features), as read
        table : int, optional
            Number of the evaluation table; by default the rows are those of training.
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
        """Raise the errors of `shaped` where there are scores of the training rows."""
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
        """How many rounds the model has."""
        return 0 if self.model is None else self.model.n_trees // self.model.n_outputs

    def extend(self, new):
        """Return the model with new trees behind its own."""
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
