"""Tests that every planted fault of a table is found, and that a clean table raises nothing."""

import numpy as np
import pandas as pd
import pytest

from harness.checks.own_data import check_dataset, source_of, without_flagged
from harness.checks.table_checks import TABLE_CHECKS, check_table, flagged_columns
from harness.checks.table_sample import Source, name_tokens
from harness.core.model import Finding, Severity, Table, Task
from harness.data import dataset_from_file
from harness.data.loading import table_of

ROWS = 1000


def clean_frame(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Return features without a fault: numbers with missing values, and a category."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.normal(size=(rows, 4)), columns=["height", "width", "x", "t"])
    frame.loc[::9, "width"] = np.nan
    frame["color"] = pd.Categorical(random.choice(["red", "green", "blue"], rows))
    return frame


def clean_target(frame: pd.DataFrame, seed: int = 1) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=len(frame))
    return frame["height"].to_numpy() + noise


def binary(frame: pd.DataFrame, **more) -> Table:
    y = (clean_target(frame) > 0).astype(np.int64)
    return Table(frame, y, ("no", "yes"), **more)


def findings_of(table: Table, task: Task = Task.BINARY, source: Source | None = None) -> dict:
    findings = check_table(table, task, source, "mine")
    assert all(
        f.dataset == "mine" and f.page == f"docs/checks.md#{f.code.lower()}" for f in findings
    )
    assert all(f.sentence and not f.sentence.endswith(".") for f in findings)
    assert len({f.code for f in findings}) == len(findings)
    return {f.code: f for f in findings}


def only(code: str, *arguments) -> Finding:
    findings = findings_of(*arguments)
    assert set(findings) == {code}
    return findings[code]


@pytest.mark.parametrize("task", [Task.BINARY, Task.REGRESSION])
@pytest.mark.parametrize("rows", [60, ROWS, 30_000])
def test_clean_table_raises_nothing(task, rows):
    frame = clean_frame(rows)
    table = Table(frame, clean_target(frame)) if task is Task.REGRESSION else binary(frame)
    assert findings_of(table, task) == {}


def test_codes_are_unique_and_in_order():
    codes = [check.code for check in TABLE_CHECKS]
    assert codes == [f"DATA{i:03d}" for i in range(1, len(codes) + 1)]
    assert len({check.title for check in TABLE_CHECKS}) == len(codes)


# ------------------------------------------------------------------ identifiers


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("PID", 526_300_000 + 7 * np.random.default_rng(0).permutation(ROWS)),
        ("patient_nbr", np.random.default_rng(0).integers(0, 1300, ROWS)),  # most differ
        ("row", np.random.default_rng(0).permutation(ROWS)),
        ("policy", np.cumsum(np.random.default_rng(0).integers(1, 9, ROWS))),
        ("customerId", 10**6 + 3 * np.random.default_rng(1).permutation(ROWS)),
    ],
)
def test_identifiers_are_flagged(name, values):
    frame = clean_frame().assign(**{name: values.astype(np.float64)})
    finding = only("DATA001", binary(frame))
    assert finding.severity is Severity.WARNING
    assert repr(name) in finding.sentence
    assert flagged_columns(binary(frame), Task.BINARY) == [name]


def test_text_that_identifies_rows_is_flagged():
    names = pd.Categorical([f"person {i}" for i in range(ROWS)])
    assert "'name'" in only("DATA001", binary(clean_frame().assign(name=names))).sentence


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", 10_000 + 37 * np.random.default_rng(0).permutation(ROWS)),  # all differ
        ("group_id", np.arange(ROWS) % 15),
        ("measure_id", np.random.default_rng(0).normal(size=ROWS)),
    ],
)
def test_unique_numbers_alone_are_no_identifiers(name, values):
    table = binary(clean_frame().assign(**{name: values.astype(np.float64)}))
    assert flagged_columns(table, Task.BINARY) == []


def test_words_of_column_names():
    assert name_tokens("customerId") == ["customer", "id"]
    assert name_tokens("encounter_id") == ["encounter", "id"]
    assert name_tokens("PID") == ["pid"]
    assert name_tokens("Mo.Sold") == ["mo", "sold"]


# ------------------------------------------------------------------ leaks


def test_copy_of_the_target_is_found():
    frame = clean_frame()
    table = binary(frame)
    words = pd.Categorical.from_codes(table.y.astype(int), ["dead", "alive"])
    finding = findings_of(binary(frame.assign(alive=words)), Task.BINARY, Source("survived"))[
        "DATA002"
    ]
    assert finding.severity is Severity.PROBLEM
    assert "'alive' alone predicts 'survived'" in finding.sentence


@pytest.mark.parametrize("change", [lambda y: np.exp(y) * 3, lambda y: -(y**3), lambda y: y + 1e-4])
def test_transformed_target_is_found(change):
    frame = clean_frame(4000)
    y = clean_target(frame)
    table = Table(frame.assign(price=change(y)), y)
    assert only("DATA002", table, Task.REGRESSION).evidence["columns"] == ["price"]


def test_strong_feature_is_no_leak():
    frame = clean_frame(4000)
    y = clean_target(frame)
    near = y + np.random.default_rng(5).normal(scale=0.2, size=len(y))  # explains 98 %
    assert findings_of(Table(frame.assign(near=near), y), Task.REGRESSION) == {}


def test_few_errors_of_the_constant_decide_nothing():
    frame = clean_frame(200)
    y = np.zeros(200, np.int64)
    y[::40] = 1
    table = Table(frame.assign(same=y.astype(float)), y, ("no", "yes"))
    assert "DATA002" not in findings_of(table)


# ------------------------------------------------------------------ files


def test_dates_used_by_the_loader_are_reported():
    frame = clean_frame().assign(when_days=np.random.default_rng(0).normal(size=ROWS))
    source = Source("y", dates={"when": "%Y-%m-%d"})
    findings = findings_of(binary(frame), Task.BINARY, source)
    assert findings["DATA003"].severity is Severity.NOTE
    assert "'when' holds dates as text" in findings["DATA003"].sentence


def test_dates_among_the_categories_are_found():
    days = pd.date_range("2020-01-01", periods=200).strftime("%d.%m.%Y")
    when = pd.Categorical(np.random.default_rng(0).choice(days, ROWS))
    findings = findings_of(binary(clean_frame().assign(when=when)))
    assert findings["DATA003"].severity is Severity.WARNING
    assert "as categories" in findings["DATA003"].sentence


def test_missing_header_is_found(tmp_path):
    frame = pd.DataFrame(
        {
            "39": np.random.default_rng(0).integers(17, 90, 300),
            "State-gov": np.random.default_rng(1).choice(["State-gov", "Private"], 300),
            "77516": np.random.default_rng(2).integers(10_000, 90_000, 300),
            "<=50K": np.random.default_rng(3).choice(["<=50K", ">50K"], 300),
        }
    )
    path = tmp_path / "adult.csv"
    frame.to_csv(path, index=False)
    findings = {f.code: f for f in check_dataset(dataset_from_file(path, "<=50K"))}
    assert findings["DATA004"].severity is Severity.PROBLEM
    assert "'39'" in findings["DATA004"].sentence


def test_numbered_column_names_are_a_header():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(ROWS, 5)))
    frame.columns = [str(i) for i in range(5)]
    y = (np.random.default_rng(1).random(ROWS) > 0.5).astype(np.int64)
    assert findings_of(Table(frame, y, ("no", "yes"))) == {}


# ------------------------------------------------------------------ rows


def wide_frame(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(random.normal(size=(rows, 8)), columns=list("abcdefgh"))


def test_copied_rows_are_found():
    frame = wide_frame()
    frame.iloc[900:] = frame.iloc[:100].to_numpy()
    y = (np.random.default_rng(1).random(ROWS) > 0.5).astype(np.int64)
    finding = only("DATA005", Table(frame, y, ("no", "yes")))
    assert finding.evidence["rows"] == 200
    assert 40 < finding.evidence["same_target"] < 160


def test_copied_rows_of_a_large_table_are_found():
    frame = wide_frame(60_000)
    frame.iloc[57_000:] = frame.iloc[:3000].to_numpy()
    y = (np.random.default_rng(1).random(len(frame)) > 0.5).astype(np.int64)
    assert only("DATA005", Table(frame, y, ("no", "yes"))).evidence["rows"] == 6000


def test_one_often_repeated_row_is_no_copy():
    frame = wide_frame()
    frame.iloc[700:] = frame.iloc[0].to_numpy()  # an empty measurement
    y = (np.random.default_rng(1).random(ROWS) > 0.5).astype(np.int64)
    assert findings_of(Table(frame, y, ("no", "yes"))) == {}


def test_rows_equal_by_chance_are_no_copies():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.integers(0, 3, (3000, 8)).astype(float), columns=list("abcdefgh"))
    y = (random.random(3000) > 0.5).astype(np.int64)
    assert frame.duplicated(keep=False).mean() > 0.3
    assert findings_of(Table(frame, y, ("no", "yes"))) == {}


def test_copied_rows_of_a_sparse_table_are_found():
    from scipy.sparse import random as random_matrix
    from scipy.sparse import vstack

    X = random_matrix(300, 2000, 0.05, format="csr", random_state=0)
    X = vstack([X, X[:60]]).tocsr()
    y = (np.random.default_rng(0).random(360) > 0.5).astype(np.int64)
    assert only("DATA005", Table(X, y, ("no", "yes"))).evidence["rows"] == 120


def test_test_rows_of_another_population_are_found():
    frame = wide_frame()
    is_test = np.arange(ROWS) >= 700
    y = (np.random.default_rng(1).random(ROWS) > 0.5).astype(np.int64)
    same = Table(frame, y, ("no", "yes"), test_rows=is_test)
    assert findings_of(same) == {}
    moved = frame.assign(c=frame["c"] + 1.5 * is_test)
    finding = only("DATA012", Table(moved, y, ("no", "yes"), test_rows=is_test))
    assert "most of all in 'c'" in finding.sentence
    assert finding.evidence["area"] > 0.75


def test_joint_shift_of_two_columns_is_found():
    random = np.random.default_rng(0)
    a = random.normal(size=3000)
    is_test = np.arange(3000) >= 1500
    b = np.where(is_test, a, -a) + random.normal(scale=0.1, size=3000)
    y = (random.random(3000) > 0.5).astype(np.int64)
    table = Table(pd.DataFrame({"a": a, "b": b}), y, ("no", "yes"), test_rows=is_test)
    assert only("DATA012", table).evidence["shifts"] == {}


def test_time_column_split_at_random_is_found():
    frame = clean_frame().assign(timestamp=1_600_000_000 + 61 * np.arange(ROWS) // 2 * 2.0)
    finding = findings_of(binary(frame))["DATA013"]
    assert "'timestamp'" in finding.sentence
    assert "DATA013" not in findings_of(binary(frame), Task.BINARY, Source(time="timestamp"))
    is_test = np.arange(ROWS) >= 800
    assert "DATA013" not in findings_of(binary(frame, test_rows=is_test))
    assert "DATA013" in findings_of(binary(frame, test_rows=np.arange(ROWS) % 5 == 0))


def test_dates_split_at_random_are_found():
    days = np.random.default_rng(0).permutation(ROWS).astype(float)
    table = binary(clean_frame().assign(when_days=days))
    findings = findings_of(table, Task.BINARY, Source(dates={"when": "%Y-%m-%d"}))
    assert "'when'" in findings["DATA013"].sentence


# ------------------------------------------------------------------ targets


def test_count_target_is_found():
    frame = clean_frame()
    counts = np.random.default_rng(0).poisson(np.exp(frame["height"].to_numpy())).astype(float)
    finding = only("DATA006", Table(frame, counts), Task.REGRESSION)
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    "y",
    [
        np.random.default_rng(0).integers(0, 101, ROWS),  # a percentage
        np.round(np.random.default_rng(0).lognormal(11, 0.4, ROWS)),  # prices
        np.minimum(np.random.default_rng(0).poisson(3, ROWS), 4),  # has an upper end
        np.random.default_rng(0).integers(3, 10, ROWS),  # grades
    ],
)
def test_other_integers_are_no_counts(y):
    assert findings_of(Table(clean_frame(), y.astype(float)), Task.REGRESSION) == {}


def test_ranking_file_is_found(tmp_path):
    random = np.random.default_rng(0)
    frame = clean_frame().assign(qid=np.repeat(np.arange(50.0), 20))
    y = random.choice(5, ROWS, p=[0.4, 0.3, 0.2, 0.06, 0.04]).astype(np.int64)
    table = Table(frame, y, ("0", "1", "2", "3", "4"))
    assert "'qid' names queries" in only("DATA007", table, Task.MULTICLASS).sentence

    path = tmp_path / "rank.csv"
    clean_frame().assign(grade=y).to_csv(path, index=False)
    assert "DATA007" not in {f.code for f in check_dataset(dataset_from_file(path, "grade"))}
    (tmp_path / "rank.csv.query").write_text("20\n" * 50)
    other = tmp_path / "other.csv"
    path.rename(other)
    (tmp_path / "rank.csv.query").rename(tmp_path / "other.csv.query")
    ranking = dataset_from_file(other, "grade", name="r")
    assert ranking.task is Task.RANKING
    assert "DATA007" not in {f.code for f in check_dataset(ranking)}
    classes = dataset_from_file(other, "grade", task="multiclass", name="r")
    findings = {f.code: f for f in check_dataset(classes)}
    assert "query lengths" in findings["DATA007"].sentence


def test_imbalance_is_found():
    y = (np.arange(ROWS) % 20 == 0).astype(np.int64)
    finding = only("DATA008", Table(clean_frame(), y, ("no", "yes")))
    assert "95.0%" in finding.sentence
    assert (
        findings_of(Table(clean_frame(), (np.arange(ROWS) % 5 == 0).astype(np.int64), ("a", "b")))
        == {}
    )


def test_rare_classes_are_found():
    y = np.arange(ROWS) % 3
    y[:12] = 3
    finding = only("DATA009", Table(clean_frame(), y, ("a", "b", "c", "rare")), Task.MULTICLASS)
    assert finding.evidence["rows"] == {"rare": 12}
    even = Table(clean_frame(), np.arange(ROWS) % 20, tuple(map(str, range(20))))
    assert findings_of(even, Task.MULTICLASS) == {}


def test_missing_targets_are_found():
    y = np.arange(ROWS) % 3
    table = Table(clean_frame(), y, ("?", "high", "low"))
    assert "'?'" in only("DATA017", table, Task.MULTICLASS).sentence
    finding = findings_of(binary(clean_frame()), Task.BINARY, Source(without_target=3))["DATA017"]
    assert finding.evidence == {"rows": 3}


# ------------------------------------------------------------------ columns


def test_columns_without_information_are_found():
    frame = clean_frame().assign(same=1.0, none=np.nan)
    assert only("DATA010", binary(frame)).evidence["columns"] == ["same", "none"]
    late = np.zeros(40_000)
    late[-1] = 1.0  # outside the sample, most likely, but in the table
    assert findings_of(binary(clean_frame(40_000).assign(late=late))) == {}


def test_nearly_empty_columns_are_found():
    pool = np.where(np.arange(ROWS) % 50 == 0, np.random.default_rng(0).normal(size=ROWS), np.nan)
    assert "'pool'" in only("DATA011", binary(clean_frame().assign(pool=pool))).sentence


def test_high_cardinality_is_found():
    streets = pd.Categorical([f"street {i % 300}" for i in range(ROWS)])
    assert (
        "'street' (300)" in only("DATA014", binary(clean_frame().assign(street=streets))).sentence
    )


def test_codes_used_as_numbers_are_found():
    zips = np.random.default_rng(0).choice([10_115, 20_095, 80_331, *range(100, 130)], ROWS)
    assert "'zip'" in only("DATA015", binary(clean_frame().assign(zip=zips.astype(float)))).sentence


def test_numbers_stored_as_text_are_found(tmp_path):
    random = np.random.default_rng(0)
    prices = [f"${v:,}" for v in random.integers(1000, 1040, ROWS)]
    ages = random.integers(20, 60, ROWS).astype(str).astype(object)
    ages[::100] = "not said"
    path = tmp_path / "mine.csv"
    clean_frame().assign(price=prices, age=ages, y=random.random(ROWS) > 0.5).to_csv(
        path, index=False
    )
    finding = {f.code: f for f in check_dataset(dataset_from_file(path, "y"))}["DATA016"]
    assert finding.evidence == {"columns": ["price", "age"], "others": ["not said"]}


def test_codes_with_letters_are_not_numeric_text():
    codes = [f"{c}{i}" for i in range(30) for c in ("", "V")]
    column = pd.Categorical(np.random.default_rng(0).choice(codes, ROWS))
    assert findings_of(binary(clean_frame().assign(diagnosis=column))) == {}


def test_equivalent_columns_are_found():
    frame = clean_frame()
    both = frame.assign(inches=frame["height"] * 39.37, hue=frame["color"].cat.codes.astype(float))
    pairs = only("DATA018", binary(both)).evidence["pairs"]
    assert [pair[:2] for pair in pairs] == [["color", "hue"], ["height", "inches"]]


# ------------------------------------------------------------------ own files


def test_drop_flagged_leaves_out_identifiers(tmp_path):
    path = tmp_path / "houses.csv"
    frame = clean_frame().assign(PID=np.arange(ROWS) + 5000)
    frame["price"] = clean_target(frame)
    frame.to_csv(path, index=False)
    dataset = dataset_from_file(path, "price")
    assert "PID" in table_of(dataset).X.columns
    without = without_flagged(dataset)
    assert "PID" not in table_of(without).X.columns
    assert without.digest != dataset.digest
    assert without.name != dataset.name
    assert without_flagged(without) == without


def test_excluded_text_is_reported(tmp_path):
    path = tmp_path / "people.csv"
    frame = clean_frame(2100)
    frame = frame.assign(name=[f"person {i}" for i in range(2100)], y=clean_target(frame))
    frame.to_csv(path, index=False)
    dataset = dataset_from_file(path, "y")
    assert source_of(dataset).left_out == ("name",)
    findings = {f.code: f for f in check_dataset(dataset)}
    assert findings["DATA001"].severity is Severity.NOTE
    assert "'name' is left out" in findings["DATA001"].sentence
