"""A `Comparison` as text: for a terminal, for tickets, and as data (``logdoctor.comparison/1``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType

from logdoctor.model import Comparison, LogdoctorError, Novel
from logdoctor.model.escape import escape_all
from logdoctor.render.catalogue import Catalogue, catalogue
from logdoctor.render.columns import padded, shorten, text_width
from logdoctor.render.formats.markdown import cell, code, escaped

LONGEST = 160
"""Characters of a message or a value that are shown."""


def render_comparison(comparison: Comparison, format: str, lang: str = "en") -> str:
    """Give ``comparison`` as text of ``format`` (a name in `FORMATS`); raises `LogdoctorError` for another one."""
    if format not in FORMATS:
        raise LogdoctorError(f"there is no format {format!r}", help=f"one of: {', '.join(FORMATS)}")
    told = escape_all(comparison, tab=" ")
    return "\n".join(FORMATS[format](told, catalogue(lang))) + "\n"


def _terminal(told: Comparison, words: Catalogue) -> Iterator[str]:
    yield words("diff.title", good=told.good.job, bad=told.bad.job)
    if not told.differences and not told.only_good and not told.only_bad:
        yield words("diff.same")
    for topic, group in groupby(told.differences, key=lambda one: one.topic):
        rows = [*group]
        yield from ("", words(f"diff.{topic}"))
        left = max(text_width(one.name) for one in rows) + 2
        mark = max(text_width(words(f"diff.{side}")) for side in ("good", "bad")) + 2
        for one in rows:
            for name, side, value in ((one.name, "good", one.good), ("", "bad", one.bad)):
                said = shorten(value, LONGEST) or words("diff.untold")
                yield f"  {padded(name, left)}{padded(words(f'diff.{side}'), mark)}{said}"
    for side, messages in (("bad", told.only_bad), ("good", told.only_good)):
        if messages:
            yield from ("", words(f"diff.only.{side}"))
            for novel in messages:
                yield f"  {_place(novel)}  {shorten(novel.evidence.line.text.strip(), LONGEST)}{_times(novel, words)}"


def _markdown(told: Comparison, words: Catalogue) -> Iterator[str]:
    yield f"## {words('diff.title', good=escaped(told.good.job), bad=escaped(told.bad.job))}"
    if not told.differences and not told.only_good and not told.only_bad:
        yield from ("", words("diff.same"))
    for topic, group in groupby(told.differences, key=lambda one: one.topic):
        yield from ("", f"### {words(f'diff.{topic}')}", "")
        yield f"| {words('diff.name')} | {words('diff.good')} | {words('diff.bad')} |"
        yield "| --- | --- | --- |"
        for one in group:
            good, bad = (cell(shorten(v, LONGEST)) if v else words("diff.untold") for v in (one.good, one.bad))
            yield f"| {cell(one.name)} | {good} | {bad} |"
    for side, messages in (("bad", told.only_bad), ("good", told.only_good)):
        if messages:
            yield from ("", f"### {words(f'diff.only.{side}')}", "")
            for novel in messages:
                text = code(shorten(novel.evidence.line.text.strip(), LONGEST))
                yield f"- {code(_place(novel))} {text}{_times(novel, words)}"


def _place(one: Novel) -> str:
    line = one.evidence.line
    return f"{line.file}:{line.number}" if line.number else line.file


def _times(one: Novel, words: Catalogue) -> str:
    return f" ({words('diff.times', n=one.count)})" if one.count > 1 else ""


def _json(told: Comparison, _: Catalogue) -> Iterator[str]:
    yield json.dumps(told.to_dict(), ensure_ascii=True, indent=1)


Shape = Callable[[Comparison, Catalogue], Iterator[str]]
FORMATS: Mapping[str, Shape] = MappingProxyType({"terminal": _terminal, "markdown": _markdown, "json": _json})
SHARED = frozenset({"markdown"})
"""Formats that are made for strangers."""
