"""Front end of the histogram booster with the names of scikit-learn's HistGradientBoosting."""
