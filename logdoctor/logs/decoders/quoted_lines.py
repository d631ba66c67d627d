"""Lines that another program quotes: in marks, as JSON text, as the output of grep."""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.logs.json_texts import parse_json
from logdoctor.logs.source_from_filename import source_from_filename
from logdoctor.model import Source


def read_grep(groups: Mapping[str, str], rest: str) -> tuple[str, Source]:
    """Return the line that grep found, with the source of its file."""
    return rest, source_from_filename(groups["file"])


def read_bold(_groups: Mapping[str, str], rest: str) -> tuple[str, Source]:
    """Remove the ``**`` at the end of a bold line."""
    return rest.rstrip()[:-2], Source()


def read_string(_groups: Mapping[str, str], rest: str) -> tuple[str, Source] | None:
    """Unquote a line that is one string. Return None if a quotation mark stands inside."""
    text = rest.rstrip().removesuffix(",")
    mark, inner = text[0], text[1:-1]
    if mark == '"':
        try:
            return str(parse_json(text)).rstrip("\r\n"), Source()
        except ValueError:
            inner = inner.replace('""', "\0")
    else:
        inner = inner.replace("\\'", "\0").removesuffix("\\n")
    return None if mark in inner else (inner.replace("\0", mark), Source())


def read_code(_groups: Mapping[str, str], rest: str) -> tuple[str, Source]:
    """Remove the backtick at the end of a line set as code."""
    return rest.rstrip()[:-1], Source()
