"""Oracles of bias, variance and noise: row by row, model by model."""

from statistics import fmean


def squared_parts(predicted, y, f, weight):
    """Return noise, bias², variance, cross term and error of (R, n) predictions."""
    models, rows = len(predicted), range(len(y))
    parts = {"noise": [], "bias2": [], "variance": [], "cross": [], "error": []}
    for i in rows:
        messages = [float(model[i]) for model in predicted]
        mean = fmean(messages)
        variance = sum((value - mean) ** 2 for value in messages) / (models - 1)
        parts["noise"].append((y[i] - f[i]) ** 2)
        parts["bias2"].append((mean - f[i]) ** 2 - variance / models)
        parts["variance"].append(variance)
        parts["cross"].append(2 * (mean - f[i]) * (f[i] - y[i]))
        parts["error"].append(fmean((value - y[i]) ** 2 for value in messages))
    return {name: weighted(values, weight) for name, values in parts.items()}


def class_parts(predicted, y, n_classes, weight):
    """Return bias, unbiased and biased variance and error of (R, n) class codes."""
    parts = {"bias": [], "unbiased_variance": [], "biased_variance": [], "error": []}
    for i in range(len(y)):
        messages = [int(model[i]) for model in predicted]
        main = max(range(n_classes), key=lambda k: (messages.count(k), -k))
        biased = main != y[i]
        parts["bias"].append(float(biased))
        apart = [value for value in messages if value != main]
        right = [value for value in apart if value == y[i]]
        parts["unbiased_variance"].append(0.0 if biased else len(apart) / len(messages))
        parts["biased_variance"].append(len(right) / len(messages) if biased else 0.0)
        parts["error"].append(fmean(float(value != y[i]) for value in messages))
    return {name: weighted(values, weight) for name, values in parts.items()}


def weighted(values, weight):
    """Return a weighted mean."""
    return sum(w * v for w, v in zip(weight, values, strict=True)) / sum(weight)
