"""Check the width of a table before a kernel reads its rows."""


def check_columns(X, n_features):
    """Raise ValueError unless X has as many columns as the trees were trained on.

    Kernels read the columns that nodes name without a check: of narrower rows they would read
    what lies behind a row.
    """
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(
            f"X has the shape {X.shape}, and the trees were trained on {n_features} features"
        )
