"""Export of YDF's gradient-boosted trees as a TreeEnsemble.

Values are rounded to float32, and one that is at least the threshold goes to the positive child,
here the right one. Leaves and sums are float32. Columns are in the order of the model's
``input_feature_names()``; categories of a column must be whole numbers.
"""

from __future__ import annotations

import numpy as np
import ydf

from algorithms.reference._codes import codes_of_labels
from algorithms.reference._errors import not_exportable
from algorithms.reference._nodes import breadth_first
from harness import Missing, Tree, TreeEnsemble

LINKS = {"SQUARED_ERROR": "identity", "MEAN_AVERAGE_ERROR": "identity", "POISSON": "exp"}
LINKS |= {"BINOMIAL_LOG_LIKELIHOOD": "sigmoid", "MULTINOMIAL_LOG_LIKELIHOOD": "softmax"}


def export(model, columns=None, n_features=None):
    """Return the trees of a fitted model.

    Parameters
    ----------
    model : ydf.GradientBoostedTreesModel
    columns : sequence of int, optional
        Column of X of each of the model's features; by default 0, 1, …
    n_features : int, optional
        Number of columns of X; by default that of the model's features.
    """
    if not isinstance(model, ydf.GradientBoostedTreesModel):
        raise not_exportable(f"it is a {type(model).__name__}")
    loss = model.describe("text").partition("Loss: ")[2].split("\n")[0].strip()
    if loss not in LINKS:
        raise not_exportable(f"the loss {loss} cannot be written as a TreeEnsemble")
    features = model.input_features()
    places = range(len(features)) if columns is None else columns
    place_of = {f.column_idx: place for f, place in zip(features, places, strict=True)}
    reader = Reader(model.data_spec(), place_of)
    base = np.asarray(model.initial_predictions(), np.float64)
    trees = [reader.tree(tree.root) for tree in model.iter_trees()]
    is_classifier = model.task() == ydf.Task.CLASSIFICATION
    return TreeEnsemble.join(
        trees,
        n_features=len(features) if n_features is None else n_features,
        output=np.arange(len(trees)) % len(base),
        base=base,
        link=LINKS[loss],
        classes=codes_of_classes(model.label_classes()) if is_classifier else (),
        comparison="<",
        input_dtype="float32",
        sum_dtype="float32",
        library="ydf",
        version=ydf.__version__,
    )


def codes_of_classes(labels):
    """Return the codes of a model's classes, which are texts."""
    is_number = all(label.isdecimal() for label in labels)
    return codes_of_labels([int(label) for label in labels] if is_number else labels)


class Reader:
    """The columns of a model: its data specification, and the column of X of each."""

    def __init__(self, specification, place_of):
        self.columns, self.place_of = specification.columns, place_of

    def tree(self, root):
        """Return a tree from its root."""
        nodes, left, right = breadth_first(
            root, lambda node: None if node.is_leaf else (node.neg_child, node.pos_child)
        )
        splits = [None if node.is_leaf else self.split(node.condition) for node in nodes]
        leaf = (-1, 0.0, None)
        feature, threshold, sets = zip(*(split or leaf for split in splits), strict=True)
        values = [node.value.value if node.is_leaf else np.nan for node in nodes]
        conditions = [None if node.is_leaf else node.condition for node in nodes]
        return Tree(
            feature=np.array(feature, np.int32),
            threshold=np.array(threshold, np.float64),
            left=left,
            right=right,
            value=np.array(values, np.float64)[:, None],
            default_left=np.array([c is not None and not c.missing for c in conditions]),
            missing=np.full(len(nodes), Missing.NAN, np.uint8),
            gain=np.array([np.nan if c is None else c.score for c in conditions]),
            sets={i: chosen for i, chosen in enumerate(sets) if chosen is not None},
        )

    def split(self, condition):
        """Return column, threshold and category set of a condition; its negative side is left."""
        kind = type(condition).__name__
        place = self.place_of.get(getattr(condition, "attribute", None))
        if kind == "NumericalHigherThanCondition":
            return place, condition.threshold, None
        if kind == "DiscretizedNumericalHigherThanCondition":
            borders = self.columns[condition.attribute].discretized_numerical.boundaries
            return place, borders[condition.threshold_idx - 1], None
        if kind != "CategoricalIsInCondition":
            raise not_exportable(f"a split by {kind}")
        codes = self.codes(condition.attribute)
        chosen = set(condition.mask)
        if 0 in chosen:  # also categories that were not seen in training
            return place, 0.0, ([code for i, code in codes.items() if i not in chosen], True)
        return place, 0.0, ([codes[i] for i in sorted(chosen)], False)

    def codes(self, attribute):
        """Return the category code of each index, without that of unknown categories."""
        items = self.columns[attribute].categorical.items
        texts = {item.index: text for text, item in items.items() if item.index > 0}
        if not all(text.isdecimal() for text in texts.values()):
            name = self.columns[attribute].name
            raise not_exportable(f"the categories of {name!r} must be whole numbers 0, 1, ...")
        return {index: int(text) for index, text in texts.items()}
