"""View of a fitted histogram booster with the methods of LightGBM's Booster."""

import tempfile
from pathlib import Path

import numpy as np

from algorithms.compat.views import BoosterView, leaf_numbers, split_numbers
from algorithms.estimator.deferred_imports import pd
from harness import Missing

MISSING = {Missing.NAN: "NaN", Missing.ZERO: "Zero"}


class HistogramBooster(BoosterView):
    """View of a fitted `HistogramBoosting` estimator; it cannot be trained further.

    ``predict`` takes the same arguments as the estimator's. For two classes it returns a vector of
    the probabilities of the second class, as LightGBM's Booster does.
    """

    @property
    def best_iteration(self):
        """Best round found by early stopping; −1 without early stopping."""
        return self.estimator.best_iteration_ or -1

    @property
    def best_score(self):
        """Table → metric → value at the best round, or at the last one."""
        return self.estimator.best_score_

    @property
    def params(self):
        """Parameters of the estimator."""
        return self.estimator.get_params()

    def feature_name(self):
        """Return the names of the features."""
        return self.estimator.feature_name_

    def num_feature(self):
        """Return the number of features."""
        return self.estimator.n_features_in_

    def num_trees(self):
        """Return the number of trees."""
        return self.estimator.ensemble_.n_trees

    def num_model_per_iteration(self):
        """Return the number of trees per round."""
        return self.estimator.ensemble_.n_outputs

    def current_iteration(self):
        """Return the number of rounds."""
        return self.num_trees() // self.num_model_per_iteration()

    def feature_importance(self, importance_type="split", iteration=None):
        """Return the number of splits or the sum of gains of each feature."""
        trees = self.estimator.ensemble_
        last = None if iteration is None or iteration <= 0 else iteration * trees.n_outputs
        end = len(trees.feature) if last is None else trees.offsets[min(last, trees.n_trees)]
        inner = np.flatnonzero(trees.left[:end] >= 0)
        feature = trees.feature[inner]
        if importance_type == "split":
            return np.bincount(feature, minlength=trees.n_features).astype(np.int32)
        return np.bincount(feature, trees.gain[inner], trees.n_features)

    def get_leaf_output(self, tree_id, leaf_id):
        """Return the value of a leaf."""
        trees = self.estimator.ensemble_
        first, last = trees.offsets[tree_id], trees.offsets[tree_id + 1]
        (at,) = np.flatnonzero(leaf_numbers(trees)[first:last] == leaf_id)
        return float(trees.value[first + at, 0] * trees.weight[tree_id])

    def lower_bound(self):
        """Return a lower bound of all raw scores: the sum of the trees' lowest leaves."""
        return self._bound(min)

    def upper_bound(self):
        """Return an upper bound of all raw scores."""
        return self._bound(max)

    def _bound(self, pick):
        trees = self.estimator.ensemble_
        is_leaf = trees.left < 0
        total = float(trees.base.sum())
        for t in range(trees.n_trees):
            nodes = slice(trees.offsets[t], trees.offsets[t + 1])
            total += float(pick(trees.value[nodes, 0][is_leaf[nodes]]) * trees.weight[t])
        return total

    def predict(self, data, start_iteration=0, num_iteration=None, raw_score=False, **options):
        """Return predictions as LightGBM's Booster: probabilities for classification."""
        model = self.estimator
        rounds = {"start_iteration": start_iteration, "num_iteration": num_iteration}
        special = raw_score or options.get("pred_leaf") or options.get("pred_contrib")
        if special or not hasattr(model, "predict_proba"):
            return model.predict(data, raw_score=raw_score, **rounds, **options)
        proba = model.predict_proba(data, **rounds, **options)
        return proba[:, 1] if self.num_model_per_iteration() == 1 else proba

    def model_to_string(self, **_options):
        """Return the model in LightGBM's text format."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.txt"
            self.estimator.save_model(path, format="lightgbm")
            return path.read_text(encoding="utf-8")

    def save_model(self, filename, **_options):
        """Write the model in LightGBM's text format; return this view."""
        self.estimator.save_model(filename, format="lightgbm")
        return self

    def dump_model(self, **_options):
        """Return the model as a dict, in the format of LightGBM's Booster."""
        trees, names = self.estimator.ensemble_, self.feature_name()
        leaves, splits = leaf_numbers(trees), split_numbers(trees)
        info = []
        for t in range(trees.n_trees):
            first, last = trees.offsets[t], trees.offsets[t + 1]
            info.append(
                {
                    "tree_index": t,
                    "num_leaves": int((leaves[first:last] >= 0).sum()),
                    "num_cat": int((trees.categories[first:last] >= 0).sum()),
                    "shrinkage": 1,
                    "tree_structure": self._node(first, t, leaves, splits),
                }
            )
        split = self.feature_importance("split").tolist()
        return {
            "name": "tree",
            "version": "v4",
            "num_class": trees.n_outputs,
            "num_tree_per_iteration": trees.n_outputs,
            "label_index": 0,
            "max_feature_idx": trees.n_features - 1,
            "objective": str(self.estimator.objective_),
            "average_output": False,
            "feature_names": names,
            "tree_info": info,
            "feature_importances": {n: c for n, c in zip(names, split, strict=True) if c},
        }

    def _node(self, at, t, leaves, splits):
        """Return a node and its descendants as a dict."""
        trees = self.estimator.ensemble_
        if at == trees.offsets[t] and trees.left[at] >= 0:
            value = root_value(trees, t)
        else:
            value = float(trees.value[at, 0] * trees.weight[t])
        if trees.left[at] < 0:
            leaf = {
                "leaf_index": int(leaves[at]),
                "leaf_value": value,
                "leaf_weight": float(trees.cover[at]),
                "leaf_count": int(trees.cover[at]),
            }
            return leaf if trees.linear is None else leaf | linear_model(trees, t, at)
        return {
            "split_index": int(splits[at]),
            "split_feature": int(trees.feature[at]),
            "split_gain": float(trees.gain[at]),
            "threshold": self._threshold(at),
            "decision_type": self._decision(at),
            "default_left": bool(trees.default_left[at]),
            "missing_type": MISSING.get(Missing(int(trees.missing[at])), "None"),
            "internal_value": value,
            "internal_weight": float(trees.cover[at]),
            "internal_count": int(trees.cover[at]),
            "left_child": self._node(trees.left[at], t, leaves, splits),
            "right_child": self._node(trees.right[at], t, leaves, splits),
        }

    def _decision(self, at):
        """Return the comparison of a split: "<=" for numeric, "==" for categorical features."""
        return "<=" if self.estimator.ensemble_.categories[at] < 0 else "=="

    def _threshold(self, at):
        """Return a split's threshold, or its categories as text, "1||3"."""
        trees = self.estimator.ensemble_
        chosen = trees.categories[at]
        if chosen < 0:
            return float(trees.threshold[at])
        codes = trees.set_codes[trees.set_indptr[chosen] : trees.set_indptr[chosen + 1]]
        return "||".join(str(code) for code in codes)

    def trees_to_dataframe(self):
        """Return a frame with one row per node, in the format of LightGBM's Booster."""
        trees = self.estimator.ensemble_
        leaves, splits = leaf_numbers(trees), split_numbers(trees)
        names = self.feature_name()

        def label(t, at):
            kind, number = ("L", leaves[at]) if trees.left[at] < 0 else ("S", splits[at])
            return f"{t}-{kind}{number}"

        rows = []
        for t in range(trees.n_trees):
            waiting = [(trees.offsets[t], 1, None)]
            while waiting:
                at, depth, parent = waiting.pop()
                name = label(t, at)
                row = {"tree_index": t, "node_depth": depth, "node_index": name}
                row |= dict.fromkeys(COLUMNS)
                row["parent_index"] = parent
                row["value"] = float(trees.value[at, 0] * trees.weight[t])
                row["weight"] = row["count"] = float(trees.cover[at])
                if trees.left[at] >= 0:
                    left, right = trees.left[at], trees.right[at]
                    row |= {
                        "left_child": label(t, left),
                        "right_child": label(t, right),
                        "split_feature": names[trees.feature[at]],
                        "split_gain": float(trees.gain[at]),
                        "threshold": self._threshold(at),
                        "decision_type": self._decision(at),
                        "missing_direction": "left" if trees.default_left[at] else "right",
                        "missing_type": MISSING.get(Missing(int(trees.missing[at])), "None"),
                    }
                    waiting += [(right, depth + 1, name), (left, depth + 1, name)]
                rows.append(row)
        frame = pd.DataFrame(rows)
        return frame.assign(count=frame["count"].astype(int))


def linear_model(trees, t, at):
    """Return the linear model of a leaf as a dict."""
    terms = slice(trees.linear.start[at], trees.linear.start[at + 1])
    return {
        "leaf_const": float(trees.linear.constant[at] * trees.weight[t]),
        "leaf_features": trees.linear.feature[terms].tolist(),
        "leaf_coeff": (trees.linear.coefficient[terms] * trees.weight[t]).tolist(),
    }


def root_value(trees, t):
    """Return the value of a tree's root, which is not stored: the mean of its rows' leaf values."""
    nodes = slice(trees.offsets[t], trees.offsets[t + 1])
    is_leaf = trees.left[nodes] < 0
    rows = trees.cover[nodes][is_leaf]
    mean = np.average(trees.value[nodes, 0][is_leaf], weights=rows if rows.any() else None)
    return float(mean * trees.weight[t])


COLUMNS = (
    *("left_child", "right_child", "parent_index", "split_feature", "split_gain", "threshold"),
    *("decision_type", "missing_direction", "missing_type", "value", "weight", "count"),
)
