"""Tests of the plugins of all reference libraries."""

import json
import subprocess
import sys

LIBRARIES = ["sklearn", "xgboost", "lightgbm", "catboost"]
HEAVY = [*LIBRARIES, "pandas", "scipy", "joblib"]


def test_library_is_imported_only_when_its_algorithm_is_used():
    code = f"""
import json, sys
from harness.plugins.registry import load_registry
registry = load_registry(modules=["algorithms.reference." + name for name in {LIBRARIES}])
names = registry.names("algorithm")
print(json.dumps([len(names), [name for name in {HEAVY} if name in sys.modules]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, imported = json.loads(done.stdout)
    assert count == 16
    assert imported == []
