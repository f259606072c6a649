"""Fake OpenML responses about a small dataset."""

import gzip
import hashlib
import json

from harness.core.model import Dataset, Task
from harness.data.openml import OpenMLLoader
from harness.data.reading import Reading

DENSE = """@RELATION mine
@ATTRIBUTE id INTEGER
@ATTRIBUTE age REAL
@ATTRIBUTE job {cook,clerk}
@ATTRIBUTE class {no,yes}
@DATA
1,20.5,cook,no
2,?,clerk,yes
3,40.5,?,no
4,50.5,clerk,yes
"""
SPARSE = """@RELATION mine
@ATTRIBUTE id INTEGER
@ATTRIBUTE a REAL
@ATTRIBUTE b {0,1}
@ATTRIBUTE class {no,yes}
@DATA
{0 1,1 1.5}
{0 2,1 2.5,3 yes}
{}
{0 4,1 ?,2 1,3 yes}
"""
API = "https://www.openml.org/api/v1/json/data"


def responses_of(arff, version="2", format_="ARFF", number=7):
    """Return OpenML's responses about a data file: address → bytes."""
    lines = [line.split(maxsplit=2) for line in arff.splitlines() if line.startswith("@ATTR")]
    data_url = f"http://openml.org/data/v1/download/{number}/mine.arff"
    kinds = {"REAL": "numeric", "INTEGER": "numeric"}
    rows = arff.split("@DATA\n")[1].splitlines()
    features = [
        {
            "index": str(i),
            "name": name,
            "data_type": kinds.get(kind, "nominal"),
            "is_target": "true" if name == "class" else "false",
            "is_ignore": "false",
            "is_row_identifier": "true" if name == "id" else "false",
            "number_of_missing_values": "0",
            **({} if kind in kinds else {"nominal_value": kind.strip("{}").split(",")}),
        }
        for i, (_, name, kind) in enumerate(lines)
    ]
    description = {
        "id": str(number),
        "name": "mine",
        "version": version,
        "format": format_,
        "status": "active",
        "file_id": str(number),
        "url": data_url,
        "default_target_attribute": "class",
        "processing_date": "2020-01-01",
        "md5_checksum": hashlib.md5(arff.encode()).hexdigest(),
        "description": "",
    }
    qualities = [{"name": "NumberOfInstances", "value": str(len(rows))}]
    messages = {
        f"{API}/{number}": {"data_set_description": description},
        f"{API}/features/{number}": {"data_features": {"feature": features}},
        f"{API}/qualities/{number}": {"data_qualities": {"quality": qualities}},
    }
    results = {url: json.dumps(value).encode() for url, value in messages.items()}
    return results | {data_url.replace("http:", "https:"): arff.encode()}


def stored(folder, arff, **facts):
    """Write the responses in the layout of scikit-learn's fetcher."""
    for url, content in responses_of(arff, **facts).items():
        path = folder / "7/openml/openml.org" / (url.split("/", 3)[3] + ".gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content))


def dataset_of(sha256="", version=2, **facts):
    reading = Reading(format="frame", target="class", drop_missing_target=True)
    loader = OpenMLLoader("mine", Task.BINARY, 7, version, sha256, reading)
    declared = {"rows": 4, "columns": 2, "n_classes": 2, "categorical": 1, "missing": True} | facts
    return Dataset("mine", Task.BINARY, loader, "d" * 64, source="openml", **declared)
