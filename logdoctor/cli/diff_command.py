"""``logdoctor diff``: compare a good and a bad run of the same job."""

from __future__ import annotations

from typing import Annotated

import typer

from logdoctor.cli.choices import among_keys
from logdoctor.cli.diagnose_command import Lang, Output, Redact, RedactMap, Rules
from logdoctor.cli.diagnosing import OLD_FORMAT_NAMES, TEXT
from logdoctor.cli.errors import report_errors
from logdoctor.cli.named_inputs import refuse_output_file
from logdoctor.cli.output import language_of, write_key, write_text_to
from logdoctor.cli.progress_bar import ProgressBar
from logdoctor.cli.words import require

Good = Annotated[str, typer.Argument(help="The log, folder or archive of a run that went well.")]
Bad = Annotated[str, typer.Argument(help="That of a run of the same job that did not.")]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        "-f",
        help="text, markdown or json.",
        autocompletion=among_keys("logdoctor.render.differences", "FORMATS"),
    ),
]


def diff(
    good: Good,
    bad: Bad,
    format: Format = "text",
    output: Output = None,
    lang: Lang = None,
    rules: Rules = None,
    redact: Redact = None,
    redact_map: RedactMap = None,
) -> None:
    """Say what differs between a good and a bad run of the same job.

    Compared are the outcome, ranks and hosts, versions, the environment, the network that was chosen, and the messages
    that only one of the runs printed (of long logs: start, end, and samples between).

    Exit codes: 0 the runs were compared, 2 wrong usage, 3 one of them could not be read.
    """
    from logdoctor.diff import compare
    from logdoctor.render.differences import FORMATS, SHARED, render_comparison

    chosen = OLD_FORMAT_NAMES.get(format, format)
    require(chosen, FORMATS, "--format")
    refuse_output_file(output, (good, bad))
    language = language_of(lang)
    with report_errors(), ProgressBar() as bar:
        comparison = compare(good, bad, rules=rules or (), lang=language, watch=bar.watch)
    if chosen in SHARED if redact is None else redact:
        from logdoctor.redaction import redact as redact_content

        redaction = redact_content(comparison)
        write_key(redaction.key, redact_map)
        comparison = redaction.content
    elif redact_map is not None:
        raise typer.BadParameter("nothing is redacted: add --redact", param_hint="--redact-map")
    write_text_to(render_comparison(comparison, chosen, language), output, marks=chosen == TEXT)
