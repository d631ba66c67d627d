"""``logdoctor evaluate``: count the right answers to labelled cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logdoctor.cli.choices import among, one_of
from logdoctor.cli.config_options import used_settings
from logdoctor.cli.errors import refuse_output, report_errors
from logdoctor.cli.progress_bar import step_bar
from logdoctor.cli.rule_folders import all_folders
from logdoctor.cli.words import require

if TYPE_CHECKING:
    import pandas as pd

    from logdoctor.evaluation import Scores

FORMATS = ("text", "html", "json")
CONFUSIONS = 15
"""Rows of the table of confusions."""

Folders = Annotated[
    list[Path],
    typer.Argument(
        help="Folders of cases: each case has a case.yaml or case.json with its label, and logs.", exists=True
    ),
]
WithRules = Annotated[bool, typer.Option("--rules/--no-rules", help="Rules first, or the classifier alone.")]
Baselines = Annotated[
    bool, typer.Option("--baselines", help="Beside it: always the most frequent failure, and TF-IDF with regression.")
]
Corpora = Annotated[
    list[Path] | None,
    typer.Option("--corpus", help="The baselines learn from these cases too, beside the rules' examples.", exists=True),
]
Format = Annotated[str, typer.Option("--format", "-f", help=f"{one_of(FORMATS)}.", autocompletion=among(FORMATS))]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write it to this file.", dir_okay=False)]
Model = Annotated[
    Path | None,
    typer.Option("--model", help="A classifier made by 'logdoctor train'.", exists=True, dir_okay=False),
]


def evaluate(
    ctx: typer.Context,
    cases: Folders,
    rules: WithRules = True,
    baselines: Baselines = False,
    corpus: Corpora = None,
    format: Format = "text",
    output: Output = None,
    model: Model = None,
) -> None:
    """Diagnose labelled cases and say how many answers are right: by family, what is mixed up, how sure, how often.

    Exit codes: 0, 2 wrong usage, 3 no cases or a faulty one.
    """
    require(format, FORMATS, "--format")
    folders = all_folders(used_settings(ctx).rules)
    with report_errors(), step_bar() as show_step:
        scores = _scores(cases, folders, model, show_step, rules=rules)
        if baselines or corpus:
            scores += _baselines(cases, corpus or [], folders, show_step)
    text = _text(scores, format, ", ".join(str(folder) for folder in cases))
    if output is None:
        typer.echo(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        refuse_output(output, error)


def _scores(
    folders: list[Path],
    rule_folders: list[Path],
    model: Path | None,
    show_step: Callable[[str, int, int], None],
    *,
    rules: bool,
) -> list[Scores]:
    from logdoctor.evaluation import answer_case, load_cases, score_answers
    from logdoctor.pipeline.knowledge import gather

    cases, knowledge = load_cases(folders), gather(rule_folders)
    answers = []
    for n, case in enumerate(cases):
        show_step(case.name, n, len(cases))
        answers.append(answer_case(case, knowledge, model, rules=rules))
    return [score_answers("rules and classifier" if rules else "classifier alone", answers)]


def _baselines(
    folders: list[Path], corpora: list[Path], rule_folders: list[Path], show_step: Callable[[str, int, int], None]
) -> list[Scores]:
    from logdoctor.evaluation import load_cases, score_answers
    from logdoctor.evaluation.baselines import bag_of_words, majority
    from logdoctor.evaluation.training_data import load_labelled_logs
    from logdoctor.ruleset.loading import load

    show_step("baselines", 0, 1)
    training_logs, cases = load_labelled_logs(load(rule_folders), corpora), load_cases(folders)
    return [
        score_answers("most frequent failure", majority(training_logs, cases)),
        score_answers("TF-IDF and regression", bag_of_words(training_logs, cases)),
    ]


def _text(scores: list[Scores], format: str, cases: str) -> str:
    if format == "json":
        return json.dumps([s.to_dict() for s in scores], indent=1, ensure_ascii=False)
    if format == "html":
        from logdoctor.evaluation.page import render_page

        return render_page(scores, cases)
    return "\n".join(_lines(scores))


def _lines(scores: list[Scores]) -> Iterator[str]:
    import pandas as pd

    figures = pd.DataFrame({s.name: s.figures for s in scores}, dtype=float)
    yield _table(figures.rename_axis(None), index=True)
    first = scores[0]
    for title, table in (
        ("by family", first.families),
        ("mixed up", first.confusion.head(CONFUSIONS)),
        ("reliability: of the answers from that confidence on, how sure, how many right", first.reliability),
    ):
        yield f"\n{title} ({first.name})"
        yield _table(table) if len(table) else "nothing"


def _table(frame: pd.DataFrame, *, index: bool = False) -> str:
    return str(frame.to_string(index=index, na_rep="-", float_format="{:.3g}".format))
