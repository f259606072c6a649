"""The ``[splits]`` table of an experiment: training and test rows."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

Seed = Annotated[int, Field(ge=0, lt=2**32)]


class Splits(BaseModel):
    """Settings of splits: repeated stratified k-fold, or a holdout for large datasets.

    With ``training_sets`` the test rows are fixed instead, and that many training sets of each size
    in ``training_rows`` are drawn from the other rows. ``most_train_rows`` limits the training rows
    of a fold or holdout: a random sample of them is used.

    ``files`` has the splits of OpenML tasks for some datasets, which are then used instead of
    folds. Relative paths in an experiment's file are relative to its folder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    folds: int = Field(5, ge=2, le=100)
    repeats: int = Field(1, ge=1, le=1000)
    seed: Seed = 0
    training_sets: int | None = Field(None, ge=2, le=1000)
    training_rows: list[Annotated[int, Field(ge=2)]] = []
    most_train_rows: int | None = Field(None, ge=2)
    files: dict[str, str] = {}  # dataset → ARFF file with the splits of an OpenML task
    sample: int | None = Field(None, ge=0)  # of a learning curve; None: the last one

    @model_validator(mode="after")
    def _check_training(self) -> Splits:
        if (self.training_sets is None) != (not self.training_rows):
            raise ValueError("training_sets and training_rows are given together or not at all")
        if self.training_sets is not None and self.most_train_rows is not None:
            raise ValueError("training_rows says how many rows train: leave out most_train_rows")
        if self.training_sets is not None and self.files:
            raise ValueError("training_sets draws the splits itself: leave out files")
        return self
