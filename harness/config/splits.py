"""The ``[splits]`` table of an experiment: which rows train and which test."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

Seed = Annotated[int, Field(ge=0, lt=2**32)]


class Splits(BaseModel):
    """How datasets are parted: repeated stratified k-fold, a holdout for the large ones.

    With ``training_sets`` the test rows are fixed instead, and so many training sets of each of
    ``training_rows`` rows are drawn from the others. ``most_train_rows`` is the most that a fold or
    a holdout trains on: a random sample of its training rows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    folds: int = Field(5, ge=2, le=100)
    repeats: int = Field(1, ge=1, le=1000)
    seed: Seed = 0
    training_sets: int | None = Field(None, ge=2, le=1000)
    training_rows: list[Annotated[int, Field(ge=2)]] = []
    most_train_rows: int | None = Field(None, ge=2)

    @model_validator(mode="after")
    def _check_training(self) -> Splits:
        if (self.training_sets is None) != (not self.training_rows):
            raise ValueError("training_sets and training_rows are given together or not at all")
        if self.training_sets is not None and self.most_train_rows is not None:
            raise ValueError("training_rows says how many rows train: leave out most_train_rows")
        return self
