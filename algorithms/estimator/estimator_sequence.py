"""Mixin of ensembles whose items are the entries of ``estimators_``."""


class EstimatorSequence:
    """Mixin that gives length, items and iteration of ``estimators_``, as in scikit-learn."""

    def __len__(self):
        return len(self.estimators_)

    def __getitem__(self, index):
        return self.estimators_[index]

    def __iter__(self):
        return iter(self.estimators_)
