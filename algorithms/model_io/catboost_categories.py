"""Categorical columns in CatBoost's JSON model format.

A category is identified by its hash, the low 32 bits of CityHash64 of its text. A split is on a
number, on one category ("one-hot"), or on a target statistic (CTR) of a combination of categories
and splits. The tables of the statistics (`ctr_data`) map the hash of a combination to counts. This
module translates them to and from the JSON values of `algorithms/symmetric/derived_files.py`.

Splits are numbered: first the borders of all numeric columns, then the one-hot values, then the
borders of the statistics.
"""

import json

import numpy as np

from algorithms.model_io.errors import ModelFileError
from algorithms.model_io.limits import MAX_FEATURES, integers

DERIVED = "derived_columns"  # key of the derived columns in a file's data about the estimator
FLOAT, ONE_HOT, STATISTIC = "FloatFeature", "OneHotFeature", "OnlineCtr"  # types of splits
INDICATOR_BORDER = 0.5
MEAN, COUNTER = "BinarizedTargetMeanValue", "Counter"
KINDS = ("Borders", "Buckets", MEAN, COUNTER)  # in the order by which CatBoost sorts them
VALUE, EXACT, NUMBER = "cat_feature_value", "cat_feature_exact_value", "float_feature"


class CategoricalFeatures:
    """The derived columns of a file of CatBoost.

    Parameters
    ----------
    document : dict, the file
    numeric : NumericFeatures
    """

    def __init__(self, document, numeric):
        info = document["features_info"]
        saved = info["categorical_features"]
        check_target_borders(document)
        places = [one["flat_feature_index"] for one in saved]
        columns = integers(places, 0, MAX_FEATURES - 1, "flat_feature_index").tolist()
        if len({*columns, *numeric.columns.tolist()}) < len(columns) + len(numeric.columns):
            raise ModelFileError("two features have the same flat_feature_index")
        self.columns = sorted(columns)
        self.column_of = dict(zip((one["feature_index"] for one in saved), columns, strict=True))
        self.numeric_of = {
            index: (column, right)
            for index, column, right in zip(
                numeric.indices, numeric.columns.tolist(), numeric.nan_right.tolist(), strict=True
            )
        }
        self.features, self.borders = [], []  # of the derived columns
        self.projections, self.tables = [], []
        for one in saved:
            column = self.column_of[one["feature_index"]]
            for value in one.get("values") or []:
                self.features.append({"column": column, "level": value})
                self.borders.append([INDICATOR_BORDER])
        self.n_indicators = len(self.features)
        self._read_statistics(info.get("ctrs") or [], document.get("ctr_data") or {})

    def describe(self, n_features):
        """Return the derived columns as JSON values; ``n_features`` is the number of columns."""
        return {
            "n_features": n_features,
            "categories": [{"column": column} for column in self.columns],
            "projections": self.projections,
            "tables": self.tables,
            "features": self.features,
        }

    def _read_statistics(self, ctrs, data):
        """Add the statistics of the file, and their tables."""
        numbers = {}  # identifier → number of the table
        used = {}  # projection as JSON → its tables
        for ctr in ctrs:
            name, kind = ctr["identifier"], ctr["ctr_type"]
            if kind not in KINDS:
                raise ModelFileError(f"the ctr_type {kind!r:.40} is not supported")
            if name not in numbers:
                numbers[name] = len(self.tables)
                projection = self._read_projection(ctr["elements"])
                _, tables = used.setdefault(json.dumps(projection), (projection, []))
                self.tables.append({"kind": kind})
                tables.append((self.tables[-1], data[name]))
            target = 0 if kind in (MEAN, COUNTER) else ctr["target_border_idx"]
            saved = ("prior_numerator", "prior_denomerator", "shift", "scale")
            formula = [float(np.float32(ctr[one])) for one in saved]
            formula = dict(zip(("prior", "weight", "shift", "scale"), formula, strict=True))
            self.features.append({"table": numbers[name], "target": target, **formula})
            self.borders.append(ctr["borders"])
        for projection, tables in used.values():
            self._add_tables(projection, tables)

    def _add_tables(self, projection, tables):
        """Read all tables of one projection, with the same levels in the same order.

        Parameters
        ----------
        projection : dict
        tables : list of (dict to fill, dict of the file)
        """
        parts = [read_table(saved) for _, saved in tables]
        hashes = np.unique(np.concatenate([own for own, _ in parts]))
        for (table, saved), (own, counts) in zip(tables, parts, strict=True):
            if len(np.unique(own)) < len(own):
                raise ModelFileError("the table of a statistic has the same hash twice")
            aligned = np.zeros((len(hashes), counts.shape[1]), counts.dtype)
            aligned[np.searchsorted(hashes, own)] = counts
            is_counter = table["kind"] == COUNTER
            table.update(
                projection=len(self.projections),
                counts=aligned.tolist(),
                total=saved["counter_denominator"] if is_counter else 0,
            )
        self.projections.append({**projection, "hashes": hashes.tolist()})

    def _read_projection(self, elements):
        """Return the parts of a combination as JSON values."""
        columns, borders, levels = [], [], []
        for one in elements:
            kind = one["combination_element"]
            if kind == VALUE:
                columns.append(self.column_of[one["cat_feature_index"]])
            elif kind == NUMBER:
                column, right = self.numeric_of[one["float_feature_index"]]
                borders.append([column, float(np.float32(one["border"])), right])
            elif kind == EXACT:
                levels.append([self.column_of[one["cat_feature_index"]], one["value"]])
            else:
                raise ModelFileError(f"the combination_element {kind!r:.40} is not supported")
        return {"columns": columns, "borders": borders, "levels": levels}


def check_target_borders(document):
    """Raise ModelFileError if two kinds of statistics differ by the borders of the target only.

    The file has one table for both, so it does not say which of them the counts belong to.
    """
    params = document["model_info"].get("params")
    given = params.get("cat_feature_params") if isinstance(params, dict) else None
    for name in ("simple_ctrs", "combinations_ctrs"):
        known = {}
        for one in (given or {}).get(name) or []:
            kind, borders = one.get("ctr_type"), one.get("target_binarization")
            if kind in KINDS and known.setdefault(kind, borders) != borders:
                raise ModelFileError(
                    f"its {name} have {kind} with several borders of the target, whose tables "
                    "CatBoost's JSON format does not tell apart"
                )


def read_table(saved):
    """Return the hashes of a table of a statistic, uint64 (n_levels,), and its counts."""
    width, values = saved["hash_stride"], saved["hash_map"]
    if type(width) is not int or width < 2 or not values or len(values) % width:
        raise ModelFileError("the length of a hash_map is not a multiple of its hash_stride")
    hashes = np.array([int(one) for one in values[::width]], np.uint64)
    counts = np.array([values[i + 1 : i + width] for i in range(0, len(values), width)])
    if counts.dtype.kind not in "if":
        raise ModelFileError("the table of a statistic does not consist of numbers")
    return hashes, counts


class CategoricalSplits:
    """Numbers of the splits of a model with categories, and the entries of a file for its columns.

    Parameters
    ----------
    derived : dict, derived columns as JSON values, with hashes
    n_columns : int, columns of the trees
    """

    def __init__(self, derived, n_columns):
        self.derived, self.n_features = derived, derived["n_features"]
        if self.n_features + len(derived["features"]) != n_columns:
            raise ModelFileError("the derived columns are not those of the trees")
        self.categorical = [one["column"] for one in derived["categories"]]
        self.cat_index = {column: i for i, column in enumerate(self.categorical)}
        numeric = (j for j in range(self.n_features) if j not in self.cat_index)
        self.float_index = {column: i for i, column in enumerate(numeric)}
        self.used = {}  # number of a derived column → borders of its splits

    def add(self, column, border):
        """Add a split on a derived column."""
        self.used.setdefault(column - self.n_features, set()).add(border)

    def numeric_parts(self):
        """Return the splits on numbers in combinations: set of (column, border, NaN goes right)."""
        return {tuple(one) for own in self.derived["projections"] for one in own["borders"]}

    def describe(self, first, names):
        """Return the features of the file, its tables, and the number and kind of each split.

        Parameters
        ----------
        first : int, number of the first split
        names : list of str, column names, or None

        Returns
        -------
        info : dict, `categorical_features` and `ctrs`
        data : dict, `ctr_data`
        splits : dict, (column, border) → dict of the file
        """
        values = {column: set() for column in self.categorical}
        for number in self.used:
            one = self.derived["features"][number]
            if "level" in one:
                values[one["column"]].add(one["level"])
        for own in self.derived["projections"]:
            for column, level in own["levels"]:
                values[column].add(level)
        features, numbers = [], {}
        for column in self.categorical:
            levels = sorted(values[column])
            for value in levels:
                numbers[column, value] = first + len(numbers)
            saved = {
                "feature_id": str(names[column]) if names else "",
                "feature_index": self.cat_index[column],
                "flat_feature_index": column,
            }
            features.append({**saved, "values": levels} if levels else saved)
        ctrs, data, splits = self._describe_statistics(first + len(numbers))
        for number in self.used:
            one = self.derived["features"][number]
            if "level" in one:
                column, value = one["column"], one["level"]
                splits[self.n_features + number, INDICATOR_BORDER] = {
                    "cat_feature_index": self.cat_index[column],
                    "split_index": numbers[column, value],
                    "split_type": ONE_HOT,
                    "value": value,
                }
        info = {"categorical_features": features}
        return {**info, "ctrs": ctrs} if ctrs else info, data, splits

    def _describe_statistics(self, first):
        """Return `ctrs`, `ctr_data` and the splits; the first split has the number ``first``."""
        statistics = [
            (self._describe_statistic(self.derived["features"][number]), number)
            for number in self.used
            if "table" in self.derived["features"][number]
        ]
        statistics.sort(key=lambda pair: order_of(pair[0]))
        ctrs, data, splits, kept = [], {}, {}, {}
        for saved, number in statistics:
            borders = sorted(self.used[number])
            for border in borders:
                splits[self.n_features + number, border] = {
                    "border": border,
                    "ctr_target_border_idx": saved["target_border_idx"],
                    "split_index": first,
                    "split_type": STATISTIC,
                }
                first += 1
            ctrs.append({**saved, "borders": borders})
            table = self.derived["tables"][self.derived["features"][number]["table"]]
            name = saved["identifier"]
            if kept.setdefault(name, table) is not table:
                raise ModelFileError(
                    "CatBoost's format has one table for each kind of statistic of some columns; "
                    "this model has several, which differ by the borders of the target only or "
                    "come from init_model: use format='harness'"
                )
            if name not in data:
                hashes = self.derived["projections"][table["projection"]]["hashes"]
                data[name] = describe_table(table, hashes)
        return ctrs, data, splits

    def _describe_statistic(self, one):
        """Return the file's entry for a statistic, without its borders."""
        table = self.derived["tables"][one["table"]]
        projection = self.derived["projections"][table["projection"]]
        elements = self._describe_elements(projection)
        identifier = {"identifier": elements, "type": table["kind"]}
        return {
            "ctr_type": table["kind"],
            "elements": elements,
            "identifier": json.dumps(identifier, separators=(",", ":")),
            "prior_denomerator": one["weight"],  # CatBoost's spelling
            "prior_numerator": one["prior"],
            "scale": one["scale"],
            "shift": one["shift"],
            "target_border_idx": one["target"],
        }

    def _describe_elements(self, projection):
        """Return the file's entry for a combination."""
        parts = [
            {"cat_feature_index": self.cat_index[j], "combination_element": VALUE}
            for j in projection["columns"]
        ]
        parts += [
            {
                "border": border + 0.0,  # no negative zero
                "combination_element": NUMBER,
                "float_feature_index": self.float_index[j],
            }
            for j, border, _ in projection["borders"]
        ]
        return parts + [
            {
                "cat_feature_index": self.cat_index[j],
                "combination_element": EXACT,
                "value": value,
            }
            for j, value in projection["levels"]
        ]


def order_of(saved):
    """Return the key by which CatBoost sorts the statistics of a model."""
    elements = {VALUE: [], NUMBER: [], EXACT: []}
    for one in saved["elements"]:
        kind = one["combination_element"]
        index = one.get("cat_feature_index", one.get("float_feature_index"))
        part = {VALUE: (index,), NUMBER: (index, one.get("border"))}
        elements[kind].append(part.get(kind, (index, one.get("value"))))
    return (
        elements[VALUE],
        elements[NUMBER],
        elements[EXACT],
        KINDS.index(saved["ctr_type"]),
        saved["target_border_idx"],
        saved["prior_numerator"],
        saved["prior_denomerator"],
        saved["shift"],
        saved["scale"],
    )


def describe_table(table, hashes):
    """Return the file's entry for the table of a statistic."""
    counts = np.array(table["counts"])
    if table["kind"] == MEAN and (counts != np.floor(counts)).any():
        raise ModelFileError(
            "CatBoost's reader drops the fractions of the sums of BinarizedTargetMeanValue with "
            "several borders of the target: use format='harness'"
        )
    pairs = zip(hashes, counts.astype(np.int64).tolist(), strict=True)
    values = [value for own, row in pairs for value in (str(own), *row)]
    return {
        "counter_denominator": table["total"],
        "hash_map": values,
        "hash_stride": counts.shape[1] + 1,
    }
