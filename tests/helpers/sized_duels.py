"""Fake duels with a known training time for every size."""

from harness.core.model import (
    Block,
    DatasetRef,
    Duel,
    DuelOutcome,
    Job,
    Sample,
    Split,
    Status,
    Task,
    Trial,
)


def side(algorithm, rows, threads=1, **options):
    name = f"cloud:rows={rows}"
    ref = DatasetRef(name, "d", {"rows": rows, **options})
    split = Split("given")
    trial = Trial(algorithm, {}, "native", name, split, 0, threads, "c", "t", Task.BINARY)
    return Job(algorithm, "plugin", ref, (trial,), threads=threads)


def duel(rows, launches=2, *, threads=1, factor=1.0, **options):
    """Return a duel whose side A takes a microsecond a row to train, and B twice that."""
    a, b = (side(name, rows, threads, **options) for name in ("ours", "theirs"))
    blocks = []
    for launch in range(launches):
        for phase, share in (("native", 0.25), ("fit", 0.75), ("predict", 9.0)):
            walls = [share * rows * 1e-6 * factor * speed for speed in (1, 2)]
            samples = [(Sample(phase, w * 0.9, w), Sample(phase, w * 1.1, w)) for w in walls]
            blocks.append(Block(launch, 0, phase, "ABBA", *samples))
    facts = {name: {"train_rows": rows * 4 // 5, "columns": 7} for name in "ab"}
    one = Duel(a, b, f"duel{rows}-{threads}", launches)
    return DuelOutcome(one, Status.DONE, tuple(blocks), facts=facts)
