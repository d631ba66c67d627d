"""For a terminal: the answer first, then proof, advice and fallout, in as many columns as there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from logdoctor.model import Diagnosis, Problem
from logdoctor.render.columns import padded, shorten, shorten_path, text_width, wrap
from logdoctor.render.rank_table import RankLine
from logdoctor.render.report import Answer, Fallout, Page, Proof, Report, report

_MARKS = {"failure": ("✗", "1;31"), "unknown": ("?", "1;33"), "healthy": ("✓", "1;32")}
_CODE = "36"
_MOST_PROOFS, _MOST_ROWS, _MOST_UNEXPLAINED = 8, 12, 3
_DECISIVE_LINES, _OTHER_LINES = 3, 2
_LEAST_ROOM = 36
"""Text in a column narrower than this is hard to read: it goes below instead."""
_NARROWEST, _WIDEST = 40, 140
"""The columns used, whatever the terminal has: longer lines tire the eye."""

Lines = Iterator[str]


def render(diagnosis: Diagnosis, page: Page) -> str:
    """Give the report of ``diagnosis`` in at most ``page.width`` columns (but 40 to 140); no line ends in spaces."""
    told = report(diagnosis, page.words)
    sheet = _Sheet(page, min(max(page.width, _NARROWEST), _WIDEST))
    if page.quiet:
        lines: Iterable[str] = [sheet.first_line(told)]
    elif told.verdict == "healthy":
        lines = sheet.healthy(told)
    else:
        lines = sheet.whole(told)
    return "".join(f"{line.rstrip()}\n" for line in lines)


class _Sheet(Struct, frozen=True):
    """Lays a report out for one page."""

    page: Page
    width: int

    # ── the whole ───────────────────────────────────────────────────────────────────────────────────────────────

    def first_line(self, told: Report) -> str:
        """The answer on one line of any length, for chats and ``grep``."""
        mark, style = _MARKS[told.verdict]
        sure = f" · {told.answer.sure}" if told.answer else ""
        return f"{self.paint(mark, style)} {told.head}{sure}"

    def healthy(self, told: Report) -> Lines:
        mark, style = _MARKS["healthy"]
        words = self.page.words
        read = f"{words('read.verb')} {self.read(told)}" + (words("and") + words("read.part") if told.problems else "")
        head, *rest = wrap(told.head + words("stop") + read + words("stop"), self.width - 2)
        yield f"{self.paint(mark, style)} {head}"
        yield from (f"  {line}" for line in rest)
        yield from self.bullets("runs", told.runs)
        yield from self.not_read(told.problems)

    def whole(self, told: Report) -> Lines:
        words = self.page.words
        yield from self.head(told)
        if told.answer:
            yield from self.answer(told.answer)
        for other in told.also:
            yield from self.fault(other)
        if told.decision:
            yield from self.heading(words("decision"), told.decision)
        unknown = told.verdict == "unknown"
        if told.seen:
            heading, most = ("seen", _MOST_PROOFS) if unknown else ("seen.beside", _MOST_UNEXPLAINED)
            yield from self.heading(words(heading))
            yield from self.proofs(told.seen, most)
        yield from self.bullets("missing", told.missing)
        yield from self.instead(told, unknown=unknown)
        yield from self.rows("fallout", told.fallout)
        yield from self.rows("symptoms.unknown" if unknown else "symptoms", told.symptoms)
        yield from self.rows("ranks", [_as_row(line) for line in told.ranks])
        yield from self.bullets("runs", told.runs)
        if told.advice:
            yield from self.heading(words("collect"))
            yield from self.numbered(told.advice)
        yield from self.foot(told)

    # ── its parts ───────────────────────────────────────────────────────────────────────────────────────────────

    def head(self, told: Report) -> Lines:
        mark, style = _MARKS[told.verdict]
        sure = told.answer.sure if told.answer else ""
        gap = self.width - text_width(f"{mark} {told.head}{sure}")
        first, *rest = wrap(told.head, self.width - 2)
        tail = " " * gap + self.dim(sure) if sure and gap >= 3 else ""
        yield f"{self.paint(mark, style)} {self.paint(first, '1')}{tail}"
        yield from (f"  {self.paint(line, '1')}" for line in rest)
        if told.answer:
            yield from self.indented(told.answer.summary, 2)
        if sure and not tail:
            yield f"  {self.dim(sure)}"

    def answer(self, answer: Answer) -> Lines:
        words = self.page.words
        if answer.proofs:
            yield from self.heading(words("proof"))
            yield from self.proofs(answer.proofs, _MOST_PROOFS)
        yield from self.heading(words("do"), answer.doing)
        yield from self.numbered(answer.remedies)
        if answer.references:
            yield from self.heading(words("references"))
            for one in answer.references:
                yield from self.indented(one, 4)

    def fault(self, other: Answer) -> Lines:
        """A second fault: less room than the first, but its own proof and advice."""
        yield from self.heading(self.page.words("also"), other.sure)
        yield from self.indented(f"{other.signature} — {other.title}", 4)
        yield from self.indented(other.summary, 4)
        yield from self.proofs(other.proofs, 2)
        yield from self.indented(self.page.words("do.short", doing=other.doing), 4)
        yield from self.numbered(other.remedies)

    def instead(self, told: Report, *, unknown: bool) -> Lines:
        if told.instead:
            yield from self.heading(self.page.words("guesses" if unknown else "instead"))
        for other in told.instead:
            yield from self.indented(f"{other.signature} — {other.title} · {other.sure}", 4, 6)
            yield from self.indented(other.summary, 6)
            yield from self.proofs(other.proofs, 1, margin=6)

    def foot(self, told: Report) -> Lines:
        words = self.page.words
        read = self.read(told) + words("and") + words("read.part" if told.problems else "read.all")
        rows = [(words("job"), told.job), (words("progress"), told.progress), (words("read"), read)]
        rows = [row for row in rows if row[1]]
        room = max(text_width(label) for label, _ in rows)
        yield ""
        for label, text in rows:
            first, *rest = wrap(text, self.width - room - 4)
            yield f"  {self.paint(padded(label, room), '1')}  {first}"
            yield from (" " * (room + 4) + line for line in rest)
        yield from self.not_read(told.problems)

    def not_read(self, problems: Sequence[Problem]) -> Lines:
        if problems:
            yield from self.heading(self.page.words("notread"))
        for one in problems[:_MOST_ROWS]:
            parts = ": ".join(part for part in (one.where, one.what, one.why) if part)
            yield from self.indented(parts, 4, 6)
            if one.help:
                yield from self.indented(one.help, 6)
        yield from self.more(len(problems) - _MOST_ROWS)

    def read(self, told: Report) -> str:
        """How much was read and in what time, if that was told."""
        elapsed = self.page.elapsed
        return told.read + ("" if elapsed is None else self.page.words("read.time", seconds=f"{elapsed:.2f}"))

    # ── lines of proof ──────────────────────────────────────────────────────────────────────────────────────────

    def proofs(self, proofs: Sequence[Proof], most: int, margin: int = 4) -> Lines:
        """Places on the left and lines on the right, or below each other where there is no room for both."""
        shown = proofs[:most]
        left = max((text_width(one.place) for one in shown), default=0) + 2
        room = self.width - margin - left
        beside = room >= _LEAST_ROOM and left <= max(26, self.width // 3)
        for number, one in enumerate(shown):
            most_lines = _OTHER_LINES if number else _DECISIVE_LINES
            if beside:
                lines = self.proof(one, room, most_lines)
                yield " " * margin + self.dim(padded(one.place, left)) + next(lines)
                yield from (" " * (margin + left) + line for line in lines)
            else:
                yield " " * margin + self.dim(shorten_path(one.place, self.width - margin))
                yield from (" " * (margin + 2) + line for line in self.proof(one, self.width - margin - 2, most_lines))
        yield from self.more(len(proofs) - most)

    def proof(self, one: Proof, room: int, most: int) -> Lines:
        """The line in at most ``most`` lines of ``room`` columns, and why it matters: behind it or below it."""
        lines = _shortened(one.text, room, most)
        why = f"← {one.why}" if one.why else ""
        gap = room - text_width(lines[-1]) - text_width(why)
        if why and gap >= 3:
            lines[-1] += " " * gap + self.dim(why)
            why = ""
        yield from lines
        if why:
            yield from (self.dim(line) for line in wrap(why, room))

    def rows(self, heading: str, rows: Sequence[Fallout]) -> Lines:
        if not rows:
            return
        yield from self.heading(self.page.words(heading))
        shown = rows[:_MOST_ROWS]
        who = max(text_width(row.who) for row in shown) + 2
        sign = max(text_width(row.signature) for row in shown) + 2
        for row in shown:
            if self.width - 4 - who - sign >= _LEAST_ROOM:
                yield from self.row(padded(row.who, who) + padded(row.signature, sign), row)
            else:
                yield from self.indented(padded(row.who, who) + row.signature, 4)
                yield from self.row("  ", row)
        yield from self.more(len(rows) - len(shown))

    def row(self, left: str, row: Fallout) -> Lines:
        """What was seen beside ``left``, and where at the right edge if there's room, else below."""
        margin = 4 + text_width(left)
        room = self.width - margin
        where = shorten_path(row.where, room)
        lines = wrap(row.what, room)
        gap = room - text_width(lines[-1]) - text_width(where)
        if where and gap >= 2:
            lines[-1] += " " * gap + self.dim(where)
        elif where:
            lines.append(self.dim(where))
        yield "    " + left + lines[0]
        yield from (" " * margin + line for line in lines[1:])

    # ── small forms ─────────────────────────────────────────────────────────────────────────────────────────────

    def heading(self, text: str, more: str = "") -> Lines:
        yield ""
        first, *rest = wrap(f"{text} — {more}" if more else text, self.width - 2)
        styled = self.paint(first[: len(text)], "1") + first[len(text) :] if first.startswith(text) else first
        yield f"  {styled}"
        yield from (f"  {line}" for line in rest)

    def numbered(self, texts: Sequence[str]) -> Lines:
        for number, text in enumerate(texts, 1):
            label = f"{number}. "
            first, *rest = self.coded(wrap(text, self.width - 4 - len(label)))
            yield f"    {label}{first}"
            yield from (" " * (4 + len(label)) + line for line in rest)

    def coded(self, lines: Iterable[str]) -> Lines:
        """Paint what stands in backticks; they stay, since without colour only they tell where a command ends."""
        inside = False
        for line in lines:
            parts = line.split("`")
            yield "`".join(self.paint(p, _CODE) if (n % 2 == 1) != inside else p for n, p in enumerate(parts))
            inside ^= len(parts) % 2 == 0

    def bullets(self, heading: str, texts: Sequence[str]) -> Lines:
        if texts:
            yield from self.heading(self.page.words(heading))
        for text in texts:
            first, *rest = wrap(text, self.width - 6)
            yield f"    - {first}"
            yield from (f"      {line}" for line in rest)

    def indented(self, text: str, margin: int, hanging: int | None = None) -> Lines:
        if not text:
            return
        hanging = margin if hanging is None else hanging
        first, *rest = wrap(text, self.width - max(margin, hanging))
        yield " " * margin + first
        yield from (" " * hanging + line for line in rest)

    def more(self, number: int) -> Lines:
        if number > 0:
            yield "    " + self.dim(self.page.words("more", n=f"{number:,}"))

    def dim(self, text: str) -> str:
        return self.paint(text, "2")

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.page.color and text else text


def _as_row(line: RankLine) -> Fallout:
    """A line of the rank table in the columns of the fallout."""
    what = " · ".join(part for part in (line.where, line.progress, line.failure) if part)
    return Fallout(line.ranks, line.role, what, line.place)


def _shortened(text: str, room: int, most: int) -> list[str]:
    """Wrap ``text`` into at most ``most`` lines, shortened in the middle by as little as that takes."""
    budget = room * most
    while True:
        lines = wrap(shorten(text, budget), room)
        if len(lines) <= most or budget <= room // 2:
            return lines[:most]
        budget -= max(room // 12, 1)
