"""``logdoctor diagnose``: read one job, write one report."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from logdoctor.cli.errors import report_errors
from logdoctor.cli.progress_bar import ProgressBar
from logdoctor.cli.rule_options import Rules, read_settings

if TYPE_CHECKING:
    from logdoctor.model import Diagnosis

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        help="Logs of ONE job: files, folders, globs, archives (tar, zip, gz, bz2, xz, zst); - is standard input."
    ),
]
Format = Annotated[
    str | None, typer.Option("--format", "-f", help="terminal (default), json, markdown, jira, html or sarif.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the report to this file.", dir_okay=False)]
Lang = Annotated[str | None, typer.Option("--lang", help="Language of the report: en or zh (default: by the locale).")]
Hung = Annotated[bool, typer.Option("--hung", help="The job hangs: its silence is the failure.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, in one line.")]
ExitCode = Annotated[
    bool, typer.Option("--exit-code", help="Exit with 1 where a failure is found or the cause is unknown.")
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model", help="A classifier made by 'logdoctor train', instead of ours.", exists=True, dir_okay=False
    ),
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        help="The log of a good run: where no rule knows the failure, what it never printed is shown.",
        exists=True,
    ),
]
Redact = Annotated[
    bool | None,
    typer.Option(
        "--redact/--no-redact",
        help="Take out secrets, and call hosts, addresses and users host-1, ip-1, user-1 (default: in the formats that "
        "are made to be shared: html, markdown, jira, sarif).",
    ),
]
RedactMap = Annotated[
    Path | None,
    typer.Option(
        "--redact-map", help="Write here who is meant by host-1, ip-1, user-1; keep it to yourself.", dir_okay=False
    ),
]


def diagnose(
    paths: Paths = None,
    format: Format = None,
    output: Output = None,
    lang: Lang = None,
    hung: Hung = False,
    quiet: Quiet = False,
    exit_code: ExitCode = False,
    rules: Rules = None,
    model: Model = None,
    baseline: Baseline = None,
    redact: Redact = None,
    redact_map: RedactMap = None,
) -> None:
    """Say what went wrong first, where, with which proof, and what to do.

    Without PATHS the log is read from standard input.

    Exit codes: 0 a diagnosis was made (any verdict), 1 failure or unknown with --exit-code, 2 wrong usage,
    3 nothing could be read or the output not be written.
    """
    from logdoctor.render import FORMATS

    refuse_overwriting(output, paths)
    settings = read_settings()
    chosen_format = format or settings.format or "terminal"
    if chosen_format not in FORMATS:
        raise typer.BadParameter(f"'{chosen_format}' is none of {', '.join(FORMATS)}", param_hint="--format")
    language = language_of(lang, settings.lang)
    start = time.perf_counter()
    own = [*settings.rules, *(rules or [])]
    diagnosis = diagnose_paths(
        paths, chosen_format, rules=own, hung=hung, lang=language, model=model, baseline=baseline
    )
    elapsed = time.perf_counter() - start
    redacted = redact_to_share(diagnosis, chosen_format, redact, redact_map)
    write(redacted, chosen_format, output, language, quiet=quiet, elapsed=elapsed)
    if exit_code and diagnosis.verdict != "healthy":
        raise typer.Exit(1)


def diagnose_paths(paths: list[str] | None, format: str, **options: Any) -> Diagnosis:
    """Diagnose the job in ``paths`` (none: standard input), with context for ``format``."""
    from logdoctor.pipeline.diagnosis import diagnose as diagnose_job
    from logdoctor.render import context_lines

    inputs = paths_or_stdin(paths)
    with report_errors(), ProgressBar() as bar:
        return diagnose_job(inputs, watch=bar.watch, context=context_lines(format), **options)


def paths_or_stdin(paths: list[str] | None) -> list[str]:
    """Return ``paths`` or, if there are none, standard input. A terminal as standard input is wrong usage."""
    if not paths and sys.stdin.isatty():
        raise typer.BadParameter(
            "give a file or a folder, or pipe a log in: cat crash.log | logdoctor", param_hint="PATHS"
        )
    return paths or ["-"]


def refuse_overwriting(output: Path | None, paths: Iterable[str] | None) -> None:
    """End with wrong usage if the report would overwrite one of the logs."""
    for path in paths or ():
        if output is not None and output.is_file() and os.path.exists(path) and output.samefile(path):  # noqa: PTH110 - takes any text
            raise typer.BadParameter(f"{output} is the log itself: name another file", param_hint="--output")


def redact_to_share(diagnosis: Diagnosis, format: str, redact: bool | None, key_file: Path | None) -> Diagnosis:  # noqa: FBT001
    """Remove secrets and names if ``redact`` is True.

    If ``redact`` is None, do so for formats that are made to be shared.
    """
    from logdoctor.render import is_shared

    if not (is_shared(format) if redact is None else redact):
        if key_file is not None:
            raise typer.BadParameter("nothing is redacted: add --redact", param_hint="--redact-map")
        return diagnosis
    from logdoctor.redaction import redact as redact_content

    redaction = redact_content(diagnosis)
    write_key(redaction.key, key_file)
    return redaction.content


def write_key(key: Mapping[str, Sequence[str]], file: Path | None) -> None:
    """Write pseudonyms and their meanings into ``file``, if there is one. Only its owner may read it."""
    import json

    if file is None:
        return
    text = json.dumps(dict(key), ensure_ascii=False, indent=1) + "\n"
    try:
        file.unlink(missing_ok=True)  # other users may be allowed to read an old file
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}", param_hint="--redact-map") from None


def write(
    diagnosis: Diagnosis,
    format: str,
    output: Path | None,
    lang: str,
    *,
    quiet: bool = False,
    elapsed: float | None = None,
) -> None:
    """Write the report to the file ``output``, or to standard output."""
    from logdoctor.render import render

    terminal = format == "terminal" and output is None
    color = terminal and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = _width() if sys.stdout.isatty() else 100
    text = render(
        diagnosis, format, lang=lang, color=color, width=width, quiet=quiet, elapsed=elapsed if terminal else None
    )
    write_text_to(text, output, marks=format == "terminal")


def write_text_to(text: str, output: Path | None, *, marks: bool) -> None:
    """Write ``text`` to the file ``output``, or to standard output.

    On a standard output without UTF-8, ``marks`` such as ✗ are spelt in ASCII.
    """
    if output is None:
        sys.stdout.buffer.write(_encoded(text, sys.stdout.encoding or "utf-8", marks=marks))
        sys.stdout.flush()
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{output} cannot be written: {error.strerror}", param_hint="--output") from None


def _encoded(text: str, encoding: str, *, marks: bool) -> bytes:
    """Encode ``text``. If ``encoding`` lacks characters, spell ``marks`` in ASCII and replace the others."""
    from logdoctor.render import to_ascii

    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return (to_ascii(text) if marks else text).encode(encoding, "replace")


def _width() -> int:
    try:
        return max(40, min(os.get_terminal_size().columns, 120))
    except OSError:
        return 100


def language_of(*choices: str | None) -> str:
    """Return the first language of ``choices``, else that of the locale. An unknown language is wrong usage."""
    language = next(filter(None, choices), None) or _language_of_locale()
    if language not in ("en", "zh"):
        raise typer.BadParameter(f"'{language}' is neither en nor zh", param_hint="--lang")
    return language


def _language_of_locale() -> str:
    locale = next((v for k in ("LC_ALL", "LC_MESSAGES", "LANG") if (v := os.environ.get(k))), "")
    return "zh" if locale.startswith("zh") else "en"
