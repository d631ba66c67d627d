"""The document that every format for people lays out.

`logdoctor.render.answer_document` makes it from a `Diagnosis`. A format writes it and decides nothing. All texts are
escaped. Text between backticks is code.
"""

from __future__ import annotations

from msgspec import Struct

from logdoctor.render.catalogue import Catalogue


class RenderOptions(Struct, frozen=True):
    """Options of `logdoctor.render.render`. All except ``words`` are for text."""

    words: Catalogue
    color: bool = False
    width: int = 80
    quiet: bool = False
    everything: bool = False
    """Write the details too, in place of the first screen."""


class LogLine(Struct, frozen=True):
    """A line of a log that proves something.

    ``location`` is ``file:line``. ``why`` says why the line matters, and is "" if that is plain. ``around`` holds the
    numbered lines above and below with the line itself, if the format asked for them. ``harmless``: the line did no
    harm, so ``why`` is told in full.
    """

    location: str
    text: str
    why: str = ""
    number: int = 0
    around: tuple[tuple[int, str], ...] = ()
    harmless: bool = False
    told: frozenset[str] = frozenset()
    """Words of the line that the answer tells. They stay if the line is shortened."""


class Task(Struct, frozen=True):
    """A thing to do, with commands that can be copied as they stand."""

    text: str
    commands: tuple[str, ...] = ()


class Paragraph(Struct, frozen=True):
    """Sentences that are read as one text, the most important first."""

    sentences: tuple[str, ...]


class Row(Struct, frozen=True):
    """A row of a table: those affected, the failure, a description, and the place of its first line."""

    who: str
    signature: str
    description: str
    location: str
    explained_by: str | None = None


Block = str | Paragraph | LogLine | Task | Row
"""An item of a list, a paragraph, a log line, a thing to do or a row of a table."""


class Section(Struct, frozen=True):
    """Blocks of one kind below a heading."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    detail: bool = False
    """True if the first screen leaves it out."""


class Document(Struct, frozen=True):
    """The answer for one job, in the order in which it is read.

    ``decision`` and ``happened`` are the first line, ``identity`` is the second: signature, process and confidence.
    ``notice`` says that names were replaced. ``foot`` says how much was read.
    """

    verdict: str
    mark: str
    name: str
    decision: str
    happened: str
    identity: str
    sections: tuple[Section, ...]
    foot: str
    notice: str = ""

    @property
    def headline(self) -> str:
        """Return the first line without its mark."""
        return " — ".join(part for part in (self.decision, self.happened) if part)

    def section(self, key: str) -> Section | None:
        return next((section for section in self.sections if section.key == key), None)
