"""``harness predict``: apply a saved model to the rows of a file."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import path_option, say


@click.command("predict")
@click.argument("model", type=click.Path(path_type=Path), metavar="FILE")
@click.argument("rows", type=click.Path(path_type=Path), metavar="NEW")
@path_option("--output", "Write the predictions there instead of printing them.", metavar="CSV")
def command(model: Path, rows: Path, output: Path | None) -> None:
    """Predict the rows of NEW with the model in FILE, which `harness best --save` wrote.

    Prints CSV: prediction, and for classes the probability of each. FILE is a pickle, which runs
    code when it is opened: open only files that you trust.
    """
    from harness.worker.saved_model import load_model, read_rows

    predictions = load_model(model).predict(read_rows(rows))
    text = predictions.to_csv(index=False)
    if output is None:
        click.echo(text, nl=False)
        return
    output.write_text(text, encoding="utf-8")
    say(f"wrote {len(predictions):,} predictions to {output}")
