"""View of a fitted second-order booster with the interface of XGBoost's Booster."""

import json
import tempfile
from pathlib import Path

import numpy as np

from algorithms.compat.views import BoosterView
from algorithms.estimator.deferred_imports import pd
from algorithms.newton.model import importances


class NewtonBooster(BoosterView):
    """Read-only Booster interface of a fitted `NewtonBoosting` estimator."""

    @property
    def feature_names(self):
        """Column names of the training frame, or None."""
        names = getattr(self.estimator, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def feature_types(self):
        """Column types of the training frame, "c" categorical or "q" numeric, or None."""
        names = self.feature_names
        if names is None:
            return None
        categories = self.estimator.categories_ or {}
        return ["c" if name in categories else "q" for name in names]

    @property
    def best_iteration(self):
        """Best round of early stopping, counted from 0."""
        return self.estimator.best_iteration

    @property
    def best_score(self):
        """Metric of the best round."""
        return self.estimator.best_score

    def attributes(self):
        """Return the attributes set by early stopping, name → text."""
        found = {n: getattr(self.estimator, n, None) for n in ("best_iteration", "best_score")}
        return {name: str(value) for name, value in found.items() if value is not None}

    def attr(self, key):
        """Return one of the `attributes`, or None."""
        return self.attributes().get(key)

    def num_boosted_rounds(self):
        """Return the number of rounds that were trained."""
        return self.estimator.n_iter_

    def num_features(self):
        """Return the number of features."""
        return self.estimator.n_features_in_

    def get_score(self, fmap="", importance_type="weight"):
        """Return the importance of each feature with a split, name → number."""
        model = self.estimator
        split = importances(model._rounds, "weight", model.n_features_in_)  # noqa: SLF001 - same package
        found = importances(model._rounds, importance_type, model.n_features_in_)  # noqa: SLF001
        names = self._names(fmap)
        return {names[f]: float(found[f]) for f in np.flatnonzero(split > 0)}

    def get_fscore(self, fmap=""):
        """Return the number of splits of each feature."""
        return self.get_score(fmap)

    def _names(self, fmap=""):
        """Return the feature names, or "f0", "f1" … if there are none.

        Parameters
        ----------
        fmap : path of a feature map, a text file with the number, name and type of a feature a line

        Raises
        ------
        ValueError
            If there is no such file, or it does not name all features.
        """
        if fmap:
            names = read_feature_map(fmap)
        else:
            names = self.feature_names or [f"f{number}" for number in range(self.num_features())]
        if len(names) != self.num_features():
            raise ValueError(f"{len(names)} feature names for {self.num_features()} features")
        return names

    def save_model(self, fname):
        """Write the model in XGBoost's JSON format."""
        self.estimator.save_model(fname, format="xgboost")

    def save_raw(self, raw_format="json"):
        """Return the model in XGBoost's JSON format.

        Raises
        ------
        ValueError
            If another format is requested.
        """
        if raw_format != "json":
            raise ValueError(f"raw_format must be 'json', not {raw_format!r}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            self.save_model(path)
            return bytearray(path.read_bytes())

    def predict(self, data, output_margin=False, **options):
        """Return predictions for rows; class probabilities for classifiers."""
        model = self.estimator
        if output_margin or not hasattr(model, "predict_proba"):
            return model.predict(data, output_margin=output_margin, **options)
        found = model.predict_proba(data, **options)
        return found[:, 1] if found.shape[1] == 2 else found

    def inplace_predict(self, data, *, predict_type="value", **options):
        """Return predictions for rows, like `predict`."""
        return self.predict(data, output_margin=predict_type == "margin", **options)

    def get_dump(self, fmap="", with_stats=False, dump_format="text"):
        """Return each tree as text, or as JSON if ``dump_format`` is "json"."""
        names, trees = self._names(fmap), self.estimator.ensemble_
        found = []
        for t in range(trees.n_trees):
            first = trees.offsets[t]
            if dump_format == "json":
                found.append(json.dumps(self._node(first, first, 0, with_stats, names), indent=2))
            else:
                found.append("".join(self._lines(first, first, 0, with_stats, names)))
        return found

    def _value(self, at):
        """Return the value of a leaf; the list of its values if it has several."""
        found = self.estimator.ensemble_.value[at].tolist()
        return found[0] if len(found) == 1 else found

    def _value_text(self, at):
        """Return the value or the values of a leaf as text."""
        found = [f"{value:.9g}" for value in np.ravel(self._value(at)).tolist()]
        return found[0] if len(found) == 1 else f"[{', '.join(found)}]"

    def _condition(self, at, names):
        """Return the condition of a split as text."""
        trees, name = self.estimator.ensemble_, names[self.estimator.ensemble_.feature[at]]
        if trees.categories[at] < 0:
            return f"{name}<{trees.threshold[at]:.9g}"
        return f"{name}:{{{','.join(map(str, self._codes(at)))}}}"

    def _codes(self, at):
        """Return the category codes of a categorical split."""
        trees, chosen = self.estimator.ensemble_, self.estimator.ensemble_.categories[at]
        return trees.set_codes[trees.set_indptr[chosen] : trees.set_indptr[chosen + 1]].tolist()

    def _lines(self, at, first, depth, with_stats, names):
        """Yield the lines of a node and of all below it."""
        trees, indent = self.estimator.ensemble_, "\t" * depth
        if trees.left[at] < 0:
            stats = f",cover={trees.cover[at]:.9g}" if with_stats else ""
            yield f"{indent}{at - first}:leaf={self._value_text(at)}{stats}\n"
            return
        left, right = trees.left[at], trees.right[at]
        missing = left if trees.default_left[at] else right
        stats = f",gain={trees.gain[at]:.9g},cover={trees.cover[at]:.9g}" if with_stats else ""
        children = f"yes={left - first},no={right - first},missing={missing - first}"
        yield f"{indent}{at - first}:[{self._condition(at, names)}] {children}{stats}\n"
        yield from self._lines(left, first, depth + 1, with_stats, names)
        yield from self._lines(right, first, depth + 1, with_stats, names)

    def _node(self, at, first, depth, with_stats, names):
        """Return a node and all below it as a dict."""
        trees = self.estimator.ensemble_
        found = {"nodeid": int(at - first)}
        if trees.left[at] < 0:
            found["leaf"] = self._value(at)
        else:
            left, right = trees.left[at], trees.right[at]
            numeric = trees.categories[at] < 0
            found |= {
                "depth": depth,
                "split": names[trees.feature[at]],
                "split_condition": float(trees.threshold[at]) if numeric else self._codes(at),
                "yes": int(left - first),
                "no": int(right - first),
                "missing": int((left if trees.default_left[at] else right) - first),
            }
        if with_stats:
            found["cover"] = float(trees.cover[at])
            if trees.left[at] >= 0:
                found["gain"] = float(trees.gain[at])
        if trees.left[at] >= 0:
            below = (trees.left[at], trees.right[at])
            found["children"] = [self._node(c, first, depth + 1, with_stats, names) for c in below]
        return found

    def trees_to_dataframe(self, fmap=""):
        """Return a frame with one row per node, like XGBoost's Booster.

        Raises
        ------
        ValueError
            If leaves have several values.
        """
        trees, names = self.estimator.ensemble_, self._names(fmap)
        if trees.value.shape[1] > 1:
            raise ValueError("trees_to_dataframe does not support leaves with several values")
        rows = []
        for t in range(trees.n_trees):
            first = trees.offsets[t]
            for at in range(first, trees.offsets[t + 1]):
                row = {"Tree": t, "Node": at - first, "ID": f"{t}-{at - first}"}
                if trees.left[at] < 0:
                    row |= {"Feature": "Leaf", "Gain": self._value(at)}
                else:
                    left, right = (f"{t}-{c - first}" for c in (trees.left[at], trees.right[at]))
                    numeric = trees.categories[at] < 0
                    row |= {
                        "Feature": names[trees.feature[at]],
                        "Split": float(trees.threshold[at]) if numeric else np.nan,
                        "Yes": left,
                        "No": right,
                        "Missing": left if trees.default_left[at] else right,
                        "Gain": float(trees.gain[at]),
                        "Category": None if numeric else self._codes(at),
                    }
                rows.append(row | {"Cover": float(trees.cover[at])})
        return pd.DataFrame(rows, columns=COLUMNS)

    def get_split_value_histogram(self, feature, fmap="", bins=None, as_pandas=True):
        """Return a histogram of a feature's split values, like XGBoost's Booster."""
        frame = self.trees_to_dataframe(fmap)
        values = frame.loc[frame["Feature"] == feature, "Split"].dropna().to_numpy()
        n_bins = max(min(len(np.unique(values)), len(values) if bins is None else bins), 1)
        if not len(values):
            found = np.empty((0, 2))
        else:
            counts, edges = np.histogram(values, bins=n_bins)
            found = np.column_stack([edges[1:], counts])[counts > 0]
        return pd.DataFrame(found, columns=["SplitValue", "Count"]) if as_pandas else found


def read_feature_map(path):
    """Return the names of a feature map, list of str; see `NewtonBooster._names`."""
    if not Path(path).is_file():
        raise ValueError(f"No such file: {path}")
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line.strip()]
    if any(len(row) < 2 or not row[0].isdigit() for row in rows):
        raise ValueError(f"{path} is not a feature map: a line must be a number, a name and a type")
    named = {int(row[0]): row[1] for row in rows}
    if sorted(named) != list(range(len(named))):
        raise ValueError(f"{path} does not name the features 0 to {max(named, default=0)}")
    return [named[number] for number in range(len(named))]


COLUMNS = [
    *("Tree", "Node", "ID", "Feature", "Split", "Yes", "No", "Missing", "Gain", "Cover"),
    "Category",
]
