"""The report as text: on one screen of 24 lines, or with all details."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from logdoctor.model import Diagnosis
from logdoctor.render.answer_document import document
from logdoctor.render.columns import pad, shorten_path, text_width, wrap, wrap_command, wrap_shortened
from logdoctor.render.document import Document, LogLine, Paragraph, RenderOptions, Row, Section, Task
from logdoctor.render.one_line import one_line
from logdoctor.render.phrases import is_link

SCREEN = 24
"""Lines of the first screen."""
_STYLES = {"failed": "1;31", "finished": "1;32"}
_OTHER_STYLE = "1;33"
_CODE = "36"
_LEAST_ROOM = 36
"""In fewer columns a text goes below its label, not beside it."""
_NARROWEST, _WIDEST = 40, 140
"""Limits on the width. Very long lines are hard to read."""
_MOST_ROWS = 12

Lines = Iterator[str]


class Room(Struct, frozen=True):
    """Number of sentences, log lines, lines of each log line, tasks and other items of a section."""

    sentences: int
    proofs: int
    proof_lines: int
    tasks: int
    items: int


ROOMY = Room(99, 99, 5, 99, 99)
SCREENS = (
    Room(5, 4, 5, 9, 3),
    Room(5, 4, 4, 9, 3),
    Room(5, 4, 3, 9, 3),
    Room(5, 4, 2, 9, 3),
    Room(4, 4, 2, 9, 3),
    Room(4, 3, 2, 9, 2),
    Room(4, 2, 2, 9, 2),
    Room(3, 2, 2, 9, 2),
    Room(3, 2, 2, 5, 2),
    Room(2, 2, 2, 4, 2),
    Room(2, 2, 2, 3, 1),
    Room(2, 1, 2, 3, 1),
    Room(2, 1, 2, 2, 1),
    Room(1, 1, 2, 1, 1),
    Room(1, 1, 1, 1, 1),
)
"""Rooms for one screen, the widest first."""


def render(diagnosis: Diagnosis, options: RenderOptions) -> str:
    """Return the report of ``diagnosis`` as lines of ``options.width`` columns, but at least 40 and at most 140.

    Without ``options.everything`` they are as many as fit one screen. No line ends in spaces.
    """
    if options.quiet:
        return one_line(diagnosis, options.words.lang)
    page = document(diagnosis, options.words)
    width = min(max(options.width, _NARROWEST), _WIDEST)
    if options.everything:
        lines = [*_Layout(options, width, ROOMY).page(page)]
    else:
        for room in SCREENS:
            lines = [*_Layout(options, width, room).page(page)]
            if len(lines) <= SCREEN:
                break
    return "".join(f"{line.rstrip()}\n" for line in lines)


class _Layout(Struct, frozen=True):
    """The parts of a document as lines of ``width`` columns."""

    options: RenderOptions
    width: int
    room: Room

    def page(self, page: Document) -> Lines:
        if page.notice:
            yield from self.hanging(page.notice, 0, 2)
        style = _STYLES.get(page.verdict, _OTHER_STYLE)
        first, *rest = wrap(page.headline, self.width - 2)
        yield f"{self.paint(page.mark, style)} {self.paint(first, '1')}"
        yield from (f"  {self.paint(line, '1')}" for line in rest)
        yield from (f"  {line}" for line in wrap_shortened(page.identity, self.width - 2, 2))
        hidden = False
        for section in page.sections:
            if section.detail and not self.options.everything:
                hidden = True
            else:
                yield from self.section(section)
        more = self.options.words("all") if hidden and page.verdict != "finished" else ""
        if page.foot and page.verdict != "finished":
            yield from self.hanging(self.options.words("dot").join(filter(None, (page.foot, more))), 0, 2)

    def section(self, section: Section) -> Lines:
        if section.title:
            yield self.paint(section.title, "1")
        blocks = section.blocks
        for block in blocks:
            if isinstance(block, Paragraph):
                sentences = block.sentences[: self.room.sentences]
                yield from self.hanging(self.options.words("space").join(sentences), 2, 2)
        proofs = [block for block in blocks if isinstance(block, LogLine)]
        tasks = [block for block in blocks if isinstance(block, Task)]
        rows = [block for block in blocks if isinstance(block, Row)]
        texts = [block for block in blocks if isinstance(block, str)]
        for text in texts[: self.room.items]:
            yield from [f"  {text}"] if is_link(text) else self.hanging(text, 2 if section.title else 0, 4)
        yield from self.proofs(proofs[: self.room.proofs])
        yield from self.tasks(tasks)
        yield from self.rows(rows)

    def tasks(self, tasks: Sequence[Task]) -> Lines:
        for number, task in enumerate(tasks[: self.room.tasks], 1):
            label = f"{number}. " if len(tasks) > 1 else ""
            margin = 2 + len(label)
            first, *rest = self.paint_code(wrap(task.text, self.width - margin))
            yield f"  {label}{first}"
            yield from (" " * margin + line for line in rest)
            for command in task.commands:
                lines = wrap_command(command, self.width - margin - 2)
                yield " " * margin + self.paint(f"$ {lines[0]}", _CODE)
                yield from (" " * (margin + 2) + self.paint(line, _CODE) for line in lines[1:])
        yield from self.more(len(tasks) - self.room.tasks)

    # ── lines of proof ──────────────────────────────────────────────────────────────────────────────────────────

    def proofs(self, proofs: Sequence[LogLine]) -> Lines:
        """Yield log lines right of their locations. Without room for both, each line goes below its location."""
        left = max((text_width(proof.location) for proof in proofs), default=0) + 2
        beside = self.width - 2 - left >= _LEAST_ROOM and left <= self.width // 3 + 1
        margin = 2 + left if beside else 4
        for proof in proofs:
            lines = self.proof(proof, self.width - margin)
            if beside:
                yield "  " + self.dim(pad(proof.location, left)) + next(lines)
            else:
                yield "  " + self.dim(shorten_path(proof.location, self.width - 2))
            yield from (" " * margin + line for line in lines)

    def proof(self, proof: LogLine, room: int) -> Lines:
        """Yield a log line. The reason why it matters follows on its last line, or else below.

        The first screen leaves out a reason that needs more than one line, unless the line did no harm.
        """
        lines = wrap_shortened(proof.text, room, self.room.proof_lines, proof.told)
        gap = room - text_width(lines[-1]) - text_width(proof.why)
        if proof.why and gap >= 2:
            lines[-1] += " " * gap + self.dim(proof.why)
        yield from lines
        why = wrap(f"({proof.why.rstrip('.')})", room - 2)
        in_full = self.room == ROOMY or (proof.harmless and self.room.proof_lines > 1)
        if proof.why and gap < 2 and (len(why) == 1 or in_full):
            yield from (f"  {self.dim(line)}" for line in why)

    # ── tables ──────────────────────────────────────────────────────────────────────────────────────────────────

    def rows(self, rows: Sequence[Row]) -> Lines:
        first = rows[:_MOST_ROWS]
        who = max((text_width(row.who) for row in first), default=0) + 2
        signature = max((text_width(row.signature) for row in first), default=0) + 2
        for row in first:
            left = pad(row.who, who) + pad(row.signature, signature)
            if self.width - 2 - who - signature >= _LEAST_ROOM:
                yield from self.row(left, row)
            else:
                yield from self.hanging(left, 2, 4)
                yield from self.row("  ", row)
        yield from self.more(len(rows) - len(first))

    def row(self, left: str, row: Row) -> Lines:
        """Yield the description beside ``left``. The location follows at the right edge or below."""
        margin = 2 + text_width(left)
        room = self.width - margin
        location = shorten_path(row.location, room)
        lines = wrap(row.description, room)
        gap = room - text_width(lines[-1]) - text_width(location)
        if location and gap >= 2:
            lines[-1] += " " * gap + self.dim(location)
        elif location:
            lines.append(self.dim(location))
        yield "  " + left + lines[0]
        yield from (" " * margin + line for line in lines[1:])

    # ── small forms ─────────────────────────────────────────────────────────────────────────────────────────────

    def hanging(self, text: str, margin: int, below: int) -> Lines:
        """Yield ``text`` wrapped, with ``below`` blanks before all lines except the first."""
        first, *rest = self.paint_code(wrap(text, self.width - max(margin, below)))
        yield " " * margin + first
        yield from (" " * below + line for line in rest)

    def paint_code(self, lines: Iterable[str]) -> Lines:
        """Paint the text between backticks, which may go over several lines.

        The backticks stay, because without colour only they show the end of a command.
        """
        inside = False
        for line in lines:
            parts = line.split("`")
            yield "`".join(self.paint(p, _CODE) if (n % 2 == 1) != inside else p for n, p in enumerate(parts))
            inside ^= len(parts) % 2 == 0

    def more(self, number: int) -> Lines:
        if number > 0:
            yield "  " + self.dim(self.options.words("more", n=f"{number:,}"))

    def dim(self, text: str) -> str:
        return self.paint(text, "2")

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.options.color and text else text
