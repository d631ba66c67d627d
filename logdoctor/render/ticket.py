"""The document as lines of a markup language. A `Markup` holds all that differs between the languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from logdoctor.render.catalogue import Catalogue
from logdoctor.render.document import Block, Document, LogLine, Paragraph, Row, Section, Task
from logdoctor.render.phrases import is_link

LONGEST = 600
"""Columns of a log line in a ticket. The location says where to find the rest."""

Filter = Callable[[str], str]


class Markup(Struct, frozen=True):
    """Functions that write one element each. All of them escape."""

    heading: Callable[[int, str], str]
    escape: Filter
    code: Filter
    cell: Filter
    """A code span in a table."""
    link: Filter
    item: str
    """The mark of a list."""
    task: Callable[[int], str]
    """The mark of a numbered list."""
    block: Callable[[str, int], str]
    """A log line or a command, indented by some columns."""
    row: Callable[[Sequence[str]], str]
    head: Callable[[Sequence[str]], str]
    fold: Callable[[str], tuple[str, str]]
    """The lines before and after all details."""

    def prose(self, text: str) -> str:
        """Escape a sentence. Text in backticks becomes code."""
        parts = re.split(r"`([^`]+)`", text)
        return "".join(self.code(part) if place % 2 else self.escape(part) for place, part in enumerate(parts))


def write(document: Document, words: Catalogue, markup: Markup) -> str:
    """Return the document in the language of ``markup``."""
    return "\n".join([*_lines(document, words, markup)]) + "\n"


def _lines(document: Document, words: Catalogue, markup: Markup) -> Iterator[str]:
    if document.notice:
        yield from (markup.escape(document.notice), "")
    yield markup.heading(2, f"{document.mark} {document.headline}")
    yield from ("", markup.escape(document.identity))
    for section in document.sections:
        if not section.detail:
            yield from _section(section, words, markup)
    if document.foot:
        yield from ("", markup.escape(document.foot))
    details = [section for section in document.sections if section.detail]
    if details:
        before, after = markup.fold(words("details"))
        yield from ("", before)
        for section in details:
            yield from _section(section, words, markup)
        yield from ("", after) if after else ()


def _section(section: Section, words: Catalogue, markup: Markup) -> Iterator[str]:
    if section.title:
        yield from ("", markup.heading(3, section.title))
    yield ""
    rows = [block for block in section.blocks if isinstance(block, Row)]
    if rows:
        yield markup.head([words(key) for key in ("who", "signature", "what", "where")])
    number = 0
    for block in section.blocks:
        number += isinstance(block, Task)
        yield from _block(block, number, words, markup)


def _block(block: Block, number: int, words: Catalogue, markup: Markup) -> Iterator[str]:
    """Yield the lines of a block. ``number`` counts the things to do."""
    match block:
        case Paragraph():
            yield markup.prose(words("space").join(block.sentences))
        case LogLine():
            why = f" — {markup.prose(block.why)}" if block.why else ""
            yield f"{markup.item} {markup.code(block.location)}{why}"
            yield markup.block(block.text, 2)
        case Task():
            yield f"{markup.task(number)} {markup.prose(block.text)}"
            if block.commands:
                yield markup.block("\n".join(block.commands), 3)
        case Row():
            where = markup.cell(block.location) if block.location else ""
            yield markup.row(
                (markup.escape(block.who), markup.cell(block.signature), markup.escape(block.description), where)
            )
        case _:
            yield f"{markup.item} {markup.link(block) if is_link(block) else markup.prose(block)}"
