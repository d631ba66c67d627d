"""``logdoctor diff``: what differs between a good and a bad run of the same job."""

from __future__ import annotations

from typing import Annotated

import typer

from logdoctor.cli.diagnose_command import (
    Lang,
    Output,
    Redact,
    RedactMap,
    keep_inputs,
    keep_key,
    language_of,
    put_out,
)
from logdoctor.cli.errors import report_errors
from logdoctor.cli.progress_bar import ProgressBar
from logdoctor.cli.rule_options import Rules, chosen_settings, own_folders

Good = Annotated[str, typer.Argument(help="The log, folder or archive of a run that went well.")]
Bad = Annotated[str, typer.Argument(help="That of a run of the same job that did not.")]
Format = Annotated[str, typer.Option("--format", "-f", help="terminal, markdown or json.")]


def diff(
    good: Good,
    bad: Bad,
    format: Format = "terminal",
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
    from logdoctor.comparison import compare
    from logdoctor.render.differences import FORMATS, SHARED, render_comparison

    if format not in FORMATS:
        raise typer.BadParameter(f"'{format}' is none of {', '.join(FORMATS)}", param_hint="--format")
    keep_inputs(output, (good, bad))
    language = language_of(lang, chosen_settings().lang)
    with report_errors(), ProgressBar() as bar:
        found = compare(good, bad, rules=own_folders(rules), lang=language, watch=bar.watch)
    if format in SHARED if redact is None else redact:
        from logdoctor.redaction import redacted

        made = redacted(found)
        keep_key(made.key, redact_map)
        found = made.told
    elif redact_map is not None:
        raise typer.BadParameter("nothing is redacted: add --redact", param_hint="--redact-map")
    put_out(render_comparison(found, format, language), output, marks=format == "terminal")
