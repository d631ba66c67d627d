"""The work of ``logdoctor diagnose``, without typer, whose import takes 25 ms."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logdoctor.cli.errors import print_error, refuse_output, report_errors, wrong_usage
from logdoctor.cli.progress_bar import ProgressBar
from logdoctor.cli.rule_folders import read_settings

if TYPE_CHECKING:
    from logdoctor.model import Diagnosis


NAMED_JOBS = 3
LACKING = frozenset({"cannot be read", "no file matches", "was not read", "holds no log", "cannot be unpacked"})
"""Problems of an input of which nothing was read."""


def diagnose(
    paths: list[str] | None,
    *,
    format: str | None = None,
    output: Path | None = None,
    lang: str | None = None,
    hung: bool = False,
    quiet: bool = False,
    why: bool = False,
    exit_code: bool = False,
    rules: Sequence[Path] | None = None,
    model: Path | None = None,
    baseline: Path | None = None,
    redact: bool | None = None,
    redact_map: Path | None = None,
    follow_links: bool = False,
) -> None:
    """Diagnose a job and write its report. The options are those of the command."""
    from logdoctor.render import FORMATS
    from logdoctor.render.why import render_why

    refuse_overwriting(output, paths)
    settings = read_settings()
    chosen_format = format or settings.format or "text"
    if chosen_format not in FORMATS:
        raise wrong_usage(f"'{chosen_format}' is none of {', '.join(FORMATS)}", "--format")
    if why and (quiet or format not in (None, "text")):
        raise wrong_usage("it is text for a terminal", "--why")
    chosen_format = "text" if why else chosen_format
    language = language_of(lang, settings.lang)
    own = [*settings.rules, *(rules or [])]
    options = {"hung": hung, "lang": language, "model": model, "baseline": baseline, "follow_links": follow_links}
    diagnosis = diagnose_paths(paths, chosen_format, rules=own, **options)
    redacted = redact_to_share(diagnosis, chosen_format, redact, redact_map)
    if why:
        write_text_to(render_why(redacted, language, _width()), output, marks=True)
    else:
        write(redacted, chosen_format, output, language, quiet=quiet)
    raise_exit_code(diagnosis, paths, by_verdict=exit_code)


def diagnose_paths(paths: list[str] | None, format: str, **options: Any) -> Diagnosis:
    """Diagnose the job in ``paths`` (none: standard input), with context for ``format``."""
    from logdoctor.model import InputError
    from logdoctor.pipeline.diagnosis import diagnose as diagnose_job
    from logdoctor.pipeline.diagnosis import make_job, nothing_read
    from logdoctor.render import context_lines

    inputs = paths_or_stdin(paths)
    refuse_many_jobs(inputs)
    with report_errors(), ProgressBar() as bar:
        try:
            return diagnose_job(inputs, watch=bar.watch, context=context_lines(format), **options)
        except InputError as error:
            print_error(error)
            return nothing_read(make_job(inputs).name, error, options["lang"])


def raise_exit_code(diagnosis: Diagnosis, paths: Sequence[str] | None, *, by_verdict: bool) -> None:
    """End with the exit code of the diagnosis, unless it is 0.

    An input that is missing, empty or unreadable counts more than a verdict without a failure.
    """
    from logdoctor.model import CALM

    code = 0
    if by_verdict and diagnosis.verdict != "finished":
        code = 4 if diagnosis.verdict in CALM else 1
    if code != 1 and (not diagnosis.coverage.bytes or any(_is_lacking(path, diagnosis) for path in paths or ())):
        code = 3
    if code:
        raise SystemExit(code)


def _is_lacking(path: str, diagnosis: Diagnosis) -> bool:
    """Return whether an input that the user named is missing, empty or unreadable."""
    try:
        if os.path.isfile(path) and not os.path.getsize(path):  # noqa: PTH113, PTH202 - they take any text
            return True
    except (OSError, ValueError):
        return True
    return any(problem.where == path and problem.what in LACKING for problem in diagnosis.problems)


def paths_or_stdin(paths: list[str] | None) -> list[str]:
    """Return ``paths`` or, if there are none, standard input. A terminal as standard input is wrong usage."""
    if not paths and sys.stdin.isatty():
        raise wrong_usage("give a file or a folder, or pipe a log in: cat crash.log | logdoctor", "PATHS")
    return paths or ["-"]


def refuse_many_jobs(paths: Sequence[str]) -> None:
    """End with wrong usage if the only path is a folder of several jobs."""
    if len(paths) != 1 or not os.path.isdir(paths[0]):  # noqa: PTH112 - takes any text
        return
    from logdoctor.inputs.many_jobs import find_jobs_in_folder
    from logdoctor.model.escape import escape

    jobs = find_jobs_in_folder(paths[0])
    if jobs:
        names = ", ".join(map(escape, jobs[:NAMED_JOBS])) + (", ..." if len(jobs) > NAMED_JOBS else "")
        raise wrong_usage(
            f"{escape(paths[0])} looks like {len(jobs)} jobs ({names}). Name one of them, or diagnose each: "
            f"logdoctor scan {escape(shlex.quote(paths[0]))}",
            "PATHS",
        )


def refuse_overwriting(output: Path | None, paths: Iterable[str] | None) -> None:
    """End with wrong usage if the report would overwrite one of the logs."""
    for path in paths or ():
        if output is not None and output.is_file() and os.path.exists(path) and output.samefile(path):  # noqa: PTH110 - takes any text
            raise wrong_usage(f"{output} is the log itself: name another file", "--output")


def redact_to_share(diagnosis: Diagnosis, format: str, redact: bool | None, key_file: Path | None) -> Diagnosis:  # noqa: FBT001
    """Remove secrets and names if ``redact`` is True.

    If ``redact`` is None, do so for formats that are made to be shared.
    """
    from logdoctor.render import is_shared

    if not (is_shared(format) if redact is None else redact):
        if key_file is not None:
            raise wrong_usage("nothing is redacted: add --redact", "--redact-map")
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
        refuse_output(file, error)


def write(
    diagnosis: Diagnosis,
    format: str,
    output: Path | None,
    lang: str,
    *,
    quiet: bool = False,
) -> None:
    """Write the report to the file ``output``, or to standard output."""
    from logdoctor.render import render

    color = (
        format == "text"
        and output is None
        and sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )
    width = _width() if sys.stdout.isatty() else 80
    text = render(diagnosis, format, lang=lang, color=color, width=width, quiet=quiet)
    write_text_to(text, output, marks=format == "text")


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
        refuse_output(output, error)


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
        return 80


def language_of(*choices: str | None) -> str:
    """Return the first language of ``choices``, else that of the locale. An unknown language is wrong usage."""
    language = next(filter(None, choices), None) or _language_of_locale()
    if language not in ("en", "zh"):
        raise wrong_usage(f"'{language}' is neither en nor zh", "--lang")
    return language


def _language_of_locale() -> str:
    locale = next((v for k in ("LC_ALL", "LC_MESSAGES", "LANG") if (v := os.environ.get(k))), "")
    return "zh" if locale.startswith("zh") else "en"
