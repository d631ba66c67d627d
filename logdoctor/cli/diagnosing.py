"""The work of ``logdoctor diagnose``, without typer, whose import takes 25 ms."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logdoctor.cli.errors import print_error, print_problems, report_errors, wrong_usage
from logdoctor.cli.named_inputs import paths_or_stdin, refuse_output_file, report_missing
from logdoctor.cli.output import COLORS, Style, language_of, redact_to_share, width_of, write, write_text_to
from logdoctor.cli.progress_bar import ProgressBar

if TYPE_CHECKING:
    from logdoctor.model import Diagnosis

TEXT = "text"
OLD_FORMAT_NAMES = {"terminal": TEXT}
EXIT_CODES = {
    "do-nothing": 10,
    "requeue": 11,
    "requeue-without-host": 12,
    "resubmit-with-changes": 13,
    "fix-first": 14,
    "investigate": 15,
}
"""Exit codes of ``--exit-decision``."""


def diagnose(
    paths: list[str] | None,
    *,
    format: str | None = None,
    json: bool = False,
    output: Path | None = None,
    lang: str | None = None,
    hung: bool = False,
    quiet: bool = False,
    full: bool = False,
    why: bool = False,
    verbose: bool = False,
    color: str | None = None,
    width: int | None = None,
    ascii: bool = False,
    exit_code: bool = False,
    exit_decision: bool = False,
    rules: Sequence[Path] | None = None,
    model: Path | None = None,
    baseline: Path | None = None,
    job_id: str | None = None,
    redact: bool | None = None,
    redact_map: Path | None = None,
    follow_links: bool = False,
    read: Callable[..., Diagnosis] | None = None,
) -> None:
    """Diagnose a job and write its report. The options are those of the command; ``read`` replaces `diagnose_paths`."""
    from logdoctor.cli.words import require
    from logdoctor.render.why import render_why

    require(color or "auto", COLORS, "--color")
    chosen = format_of(format, json=json)
    if why and (quiet or (chosen != TEXT and (format or json))):
        raise wrong_usage("it is text: add --format text", "--why")
    style = Style(TEXT if why else chosen, language_of(lang), color, width, ascii, full, quiet)
    refuse_output_file(output, paths)
    start = time.perf_counter()
    diagnosis = (read or diagnose_paths)(
        paths,
        style.format,
        rules=rules or [],
        hung=hung,
        lang=style.lang,
        model=model,
        baseline=baseline,
        job_id=job_id,
        follow_links=follow_links,
    )
    elapsed = time.perf_counter() - start
    redacted = redact_to_share(diagnosis, style.format, redact, redact_map)
    if why:
        write_text_to(render_why(redacted, style.lang, width_of(style)), output, marks=True, ascii=ascii)
    else:
        write(redacted, style, output)
    if style.format != TEXT or quiet:  # the whole text tells them itself
        print_problems(p for p in diagnosis.problems if any(p.where.startswith(str(folder)) for folder in rules or ()))
    if verbose:
        print_reading(diagnosis, rules or [], elapsed)
    raise_exit_code(diagnosis, by_verdict=exit_code, by_decision=exit_decision)


def format_of(name: str | None, *, json: bool = False) -> str:
    """Return the format for the options ``--format`` and ``--json``."""
    from logdoctor.cli.words import require
    from logdoctor.render import FORMATS

    if json:
        return "json"
    chosen = OLD_FORMAT_NAMES.get(name or TEXT, name or TEXT)
    require(chosen, FORMATS, "--format")
    return chosen


def diagnose_paths(paths: list[str] | None, format: str, **options: Any) -> Diagnosis:
    """Diagnose the job in ``paths`` (none: standard input), with context for ``format``."""
    from logdoctor.model import InputError, ManyJobsError
    from logdoctor.pipeline.diagnosis import diagnose as diagnose_job
    from logdoctor.pipeline.diagnosis import make_job, nothing_read
    from logdoctor.render import context_lines

    inputs = paths_or_stdin(paths)
    missing = report_missing(inputs)
    with report_errors(), ProgressBar() as bar:
        try:
            return diagnose_job(inputs, watch=bar.watch, context=context_lines(format), **options)
        except ManyJobsError as error:
            raise wrong_usage(f"{error.where}: {error.what}; {error.help}", "PATHS") from None
        except InputError as error:
            if missing < len(inputs):
                print_error(error)
            return nothing_read(make_job(inputs).name, error, options["lang"])


def raise_exit_code(diagnosis: Diagnosis, *, by_verdict: bool, by_decision: bool = False) -> None:
    """End with the exit code of the diagnosis, unless it is 0.

    An input that is missing, empty or unreadable counts more than a verdict without a failure.
    """
    from logdoctor.model import CALM, unusable

    code = 0
    if by_decision:
        code = EXIT_CODES[diagnosis.decision.do]
    elif by_verdict and diagnosis.verdict != "finished":
        code = 4 if diagnosis.verdict in CALM else 1
    is_failure = diagnosis.verdict not in (*CALM, "finished")
    if not (code and is_failure) and (not diagnosis.coverage.bytes or unusable(diagnosis.coverage)):
        code = 3
    if code:
        raise SystemExit(code)


def print_reading(diagnosis: Diagnosis, folders: Sequence[Path], elapsed: float) -> None:
    """Print which files were read, with which rules, and how long it took."""
    from logdoctor.model.escape import escape

    coverage, made_by = diagnosis.coverage, diagnosis.made_by
    lines = [
        f"{escape(i.file)}: {i.kind}, {i.bytes:,} bytes, {i.lines:,} lines, read: {i.read}"
        + f" ({i.why})" * bool(i.why)
        for i in coverage.inputs
    ]
    more = "".join(f", {escape(str(folder))}" for folder in folders)
    lines += [f"{coverage.unlisted:,} more files"] * (coverage.unlisted > 0)
    lines.append(f"rules: {made_by.rules} ({made_by.digest[:12]}) of logdoctor {made_by.version}{more}")
    lines.append(f"time: {elapsed:.2f} s for {coverage.bytes:,} bytes")
    sys.stderr.write("".join(f"logdoctor: {line}\n" for line in lines))
