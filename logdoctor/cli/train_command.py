"""``logdoctor train``: train the classifier with examples of rules and labelled cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logdoctor.cli.diagnose_command import Rules
from logdoctor.cli.errors import refuse_output, report_errors
from logdoctor.cli.progress_bar import step_bar
from logdoctor.cli.rule_folders import all_folders

if TYPE_CHECKING:
    from logdoctor.classifier.training import TrainingResult

Corpora = Annotated[
    list[Path] | None,
    typer.Argument(help="Folders of cases: each case has a case.yaml with its label, and logs.", exists=True),
]
ModelFile = Annotated[Path, typer.Option("--output", "-o", help="Write the model to this file.", dir_okay=False)]


def train(output: ModelFile, corpora: Corpora = None, rules: Rules = None) -> None:
    """Train the classifier that is asked where the rules leave a failure open.

    It learns from the examples of all rules and from the cases in CORPORA, takes minutes, shows how well it does on
    what was held out, and gives the same bytes for the same input.
    """
    with report_errors(), step_bar() as show_step:
        trained = _train(corpora or [], all_folders(rules), show_step)
    try:
        output.write_text(trained.model.to_json(), encoding="utf-8")
    except OSError as error:
        refuse_output(output, error)
    for line in _figures(trained):
        typer.echo(line)


def _train(corpora: list[Path], folders: list[Path], show_step: Callable[[str, int, int], None]) -> TrainingResult:
    from logdoctor.classifier.training import train as train_model
    from logdoctor.evaluation.training_data import load_labelled_logs, make_samples
    from logdoctor.pipeline.knowledge import gather
    from logdoctor.ruleset.loading import load

    logs = load_labelled_logs(load(folders), corpora)
    return train_model([*make_samples(logs, gather(folders), show_step)], show_step)


def _figures(trained: TrainingResult) -> Iterator[str]:
    model = trained.model
    yield trained.table.round(3).to_string()
    yield f"{len(model.classes)} classes, temperature {model.temperature}, speaks from probability {model.threshold} on"
