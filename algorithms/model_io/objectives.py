"""Known objectives: their names in LightGBM and XGBoost, and their link functions."""

from algorithms.model_io.errors import ModelFileError

ROWS = (  # LightGBM, XGBoost, link; the first row of a link is its default
    ("regression", "reg:squarederror", "identity"),
    ("regression_l1", "reg:absoluteerror", "identity"),
    ("huber", "reg:pseudohubererror", "identity"),
    ("quantile", "reg:quantileerror", "identity"),
    ("fair", "", "identity"),
    ("mape", "", "identity"),
    ("lambdarank", "", "identity"),
    ("rank_xendcg", "", "identity"),
    ("", "reg:squaredlogerror", "identity"),
    ("", "reg:expectileerror", "identity"),
    ("", "reg:expectileerror", "ascending"),  # with several levels
    ("", "binary:logitraw", "identity"),
    ("", "rank:ndcg", "identity"),
    ("", "rank:pairwise", "identity"),
    ("", "rank:map", "identity"),
    ("binary", "binary:logistic", "sigmoid"),
    ("cross_entropy", "reg:logistic", "sigmoid"),
    ("multiclassova", "", "sigmoid"),
    ("multiclass", "multi:softprob", "softmax"),
    ("", "multi:softmax", "softmax"),
    ("", "binary:hinge", "step"),
    ("poisson", "count:poisson", "exp"),
    ("gamma", "reg:gamma", "exp"),
    ("tweedie", "reg:tweedie", "exp"),
    ("", "survival:cox", "exp"),
    ("", "survival:aft", "exp"),
)
LIGHTGBM, XGBOOST = 0, 1
TWO = ("binary", "binary:logistic", "binary:hinge")
MANY = ("multiclass", "multiclassova", "multi:softprob", "multi:softmax")


def link_of(name, library):
    """Return the link of an objective; raise ModelFileError if it is unknown."""
    for row in ROWS:
        if name and row[library] == name:
            return row[2]
    raise ModelFileError(f"the objective {name!r} is not supported")


def name_for(ensemble, wanted, library):
    """Return the objective name with which a library predicts like the ensemble.

    Parameters
    ----------
    ensemble : harness.TreeEnsemble
    wanted : str, optional
        Objective name in either library; used if its link and number of classes match.
    """
    rows = [row for row in ROWS if row[2] == ensemble.link and row[library]]
    named = [row for row in rows if wanted in row[:2]] or rows
    for row in [*named, *rows]:
        if fits(row[library], ensemble):
            return row[library]
    raise ModelFileError(
        f"no objective of the library turns {ensemble.n_outputs} scores with {ensemble.link} into "
        f"{len(ensemble.classes)} classes"
    )


def fits(name, ensemble):
    """Return whether an objective matches the ensemble's number of scores and classes."""
    if name == "binary:logistic" and not ensemble.classes:
        return ensemble.n_outputs > 1  # several labels
    if name in TWO:
        return ensemble.n_outputs == 1 and bool(ensemble.classes)
    if name in MANY:
        return ensemble.n_outputs > 1
    return ensemble.n_outputs == 1 or ":" in name  # XGBoost has several targets
