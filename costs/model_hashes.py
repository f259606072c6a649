"""Print a hash of the trees and of the predictions of many small models.

    python -m costs.model_hashes                  one line a configuration
    python -m costs.model_hashes --write FILE     write the lines to a file as well
    python -m costs.model_hashes --check FILE     compare with a file; exit 1 where a line differs

Use it to show that a change of the code leaves every model as it was. A line has the name of the
configuration, the SHA-256 of its trees and the SHA-256 of the bytes of its predictions. Trees are
read from ``ensemble_``, each in depth-first order, so neither the numbering of nodes nor the layout
of private attributes counts. Hashes hold for one processor and one version of each library only:
numpy and libm round some functions differently elsewhere.
"""

import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np

from costs.hashed_models import all_configurations, make_model, make_table


def hash_model(configuration, seed=0):
    """Fit a model; return the hash of its trees and the hash of its predictions."""
    X, y, X_new = make_table(configuration.task, configuration.form)
    model = make_model(configuration, seed).fit(X, y)
    members = [model] if hasattr(model, "ensemble_") else model.estimators_
    trees = hashlib.sha256()
    for member in members:
        update_with_trees(trees, member.ensemble_)
    predict = getattr(model, "predict_proba", model.predict)
    predicted = np.ascontiguousarray(predict(X_new))
    return trees.hexdigest(), hashlib.sha256(predicted.tobytes()).hexdigest()


def update_with_trees(digest, ensemble):
    """Add an ensemble to a hash: its common fields, then each tree in depth-first order."""
    scalars = ("comparison", "combination", "link", "input_dtype", "sum_dtype", "n_features")
    digest.update(repr([getattr(ensemble, name) for name in scalars]).encode())
    for array in (ensemble.base, ensemble.weight, ensemble.output):
        digest.update(array.tobytes())
    for root in ensemble.offsets[:-1]:
        order = depth_first(ensemble, root)
        digest.update(np.int64(len(order)).tobytes())
        is_leaf = ensemble.left[order] < 0
        is_numeric = ~is_leaf & (ensemble.categories[order] < 0)
        digest.update(is_leaf.tobytes())
        digest.update(ensemble.feature[order].tobytes())
        digest.update(np.where(is_numeric, ensemble.threshold[order], 0.0).tobytes())
        digest.update((ensemble.default_left[order] & ~is_leaf).tobytes())
        digest.update(ensemble.missing[order].tobytes())
        for values in (ensemble.value, ensemble.gain, ensemble.cover):
            own = values[order]
            digest.update(np.where(np.isnan(own), np.nan, own).tobytes())
        for category_set in ensemble.categories[order[~is_leaf & ~is_numeric]]:
            first, last = ensemble.set_indptr[category_set : category_set + 2]
            digest.update(ensemble.set_codes[first:last].tobytes())
            digest.update(ensemble.members_left[category_set].tobytes())


def depth_first(ensemble, root):
    """Return the nodes of a tree, each before its children and the left side first: int64."""
    waiting, order = [int(root)], []
    while waiting:
        node = waiting.pop()
        order.append(node)
        if ensemble.left[node] >= 0:
            waiting += [int(ensemble.right[node]), int(ensemble.left[node])]
    return np.asarray(order)


def hash_all(seed=0):
    """Yield the line of each configuration."""
    for configuration in all_configurations():
        trees, predictions = hash_model(configuration, seed)
        yield f"{configuration.name} {trees} {predictions}"


def find_differences(lines, expected):
    """Return the lines that differ from other lines: list of str."""
    now, before = ({line.split()[0]: line.split()[1:] for line in of} for of in (lines, expected))
    results = [f"only in the file: {name}" for name in before if name not in now]
    for name, hashes in now.items():
        if name not in before:
            results.append(f"not in the file: {name}")
        elif hashes != before[name]:
            same_trees = hashes[0] == before[name][0]
            results.append(f"other {'predictions' if same_trees else 'trees'}: {name}")
    return results


def main(given=None):
    """Print the lines; write them to a file or compare them with one; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m costs.model_hashes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", type=Path, metavar="FILE")
    action.add_argument("--check", type=Path, metavar="FILE")
    parser.add_argument("--seed", type=int, default=0, help="random_state of every model")
    options = parser.parse_args(given)
    lines = []
    for line in hash_all(options.seed):
        sys.stdout.write(line + "\n")
        lines.append(line)
    if options.write:
        options.write.write_text("\n".join(lines) + "\n")
    if not options.check:
        return 0
    differences = find_differences(lines, options.check.read_text().splitlines())
    sys.stdout.write("\n".join([*differences, f"{len(differences)} of {len(lines)} differ"]) + "\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
