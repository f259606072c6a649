"""The former place of the classes of fitted models.

A pickle of a model that was fitted before November 2026 imports this module. The classes have
moved and changed, so such a pickle cannot be read; the import ends with an error that says so.
"""

raise ImportError(
    "this model was pickled by an older version of this package and cannot be read by this one: "
    "load it with the version that wrote it, save it there with save_model(path) if the estimator "
    "has it, and load that file with load_model(path); otherwise fit the model again"
)
