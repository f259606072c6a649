"""CatBoost's enumerations, whose members stand for their names."""

from enum import Enum


class EFstrType(Enum):
    """Types of importances."""

    PredictionValuesChange = "PredictionValuesChange"
    LossFunctionChange = "LossFunctionChange"
    FeatureImportance = "FeatureImportance"
    Interaction = "Interaction"
    ShapValues = "ShapValues"
    PredictionDiff = "PredictionDiff"
    ShapInteractionValues = "ShapInteractionValues"
    SageValues = "SageValues"


class EShapCalcType(Enum):
    """Ways to compute SHAP values; here all are exact."""

    Regular = "Regular"
    Approximate = "Approximate"
    Exact = "Exact"


class EFeaturesSelectionAlgorithm(Enum):
    """Algorithms of `select_features`."""

    RecursiveByPredictionValuesChange = "RecursiveByPredictionValuesChange"
    RecursiveByLossFunctionChange = "RecursiveByLossFunctionChange"
    RecursiveByShapValues = "RecursiveByShapValues"


class EFeaturesSelectionGrouping(Enum):
    """Whether `select_features` chooses columns or groups of them."""

    Individual = "Individual"
    ByTags = "ByTags"
