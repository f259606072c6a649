"""Validity checks of a `TreeEnsemble`, which may come from a file or from a plugin."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.core.errors import DataError
from harness.trees.linear_leaves import check_linear_leaves
from harness.trees.predict import Missing

if TYPE_CHECKING:
    from harness.trees.ensemble import TreeEnsemble

DTYPES: dict[str, str] = {
    "feature": "int32",
    "threshold": "float64",
    "left": "int32",
    "right": "int32",
    "default_left": "bool",
    "missing": "uint8",
    "categories": "int32",
    "value": "float64",
    "gain": "float64",
    "cover": "float64",
    "set_indptr": "int64",
    "set_codes": "int32",
    "members_left": "bool",
    "offsets": "int64",
    "weight": "float64",
    "output": "int32",
    "base": "float64",
}
CHOICES = {
    "comparison": ("<=", "<"),
    "combination": ("sum", "mean", "vote", "median"),
    "link": ("identity", "sigmoid", "softmax", "exp", "step", "ascending"),
    "input_dtype": ("float32", "float64"),
    "sum_dtype": ("float32", "float64"),
    "absent": ("zero", "nan"),
    "cover_kind": ("rows", "weight", "hessian", ""),
}


MAX_FEATURES = 2**30 - 1  # predictors store twice the feature number in 32 bits
LARGEST = sys.float_info.max
SCALARS: dict[str, tuple[type, ...]] = {
    "n_features": (Integral,),
    "against": (Real,),
    "temperature": (Real,),
    "zero_within": (Real,),
    "missing_value": (Real,),
    "base_first": (bool, np.bool_),
    "library": (str,),
    "version": (str,),
}


def freeze_arrays(ensemble: TreeEnsemble) -> None:
    """Give every array its dtype, contiguous and read-only; raise if a cast loses values."""
    for name, dtype in DTYPES.items():
        given = np.asarray(getattr(ensemble, name))
        _need(given.dtype.kind in "biuf", f"{name} is not {dtype}")
        with np.errstate(invalid="ignore"):  # NaN to int; the next line finds the difference
            kept = np.ascontiguousarray(given, dtype=dtype).view()
        same = given.dtype == kept.dtype or np.array_equal(kept, given, equal_nan=True)
        _need(same, f"{name} is not {dtype}")
        kept.flags.writeable = False
        object.__setattr__(ensemble, name, kept)


def as_classes(given: Any) -> tuple[int, ...]:
    """Return class codes as Python integers; raise DataError if one is not an integer."""
    try:
        codes = tuple(int(code) for code in given)
    except (TypeError, ValueError, OverflowError):
        codes = None
    _need(codes is not None, "classes are not integers")
    return codes or ()


def check(ensemble: TreeEnsemble) -> None:
    """Raise DataError with what is wrong and where, unless the ensemble is safe to traverse."""
    for name, known in CHOICES.items():
        _need(getattr(ensemble, name) in known, f"{name} is not one of {', '.join(known)}")
    for name, kinds in SCALARS.items():
        given: Any = getattr(ensemble, name)
        _need(isinstance(given, kinds), f"{name} is not of type {kinds[0].__name__}")
        may_be_any = isinstance(given, str) or name == "missing_value"  # NaN and infinities too
        _need(may_be_any or -LARGEST <= given <= LARGEST, f"{name} is not finite")
    _need(0 <= ensemble.n_features <= MAX_FEATURES, f"n_features is not in 0 to {MAX_FEATURES}")
    in_range = all(-(2**63) <= code < 2**63 for code in ensemble.classes)
    _need(in_range, "a class is beyond 64 bits")
    _check_shapes(ensemble)
    _check_trees(ensemble)
    _check_sets(ensemble)
    _check_splits(ensemble)
    _check_outputs(ensemble)
    check_linear_leaves(ensemble)


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise DataError(f"malformed tree ensemble: {what}; export the model again")


def _need_nodes(bad: np.ndarray, what: str) -> None:
    if bad.any():
        raise DataError(
            f"malformed tree ensemble: node {int(np.argmax(bad))} {what}; export the model again"
        )


def _check_shapes(e: TreeEnsemble) -> None:
    for name in DTYPES:
        expected = 2 if name == "value" else 1
        _need(getattr(e, name).ndim == expected, f"{name} has not {expected} dimensions")
    per_node = ("threshold", "left", "right", "default_left", "missing", "categories", "value")
    for name in (*per_node, "gain", "cover"):
        _need(len(getattr(e, name)) == e.n_nodes, f"{name} has not one entry a node")
    _need(len(e.output) == e.n_trees, "output has not one entry a tree")
    _need(len(e.offsets) == e.n_trees + 1, "offsets has not one entry more than there are trees")
    _need(len(e.set_indptr) == len(e.members_left) + 1, "set_indptr does not fit members_left")


def _check_trees(e: TreeEnsemble) -> None:
    """Check that every tree is a tree: children follow parents, and all but roots have one."""
    _need(e.offsets[0] == 0 and e.offsets[-1] == e.n_nodes, "offsets do not span the nodes")
    _need(bool((e.offsets[1:] > e.offsets[:-1]).all()), "a tree has no node")
    node = np.arange(e.n_nodes)
    end = np.repeat(e.offsets[1:], np.diff(e.offsets))
    leaf = e.left < 0
    _need_nodes(leaf & ((e.left != -1) | (e.right != -1)), "has one child")
    for child in (e.left, e.right):
        _need_nodes(~leaf & ((child <= node) | (child >= end)), "has a child out of place")
    parents = np.bincount(np.concatenate([e.left[~leaf], e.right[~leaf]]), minlength=e.n_nodes)
    expected = np.ones(e.n_nodes, np.int64)
    expected[e.offsets[:-1]] = 0
    _need_nodes(parents != expected, "has not exactly one parent")


def _check_sets(e: TreeEnsemble) -> None:
    indptr, codes = e.set_indptr, e.set_codes
    _need(indptr[0] == 0 and indptr[-1] == len(codes), "set_indptr does not span set_codes")
    _need(bool((indptr[1:] >= indptr[:-1]).all()), "set_indptr decreases")
    _need(bool((codes >= 0).all()), "a category code is negative")
    rises = codes[1:] > codes[:-1]
    rises[indptr[(indptr > 0) & (indptr < len(codes))] - 1] = True  # between two sets
    _need(bool(rises.all()), "codes of a category set do not ascend")


def _check_splits(e: TreeEnsemble) -> None:
    inner = e.left >= 0
    _need_nodes(inner & ((e.feature < 0) | (e.feature >= e.n_features)), "has an unknown feature")
    _need_nodes(~inner & (e.feature != -1), "is a leaf with a feature")
    _need_nodes(e.missing > max(Missing), "has an unknown kind of missing value")
    n_sets = len(e.members_left)
    _need_nodes((e.categories < -1) | (e.categories >= n_sets), "has an unknown category set")
    _need_nodes(~inner & (e.categories != -1), "is a leaf with a category set")
    numeric = inner & (e.categories < 0)
    _need_nodes(numeric & np.isnan(e.threshold), "has a NaN threshold")
    _need_nodes(~inner & np.isnan(e.value).any(axis=1), "is a leaf with a NaN value")


def _check_outputs(e: TreeEnsemble) -> None:
    last = e.output.astype(np.int64) + e.value.shape[1]
    _need(e.value.shape[1] > 0, "value has no column")
    _need(bool(((e.output >= 0) & (last <= e.n_outputs)).all()), "a tree has an unknown output")
    _need(bool(np.isfinite(e.weight).all()), "a tree weight is not finite")
    _need(not np.isnan(e.base).any(), "base holds NaN")
    _need(e.temperature > 0, "temperature is not positive")
    _need(e.zero_within >= 0, "zero_within is negative")
    _need(e.n_trees > 0 or e.combination == "sum", f"no tree to take the {e.combination} of")
    whole = bool((e.output == 0).all()) and e.value.shape[1] == e.n_outputs
    _need(whole or e.combination == "sum", f"the {e.combination} needs trees that fill all outputs")
    _need(e.combination != "median" or e.n_outputs == 1, "the median needs one output")
    columns = 2 if e.link in ("sigmoid", "step") and e.n_outputs == 1 else e.n_outputs
    _need(len(e.classes) in (0, columns), "classes does not fit the outputs")
