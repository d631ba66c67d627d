"""Reports as the command line writes them: their language, colours, width, and names that are replaced."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from logdoctor.cli.errors import refuse_output, wrong_usage

if TYPE_CHECKING:
    from logdoctor.model import Diagnosis

COLORS = ("auto", "always", "never")
WIDTH_OF_PIPE, WIDEST = 80, 120


class Style(NamedTuple):
    """The look of a report."""

    format: str = "text"
    lang: str = "en"
    color: str | None = None
    width: int | None = None
    ascii: bool = False
    full: bool = False
    quiet: bool = False


def write(diagnosis: Diagnosis, style: Style, output: Path | None) -> None:
    """Write the report to the file ``output``, or to standard output."""
    from logdoctor.render import render

    is_text = style.format == "text"
    text = render(
        diagnosis,
        style.format,
        lang=style.lang,
        color=is_text and not style.quiet and is_colored(style.color, output),
        width=width_of(style),
        quiet=style.quiet,
        everything=style.full,
    )
    write_text_to(text, output, marks=is_text, ascii=is_text and style.ascii)


def is_colored(choice: str | None, output: Path | None) -> bool:
    """Return whether a text is coloured. ``auto`` asks the environment, then whether it goes to a terminal."""
    if choice not in (None, "auto"):
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return output is None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width_of(style: Style) -> int:
    """Return the columns of a report: of the option, ``$COLUMNS`` or the terminal. A pipe has 80."""
    if style.width:
        return style.width
    import shutil

    return min(shutil.get_terminal_size((WIDTH_OF_PIPE, 0)).columns, WIDEST)


def write_text_to(text: str, output: Path | None, *, marks: bool, ascii: bool = False) -> None:
    """Write ``text`` to the file ``output``, or to standard output.

    With ``ascii``, or on a standard output without UTF-8, ``marks`` such as ✗ are spelt in ASCII.
    """
    from logdoctor.render import to_ascii

    text = to_ascii(text) if ascii else text
    if output is None:
        sys.stdout.buffer.write(_encoded(text, sys.stdout.encoding or "utf-8", marks=marks))
        sys.stdout.flush()
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        refuse_output(output, error)


def write_page(diagnosis: Diagnosis, file: Path | None) -> None:
    """Write the page of a failure, if it is asked for. A fault is told and changes no exit code."""
    from logdoctor.cli.errors import print_error
    from logdoctor.model import InputError

    if file is None:
        return
    try:
        file.write_text(diagnosis.to_html(), "utf-8")
    except OSError as error:
        print_error(InputError("cannot be written", str(file), error.strerror or str(error)))


def _encoded(text: str, encoding: str, *, marks: bool) -> bytes:
    """Encode ``text``. If ``encoding`` lacks characters, spell ``marks`` in ASCII and replace the others."""
    from logdoctor.render import to_ascii

    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return (to_ascii(text) if marks else text).encode(encoding, "replace")


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


def language_of(choice: str | None) -> str:
    """Return the language of the option, of ``$LOGDOCTOR_LANG``, or of the locale."""
    from logdoctor.cli.choices import LANGUAGES
    from logdoctor.cli.words import require

    language = choice or os.environ.get("LOGDOCTOR_LANG") or _language_of_locale()
    require(language, LANGUAGES, "--lang")
    return language


def _language_of_locale() -> str:
    locale = next((v for k in ("LC_ALL", "LC_MESSAGES", "LANG") if (v := os.environ.get(k))), "")
    return "zh" if locale.startswith("zh") else "en"
