"""``logdoctor collect``: print the commands that gather what would decide."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from logdoctor.cli.diagnose_command import Hung, JobId, Lang, Paths, Rules
from logdoctor.cli.errors import report_errors
from logdoctor.cli.named_inputs import paths_or_stdin
from logdoctor.cli.output import language_of
from logdoctor.cli.progress_bar import load_with_progress
from logdoctor.cli.rule_folders import all_folders

if TYPE_CHECKING:
    from logdoctor.model import Diagnosis, Step
    from logdoctor.model.catalogue import Catalogue

STDIN = "-"


def collect(
    paths: Paths = None, hung: Hung = False, job_id: JobId = None, lang: Lang = None, rules: Rules = None
) -> None:
    """Print the commands that gather what would decide an open case: stacks, dumps, accounting, kernel logs.

    They are those that fit this job, its hosts and tools, and whose output logdoctor reads. They only read. Nothing is
    run: look at them, then hand them to a shell in an empty folder.

    Exit codes: 0 the log was read, 2 wrong usage, 3 nothing could be read, 70 an error of logdoctor itself.
    """
    from logdoctor.pipeline.diagnosis import analyse
    from logdoctor.render.catalogue import catalogue

    inputs = paths_or_stdin(paths)
    knowledge = load_with_progress(all_folders(rules))
    language = language_of(lang)
    with report_errors():
        analysis = analyse(inputs, hung=hung, job_id=job_id, lang=language, knowledge=knowledge)
        diagnosis = analysis.diagnosis()
        steps, words = analysis.missing_data(diagnosis), catalogue(language)
        for line in _script(steps, inputs, words) if steps else _without_commands(diagnosis, words):
            typer.echo(line)


def _script(steps: Sequence[Step], inputs: Sequence[str], words: Catalogue) -> Iterator[str]:
    yield f"# {words('gather.begin')}"
    for step in steps:
        yield f"# {step.text}"
        yield from step.commands
    yield f"# {words('gather.again')}"
    yield " ".join(("logdoctor", *(shlex.quote(path) for path in inputs if path != STDIN), "."))


def _without_commands(diagnosis: Diagnosis, words: Catalogue) -> Iterator[str]:
    """Yield what to gather where no host and no job is known to make a command of, as comments."""
    if diagnosis.verdict == "nothing-to-judge":
        yield f"# {diagnosis.decision.sentence}"
    elif not diagnosis.answer and diagnosis.decision.collect:
        yield from (f"# {text}" for text in diagnosis.decision.collect)
    else:
        yield f"# {words('gather.nothing')}"
