"""Formats of a `Comparison`: terminal, Markdown for tickets, and JSON (``logdoctor.compare/1``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType

from logdoctor.model import Comparison, LogdoctorError, Novel
from logdoctor.model.escape import escape_all
from logdoctor.render.catalogue import Catalogue, catalogue
from logdoctor.render.columns import pad, shorten, text_width
from logdoctor.render.formats.markdown import cell, code, escape_markup

LONGEST = 160
"""Columns of a message or a value. The rest is left out."""


def render_comparison(comparison: Comparison, format: str, lang: str = "en") -> str:
    """Return ``comparison`` as text of ``format``. Raises `LogdoctorError` if ``format`` is not in `FORMATS`."""
    if format not in FORMATS:
        raise LogdoctorError(f"there is no format {format!r}", help=f"one of: {', '.join(FORMATS)}")
    return "\n".join(FORMATS[format](escape_all(comparison, tab=" "), catalogue(lang))) + "\n"


def _terminal(comparison: Comparison, words: Catalogue) -> Iterator[str]:
    yield words("diff.title", good=comparison.good.name, bad=comparison.bad.name)
    if not comparison.differences and not comparison.only_good and not comparison.only_bad:
        yield words("diff.same")
    for topic, group in groupby(comparison.differences, key=lambda row: row.topic):
        rows = [*group]
        yield from ("", words(f"diff.{topic}"))
        left = max(text_width(row.name) for row in rows) + 2
        mark = max(text_width(words(f"diff.{side}")) for side in ("good", "bad")) + 2
        for row in rows:
            for name, side, value in ((row.name, "good", row.good), ("", "bad", row.bad)):
                text = shorten(value, LONGEST) or words("diff.untold")
                yield f"  {pad(name, left)}{pad(words(f'diff.{side}'), mark)}{text}"
    for side, messages in (("bad", comparison.only_bad), ("good", comparison.only_good)):
        if messages:
            yield from ("", words(f"diff.only.{side}"))
            for novel in messages:
                text = shorten(novel.evidence.line.text.strip(), LONGEST)
                yield f"  {_location(novel)}  {text}{_times(novel, words)}"


def _markdown(comparison: Comparison, words: Catalogue) -> Iterator[str]:
    yield f"## {words('diff.title', good=escape_markup(comparison.good.name), bad=escape_markup(comparison.bad.name))}"
    if not comparison.differences and not comparison.only_good and not comparison.only_bad:
        yield from ("", words("diff.same"))
    for topic, group in groupby(comparison.differences, key=lambda row: row.topic):
        yield from ("", f"### {words(f'diff.{topic}')}", "")
        yield f"| {words('diff.name')} | {words('diff.good')} | {words('diff.bad')} |"
        yield "| --- | --- | --- |"
        for row in group:
            good, bad = (cell(shorten(v, LONGEST)) if v else words("diff.untold") for v in (row.good, row.bad))
            yield f"| {cell(row.name)} | {good} | {bad} |"
    for side, messages in (("bad", comparison.only_bad), ("good", comparison.only_good)):
        if messages:
            yield from ("", f"### {words(f'diff.only.{side}')}", "")
            for novel in messages:
                text = code(shorten(novel.evidence.line.text.strip(), LONGEST))
                yield f"- {code(_location(novel))} {text}{_times(novel, words)}"


def _location(novel: Novel) -> str:
    line = novel.evidence.line
    return f"{line.file}:{line.number}" if line.number else line.file


def _times(novel: Novel, words: Catalogue) -> str:
    return f" ({words('diff.times', n=novel.count)})" if novel.count > 1 else ""


def _json(comparison: Comparison, _: Catalogue) -> Iterator[str]:
    yield json.dumps(comparison.to_dict(), ensure_ascii=True, indent=1)


Format = Callable[[Comparison, Catalogue], Iterator[str]]
FORMATS: Mapping[str, Format] = MappingProxyType({"text": _terminal, "markdown": _markdown, "json": _json})
SHARED = frozenset({"markdown"})
"""Formats that strangers read."""
