"""Sizes that a file may ask for: what is larger is refused before memory is taken for it."""

from algorithms.model_io.errors import ModelFileError

MOST_OUTPUTS = 1 << 16
MOST_CODES = 1 << 24  # XGBoost's own limit; LightGBM writes a bit for each code


def check_outputs(wanted, n_trees):
    """Refuse more scores than trees can add to; a model without trees may have some."""
    if not 1 <= wanted <= max(MOST_OUTPUTS, n_trees):
        raise ModelFileError(f"it asks for {wanted} scores a row and has {n_trees} trees")


def check_codes(sets):
    """Refuse sets, node → (codes, side), with codes that no bit set should hold."""
    most = max((max(codes, default=0) for codes, _ in sets.values()), default=0)
    if most >= MOST_CODES:
        raise ModelFileError(f"it asks for the category {most}; {MOST_CODES - 1} is the largest")
