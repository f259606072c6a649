"""Weights of the classes: `class_weights`, `auto_class_weights` and `scale_pos_weight`."""

import numpy as np

NAMES = ("class_weights", "auto_class_weights", "scale_pos_weight")


def refuse_class_weights(params):
    """Raise ValueError if a parameter of an estimator without classes weighs classes."""
    for name in NAMES:
        if getattr(params, name) is not None:
            raise ValueError(f"{name} is for classifiers: use sample_weight")


def weigh_classes(params, codes, weight):
    """Return sample weights times those of the classes, float64, or None if all are 1.

    "Balanced" gives class c the weight max_k W_k / W_c with the total weights W; "SqrtBalanced"
    takes the square root.

    Parameters
    ----------
    params : the estimator, after it has read the labels
    codes : (n_rows,) class codes
    weight : (n_rows,) float64, or None

    Raises
    ------
    ValueError
        If several parameters are given, or one does not fit the classes.
    """
    auto = None if params.auto_class_weights == "None" else params.auto_class_weights
    values = params.class_weights, auto, params.scale_pos_weight
    given = [name for name, value in zip(NAMES, values, strict=True) if value is not None]
    if not given:
        return weight
    if len(given) > 1:
        raise ValueError(f"give one of {', '.join(given)}: each of them weighs the classes")
    codes = codes.astype(np.int64)
    if auto is not None:
        total = np.bincount(codes, weight, params.n_classes_)
        with np.errstate(divide="ignore"):
            of_class = np.where(total > 0.0, total.max() / total, 1.0)
        of_class = np.sqrt(of_class) if auto == "SqrtBalanced" else of_class
    elif params.scale_pos_weight is not None:
        if params.n_classes_ != 2:
            raise ValueError("scale_pos_weight is for two classes: use class_weights")
        of_class = np.array([1.0, params.scale_pos_weight])
    else:
        of_class = read_class_weights(params.class_weights, params.classes_)
    own = of_class[codes]
    return own if weight is None else own * weight


def read_class_weights(given, labels):
    """Return the weight of each class, float64 (n_classes,).

    Parameters
    ----------
    given : dict, label → weight (1 for a label that is left out), or a list in the labels' order
    labels : (n_classes,)

    Raises
    ------
    ValueError
        If a label is unknown, the number of weights is wrong, or one is invalid.
    """
    if isinstance(given, dict):
        unknown = [label for label in given if label not in labels]
        if unknown:
            raise ValueError(f"class_weights has labels that y does not have: {unknown[:5]}")
        found = np.array([given.get(label, 1.0) for label in labels.tolist()], np.float64)
    else:
        found = np.asarray(given, np.float64)
    if found.shape != (len(labels),) or not (np.isfinite(found) & (found >= 0.0)).all():
        raise ValueError(
            f"class_weights must hold a finite number of at least 0 for each of {len(labels)} "
            f"classes; it is {given!r}"
        )
    return found
