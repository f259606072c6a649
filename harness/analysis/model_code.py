"""Python code for a recommended algorithm: read the file, prepare it, train, save."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from pprint import pformat
from typing import Any

from harness.analysis.recommendation import Answer, Standing, file_of
from harness.analysis.run_view import RunView
from harness.core.class_weights import is_balanced, without_class_weight
from harness.core.ids import canonical
from harness.core.model import Task

READERS = {
    "csv": "pd.read_csv({path}{options})",
    "parquet": "pd.read_parquet({path})",
    "jsonl": "pd.read_json({path}, lines=True)",
    "xlsx": "pd.read_excel({path})",
}
EARLY_STOPPING = (
    "early_stopping_rounds",
    "validation_fraction",
)  # use rows held out by the harness


def code_of(view: RunView, answer: Answer) -> str:
    """Return the code for the recommended algorithm; "" for an ensemble or without an estimator.

    For a ranking it is "", too, unless the queries are a column.
    """
    if not answer.recommended:
        return ""
    standing = answer.standing(answer.recommended)
    if "ensemble" in standing.params.get("tune", {}):
        return ""
    declared = view.algorithms.get(standing.algorithm, {})
    is_class = Task(answer.task).is_classification
    file = file_of(view, answer.dataset)
    is_ranking = Task(answer.task) is Task.RANKING
    if is_ranking and not file.get("reading", {}).get("group"):
        return ""
    paths = declared.get("estimators") or ("", "")
    path = str(paths[0] if is_class else paths[1])
    if not path:
        return ""
    module, _, name = path.rpartition(".")
    params = without_class_weight(_params(view, standing))
    stopping = [key for key in EARLY_STOPPING if key in params and not module.startswith("sklearn")]
    params = {key: value for key, value in params.items() if key not in stopping}
    body = _Code(module, name, params, standing, answer, _facts(view, answer.dataset))
    return body.text(file, stops_early=bool(stopping))


def _params(view: RunView, standing: Standing) -> Mapping[str, Any]:
    """Return the params; for a search, those that it chose most often."""
    if "tune" not in standing.params:
        return standing.params
    chosen = [
        outcome.facts["tuned"]["params"]
        for cell in view.cells
        if cell.algorithm == standing.algorithm
        and canonical(cell.params) == canonical(standing.params)
        for outcome in cell.outcomes
        if outcome.facts.get("tuned")
    ]
    if not chosen:
        return {}
    most = Counter(map(canonical, chosen)).most_common(1)[0][0]
    return next(params for params in chosen if canonical(params) == most)


def _facts(view: RunView, dataset: str) -> Mapping[str, Any]:
    return view.datasets.get(dataset, {})


class _Code:
    """Builder of the parts of the code."""

    def __init__(
        self,
        module: str,
        name: str,
        params: Mapping[str, Any],
        standing: Standing,
        answer: Answer,
        facts: Mapping[str, Any],
    ) -> None:
        self.module, self.name, self.params = module, name, dict(params)
        self.library = module.partition(".")[0]
        self.is_class = Task(answer.task).is_classification
        self.is_ranking = Task(answer.task) is Task.RANKING
        self.categorical = bool(facts.get("categorical"))
        base, _, imputed = standing.preparation.partition("+")
        self.is_native, self.imputes = base == "native", bool(imputed)
        self.balanced = is_balanced(standing.params)

    def text(self, file: Mapping[str, Any], *, stops_early: bool) -> str:
        """Return the code."""
        imports = ["import joblib", "import pandas as pd", f"from {self.module} import {self.name}"]
        lines = self._reading(file)
        model = self._constructor()
        y = "y"
        if self.library == "xgboost" and self.is_class:
            imports.append("from sklearn.preprocessing import LabelEncoder")
            lines += ["labels = LabelEncoder().fit(y)  # labels.inverse_transform reverts this"]
            y = "labels.transform(y)"
        if self.is_native:
            lines += self._native_categories()
            lines.append(f"model = {model}")
        else:
            more, before = self._encoding()
            imports += more
            lines += [*before, f"model = make_pipeline(prepare, {model})"]
        fit = f"model.fit(X, {y})"
        if self.is_ranking:
            step = "" if self.is_native else f"{self.name.lower()}__"
            fit = f"model.fit(X, {y}, {step}group=group)"
        if self.balanced:
            imports.append("from sklearn.utils.class_weight import compute_sample_weight")
            step = "" if self.is_native else f"{self.name.lower()}__"
            weight = f'{step}sample_weight=compute_sample_weight("balanced", y)'
            fit = f"model.fit(X, {y}, {weight})"
        if stops_early:
            lines.append("# the comparison stopped early on held-out rows: pass an eval_set to fit")
        lines += [fit, 'joblib.dump(model, "model.joblib")', ""]
        lines.append('# later: joblib.load("model.joblib").predict(new_rows)')
        return "\n".join([*sorted(imports, key=_import_order), "", *lines])

    def _reading(self, file: Mapping[str, Any]) -> list[str]:
        reading = file.get("reading", {})
        target = reading.get("target") or "target"
        reader = READERS.get(str(reading.get("format", "csv")), READERS["csv"])
        options = "".join(
            f", {word}={reading[key]!r}"
            for key, word, usual in (("separator", "sep", ","), ("decimal", "decimal", "."))
            if reading.get(key, usual) != usual
        )
        path = repr(Path(str(file.get("path", "data.csv"))).name)
        if options or reading.get("more_missing"):
            options += f", na_values={list(reading.get('more_missing', ()))!r}"
        dropped = [reading.get(k) for k in ("weight", "group", "order") if reading.get(k)]
        dropped += list(reading.get("drop", ()))
        lines = [f"data = {reader.format(path=path, options=options)}", f"y = data.pop({target!r})"]
        if self.is_ranking:
            queries = f"data.groupby({reading['group']!r}, sort=False)"
            lines.append(f"group = {queries}.size().to_numpy()  # rows of each query")
        lines.append(f"X = data.drop(columns={dropped!r})" if dropped else "X = data")
        return lines

    def _constructor(self) -> str:
        params = dict(self.params)
        if self.library == "catboost":
            params |= {"verbose": False}
            if self.categorical:
                params |= {"cat_features": "@categorical"}
        else:
            params |= {"random_state": 0}
        if self.library == "xgboost" and self.is_native and self.categorical:
            params["enable_categorical"] = True
        if self.name.startswith("HistGradientBoosting") and self.categorical:
            params["categorical_features"] = "from_dtype"
        arguments = ", ".join(
            f"{key}={str(value)[1:] if str(value).startswith('@') else pformat(value)}"
            for key, value in params.items()
            if "__" not in key
        )
        nested = {key: value for key, value in params.items() if "__" in key}
        tail = f".set_params(**{nested!r})" if nested else ""
        return f"{self.name}({arguments}){tail}"

    def _native_categories(self) -> list[str]:
        if not self.categorical:
            return []
        lines = ['categorical = X.select_dtypes(exclude="number").columns.tolist()']
        if self.library == "catboost":
            return [*lines, 'X[categorical] = X[categorical].fillna("missing").astype(str)']
        return [*lines, 'X[categorical] = X[categorical].astype("category")']

    def _encoding(self) -> tuple[list[str], list[str]]:
        """Return imports and lines of the encoder of categories and the imputer of gaps."""
        imports = [
            "from sklearn.compose import make_column_selector, make_column_transformer",
            "from sklearn.pipeline import make_pipeline",
            "from sklearn.preprocessing import OrdinalEncoder",
        ]
        numbers = '"passthrough"'
        if self.imputes:
            imports.append("from sklearn.impute import SimpleImputer")
            numbers = 'SimpleImputer(strategy="median")'
        return imports, [
            "prepare = make_column_transformer(",
            '    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),',
            '     make_column_selector(dtype_exclude="number")),',
            f"    remainder={numbers},",
            ")",
        ]


def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line
