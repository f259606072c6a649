"""Check of the number of columns before a kernel reads the rows."""


def check_columns(X, n_features):
    """Raise ValueError unless X has as many columns as the trees were trained on.

    Kernels read columns without bounds checks: with narrower rows they would read beyond the end
    of a row.
    """
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(
            f"X has the shape {X.shape}, and the trees were trained on {n_features} features"
        )
